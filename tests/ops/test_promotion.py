"""Dtypes of operands beside Python's and NumPy's numbers, and of bools; numbers that are stored."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops import references as ref
from tests.ops.compare import same

Array = Any
Call = Callable[[Any, Any, Any], Any]
INTEGERS = (*ref.SMALL_DTYPES, "int32", "uint32", "int64", "uint64")
DTYPES = ("bool", *INTEGERS, "float16", "float32", "complex64")
NARROWED = {"float64": "float32", "complex128": "complex64", "int64": "int32", "uint64": "uint32"}
OF_TWO: dict[str, Call] = {
    **{name: lambda m, x, y, f=f: f(x, y) for name, f in ref.OPERATORS.items()},
    **{f"np.{name}": lambda m, x, y, n=name: getattr(m, n)(x, y) for name in ref.BINARY},
    "divmod": lambda m, x, y: divmod(x, y)[0],
    "where": lambda m, x, y: m.where(m.ones(1, "bool"), x, y),
    "select": lambda m, x, y: m.select([m.ones(1, "bool")], [x], y),
    "select, no default": lambda m, x, y: m.select([m.ones(1, "bool")] * 2, [x, y]),
}
"""Functions of two operands, either of which may be a number."""
SIDES: dict[str, Call] = {
    **OF_TWO,
    **{f"{name}, reflected": lambda m, x, y, f=f: f(m, y, x) for name, f in OF_TWO.items()},
}
AS_ARRAYS: dict[str, Call] = {
    "append": lambda m, x, y: m.append(x, y),
    "inner": lambda m, x, y: m.inner(x, y),
    "dot": lambda m, x, y: m.dot(x, y),
    "einsum": lambda m, x, y: m.einsum("i,->i", x, y),
    "kron": lambda m, x, y: m.kron(x, y),
    "convolve": lambda m, x, y: m.convolve(x, y),
    "outer": lambda m, x, y: m.add.outer(x, y),
    "diff": lambda m, x, y: m.diff(x, prepend=y),
    "choose": lambda m, x, y: m.choose(m.zeros(1, "int32"), [x, y]),
    "clip": lambda m, x, y: m.clip(x, y, None),
    "clip above": lambda m, x, y: x.clip(None, y),
}
"""Functions that take NumPy's numbers as arrays."""


def result(call: Call, *operands: Any) -> Any:
    """Return the result, or the type of the error."""
    try:
        with np.errstate(all="ignore"):
            return call(*operands)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)


def dtype_here(found: Array, *operands: Any) -> str:
    """Return the library's name of the dtype that NumPy's result has for some operands."""
    types = [y.dtype for y in operands if hasattr(y, "dtype")]
    name = str(found.dtype)
    if found.dtype.kind == "f" and not any(t.kind == "f" for t in types):
        return "float32"  # NumPy's depends on the bits of the integers
    is_wide = found.dtype.kind in "iu" and found.dtype == np.result_type(*types)
    return name if is_wide else NARROWED.get(name, name)


def check(call: Call, a: Array, number: Any, device: str, what: str, *, reads: bool) -> None:
    """Compare a call on a tensor and a number with NumPy: the dtype, and if it `reads` values."""
    x = pt.tensor(a, dtype=a.dtype, device=device)
    found = result(call, pt, x, number)
    counted = number
    if a.dtype.name not in ("int64", "uint64"):
        counted = number.astype(NARROWED.get(number.dtype.name, number.dtype.name))
    expected = result(call, np, a, counted)
    if isinstance(expected, type) or isinstance(found, type):
        assert isinstance(expected, type), f"{what}: {found}, not {expected}"
        assert isinstance(found, type), f"{what}: {found}, not {expected}"
        return
    expected = np.asarray(expected)
    assert found.dtype == dtype_here(expected, a, counted), f"{what}: {found.dtype}"
    assert found.shape == expected.shape, what
    if reads:
        limit = 0.0 if expected.dtype.kind in "biu" else 1e-2
        np.testing.assert_allclose(found.numpy(), expected, limit, limit, err_msg=what)


@pytest.mark.parametrize("name", SIDES)
def test_a_number_beside_no_elements(name: str, device: str) -> None:
    """The dtype is that of the same call on elements."""
    call = SIDES[name]
    for dtype, number in product(DTYPES, (5, True, 2.5, 1j, np.float32(0.5), np.int16(3))):
        x = pt.tensor(np.ones((2, 3)), device=device).astype(dtype)
        what = f"{name} of {dtype} and {number!r}"
        some, none = result(call, pt, x, number), result(call, pt, x[:0], number)
        if isinstance(some, type):
            assert none is some, what
        else:
            assert (none.dtype, none.shape) == (some.dtype, (0, 3)), what
            assert none.numpy().dtype == none.dtype, what


def test_the_dtype_of_a_selection(device: str) -> None:
    """It does not depend on the number of elements that a mask selects."""
    for dtype in DTYPES:
        x = pt.tensor(np.arange(4) % 2, device=device).astype(dtype)
        expected = np.asarray(10 * np.ones(2, dtype))
        for y in (x[x == 1], x[x == 7]):
            kept = 10 * y
            same(kept, expected.astype(dtype_here(expected, np.ones(1, dtype)))[: y.size], dtype)


NUMBERS = (1, 5, 100)
READ = {"cpu": 12, "webgpu": 2}
"""How many results of a function are read: on a GPU, each is a kernel to compile."""


@pytest.mark.parametrize("name", [*SIDES, *AS_ARRAYS])
def test_numpys_integers(name: str, device: str, rng: np.random.Generator) -> None:
    """They promote like an array of their dtype, with 32 bits for 64."""
    call = {**SIDES, **AS_ARRAYS}[name]
    pairs = list(product(DTYPES, INTEGERS))
    read = {tuple(pairs[k]) for k in rng.choice(len(pairs), READ[device], replace=False)}
    for dtype, kind in pairs:
        if dtype == "float16" and name.startswith(("np.nextafter", "np.float_power")):
            continue  # which NumPy has in other dtypes
        a = np.array([1, 0, 1] if dtype == "bool" else [1, 2, 3]).astype(dtype)
        of_few = "shift" in name or "power" in name  # 2 as an exponent squares, in some versions
        number = np.dtype(kind).type(3 if of_few else rng.choice(NUMBERS))
        number = np.array(number) if rng.random() < 0.2 else number  # 0-d
        check(
            call,
            a,
            number,
            device,
            f"{name} of {dtype} and {number!r}",
            reads=(dtype, kind) in read,
        )


WRITES: dict[str, Call] = {
    "[0]": lambda m, x, v: x.__setitem__(0, v),
    "[1:]": lambda m, x, v: x.__setitem__(slice(1, None), v),
    "[mask]": lambda m, x, v: x.__setitem__(x == 0, v),
    "[list]": lambda m, x, v: x.__setitem__([0, 2], v),
    "[:2] from a list": lambda m, x, v: x.__setitem__(slice(2), [v, v]),
    "fill": lambda m, x, v: x.fill(v),
    "flat": lambda m, x, v: x.flat.__setitem__(slice(2), v),
    "put": lambda m, x, v: m.put(x, [1], v),
    "put, a list": lambda m, x, v: m.put(x, [0, 1], [v, v]),
    "putmask": lambda m, x, v: m.putmask(x, x == 0, v),
    "place": lambda m, x, v: m.place(x, x == 0, v),
    "put_along_axis": lambda m, x, v: m.put_along_axis(x, m.zeros(1, "int32"), v, 0),
    "copyto": lambda m, x, v: m.copyto(x, v, "unsafe"),
    "copyto, same_kind": lambda m, x, v: m.copyto(x, v),
    "copyto, where": lambda m, x, v: m.copyto(x, v, "unsafe", x == 0),
    "fill_diagonal": lambda m, x, v: m.fill_diagonal(x.reshape(2, 2), v),
    "full": lambda m, x, v: m.full(3, v, x.dtype),
    "full_like": lambda m, x, v: m.full_like(x, v),
    "insert": lambda m, x, v: m.insert(x, 1, v),
    "pad": lambda m, x, v: m.pad(x, 1, constant_values=v),
    "piecewise": lambda m, x, v: m.piecewise(x, [x == 0], [v]),
    "piecewise, default": lambda m, x, v: m.piecewise(x, [x == 0], [1, v]),
}
"""Functions that store a number, in an operand that is checked too, or in a result."""


@pytest.mark.parametrize("name", WRITES)
def test_numpys_integers_are_stored_with_wraparound(
    name: str, device: str, rng: np.random.Generator
) -> None:
    """Also where NumPy raises, for signed dtypes. A Python int that does not fit always raises."""
    call = WRITES[name]
    for dtype, kind in product(DTYPES, INTEGERS):
        limit = 2**31 if "list" in name and name != "[list]" else 2**63  # lists are narrowed
        low, high = (max(np.iinfo(kind).min, -limit), min(np.iinfo(kind).max, limit - 1))
        number = rng.integers(low, high, dtype=kind, endpoint=True)
        a = np.array([0, 1, 0, 3]).astype(dtype)
        x = pt.tensor(a, dtype=dtype, device=device)
        what = f"{name} of {number!r} in {dtype}"
        expected, found = result(call, np, a, number), result(call, pt, x, number)
        if isinstance(expected, type) or isinstance(found, type):
            assert isinstance(found, type), what
            assert isinstance(expected, type), what
            assert issubclass(found, expected), what
        elif expected is not None:
            same(found, expected, what)
        same(x, a, what)
    x = pt.zeros(4, "uint8", device=device)
    with pytest.raises((OverflowError, pt.DTypeError)):
        call(pt, x, 300)


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater"])
def test_integers_are_compared_exactly(name: str, device: str, rng: np.random.Generator) -> None:
    for dtype, kind in product(INTEGERS, INTEGERS):
        info, of_number = np.iinfo(dtype), np.iinfo(kind)
        number = np.dtype(kind).type((of_number.min, of_number.max, 1)[rng.integers(3)])
        a = np.array([info.min, 0, 1, info.max], dtype)
        x = pt.tensor(a, dtype=dtype, device=device)
        call = ref.OPERATORS[name]
        what = f"{dtype} {name} {number!r}"
        same(call(x, number), call(a, number), what)
        same(getattr(pt, name)(number, x), getattr(np, name)(number, a), f"{what}, reflected")


def test_negative_powers_are_refused(device: str) -> None:
    x = pt.tensor([1, 2], dtype="int8", device=device)
    for power in (-1, np.int8(-1), np.int64(-2), np.array(-1)):
        with pytest.raises(ValueError, match=r"^power: .*negative"):
            _ = x**power
    same(x ** np.int8(3), np.array([1, 8], np.int8), "a positive one")
    same(x.astype("float32") ** np.int64(-1), np.array([1, 0.5], np.float32), "of floats")


# -- Bools --------------------------------------------------------------------------------------

OF_BOOLS = sorted(
    name
    for name in dir(np)
    if isinstance(getattr(np, name), np.ufunc)
    and getattr(np, name).signature is None
    and hasattr(pt, name)
    and name not in ("conj", "conjugate", "nextafter", "spacing")
)
"""Ufuncs; bools are their own conjugates here, and their neighbours those in float32."""


@pytest.mark.parametrize("name", [*OF_BOOLS, *ref.OPERATORS, "divmod"])
def test_bools(name: str, device: str, rng: np.random.Generator) -> None:
    """NumPy computes in int8 where it has no loop for bools."""
    a, b = np.array([True, False, True]), np.array([True, True, False])
    small = np.array([3, 1, 2], np.int8)
    ufunc = getattr(np, name, None) if name in OF_BOOLS else None
    operators = {**ref.OPERATORS, "divmod": divmod}
    others: list[Any] = [b, True, False, 2, small, np.int8(3), np.True_, 1.5]
    pairs = [*((a, y) for y in others), (True, b), (2, b), (small, b), (a[:0], True), (2, b[:0])]
    for operands in [(a,), (a[:0],)] if ufunc is not None and ufunc.nin == 1 else pairs:
        given = [
            pt.tensor(v, dtype=v.dtype, device=device) if getattr(v, "ndim", 0) else v
            for v in operands
        ]
        for ours, theirs in (
            [(getattr(pt, name), ufunc)] if ufunc is not None else [(operators[name],) * 2]
        ):
            what = f"{name} of {operands}"
            found, expected = (
                result(lambda m, f, v: f(*v), None, f, v)
                for f, v in ((ours, given), (theirs, operands))
            )
            if isinstance(expected, type) or isinstance(found, type):
                assert isinstance(expected, type), f"{what}: {found}"
                assert isinstance(found, type), f"{what}: {found}"
                continue
            for y, wanted in zip(
                found if isinstance(found, tuple) else [found],
                expected if isinstance(expected, tuple) else [expected],
                strict=True,
            ):
                assert y.dtype == dtype_here(wanted, *operands), f"{what}: {y.dtype}"
                if device == "cpu" or (operands[0] is a and rng.random() < 0.3):
                    np.testing.assert_allclose(y.numpy(), wanted, 1e-2, 1e-3, err_msg=what)


def test_squares_of_bools(device: str) -> None:
    """The operator squares, in int8; the function takes 2 for an int."""
    x, a = pt.tensor([True, False], device=device), np.array([True, False])
    same(x**2, a**2, "the operator")
    same(pt.power(x, 2), np.power(a, 2).astype(np.int32), "the function")
    with pytest.raises(pt.DTypeError, match=r"^ipow: int8 cannot be stored in bool"):
        x **= 2


# -- Functions of several operands --------------------------------------------------------------


THREE: dict[str, Call] = {
    "concatenate": lambda m, xs, ys: m.concatenate(xs),
    "stack": lambda m, xs, ys: m.stack(xs),
    "clip": lambda m, xs, ys: m.clip(*xs),
    "choose": lambda m, xs, ys: m.choose(ys[0], xs),
    "einsum": lambda m, xs, ys: m.einsum("i,i,i", *xs),
}


def test_three_dtypes(device: str, rng: np.random.Generator) -> None:
    """Promotion is not associative: beside float16, uint8 and int8 do not make int16 first."""
    for names in product(DTYPES, repeat=3):
        arrays = [np.ones(2, name) for name in names]
        common = np.empty(0, np.result_type(*names))
        assert pt.result_type(*names) == dtype_here(common, *arrays), names
    drawn = [[str(name) for name in rng.choice(DTYPES, 3)] for _ in range(40)]
    for names in [["uint8", "int8", "float16"], *drawn]:
        arrays = [np.ones(2, name) for name in names]
        tensors = [pt.tensor(x, dtype=x.dtype, device=device) for x in arrays]
        for what, call in THREE.items():
            expected, got = (
                result(call, m, xs, [m.zeros(2, "int32")])
                for m, xs in ((np, arrays), (pt, tensors))
            )
            if isinstance(expected, type):
                continue
            assert got.dtype == dtype_here(expected, *arrays), f"{what} {names}: {got.dtype}"


def test_select(device: str, rng: np.random.Generator) -> None:
    """The dtype is that of all choices and the default together."""
    for _ in range(40):
        names = rng.choice(DTYPES[1:-1], rng.integers(1, 4))
        choices = [rng.integers(0, 9, 5).astype(name) for name in names]
        masks = [rng.random(5) < 0.5 for _ in choices]
        common = np.result_type(*choices)
        default = 1 if common.kind == "u" else -1
        # NumPy converts the default with wraparound, and cannot convert a Python int in a choice.
        expected = np.select(masks, choices, common.type(default))
        x = pt.select(
            [pt.tensor(mask, device=device) for mask in masks],
            [pt.tensor(choice, dtype=choice.dtype, device=device) for choice in choices],
            default,
        )
        wanted = "float32" if common.name == "float64" else common.name
        same(x, expected.astype(wanted), f"{names}")


def test_select_of_numbers(device: str) -> None:
    mask, x = np.array([True, False]), np.array([7, 8], np.uint8)
    m, t = pt.tensor(mask, device=device), pt.tensor(x, device=device)
    low, high = np.int16(-300), np.uint16(60000)
    same(pt.select([m], [t], low), np.select([mask], [x], low), "a default of NumPy's")
    expected = np.select([mask, ~mask], [low, high], x)
    same(pt.select([m, ~m], [low, high], t), expected, "choices of NumPy's")
    same(pt.select([m, ~m], [t, 5]), np.array([7, 5], np.uint8), "a Python number, and a tensor")
    same(pt.select([m], [1], 2.5), np.array([1, 2.5], np.float32), "numbers alone")


def test_a_python_limit_beside_a_wider_one(device: str) -> None:
    a = np.array([1, 2, 3], np.int8)
    x = pt.tensor(a, device=device)
    pairs: list[tuple[Any, Any]] = [
        (2, np.int32(1000)), (1000, np.int32(2000)), (np.uint8(2), -1), (-1000, np.int16(2)),
        (np.int8(2), 1000), (None, np.int32(2)), (np.array([1, 5, 2], np.int32), 1000),
    ]  # fmt: skip
    for low, high in pairs:
        expected = result(np.clip, a, low, high)
        if isinstance(expected, type):
            expected = a.clip(low, 127)  # beyond all numbers of the dtype
        same(pt.clip(x, low, high), expected, f"{low!r}, {high!r}")


def test_piecewise_converts_each_piece(device: str) -> None:
    """A piece of floats does not round others, which are integers."""
    a = np.array([2**40 + 1, 3])
    x = pt.tensor(a, dtype="int64", device=device)
    found = pt.piecewise(x, [x > 5, x < 5], [lambda v: v, lambda v: v * 0.5])
    same(found, np.array([2**40 + 1, 1]), "int64 and float32")


@pytest.mark.parametrize("step", [np.int8(100), np.float16(0.5), np.array(3), 2])
def test_the_step_of_a_gradient(step: Any, device: str) -> None:
    """A step of NumPy's is a number, which neither wraps around nor widens the result."""
    a = np.array([1, 4, 9, 25], np.float16)
    found = pt.gradient(pt.tensor(a, device=device), step)
    assert found.dtype is pt.float16
    np.testing.assert_allclose(found.numpy(), np.gradient(a, float(step)), 1e-2)


def test_the_period_of_unwrap(device: str) -> None:
    a = np.array([0, 9, 21, 2], np.int16)
    x = pt.tensor(a, device=device)
    periods: list[Any] = [10, np.int16(10), np.int64(10), np.array(10)]
    for period in periods:
        assert pt.unwrap(x, period=period).dtype.kind == "i"
        np.testing.assert_array_equal(pt.unwrap(x, period=period), np.unwrap(a, period=10))


def test_replacements_of_nan_keep_the_dtype(device: str) -> None:
    a = np.array([np.nan, 1, np.inf], np.float16)
    x = pt.tensor(a, device=device)
    numbers: tuple[Any, ...] = (7, np.int32(7), np.float32(7), np.array(7))
    for number in numbers:
        expected = np.nan_to_num(a, nan=number, posinf=number)
        same(pt.nan_to_num(x, nan=number, posinf=number), expected, f"{number!r}")
