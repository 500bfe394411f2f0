"""`pt.tune` on a fake bridge that can compute, with a simulated clock."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends import choice
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.backends.webgpu import WebGPU
from py_tensor.base.errors import DeviceError, DeviceLostError
from py_tensor.codegen.adapter_profile import (
    FURTHER,
    Choices,
    Tile,
    defaults,
    kept_choices,
    tuning_parameters,
    value_of,
)
from py_tensor.runtime.device import LazyDevice
from py_tensor.tools import tuning
from py_tensor.tools.tuning import ROWS, Workload, Workloads
from tests.unit.fake_bridge import GPU, FakeBridge, Promise

PARAMETER = "map_workgroup"  # 256 by default, also 64 and 128: "const WORKGROUP" in a kernel's text
DEFAULT = "256"
SECOND = 10**9


def size_in(wgsl: str) -> str:
    found = re.search(r"const WORKGROUP = (\d+)u", wgsl)
    assert found
    return found[1]


@dataclass
class Machine:
    """The behaviour of kernels by workgroup size.

    Attributes
    ----------
    times : dict
        Nanoseconds of a dispatch.
    wrong, wrong_further, refused : set
        Sizes that compute wrong results; only in further workloads; that do not compile.
    answer : bytes
        The right result of the latest workload.
    """

    times: dict[str, int]
    wrong: set[str] = field(default_factory=set)
    wrong_further: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    answer: bytes = b""
    is_further: bool = False
    now: int = 0


class Computing(FakeBridge):
    """A bridge whose kernels all give the right answer, except those listed by the machine."""

    machine: Machine

    def warm(self, number: int) -> None:
        super().warm(number)
        if size_in(self.pipelines[number][0]) in self.machine.refused:
            self.faults = ["validation"]

    def _dispatch(self, program: int, params: bytes, grid: Any, slots: Any, written: Any) -> None:
        super()._dispatch(program, params, grid, slots, written)
        size, machine = size_in(self.pipelines[program][0]), self.machine
        machine.now += machine.times[size]
        wrong = machine.wrong | (machine.wrong_further if machine.is_further else set())
        for n, slot in enumerate(slots):
            if self.pipelines[program][3] >> n & 1 and size not in wrong:
                self.contents[slot] = machine.answer

    def stopTimer(self) -> Promise:  # noqa: N802
        times = [
            [p, 0, self.machine.times[size_in(self.pipelines[p][0])] + n]
            for n, p in enumerate(self.timed or [])
        ]
        self.timed = None
        return Promise(lambda: json.dumps(times))


@pytest.fixture(params=["gpu clock", "host clock"])
def place(request: pytest.FixtureRequest, gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> GPU:
    """A session with a computing bridge, and small workloads."""
    bridge = Computing()
    bridge.machine = machine = Machine({"256": 10**6, "64": 10**6, "128": 10**6})
    bridge.features = ["timestamp-query"] if request.param == "gpu clock" else []

    def made(make: Callable[[], Workload], further: bool) -> Callable[[], Workload]:
        def note() -> Workload:
            work = make()
            machine.answer, machine.is_further = work.expected, further
            return work

        return note

    timed, further = tuning.map_of_two(37, 16), tuning.map_of_two(5, 7)
    monkeypatch.setattr(
        tuning,
        "workloads_for",
        lambda *_: Workloads((made(timed, False),), (made(further, True),)),
    )
    monkeypatch.setattr(tuning, "perf_counter", lambda: machine.now / SECOND)
    return session(bridge, monkeypatch)


def session(bridge: FakeBridge, monkeypatch: pytest.MonkeyPatch) -> GPU:
    """Return a new session on the same machine and in the same browser."""
    assert isinstance(bridge, Computing)
    bridge.loseDevice()
    bridge.pipelines.clear()
    bridge.compiled.clear()
    backend = WebGPU(bridge, bridge.acquire("", 0).wait())
    device = LazyDevice("webgpu")
    device.use(backend)
    monkeypatch.setattr(choice, "_default", device)
    return GPU(bridge, backend, device)


def machine(place: GPU) -> Machine:
    assert isinstance(place.bridge, Computing)
    return place.bridge.machine


def parameter(found: pt.Tuning, name: str = PARAMETER) -> tuning.TuningParameter:
    return next(k for k in found.parameters if k.name == name)


def verdicts(found: pt.Tuning) -> dict[str, str]:
    return {a.value: a.verdict for a in parameter(found).attempts}


def workgroups(place: GPU) -> set[str]:
    """Return the workgroup sizes in new plans."""
    place.backend._plans.clear()
    x = pt.ones((3, 5), device=place.device).realize()
    pt.where(x > 2, x, 3 - x).sqrt().realize()
    plans = place.backend._plans.values()
    return {size_in(program.wgsl) for plan in plans for program in plan.programs}


class TestChoosing:
    def test_the_fastest_is_used_and_kept(
        self, place: GPU, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        machine(place).times |= {"64": 500_000, "128": 800_000}
        found = pt.tune(PARAMETER)
        assert verdicts(found) == {"256": "slower", "64": "chosen", "128": "slower"}
        times = [a.time for a in parameter(found).attempts]
        assert times == pytest.approx([1e-3, 5e-4, 8e-4], rel=0.01)
        assert (parameter(found).value, parameter(found).later, parameter(found).default) == (
            "64",
            "64",
            DEFAULT,
        )
        assert pt.device_info()["tuned"]
        assert pt.device_info()["choices"][PARAMETER] == "64"
        assert workgroups(place) == {"64"}
        later = session(place.bridge, monkeypatch)
        assert workgroups(later) == {"64"}
        assert verdicts(pt.tuning()) == verdicts(found)

    @pytest.mark.parametrize("time", [960_000, 1_000_000, 3_000_000])
    def test_values_that_are_hardly_faster_are_not_chosen(self, place: GPU, time: int) -> None:
        machine(place).times |= {"64": time, "128": time}
        assert verdicts(pt.tune(PARAMETER))[DEFAULT] == "default"
        assert workgroups(place) == {DEFAULT}

    @pytest.mark.parametrize(
        ("samples", "faster"),
        [
            ([4.0, 4.0, 4.0, 4.0], True),
            ([9.0, 4.0, 4.0, 4.0], True),
            ([4.0, 4.0, 4.0], False),  # too few
            ([5.2, 5.2, 4.0, 5.2], False),  # faster once
            ([4.9, 4.8, 4.8, 4.8], False),  # faster, but not at its best
        ],
    )
    def test_one_fast_run_is_not_believed(self, samples: list[float], faster: bool) -> None:
        assert tuning.is_faster(samples, [5.0, 9.0, 9.0, 5.1, 5.2]) == faster
        assert not tuning.is_faster(samples, samples)

    def test_wrong_values_are_dropped(self, place: GPU) -> None:
        machine(place).times |= {"64": 100_000, "128": 500_000}
        machine(place).wrong = {"64"}
        found = verdicts(pt.tune(PARAMETER))
        assert found == {"256": "slower", "64": "wrong results", "128": "chosen"}

    def test_values_wrong_in_other_sizes_are_dropped(self, place: GPU) -> None:
        machine(place).times |= {"64": 100_000, "128": 500_000}
        machine(place).wrong_further = {"64"}
        assert verdicts(pt.tune(PARAMETER)) == {
            "256": "slower",
            "64": "wrong results",
            "128": "chosen",
        }

    def test_values_that_do_not_compile_are_dropped(self, place: GPU) -> None:
        machine(place).times |= {"64": 100_000}
        machine(place).refused = {"64"}
        found = verdicts(pt.tune(PARAMETER))
        assert found["64"].startswith("failed: ")
        assert "refused for a test" in found["64"]
        assert found[DEFAULT] == "default"
        assert workgroups(place) == {DEFAULT}

    def test_a_default_that_is_wrong_gives_way(self, place: GPU) -> None:
        machine(place).times |= {"64": 2_000_000, "128": 3_000_000}
        machine(place).wrong = {DEFAULT}
        assert verdicts(pt.tune(PARAMETER)) == {
            "256": "wrong results",
            "64": "chosen",
            "128": "slower",
        }

    def test_where_all_are_wrong_nothing_changes(self, place: GPU) -> None:
        machine(place).wrong = set(machine(place).times)
        assert set(verdicts(pt.tune(PARAMETER)).values()) == {"wrong results"}
        assert workgroups(place) == {DEFAULT}

    def test_values_that_make_no_difference_are_not_timed(self, place: GPU) -> None:
        found = parameter(pt.tune("unroll"), "unroll")  # the workloads are elementwise
        assert [a.time for a in found.attempts] == [None] * 4
        assert {a.verdict for a in found.attempts} == {"default", "the same kernels as 4"}

    def test_tiles_that_do_not_fit_are_not_compiled(self, place: GPU) -> None:
        place.backend.profile = replace(place.backend.profile, workgroup_memory=16384)
        found = parameter(pt.tune("large_tile"), "large_tile").attempts
        assert found[0].verdict == "default"  # its fallback
        assert found[3].verdict == "needs 17024 bytes of workgroup memory, of 16384"

    def test_there_is_an_end_to_it(self, place: GPU) -> None:
        machine(place).times = dict.fromkeys(machine(place).times, SECOND)
        found = pt.tune(seconds=3)
        assert machine(place).now <= 6 * SECOND
        assert all(k.value == k.default for k in found.parameters)
        assert found.parameters[-1].attempts[0].verdict == tuning.OUT_OF_TIME

    def test_earlier_choices_stay_if_time_runs_out(self, place: GPU) -> None:
        machine(place).times |= {"64": 500_000}
        before = pt.tune(PARAMETER)
        for seconds in (0, 0.0015):  # before the first check, and after it
            found = pt.tune(PARAMETER, seconds=seconds)
            assert parameter(found) == parameter(before)
        assert parameter(pt.tune("unroll", seconds=0), "unroll").value == "4"

    def test_other_parameters_stay(self, place: GPU) -> None:
        machine(place).times |= {"64": 500_000}
        pt.tune(PARAMETER)
        found = pt.tune("unroll")
        assert verdicts(found)["64"] == "chosen"
        assert parameter(found).value == "64"

    def test_results_are_poisoned_before_they_are_checked(self, place: GPU) -> None:
        fills: list[int] = []
        create = place.bridge._perform

        def note(command: tuple[int, ...], *rest: Any) -> None:
            fills.extend(command[2:3] if command[0] == 5 else ())
            create(command, *rest)

        place.bridge._perform = note  # type: ignore[method-assign]
        pt.tune(PARAMETER)
        assert set(fills) == {0x7FC0DEAD}
        assert len(fills) == 3  # and not during timing

    def test_invalid_calls_of_tune(self, place: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(
            ValueError, match="unknown tuning parameter 'tiles'; known parameters: large_tile, "
        ):
            pt.tune("tiles")
        monkeypatch.setattr(choice, "_default", CPU_DEVICE)
        with pytest.raises(DeviceError, match=r"^tune: the cpu device"):
            pt.tune()
        with pytest.raises(DeviceError, match=r"^tuning: the cpu device"):
            pt.tuning()


class TestWhatIsUsed:
    def test_it_stays_for_the_session(self, place: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
        x = pt.ones(8, device=place.device).realize()

        def programs() -> list[int]:
            with_new_plan = pt.tanh(x) + x
            with_new_plan.realize()
            return [p.number for p in next(reversed(place.backend._plans.values())).programs]

        before = programs()
        place.backend._plans.clear()
        machine(place).times |= {"64": 500_000}
        found = pt.tune(PARAMETER)
        assert parameter(found).is_used
        assert (parameter(found).value, parameter(found).later) == (DEFAULT, "64")
        assert f"{PARAMETER} = 256 (default); from the next session on 64" in found.table(80)
        place.backend._plans.clear()
        assert programs() == before
        assert workgroups(place) == {DEFAULT}
        assert pt.device_info()["choices"][PARAMETER] == DEFAULT
        assert workgroups(session(place.bridge, monkeypatch)) == {"64"}

    def test_looking_is_not_using(self, place: GPU) -> None:
        x = pt.ones(8, device=place.device)
        assert "run" in repr(pt.explain(x + 1))
        pt.tuning()
        pt.device_info()
        assert not any(k.is_used for k in pt.tuning().parameters)
        (x + 1).realize()
        assert {k.name for k in pt.tuning().parameters if k.is_used} == {PARAMETER}

    def test_tuning_uses_nothing(self, place: GPU) -> None:
        assert not any(k.is_used for k in pt.tune().parameters)
        assert place.backend.stats()["plans"] == 0
        memory = place.memory_info()
        assert memory["live_buffers"] == memory["pooled_bytes"] == 0

    def test_it_stays_through_a_loss(self, place: GPU) -> None:
        x = pt.ones(8, device=place.device).realize()
        machine(place).times |= {"64": 500_000}
        place.bridge.kept = None
        found = pt.tune(PARAMETER)
        assert found.unkept == "this host has no storage"
        assert "lost with this session" in found.table(100)
        place.bridge.loseDevice()
        del x
        assert workgroups(place) == {DEFAULT}
        assert place.backend.generation > 1
        assert (parameter(pt.tuning()).value, parameter(pt.tuning()).later) == (DEFAULT, "64")

    def test_reset(self, place: GPU, monkeypatch: pytest.MonkeyPatch) -> None:
        machine(place).times |= {"64": 500_000}
        pt.tune(PARAMETER)
        assert workgroups(place) == {"64"}
        found = pt.tuning().reset()
        assert place.bridge.kept == ""
        assert (parameter(found).value, parameter(found).later) == ("64", DEFAULT)
        assert found.when is None
        assert workgroups(place) == {"64"}
        assert not pt.device_info()["tuned"]
        place.bridge.loseDevice()
        assert workgroups(place) == {"64"}
        assert workgroups(session(place.bridge, monkeypatch)) == {DEFAULT}


class TestTrouble:
    def unchanged(self, place: GPU) -> None:
        """Nothing was chosen or stored; the session works, and can be tuned."""
        assert pt.tuning().when is None
        assert not place.bridge.kept
        assert place.bridge.timed is None
        assert workgroups(place) == {DEFAULT}

    @pytest.mark.parametrize("at", [0, 3, 12])
    def test_a_lost_device(self, place: GPU, at: int) -> None:
        machine(place).times |= {"64": 500_000}
        place.bridge.faults = [""] * at + ["lost"]
        with pytest.raises(DeviceLostError):
            pt.tune(PARAMETER)
        self.unchanged(place)

    @pytest.mark.parametrize("at", [0, 1, 5, 20])
    def test_an_interrupt(self, place: GPU, at: int) -> None:
        machine(place).times |= {"64": 500_000}
        place.bridge.waits = [""] * at + ["interrupted"]
        with pytest.raises(KeyboardInterrupt):
            pt.tune(PARAMETER)
        assert place.bridge.waits == []
        self.unchanged(place)
        assert parameter(pt.tune(PARAMETER)).later == "64"

    def test_no_memory(self, place: GPU) -> None:
        place.bridge.faults = ["", "", "out-of-memory"]  # of the first check
        found = verdicts(pt.tune(PARAMETER))
        assert found[DEFAULT].startswith("failed: ")
        assert place.memory_info()["live_buffers"] == 0

    @pytest.mark.parametrize(
        "record",
        [
            "nonsense",
            "[]",
            "null",
            '{"choices": 1}',
            '{"choices": {}}',
            '{"choices": {"map_workgroup": "63"}}',
            '{"choices": {"map_workgroup": 64}}',
            '{"choices": {"map_workgroup": "64", "no tuning parameter": "1"}}',
            "[" * 100_000,
        ],
    )
    def test_a_damaged_record_is_passed_over(
        self, place: GPU, record: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place.bridge.kept = record
        place = session(place.bridge, monkeypatch)
        assert not pt.device_info()["tuned"]
        assert pt.tuning().when is None
        assert workgroups(place) == {DEFAULT}
        assert pt.tune(PARAMETER).when

    def test_a_record_whose_reasons_are_damaged(
        self, place: GPU, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place.bridge.kept = '{"choices": {"map_workgroup": "64"}, "attempts": {"unroll": 3}}'
        place = session(place.bridge, monkeypatch)
        assert workgroups(place) == {"64"}
        assert parameter(pt.tuning()).attempts == ()
        repr(pt.tuning())


class TestExport:
    def tuned(self, place: GPU) -> pt.Tuning:
        machine(place).times |= {"64": 500_000}
        return pt.tune(PARAMETER)

    def test_there_and_back(
        self, place: GPU, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "tuning.json"
        found = self.tuned(place)
        assert found.to_json(path) == path.read_text() == found.to_json(str(path))
        found.reset()
        place = session(place.bridge, monkeypatch)
        assert not pt.device_info()["tuned"]
        again = pt.Tuning.from_json(path)
        assert repr(again) == repr(found)
        assert again.to_json() == found.to_json() == place.bridge.kept
        assert workgroups(place) == {"64"}

    def test_parameters_that_were_not_tuned(self, place: GPU) -> None:
        text = pt.tuning().to_json()
        assert json.loads(text)["choices"] == {}
        assert pt.Tuning.from_json(text).when is None

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            (lambda r: {**r, "adapter": {"vendor": "other"}}, "are for .*other"),
            (lambda r: {**r, "choices": {PARAMETER: "63"}}, "must be one of 256, 64, .* not '63'"),
            (lambda r: {**r, "choices": {"speed": "1"}}, "unknown tuning parameter 'speed'"),
            (
                lambda r: {**r, "choices": {PARAMETER: "128"}},
                "128 does not work here: wrong results",
            ),
            (lambda r: {**r, "attempts": [1]}, "the output of to_json"),
            (lambda r: {**r, "attempts": {PARAMETER: [{"value": "64"}]}}, "the output of to_json"),
            (lambda r: [], "the output of to_json"),
        ],
    )
    def test_invalid_arguments_change_nothing(
        self, place: GPU, change: Callable[[Any], Any], match: str
    ) -> None:
        before = self.tuned(place)
        machine(place).wrong = {"128"}
        text = json.dumps(change(json.loads(before.to_json())))
        with pytest.raises(ValueError, match=match):
            pt.Tuning.from_json(text)
        assert repr(pt.tuning()) == repr(before)
        assert place.bridge.kept == before.to_json()


@pytest.mark.parametrize("columns", [30, 50, 80, 120])
def test_the_table_fits(place: GPU, columns: int) -> None:
    machine(place).times |= {"64": 500_000}
    machine(place).refused = {"128"}
    text = pt.tune().table(columns)
    assert max(map(len, text.splitlines())) <= columns
    for name, values in tuning_parameters(False).items():
        assert name in text
        assert all(str(value) in text for value in values)


# -- Candidates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("software", [False, True])
def test_the_first_value_is_the_default(software: bool) -> None:
    for name, values in tuning_parameters(software).items():
        assert values[0] == getattr(defaults(software), name)
        assert len({str(v) for v in values}) == len(values)
        for value in values:
            assert value_of(name, str(value), software) == value
            record = json.dumps({"choices": {name: str(value)}})
            found = kept_choices(record, software)
            assert found == replace(defaults(software), **{name: value})
    assert set(tuning_parameters(True)) | set(tuning_parameters(False)) == set(Choices().named())


def test_tiles_are_such_as_every_device_can_run() -> None:
    tiles = {
        v for values in tuning_parameters(False).values() for v in values if isinstance(v, Tile)
    } | {*FURTHER}
    assert len(tiles) > 8
    for tile in tiles:
        assert tile.workgroup <= 256
        assert tile.memory <= 32768
        assert tile.tm % 4 == tile.tn % 4 == tile.bk % 4 == 0
        sizes = tile.bm, tile.bn, tile.bk, tile.workgroup
        assert all(size & (size - 1) == 0 for size in sizes)  # loads have fixed strides
    smallest = [v for v in tuning_parameters(False)["small_tile"] if isinstance(v, Tile)]
    assert all(tile.memory <= 16384 for tile in smallest)  # there is no fallback


SMALL_WORKS = {
    "product": tuning.product(37, 45, 20),
    "transposed": tuning.product(37, 45, 20, transposed=True),
    "row_sums": tuning.row_sums(67, 21),
    "column_sums": tuning.column_sums(67, 21),
    "whole_sum": tuning.whole_sum(67, 21),
    "centred": tuning.centred(67, 64),
    "map_of_two": tuning.map_of_two(67, 21),
}
IN_FLOAT64: dict[str, Callable[..., Any]] = {
    "product": lambda x, y: x @ y,
    "transposed": lambda x, y: x.T @ y.T,
    "row_sums": lambda x: x.sum(1),
    "column_sums": lambda x: x.sum(0),
    "whole_sum": lambda x: x.sum(),
    "centred": lambda x: x - x.max(1)[:, None] - np.square(x - x.max(1)[:, None]).mean(1)[:, None],
    "map_of_two": lambda x, y: x * y + x,
}


@pytest.mark.parametrize("name", SMALL_WORKS)
def test_expected_results_are_exact(name: str) -> None:
    work = SMALL_WORKS[name]()
    arrays = [x.astype(np.float64) for x in work.operands]
    expected = IN_FLOAT64[name](*arrays)
    assert np.array_equal(expected, expected.astype(np.float32))
    assert expected.astype(np.float32).tobytes() == work.expected
    assert {abs(v) for a in arrays for v in a.flat} == {1, 3}
    tensors = [pt.tensor(a, dtype=pt.float32, device="cpu") for a in arrays]
    assert np.array_equal(work.expression(*tensors).numpy(), expected)


@pytest.mark.parametrize("name", ["product", "transposed", "centred", "map_of_two"])
def test_moved_elements_are_detected(name: str) -> None:
    """Shifts by rows or columns of any power of two are detected."""
    work = SMALL_WORKS[name]()
    shape = (37, 45) if name in ("product", "transposed") else work.operands[0].shape
    right = np.frombuffer(work.expected, np.float32).reshape(shape)
    for step in (1, 2, 4, 8, 16, 32):
        assert not np.array_equal(np.roll(right, step, 0), right)
        assert not np.array_equal(np.roll(right, step, 1), right)
        assert not np.array_equal(right[step:], right[:-step])
    assert ROWS % 2


def test_every_tuning_parameter_has_workloads() -> None:
    for software in (False, True):
        for name in tuning_parameters(software):
            assert tuning.workloads_for(name, software).timed
