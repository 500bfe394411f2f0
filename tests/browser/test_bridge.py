"""The bridge in a real browser, driven as Python drives it, but without Pyodide."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.folder_server import served

ROOT = Path(__file__).parents[2]

Run = Callable[[str], Any]

HARNESS = "/tests/browser/bridge_harness.js"


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with served(ROOT, "<!doctype html><link rel=icon href=data:,>", isolated=True) as origin:
        yield origin


@pytest.fixture
def run(browser: Browser, origin: str) -> Iterator[Run]:
    """Run the body of an async function in a new page, whose console must stay empty."""
    page = browser.new_page()
    noise: list[str] = []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.goto(origin)

    def run(body: str) -> Any:
        names = "AFFINE, Host, createBridge, faultyGpu, median, parsed"
        return page.evaluate(
            f"async () => {{ const {{{names}}} = await import('{HARNESS}'); {body} }}"
        )

    yield run
    page.close()
    assert noise == []


def test_upload_dispatch_read(run: Run) -> None:
    result = run("""
        const host = await Host.open();
        host.floats(1, [1, 2, 3, 4]).create(2, 16).affine(1, 2, {factor: 2, addend: 1});
        const inFlight = host.flush(1);
        return [inFlight, await host.floatsOf(2, 4), await host.floatsOf(2, 2, 8), host.stats()];
    """)
    in_flight, whole, part, stats = result
    assert in_flight == 1
    assert whole == {"outcome": "", "values": [3, 5, 7, 9]}
    assert part["values"] == [7, 9]
    wanted = {
        "generation": 1,
        "buffers": 2,
        "bufferBytes": 32,
        "pipelines": 1,
        "bindGroups": 1,
        "dispatches": 1,
    }
    assert wanted.items() <= stats.items()
    assert stats["reads"] == 2
    assert stats["flushes"] == 1
    assert stats["compiles"] == 1
    assert stats["submits"] == 3
    assert stats["inFlight"] == 0
    assert stats["stagingBuffers"] == 1  # the second read reused the first one's


def test_an_idle_gpu_starts_before_the_whole_flush_is_encoded(run: Run) -> None:
    """A busy GPU gets the flush in one piece."""
    idle, busy, values = run("""
        const host = await Host.open();
        const START = 7;
        host.floats(1, [1, 2, 3, 4]).create(2, 16).create(3, 16);
        host.flush(1);
        await host.bridge.synchronize();
        const submits = (flush, factor) => {
            const before = host.stats().submits;
            host.affine(1, 2, {factor}).command(START).affine(2, 3, {addend: 1}).flush(flush);
            return host.stats().submits - before;
        };
        return [submits(2, 2), submits(3, 3), (await host.floatsOf(3, 4)).values];
    """)
    assert (idle, busy) == (2, 1)
    assert values == [4, 7, 10, 13]


def test_acquire_returns_adapter_and_limits(run: Run) -> None:
    first, again, together = run("""
        const host = new Host();
        const together = await Promise.all([host.bridge.acquire(), host.bridge.acquire()]);
        const again = await host.bridge.acquire();
        return [JSON.parse(together[0]), JSON.parse(again), together[0] === together[1]];
    """)
    assert together
    assert first == again
    assert first["ok"]
    assert first["generation"] == 1
    assert first["adapter"]["isFallbackAdapter"] in (True, False)
    assert first["limits"]["maxStorageBuffersPerShaderStage"] >= 10
    assert first["limits"]["maxBufferSize"] > 256 << 20
    assert "timestamp-query" in first["features"]


def test_choices_are_kept_for_the_adapter(run: Run) -> None:
    results = run("""
        const found = async (choiceStore) => {
            const host = await Host.open({choiceStore});
            const {adapter, choices} = JSON.parse(await host.bridge.acquire());
            const kept = await host.bridge.keepChoices("new");
            return {adapter, choices, kept};
        };
        const asked = [];
        const good = {
            find: async (adapter) => { asked.push(adapter); return "old"; },
            keep: async (adapter, text) => { asked.push(adapter, text); },
        };
        const fail = async () => { throw new Error("no storage"); };
        const stuck = new Host({choiceStore: {find: fail, keep: () => new Promise(() => {})}});
        await stuck.bridge.acquire();
        const interrupted = stuck.bridge.keepChoices("new");
        stuck.bridge.interrupt();
        return {good: await found(good), bad: await found({find: fail, keep: fail}),
                none: await found(undefined), interrupted: await interrupted, asked};
    """)
    good, bad, none = (results[name] for name in ("good", "bad", "none"))
    assert (good["choices"], good["kept"]) == ("old", "")
    assert (bad["choices"], bad["kept"]) == (None, "no storage")
    assert (none["choices"], none["kept"]) == (None, "this host has no storage")
    assert results["interrupted"] == "interrupted"
    first, second, text = results["asked"]
    assert first == second
    assert json.loads(first) == good["adapter"]
    assert text == "new"


def test_acquire_asks_again_while_there_is_no_adapter(run: Run) -> None:
    late, never, none, interrupted = run("""
        let left = 2;
        const late = {
            requestAdapter: async (options) =>
                left-- > 0 ? null : navigator.gpu.requestAdapter(options),
        };
        const never = {requestAdapter: async () => null};
        const acquire = (options) => new Host(options).bridge.acquire().then(parsed);
        const patient = new Host({gpu: never}).bridge;
        const interrupted = patient.acquire();
        patient.interrupt();
        return [await acquire({gpu: late}), await acquire({gpu: never, patience: 150}),
                await acquire({gpu: null}), await interrupted];
    """)
    assert late["ok"]
    assert never["ok"] is False
    assert "no adapter" in never["reason"]
    assert none["ok"] is False
    assert "no WebGPU" in none["reason"]
    assert interrupted == "interrupted"


def test_uploads_keep_their_place_among_dispatches(run: Run) -> None:
    result = run("""
        const host = await Host.open();
        host.floats(1, [1, 1, 1, 1]).create(2, 16).create(3, 16);
        host.affine(1, 2).upload(1, new Float32Array([5, 6, 7, 8])).affine(1, 3).flush(1);
        return [await host.floatsOf(2, 4), await host.floatsOf(3, 4)];
    """)
    assert [each["values"] for each in result] == [[1, 1, 1, 1], [5, 6, 7, 8]]


def test_upload_writes_no_byte_too_many_before_the_last_word(run: Run) -> None:
    values = run("""
        const host = await Host.open();
        host.create(1, 16).command(5, 1, 0xffffffff, 16);
        host.upload(1, new Uint8Array([1, 2, 3, 4, 5]), {offset: 4}).flush(1);
        const address = host.reserve(16);
        const outcome = await host.bridge.read(1, 0, 14, address);
        return [outcome, [...host.heap.slice(address, address + 16)]];
    """)
    assert values == ["", [255] * 4 + [1, 2, 3, 4, 5, 0, 0, 0] + [255, 255, 0, 0]]


def test_fill_submit_and_destroy_in_one_flush(run: Run) -> None:
    outcome, stats, failures = run("""
        const host = await Host.open();
        host.floats(1, [1, 2]).create(2, 16).create(3, 16);
        host.command(5, 2, 0x40000000, 16).affine(1, 2, {n: 2, addend: 4}).command(6);
        host.affine(2, 3).command(2, 1).command(2, 2).flush(1);
        return [await host.floatsOf(3, 4), host.stats(), host.bridge.failures()];
    """)
    assert outcome == {"outcome": "", "values": [5, 6, 2, 2]}
    assert stats["buffers"] == 1
    assert stats["bindGroups"] == 0
    assert failures == ""


def test_slices_of_a_slab(run: Run) -> None:
    """They are uploaded, filled, read, copied ahead and bound like buffers, each at its offset."""
    whole, slices, later, part, bound, ahead, none, allocated, stats = run("""
        const host = await Host.open();
        const floats = (id) => host.floatsOf(id, 4).then(({ values }) => values);
        host.floats(1, [1, 2, 3, 4]).create(10, 1024, 4).command(5, 10, 0, 1024);
        // The slab itself is written in one place, by a dispatch that knows where.
        host.affine(1, 10, { factor: 2 });
        host.upload(12, new Float32Array([5, 6])).upload(12, new Float32Array([7]), { offset: 12 });
        host.command(5, 13, 0x3f800000, 8).flush(1);
        const whole = (await host.floatsOf(10, 256)).values;
        const slices = [];
        for (const id of [11, 12, 13, 14]) slices.push(await floats(id));
        const later = (await host.floatsOf(12, 1, 12)).values;
        host.create(2, 256).affine(12, 2, { n: 64, addend: 1 }).flush(2);
        const part = await floats(2);
        host.create(3, 16).affine(13, 3).affine(12, 3, { factor: 10 }).flush(3);
        const bound = await floats(3);
        host.upload(14, new Float32Array([8, 9, 10, 11])).command(8, 14, 16).flush(4);
        const submits = host.stats().submits;
        const ahead = [await floats(14), host.stats().submits - submits];
        const before = host.stats();
        host.command(2, 10).flush(5);
        await host.bridge.synchronize();
        const none = [];
        for (const id of [10, 12]) none.push((await host.floatsOf(id, 4)).outcome[0].message);
        const after = host.stats();
        const allocated = [await host.bridge.allocate(20, 512, 2), await floats(22)];
        const counts = ({ buffers, bufferBytes, bindGroups }) => [buffers, bufferBytes, bindGroups];
        return [
            whole, slices, later, part, bound, ahead, none, allocated,
            [counts(before), counts(after)],
        ];
    """)
    expected = [[2, 4, 6, 8], [5, 6, 0, 7], [1, 1, 0, 0], [0, 0, 0, 0]]
    assert slices == expected
    assert [whole[64 * n : 64 * n + 4] for n in range(4)] == expected
    assert sum(map(abs, whole)) == sum(map(sum, expected))
    assert later == [7]
    assert part == [6, 7, 1, 8]
    assert bound == [50, 60, 0, 70]
    assert ahead == [[8, 9, 10, 11], 0]
    assert none == ["buffer 10 does not exist", "buffer 12 does not exist"]
    assert allocated == ["", [0, 0, 0, 0]]
    assert stats == [[4, 1024 + 16 + 256 + 16, 4], [3, 16 + 256 + 16, 0]]


def test_parameters_beyond_the_window(run: Run) -> None:
    """Each dispatch writes one element less than the previous one, so each sets one element."""
    outcome, stats = run("""
        const host = await Host.open();
        const size = 4608;
        host.floats(1, Array(size).fill(1)).create(2, 4 * size);
        for (let i = 0; i < size; i++) {
            host.affine(1, 2, {n: size - i, addend: i, groups: [size / 64, 1, 1]});
        }
        host.flush(1);
        const {outcome, values} = await host.floatsOf(2, size);
        const wrong = values.filter((value, i) => value !== size - i).length;
        return [{outcome, wrong}, host.stats()];
    """)
    assert outcome == {"outcome": "", "wrong": 0}
    assert stats["submits"] == 3  # two windows of 1 MiB, and the read
    assert stats["bindGroups"] == 1


def test_bind_groups_are_found_again_and_evicted(run: Run) -> None:
    warm, seen, bounded, outcome = run("""
        const host = await Host.open({bindGroupCapacity: 4});
        host.floats(1, [1, 2, 3, 4]);
        for (let id = 2; id < 12; id++) host.create(id, 16);
        host.affine(1, 2).affine(1, 3).affine(1, 2).affine(1, 3, {addend: 1}).flush(1);
        const warm = host.stats().bindGroups;
        const made = [];
        const original = GPUDevice.prototype.createBindGroup;
        GPUDevice.prototype.createBindGroup = function (descriptor) {
            made.push(descriptor.entries[1].resource.buffer.label);
            return original.call(this, descriptor);
        };
        for (let id = 4; id < 12; id++) host.affine(1, 2).affine(1, id);
        host.flush(2);
        return [warm, made, host.stats().bindGroups, await host.floatsOf(11, 4)];
    """)
    assert warm == 2
    assert seen == [
        f"buffer {i}" for i in range(4, 12)
    ]  # buffer 2 was in use all the time, so it stayed
    assert bounded == 4
    assert outcome == {"outcome": "", "values": [1, 2, 3, 4]}


def test_bind_groups_die_with_buffer_and_pipeline(run: Run) -> None:
    counts = run("""
        const host = await Host.open();
        host.bridge.definePipeline(2, AFFINE, "again", 2, 2);
        for (let id = 1; id < 5; id++) host.create(id, 16);
        host.affine(1, 2).affine(1, 3).affine(2, 3).affine(1, 4, {pipeline: 2}).flush(1);
        const counts = [host.stats().bindGroups];
        host.command(2, 1).flush(2);
        counts.push(host.stats().bindGroups);
        host.affine(3, 4, {pipeline: 2}).flush(3);
        host.bridge.dropPipeline(2);
        counts.push(host.stats().bindGroups);
        counts.push(host.bridge.stats() && await host.bridge.synchronize());
        return counts;
    """)
    assert counts == [4, 1, 1, ""]


def test_warm_compiles_ahead(run: Run) -> None:
    before, after, outcome, bad = run("""
        const host = await Host.open();
        host.bridge.warm(1);
        const warmed = await host.bridge.warmed();
        const before = host.stats().compiles;
        host.floats(1, [1, 2, 3, 4]).create(2, 16).affine(1, 2).flush(1);
        const after = host.stats().compiles;
        const outcome = await host.floatsOf(2, 4);
        host.bridge.definePipeline(3, "fn main() {", "broken", 2, 2);
        host.bridge.warm(3);
        const tried = await host.bridge.warmed();
        const early = host.bridge.failures();
        host.affine(1, 2, {pipeline: 3}).flush(2);
        const failures = host.noted(await host.bridge.synchronize());
        return [before, after, outcome, [warmed + tried + early, failures]];
    """)
    assert before == after == 1
    assert outcome["values"] == [1, 2, 3, 4]
    early, failures = bad
    assert early == ""
    assert [(failure["flush"], failure["label"]) for failure in failures] == [(2, "broken")]


def test_flush_does_not_wait_for_a_pipeline_that_warms(run: Run) -> None:
    good, failures = run("""
        const host = await Host.open();
        host.bridge.warm(1);
        host.floats(1, [1, 2, 3, 4]).create(2, 16).affine(1, 2).flush(1);
        const good = await host.floatsOf(2, 4);
        host.bridge.definePipeline(3, "fn main() {", "broken", 2, 2);
        host.bridge.warm(3);
        host.affine(1, 2, {pipeline: 3}).flush(2);
        return [good, host.noted(await host.bridge.synchronize())];
    """)
    assert good == {"outcome": "", "values": [1, 2, 3, 4]}
    assert [(failure["flush"], failure["label"]) for failure in failures] == [(2, "broken")]
    assert "parsing WGSL" in failures[0]["message"]  # not only that the module was invalid already


def test_wgsl_error_names_pipeline_and_line(run: Run) -> None:
    first, second, good = run("""
        const host = await Host.open();
        const bad = AFFINE.replace("params.addend;", "params.nothing;");
        host.bridge.definePipeline(2, bad, "bad sum", 2, 2);
        host.floats(1, [1, 2, 3, 4]).create(2, 16).create(3, 16).flush(1);
        host.affine(1, 2, {pipeline: 2}).flush(2);
        const first = await host.floatsOf(1, 4);
        host.affine(1, 2, {pipeline: 2}).flush(3);
        const second = host.noted(await host.bridge.synchronize());
        host.affine(1, 3).flush(4);
        return [first, second, await host.floatsOf(3, 4)];
    """)
    (failure,) = first["outcome"]
    assert (failure["flush"], failure["kind"], failure["label"], failure["line"]) == (
        2,
        "validation",
        "bad sum",
        8,
    )
    assert "params.nothing" in failure["lineText"]
    assert "nothing" in failure["message"]
    assert first["values"] == [1, 2, 3, 4]  # delivered: the failure belongs to another flush
    assert [(each["flush"], each["label"], each["line"]) for each in second] == [(3, "bad sum", 8)]
    assert good == {"outcome": "", "values": [1, 2, 3, 4]}


@pytest.mark.parametrize("point", ["dispatch", "pipeline"])
def test_validation_error_names_the_dispatch(run: Run, point: str) -> None:
    struck, failures, spared = run(f"""
        const gpu = faultyGpu(navigator.gpu);
        const host = await Host.open({{gpu}});
        host.bridge.definePipeline(2, AFFINE, "culprit", 2, 2);
        host.floats(1, [1, 2, 3, 4]).create(2, 16).create(3, 16);
        host.affine(1, 2, {{addend: 1}}).flush(1);
        gpu.faults.arm("validation", {{at: "{point}", after: {1 if point == "dispatch" else 0}}});
        host.affine(1, 3).affine(1, 3, {{pipeline: 2}}).flush(2);
        const failures = host.noted(await host.bridge.synchronize());
        return [gpu.faults.struck, failures, await host.floatsOf(2, 4)];
    """)
    assert struck == 1
    assert [(each["flush"], each["kind"], each["label"]) for each in failures] == [
        (2, "validation", "culprit")
    ]
    assert spared == {"outcome": "", "values": [2, 3, 4, 5]}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("host.affine(1, 1)", "writable"),
        ("host.affine(5, 6)", "the buffer of 5 and 6 is bound at 0 and at 1"),
        ("host.affine(5, 4)", "the buffer of 5 and 4 is bound at 0 and at 1"),
        ("host.affine(4, 6)", "the buffer of 4 and 6 is bound at 0 and at 1"),
        ("host.affine(1, 2, {groups: [70000, 1, 1]})", "workgroups"),
        ("host.affine(1, 99)", "buffer 99 does not exist"),
        ("host.command(4, 1, 0, 0, 1, 1, 1, 1, 1)", "takes 2 buffers, not 1"),
        ("host.command(4, 1, 256, 16, 1, 1, 1, 2, 1, 2)", "no parameters"),
    ],
)
def test_bad_dispatch_is_refused_by_name(run: Run, record: str, words: str) -> None:
    returned, failures, after = run(f"""
        const host = await Host.open();
        host.floats(1, [1, 2, 3, 4]).create(2, 16).create(4, 768, 3).flush(1);
        {record};
        const returned = host.flush(2);
        const failures = host.noted(host.bridge.failures());
        host.affine(1, 2).flush(3);
        return [returned, failures, await host.floatsOf(2, 4)];
    """)
    assert returned == -1
    assert [(each["flush"], each["label"]) for each in failures] == [(2, "affine")]
    assert words in failures[0]["message"]
    assert after == {"outcome": "", "values": [1, 2, 3, 4]}


def test_unknown_command_and_pipeline(run: Run) -> None:
    result = run("""
        const host = await Host.open();
        host.floats(1, [1, 2, 3, 4]).create(2, 16).flush(1);
        const unknown = [host.command(99, 1, 2).flush(2), host.noted(host.bridge.failures())];
        const flushed = host.affine(1, 2, {pipeline: 77}).flush(3);
        const undefinedPipeline = [flushed, host.noted(host.bridge.failures())];
        return [unknown, undefinedPipeline, host.noted(await host.bridge.synchronize())];
    """)
    (code, [failure]), (code2, [failure2]), rest = result
    assert (code, failure["kind"], failure["message"]) == (-1, "exception", "unknown command 99")
    assert (code2, failure2["label"], failure2["message"]) == (
        -1,
        "pipeline 77",
        "pipeline 77 is not defined",
    )
    assert rest == ""


def test_out_of_memory(run: Run) -> None:
    in_flush, in_allocate, too_large, good, buffers = run("""
        const gpu = faultyGpu(navigator.gpu);
        const host = await Host.open({gpu});
        gpu.faults.arm("out-of-memory");
        host.create(1, 1 << 20).flush(1);
        const inFlush = host.noted(await host.bridge.synchronize());
        gpu.faults.arm("out-of-memory");
        const inAllocate = parsed(await host.bridge.allocate(2, 1 << 20, 0));
        const tooLarge = parsed(await host.bridge.allocate(3, 2 ** 40, 0));
        const good = await host.bridge.allocate(2, 16, 0);
        host.upload(2, new Float32Array([7])).flush(2);
        const after = [good, await host.floatsOf(2, 1)];
        return [inFlush, inAllocate, tooLarge, after, host.stats().buffers];
    """)
    assert [(each["flush"], each["kind"]) for each in in_flush] == [(1, "out-of-memory")]
    assert (in_allocate["flush"], in_allocate["kind"]) == (-1, "out-of-memory")
    assert (too_large["kind"], too_large["label"]) == ("validation", "buffer 3")
    assert good == ["", {"outcome": "", "values": [7]}]
    assert buffers == 2


def test_lost_device_and_the_next_generation(run: Run) -> None:
    result = run("""
        const host = await Host.open();
        host.floats(1, [1, 2, 3, 4]).create(2, 16).affine(1, 2).flush(1);
        const pending = [host.floatsOf(2, 4), host.bridge.synchronize()];
        host.bridge.loseDevice();
        const refused = host.create(3, 16).flush(2);
        const ended = [(await pending[0]).outcome, host.noted(await pending[1])];
        const read = await host.bridge.read(2, 0, 16, 256);
        const reads = [host.noted(read), parsed(await host.bridge.allocate(9, 16, 0))];
        const empty = host.stats();
        const info = parsed(await host.bridge.acquire());
        const stale = (await host.floatsOf(2, 4)).outcome;
        host.floats(11, [5, 6, 7, 8]).create(12, 16).affine(11, 12).flush(3);
        await new Promise((resolve) => setTimeout(resolve, 50));
        const after = await host.floatsOf(12, 4);
        return {refused, ended, reads, empty, info, stale, after, left: host.bridge.failures()};
    """)
    assert result["refused"] == 0
    for failures in (*result["ended"], result["reads"][0]):
        assert failures[-1]["kind"] == "lost"
        assert failures[-1]["flush"] == -1
    assert result["reads"][1]["kind"] == "lost"
    assert (
        result["empty"]["buffers"]
        == result["empty"]["pipelines"]
        == result["empty"]["stagingBuffers"]
        == 0
    )
    assert (result["info"]["ok"], result["info"]["generation"]) == (True, 2)
    assert [each["message"] for each in result["stale"]] == ["buffer 2 does not exist"]
    assert result["after"] == {"outcome": "", "values": [5, 6, 7, 8]}
    assert result["left"] == ""


def test_late_reports_of_a_lost_device_do_not_affect_the_next(run: Run) -> None:
    told, late, after = run("""
        const told = [];
        const gpu = {async requestAdapter(options) {
            const adapter = await navigator.gpu.requestAdapter(options);
            const requestDevice = adapter.requestDevice.bind(adapter);
            adapter.requestDevice = async (descriptor) => {
                const device = await requestDevice(descriptor);
                const lost = new Promise((resolve) => told.push(resolve));
                return Object.defineProperty(device, "lost", {value: lost});
            };
            return adapter;
        }};
        const host = await Host.open({gpu});
        host.bridge.loseDevice();
        const first = host.noted(host.bridge.failures());
        await host.bridge.acquire();
        told[0]({reason: "destroyed", message: "late"});
        await Promise.resolve();
        host.floats(1, [1, 2, 3, 4]).flush(1);
        return [first, host.bridge.failures(), await host.floatsOf(1, 4)];
    """)
    assert [(each["flush"], each["kind"]) for each in told] == [(0, "lost")]
    assert late == ""
    assert after == {"outcome": "", "values": [1, 2, 3, 4]}


def test_device_lost_in_the_middle_of_a_flush(run: Run) -> None:
    struck, outcome, refused, after = run("""
        const gpu = faultyGpu(navigator.gpu);
        const host = await Host.open({gpu});
        host.floats(1, [1, 2, 3, 4]).create(2, 16).affine(1, 2).flush(1);
        gpu.faults.arm("lost");
        host.affine(1, 2).flush(2);
        const {outcome} = await host.floatsOf(2, 4);
        const refused = host.create(4, 16).flush(3);
        await host.bridge.acquire();
        host.floats(5, [1, 2, 3, 4]).create(6, 16).affine(5, 6).flush(4);
        return [gpu.faults.struck, outcome, refused, await host.floatsOf(6, 4)];
    """)
    assert struck == 1
    assert {"lost"} == {each["kind"] for each in outcome}
    assert refused == 0
    assert after == {"outcome": "", "values": [1, 2, 3, 4]}


def test_throw_in_the_middle_of_a_flush(run: Run) -> None:
    returned, failures, stats, kept, after = run("""
        const gpu = faultyGpu(navigator.gpu);
        const host = await Host.open({gpu});
        host.floats(1, [1, 2, 3, 4]).create(2, 16).create(3, 16).flush(1);
        gpu.faults.arm("throw", {after: 1});
        host.affine(1, 2, {addend: 1}).command(6).affine(1, 3).command(6).affine(1, 3);
        host.command(2, 3).floats(4, [9]);
        const returned = host.flush(2);
        const failures = host.noted(host.bridge.failures());
        const kept = await host.floatsOf(2, 4);
        const stats = host.stats();
        host.affine(2, 4, {n: 4}).flush(3);
        return [returned, failures, stats, kept, await host.floatsOf(4, 4)];
    """)
    assert returned == -1
    assert [(each["flush"], each["kind"], each["message"]) for each in failures] == [
        (2, "exception", "injected fault at submit")
    ]
    assert stats["buffers"] == 3  # 3 was destroyed and 4 created nevertheless
    assert kept == {"outcome": "", "values": [2, 3, 4, 5]}  # submitted before the throw
    assert after == {"outcome": "", "values": [2, 3, 4, 5]}


def test_two_reads_at_once(run: Run) -> None:
    results, stats = run("""
        const host = await Host.open();
        host.floats(1, [1, 2, 3, 4]).create(2, 16).affine(1, 2, {factor: 10}).flush(1);
        const first = host.floatsOf(2, 4);
        host.affine(1, 2, {factor: 100}).flush(2);
        return [await Promise.all([first, host.floatsOf(2, 4), host.floatsOf(1, 4)]), host.stats()];
    """)
    assert [each["outcome"] for each in results] == ["", "", ""]
    assert [each["values"][0] for each in results] == [10, 100, 1]  # as at its read
    assert stats["stagingBuffers"] == 3


def test_interrupt_ends_waits_and_spares_the_heap(run: Run) -> None:
    outcomes, heap, after, stats = run("""
        const host = await Host.open();
        host.floats(1, [1, 2, 3, 4]).flush(1);
        const address = host.reserve(16);
        const waits = [host.bridge.read(1, 0, 16, address),
                       host.bridge.synchronize(), host.bridge.drain(1),
                       host.bridge.allocate(5, 16, 0)];
        host.bridge.interrupt();
        const outcomes = await Promise.all(waits);
        await host.bridge.synchronize();
        await new Promise((resolve) => setTimeout(resolve, 100));
        const untouched = [...host.heap.slice(address, address + 16)];
        return [outcomes, untouched, await host.floatsOf(1, 4), host.stats()];
    """)
    assert outcomes == ["interrupted"] * 4
    assert heap == [0] * 16
    assert after == {"outcome": "", "values": [1, 2, 3, 4]}
    assert stats["stagingBuffers"] == 1  # the interrupted read returned its own


def test_drain_and_flights(run: Run) -> None:
    counts, left, drained = run("""
        const host = await Host.open();
        host.floats(1, [1, 2, 3, 4]).create(2, 16);
        const counts = [];
        for (let i = 1; i <= 5; i++) counts.push(host.affine(1, 2).flush(i));
        const outcome = await host.bridge.drain(3);
        const left = host.stats().inFlight;
        return [counts, left, [outcome, await host.bridge.drain(5), host.stats().inFlight]];
    """)
    assert counts == [1, 2, 3, 4, 5]
    assert left <= 2
    assert drained == ["", "", 0]


def test_a_drain_reports_failures_up_to_its_flush(run: Run) -> None:
    failures, left = run("""
        const gpu = faultyGpu(navigator.gpu);
        const host = await Host.open({gpu});
        host.floats(1, [1, 2, 3, 4]).create(2, 16).flush(1);
        gpu.faults.arm("validation");
        host.affine(1, 2).flush(2);
        host.affine(1, 2).flush(3);
        return [parsed(await host.bridge.drain(2)), host.stats().inFlight];
    """)
    assert [each["flush"] for each in failures] == [2]
    assert left <= 1


def test_failures_are_reported_until_they_are_forgotten(run: Run) -> None:
    first, second, third = run("""
        const gpu = faultyGpu(navigator.gpu);
        const host = await Host.open({gpu});
        host.floats(1, [1, 2, 3, 4]).create(2, 16).flush(1);
        gpu.faults.arm("validation");
        host.affine(1, 2).flush(2);
        const first = parsed(await host.bridge.synchronize());
        const second = host.noted(await host.bridge.synchronize());
        return [first, second, await host.bridge.synchronize()];
    """)
    assert [each["flush"] for each in first] == [2]
    assert first == second
    assert third == ""


def test_a_copy_ahead_serves_the_next_read(run: Run) -> None:
    reads, submits, staging = run("""
        const FETCH = 8;
        const host = await Host.open();
        host.floats(1, [1, 2, 3, 4]).create(2, 16).flush(1);
        const submits = [];
        const reads = [];
        const read = async (id, count) => {
            reads.push((await host.floatsOf(id, count)).values);
            submits.push(host.stats().submits);
        };
        submits.push(host.stats().submits);
        host.affine(1, 2, {factor: 2}).command(FETCH, 2, 16).flush(2);
        await read(2, 4);
        await read(2, 4);  // the copy is used up
        host.affine(1, 2, {factor: 3}).command(FETCH, 2, 16).flush(3);
        await read(2, 3);  // not all of what was copied
        host.affine(1, 2, {factor: 4}).command(FETCH, 2, 16).flush(4);
        host.affine(1, 2, {factor: 5}).flush(5);
        await read(2, 4);  // not what it was when it was copied
        return [reads, submits, host.stats().stagingBuffers];
    """)
    assert reads == [[2, 4, 6, 8], [2, 4, 6, 8], [3, 6, 9], [5, 10, 15, 20]]
    assert [b - a for a, b in pairwise(submits)] == [1, 1, 2, 3]
    assert staging <= 3


@pytest.mark.parametrize("fault", ["validation", "no buffer"])
def test_a_copy_ahead_of_a_flush_that_fails(run: Run, fault: str) -> None:
    failures, read, left = run(f"""
        const FETCH = 8;
        const gpu = faultyGpu(navigator.gpu);
        const host = await Host.open({{gpu}});
        host.floats(1, [1, 2, 3, 4]).create(2, 16).flush(1);
        if ("{fault}" === "validation") gpu.faults.arm("validation");
        else host.command(FETCH, 2, 16).command(FETCH, 9, 16);
        host.affine(1, 2).command(FETCH, 2, 16).flush(2);
        const failures = (await host.floatsOf(1, 4)).outcome;
        host.affine(1, 2).command(FETCH, 2, 16).flush(3);
        return [failures, await host.floatsOf(2, 4), host.stats().inFlight];
    """)
    assert [each["flush"] for each in failures] == [2]
    assert read == {"outcome": "", "values": [1, 2, 3, 4]}
    assert left == 0


def test_where_a_read_may_still_write(run: Run) -> None:
    during, done, interrupted = run("""
        const host = await Host.open();
        host.floats(1, [1, 2, 3, 4]).flush(1);
        const address = host.reserve(16);
        const read = () => host.bridge.read(1, 0, 16, address);
        const [reading, during] = [read(), host.bridge.isReading(address)];
        await reading;
        const done = host.bridge.isReading(address);
        const another = read();
        host.bridge.interrupt();
        await another;
        return [during, done, host.bridge.isReading(address)];
    """)
    assert (during, done, interrupted) == (True, False, False)


def test_uncaptured_errors_are_kept(run: Run) -> None:
    failures = run("""
        let device;
        const gpu = {async requestAdapter(options) {
            const adapter = await navigator.gpu.requestAdapter(options);
            const requestDevice = adapter.requestDevice.bind(adapter);
            adapter.requestDevice = async (descriptor) =>
                (device = await requestDevice(descriptor));
            return adapter;
        }};
        const host = await Host.open({gpu});
        device.createBuffer({label: "stray", size: 4, usage: 0});
        return host.noted(await host.bridge.synchronize());
    """)
    assert [(each["flush"], each["kind"], each["label"]) for each in failures] == [
        (0, "validation", "stray")
    ]


def test_pack_rejects_unsupported_syntax(tmp_path: Path) -> None:
    pack = runpy.run_path(str(ROOT / "web/bridge/pack.py"))["pack"]
    (tmp_path / "other.js").write_text("export const shared = 1;\n")
    cases = {
        'import { shared } from "./other.js";\nconst shared2 = 1;\n': None,
        'import { shared } from "./other.js";\nfunction shared() {}\n': (
            "declared in other.js and in index.js"
        ),
        'import { absent } from "./other.js";\n': "does not export",
        'import * as other from "./other.js";\n': "does not know",
        "export default 1;\n": "does not know",
        "const { a } = b;\n": "does not know",
        'import { a } from "./index.js";\n': "circular",
    }
    for text, complaint in cases.items():
        (tmp_path / "index.js").write_text(text)
        if complaint is None:
            assert "export" not in pack(tmp_path)
        else:
            with pytest.raises(ValueError, match=complaint):
                pack(tmp_path)


def test_packed_script_is_the_same_bridge(run: Run) -> None:
    script = runpy.run_path(str(ROOT / "web/bridge/pack.py"))["pack"](ROOT / "web/bridge")
    assert run(f"""
        const packed = (0, eval)({script!r});
        const memory = new ArrayBuffer(1 << 16);
        const heap = {{HEAPU8: new Uint8Array(memory), HEAPU32: new Uint32Array(memory)}};
        const bridge = packed({{_module: heap}});
        new Uint32Array(memory).set([1, 1, 16, 0, 5, 1, 42, 16]);
        await bridge.acquire();
        const flight = bridge.flush(0, 8, 0, 0, 0, 1);
        const outcome = await bridge.read(1, 4, 4, 1024);
        return [flight, outcome, new Uint32Array(memory)[256]];
    """) == [1, "", 42]


def test_words_that_are_not_zero_are_reported_once_noted(run: Run) -> None:
    """CHECK reads a buffer as left by the flush; CLEAR sets its old contents to zero."""
    first, again, values, later = run("""
        const CLEAR = 9;
        const CHECK = 10;
        const host = await Host.open();
        host.floats(1, [0, 1, 0, -2]).create(2, 16).command(CHECK, 1, 16).flush(1);
        const first = parsed(await host.bridge.synchronize());
        const again = host.noted(await host.bridge.synchronize());
        const values = (await host.floatsOf(1, 1)).values;
        host.command(CLEAR, 1, 8).command(CHECK, 1, 16).flush(2);
        const later = host.noted(await host.bridge.synchronize());
        host.command(CLEAR, 1, 16).command(CHECK, 1, 16).flush(3);
        return [first, again, values, [later, await host.bridge.synchronize()]];
    """)
    (failure,) = first
    assert (failure["flush"], failure["kind"]) == (1, "index")
    assert failure["message"] == "[[1,1065353216],[3,3221225472]]"
    assert again == first
    assert values == [0]
    (found,), nothing = later
    assert (found["flush"], found["message"], nothing) == (2, "[[3,3221225472]]", "")


def test_a_broken_flush_checks_nothing(run: Run) -> None:
    outcome, staging = run("""
        const CHECK = 10;
        const host = await Host.open();
        host.floats(1, [9, 9, 9, 9]).flush(1);
        const before = host.stats().stagingBuffers;
        host.command(CHECK, 1, 8).command(CHECK, 77, 8).flush(2);
        const outcome = host.noted(await host.bridge.synchronize());
        host.floats(2, [0, 0, 0, 0]).command(CHECK, 2, 8).flush(3);
        outcome.push(await host.bridge.synchronize());
        return [outcome, host.stats().stagingBuffers - before];
    """)
    assert [each["kind"] for each in outcome[:-1]] == ["exception"]
    assert outcome[-1] == ""
    assert staging <= 1
