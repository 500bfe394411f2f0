"""Reinterpreting the bits of elements as elements of another dtype of the same size."""

from __future__ import annotations

from functools import cache

from py_tensor.base.dtypes import Accepts, DType
from py_tensor.ir.arrays import decoded, encoded
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.op import Elementwise


@cache
def bits(source: DType, target: DType) -> Elementwise:
    """Return the op that reinterprets one dtype as another of the same size.

    As bool, any nonzero byte is True.
    """
    return Elementwise(
        f"view_{target.name}",
        wgsl={"*": _wgsl(source, target)},
        numpy=lambda np, x: (
            x != 0 if target.is_bool else decoded(np, encoded(np, x, source), target)
        ),
        accepts=Accepts(source.kind, lambda dtype: source, f"{source}"),
        gives=target,
        vjp=NOT_DIFFERENTIABLE,
    )


def _wgsl(source: DType, target: DType) -> str:
    """Return WGSL for values as kernels hold them: small integers as i32, float16 as f32."""
    if source.is_packed:
        return f"load_{target.name}(store_{source.name}({{0}}), 0u)"
    whole = "vec2<f32>" if target.is_complex else "vec2<u32>"
    return f"bitcast<{target.wgsl if target.words == 1 else whole}>({{0}})"
