"""The detection of the host that runs Python, as far as CPython can test it."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

import py_tensor as pt
from py_tensor.runtime import host as hosts
from py_tensor.runtime.host import CPython, finish, host
from tests.environment import ROOT


def test_without_wgpu_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "find_spec", lambda name: None)
    with pytest.raises(pt.DeviceError, match=r'needs the package wgpu .*"py-tensor\[gpu\]"`$'):
        CPython().load_bridge(0)


def test_importing_the_library_imports_no_wgpu() -> None:
    code = "import py_tensor, sys; sys.exit('wgpu' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_without_numpy_the_error_says_what_to_install() -> None:
    """-S: without any installed package."""
    code = f"import sys; sys.path.append({str(ROOT)!r}); import py_tensor as pt; print(pt.ones(3))"
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
    assert run.stderr.splitlines()[-1].endswith(
        "the cpu device and NumPy's arrays need NumPy, which is not installed;"
        ' install it with `pip install "py-tensor[cpu]"`'
    )


def test_only_a_user_s_coroutine_is_told_to_await(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "can_wait", lambda: False)

    async def paint() -> None:
        host.check_can_wait("a display")

    async def program() -> None:
        finish(paint())

    with pytest.raises(pt.WaitError, match="runPythonAsync"):
        finish(paint())
    with pytest.raises(pt.WaitError, match=r"await pt\.init"):
        asyncio.run(program())
