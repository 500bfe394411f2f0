"""Every elementwise op on every dtype and layout, against the tables in references.py."""

from __future__ import annotations

import math
import warnings
from functools import partial
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops import references as ref
from tests.ops.compare import SMALLEST, element, same, ulps_off
from tests.ops.operands import LAYOUTS, PAIRS, SPECIAL, Few, all_pairs, every, pool, raised_to

Array = Any
WORST: dict[tuple[str, str], float] = {}  # (op, dtype) -> the largest error seen, in ulp


# -- Comparing ------------------------------------------------------------------------------------


def _flushed(a: Array, dtype: str) -> Array:
    """Replace subnormal numbers by zeros, as a GPU may."""
    if dtype != "float32":
        return a
    return np.where(np.abs(a) < SMALLEST, np.copysign(0, a), a)


def _reference(entry: ref.Entry, arrays: list[Array], dtype: str) -> list[Array]:
    """Return the expected results; a second set if subnormal numbers may be flushed."""
    compute = entry.compute.get(dtype, dtype)
    given = [ref.wide(a.astype(dtype).astype(compute), compute) for a in arrays]
    flushed = [_flushed(a, compute) for a in given]
    answers = [entry.reference(*given)]
    if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(given, flushed, strict=True)):
        answers.append(entry.reference(*flushed))
    return answers


def check(
    name: str, entry: ref.Entry, got: Any, arrays: list[Array], dtype: str, what: str
) -> None:
    """Compare a result with the reference; a failure names the worst element."""
    result = entry.dtypes[dtype]
    with np.errstate(all="ignore"):
        answers = _reference(entry, arrays, dtype)
    values = got.numpy()
    where = f"{name}, {what}"
    assert str(got.dtype) == result == values.dtype.name, (
        f"{where}: dtype {got.dtype}, not {result}"
    )
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    assert got.shape == values.shape == shape, f"{where}: shape {got.shape}, not {shape}"
    if result.startswith("float"):
        off = np.min(
            [ulps_off(values, a, result, zero_sign=entry.zero_sign) for a in answers], axis=0
        )
    else:
        with np.errstate(all="ignore"):
            off = np.min(
                [np.where(values == np.asarray(a).astype(result), 0.0, np.inf) for a in answers],
                axis=0,
            )
    if not off.size:
        return
    worst = float(np.max(off))
    WORST[name, dtype] = max(WORST.get((name, dtype), 0.0), worst)
    bound = entry.ulp if result == "float32" else max(entry.ulp, entry.float64_ulp)
    if worst > bound:
        at = element(off == worst)
        operands = ", ".join(repr(np.broadcast_to(a, shape)[at]) for a in arrays)
        raise AssertionError(
            f"{where}, element {at}: {name}({operands}) is {values[at]!r}, not {answers[0][at]!r}: "
            f"{worst:.3g} ulp, promised {bound} "
            f"({np.count_nonzero(off > bound)} of {off.size} are wrong)"
        )


def unary_cases(
    name: str, dtype: str, device: str, rng: np.random.Generator, few: Few = every
) -> None:
    """One op of one operand on every layout."""
    entry, op = ref.UNARY[name], getattr(pt, name)
    values = pool(dtype, rng)
    longest, *others = LAYOUTS.items()
    for layout, make in (longest, *few(others, 1)):
        x, array = make(values, rng, device)
        check(name, entry, op(x), [array], dtype, f"{dtype}, {layout}")
    x, array = LAYOUTS["transposed"](values, rng, device)
    same(x, array, f"{name}, {dtype}: the operand, afterwards")


def binary_cases(
    name: str, dtype: str, device: str, rng: np.random.Generator, few: Few = every
) -> None:
    """One op of two operands of one dtype on every pair of layouts."""
    entry, op = ref.BINARY[name], getattr(pt, name)
    a, b = all_pairs(pool(dtype, rng), pool(dtype, rng), dtype, dtype)
    b = raised_to(name, dtype, device, b)
    x, y = (pt.tensor(v, dtype=dtype, device=device) for v in (a, b))
    check(name, entry, op(x, y), [a, b], dtype, f"{dtype}, all pairs of special values and more")
    check(name, entry, op(y, y), [b, b], dtype, f"{dtype}, an operand with itself")
    check(
        name, entry, op(y[1:], y[:-1]), [b[1:], b[:-1]], dtype, f"{dtype}, two views of one operand"
    )
    for layout, (first, second) in few([*PAIRS.items()], 1):
        (x, a1), (y, b1) = first(a, rng, device), second(b, rng, device)
        check(name, entry, op(x, y), [a1, b1], dtype, f"{dtype}, {layout}")


# -- One and two operands -------------------------------------------------------------------------


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ref.DTYPES)
@pytest.mark.parametrize("name", ref.UNARY)
def test_unary(name: str, dtype: str, device: str, few: Few, rng: np.random.Generator) -> None:
    if dtype in ref.UNARY[name].dtypes:
        unary_cases(name, dtype, device, rng, few)
        return
    x = pt.tensor([1, 0, 1], dtype=dtype, device=device)
    with pytest.raises(pt.DTypeError, match=rf"^{name}\b.*\b{dtype}\b"):
        getattr(pt, name)(x)
    same(x.logical_not(), np.array([False, True, False]), "the session afterwards")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ref.DTYPES)
@pytest.mark.parametrize("name", ref.BINARY)
def test_binary(name: str, dtype: str, device: str, few: Few, rng: np.random.Generator) -> None:
    if dtype in ref.BINARY[name].dtypes:
        binary_cases(name, dtype, device, rng, few)
        return
    x = pt.tensor([1, 0, 1], dtype=dtype, device=device)
    with pytest.raises(pt.DTypeError, match=rf"^{name}\b.*\b{dtype}\b"):
        getattr(pt, name)(x, x)
    same(x.logical_not(), np.array([False, True, False]), "the session afterwards")


OF_FLOATS = [n for n, e in {**ref.UNARY, **ref.BINARY}.items() if "float32" in e.dtypes]


def with_exponents(exponents: Array, rng: np.random.Generator) -> Array:
    """float32 of these exponents (0 to 255, as stored), with any sign and fraction."""
    bits = rng.integers(0, 2**32, exponents.shape, np.uint32) & np.uint32(0x807FFFFF)
    bits[rng.random(exponents.shape) < 0.1] &= np.uint32(0x80000000)
    return (bits | exponents.astype(np.uint32) << np.uint32(23)).view(np.float32)


@pytest.mark.computes
@pytest.mark.parametrize("name", OF_FLOATS)
def test_every_exponent(name: str, device: str, rng: np.random.Generator) -> None:
    """The stated error of an op, over all exponents of float32, or all pairs of them."""
    entry, op = (ref.UNARY.get(name) or ref.BINARY[name]), getattr(pt, name)
    every = np.arange(256)
    if name in ref.UNARY:
        exponents = [np.repeat(every, 64)]
    else:
        exponents = [x.ravel() for x in np.meshgrid(every, every)]
    arrays = [with_exponents(e, rng) for e in exponents]
    check(name, entry, op(*(pt.tensor(a, device=device) for a in arrays)), arrays, "float32", "all")


@pytest.mark.computes
@pytest.mark.parametrize("exponent", [0.5, 1.5, 2.0, -0.5])
def test_powers_of_minus_infinity(exponent: float, device: str) -> None:
    """The exponent is a number, a one-element tensor or a full tensor: all agree."""
    x = pt.tensor([-np.inf, 4.0, -np.inf], device=device)
    expected = [np.inf if exponent > 0 else 0.0, 4.0**exponent, np.inf if exponent > 0 else 0.0]
    for y in (exponent, pt.tensor(exponent, device=device), pt.full(3, exponent, device=device)):
        same(pt.power(x, y), np.array(expected, np.float32), f"to the {exponent}")
        same(x**y, np.array(expected, np.float32), f"to the {exponent}")


@pytest.mark.parametrize("dtype", ref.WIDE_DTYPES)
def test_64_bits_on_the_cpu(dtype: str, rng: np.random.Generator) -> None:
    for name, entry in ref.UNARY.items():
        if dtype in entry.dtypes:
            unary_cases(name, dtype, "cpu", rng)
    for name, entry in ref.BINARY.items():
        if dtype in entry.dtypes:
            binary_cases(name, dtype, "cpu", rng)


@pytest.mark.computes
@pytest.mark.parametrize("name", ref.UNARY)
def test_unary_as_methods(name: str, device: str) -> None:
    dtype = "float32" if "float32" in ref.UNARY[name].dtypes else "int32"
    values = np.array([0.25, 0.5, 1.0] if dtype == "float32" else [1, 2, 3], dtype)
    x = pt.tensor(values, device=device)
    if name not in ref.NO_METHODS:
        check(name, ref.UNARY[name], getattr(x, name)(), [values], dtype, "method")
    check(name, ref.UNARY[name], getattr(pt, name)(values.tolist()), [values], dtype, "of a list")


@pytest.mark.computes
def test_signs(device: str) -> None:
    values = np.array([-1.5, 0.0, 2.0, np.nan], np.float32)
    x = pt.tensor(values, device=device)
    same(-x, -values, "-x")
    same(+x, values, "+x")
    same(abs(x), abs(values), "abs(x)")
    assert pt.absolute is pt.abs


# -- Operators, scalars, mixed dtypes -------------------------------------------------------------

COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
SCALARS: tuple[Any, ...] = (True, 0, 3, -2, 0.5, -2.0, math.inf, math.nan)


@pytest.mark.computes
@pytest.mark.parametrize("kind", [range, memoryview, bytearray])
def test_operators_with_sequences_of_numbers(kind: type[Any], device: str) -> None:
    y = kind(3 if kind is range else b"abc")
    array = np.full(3, 2.0, np.float32)
    x = pt.tensor(array, device=device)
    values = np.asarray(y)
    same(x + y, array + values.astype(np.float32), "x + y")
    np.testing.assert_allclose((x**y).numpy(), array**values, rtol=1e-5)
    if kind is range:
        np.testing.assert_allclose((y**x).numpy(), values**array, rtol=1e-5)


@pytest.mark.computes
@pytest.mark.parametrize("name", ref.OPERATORS)
def test_operators_with_scalars(name: str, device: str, few: Few, rng: np.random.Generator) -> None:
    """A tensor with a Python scalar on either side; the scalar is weak."""
    entry, operator = ref.BINARY[name], ref.OPERATORS[name]
    for dtype in ref.DTYPES:
        every = np.concatenate([np.array(SPECIAL[dtype], dtype), pool(dtype, rng, 40)])
        for scalar, flip in few([*product(SCALARS, (False, True))], 4):
            kind = ref.WITH_SCALAR[dtype, type(scalar).__name__]
            array = raised_to(name, kind, device, every) if flip else every
            x = pt.tensor(array, dtype=dtype, device=device)
            given = partial(operator, *((scalar, x) if flip else (x, scalar)))
            what = f"{dtype} {'on the right of' if flip else 'with'} {scalar!r}"
            if (
                name == "power"
                and type(scalar) is int
                and scalar < 0
                and kind != "float32"
                and not flip
            ):
                with pytest.raises(ValueError, match=r"negative.* -2"):
                    given()
                continue
            if name in COMPARISONS and type(scalar) is float and dtype != "float32":
                expected = operator(scalar, array) if flip else operator(array, scalar)
                same(given(), expected, what)  # exact: none of these numbers is rounded
                continue
            outside = kind in ("uint32", "uint64") and type(scalar) is int and scalar < 0
            if outside and entry.dtypes == ref.TRUTH:
                value = operator(scalar, 0) if flip else operator(0, scalar)
                same(given(), np.full(array.shape, value), what)
                continue
            if outside and entry.compute.get(kind) == "float32":  # which can represent the scalar
                kind, outside = "float32", False
            if outside:
                with pytest.raises(OverflowError, match=rf"-2.*{kind}"):
                    given()
                continue
            if kind not in entry.dtypes:
                with pytest.raises(pt.DTypeError, match=f"^{name}"):
                    given()
                continue
            other = np.array(scalar).astype(kind)
            arrays = [other, array] if flip else [array, other]
            check(name, entry, given(), arrays, kind, what)


@pytest.mark.computes
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_with_integers_out_of_range(name: str, device: str) -> None:
    """Exact for any integer, as in NumPy."""
    operator, function = ref.OPERATORS[name], getattr(pt, name)
    for dtype in ("bool", "int32", "uint32"):
        array = np.array(SPECIAL[dtype], dtype)
        x = pt.tensor(array, device=device)
        array = array.astype(np.int64)  # NumPy's own bools raise past 64 bits
        for scalar in (-1, 2, -(2**31) - 1, 2**31, 2**32, -(2**40), 10**30, -(10**400)):
            what = f"{name}, {dtype} with {scalar if abs(scalar) < 10**40 else 'a huge one'}"
            same(operator(x, scalar), operator(array, scalar), what)
            same(operator(scalar, x), operator(scalar, array), f"{what}, on its right")
            same(function(scalar, x[:0]), np.zeros(0, bool), f"{what}, empty")
            same(function(x[0], scalar), np.asarray(operator(array[0], scalar)), f"{what}, 0-d")
    x = pt.ones(2, device=device)
    with pytest.raises(OverflowError, match=rf"^{name}: .*1329 bits.*float32"):
        operator(x, 10**400)
    with np.errstate(over="ignore"):
        same(operator(x, 10**40), operator(x.numpy(), 10**40), f"{name}, past float32")


@pytest.mark.computes
@pytest.mark.parametrize("name", COMPARISONS)
def test_integers_are_compared_exactly_with_floats(name: str, device: str, few: Few) -> None:
    """Results are those of Python's own comparison, which rounds neither side."""
    operator = ref.OPERATORS[name]
    edges = (2.0**24, 2.0**31, 2.0**32, 2.0**53, 2.0**63, 2.0**64, 0.5, 1.5, 1e30)
    floats = (0.0, -0.0, *edges, *(-x for x in edges), math.inf, -math.inf, math.nan)
    for dtype in ("bool", "int32", "uint32", "int64", "uint64", "int8"):
        numbers = np.array(SPECIAL[dtype], dtype)
        x = pt.tensor(numbers, dtype=dtype, device=device)
        for f in few(floats, 4):
            right = [operator(int(n), f) for n in numbers.tolist()]
            left = [operator(f, int(n)) for n in numbers.tolist()]
            same(operator(x, f), np.array(right), f"{name}, {dtype} with {f}")
            same(operator(f, x), np.array(left), f"{name}, {dtype} on the right of {f}")
            same(getattr(pt, name)(x, np.float64(f)), np.array(right), f"{name}, {dtype}, NumPy's")


@pytest.mark.computes
def test_arithmetic_with_integers_out_of_range(device: str) -> None:
    x = pt.tensor([1, 2], device=device)
    for name in ("add", "subtract", "multiply", "floor_divide", "maximum"):
        with pytest.raises(OverflowError, match=rf"^{name}: .*1099511627776.*int32"):
            getattr(pt, name)(x, 2**40)
        with pytest.raises(OverflowError, match=rf"^{name}: .*-1 .*uint32"):
            getattr(pt, name)(x.astype("uint32"), -1)
    same(x + 1, np.array([2, 3], np.int32), "the session afterwards")


# -- Rounding -------------------------------------------------------------------------------------


@pytest.mark.computes
def test_round_to_places(device: str, rng: np.random.Generator) -> None:
    numbers = np.concatenate([np.array(SPECIAL["float32"][:-9]), rng.standard_normal(40) * 100])
    floats = np.concatenate([numbers, [0.125, 2.675, 15, 25, 1234.5, -0.05]]).astype(np.float32)
    integers = np.array([0, 5, 15, 25, -5, -15, -25, 1234, -1250, 10**9, -(10**9)], np.int32)
    x, i = pt.tensor(floats, device=device), pt.tensor(integers, device=device)
    for places in (0, 1, 2, 5, -1, -2, -3):
        same(pt.round(x, places), np.round(floats, places), f"round to {places}")
        same(x.round(decimals=places), np.round(floats, places), f"method, to {places}")
        same(round(x, places), np.round(floats, places), f"round(x, {places})")
        same(i.round(places), np.round(integers, places), f"integers to {places}")
        unsigned = np.abs(integers).astype(np.uint32)
        same(
            pt.round(pt.tensor(unsigned, device=device), places),
            np.round(unsigned, places),
            f"uint32 to {places}",
        )
    most = np.array([2**31 - 1, -(2**31), 15 * 10**8, 5 * 10**8], np.int32)
    for places in (-8, -9, -10, -20):
        got = pt.tensor(most, device=device).round(places)
        same(got, np.round(most, places), f"large integers to {places}")
    same(round(x), np.round(floats), "round(x)")
    same(
        pt.round([1.26, -0.5], 1).to(device),
        np.round(np.array([1.26, -0.5], np.float32), 1),
        "of a list",
    )
    same(pt.round(pt.tensor([True], device=device), -1), np.array([False]), "of bools")
    with pytest.raises(TypeError, match=r"^round: .*1\.5"):
        pt.round(x, 1.5)  # pyright: ignore[reportArgumentType]


@pytest.mark.computes
def test_sinc(device: str, rng: np.random.Generator) -> None:
    """Over the whole exponent range, and near its zeros."""
    zeros = np.arange(-300, 300, dtype=np.float32)
    bits = rng.integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    array = np.concatenate([
        *(bits[np.isfinite(bits)], zeros, np.nextafter(zeros, np.float32(999)), zeros / 64),
        rng.uniform(-9, 9, 20_000).astype(np.float32),
        np.array([-0.0, 1e-45, 1e-39, 1e38], np.float32),
    ])  # fmt: skip
    wide = array.astype(np.float64)
    near = wide - np.round(wide)
    sign = np.where(np.round(wide) % 2 == 0, 1, -1)
    expected = sign * np.sin(np.pi * near) / np.where(wide == 0, 1, np.pi * wide)
    expected = np.where(wide == 0, 1, expected)
    off = ulps_off(pt.sinc(pt.tensor(array, device=device)).numpy(), expected, "float32")
    off = np.where(near == 0, 0, off)  # zeros, whose sign is unspecified
    assert off.max() <= 4, f"{off.max()} ulp at {array[off.argmax()]!r}"
    assert not pt.sinc(pt.tensor(zeros[zeros != 0], device=device)).any()


@pytest.mark.computes
def test_divmod(device: str, rng: np.random.Generator) -> None:
    for dtype in ("int32", "float32"):
        a, b = rng.integers(-20, 20, 50).astype(dtype), rng.integers(1, 7, 50).astype(dtype)
        x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
        for got, expected in (
            (divmod(x, y), np.divmod(a, b)),
            (pt.divmod(x, 3), np.divmod(a, 3)),
            (pt.divmod(x, y, out=(x.copy(), y.copy())), np.divmod(a, b)),
            (divmod(17, y), np.divmod(17, b)),
            (divmod(x, b), np.divmod(a, b)),
        ):
            for part, wanted in zip(got, expected, strict=True):
                same(part, wanted, f"divmod, {dtype}")
    with pytest.raises(TypeError):
        divmod(pt.ones(2, device=device), "text")  # pyright: ignore


@pytest.mark.computes
@pytest.mark.parametrize("name", ref.BINARY)
def test_mixed_dtypes(name: str, device: str, few: Few, rng: np.random.Generator) -> None:
    """Operands of two dtypes: the promotion table, and the op in the common dtype."""
    entry, op = ref.BINARY[name], getattr(pt, name)
    dtypes = ref.DTYPES if device == "webgpu" else (*ref.DTYPES, *ref.WIDE_DTYPES)
    pairs = [*permutations(dtypes, 2)]
    accepted = [pair for pair in pairs if ref.common_dtype(*pair) in entry.dtypes]
    others = [pair for pair in pairs if pair not in accepted]
    for first, second in (*few(accepted, 3), *(few(others, 1) if others else ())):
        a, b = pool(first, rng, 70), pool(second, rng, 70)
        x = pt.tensor(a, dtype=first, device=device)
        y = pt.tensor(b, dtype=second, device=device)
        common = ref.common_dtype(first, second)
        b = raised_to(name, common, device, b)
        y = pt.tensor(b, dtype=second, device=device)
        if common not in entry.dtypes:
            with pytest.raises(pt.DTypeError, match=rf"^{name}: .*{common}"):
                op(x, y)
            continue
        whole = a.dtype.kind in "biu" and b.dtype.kind in "biu"
        if name in COMPARISONS and whole and common == "float32":
            pairs = zip(a.tolist(), b.tolist(), strict=True)
            expected = [ref.OPERATORS[name](p, q) for p, q in pairs]
            same(op(x, y), np.array(expected), f"{name}, {first} with {second}")
            continue  # uint64 and a signed integer: exact
        with np.errstate(all="ignore"):
            a, b = a.astype(common), b.astype(common)
        check(name, entry, op(x, y), [a, b], common, f"{first} with {second}")


@pytest.mark.computes
def test_operands_of_other_kinds(device: str) -> None:
    """Lists and NumPy arrays on either side of an operator."""
    x, array = pt.tensor([1.0, 2.0], device=device), np.array([3.0, 4.0], np.float32)
    for got, expected in (
        (x + [3, 4], [4, 6]),  # noqa: RUF005
        ([3, 4] + x, [4, 6]),  # noqa: RUF005
        (x - array, [-2, -2]),
        (array - x, [2, 2]),
        (array / x, [3, 2]),
        (x * (2, 3), [2, 6]),
        (array**x, [3, 16]),
        (np.float32(2) * x, [2, 4]),
    ):
        assert isinstance(got, pt.Tensor)
        same(got, np.array(expected, np.float32), "an operator with a list or an array")
    same(array < x, np.array([False, False]), "array < tensor")
    same(array == x, np.array([False, False]), "array == tensor")
    same(pt.add([1, 2], [3, 4]).to(device), np.array([4, 6], np.int32), "lists alone")
    with pytest.raises(TypeError):
        _ = x + "text"
    with pytest.raises(TypeError):
        _ = x + None
    with pytest.raises(TypeError):
        _ = x < None


@pytest.mark.computes
def test_equality_with_none_and_text(device: str) -> None:
    """No element is equal, as in NumPy."""
    for shape in ((), (3,), (2, 3), (0, 2)):
        array = np.ones(shape, np.float32)
        x = pt.tensor(array, device=device)
        for other in (None, "text", b"text", np.str_("text")):
            for mine, theirs in ((x == other, array == other), (x != other, array != other)):
                same(mine, np.asarray(theirs), f"{shape} and {other!r}")
        same(None == x, np.zeros(shape, bool), f"None == {shape}")  # noqa: E711, SIM300
        assert (None in x) is (None in array) is False
        assert ("text" in x) is ("text" in array) is False
    array = np.arange(3)
    x = pt.tensor(array, device=device)
    assert x[0] in [None, 0]
    assert None not in [x[0], 1]
    assert {None: 1, "a": 2, 0: 3}[x[0]] == 3
    for each in (x, array):
        with pytest.raises(ValueError, match="ambiguous"):
            _ = each in [None]


@pytest.mark.computes
def test_bits(device: str) -> None:
    """``& | ^ ~`` of bools are the logical ops; floats have no bits."""
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    i, j = np.array([12, -1, 7, 0], np.int32), np.array([10, 3, -8, 5], np.int32)
    m, n = pt.tensor(i, device=device), pt.tensor(j, device=device)
    for got, expected in (
        (x & y, a & b),
        (x | y, a | b),
        (x ^ y, a ^ b),
        (~x, ~a),
        (x & True, a),
        (True ^ x, ~a),
        (m & n, i & j),
        (m | 1, i | 1),
        (~m, ~i),
        (m << 3, i << 3),
        (1 << (n & 7), 1 << (j & 7)),
        (m >> 1, i >> 1),
        (x & m, a & i),
    ):
        same(got, np.asarray(expected), "bits")
    numbers = pt.tensor([1.0], device=device)
    for wrong, match in (
        (lambda: ~numbers, r"^invert: .*float32"),
        (lambda: numbers & 1, r"^bitwise_and: .*float32"),
        (lambda: m | 1.5, r"^bitwise_or: .*float32"),
        (lambda: m << 1.5, r"^left_shift: .*float32"),
    ):
        with pytest.raises(pt.DTypeError, match=match):
            wrong()


# -- where, clip, astype, isclose -----------------------------------------------------------------


@pytest.mark.computes
def test_where(device: str, rng: np.random.Generator) -> None:
    for dtype in ref.DTYPES:
        condition, a, b = (
            rng.random((5, 7)) < 0.5,
            pool(dtype, rng, 35).reshape(5, 7),
            pool(dtype, rng, 35).reshape(7, 5),
        )
        c, x, y = (pt.tensor(v, dtype=v.dtype, device=device) for v in (condition, a, b))
        same(pt.where(c, x, y.T), np.where(condition, a, b.T), f"where, {dtype}, transposed")
        same(
            pt.where(c[:, :1], x, y.T[::-1]),
            np.where(condition[:, :1], a, b.T[::-1]),
            f"where, {dtype}, broadcast",
        )
        same(
            pt.where(c[0], x[0, 0], y[0, 1]),
            np.where(condition[0], a[0, 0], b[0, 1]),
            f"where, {dtype}, 0-d",
        )
    numbers = pt.tensor([0.0, 2.0, np.nan], device=device)
    same(
        pt.where(numbers, 1, 2),
        np.array([2, 1, 1], np.int32),
        "where, numbers as condition, scalars",
    )
    same(
        pt.where(numbers > 1, 0.5, pt.tensor(3, device=device)),
        np.array([3, 0.5, 3], np.float32),
        "where, mixed",
    )
    same(
        pt.where(pt.tensor(True, device=device), 1.5, 2),
        np.array(1.5, np.float32),
        "where, all 0-d",
    )
    same(pt.where(numbers[:0], 1.5, 2), np.zeros(0, np.float32), "where, empty")


@pytest.mark.computes
def test_clip(device: str) -> None:
    array = np.array([-3.0, -0.5, 0.25, 7.0, np.nan, np.inf], np.float32)
    x = pt.tensor(array, device=device)
    same(x.clip(-1, 2), np.clip(array, -1, 2), "clip")
    same(pt.clip(x, None, 2), np.clip(array, None, 2), "clip above")
    same(pt.clip(x, 0), np.clip(array, 0, None), "clip below")
    same(pt.clip(x, None, None), array, "clip by nothing")
    low = pt.tensor([[0.0], [1.0]], device=device)
    same(
        x.clip(low, low + 1),
        np.clip(array, [[0], [1]], [[1], [2]]).astype(np.float32),
        "clip by tensors",
    )
    numbers = np.array([-5, 0, 5], np.int32)
    same(pt.clip(pt.tensor(numbers, device=device), -1, 3), np.clip(numbers, -1, 3), "clip int32")


def _cast(a: Array, target: str) -> Array:
    """Floats out of an integer's range: signed dtypes get their smallest value, others wrap.

    uint32 wraps through int64, and so does uint64 below 2**63; from 2**64 on it is 0.
    """
    a = np.asarray(a)
    if a.dtype.kind == "f" and target in ("int64", "uint64"):
        numbers = [int(x) if np.isfinite(x) else None if np.isnan(x) else x for x in a.tolist()]
        return np.array([_cast_to_64_bits(x, target) for x in numbers], target)
    if a.dtype.kind == "f" and target in ("int32", "uint32"):
        limit = 2.0**31 if target == "int32" else 2.0**63
        given = a.astype(np.float64)
        inside = (
            np.abs(np.trunc(given)) < limit
            if target == "uint32"
            else (given > -limit - 1) & (given < limit)
        )
        kept = np.where(inside, given, 0).astype(np.int64)
        return np.where(inside, kept, -(2**31) if target == "int32" else 0).astype(target)
    return a.astype(target)


def _cast_to_64_bits(x: float | None, target: str) -> int:
    if target == "uint64" and x is not None and x >= 2**63:
        return int(x) if x < 2**64 else 0
    signed = int(x) if x is not None and -(2**63) <= x < 2**63 else -(2**63)
    return signed if target == "int64" else signed % 2**64


@pytest.mark.computes
def test_astype(device: str, rng: np.random.Generator) -> None:
    dtypes = ref.DTYPES if device == "webgpu" else (*ref.DTYPES, *ref.WIDE_DTYPES)
    for source in dtypes:
        array = pool(source, rng, 200)
        x = pt.tensor(array, dtype=source, device=device)
        for target in dtypes:
            with np.errstate(all="ignore"):
                expected = _cast(array, target)
            if source == "float32" and target == "bool":  # a subnormal may count as zero
                keep = (np.abs(array) >= SMALLEST) | (array == 0) | np.isnan(array)
                assert np.array_equal(x.astype(target).numpy()[keep], expected[keep]), (
                    "astype, float32 to bool"
                )
                continue
            got = x.astype(target)
            if target == source:
                assert got is not x
                assert x.astype(target, copy=False) is x
            same(got, expected, f"astype, {source} to {target}")
            same(x[::-3].astype(target), expected[::-3], f"astype, {source} to {target}, reversed")
    x = pt.tensor([1.7], device=device)
    for spelled in ("int32", int, pt.int32, np.int32, np.dtype("int32")):
        same(x.astype(spelled), np.array([1], np.int32), f"astype({spelled!r})")
    with pytest.raises(pt.DTypeError, match="float8"):
        x.astype("float8")


@pytest.mark.computes
def test_isclose(device: str) -> None:
    a = np.array([1.0, 1.0, 1.0, 0.0, np.inf, np.inf, np.nan, np.nan, 100.0], np.float32)
    b = np.array([1.0, 1.000005, 1.1, 1e-9, np.inf, -np.inf, np.nan, 1.0, 100.0005], np.float32)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    choices: tuple[dict[str, Any], ...] = ({}, {"rtol": 0.2}, {"atol": 0.5}, {"equal_nan": True})
    for options in choices:
        same(pt.isclose(x, y, **options), np.isclose(a, b, **options), f"isclose, {options}")
    assert pt.allclose(x[:2], y[:2]) is True
    assert pt.allclose(x[:3], y[:3]) is False
    assert pt.allclose(x[:3], y[:3], rtol=0.2) is True
    assert pt.allclose(x[:0], y[:0]) is True
    numbers = pt.tensor([1, 2], device=device)
    assert pt.allclose(numbers, numbers) is True
    assert pt.allclose(numbers, [1, 3]) is False


INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TOLERANCES = ((0, 0), (0, 0.5), (0, 2**33), (1e-5, 1e-8), (0.1, 0), (1e-7, 1), (0.7, 3))


def close_operands(
    first: str, second: str, rtol: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return numbers up to 2**50 that differ by a little or by about `rtol`.

    They differ by exactly that only if the tolerance on the GPU is that of float64.
    """
    names = [{"f": "int64", "c": "int64", "b": "int8"}.get(d[0], d) for d in (first, second)]
    low = max(-(2**50), *(np.iinfo(name).min for name in names))
    high = min(2**50, *(np.iinfo(name).max for name in names))
    b = rng.integers(low, high, 60, endpoint=True)
    b[:20] = rng.integers(max(low, -9), 10, 20)
    is_exact = rtol < 0.5 and not {first[0], second[0]} & {*"fc"}
    ends = np.abs(b) * rtol * (1 if is_exact else rng.choice([0.999, 1.001], 60))
    apart = np.where(rng.random(60) < 0.5, 0, np.rint(ends)).astype("i8")
    a = b + (apart + rng.integers(-2, 3, 60)) * rng.choice([-1, 1], 60)
    a[-2:], b[-2:] = (low, high), (low, high)
    return np.clip(a, low, high).astype(first), b.astype(second)


@pytest.mark.computes
@pytest.mark.parametrize("first", [*INTEGERS, "float32", "complex64"])
def test_isclose_of_integers(first: str, device: str, rng: np.random.Generator) -> None:
    others = INTEGERS if first[0] in "fc" else (*INTEGERS, "float32", "complex64")
    for second in others if device == "cpu" else rng.choice(others, 2):
        for rtol, atol in TOLERANCES:
            a, b = close_operands(first, second, rtol, rng)
            x = pt.tensor(a, dtype=first, device=device)
            y = pt.tensor(b, dtype=second, device=device)
            expected = np.isclose(a, b, rtol, atol)
            same(pt.isclose(x, y, rtol, atol), expected, f"{a.tolist()}, {b.tolist()}, {rtol}")
            assert pt.allclose(x, y, rtol, atol) is bool(expected.all())


@pytest.mark.computes
def test_isclose_beside_numbers(device: str) -> None:
    """Integers that float32 does not hold, tolerances without bound, NaN and infinities."""
    x = pt.tensor([2**24 + 1, -(2**31), 2**31 - 1], dtype="int32", device=device)
    a = x.numpy()
    for other in (2**24, 2**31 - 1, -(2**31), 3.5, float("inf"), float("nan")):
        for rtol, atol in ((0, 0), (0, 1), (1e-9, 0), (0, float("inf")), (-1, 0), (0, -1)):
            with np.errstate(invalid="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = np.isclose(a, other, rtol, atol), np.isclose(other, a, rtol, atol)
            if other != 3.5:  # which is exact in float32
                same(pt.isclose(x, other, rtol, atol), expected[0], f"x, {other}, {rtol}, {atol}")
            same(pt.isclose(other, x, rtol, atol), expected[1], f"{other}, x, {rtol}, {atol}")
    ends = pt.tensor([2**63 - 1, -(2**63)], dtype="int64", device=device)
    far = pt.tensor([2**64 - 1, 2**64 - 1], dtype="uint64", device=device)
    assert not pt.isclose(ends, far, rtol=0).any()
    assert pt.isclose(x[:, None], x, rtol=0).numpy().tolist() == np.eye(3).tolist()


@pytest.mark.computes
def test_parts_of_floats(device: str, rng: np.random.Generator) -> None:
    """`frexp`, `modf` and `ldexp` are exact; also with `out` and `where`."""
    values = pool("float32", rng)
    values = values[(values == 0) | ~(np.abs(values) < SMALLEST)]
    x, mask = pt.tensor(values, device=device), rng.random(values.shape) < 0.5
    for function, expected in ((pt.frexp, np.frexp(values)), (pt.modf, np.modf(values))):
        if function is pt.frexp:  # C leaves the exponent of infinities and NaN unspecified
            expected = expected[0], np.where(np.isfinite(values), expected[1], 0)
        for got, want in zip(function(x), expected, strict=True):
            same(got, want, function.__name__)
        first, second = (pt.ones(v.shape, v.dtype, device=device) for v in expected)
        out = first, second
        found = function(x, out, where=mask)
        for got, target, want in zip(found, out, expected, strict=True):
            assert got is target
            kept = np.where(mask, want, want.dtype.type(1))
            same(target, kept, f"{function.__name__}, out and where")
    fractions = rng.uniform(0.5, 1, 90).astype(np.float32)
    powers = rng.integers(-120, 120, 90).astype(np.int32)
    y, p = pt.tensor(fractions, device=device), pt.tensor(powers, device=device)
    out = pt.zeros(90, device=device)
    assert pt.ldexp(y, p, out) is out
    same(out, np.ldexp(fractions, powers), "ldexp")
    same(pt.ldexp(y, 200), np.full(90, np.inf, np.float32), "ldexp, beyond the largest number")


def test_the_worst_errors() -> None:
    """Prints the measured errors; ``-rP`` shows them."""
    for (name, dtype), worst in sorted(WORST.items()):
        if worst:
            print(f"{name:14} {dtype:8} {worst:8.3f} ulp")


def test_logical_ops_take_a_float_as_its_truth(device: str) -> None:
    x = pt.tensor([0.0, 1.0, 2.0], device=device)
    for _ in range(2):  # the same from the cached recipe
        assert pt.logical_and(x, 0.5).tolist() == [False, True, True]
        assert pt.logical_or(float("nan"), x).tolist() == [True, True, True]
        assert pt.logical_xor(x, float("inf")).tolist() == [True, False, False]
