"""`pt.device_info()`: a dict for programs that prints as a table."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.tools.device_info import DeviceInfo, adapter_name, in_bytes

LIMITS = {
    "maxBufferSize": 2**30,
    "maxStorageBufferBindingSize": 2**29,
    "maxStorageBuffersPerShaderStage": 10,
    "maxComputeInvocationsPerWorkgroup": 256,
    "maxComputeWorkgroupStorageSize": 32768,
    "maxTextureDimension1D": 8192,
}
SOFTWARE = {
    "backend": "webgpu",
    "adapter": {"vendor": "google", "architecture": "swiftshader", "isFallbackAdapter": True},
    "features": ["core-features-and-limits", "subgroups", "timestamp-query"],
    "limits": LIMITS,
    "arithmetic": {"divide_f32": "native", "sqrt_f32": "native", "exp_f32": "floats"},
    "tuned": False,
    "choices": {"reduce_groups": "4", "unroll": "1"},
    "generation": 1,
    "self_test": {"nan": True, "signed_zero": True},
    "subnormals": "flushed",
}


def test_the_table() -> None:
    assert DeviceInfo(SOFTWARE).text(80).splitlines() == [
        "webgpu: Google SwiftShader (software)",
        "features    subgroups, timestamp-query",
        "limits      tensors of 512 MiB, 10 buffers in a kernel, 256 invocations and 32",
        "            KiB in a workgroup",
        "arithmetic  floats: exp_f32; native: divide_f32, sqrt_f32",
        "self-test   nan and signed zero match NumPy",
        "subnormals  0 in arithmetic, kept in comparisons",
        "tuned       no (run pt.tune())",
        "choices     reduce_groups 4, unroll 1",
    ]


def test_it_is_a_dict_for_programs() -> None:
    info = DeviceInfo(SOFTWARE)
    assert info == SOFTWARE
    assert json.loads(json.dumps(info)) == SOFTWARE
    assert info["limits"]["maxBufferSize"] == 2**30
    assert isinstance(pt.device_info("cpu"), dict)


def test_it_fits_the_window(source: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in (40, source.randrange(40, 120)):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = repr(DeviceInfo(SOFTWARE)).splitlines()
        assert max(map(len, lines)) <= columns
        assert len(lines) < 20


def test_problems_are_reported() -> None:
    info = DeviceInfo(SOFTWARE | {"generation": 3, "self_test": {"nan": True, "infinity": False}})
    rows = dict(info.rows())
    assert rows["self-test"] == "different from NumPy: infinity"
    assert rows["generation"] == "3: the device was lost 2 times"


def test_new_fields_are_shown() -> None:
    assert DeviceInfo(backend="other", speed="fast").text(40) == "other\nspeed  fast"


def test_the_cpu() -> None:
    info = pt.device_info("cpu")
    title, *rows = repr(info).splitlines()
    assert title == "cpu"
    assert any(row.startswith("NumPy") and row.endswith(info["numpy"]) for row in rows)


@pytest.mark.parametrize(
    ("adapter", "name"),
    [
        ({}, ""),
        ({"vendor": "nvidia", "architecture": "lovelace"}, "NVIDIA Lovelace"),
        ({"vendor": "apple", "architecture": "metal-3"}, "Apple Metal 3"),
        ({"vendor": "nvidia", "description": "NVIDIA H200"}, "NVIDIA H200"),
        ({"vendor": "intel", "description": "UHD 620"}, "Intel UHD 620"),
        ({"vendor": "google", "architecture": "swiftshader"}, "Google SwiftShader"),
    ],
)
def test_names_of_adapters(adapter: dict[str, Any], name: str) -> None:
    assert adapter_name(adapter) == name


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (3 * 2**19, "1.5 MiB")],
)
def test_bytes(count: int, text: str) -> None:
    assert in_bytes(count) == text


def test_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    found = pt.show_config(mode="dicts")
    assert found is not None
    assert found["py_tensor"] == pt.__version__
    assert found["numpy"] == np.__version__
    assert found["device"] == pt.device_info()
    assert pt.show_config() is None
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(found, default=str))
    with pytest.raises(AttributeError, match=r"show_config: mode must be .* not 'text'"):
        pt.show_config("text")


def test_the_reason_for_the_cpu_is_given_once() -> None:
    info = DeviceInfo(backend="cpu", no_webgpu="no WebGPU device: the browser offers no adapter")
    assert repr(info).splitlines()[1] == "no GPU  the browser offers no adapter"
