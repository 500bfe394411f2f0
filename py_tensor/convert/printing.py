"""Text of a tensor in NumPy's format, from Python scalars, without an array library or a device.

The reference is NumPy 2.3 and later, ``numpy/_core/arrayprint.py`` with its default options.
There are three steps: scalars become words of equal width (``_words``), words become nested rows in
brackets (``_rows``), and the rows get their prefix, shape and suffix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, NamedTuple

from py_tensor.base.dtypes import ALL, DType
from py_tensor.base.errors import check_option


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """The print options, with the names of ``numpy.set_printoptions``.

    ``edgeitems`` must be at least 1; NumPy accepts 0, and then prints one item.
    """

    edgeitems: int = 3
    threshold: float = 1000
    floatmode: str = "maxprec"
    precision: int = 8
    suppress: bool = False
    linewidth: int = 75
    nanstr: str = "nan"
    infstr: str = "inf"
    sign: str = "-"
    formatter: Mapping[str, Callable[[Any], str]] | None = None
    legacy: bool = False
    override_repr: Callable[[Any], str] | None = None

    def __post_init__(self) -> None:
        for name, least in (("precision", 0), ("threshold", 0), ("edgeitems", 1), ("linewidth", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | float) or (name == "precision" and value != int(value)):
                raise TypeError(f"PrintOptions: {name} must be a number, not {value!r}")
            if not value >= least:
                raise ValueError(f"PrintOptions: {name} must be at least {least}, not {value}")
        modes = ("fixed", "unique", "maxprec", "maxprec_equal")
        for name, words in (("floatmode", modes), ("sign", ("-", "+", " ")), ("legacy", (False,))):
            check_option("PrintOptions", name, getattr(self, name), words)


DEFAULT_OPTIONS = PrintOptions()
ALL_DIGITS = 1074  # after the point: every float64 has fewer, or as many


def edge_indices(n: int, edgeitems: int) -> list[int] | None:
    """Return the indices shown along an axis of size `n` of a summarized tensor; None if all are.

    >>> edge_indices(9, 3)
    [0, 1, 2, 6, 7, 8]
    >>> edge_indices(6, 3) is None
    True
    """
    if n <= 2 * edgeitems:
        return None
    return [*range(edgeitems), *range(n - edgeitems, n)]


class Elements(NamedTuple):
    """The elements of a tensor that its text shows.

    Attributes
    ----------
    shape
        The shape of the whole tensor.
    kind
        The name of a dtype, or "int".
    values
        The elements in row-major order. If there are more than ``options.threshold``, the text is a
        summary, and these are only the elements at `edge_indices` of every axis. Floats are exactly
        representable in the dtype that `kind` names.
    """

    shape: tuple[int, ...]
    kind: str
    values: Sequence[complex]


def format_tensor(x: Elements, suffix: str = "", options: PrintOptions = DEFAULT_OPTIONS) -> str:
    """Return the text of ``repr(tensor)``, in NumPy's format for arrays.

    Parameters
    ----------
    suffix
        The text after the rows, such as ``, dtype=int32, device='cpu'``. It moves to a line of its
        own if it would exceed the line width.

    Examples
    --------
    >>> print(format_tensor(Elements((2, 2), "float32", [1.0, 2.0, 3.0, 4.5])))
    tensor([[1. , 2. ],
            [3. , 4.5]])
    """
    shape, prefix = x.shape, "tensor("
    rows = format_rows(x, options, separator=", ", prefix=prefix, ending=")")
    names_shape = math.prod(shape) > options.threshold or (0 in shape and shape != (0,))
    extras = [f"shape={shape}"] if names_shape else []
    if suffix:
        extras.append(suffix.removeprefix(", "))
    if not extras:
        return f"{prefix}{rows})"
    text, extra = f"{prefix}{rows},", ", ".join(extras) + ")"
    last_line = text[text.rfind("\n") + 1 :]
    fits = len(last_line) + 1 + len(extra) <= options.linewidth
    return text + (" " if fits else "\n" + " " * len(prefix)) + extra


def format_str(x: Elements, options: PrintOptions = DEFAULT_OPTIONS) -> str:
    """Return the text of ``str(tensor)``, as in NumPy.

    >>> format_str(Elements((3,), "int", [1, 20, 3]))
    '[ 1 20  3]'
    """
    if x.shape == () and x.values:
        return _scalar_text(x.kind, x.values[0])
    return format_rows(x, options)


def format_rows(
    x: Elements, options: PrintOptions, *, separator: str = " ", prefix: str = "", ending: str = ""
) -> str:
    """Return the rows, like ``numpy.array2string``.

    Parameters
    ----------
    separator
        The separator between elements.
    prefix, ending
        The text that will precede the rows, which are indented by its length, and that will follow.
    """
    edgeitems = options.edgeitems if math.prod(x.shape) > options.threshold else None
    words = _words(x, edgeitems, options)
    style = _Style(separator, " " * (len(prefix) + 1), options.linewidth - len(ending))
    return _rows(words, x.shape, edgeitems, style)


# Layout: words to nested rows.


class _Style(NamedTuple):
    separator: str
    indent: str  # the indent of continuation lines, including the width of the opening bracket
    width: int


def _rows(words: list[str], shape: tuple[int, ...], edgeitems: int | None, style: _Style) -> str:
    """Return `words` in nested brackets, with "..." in each axis longer than twice `edgeitems`."""
    if not words:
        return "[]"
    if not shape:
        return words[0]
    kept = None if edgeitems is None else edge_indices(shape[0], edgeitems)
    items = words
    if len(shape) > 1:
        step = len(words) // (shape[0] if kept is None else len(kept))
        rows = (words[i : i + step] for i in range(0, len(words), step))
        inner = style._replace(indent=style.indent + " ", width=style.width - 1)
        items = [_rows(row, shape[1:], edgeitems, inner) for row in rows]
    if kept is not None:
        items = [*items[:edgeitems], "...", *items[edgeitems:]]
    if len(shape) == 1:
        return f"[{_wrap(items, style)}]"
    newlines = "\n" * (len(shape) - 1)
    return f"[{(style.separator.rstrip() + newlines + style.indent).join(items)}]"


def _wrap(items: list[str], style: _Style) -> str:
    """Format one row; break it before each item that leaves no column for a comma or bracket."""
    separator, indent, width = style
    most = width - max(len(separator.rstrip()), len("]"))
    lines: list[str] = []
    line = indent
    for item in items:
        if len(indent) < len(line) and len(line) + len(item) > most:
            lines.append(line.rstrip())
            line = indent
        line += item + separator
    lines.append(line.removesuffix(separator))
    return "\n".join(lines).removeprefix(indent)


# Words: scalars to texts of equal width.


def _words(x: Elements, edgeitems: int | None, options: PrintOptions) -> list[str]:
    shape, kind, values = x
    count = math.prod(shape if edgeitems is None else (min(n, 2 * edgeitems) for n in shape))
    if len(values) != count:
        shown = "shape" if edgeitems is None else "the edges of shape"
        raise ValueError(f"{shown} {shape} has {count} values, got {len(values)}")
    function = _formatter(kind, options.formatter) if options.formatter else None
    if function is not None:
        return [function(x) for x in values]
    if kind == "bool":
        return [("True" if not shape else " True") if x else "False" for x in values]
    if kind in _INTEGERS:
        return _int_words([int(x.real) for x in values], options.sign)
    if kind in _FLOATS:
        return _float_words(kind, [x.real for x in values], options, options.sign)
    if kind in _PARTS:
        return _complex_words(_PARTS[kind], values, options)
    raise ValueError(f"kind must be 'int' or a dtype's name, not {kind!r}")


_INTEGERS = {"int", *(dtype.name for dtype in ALL if dtype.is_integer)}
_PARTS = {"complex64": "float32", "complex128": "float64"}


def _formatter(
    kind: str, formatters: Mapping[str, Callable[[Any], str]]
) -> Callable[[Any], str] | None:
    """Return the function of the option `formatter` for elements of a kind, or None."""
    kinds = ("complexfloat", _PARTS), ("float", _FLOATS), ("int", _INTEGERS), ("bool", ("bool",))
    long_name = next(name for name, members in kinds if kind in members)
    names = (long_name, f"{long_name.removesuffix('float') or long_name}_kind", "all")
    return next((f for name in names if (f := formatters.get(name)) is not None), None)


def _int_words(values: list[int], sign: str) -> list[str]:
    most, least = max(values, default=0), min(values, default=0)
    sign = "-" if sign == " " and least < 0 else sign
    width = max(len(f"{most:{sign}d}"), len(str(least))) if values else 0
    return [f"{x:{sign}{width}d}" for x in values]


def _complex_words(kind: str, values: Sequence[complex], options: PrintOptions) -> list[str]:
    """Format real parts, and imaginary parts with a sign, each padded to equal width."""
    reals = _float_words(kind, [x.real for x in values], options, options.sign)
    signed = _float_words(kind, [x.imag for x in values], options, "+")
    words = (f"{word.rstrip()}j".ljust(len(word) + 1) for word in signed)
    return [real + word for real, word in zip(reals, words, strict=True)]


def _float_words(kind: str, values: Sequence[float], options: PrintOptions, sign: str) -> list[str]:
    """Format numbers, padded to equal width."""
    finite = [x for x in values if math.isfinite(x)]
    numbers = _aligned(kind, finite, options)
    if sign == "+":
        numbers = [(head if head[0] == "-" else f"+{head}", tail) for head, tail in numbers]
    left = max((len(head) for head, _ in numbers), default=0)
    right = max((len(tail) for _, tail in numbers), default=0)
    left += sign == " " and all(head[0] != "-" for head, _ in numbers)
    if len(finite) < len(values):
        room = right + len(".")
        signed = sign != "-" or -math.inf in values
        left = max(left, len(options.nanstr) - room, len(options.infstr) + signed - room)
    plus = "+" if sign == "+" else ""
    words = iter([f"{head:>{left}}.{tail:<{right}}" for head, tail in numbers])
    width = left + len(".") + right
    return [
        next(words) if math.isfinite(x) else f"{_special(x, options, plus):>{width}}"
        for x in values
    ]


def _special(x: float, options: PrintOptions, plus: str) -> str:
    if math.isnan(x):
        return plus + options.nanstr
    return ("-" if x < 0 else plus) + options.infstr


class _Float(NamedTuple):
    """What printing needs to know of a floating dtype."""

    bits: int  # of a mantissa, including the leading one
    least: int  # exponent of the smallest subnormal
    safe: int  # decimal digits that never confuse two normal numbers
    enough: int  # decimal digits that always suffice
    # Limits beyond which exponents are used, in float64; NumPy compares in the array's dtype.
    largest: float
    smallest: float  # 0.0001 in the dtype
    ratio: float  # the largest quotient that rounds to 1000


def _facts_of(dtype: DType) -> _Float:
    safe = int((dtype.digits - 1) * math.log10(2))
    return _Float(
        dtype.digits,
        dtype.exponent - dtype.digits + 1,
        safe,
        math.ceil(1 + dtype.digits * math.log10(2)),
        10.0 ** min(max(3, safe), 8),
        dtype.rounded(0.0001),
        1000.0 + 2.0 ** (9 - dtype.digits),
    )


_FLOATS = {dtype.name: _facts_of(dtype) for dtype in ALL if dtype.is_floating}
_SHORT = {dtype.name for dtype in ALL if dtype.is_floating and not dtype.has_64_bits}


def _needs_exponent(kind: str, finite: list[float], suppress: bool) -> bool:
    sizes = [abs(x) for x in finite if x != 0]
    if not sizes:
        return False
    limits, least, most = _FLOATS[kind], min(sizes), max(sizes)
    if most >= limits.largest:
        return True
    return not suppress and (least < limits.smallest or most / least > limits.ratio)


def _aligned(kind: str, finite: list[float], options: PrintOptions) -> list[tuple[str, str]]:
    """Return the texts before and after each point; exponents have equal length."""
    form = "e" if _needs_exponent(kind, finite, options.suppress) else "f"
    most = None if options.floatmode == "unique" else options.precision
    if options.floatmode == "fixed":
        numbers = [_digits(x, form, options.precision) for x in finite]
    else:
        numbers = [_shortest(kind, x, form, most) for x in finite]
        if form == "e" or options.floatmode == "maxprec_equal":
            decimals = max((len(tail.rstrip("0")) for _, tail, _ in numbers), default=0)
            # Digits beyond the shortest ones that identify x come from its exact value, not zeros.
            numbers = [
                number if len(number[1]) == decimals else _digits(x, form, decimals)
                for x, number in zip(finite, numbers, strict=True)
            ]
        else:
            numbers = [(head, tail.rstrip("0"), power) for head, tail, power in numbers]
    if form == "f":
        return [(head, tail) for head, tail, _ in numbers]
    size = max(len(power) for _, _, power in numbers)
    return [(head, f"{tail}e{power.zfill(size)}") for head, tail, power in numbers]


_Number = tuple[str, str, str]
"""The digits of a number before and after the point, and the signed exponent or ""."""


def _digits(x: float, form: str, decimals: int) -> _Number:
    """Return a number with this many digits after the point; `form` is Python's "e" or "f"."""
    mantissa, _, exponent = f"{x:.{decimals}{form}}".partition("e")
    head, _, tail = mantissa.partition(".")
    return head, tail, exponent


def _shortest(kind: str, x: float, form: str, most: int | None) -> _Number:
    """Return a number with the fewest digits that identify it, but at most `most` after the point.

    Zeros at the end that result from rounding up nines are removed, as in NumPy.
    """
    number, power_of_unit = _identifying(_FLOATS[kind], abs(x)) if x else (0, 0)
    digits, exponent = str(number).rstrip("0") or "0", power_of_unit + len(str(number)) - 1
    decimals = len(digits) - 1 - (exponent if form == "f" else 0)
    if most is not None and most < decimals:
        head, tail, power = _digits(x, form, most)
        if tail.endswith("0") and not _digits(x, form, ALL_DIGITS)[1].startswith(tail):
            tail = tail.rstrip("0")
        return head, tail, power
    sign = "-" if math.copysign(1.0, x) < 0 else ""
    if form == "e":
        return sign + digits[0], digits[1:], f"{exponent:+03d}"
    if exponent < 0:
        digits, exponent = "0" * -exponent + digits, 0
    digits = digits.ljust(exponent + 1, "0")
    return sign + digits[: exponent + 1], digits[exponent + 1 :], ""


def in_double(
    kind: str, x: float, most: int | None, least: int | None, *, is_scientific: bool
) -> float:
    """Return a float64 whose shortest digits are those of `x` in its dtype.

    Parameters
    ----------
    most, least
        The maximum and the minimum number of digits after the point.
    """
    form = "e" if is_scientific else "f"
    head, tail, power = _shortest(kind, x, form, most)
    if least is not None and len(tail) < least:
        head, tail, power = _digits(x, form, least)
    return float(f"{head}.{tail or 0}e{power or 0}")


def _scalar_text(kind: str, x: complex) -> str:
    """Return the `str` of a NumPy scalar of float16, float32 or complex64; else Python's `str`."""
    if kind == "complex64":
        real, imag = (
            _scalar_text("float32", component).removesuffix(".0") for component in (x.real, x.imag)
        )
        if x.real == 0 and real == "0":
            return f"{imag}j"
        return f"({real}{'' if imag[0] == '-' else '+'}{imag}j)"
    if kind not in _SHORT:
        return str(x)
    x = x.real
    if not math.isfinite(x):
        return str(x)
    if x == 0 or 1e-4 <= abs(x) < _FLOATS[kind].largest:
        head, tail, _ = _shortest(kind, x, "f", None)
        return f"{head}.{tail or '0'}"
    head, tail, exponent = _shortest(kind, x, "e", None)
    return f"{head}{'.' if tail else ''}{tail}e{exponent}"


# Digits: the shortest decimal that identifies a float.


def _decimal(text: str) -> tuple[int, int]:
    """Return integers d and p of a text that means d * 10**p."""
    mantissa, _, exponent = text.partition("e")
    head, _, fraction = mantissa.partition(".")
    return int(head + fraction), int(exponent or 0) - len(fraction)


def _identifying(form: _Float, x: float) -> tuple[int, int]:
    """Return integers d and p of the shortest d * 10**p that parses as a positive x in the dtype.

    `safe` digits never confuse two normal numbers, so the shortest decimal has at most `safe`
    digits exactly if x rounded to `safe` digits, without trailing zeros, parses as x. Otherwise
    more digits are tried. The nearest decimal may fail although the next larger one succeeds:
    above a power of two, such as 2**87 in float32, the gap is twice the gap below.
    """
    if form is _FLOATS["float64"]:
        return _decimal(repr(x))
    unit = max(math.frexp(x)[1] - form.bits, form.least)
    mantissa = int(math.ldexp(x, -unit))  # x = mantissa * 2**unit
    is_normal = mantissa >= 2 ** (form.bits - 1)
    for decimals in range(form.safe - 1 if is_normal else 0, form.enough - 1):
        text = f"{x:.{decimals}e}"
        nearest, power = _decimal(text)
        if float(text) == x:
            return nearest, power
        for digits in (nearest, nearest + 1):
            if _rounds_to(digits, power, mantissa, unit, form):
                return digits, power
    return _decimal(f"{x:.{form.enough - 1}e}")


def _rounds_to(digits: int, power: int, mantissa: int, unit: int, form: _Float) -> bool:
    """Return whether ``digits * 10**power`` rounds, half to even, to ``mantissa * 2**unit``.

    The comparison uses integers, because float64 would round twice.
    """
    value = digits * 10 ** max(power, 0) << max(2 - unit, 0)
    quarter = 10 ** max(-power, 0) << max(unit - 2, 0)  # a quarter unit, on the scale of `value`
    is_uneven = mantissa == 2 ** (form.bits - 1) and unit > form.least  # a power of two
    below = 1 if is_uneven else 2
    low, high = (4 * mantissa - below) * quarter, (4 * mantissa + 2) * quarter
    return low <= value <= high if mantissa % 2 == 0 else low < value < high


def label_lines(label: str, width: int) -> list[str]:
    """Wrap a kernel's label to a maximum width, breaking after underscores."""
    if len(label) <= width:
        return [label]
    return [line.replace("_ ", "_") for line in wrap(label.replace("_", "_ "), max(1, width))]
