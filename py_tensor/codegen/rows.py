"""Kernels that pass over the same rows several times: `shaders/templates/rows.wgsl`."""

from __future__ import annotations

from py_tensor.base.shapes import size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.codec import Binding
from py_tensor.codegen.emit import load_mode
from py_tensor.codegen.map import bind, gathered, interface, returns, store_results
from py_tensor.codegen.program import Dispatch, Params
from py_tensor.codegen.reduce import Context, arrange, is_by_rows
from py_tensor.codegen.reduce_wgsl import (
    SplitBody,
    StageWriter,
    finish,
    indent,
    kept_space,
    load_modes,
    place,
    reduced_space,
)
from py_tensor.codegen.walk import Walk
from py_tensor.schedule.body import Load
from py_tensor.schedule.kernel import Kernel, Output, ReduceStage
from py_tensor.schedule.row_fusion import Fits


def fits(profile: AdapterProfile) -> Fits:
    """Return the test for kernels that may pass over their rows several times on this adapter."""

    def fit(kernel: Kernel) -> bool:
        return profile.revisits(size_of(kernel.kept), size_of(kernel.reduced)) and is_by_rows(
            kernel, kernel.bodies()
        )

    return fit


def lower_rows(kernel: Kernel, context: Context) -> Dispatch:
    """Return the one dispatch of a kernel that revisits its rows."""
    walk = arrange(kernel, kernel.bodies(), context.profile)
    assert not walk.lanes_apart, "kernels are fused over rows only if `is_by_rows`"
    bindings, params, regions = _Writer(kernel, walk).written()
    cost = sum(body.cost for body in kernel.bodies())
    return Dispatch(
        context.programs.get("rows", kernel.label, bindings, regions, walk.variant),
        tuple(b.slot for b in bindings),
        tuple(params.values),
        tuple(params.consts),
        walk.groups,
        1,
        size_of(kernel.kept) * (size_of(kernel.reduced) * cost + kernel.row.cost),
        kernel.operations(),
        kernel.traffic(),
    )


class _Writer:
    def __init__(self, kernel: Kernel, walk: Walk) -> None:
        self.kernel = kernel
        self.walk = walk
        self.params = Params()
        for value in (walk.rows, 0, walk.steps):
            self.params.add(value)
        self.bindings = self._bind()
        self.stages = self._stages()

    def _bind(self) -> list[Binding]:
        kernel, walk = self.kernel, self.walk
        modes: list[tuple[Load, bool]] = []
        for body in kernel.bodies():
            modes_of_body = load_modes(body, walk.dims.space_strides, walk.width)
            modes += [(load, mode == "v") for load, mode in modes_of_body.items()]
        modes += [(load, False) for load in load_modes(kernel.row, walk.dims.kept_strides, 1)]
        outputs = [(output, False) for output in kernel.outputs]
        spread = [(output, self._stores_vectors(output)) for output in kernel.spread_outputs]
        reads = [*modes, *gathered(*kernel.bodies(), kernel.row)]
        return bind(reads, [*outputs, *spread])

    def _stores_vectors(self, output: Output) -> bool:
        strides = self.walk.dims.space_strides(output.access.strides)
        return self.walk.width == 4 and load_mode(strides, output.access.offset, 4) == "v"

    def _stages(self) -> list[StageWriter]:
        writers: list[StageWriter] = []
        for number, stage in enumerate(self.kernel.stages):
            assert isinstance(stage, ReduceStage)
            writer = StageWriter(
                self.walk,
                stage.folds,
                stage.element,
                self.params,
                self.bindings,
                mark=str(number),
                accumulated=_total,
            )
            writers.append(writer)
        return writers

    def written(self) -> tuple[list[Binding], Params, dict[str, str]]:
        """Return the bindings, the parameters, and the regions of the template."""
        walk = self.walk
        declared: list[str] = []
        for stage in self.stages:
            declared += [*stage.accumulator(), stage.shared()]
        split, names = kept_space(self.params, walk)
        stages: list[str] = []
        first = 0
        for stage in self.stages:
            stages += self._stage(stage, split, names, first)
            first += len(stage.folds)
        spread, spread_code = self._spread(names)
        stores, store_code = self._finish(names)
        constants = {"WORKGROUP": walk.workgroup}
        placed = place(walk, self.params, sliced=False)
        code = [*declared, *spread_code, *store_code]
        regions = {
            "interface": interface(self.bindings, self.params, constants, *code),
            "place": indent(placed, 1),
            "stages": indent(stages, 1),
            "spread": indent([*split, *spread, *stores], 2),
        }
        return self.bindings, self.params, regions

    def _stage(
        self, stage: StageWriter, split: list[str], names: list[str], first: int
    ) -> list[str]:
        """Fold the row, and make the results available to every lane as t0, t1, ..."""
        fold = stage.fold(split, names)
        lines = [*stage.start(), "if (row < rows) {", *(f"  {line}" for line in fold), "}"]
        lines += stage.share()
        lines.append("workgroupBarrier();")
        lines.append(f"{stage.acc(0)} = shared_accs{stage.mark}[invocation - lane];")
        for number in range(len(stage.folds)):
            lines.append(f"let {_total(first + number, 0)} = {stage.result(number, 0)};")
        return lines

    def _spread(self, names: list[str]) -> tuple[list[str], list[str]]:
        """Return the loop that computes and stores the spread outputs of a row, with functions."""
        outputs = self.kernel.spread_outputs
        if not outputs:
            return [], []
        walk, params, bindings = self.walk, self.params, self.bindings
        roots = {output.value for output in outputs}
        body = SplitBody(walk, self.kernel.spread, roots, params, bindings, "", _total)
        inner, space = reduced_space(params, walk, names)
        kind, declaration = returns([o.dtype for o in outputs], "Spread")
        functions = body.functions("spread", [body.value(o.value) for o in outputs], kind)
        before = body.before(names)
        arguments = body.arguments(space, "a")
        stores = store_results(params, space, outputs, bindings, "spread", arguments)
        loop = ["for (var j = lane; j < last; j += lanes) {"]
        loop += [f"  {line}" for line in (*inner, *stores)]
        return [*before, *space.hoisted, *loop, "}"], [declaration, *functions]

    def _finish(self, names: list[str]) -> tuple[list[str], list[str]]:
        """Return statements with which lane 0 stores the row's outputs, and their functions."""
        if not self.kernel.outputs:
            return [], []
        stores, code = finish(self.kernel, self.walk, self.params, self.bindings, names, _total)
        return ["if (lane == 0u) {", *(f"  {line}" for line in stores), "}"], code


def _total(number: int, lane: int) -> str:
    """Return the name of the result of an accumulator, which all lanes of a row share."""
    return f"t{number}"
