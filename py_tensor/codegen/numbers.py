"""Functions of real and of complex numbers, with which one template serves both."""

from __future__ import annotations

import re
from functools import cache

from py_tensor.base.dtypes import DType
from py_tensor.codegen.library import template

# Functions of numbers: parameters and type, the result for real numbers and that for complex ones.
_NUMBERS = {
    "minus_product": (
        "(x: Number, a: Number, b: Number) -> Number",
        "fma(-a, b, x)",
        "vec2f(fma(a.y, b.y, fma(-a.x, b.x, x.x)), fma(-a.y, b.x, fma(-a.x, b.y, x.y)))",
    ),
    "plus_product": (
        "(x: Number, a: Number, b: Number) -> Number",
        "fma(a, b, x)",
        "vec2f(fma(-a.y, b.y, fma(a.x, b.x, x.x)), fma(a.y, b.x, fma(a.x, b.y, x.y)))",
    ),
    "product": ("(a: Number, b: Number) -> Number", "a * b", "mul_complex64(a, b)"),
    # Infinities do not matter to rotations, so these do less than `product` and `magnitude`.
    "plain_product": (
        "(a: Number, b: Number) -> Number",
        "a * b",
        "vec2f(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)",
    ),
    "norm": ("(x: Number) -> f32", "abs(x)", "sqrt_f32(x.x * x.x + x.y * x.y)"),
    "quotient": ("(a: Number, b: Number) -> Number", "divide_f32(a, b)", "divide_complex64(a, b)"),
    "times": ("(a: Number, b: f32) -> Number", "a * b", "a * b"),
    "divided_by_real": (
        "(a: Number, b: f32) -> Number",
        "divide_f32(a, b)",
        "vec2f(divide_f32(a.x, b), divide_f32(a.y, b))",
    ),
    "conjugate": ("(x: Number) -> Number", "x", "vec2f(x.x, -x.y)"),
    "size": ("(x: Number) -> f32", "abs_f32(x)", "abs_f32(x.x) + abs_f32(x.y)"),
    "magnitude": ("(x: Number) -> f32", "abs_f32(x)", "abs_complex64(x)"),
    "square": ("(x: Number) -> f32", "x * x", "x.x * x.x + x.y * x.y"),
    "signed": ("(x: Number) -> Number", "sign_f32(x)", "sign_complex64(x)"),
    "real_part": ("(x: Number) -> f32", "x", "x.x"),
    "real": ("(x: f32) -> Number", "x", "vec2f(x, 0.0)"),
}


@cache
def number_functions(name: str, dtype: DType) -> list[str]:
    """Return the type of numbers, and the functions of it that a template has in its example."""
    names = re.findall(r"^fn (\w+)", template(name), re.MULTILINE)
    used = ((x, *_NUMBERS[x]) for x in names if x in _NUMBERS)
    return [
        f"alias Number = {dtype.storage};",
        *(
            f"fn {x}{kind} {{ return {complex_one if dtype.is_complex else real_one}; }}"
            for x, kind, real_one, complex_one in used
        ),
    ]
