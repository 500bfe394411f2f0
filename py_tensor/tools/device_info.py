"""Text for `device_info`: a pure function of its entries."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from itertools import groupby
from textwrap import wrap
from typing import Any

VENDORS = {"amd": "AMD", "nvidia": "NVIDIA", "swiftshader": "SwiftShader"}
"""The spelling of vendors that are not just capitalized; WebGPU's names are lower-case."""


class DeviceInfo(dict[str, Any]):
    """A dict that prints as a table, as wide as the window (`shutil.get_terminal_size`)."""

    def __repr__(self) -> str:
        return self.text(shutil.get_terminal_size().columns)

    def text(self, columns: int) -> str:
        """Return the table as text of limited width."""
        lines = wrap(self.title, max(columns, 1), subsequent_indent="  ")
        rows = self.rows()
        indent = 2 + max((len(label) for label, _ in rows), default=0)
        for label, text in rows:
            parts = wrap(text, max(columns - indent, 1), break_long_words=False) or [""]
            lines.append(f"{label:<{indent}}{parts[0]}".rstrip())
            lines += [" " * indent + line for line in parts[1:]]
        return "\n".join(lines)

    @property
    def title(self) -> str:
        """The backend and its adapter, such as ``webgpu: NVIDIA lovelace``."""
        name = adapter_name(self.get("adapter") or {})
        return ": ".join(word for word in (str(self.get("backend", "device")), name) if word)

    def rows(self) -> list[tuple[str, str]]:
        """Return the labels and texts of the table, most useful first."""
        rows = [
            (label, text)
            for key, (label, words) in WORDS.items()
            if key in self and (text := words(self[key]))
        ]
        known = {*WORDS, "backend", "adapter"}
        return rows + [(key, str(value)) for key, value in self.items() if key not in known]


def adapter_name(adapter: Mapping[str, Any]) -> str:
    """Return the readable name of an adapter; "" if it has none."""
    words = (_named(str(adapter.get(key) or "")) for key in ("vendor", "architecture"))
    vendor, architecture = words
    name = str(adapter.get("description") or "") or architecture
    if vendor.lower() not in name.lower():
        name = f"{vendor} {name}".strip()
    return f"{name} (software)" if name and adapter.get("isFallbackAdapter") else name


def _named(name: str) -> str:
    return VENDORS.get(name.lower()) or name[:1].upper() + name[1:].replace("-", " ")


def _features(names: list[str]) -> str:
    return ", ".join(name for name in names if name != "core-features-and-limits")


def _limits(limits: Mapping[str, int]) -> str:
    """Return the limits that affect tensors."""
    largest = min(limits["maxBufferSize"], limits["maxStorageBufferBindingSize"])
    return (
        f"tensors of {in_bytes(largest)},"
        f" {limits['maxStorageBuffersPerShaderStage']} buffers in a kernel,"
        f" {limits['maxComputeInvocationsPerWorkgroup']} invocations"
        f" and {in_bytes(limits['maxComputeWorkgroupStorageSize'])} in a workgroup"
    )


def _arithmetic(implementations: Mapping[str, str]) -> str:
    ordered = sorted(implementations.items(), key=lambda item: item[1])
    groups = groupby(ordered, lambda item: item[1])
    return "; ".join(f"{kind}: {', '.join(name for name, _ in items)}" for kind, items in groups)


def _self_test(results: Mapping[str, bool]) -> str:
    """Return the results for NaN, infinities, signed zero and integer overflow."""
    wrong = [name.replace("_", " ") for name, is_right in results.items() if not is_right]
    if wrong:
        return f"different from NumPy: {', '.join(wrong)}"
    *others, last = (name.replace("_", " ") for name in results)
    return f"{', '.join(others)} and {last} match NumPy"


def _generation(number: int) -> str:
    """Return how often the device was lost; "" if it never was."""
    if number < 2:
        return ""
    return f"{number}: the device was lost {'once' if number == 2 else f'{number - 1} times'}"


def in_bytes(count: int) -> str:
    """Return a size such as ``1.5 GiB``, with at most one decimal, omitted if it is 0."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} bytes"


SUBNORMALS = {"flushed": "0 in arithmetic, kept in comparisons"}
"""Descriptions of values, if they differ from the value."""
WORDS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "no_webgpu": ("no GPU", lambda reason: str(reason).removeprefix("no WebGPU device: ")),
    "lost": ("device lost", str),
    "numpy": ("NumPy", str),
    "features": ("features", _features),
    "limits": ("limits", _limits),
    "arithmetic": ("arithmetic", _arithmetic),
    "self_test": ("self-test", _self_test),
    "subnormals": ("subnormals", lambda found: SUBNORMALS.get(found, str(found))),
    "tuned": ("tuned", lambda tuned: "yes" if tuned else "no (run pt.tune())"),
    "choices": ("choices", lambda found: ", ".join(f"{k} {v}" for k, v in found.items())),
    "generation": ("generation", _generation),
}
"""The label of each key's row, and a function for its text; "" omits the row."""
