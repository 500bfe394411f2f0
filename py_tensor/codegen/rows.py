"""Kernels that pass over the same rows several times: `shaders/templates/rows.wgsl`."""

from __future__ import annotations

from py_tensor.base.shapes import size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.emit import mode_of
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.reduce import arrange, is_by_rows
from py_tensor.codegen.reduce_wgsl import SplitBody, StageWriter, finish, kept_space, reduced_space
from py_tensor.codegen.walk import Walk
from py_tensor.codegen.writer import Context, Writer, indent, returns
from py_tensor.schedule.kernel import Kernel, ReduceStage
from py_tensor.schedule.row_fusion import Fits


def fits(profile: AdapterProfile) -> Fits:
    """Return the test for kernels that may pass over their rows several times on this adapter."""

    def fit(kernel: Kernel) -> bool:
        return profile.revisits(size_of(kernel.kept), size_of(kernel.reduced)) and is_by_rows(
            kernel, kernel.bodies()
        )

    return fit


def lower_rows(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the one dispatch of a kernel that revisits its rows."""
    walk = arrange(kernel, kernel.bodies(), context.profile)
    assert not walk.lanes_apart, "kernels are fused over rows only if `is_by_rows`"
    writer = _Writer(kernel, walk, context)
    cost = sum(body.cost for body in kernel.bodies())
    work = size_of(kernel.kept) * (size_of(kernel.reduced) * cost + kernel.row.cost)
    return [writer.dispatch("rows", walk.variant, walk.groups, work=work, regions=writer.regions())]


class _Writer(Writer):
    """The regions of the template."""

    def __init__(self, kernel: Kernel, walk: Walk, context: Context) -> None:
        super().__init__(kernel, context, walk.rows, walk.steps, *walk.placing)
        self.walk = walk
        self.constants["WORKGROUP"] = walk.workgroup
        dims = walk.dims
        bodies = [(body, dims.space_strides, walk.width) for body in kernel.bodies()]
        outputs = [(output, False) for output in kernel.outputs]
        modes = [mode_of(x, dims.space_strides, walk.width) for x in kernel.spread_outputs]
        outputs += [(x, m == "v") for x, m in zip(kernel.spread_outputs, modes, strict=True)]
        self.bind_bodies([*bodies, (kernel.row, dims.kept_strides, 1)], outputs)
        self.stages: list[StageWriter] = []
        for number, stage in enumerate(kernel.stages):
            assert isinstance(stage, ReduceStage)
            element, mark = stage.element, str(number)
            self.stages.append(
                StageWriter(self, walk, stage.folds, element, mark=mark, accumulated=_total)
            )

    def regions(self) -> dict[str, str]:
        """Return the regions of the template; complete the parameters and the code."""
        for stage in self.stages:
            self.code += [*stage.accumulator(), stage.shared()]
        split, names = kept_space(self.params, self.walk)
        stages: list[str] = []
        first = 0
        for stage in self.stages:
            stages += self._stage(stage, split, names, first)
            first += len(stage.folds)
        spread = self._spread(names)
        if self.kernel.outputs:
            stores = finish(self, self.walk, names, _total)
            spread += ["if (lane == 0u) {", *(f"  {line}" for line in stores), "}"]
        return {"stages": indent(stages, 1), "spread": indent([*split, *spread], 2)}

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

    def _spread(self, names: list[str]) -> list[str]:
        """Return the loop that computes and stores the spread outputs of a row."""
        outputs = self.kernel.spread_outputs
        if not outputs:
            return []
        roots = {output.value for output in outputs}
        body = SplitBody(self, self.walk, self.kernel.spread, roots, accumulated=_total)
        inner, space = reduced_space(self.params, self.walk, names)
        kind, declaration = returns([o.dtype for o in outputs], "Spread")
        functions = body.functions("spread", [body.value(o.value) for o in outputs], kind)
        self.code += [declaration, *functions]
        before = body.before(names)
        arguments = body.arguments(space, "a")
        stores = self.store_results(space, outputs, "spread", arguments)
        loop = ["for (var j = lane; j < last; j += lanes) {"]
        loop += [f"  {line}" for line in (*inner, *stores)]
        return [*before, *space.hoisted, *loop, "}"]


def _total(number: int, lane: int) -> str:
    """Return the name of the result of an accumulator, which all lanes of a row share."""
    return f"t{number}"
