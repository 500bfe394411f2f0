"""What an error says to take instead of a dtype that GPUs lack."""

from __future__ import annotations

import re

import pytest

import py_tensor as pt


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (pt.float64, "take pt.float32, which dtype=float stands for"),
        (pt.complex128, "take pt.complex64, which dtype=complex stands for"),
    ],
)
def test_the_dtype_of_the_same_kind(asked: pt.DType, words: str) -> None:
    with pytest.raises(pt.DTypeError, match=re.escape(words)):
        pt.zeros(2, dtype=asked, device="webgpu")
