"""The webgpu device with other tuning choices, to try them without affecting the session."""

from __future__ import annotations

from typing import Any

from py_tensor.backends.webgpu import WebGPU
from py_tensor.codegen.choices import Choices
from py_tensor.runtime.plan import Plan
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
        self.times = 1
        self.poison = False
        self._backend = backend
        self._profile = backend.profile.trying(choices)
        self._plans: dict[tuple[int, ...], Plan] = {}

    def __getattr__(self, name: str) -> Any:
        """Return what it shares with the webgpu device."""
        return getattr(self._backend, name)

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

    def debug(self, sync: bool, poison: bool, wgsl: bool) -> None:
        """Do nothing: these settings belong to the session."""
