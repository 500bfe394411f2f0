"""What `tests/structure.py` counts."""

from __future__ import annotations

import py_tensor as pt
from tests.structure import (
    PACKAGE,
    TRAITS,
    CallPath,
    code_lines,
    dtype_questions,
    questions_by_module,
    traits_read,
)

SOURCE = '''
"""A module's docstring
of two lines."""

# a comment
LONG = """text
of two lines"""
"""What is documented."""


def function(x):
    """A docstring."""

    return (
        x  # with a comment
    )
'''


def test_code_lines() -> None:
    """Blank lines, comments and docstrings do not count; a long string does."""
    assert code_lines(SOURCE) == 2 + 1 + 3


def test_calls_of_the_package() -> None:
    with CallPath() as path:
        pt.full(3, 1, device="cpu")
        sorted([1, 2], key=lambda x: -x)
    assert "full" in {code.co_name for code in path.functions}
    assert not any(code.co_name.startswith("<") for code in path.functions)
    assert path.calls >= len(path.functions) > 1
    assert 1 <= path.switches <= path.calls


def test_questions_about_dtypes() -> None:
    """Other uses of dtypes, and kinds of other things, do not count."""
    asks = (
        'x.dtype.kind == "c"', 'own.kind in "iu"', "dtype is not dtypes.float16",
        'a.name == "int8"', "d in (bool_, uint8)", "x.itemsize > 4", "sizes.get(dtype.kind, 2)",
        "ends[dtype.kind]",
    )  # fmt: skip
    assert dtype_questions("\n".join(asks)) == {*range(1, len(asks) + 1)}
    others = "x.dtype is y.dtype", 'error.kind == "lost"', "converted(x, dtypes.int32)"
    assert not dtype_questions("\n".join(others))
    assert traits_read("x.dtype.is_complex\nx.is_scalar") == {1}
    assert all(hasattr(pt.float32, trait) for trait in TRAITS)


def test_few_lines_ask_which_dtype_it_is() -> None:
    """A decision that depends on a dtype belongs to the table in `dtypes.py`, as a trait."""
    counts = questions_by_module(PACKAGE)
    assert sum(counts.values()) <= 60, counts
    assert len(counts) <= 15, counts
