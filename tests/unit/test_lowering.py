"""The lowering of a kernel is reused for kernels with the same structure."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import py_tensor as pt
from py_tensor.codegen import lower as lowering
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.program import Dispatch, Programs
from py_tensor.codegen.writer import Context
from py_tensor.runtime.device import LazyDevice
from py_tensor.schedule.kernel import Kernel
from tests.unit import simulate
from tests.unit.programs import Pair, Program


def lowered_anew(kernel: Kernel, profile: AdapterProfile, programs: Programs) -> list[Dispatch]:
    """Return the dispatches of a kernel, lowered without the cache."""
    return lowering._family_of(kernel).lower(kernel, Context(profile, programs))


def seen(x: Dispatch) -> tuple[Any, ...]:
    """Return a dispatch with its program's text; the label may be that of another kernel."""
    run = x.slots, x.params, x.patches, x.count, x.work, x.operations, x.traffic
    return x.program.wgsl, x.program.writable, run


class Uncompared(Program):
    """A random program whose tensors are computed but not compared."""

    def compare(self, pair: Pair) -> None:
        pt.realize(pair.here)


@pytest.mark.parametrize("software", [False, True])
def test_a_cached_lowering_equals_a_new_one(source: Random, software: bool) -> None:
    programs = Programs()
    kernels = 0
    for _ in range(40):
        backend = simulate.Simulator(execute=False, programs=Programs())
        place = LazyDevice("webgpu")
        place.use(backend)
        program = Uncompared(source.getrandbits(32), place)
        program.run(15)
        profile = AdapterProfile(software=software)
        for kernel in backend.kernels:
            if kernel.checks() or kernel.in_place_target is not None or kernel.slab:
                continue  # these become other kernels
            moved = kernel.with_slots(lambda slot: 1000 - 3 * slot)
            assert moved is not None
            for one in (kernel, moved):
                ((step,), _) = lowering.lower_each([one], profile, programs)
                anew = lowered_anew(one, profile, Programs())
                assert list(map(seen, step.dispatches)) == list(map(seen, anew))
            kernels += 1
    assert 0 < len(programs.lowerings) <= kernels  # with twice as many
