"""Kernels that pass over the same rows several times: `shaders/templates/rows.wgsl`."""

from __future__ import annotations

from py_tensor.base.shapes import size_of
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.reduce import SplitBody, StageWriter, WalkWriter
from py_tensor.codegen.walk import Walk, arrange, is_by_rows, mode_of
from py_tensor.codegen.writer import Context, braced
from py_tensor.schedule.kernel import Kernel, ReduceStage
from py_tensor.schedule.row_fusion import Fits


def fits(profile: AdapterProfile) -> Fits:
    """Return the test for kernels that may pass over their rows several times on this adapter."""

    def fit(kernel: Kernel) -> bool:
        rows, elements = size_of(kernel.kept), size_of(kernel.reduced)
        return profile.revisits(rows, elements) and is_by_rows(kernel, kernel.bodies())

    return fit


def lower_rows(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the one dispatch of a kernel that revisits its rows."""
    walk = arrange(kernel, kernel.bodies(), context.profile)
    assert not walk.lanes_apart, "kernels are fused over rows only if `is_by_rows`"
    writer = _Writer(kernel, walk, context)
    cost = sum(body.cost for body in kernel.bodies())
    work = size_of(kernel.kept) * (size_of(kernel.reduced) * cost + kernel.row.cost)
    return [writer.dispatch("rows", walk.variant, walk.groups, work=work, regions=writer.regions())]


class _Writer(WalkWriter):
    """The regions of the template."""

    def __init__(self, kernel: Kernel, walk: Walk, context: Context) -> None:
        super().__init__(kernel, walk, context, walk.rows, walk.steps, *walk.placing)
        dims, spread = walk.dims, kernel.spread_outputs
        bodies = [(body, dims, walk.width) for body in kernel.bodies()]
        outputs = [(output, False) for output in kernel.outputs]
        outputs += [(x, mode_of(x, dims, walk.width) == "v") for x in spread]
        self.bind_bodies([*bodies, (kernel.row, dims.kept, 1)], outputs)

    def accumulated(self, number: int, lane: int) -> str:
        return f"t{number}"  # which all lanes of a row share

    def regions(self) -> dict[str, list[str]]:
        """Return the regions of the template; complete the parameters and the code."""
        stages: list[str] = []
        first = 0
        for number, stage in enumerate(self.kernel.stages):
            assert isinstance(stage, ReduceStage)
            stages += self._stage(stage, str(number), first)
            first += len(stage.folds)
        spread = self._spread()
        if self.kernel.outputs:
            spread += braced("if (lane == 0u)", self.finish())
        return {"stages": stages, "spread": [*self.split, *spread]}

    def _stage(self, stage: ReduceStage, mark: str, first: int) -> list[str]:
        """Fold the row, and make the results available to every lane as t0, t1, ..."""
        writer = StageWriter(self, stage, mark)
        writer.declare()
        lines = [*writer.start(), *braced("if (row < rows)", writer.fold()), *writer.share()]
        lines += ["workgroupBarrier();", f"{writer.acc(0)} = shared_accs{mark}[invocation - lane];"]
        results = (writer.result(n, 0) for n in range(len(stage.folds)))
        return [*lines, *(f"let t{n} = {x};" for n, x in enumerate(results, first))]

    def _spread(self) -> list[str]:
        """Return the loop that computes and stores the spread outputs of a row."""
        outputs = self.kernel.spread_outputs
        if not outputs:
            return []
        values = [output.value for output in outputs]
        body = SplitBody(self, self.kernel.spread, set(values))
        body.define("spread", values)
        stores = self.store_results(body.space, outputs, "spread", body.arguments())
        return [*body.before(), *braced("for (var j = lane; j < last; j += lanes)", stores)]
