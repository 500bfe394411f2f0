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

from py_tensor.base.dtypes import ALL


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
        for name, words in (
            ("floatmode", ("fixed", "unique", "maxprec", "maxprec_equal")),
            ("sign", ("-", "+", " ")),
            ("legacy", (False,)),
        ):
            if getattr(self, name) not in words:
                known = ", ".join(map(repr, words))
                raise ValueError(
                    f"PrintOptions: {name} must be {known}, not {getattr(self, name)!r}"
                )


DEFAULT_OPTIONS = PrintOptions()


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


def format_tensor(
    shape: tuple[int, ...],
    kind: str,
    values: Sequence[complex],
    *,
    edge: bool,
    prefix: str = "tensor(",
    suffix: str = "",
    options: PrintOptions = DEFAULT_OPTIONS,
) -> str:
    """Return the text of ``repr(tensor)``, in NumPy's format for arrays.

    Parameters
    ----------
    shape
        The shape of the whole tensor.
    kind
        "bool", "int", or the name of a float or complex dtype.
    values
        The elements in row-major order: all of them, or with `edge` those at `edge_indices` of
        every axis. Floats are exactly representable in the dtype that `kind` names.
    edge
        Whether the tensor is summarized, because it has more than ``options.threshold`` elements.
    suffix
        The text after the rows, such as ``, dtype=int32, device='cpu'``. It moves to a line of its
        own if it would exceed the line width.

    Examples
    --------
    >>> print(format_tensor((2, 2), "float32", [1.0, 2.0, 3.0, 4.5], edge=False))
    tensor([[1. , 2. ],
            [3. , 4.5]])
    """
    words = _words(shape, kind, values, edge, options)
    style = _Style(", ", " " * (len(prefix) + 1), options.linewidth - len(")"))
    rows = _rows(words, shape, options.edgeitems if edge else None, style)
    extras = [f"shape={shape}"] if edge or (0 in shape and shape != (0,)) else []
    if suffix:
        extras.append(suffix.removeprefix(", "))
    if not extras:
        return f"{prefix}{rows})"
    text, extra = f"{prefix}{rows},", ", ".join(extras) + ")"
    last_line = text[text.rfind("\n") + 1 :]
    fits = len(last_line) + 1 + len(extra) <= options.linewidth
    return text + (" " if fits else "\n" + " " * len(prefix)) + extra


def format_str(
    shape: tuple[int, ...],
    kind: str,
    values: Sequence[complex],
    *,
    edge: bool,
    options: PrintOptions = DEFAULT_OPTIONS,
) -> str:
    """Return the text of ``str(tensor)``, as in NumPy; parameters as in `format_tensor`.

    >>> format_str((3,), "int", [1, 20, 3], edge=False)
    '[ 1 20  3]'
    """
    if shape == () and values:
        return _scalar_text(kind, values[0])
    return format_rows(shape, kind, values, edge=edge, options=options)


def format_rows(
    shape: tuple[int, ...],
    kind: str,
    values: Sequence[complex],
    *,
    edge: bool,
    separator: str = " ",
    prefix: str = "",
    options: PrintOptions = DEFAULT_OPTIONS,
) -> str:
    """Return the rows, like ``numpy.array2string``; other parameters as in `format_tensor`.

    Parameters
    ----------
    separator
        The separator between elements.
    prefix
        The text that will precede the rows; they are indented by its length.
    """
    words = _words(shape, kind, values, edge, options)
    style = _Style(separator, " " * (len(prefix) + 1), options.linewidth)
    return _rows(words, shape, options.edgeitems if edge else None, style)


# Layout: words to nested rows.


class _Style(NamedTuple):
    separator: str
    indent: str  # the indent of continuation lines, including the width of the opening bracket
    width: int

    def inner(self) -> _Style:
        """Return the style one bracket level deeper."""
        return self._replace(indent=self.indent + " ", width=self.width - 1)


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
        parts = (words[i : i + step] for i in range(0, len(words), step))
        items = [
            _rows(values_of_row, shape[1:], edgeitems, style.inner()) for values_of_row in parts
        ]
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


def _words(
    shape: tuple[int, ...], kind: str, values: Sequence[complex], edge: bool, options: PrintOptions
) -> list[str]:
    kept = [min(n, 2 * options.edgeitems) for n in shape] if edge else shape
    if len(values) != math.prod(kept):
        shown = "the edges of shape" if edge else "shape"
        raise ValueError(f"{shown} {shape} has {math.prod(kept)} values, got {len(values)}")
    function = _formatter(kind, options.formatter)
    if function is not None:
        return [function(x) for x in values]
    if kind == "bool":
        return [("True" if not shape else " True") if x else "False" for x in values]
    if kind == "int":
        return _int_words([int(x.real) for x in values], options.sign)
    if kind in _LIMITS:
        return _float_words(kind, [x.real for x in values], options, options.sign)
    if kind in _PARTS:
        return _complex_words(_PARTS[kind], values, options)
    raise ValueError(f"kind must be 'bool', 'int' or a floating dtype's name, not {kind!r}")


_PARTS = {"complex64": "float32", "complex128": "float64"}


def _formatter(
    kind: str, formatters: Mapping[str, Callable[[Any], str]] | None
) -> Callable[[Any], str] | None:
    """Return the function of the option `formatter` for elements of a kind, or None."""
    long_name = "complexfloat" if kind in _PARTS else "float" if kind in _LIMITS else kind
    names = (long_name, f"{long_name.removesuffix('float') or long_name}_kind", "all")
    return next(
        (f for name in names if formatters and (f := formatters.get(name)) is not None), None
    )


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
    unique = options.floatmode != "fixed"
    most = None if options.floatmode == "unique" else options.precision
    if _needs_exponent(kind, finite, options.suppress):
        parts = _all_scientific(kind, finite, most, unique)
    else:
        parts = [_positional(kind, x, most, unique) for x in finite]
        if options.floatmode == "maxprec_equal":
            decimals = max((len(tail.rstrip("0")) for _, tail in parts), default=0)
            parts = [
                pair if len(pair[1]) == decimals else _positional(kind, x, decimals, unique=False)
                for x, pair in zip(finite, parts, strict=True)
            ]
        elif unique:
            parts = [(head, tail.rstrip("0")) for head, tail in parts]
    if sign == "+":
        parts = [(head if head[0] == "-" else f"+{head}", tail) for head, tail in parts]
    left = max((len(head) for head, _ in parts), default=0)
    right = max((len(tail) for _, tail in parts), default=0)
    left += sign == " " and all(head[0] != "-" for head, _ in parts)
    if len(finite) < len(values):
        room = right + len(".")
        signed = sign != "-" or -math.inf in values
        left = max(left, len(options.nanstr) - room, len(options.infstr) + signed - room)
    plus = "+" if sign == "+" else ""
    numbers = iter([f"{head:>{left}}.{tail:<{right}}" for head, tail in parts])
    width = left + len(".") + right
    return [
        next(numbers) if math.isfinite(x) else f"{_special(x, options, plus):>{width}}"
        for x in values
    ]


def _special(x: float, options: PrintOptions, plus: str) -> str:
    if math.isnan(x):
        return plus + options.nanstr
    return ("-" if x < 0 else plus) + options.infstr


_SHORT = [dtype for dtype in ALL if dtype.is_floating and not dtype.has_64_bits]


class _Limits(NamedTuple):
    """Limits beyond which exponents are used, in float64; NumPy compares in the array's dtype."""

    largest: float
    smallest: float
    ratio: float


_LIMITS = {
    # The second limit is 0.0001 in the dtype, the third the largest quotient that rounds to 1000.
    **{
        dtype.name: _Limits(
            10.0 ** max(3, int((dtype.digits - 1) * math.log10(2))),
            dtype.rounded(0.0001),
            1000.0 + 2.0 ** (9 - dtype.digits),
        )
        for dtype in _SHORT
    },
    "float64": _Limits(1e8, 0.0001, 1000.0),
}


def _needs_exponent(kind: str, finite: list[float], suppress: bool) -> bool:
    sizes = [abs(x) for x in finite if x != 0]
    if not sizes:
        return False
    limits, least, most = _LIMITS[kind], min(sizes), max(sizes)
    if most >= limits.largest:
        return True
    return not suppress and (least < limits.smallest or most / least > limits.ratio)


def _positional(kind: str, x: float, most: int | None, unique: bool = True) -> tuple[str, str]:
    """Return the digits before and after the decimal point.

    Parameters
    ----------
    most
        The maximum number of digits after the point.
    unique
        Whether to print the shortest digits that identify `x`; else `most` digits are printed.
    """
    if not unique:
        head, _, tail = f"{x:.{most}f}".partition(".")
        return head, tail
    digits, exponent = _shortest(kind, abs(x))
    if most is not None and most < len(digits) - 1 - exponent:
        head, _, tail = f"{x:.{most}f}".partition(".")
        return head, _without_carried(x, head, tail)
    if exponent < 0:
        digits, exponent = "0" * -exponent + digits, 0
    digits = digits.ljust(exponent + 1, "0")
    return _sign(x) + digits[: exponent + 1], digits[exponent + 1 :]


def _without_carried(x: float, head: str, tail: str, power: int = 0) -> str:
    """Remove trailing zeros of `tail` that result from rounding up nines, as in NumPy.

    Zeros result from it if ``head.tail * 10**power`` is greater than `x`.
    """
    if not tail.endswith("0"):
        return tail
    numerator, denominator = abs(x).as_integer_ratio()
    scale = power - len(tail)
    shown = int(head.lstrip("-") + tail) * 10 ** max(scale, 0) * denominator
    exact = numerator * 10 ** max(-scale, 0)
    return tail.rstrip("0") if shown > exact else tail


class _Scientific(NamedTuple):
    head: str
    fraction: str
    exponent: str  # signed, two digits or more


def _scientific(kind: str, x: float, most: int | None, unique: bool = True) -> _Scientific:
    """Return the parts of a number with an exponent; parameters as in `_positional`."""
    decimals, digits, exponent = most or 0, "", 0
    if unique:
        digits, exponent = _shortest(kind, abs(x))
        shortest = len(digits) - 1
        decimals = shortest if most is None else min(shortest, most)
        if decimals == shortest:
            return _Scientific(_sign(x) + digits[0], digits[1:], f"{exponent:+03d}")
    mantissa, _, power = f"{x:.{decimals}e}".partition("e")
    head, _, fraction = mantissa.partition(".")
    if unique:
        fraction = _without_carried(x, head, fraction, int(power))
    return _Scientific(head, fraction, power)


def _all_scientific(
    kind: str, finite: list[float], most: int | None, unique: bool
) -> list[tuple[str, str]]:
    """Return the parts before and after each point; fractions and exponents have equal length."""
    numbers = [_scientific(kind, x, most, unique) for x in finite]
    if unique:
        decimals = max(len(number.fraction.rstrip("0")) for number in numbers)
        # Digits beyond the shortest ones that identify x come from its exact value, not zeros.
        numbers = [
            number
            if len(number.fraction) == decimals
            else _scientific(kind, x, decimals, unique=False)
            for x, number in zip(finite, numbers, strict=True)
        ]
    size = max(len(number.exponent) for number in numbers)
    return [(n.head, f"{n.fraction}e{n.exponent.zfill(size)}") for n in numbers]


def in_double(
    kind: str, x: float, most: int | None, least: int | None, *, is_scientific: bool
) -> float:
    """Return a float64 whose shortest digits are those of `x` in its dtype.

    Parameters
    ----------
    most, least
        The maximum and the minimum number of digits after the point.
    """

    def parts(most: int | None, *, unique: bool) -> tuple[str, str, str]:
        if is_scientific:
            return _scientific(kind, x, most, unique)
        return (*_positional(kind, x, most, unique), "0")

    head, fraction, exponent = parts(most, unique=True)
    if least is not None and len(fraction) < least:
        head, fraction, exponent = parts(least, unique=False)
    return float(f"{head}.{fraction or 0}e{exponent}")


def _scalar_text(kind: str, x: complex) -> str:
    """Return the `str` of a NumPy scalar of float16, float32 or complex64; else Python's `str`."""
    if kind == "complex64":
        real, imag = (
            _scalar_text("float32", component).removesuffix(".0") for component in (x.real, x.imag)
        )
        if x.real == 0 and real == "0":
            return f"{imag}j"
        return f"({real}{'' if imag[0] == '-' else '+'}{imag}j)"
    if kind not in FORMATS:
        return str(x)
    x = x.real
    if not math.isfinite(x):
        return str(x)
    if x == 0 or 1e-4 <= abs(x) < _LIMITS[kind].largest:
        head, tail = _positional(kind, x, None)
        return f"{head}.{tail or '0'}"
    head, fraction, exponent = _scientific(kind, x, None)
    return f"{head}{'.' if fraction else ''}{fraction}e{exponent}"


def _sign(x: float) -> str:
    return "-" if math.copysign(1.0, x) < 0 else ""


# Digits: the shortest decimal that identifies a float.


def _shortest(kind: str, x: float) -> tuple[str, int]:
    """Return digits d0 d1 ... and exponent e of the shortest d0.d1... * 10**e that rounds to x.

    x is not negative.
    """
    if x == 0:
        return "0", 0
    digits, power = _shortest_in(FORMATS[kind], x) if kind in FORMATS else _decimal(repr(x))
    return str(digits).rstrip("0"), power + len(str(digits)) - 1


def _decimal(text: str) -> tuple[int, int]:
    """Return integers d and p of a text that means d * 10**p."""
    mantissa, _, exponent = text.partition("e")
    head, _, fraction = mantissa.partition(".")
    return int(head + fraction), int(exponent or 0) - len(fraction)


class _Format(NamedTuple):
    """A floating type of fewer than 64 bits."""

    bits: int  # bits of a mantissa, including the leading one
    least: int  # exponent of the smallest subnormal
    safe: int  # decimal digits that never confuse two normal numbers
    enough: int  # decimal digits that always suffice


FORMATS = {
    dtype.name: _Format(
        dtype.digits,
        dtype.exponent - dtype.digits + 1,
        int((dtype.digits - 1) * math.log10(2)),
        math.ceil(1 + dtype.digits * math.log10(2)),
    )
    for dtype in _SHORT
}


def _shortest_in(form: _Format, x: float) -> tuple[int, int]:
    """Return integers d and p of the shortest d * 10**p that parses as x in the dtype.

    `safe` digits never confuse two normal numbers, so the shortest decimal has at most `safe`
    digits exactly if x rounded to `safe` digits, without trailing zeros, parses as x. Otherwise
    more digits are tried. The nearest decimal may fail although the next larger one succeeds:
    above a power of two, such as 2**87 in float32, the gap is twice the gap below.
    """
    unit = max(math.frexp(x)[1] - form.bits, form.least)
    mantissa = int(math.ldexp(x, -unit))  # x = mantissa * 2**unit
    is_normal = mantissa >= 2 ** (form.bits - 1)
    for decimals in range(form.safe - 1 if is_normal else 0, form.enough - 1):
        nearest, power = _decimal(f"{x:.{decimals}e}")
        for digits in (nearest, nearest + 1):
            if _rounds_to(digits, power, mantissa, unit, form):
                return digits, power
    return _decimal(f"{x:.{form.enough - 1}e}")


def _rounds_to(digits: int, power: int, mantissa: int, unit: int, form: _Format) -> bool:
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
