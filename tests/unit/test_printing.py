"""The text of tensors against NumPy's, which py_tensor.convert.printing does not use.

Random cases are new in each run; a failure shows the seed, and PY_TENSOR_SEED repeats it.
"""

import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.convert.printing import (
    DEFAULT_OPTIONS,
    Elements,
    PrintOptions,
    edge_indices,
    format_str,
    format_tensor,
)

# 2.3 changed where float32 switches to exponents: an older NumPy is not the reference.
assert tuple(map(int, np.__version__.split(".")[:2])) >= (2, 3), np.__version__

Array = np.ndarray[Any, Any]
DTYPES = ("float16", "float32", "float64", "int32", "uint32", "bool", "complex64", "complex128")
FLOATS = ("float16", "float32", "float64")
PARTS = {"complex64": "float32", "complex128": "float64"}


class tensor(np.ndarray):  # noqa: N801  NumPy prints the class's name
    """An array whose NumPy repr starts with "tensor("."""


@pytest.fixture
def rng() -> np.random.Generator:
    seed = int(os.environ.get("PY_TENSOR_SEED", time.time_ns() % 2**32))
    print(f"PY_TENSOR_SEED={seed}")  # pytest shows it if the test fails
    return np.random.default_rng(seed)


# NumPy's text and ours.


@contextmanager
def numpy_options(options: PrintOptions) -> Generator[None, None, None]:
    with np.printoptions(**asdict(options)), np.errstate(all="ignore"):
        yield


def numpy_repr(a: Array, options: PrintOptions) -> str:
    with numpy_options(options):
        return repr(a.view(tensor))


def numpy_str(a: Array, options: PrintOptions) -> str:
    with numpy_options(options):
        return str(a)


def kind_of(a: Array) -> str:
    return "int" if a.dtype.kind in "iu" else a.dtype.name


def shown(a: Array, options: PrintOptions) -> Elements:
    """Return the argument of callers: all values, or the edges according to `edge_indices`."""
    shape = a.shape
    for axis, n in enumerate(a.shape if a.size > options.threshold else ()):
        kept = edge_indices(n, options.edgeitems)
        a = a if kept is None else a.take(kept, axis)
    return Elements(shape, kind_of(a), a.ravel().tolist())


def our_repr(a: Array, options: PrintOptions, suffix: str) -> str:
    return format_tensor(shown(a, options), suffix, options)


def our_str(a: Array, options: PrintOptions) -> str:
    return format_str(shown(a, options), options)


def numpy_suffix(a: Array) -> str:
    """Return the dtype suffix, if NumPy's repr has one."""
    implied = a.dtype.name in ("float64", "complex128", "bool") and a.size > 0
    return "" if implied else f", dtype={a.dtype.name}"


def check(a: Array, options: PrintOptions = DEFAULT_OPTIONS) -> None:
    context = f"{a.dtype} {a.shape} {options} {a.ravel()[:20].tolist()}"
    assert our_repr(a, options, numpy_suffix(a)) == numpy_repr(a, options), context
    assert our_str(a, options) == numpy_str(a, options), context


# Values.


def from_bits(rng: np.random.Generator, n: int, dtype: str) -> Array:
    return np.frombuffer(rng.bytes(n * np.dtype(dtype).itemsize), dtype)


def mixed_exponents(rng: np.random.Generator, n: int, dtype: str) -> Array:
    limit = 44 if dtype == "float32" else 320
    top = rng.integers(-limit, limit)
    exponents = rng.integers(top - rng.integers(1, 12), top + 1, n).astype(float)
    return rng.uniform(-10, 10, n) * 10.0**exponents


def near_limits(rng: np.random.Generator, n: int, dtype: str) -> Array:
    """Around 0.0001, 0.1, 1000, the thresholds for exponents, and 10**k."""
    centers = np.asarray(rng.choice([1e-4, 0.1, 1, 10, 100, 1e3, 1e6, 1e8, 1e10], n), dtype)
    steps = rng.integers(-2, 3, n).astype(dtype)
    return centers + np.spacing(centers) * steps


def powers_of_two(rng: np.random.Generator, n: int, dtype: str) -> Array:
    return 2.0 ** rng.integers(-160, 130, n) * rng.choice([-1, 1, 3, 0], n)


FLOAT_VALUES: tuple[Callable[[np.random.Generator, int, str], Array], ...] = (
    lambda rng, n, dtype: rng.standard_normal(n),
    lambda rng, n, dtype: rng.standard_normal(n) * 10.0 ** rng.integers(-12, 12),
    lambda rng, n, dtype: rng.integers(-9, 9, n),
    lambda rng, n, dtype: rng.integers(-(10**9), 10**9, n),
    lambda rng, n, dtype: rng.integers(0, 999, n) / 8,
    lambda rng, n, dtype: np.round(rng.uniform(-100, 100, n), rng.integers(0, 5)),
    lambda rng, n, dtype: rng.choice([-0.0, 0.0, 1.0, 1e-45, 3e38], n),
    from_bits,
    mixed_exponents,
    near_limits,
    powers_of_two,
)


def random_values(rng: np.random.Generator, n: int, dtype: str) -> Array:
    if dtype == "bool":
        return rng.integers(0, 2, n)
    if dtype in PARTS:
        made = np.empty(n, dtype)
        made.real, made.imag = (random_values(rng, n, PARTS[dtype]) for _ in range(2))
        return made
    if dtype not in FLOATS:
        return from_bits(rng, n, dtype) >> np.asarray(rng.integers(0, 32), dtype)
    with np.errstate(all="ignore"):
        values = np.array(FLOAT_VALUES[rng.integers(len(FLOAT_VALUES))](rng, n, dtype)).astype(
            dtype
        )
    if rng.random() < 0.3:
        specials = rng.choice([np.nan, np.inf, -np.inf, -0.0], rng.integers(1, 5))
        rare = rng.random(n) < rng.choice([0.1, 0.5, 1.0])
        values[rare] = rng.choice(specials, np.count_nonzero(rare))
    return values


def random_shape(rng: np.random.Generator) -> tuple[int, ...]:
    rank = int(rng.integers(0, 5))
    sizes = {1: [0, 1, 2, 7, 33, 120], 2: [0, 1, 2, 5, 8, 40], 3: [0, 1, 2, 3, 7, 9], 4: [1, 2, 7]}
    return tuple(int(n) for n in rng.choice(sizes.get(rank, [1]), rank))


def random_array(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    return random_values(rng, math.prod(shape), dtype).astype(dtype).reshape(shape)


def random_options(rng: np.random.Generator) -> PrintOptions:
    return PrintOptions(
        precision=int(rng.choice([0, 1, 2, 4, 8, 12, 17])),
        threshold=int(rng.choice([0, 5, 30, 1000])),
        edgeitems=int(rng.integers(1, 5)),
        linewidth=int(rng.choice([1, 12, 20, 40, 75, 120])),
        suppress=bool(rng.integers(0, 2)),
        floatmode=str(rng.choice(["maxprec", "maxprec_equal", "fixed", "unique"])),
        sign=str(rng.choice(["-", "+", " "])),
        nanstr=str(rng.choice(["nan", "-", "not a number"])),
        infstr=str(rng.choice(["inf", "oo"])),
    )


# Against NumPy.


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_arrays(rng: np.random.Generator, dtype: str) -> None:
    for _ in range(120):
        check(random_array(rng, dtype, random_shape(rng)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_arrays_and_options(rng: np.random.Generator, dtype: str) -> None:
    for _ in range(120):
        check(random_array(rng, dtype, random_shape(rng)), random_options(rng))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(1001,), (1000,), (2, 700), (700, 2), (7, 6, 31), (5, 300, 1), (6, 6, 6, 6)]
)
def test_summarised(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> None:
    for _ in range(2):
        check(random_array(rng, dtype, shape))


@pytest.mark.parametrize("dtype", FLOATS)
def test_digits_of_one_number(rng: np.random.Generator, dtype: str) -> None:
    options = PrintOptions(precision=20)
    for value in from_bits(rng, 900, dtype):
        check(np.array(value), options)


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_of_two_and_their_neighbours(rng: np.random.Generator, dtype: str) -> None:
    """The gap below a power of two is half the gap above, so the interval is asymmetric."""
    info, options = np.finfo(dtype), PrintOptions(precision=20)
    bits = np.asarray(info.tiny).view(f"u{info.bits // 8}").item().bit_length() - 1
    normal = np.arange(1, 2 ** (info.bits - 1 - bits) - 1, dtype=f"u{info.bits // 8}") << bits
    subnormal = 1 << np.arange(bits, dtype=normal.dtype)
    powers = np.concatenate([normal, subnormal])
    for value in rng.choice(powers, min(200, powers.size), replace=False):
        for neighbour in (value - 1, value, value + 1):
            check(np.array(neighbour.view(dtype)), options)


SPECIALS: tuple[list[float], ...] = (
    [math.nan],
    [math.inf],
    [-math.inf],
    [math.nan, -math.inf],
    [math.nan, 1.0],
    [math.inf, -1.0],
    [-math.inf, 1.0],
    [-math.inf, 12345.5, math.nan],
    [-math.inf, 1e20, math.nan],
    [0.0],
    [-0.0],
    [-0.0, 1e-30],
    [-0.0, 1.5],
    [1e-4, 0.1],
    [9e-5, 0.01],
    [1.0, 1000.0],
    [1.0, 1000.1],
    [1e-45, 3.4028235e38],
    [9.9999999, 99999.99],
    [999999.94],
    [1e6],
    [99999999.0],
    [1e8],
    [9.99999999999e99, 1.0],
    [1e100, 1e-100],
)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("values", SPECIALS, ids=str)
def test_specials(dtype: str, values: list[float]) -> None:
    with np.errstate(over="ignore"):
        a = np.array(values).astype(dtype)
    check(a)
    check(a[:1].reshape(()))
    check(np.tile(a, (2, 40)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_exponents_begin_at_a_ratio_of_1000_rounded_in_the_dtype(
    rng: np.random.Generator, dtype: str
) -> None:
    for least in rng.uniform(0.001, 1, 60).astype(dtype):
        most = 1000 * least
        for other in (np.nextafter(most, 0 * most), most, np.nextafter(most, 2 * most)):
            check(np.array([least, other]))


@pytest.mark.parametrize("suffix", ["", ", dtype=int32", ", dtype=int32, device='cpu'"])
@pytest.mark.parametrize("n", range(14, 26))
def test_suffix_moves_to_its_own_line(n: int, suffix: str) -> None:
    a = np.arange(n, dtype="int32")
    rows = np.array2string(a, separator=", ", prefix="tensor(", suffix=")")
    line = f"tensor({rows}{suffix})".split("\n")[-1]
    moved = suffix.replace(", ", ",\n       ", 1) if len(line) > 75 else suffix
    assert our_repr(a, DEFAULT_OPTIONS, suffix) == f"tensor({rows}{moved})"


# The options that a program sets.


@pytest.fixture
def set_options() -> Generator[Callable[..., None], None, None]:
    yield pt.set_printoptions
    pt.set_printoptions(**asdict(DEFAULT_OPTIONS))


@pytest.mark.parametrize("dtype", DTYPES)
def test_array2string(rng: np.random.Generator, dtype: str) -> None:
    for _ in range(60):
        a = random_array(rng, dtype, random_shape(rng))
        options = asdict(random_options(rng))
        del options["override_repr"], options["nanstr"], options["infstr"]
        given: dict[str, Any] = {
            "max_line_width": options.pop("linewidth"),
            "suppress_small": options.pop("suppress"),
            "separator": str(rng.choice([" ", ", ", "", " | ", ",\n"])),
            "prefix": "x" * int(rng.integers(0, 9)),
            "suffix": "y" * int(rng.integers(0, 3)),
            **options,
        }
        with np.errstate(all="ignore"):
            expected = np.array2string(a, **given)
        got = pt.array2string(pt.tensor(a, dtype=a.dtype, device="cpu"), **given)
        assert got == expected, (given, a.tolist())


@pytest.mark.parametrize("dtype", DTYPES)
def test_formatters(rng: np.random.Generator, dtype: str) -> None:
    a = random_array(rng, dtype, (3, 4))
    x = pt.tensor(a, dtype=a.dtype, device="cpu")
    for key in ("all", "bool", "int", "int_kind", "float", "float_kind", "complexfloat",
                "complex_kind", "datetime"):  # fmt: skip
        formatter: Any = {key: lambda v: f"<{v}>", "all": None if key != "all" else "<{}>".format}
        expected = np.array2string(a, formatter=formatter)
        got = pt.array2string(x, formatter=formatter)
        if dtype in (
            "float16",
            "float32",
            "complex64",
        ):  # NumPy's are shorter
            assert ("<" in got) == ("<" in expected), key
            continue
        assert got == expected, key


def test_array_repr_and_array_str(rng: np.random.Generator) -> None:
    for dtype in ("float32", "int32", "complex64"):
        for _ in range(20):
            a = random_array(rng, dtype, random_shape(rng))
            x = pt.tensor(a, dtype=a.dtype, device="cpu")
            width, precision, suppress = 30, int(rng.integers(0, 6)), bool(rng.integers(0, 2))
            with np.errstate(all="ignore"):
                expected = np.array_str(a, width, precision, suppress)
                assert pt.array_str(x, width, precision, suppress) == expected
            with pt.printoptions(linewidth=width, precision=precision, suppress=suppress):
                expected = repr(x)
            assert pt.array_repr(x, width, precision, suppress) == expected


def test_printoptions(set_options: Callable[..., None]) -> None:
    x = pt.tensor([2.0], device="cpu") / 3
    before, names = pt.get_printoptions(), {*np.get_printoptions()}
    assert {*before} == names
    assert before == asdict(DEFAULT_OPTIONS) == np.get_printoptions()
    with pt.printoptions(precision=2, formatter={"float": "{:.1f}".format}) as inner:
        assert inner == pt.get_printoptions() != before
        assert str(x) == "[0.7]"
        set_options(precision=3)
        assert str(x) == "[0.667]", "set_printoptions takes the formatter away"
    assert pt.get_printoptions() == before
    with pytest.raises(KeyError), pt.printoptions(precision=1):
        raise KeyError
    assert pt.get_printoptions() == before
    with pt.printoptions(override_repr=lambda t: f"of {t.shape}"):
        assert repr(x) == "of (1,)"
        assert str(x) == "[0.6666667]"


@pytest.mark.parametrize("dtype", FLOATS)
def test_format_float(rng: np.random.Generator, dtype: str) -> None:
    for _ in range(300):
        value: Any = random_values(rng, 1, dtype).astype(dtype)[0]
        if np.isfinite(value) and abs(float(value)) > 1e20:  # its text would be long
            value = np.asarray(1.0, dtype)[()]
        unique, fractional = bool(rng.integers(0, 3)), bool(rng.integers(0, 2))
        counts = sorted(int(n) for n in rng.integers(1, 14, 2))
        given: dict[str, Any] = {
            "unique": unique,
            "precision": counts[1] if not unique or rng.integers(0, 2) else None,
            "trim": str(rng.choice(["k", ".", "0", "-"])),
            "sign": bool(rng.integers(0, 2)),
            "pad_left": int(rng.integers(0, 9)),
        }
        if unique and rng.integers(0, 2):
            given["min_digits"] = counts[0]
        x = pt.tensor([value], dtype=dtype, device="cpu")[0]
        places: dict[str, Any] = {
            "fractional": fractional,
            "pad_right": int(rng.integers(9)) or None,
        }
        with np.errstate(all="ignore"):
            expected = np.format_float_positional(value, **given, **places)
        assert pt.format_float_positional(x, **given, **places) == expected, (value, given, places)
        exponent: dict[str, Any] = {"exp_digits": int(rng.integers(1, 5))}
        with np.errstate(all="ignore"):
            expected = np.format_float_scientific(value, **given, **exponent)
        assert pt.format_float_scientific(x, **given, **exponent) == expected, (value, given)


def test_format_float_of_pythons_numbers() -> None:
    for value in (1.1, 3, 1e-7, 0.30000000000000004, True):
        assert pt.format_float_positional(value) == np.format_float_positional(value)
        assert pt.format_float_scientific(value) == np.format_float_scientific(value)
    for name in ("format_float_positional", "format_float_scientific"):
        call = getattr(pt, name)
        for options in ({"precision": -1}, {"precision": 2, "min_digits": 3}, {"pad_left": -1}):
            with pytest.raises(ValueError, match=f"^{name}: "):
                call(1.0, **options)
        for options in ({"unique": False}, {"trim": "a"}):
            with pytest.raises(TypeError, match=f"^{name}: "):
                call(1.0, **options)
    with pytest.raises(ValueError, match=r"^format_float_positional: precision"):
        pt.format_float_positional(1.0, precision=0, fractional=False)
    with pytest.raises(TypeError, match=r"^format_float_positional: "):
        pt.format_float_positional(1j)


def test_integers_as_text() -> None:
    for number in (*range(-20, 20), 255, -256, 2**31, -(2**31), 12345678901234567890):
        for base in (2, 3, 10, 16, 36):
            for padding in (0, 3):
                expected = np.base_repr(number, base, padding)
                assert pt.base_repr(number, base, padding) == expected
        for width in (None, 0, 1, 3, 8, 33, 70):
            try:
                expected = np.binary_repr(number, width)
            except ValueError:
                with pytest.raises(ValueError, match=r"^binary_repr: "):
                    pt.binary_repr(number, width)
                continue
            assert pt.binary_repr(number, width) == expected, (number, width)
    assert pt.binary_repr(pt.tensor([5], device="cpu")[0]) == "101"
    for base in (1, 37):
        with pytest.raises(ValueError, match=r"^base_repr: "):
            pt.base_repr(3, base)


@pytest.mark.parametrize("dtype", DTYPES)
def test_set_printoptions(
    rng: np.random.Generator, set_options: Callable[..., None], dtype: str
) -> None:
    for _ in range(20):
        a, options = random_array(rng, dtype, random_shape(rng)), random_options(rng)
        set_options(**asdict(options))
        assert str(pt.tensor(a, dtype=a.dtype, device="cpu")) == numpy_str(a, options), options


@pytest.mark.parametrize(
    "changes",
    [
        [{"linewidth": 40}],
        [{"precision": 3}, {"linewidth": 120}],
        [{"threshold": 10}, {"edgeitems": 2}],
        [{"precision": 2, "linewidth": 30}, {"precision": 5}],
    ],
)
def test_set_printoptions_changes_only_the_given_options(
    set_options: Callable[..., None], changes: list[dict[str, Any]]
) -> None:
    a = np.linspace(0, 1, 60, dtype="float32").reshape(3, 20)
    with np.printoptions():
        for change in changes:
            set_options(**change)
            np.set_printoptions(**change)
        rows = np.array2string(a, separator=", ", prefix="tensor(", suffix=")")
        assert repr(pt.tensor(a, device="cpu")).startswith(f"tensor({rows}")
        assert str(pt.tensor(a, device="cpu")) == str(a)


def test_set_printoptions_rejects_unknown_options(set_options: Callable[..., None]) -> None:
    with pytest.raises(ValueError, match="linewidth must be at least 1, not 0"):
        set_options(linewidth=0)
    with pytest.raises(TypeError, match="line_width"):
        set_options(line_width=80)


# Without NumPy: the texts themselves.


@pytest.mark.parametrize(
    ("shape", "values", "text"),
    [
        ((), [3.0], "tensor(3.)"),
        ((0,), [], "tensor([])"),
        ((0, 3), [], "tensor([], shape=(0, 3))"),
        ((2, 2), [1.0, 2.0, 3.0, 4.0], "tensor([[1., 2.],\n        [3., 4.]])"),
        ((1, 1, 1), [0.5], "tensor([[[0.5]]])"),
    ],
)
def test_form(shape: tuple[int, ...], values: list[float], text: str) -> None:
    assert format_tensor(Elements(shape, "float32", values)) == text


def test_summary_names_the_shape() -> None:
    values = [0.0, 1.0, 2.0, 1997.0, 1998.0, 1999.0]
    text = format_tensor(Elements((2000,), "float64", values), ", device='cpu'")
    rows = "[0.000e+00, 1.000e+00, 2.000e+00, ..., 1.997e+03, 1.998e+03,\n        1.999e+03]"
    assert text == f"tensor({rows}, shape=(2000,), device='cpu')"


@pytest.mark.parametrize(
    ("n", "edgeitems", "kept"),
    [(0, 3, None), (6, 3, None), (7, 3, [0, 1, 2, 4, 5, 6]), (3, 1, [0, 2])],
)
def test_edge_indices(n: int, edgeitems: int, kept: list[int] | None) -> None:
    assert edge_indices(n, edgeitems) == kept


@pytest.mark.parametrize("format_any", [format_tensor, format_str])
@pytest.mark.parametrize(
    ("shape", "kind", "values", "message"),
    [
        ((2,), "int", [1], r"shape \(2,\) has 2 values, got 1"),
        ((), "int", [], r"shape \(\) has 1 values, got 0"),
        ((2000,), "int", [1] * 5, r"edges of shape \(2000,\) has 6 values, got 5"),
        ((1,), "str", [1], "kind .* 'str'"),
    ],
)
def test_wrong_calls(
    format_any: Callable[..., str],
    shape: tuple[int, ...],
    kind: str,
    values: list[int],
    message: str,
) -> None:
    with pytest.raises(ValueError, match=message):
        format_any(Elements(shape, kind, values), options=DEFAULT_OPTIONS)


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("floatmode", "none", ValueError),
        ("sign", "*", ValueError),
        ("legacy", "1.13", ValueError),
        ("precision", "3", TypeError),
        ("precision", 2.5, TypeError),
        ("threshold", math.nan, ValueError),
        ("threshold", "all", TypeError),
    ],
)
def test_options_of_no_such_value(option: str, value: object, error: type[Exception]) -> None:
    with pytest.raises(error, match=option):
        replace(DEFAULT_OPTIONS, **{option: value})


@pytest.mark.parametrize("option", ["precision", "threshold", "edgeitems", "linewidth"])
def test_wrong_options(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} must be at least .*, not -1"):
        replace(DEFAULT_OPTIONS, **{option: -1})


def test_a_thousand_float32_take_about_as_long_as_fifty_of_python() -> None:
    """The shortest digits are found by trial, in the time of about 50 of Python's formats."""
    source = random.Random(0)
    values = np.array([source.gauss(0, 1) for _ in range(1000)], "float32").tolist()

    def timed(make: Callable[[], object]) -> float:
        start = time.process_time()  # CPU time, because other tests may share the cores
        make()
        return time.process_time() - start

    def ours() -> object:
        return format_tensor(Elements((1000,), "float32", values))

    def pythons() -> object:
        return [f"{v:.9g}" for v in values]

    rounds = [(timed(ours), timed(pythons)) for _ in range(20)]
    ratio = min(ours for ours, _ in rounds) / min(pythons for _, pythons in rounds)
    assert ratio < 100


def test_imports_nothing_but_the_standard_library() -> None:
    """Boot must not wait for NumPy, and the module must run without js and pyodide."""
    root = Path(__file__).parents[2]
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import py_tensor.convert.printing;"
        "print(sorted({n.partition('.')[0] for n in sys.modules} - sys.stdlib_module_names))"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['__main__', 'py_tensor']"
