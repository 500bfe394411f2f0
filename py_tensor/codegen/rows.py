"""Kernels that go over the same rows several times: `shaders/templates/rows.wgsl`."""

from __future__ import annotations

from dataclasses import replace

from py_tensor.codegen.emit import BodyCode, Space, load_mode
from py_tensor.codegen.map import bind, interface, returns, store_results
from py_tensor.codegen.profile import Profile
from py_tensor.codegen.program import Binding, Dispatch, Params
from py_tensor.codegen.reduce import Context, arrange, is_by_rows
from py_tensor.codegen.reduce_wgsl import (
    Pass,
    SplitBody,
    StageWriter,
    indent,
    kept_space,
    load_modes,
    reduced_space,
)
from py_tensor.graph.kernel import Kernel, Load, Output, Stage
from py_tensor.graph.rows import Fits
from py_tensor.shapes import size_of


def fits(profile: Profile) -> Fits:
    """Which kernels may go over their rows several times on this adapter."""

    def fit(kernel: Kernel) -> bool:
        return profile.revisits(size_of(kernel.kept), size_of(kernel.reduced)) and is_by_rows(
            kernel, kernel.bodies()
        )

    return fit


def lower_rows(kernel: Kernel, context: Context) -> Dispatch:
    """The one dispatch of a kernel that revisits its rows."""
    p = arrange(kernel, kernel.bodies(), context.profile)
    assert p.by_rows, "whoever joined the kernels has asked is_by_rows"
    bindings, params, regions = _Writer(kernel, p).written()
    cost = sum(body.cost for body in kernel.bodies())
    return Dispatch(
        context.programs.get("rows", kernel.label, bindings, regions),
        tuple(b.slot for b in bindings),
        tuple(params.values),
        tuple(params.consts),
        -(-p.rows // p.rows_per_group),
        1,
        size_of(kernel.kept) * (size_of(kernel.reduced) * cost + kernel.row.cost),
        kernel.operations(),
        kernel.traffic(),
    )


class _Writer:
    def __init__(self, kernel: Kernel, p: Pass) -> None:
        self.kernel = kernel
        self.p = p
        self.params = Params()
        for value in (p.rows, 0, p.steps):
            self.params.add(value)
        self.bindings = self._bind()
        self.stages = self._stages()

    def _bind(self) -> list[Binding]:
        kernel, p = self.kernel, self.p
        modes: list[tuple[Load, bool]] = []
        for body in kernel.bodies():
            found = load_modes(body, p.space_strides, p.width)
            modes += [(load, mode == "v") for load, mode in found.items()]
        modes += [(load, False) for load in load_modes(kernel.row, p.result_strides, 1)]
        outputs = [(output, False) for output in kernel.outputs]
        spread = [(output, self._stores_vectors(output)) for output in kernel.spread_outputs]
        return bind(modes, [*outputs, *spread])

    def _stores_vectors(self, output: Output) -> bool:
        strides = self.p.space_strides(output.access.strides)
        return self.p.width == 4 and load_mode(strides, output.access.offset, 4) == "v"

    def _stages(self) -> list[StageWriter]:
        writers: list[StageWriter] = []
        for number, stage in enumerate(self.kernel.stages):
            assert isinstance(stage, Stage)
            p = replace(self.p, stage=stage, element=stage.element)
            mark = str(number)
            writers.append(StageWriter(p, self.params, self.bindings, mark, _total))
        return writers

    def written(self) -> tuple[list[Binding], Params, dict[str, str]]:
        """Bindings, parameters, and the regions of the template."""
        p = self.p
        declared: list[str] = []
        for stage in self.stages:
            declared += [*stage.accumulator(), stage.shared()]
        split, names = kept_space(self.params, p)
        stages: list[str] = []
        first = 0
        for stage in self.stages:
            stages += self._stage(stage, split, names, first)
            first += len(stage.p.stage.folds)
        spread, spread_code = self._spread(names)
        finish, finish_code = self._finish(names)
        constants = {"WORKGROUP": p.workgroup, "LANES": p.lanes, "ROWS": p.rows_per_group}
        code = [*declared, *spread_code, *finish_code]
        regions = {
            "interface": interface(self.bindings, self.params, constants, *code),
            "stages": indent(stages, 1),
            "spread": indent([*split, *spread, *finish], 2),
        }
        return self.bindings, self.params, regions

    def _stage(
        self, stage: StageWriter, split: list[str], names: list[str], first: int
    ) -> list[str]:
        """Fold the row, and give every lane the results as t0, t1, ..."""
        fold = stage.fold(split, names)
        lines = [*stage.start(), "if (row < rows) {", *(f"  {line}" for line in fold), "}"]
        lines += stage.share()
        if self.p.lanes > 1:
            lines.append("workgroupBarrier();")
            lines.append(f"{stage.acc(0)} = shared_accs{stage.mark}[invocation - lane];")
        for number in range(len(stage.p.stage.folds)):
            lines.append(f"let {_total(first + number, 0)} = {stage.result(number, 0)};")
        return lines

    def _spread(self, names: list[str]) -> tuple[list[str], list[str]]:
        """The loop that stores something for every point of the row, and its functions."""
        outputs = self.kernel.spread_outputs
        if not outputs:
            return [], []
        p = replace(self.p, element=self.kernel.spread)
        roots = {output.value for output in outputs}
        body = SplitBody(p, self.params, self.bindings, roots, "", _total)
        inner, space = reduced_space(self.params, p, names)
        kind, declaration = returns([o.dtype for o in outputs], "Spread")
        functions = body.functions("spread", [body.value(o.value) for o in outputs], kind)
        before = body.before(names)
        arguments = body.arguments(space, "a")
        stores = store_results(self.params, space, outputs, self.bindings, "spread", arguments)
        loop = ["for (var j = lane; j < last; j += LANES) {"]
        loop += [f"  {line}" for line in (*inner, *stores)]
        return [*before, *space.hoisted, *loop, "}"], [declaration, *functions]

    def _finish(self, names: list[str]) -> tuple[list[str], list[str]]:
        """What lane 0 stores for the row, and its functions."""
        outputs, p = self.kernel.outputs, self.p
        if not outputs:
            return [], []
        space = Space(["0u", *names], p.result_strides, 1)
        modes = load_modes(self.kernel.row, p.result_strides, 1)
        code = BodyCode(self.kernel.row, self.bindings, {**modes}, p.row_dim)
        kind, declaration = returns([o.dtype for o in outputs], "Finish")
        function = code.function("finish", self.params, [f"v{o.value}" for o in outputs], kind)
        arguments = code.arguments(self.params, space, 1, "e", _total)
        stores = store_results(self.params, space, outputs, self.bindings, "finish", arguments)
        lines = ["if (lane == 0u) {", *(f"  {line}" for line in stores), "}"]
        return lines, [declaration, function]


def _total(number: int, lane: int) -> str:
    """The name of the result of an accumulator, which all lanes of a row share."""
    return f"t{number}"
