"""All passes over the graph in order, from a program to kernels.

The first makes the kernels of a program. Each other one is a function from kernels to kernels, and
`tests/unit/kernel_spec.py` checks what it returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from py_tensor.ir.node import Notes
from py_tensor.ir.program import Program
from py_tensor.schedule.build import schedule
from py_tensor.schedule.kernel import Budget, Kernel
from py_tensor.schedule.loops import Shortened, repeated, shorten
from py_tensor.schedule.pack import pack
from py_tensor.schedule.row_fusion import Fits, fuse_rows


@dataclass(frozen=True, slots=True)
class Schedule:
    """The kernels of a program, in dependency order.

    Attributes
    ----------
    planned : Program
        The program that the kernels compute: the given one, or one with fewer iterations.
    equal : dict
        Slot of a constant -> slot of the constant that replaces it. The kernels are only valid
        while the two are equal.
    notes : dict
        Slot -> why it is stored.
    repeated : Shortened, optional
        The kernels to be copied for the iterations that `planned` lacks.
    """

    planned: Program
    kernels: list[Kernel]
    equal: Mapping[int, int]
    notes: Notes
    repeated: Shortened | None = None

    def all_kernels(self) -> list[Kernel]:
        """Return the kernels of all iterations."""
        if self.repeated is None:
            return self.kernels
        return self.repeated.applied(self.kernels, Kernel.with_slots)

    def all_notes(self) -> Notes:
        """Return the reasons for the given program."""
        return self.notes if self.repeated is None else self.repeated.translate_notes(self.notes)


def schedules(
    program: Program, budget: Budget, fits: Fits, *, constants_differ: bool = False
) -> Iterator[Schedule]:
    """Yield schedules of a program, to be tried in turn: last the one with kernels for all nodes.

    The first may have kernels for a few iterations of a loop, if these look alike. It is unusable
    if lowering makes a difference between them.

    Parameters
    ----------
    fits
        Whether a kernel may traverse its rows several times.
    constants_differ
        Constants that are equal in all iterations of a loop may differ next time.
    """
    short = shorten(program)
    if short is not None:
        planned = kernels_of(short.program, budget, fits, constants_differ=constants_differ)
        repeats = repeated(short, planned.kernels)
        equal = None if repeats is None else repeats.outside(planned.equal)
        if equal is not None:
            yield Schedule(short.program, planned.kernels, equal, planned.notes, repeats)
    yield kernels_of(program, budget, fits, constants_differ=constants_differ)


def kernels_of(
    program: Program, budget: Budget, fits: Fits, *, constants_differ: bool = False
) -> Schedule:
    """Return the schedule of all nodes of a program; see `schedules`."""
    *_, last = after_each_pass(program, budget, fits, constants_differ=constants_differ)
    return last


def after_each_pass(
    program: Program, budget: Budget, fits: Fits, *, constants_differ: bool = False
) -> Iterator[Schedule]:
    """Yield the schedule after each pass; a pass leaves the kernels that it is given unchanged."""
    kernels, decisions, notes = schedule(program, budget, constants_differ=constants_differ)
    made = Schedule(program, kernels, decisions.merged_constants, notes)
    yield made
    kernels, reasons = fuse_rows(kernels, program.outputs, budget, fits)
    made = replace(made, kernels=kernels, notes=reasons | notes)
    yield made
    made = replace(made, kernels=pack(kernels, program.outputs, budget))
    yield made
