"""The assertions of `pt.testing`, and those of NumPy on tensors."""

# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor import testing

NAN = float("nan")
SIDES: tuple[tuple[Any, Any], ...] = (
    ([1.0, 2.0], [1.0, 2.0]),
    ([1.0, 2.0], [1.0, 2.5]),
    ([1.0, NAN], [1.0, NAN]),
    ([1.0, NAN], [1.0, 2.0]),
    ([0.0], [-0.0]),
    ([[1.0], [2.0]], [[1.0, 2.0]]),
    ([], []),
    ([1.0], [1.0 + 2e-7]),
    ([1.0], [1.0 + 1e-6]),
    ([float("inf")], [float("inf")]),
)
COMPARISONS = (
    *("assert_allclose", "assert_array_equal", "assert_equal", "assert_almost_equal"),
    *("assert_array_almost_equal", "assert_array_less", "assert_array_almost_equal_nulp"),
    "assert_array_max_ulp",
)


def outcome(assertion: Any, *sides: Any) -> str:
    """Return the message of the error, or None."""
    try:
        assertion(*sides)
    except AssertionError as error:
        return f"AssertionError: {error}"
    except ValueError as error:
        return f"ValueError: {error}"
    return ""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str, device: str) -> None:
    """The same outcome as NumPy's for arrays, with the same message."""
    ours, numpys = getattr(testing, name), getattr(np.testing, name)
    outcomes: set[bool] = set()
    for left, right in SIDES:
        a, b = np.array(left, np.float32), np.array(right, np.float32)
        x, y = pt.asarray(a, device=device), pt.asarray(b, device=device)
        expected = outcome(numpys, a, b)
        outcomes.add(bool(expected))
        assert outcome(ours, x, y) == expected
        assert outcome(ours, x, b) == expected
        assert outcome(ours, a, y) == expected
    assert outcomes == {True, False}


def test_nested_tensors_and_scalars(device: str) -> None:
    x = pt.arange(3.0, device=device)
    testing.assert_equal({"a": [x, 1]}, {"a": [x.numpy(), 1]})
    testing.assert_equal(x[1], 1.0)
    testing.assert_equal((x.sum(), "b"), (3.0, "b"))
    testing.assert_almost_equal(x[1], 1.0)
    testing.assert_approx_equal(x[2], 2.0000001)
    testing.assert_allclose(actual=x, desired=x * 1, err_msg="")
    for wrong in ({"a": [x + 1, 1]}, {"b": [x, 1]}, {"a": [x, 2]}):
        with pytest.raises(AssertionError):
            testing.assert_equal(wrong, {"a": [x, 1]})
    with pytest.raises(AssertionError, match="dtypes float32, float64 mismatch"):
        testing.assert_allclose(x, np.arange(3.0), strict=True)


def test_exceptions_and_warnings() -> None:
    def warns() -> int:
        warnings.warn("told", UserWarning, stacklevel=2)
        return 3

    testing.assert_raises(ZeroDivisionError, lambda n: 1 / n, 0)
    with testing.assert_raises(ValueError):
        raise ValueError
    with testing.assert_raises_regex(ValueError, "o.d"):
        raise ValueError("odd")
    testing.assert_raises_regex(ValueError, "invalid", int, "a")
    testing.assert_(True)  # noqa: PT009
    assert testing.assert_warns(UserWarning, warns) == 3
    assert testing.assert_no_warnings(lambda: 4) == 4
    with testing.assert_warns(UserWarning):
        warns()
    with testing.assert_no_warnings():
        pass
    testing.assert_string_equal("a", "a")
    failing: list[Any] = [
        lambda: testing.assert_(False, "why"),  # noqa: PT009
        lambda: testing.assert_raises(ValueError, int, "1"),
        lambda: testing.assert_raises_regex(ValueError, "nothing", int, "a"),
        lambda: testing.assert_warns(UserWarning, int, "1"),
        lambda: testing.assert_warns(RuntimeWarning, warns),
        lambda: testing.assert_no_warnings(warns),
        lambda: testing.assert_string_equal("a", "b"),
    ]
    for call in failing:
        with pytest.raises(AssertionError):
            call()


def test_suppressed_warnings() -> None:
    def warns(text: str) -> None:
        warnings.warn(text, UserWarning, stacklevel=2)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with testing.suppress_warnings() as quiet:
            quiet.filter(UserWarning, "one")  # until the end of the block, as in NumPy
            warns("one")
            warns("two")
        quiet.filter(UserWarning, "one")
        quiet(warns)("one")
        quiet(warns)("three")
        warns("one")
    assert [str(one.message) for one in told] == ["two", "three", "one"]


def test_every_name_is_numpys() -> None:
    for name in testing.__all__:
        assert getattr(testing, name).__doc__, name
        assert callable(getattr(np.testing, name))


@pytest.mark.filterwarnings("ignore::py_tensor.HostCopyWarning")
def test_numpys_own(device: str) -> None:
    """Those that convert both sides to arrays accept tensors; the docs name the two that do not."""
    x, y = pt.arange(3.0, device=device), pt.arange(3.0, device=device) + 1
    for name in COMPARISONS:
        numpys = getattr(np.testing, name)
        if name in ("assert_equal", "assert_almost_equal"):
            numpys(x, x.numpy())
            continue
        low, high = (x, y) if name == "assert_array_less" else (x, x)
        numpys(low, high)
        with pytest.raises(AssertionError):
            numpys(high + 1, low)
