"""What `tests/structure.py` counts."""

from __future__ import annotations

import py_tensor as pt
from tests.structure import CallPath, code_lines

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
        pt.ones(3, device="cpu")
        sorted([1, 2], key=lambda x: -x)
    assert "ones" in {code.co_name for code in path.functions}
    assert not any(code.co_name.startswith("<") for code in path.functions)
    assert path.calls >= len(path.functions) > 1
    assert 1 <= path.switches <= path.calls
