"""The webgpu device with other tuning choices, to try them without affecting the session."""

from __future__ import annotations

from typing import Any

from py_tensor.backends.webgpu import WebGPU
from py_tensor.base.layout import Layout
from py_tensor.codegen.choices import Choices
from py_tensor.ir.node import Meta, Node
from py_tensor.runtime.plan import Plan
from py_tensor.runtime.storage import Storage
from py_tensor.schedule.order import Request


class Candidate:
    """A backend that shares a webgpu device but lowers kernels with its own choices.

    It keeps its plans separate from the session's, and does not mark any parameter as used there.

    Attributes
    ----------
    times : int
        The number of times that it runs the plan of each request.
    poison : bool
        Fill buffers with NaN before a plan runs.
    """

    def __init__(self, backend: WebGPU, choices: Choices) -> None:
        self.lock = backend.lock
        self.max_bytes = backend.max_bytes
        self.pending_work = backend.pending_work
        self.ahead_work = backend.ahead_work
        self.read_work = backend.read_work
        self.eager = None
        self.times = 1
        self.poison = False
        self._backend = backend
        self._profile = backend.profile.trying(choices)
        self._plans: dict[tuple[int, ...], Plan] = {}

    def runs(self) -> list[tuple[Any, ...]]:
        """Return the commands and parameters of its plans, for comparison."""
        return [(plan.commands, plan.params) for plan in self._plans.values()]

    def compute(self, request: Request) -> None:
        with self._backend.lock:
            program = request.program
            plan = self._plans.get(program.key)
            if plan is None or not plan.holds(program.nodes):
                plan = self._plans[program.key] = self._backend.plan_for(self._profile, program)
            self._backend.carry_out(plan.repeated(self.times), request, poison=self.poison)

    def info(self) -> dict[str, Any]:
        return self._backend.info() | {"choices": self._profile.chosen.named()}

    def check(self, op: str, meta: Meta) -> None:
        self._backend.check(op, meta)

    def upload(self, data: memoryview, meta: Meta) -> Storage:
        return self._backend.upload(data, meta)

    def may_overwrite(self, node: Node) -> bool:
        return self._backend.may_overwrite(node)

    def is_lost(self, node: Node) -> bool:
        return self._backend.is_lost(node)

    def read(self, node: Node, layout: Layout | None = None) -> memoryview:
        return self._backend.read(node, layout)

    async def read_async(self, node: Node, layout: Layout | None = None) -> memoryview:
        return await self._backend.read_async(node, layout)

    def synchronize(self) -> None:
        self._backend.synchronize()

    async def synchronize_async(self) -> None:
        await self._backend.synchronize_async()

    def memory_info(self) -> dict[str, int]:
        return self._backend.memory_info()

    def empty_cache(self) -> None:
        self._backend.empty_cache()

    def debug(self, sync: bool, poison: bool, wgsl: bool) -> None:
        """Do nothing: these settings belong to the session."""
