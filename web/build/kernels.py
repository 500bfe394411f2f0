"""The kernels that a visitor's first expressions need, for the page to compile while Python boots.

usage: python3 web/build/kernels.py WHEEL FOLDER

Writes FOLDER/software.json and FOLDER/gpu.json, for the two kinds of adapters: lists of arguments
for `Bridge.precompile`; and FOLDER/trial.json, the argument of `Bridge.acquire`. The library of
WHEEL generates them itself, over a bridge that records the pipelines it is given and computes
nothing.

A kernel that the library does not request later is only wasted work: kernels are looked up by their
text.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A kind of adapter.

    Attributes
    ----------
    fallback
        Whether it is the browser's fallback adapter.
    failing
        The implementations that do not pass their trial there (`py_tensor.codegen.trial`).
    """

    fallback: bool
    failing: tuple[str, ...] = ()


KINDS = {"software": Kind(fallback=True), "gpu": Kind(fallback=False, failing=("native",))}
"""The kinds by name of their files: SwiftShader, and an NVIDIA GPU, whose fma rounds once."""

EXPRESSIONS = (
    "pt.linspace(1, 20, 20).reshape(4, 5).sum(0)",
    "(pt.rand(512, 512) @ pt.rand(512, 512)).mean()",
    "pt.exp(x := pt.randn(4, 6)) / pt.exp(x).sum(axis=1, keepdims=True)",
    "pt.ones((4, 4)) @ pt.ones((4, 4))",
    "pt.ones((2, 3))",
    "pt.zeros((4, 4))",
    "pt.arange(10)",
    "pt.arange(10.0)",
    "pt.arange(10) * 2",
    "(pt.arange(16) * 2).sum()",
    "(pt.linspace(0, 1, 5) * 2).sum()",
    "pt.linspace(0, 1, 5)",
    "pt.exp(pt.linspace(0, 1, 5))",
    "pt.arange(12).reshape(3, 4)",
    "pt.arange(12).reshape(3, 4).sum()",
    "pt.rand(4)",
    "pt.rand(4, 6)",
    "pt.randn(4, 6)",
    "pt.tensor([1.0, 2.0, 3.0]) * 2",
    "pt.tensor([1.0, 2.0, 3.0]) + 1",
    "(x := pt.tensor([1.0, 2.0, 3.0])) + x",
    "pt.tensor([1.0, 2.0, 3.0]) + pt.tensor([4.0, 5.0, 6.0])",
    "pt.tensor([[1.0, 2.0], [3.0, 4.0]]) @ pt.tensor([[1.0, 2.0], [3.0, 4.0]])",
    "pt.tensor([[1.0, 2.0], [3.0, 4.0]]).T",
    "pt.tensor([1.0, 2.0, 3.0]).sum()",
    "pt.tensor([1, 2, 3]).sum()",
    "pt.tensor([1.0, 2.0, 3.0]).mean()",
)
"""The first expressions; each is computed and printed."""


class NotingBridge:
    """Records the pipelines that the library sends; see `runtime/bridge.py`."""

    def __init__(self) -> None:
        self.pipelines: list[dict[str, Any]] = []

    def definePipeline(  # noqa: N802 - JavaScript's name
        self, number: int, wgsl: str, label: str, storage_count: int, writable_mask: int, _: bool
    ) -> None:
        code = {"wgsl": wgsl, "storageCount": storage_count, "writableMask": writable_mask}
        if code not in self.pipelines:
            self.pipelines.append(code)

    def flush(self, *_: int) -> int:
        return 1


def use_noted_gpu(kind: Kind) -> NotingBridge:
    """Make the library compute on a GPU of a kind that does not exist here: all results are zeros.

    Returns
    -------
    NotingBridge
        The bridge, which records what it is sent.
    """
    import py_tensor as pt
    from py_tensor.backends.kinds import GPU_DEVICE
    from py_tensor.backends.webgpu import WebGPU
    from py_tensor.base.layout import Layout
    from py_tensor.codegen import trial
    from py_tensor.ir.node import Node
    from py_tensor.runtime.host import host

    class Unread(WebGPU):
        """Returns zeros as results."""

        def read(self, node: Node, layout: Layout | None = None) -> memoryview:
            size = node.meta.size if layout is None else layout.size
            return memoryview(bytes(size * node.meta.dtype.itemsize))

    size = 2**30
    found = {
        "ok": True,
        "generation": 1,
        "adapter": {"isFallbackAdapter": kind.fallback},
        "features": ["subgroups"],
        "limits": {
            "maxBufferSize": size,
            "maxStorageBufferBindingSize": size,
            "maxStorageBuffersPerShaderStage": 8,
            "maxComputeWorkgroupStorageSize": 32768,
        },
        "wrong": [int(candidate.implementation in kind.failing) for candidate in trial.CANDIDATES],
    }
    bridge: Any = NotingBridge()
    host.can_wait = lambda: False  # so that it does not wait or compile ahead
    GPU_DEVICE.use(Unread(bridge, json.dumps(found)))
    pt.set_default_device(GPU_DEVICE)
    return bridge


def kernels(kind: Kind) -> list[dict[str, Any]]:
    """Return the pipelines of `EXPRESSIONS`, in that order, on a kind of adapter."""
    import py_tensor as pt

    bridge = use_noted_gpu(kind)
    for expression in EXPRESSIONS:
        repr(eval(expression, {"pt": pt}))
    return bridge.pipelines


def main() -> int:
    wheel, folder = sys.argv[1:]
    sys.path.insert(0, wheel)
    from py_tensor.codegen import trial

    texts: dict[str, Any] = {name: kernels(kind) for name, kind in KINDS.items()}
    texts["trial"] = {"wgsl": trial.source(), "counts": len(trial.CANDIDATES)}
    for name, text in texts.items():
        Path(folder, f"{name}.json").write_text(json.dumps(text, indent=0), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
