"""`pt.explain` and `pt.debug(wgsl=True)` in the page."""

from __future__ import annotations

from tests.browser.app import AppPage

SOFTMAX = "e = pt.exp(x - x.max(-1, keepdims=True)); y = e / e.sum(-1, keepdims=True); del e\n"


def test_it_describes_what_then_runs(app: AppPage) -> None:
    code = f"""
from py_tensor.tools.control import dispatches
x = pt.rand(256, 64).realize()
{SOFTMAX}found = pt.explain(y)
before = dispatches()
y.realize()
(found.dispatches, dispatches() - before, [k.family for k in found.kernels])
"""
    assert app.run(code)["result"] == "(1, 1, ['rows'])"


def test_it_reads_well_in_the_console(app: AppPage) -> None:
    text = app.run(f"x = pt.rand(256, 64).realize()\n{SOFTMAX}pt.explain(y)")["result"]
    assert text.startswith("1 kernel in 1 dispatch: 131 kB moved, ")
    assert "out  t0 float32[256,64]" in text


def test_debug_shows_new_kernels(app: AppPage) -> None:
    code = "x = pt.rand(8).realize()\npt.debug(wgsl={})\n(pt.atan(x) - 0.0625).realize();"
    shown = app.run(code.format(True))["stdout"]
    assert shown.startswith("// atan_subtract: map, run\n")
    assert "@compute" in shown
    assert not app.run(code.format(True))["stdout"]
    app.run("pt.debug(wgsl=False)")
