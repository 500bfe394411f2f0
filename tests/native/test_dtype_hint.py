"""Errors about a dtype that GPUs lack suggest one to use instead."""

from __future__ import annotations

import re

import pytest

import py_tensor as pt


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (pt.float64, "use pt.float32 or"),
        (pt.complex128, "use pt.complex64 or"),
    ],
)
def test_the_dtype_of_the_same_kind(asked: pt.DType, words: str) -> None:
    with pytest.raises(pt.DTypeError, match=re.escape(words)):
        pt.zeros(2, dtype=asked, device="webgpu")
