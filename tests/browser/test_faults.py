"""Faults of the GPU, injected on demand; interrupts; concurrent reads.

Correct code causes no such faults, so the page's worker uses the GPU of `faulty_gpu.js`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Route

from tests.browser.app import AppPage

FAULTY_GPU = (Path(__file__).parent / "faulty_gpu.js").read_text("utf-8")
FIRST = f"""{{
{FAULTY_GPU.replace("export ", "")}
const gpu = faultyGpu(navigator.gpu);
self.faults = gpu.faults;
Object.defineProperty(navigator, "gpu", {{ value: gpu }});
}}
"""
"""Code that runs first in Python's worker."""
Run = Callable[[str], dict[str, Any]]


def _serve_worker(route: Route) -> None:
    response = route.fetch()
    route.fulfill(response=response, body=FIRST + response.text())


@pytest.fixture(scope="module")
def faulty(session: Any) -> Iterator[Run]:
    """Run Python in a page whose GPU fails on demand: `faults.arm(kind)`."""
    app = session.open_page(routes={"**/worker.js": _serve_worker})
    run: Run = app.run
    prepared = run(
        "import asyncio\nfrom js import Object, faults\nfrom pyodide.ffi import to_js\n"
        "def plan(at): return to_js({'at': at}, dict_converter=Object.fromEntries)"
    )
    assert prepared["error"] is None, prepared["error"]
    found = run('str(pt.default_device()), (await pt.init()).get("no_webgpu")')
    assert "webgpu" in found["result"], found
    yield run
    app.close()


def passes(outcome: dict[str, Any]) -> dict[str, Any]:
    assert outcome["error"] is None, outcome["error"]
    return outcome


SAFE = "kept = pt.arange(5) * 2; kept.realize(); pt.synchronize()"
STILL_FINE = "assert kept.tolist() == [0, 2, 4, 6, 8] and (kept + 1).tolist() == [1, 3, 5, 7, 9]"

# Restore the state before memory first ran out, after which every new buffer is checked.
UNSUSPECTING = """
from py_tensor.backends.kinds import GPU_DEVICE
from py_tensor.runtime.connection import CHECKED_ALLOCATION
GPU_DEVICE.backend.checked_allocation = CHECKED_ALLOCATION
"""


@pytest.mark.parametrize("at", ["dispatch", "pipeline"])
def test_a_validation_error_names_the_op_and_stays_with_its_results(faulty: Run, at: str) -> None:
    other = "exp" if at == "dispatch" else "tanh"
    passes(
        faulty(f"""
{SAFE}
struck = faults.struck
faults.arm("validation", plan("{at}"))
bad = pt.{other}(pt.rand(7)); bad.realize()
later = bad + 1
for name, x in dict(bad=bad, later=later, sum=bad.sum()).items():
    try: x.tolist()
    except pt.GPUError as error: assert "{other}" in str(error), str(error)
    else: raise AssertionError(f"no error from {{name}}, {{faults.struck - struck}} struck")
assert faults.struck == struck + 1
{STILL_FINE}
""")
    )


def test_out_of_memory_empties_the_pool_and_tries_once_more(faulty: Run) -> None:
    passes(
        faulty(f"""
{SAFE}
spare = [pt.rand(1000 + i) for i in range(5)]; pt.realize(*spare); pt.synchronize(); del spare
assert pt.memory_info()["pooled_buffers"] > 0
struck = faults.struck
faults.arm("out-of-memory")
big = pt.rand(17 * 2**20); big.realize()
assert 0 <= float(big[5]) < 1 and faults.struck == struck + 1
{STILL_FINE}
""")
    )


def test_out_of_memory_twice_raises_and_nothing_is_lost(faulty: Run) -> None:
    passes(
        faulty(f"""
{SAFE}
pt.empty_cache(); import gc; gc.collect()
faults.arm("out-of-memory"); faults.arm("out-of-memory")
big = pt.rand(19 * 2**20)
try: big.realize()
except MemoryError as error: assert "MiB" in str(error)
else: raise AssertionError("no error")
assert 0 <= float(big[5]) < 1  # it is still pending, and there is room now
{STILL_FINE}
""")
    )


def test_out_of_memory_in_a_small_flush(faulty: Run) -> None:
    """It is reported later, and has no effect when the user tries again."""
    passes(
        faulty(f"""
{SAFE}
{UNSUSPECTING}
pt.empty_cache()
struck = faults.struck
faults.arm("out-of-memory")
bad = pt.tan(pt.linspace(0, 1, 301)); bad.realize()
later = bad + 1
for x in (bad, later, bad.sum()):
    try: x.tolist()
    except MemoryError as error: assert "tan: " in str(error), str(error)
    else: raise AssertionError("no error")
assert faults.struck == struck + 1
{STILL_FINE}
for _ in range(5):
    again = pt.tan(pt.linspace(0, 1, 301))
    assert again.tolist()[0] == 0 and abs(again.sum().item() - 184.95) < 1
del bad, later, x, again
faults.arm("out-of-memory")  # from now on every new buffer is checked
more = pt.cos(pt.linspace(0, 1, 70001))
assert more.tolist()[0] == 1 and faults.struck == struck + 2
""")
    )


def test_a_buffer_that_was_not_made_is_never_used_again(faulty: Run) -> None:
    """A buffer that another flush took from the pool before the report is not reused either."""
    passes(
        faulty(f"""
{SAFE}
{UNSUSPECTING}
pt.empty_cache()
def work(): return pt.exp(pt.linspace(0, 1, 999) - pt.linspace(0, 2, 999).max())
faults.arm("out-of-memory", to_js({{"after": 1}}, dict_converter=Object.fromEntries))
results = [work().realize() for _ in range(3)]
raised = 0
for x in results:
    try: x.tolist()
    except MemoryError: raised += 1
assert raised == 3, raised
del results, x
for _ in range(5):
    assert abs(work().tolist()[0] - 0.13534) < 1e-4
{STILL_FINE}
""")
    )


def test_a_throw_in_the_middle_of_a_flush_leaves_it_pending(faulty: Run) -> None:
    passes(
        faulty(f"""
{SAFE}
faults.arm("throw")
y = kept * 3
try: y.realize()
except pt.GPUError: pass
else: raise AssertionError("no error")
assert y.tolist() == [0, 6, 12, 18, 24]
{STILL_FINE}
""")
    )


def test_a_lost_device_is_replaced(faulty: Run) -> None:
    passes(
        faulty("""
old = pt.arange(4); old.realize(); pt.synchronize()
generation = pt.device_info()["generation"]
faults.arm("lost")
for attempt in range(3):
    try: (old + attempt).tolist()
    except pt.DeviceLostError: pass
    else: raise AssertionError("no error")
new = pt.tensor([1, 2, 3])
assert (new * 2).tolist() == [2, 4, 6]
try: (old + 1).tolist()
except pt.DeviceLostError as error: assert "lost" in str(error)
else: raise AssertionError("no error")
assert pt.device_info()["generation"] == generation + 1
assert pt.rand(5).sum().item() > 0
""")
    )


@pytest.mark.parametrize("made", ["uploaded", "computed", "computed from lost ones"])
def test_a_lost_device_is_replaced_for_a_large_tensor(faulty: Run, made: str) -> None:
    """A tensor so large that memory is checked before the flush."""
    passes(
        faulty(f"""
from array import array
old = pt.arange(4); old.realize(); pt.synchronize()
generation = pt.device_info()["generation"]
faults.arm("lost")
try: (old + 1).tolist()
except pt.DeviceLostError: pass
n = 17 * 2**20
if "{made}" == "uploaded":
    new = pt.tensor(array("f", bytes(4 * n)))
elif "{made}" == "computed":
    new = pt.full((n,), 2.0) * 3; new.realize()
else:
    try: (pt.full((n,), 2.0) + old[0]).realize()
    except pt.DeviceLostError: pass
    else: raise AssertionError("no error")
    new = pt.full((n,), 2.0) * 3
assert new[5].item() == (0 if "{made}" == "uploaded" else 6)
assert pt.device_info()["generation"] == generation + 1
del new; pt.empty_cache()
""")
    )


@pytest.mark.parametrize("other", ["kept.to_numpy_async()", "pt.synchronize_async()"])
def test_a_loss_with_two_waiters(faulty: Run, other: str) -> None:
    passes(
        faulty(f"""
{SAFE}
from py_tensor_bridge import loseDevice
generation = pt.device_info()["generation"]
waiting = asyncio.gather(kept.to_numpy_async(), {other}, return_exceptions=True)
await asyncio.sleep(0)
loseDevice()
ended = await waiting
assert [type(error) for error in ended] == [pt.DeviceLostError] * 2, ended
async def anew(n): return await (pt.arange(n) + 1).to_numpy_async()
made = await asyncio.gather(anew(3), anew(5))
assert [x.tolist() for x in made] == [[1, 2, 3], [1, 2, 3, 4, 5]]
assert pt.device_info()["generation"] == generation + 1
""")
    )


def test_reports_for_a_cancelled_read_are_kept(faulty: Run) -> None:
    passes(
        faulty(f"""
{SAFE}
faults.arm("validation")
bad = pt.tanh(pt.rand(7)); bad.realize()
task = asyncio.ensure_future(kept.to_numpy_async())
await asyncio.sleep(0)
task.cancel()
try: await task
except asyncio.CancelledError: pass
await asyncio.sleep(0.2)
try: bad.tolist()
except pt.GPUError as error: assert "tanh" in str(error)
else: raise AssertionError("no error")
{STILL_FINE}
""")
    )


def test_two_reads_awaited_at_once(faulty: Run) -> None:
    passes(
        faulty("""
a, b = pt.arange(1000), pt.ones(5)
x, y, z = await asyncio.gather(*(t.to_numpy_async() for t in (a * 2, b, a + b.sum())))
assert x[999] == 1998 and y.tolist() == [1] * 5 and z[10] == 15
""")
    )


def test_a_read_that_is_cancelled_harms_nothing(faulty: Run) -> None:
    passes(
        faulty("""
for _ in range(20):
    task = asyncio.ensure_future((pt.rand(100000) * 2).to_numpy_async())
    await asyncio.sleep(0)
    task.cancel()
    try: await task
    except asyncio.CancelledError: pass
assert (pt.arange(10) + 1).sum().item() == 55
""")
    )


LOOPS = {
    "flushes and reads": """
x = pt.rand(64, 64)
while True:
    x = (x @ x).sum(0) * 0.01 + pt.rand(64, 64)
    x.realize()
    if random.random() < 0.3:
        x.tolist()
""",
    "uploads": """
while True:
    x = pt.tensor(values)
    if random.random() < 0.1:
        pt.synchronize()
""",
    "large allocations": """
while True:
    x = pt.zeros((17 * 2**20,)).realize()
    del x
    pt.empty_cache()
""",
    "new devices": """
while True:
    x = pt.tensor(values)
    loseDevice()
""",
}


@pytest.fixture(scope="module")
def interrupted(session: Any) -> Iterator[AppPage]:
    app = session.open_page()
    passes(
        app.run(
            "import random, gc\nfrom array import array\nfrom py_tensor_bridge import loseDevice\n"
            "values = array('f', bytes(2**20)); x = None"
        )
    )
    yield app
    app.close()


@pytest.mark.parametrize("loop", LOOPS)
def test_interrupts_at_random_points(interrupted: AppPage, loop: str) -> None:
    """Each of many interrupts ends the loop, and the next run is right."""
    app, page = interrupted, interrupted.page
    for number in range(6):
        page.evaluate("code => { window.running = pyTensor.run(code); }", LOOPS[loop])
        page.wait_for_timeout(40 + 29 * number)
        page.evaluate("pyTensor.interrupt()")
        outcome = page.evaluate(
            "Promise.race([running, new Promise((end) => setTimeout(end, 30000, null))])"
        )
        assert outcome is not None, "the loop went on"
        assert "KeyboardInterrupt" in outcome["error"], outcome["error"]
        answer = app.run("(pt.arange(10) * 2).sum().item()")
        assert answer["error"] is None, answer["error"]
        assert answer["result"] == "90"
    info = app.run(
        "x = None; gc.collect(); pt.empty_cache(); m = pt.memory_info();"
        " m['live_buffers'], m['device_buffers'] - m['live_buffers']"
    )
    live, unknown = eval(info["result"])
    assert live <= 4, info
    assert unknown == 0, info
