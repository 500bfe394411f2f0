"""The contract of all bridges, run by the tests of three folders.

`Contract` drives a bridge through `Driver`, which hides where the bridge and its memory are.
"""

from __future__ import annotations

import ctypes
import json
from abc import ABC, abstractmethod
from array import array
from typing import Any

import pytest

from py_tensor.runtime.bridge import Bridge
from py_tensor.runtime.plan import CREATE, DESTROY, DISPATCH, FILL, SUBMIT, UPLOAD

COPY = """
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 1>;
@compute @workgroup_size(4)
fn main(@builtin(global_invocation_id) id: vec3u) { b1[id.x] = b0[id.x] + params[0].x; }
"""


class Driver(ABC):
    """A bridge, and the memory that it shares with its caller."""

    @abstractmethod
    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method; return its result, or the value of the promise that it returns."""

    @abstractmethod
    def flush(self, number: int, commands: list[int], block: bytes, table: list[int]) -> int: ...

    @abstractmethod
    def read(self, number: int, offset: int, nbytes: int) -> tuple[str, bytes, bool]:
        """The outcome of a read, the first 64 bytes after it, and whether it may still write.

        Bytes that were not written are 0xEE.
        """


class LocalDriver(Driver):
    """Drives a bridge in this process."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    def call(self, method: str, *arguments: Any) -> Any:
        found = getattr(self.bridge, method)(*arguments)
        return found.wait() if hasattr(found, "wait") else found

    def flush(self, number: int, commands: list[int], block: bytes, table: list[int]) -> int:
        words, ids, data = array("I", commands), array("I", table), array("B", block)
        places = [x.buffer_info()[0] for x in (words, ids, data)]
        return self.bridge.flush(places[0], len(words), places[1], places[2], len(data), number)

    def read(self, number: int, offset: int, nbytes: int) -> tuple[str, bytes, bool]:
        target = ctypes.create_string_buffer(b"\xee" * 64, 64)
        address = ctypes.addressof(target)
        outcome = self.call("read", number, offset, nbytes, address)
        return outcome, target.raw, self.bridge.isReading(address)


def failures(outcome: str) -> list[dict[str, Any]]:
    return json.loads(outcome) if outcome else []


class Contract:
    """The tests. Each folder's subclass has a fixture `driver`, for a bridge without a device."""

    @pytest.fixture
    def ready(self, driver: Driver) -> Driver:
        """`driver` with a device and with program 1."""
        assert json.loads(driver.call("acquire", "", 0))["ok"]
        driver.call("definePipeline", 1, COPY, "copied", 2, 0b10, False)
        return driver

    def test_without_a_device_nothing_is_done(self, driver: Driver) -> None:
        assert driver.flush(1, [CREATE, 1, 16, 0], b"", []) == 0
        assert driver.call("lastFlush") == 0
        [failure] = failures(driver.call("synchronize"))
        assert (failure["flush"], failure["kind"]) == (-1, "lost")

    def test_a_device_is_the_same_as_long_as_it_lives(self, driver: Driver) -> None:
        first = driver.call("acquire", "", 0)
        assert driver.call("acquire", "", 0) == first
        found = json.loads(first)
        assert (found["generation"], found["wrong"], found["choices"]) == (1, [], None)
        assert isinstance(found["adapter"]["isFallbackAdapter"], bool)
        assert found["limits"]["maxStorageBuffersPerShaderStage"] >= 8
        for name in ("maxBufferSize", "maxStorageBufferBindingSize"):
            assert found["limits"][name] >= 128 << 20

    def test_an_upload_takes_a_range_of_the_block(self, ready: Driver) -> None:
        block = bytes(range(64))
        commands = [CREATE, 1, 16, 0, UPLOAD, 1, 0, 32, 16]
        assert ready.flush(1, commands, block, []) >= 1
        assert ready.call("lastFlush") == 1
        outcome, data, is_reading = ready.read(1, 0, 16)
        assert (outcome, data[:16], is_reading) == ("", block[32:48], False)
        assert data[16:] == b"\xee" * 48

    def test_commands_name_buffers_by_their_position(self, ready: Driver) -> None:
        block = bytes(256) + bytes(range(16))
        make = [CREATE, 8, 16, 0, CREATE, 9, 16, 0, UPLOAD, 8, 0, 256, 16, SUBMIT]
        run = [DISPATCH, 1, 0, 16, 1, 1, 1, 2, 3, 0]
        assert ready.flush(1, make + run, block, [9, 0, 0, 8]) >= 1
        assert ready.read(9, 0, 16)[0] == ""
        stats = json.loads(ready.call("stats"))
        assert {k: stats[k] for k in ("flushes", "dispatches", "compiles")} == {
            **{"flushes": 1, "dispatches": 1, "compiles": 1}
        }

    def test_slices_are_destroyed_with_their_slab(self, ready: Driver) -> None:
        fills = [FILL, 1, 0, 512, FILL, 3, 7, 16]
        assert ready.flush(1, [CREATE, 1, 512, 2, *fills], b"", []) >= 1
        assert ready.read(3, 0, 16)[:2] == ("", array("I", [7] * 4).tobytes() + b"\xee" * 48)
        assert ready.flush(2, [DESTROY, 1], b"", []) >= 1
        assert json.loads(ready.call("stats"))["buffers"] == 0

    def test_destroying_a_missing_buffer_is_not_an_error(self, ready: Driver) -> None:
        assert ready.flush(1, [DESTROY, 5], b"", []) >= 1
        assert ready.call("synchronize") == ""

    def test_allocated_is_as_created(self, ready: Driver) -> None:
        assert ready.call("allocate", 4, 512, 2) == ""
        stats = json.loads(ready.call("stats"))
        assert (stats["buffers"], stats["bufferBytes"]) == (1, 512)
        assert ready.flush(1, [FILL, 6, 5, 8], b"", []) >= 1
        assert ready.read(6, 0, 8)[1][:8] == array("I", [5, 5]).tobytes()

    def test_a_broken_stream_only_makes_and_destroys(self, ready: Driver) -> None:
        """Unsubmitted work is dropped; the buffers are those of a valid flush."""
        assert ready.flush(1, [CREATE, 1, 16, 0, CREATE, 2, 16, 0], b"", []) >= 1
        run = [DISPATCH, 1, 0, 16, 1, 1, 1, 1, 0]  # program 1 takes two buffers
        assert ready.flush(2, [*run, CREATE, 3, 32, 0, DESTROY, 1], bytes(256), [1]) == -1
        assert ready.call("lastFlush") == 1
        stats = json.loads(ready.call("stats"))
        assert (stats["buffers"], stats["bufferBytes"]) == (2, 48)
        [failure] = failures(ready.call("failures"))
        assert failure["flush"] == 2
        assert "the pipeline takes 2 buffers, not 1" in failure["message"]

    def test_a_program_must_be_defined(self, ready: Driver) -> None:
        run = [DISPATCH, 77, 0, 16, 1, 1, 1, 2, 0, 1]
        stream = [CREATE, 1, 16, 0, CREATE, 2, 16, 0, *run]
        assert ready.flush(1, stream, bytes(256), [1, 2]) == -1
        [failure] = failures(ready.call("failures"))
        assert (failure["flush"], failure["kind"]) == (1, "exception")
        assert "pipeline 77 is not defined" in failure["message"]

    def test_a_buffer_is_not_read_and_written_at_once(self, ready: Driver) -> None:
        make = [CREATE, 1, 16, 0]
        run = [DISPATCH, 1, 0, 16, 1, 1, 1, 2, 0, 0]
        assert ready.flush(1, [*make, *run], bytes(256), [1]) == -1
        [failure] = failures(ready.call("failures"))
        assert failure["flush"] == 1
        assert " is bound " in failure["message"]

    def test_a_failure_is_reported_until_it_is_forgotten(self, ready: Driver) -> None:
        make = [CREATE, 1, 16, 0]
        assert ready.flush(1, [*make, DISPATCH, 1, 0, 16, 1, 1, 1, 1, 0], bytes(256), [1]) == -1
        reports = [ready.call("synchronize"), ready.call("drain", 9), ready.read(1, 0, 16)[0]]
        found = [failures(report) for report in [*reports, ready.call("failures")]]
        assert all(report == found[0] for report in found)
        assert [failure["flush"] for failure in found[0]] == [1]
        ready.call("forgetFailures", found[0][0]["serial"])
        assert ready.call("synchronize") == ready.call("failures") == ""

    def test_after_a_loss_there_is_another_device(self, ready: Driver) -> None:
        assert ready.flush(1, [CREATE, 1, 16, 0], b"", []) >= 1
        ready.call("loseDevice")
        assert ready.flush(2, [CREATE, 2, 16, 0], b"", []) == 0
        outcome, data, is_reading = ready.read(1, 0, 16)
        assert failures(outcome)[-1]["kind"] == "lost"
        assert (data, is_reading) == (b"\xee" * 64, False)
        assert failures(ready.call("synchronize"))[-1]["kind"] == "lost"
        for failure in failures(ready.call("failures")):
            ready.call("forgetFailures", failure["serial"])
        found = json.loads(ready.call("acquire", "", 0))
        assert (found["ok"], found["generation"]) == (True, 2)
        assert json.loads(ready.call("stats"))["buffers"] == 0
        make = [CREATE, 3, 16, 0, CREATE, 4, 16, 0, FILL, 3, 0, 16]
        run = [DISPATCH, 1, 0, 16, 1, 1, 1, 2, 0, 1]  # its source outlived the device
        assert ready.flush(3, [*make, *run], bytes(256), [3, 4]) >= 1
        assert ready.call("synchronize") == ""

    def test_compiling_ahead_is_compiling_once(self, ready: Driver) -> None:
        ready.call("warm", 1)
        assert ready.call("warmed") == ""
        make = [CREATE, 1, 16, 0, CREATE, 2, 16, 0, FILL, 1, 0, 16]
        assert ready.flush(1, [*make, DISPATCH, 1, 0, 16, 1, 1, 1, 2, 0, 1], bytes(256), [1, 2])
        assert json.loads(ready.call("stats"))["compiles"] == 1

    def test_a_timer_reports_each_dispatch(self, ready: Driver) -> None:
        make = [CREATE, 1, 16, 0, CREATE, 2, 16, 0, FILL, 1, 0, 16]
        assert ready.call("startTimer")
        assert ready.flush(1, [*make, DISPATCH, 1, 0, 16, 1, 1, 1, 2, 0, 1], bytes(256), [1, 2])
        [(pipeline, begin, end)] = json.loads(ready.call("stopTimer"))
        assert (pipeline, begin) == (1, 0)
        assert end >= 0
        assert json.loads(ready.call("stopTimer")) == []

    def test_nothing_is_kept_and_nothing_painted_without_a_place_for_it(
        self, ready: Driver
    ) -> None:
        assert isinstance(ready.call("canPaint"), bool)
        assert isinstance(ready.call("keepChoices", ""), str)
