"""Random calls of the public functions, as text that both NumPy and the library can evaluate.

`CALLS` has templates of calls for each function. `Holes` fills their placeholders, in braces, with
arrays of random shapes, dtypes and layouts, and with axes and options, most of them valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Choose = Callable[[Sequence[Any]], Any]
"""Chooses one of several values: `random.Random.choice`, or a draw of Hypothesis."""

FLOATS = [0.0, -0.0, 0.25, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.5, 3.0, -4.0]
SPECIAL = [*FLOATS, float("nan"), float("inf"), float("-inf")]
NUMBERS: dict[str, list[Any]] = {
    "float32": FLOATS,
    "int32": [*range(-5, 6)],
    "uint32": [*range(6)],
    "int8": [*range(-5, 6)],
    "uint8": [*range(6)],
    "bool": [False, True],
}
DTYPES = ["float32", "float32", "float32", "int32", "int32", "bool", "uint8", "int8"]
SIZES = [0, 1, 1, 2, 2, 3, 3, 4, 5]
MAX_AXES = 3


class Holes:
    """Fills placeholders; those after an array fit it.

    Attributes
    ----------
    shape : tuple of int
        The shape of the array made last by `{x}` or a similar placeholder.
    """

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.shape: tuple[int, ...] = ()

    def __getitem__(self, name: str) -> str:
        return getattr(self, f"_{name}")()

    def often(self, likely: T, *others: T) -> T:
        """Return an option, usually the first one."""
        return self.choose([likely] * 4 + list(others))

    # Arrays -----------------------------------------------------------------------------------

    def literal(self, shape: tuple[int, ...], dtype: str, numbers: Sequence[Any] = ()) -> str:
        """Return an array, sometimes a view of another."""
        layout = self.often("", "T", "flip", "step") if shape and 0 not in shape else ""
        made = shape[::-1] if layout == "T" else shape
        if layout == "step":
            made = (2 * shape[0], *shape[1:])
        values = [self.choose(numbers or NUMBERS[dtype]) for _ in range(math.prod(made))]
        flat = f"np.asarray({values}, dtype=np.{dtype})"
        text = flat if len(made) == 1 else f"{flat}.reshape({made})"
        view = {"T": ".T", "flip": "[::-1]", "step": "[::2]"}
        return text + view.get(layout, "")

    def array(self, axes: Sequence[int], dtypes: Sequence[str], numbers: Any = ()) -> str:
        sizes = [n for n in SIZES if n or self.choose([False, True])]
        self.shape = tuple(self.choose(sizes) for _ in range(self.choose(axes)))
        return self.literal(self.shape, self.choose(dtypes), numbers)

    def _x(self) -> str:
        return self.array([0, 1, 1, 2, 2, 3], DTYPES)

    def _f(self) -> str:
        return self.array([0, 1, 1, 2, 2, 3], ["float32"])

    def _s(self) -> str:
        """Return an array with NaN and infinities."""
        return self.array([0, 1, 2], ["float32"], SPECIAL)

    def _i(self) -> str:
        return self.array([0, 1, 1, 2], ["int32"])

    def _m(self) -> str:
        return self.array([2, 2, 3], ["float32", "int32"])

    def _v(self) -> str:
        return self.array([1], ["float32", "int32"])

    def _nonempty(self) -> str:
        self.shape = tuple(self.choose([1, 2, 3, 4]) for _ in range(self.choose([1, 2])))
        return self.literal(self.shape, "float32")

    def _vectors(self) -> str:
        """Return vectors of three elements; NumPy 2.5 has no cross product of two."""
        self.shape = (*self.choose([(), (1,), (2,), (3, 1)]), self.often(3, 4))
        return self.literal(self.shape, "float32")

    def _some(self) -> str:
        self.shape = tuple(self.choose([1, 2, 3, 4]) for _ in range(self.choose([0, 1, 2, 3])))
        return self.literal(self.shape, "float32")

    def _coefficients(self) -> str:
        self.shape = (self.choose([1, 2, 3, 4]),)
        return self.literal(self.shape, "float32")

    def _some_counts(self) -> str:
        self.shape = (self.choose([1, 2, 3, 4]),)
        return self.literal(self.shape, "int32", [0, 1, 2, 3])

    def _edges(self) -> str:
        return str([self.choose([-3.0, -2.5]), self.choose([0.0, 0.5]), 2.0, 2.25])

    def _counts(self) -> str:
        return self.array([1], ["int32"], [0, 1, 2, 3])

    def _rising(self) -> str:
        start, step, n = self.choose(FLOATS), self.choose([0.25, 0.5, 1]), self.choose([1, 2, 4])
        self.shape = (n,)
        return f"np.asarray({[start + k * step for k in range(n)]}, dtype=np.float32)"

    def _same(self) -> str:
        """Return an array of the last one's shape."""
        return self.literal(self.shape, self.choose(["float32", "int32"]))

    def _mask(self) -> str:
        return self.literal(self.shape, "bool")

    def _beside(self) -> str:
        """An array that broadcasts with the last one, or a number; sometimes one that does not."""
        kind = self.choose(["array", "array", "array", "int", "float", "wrong"])
        if kind in ("int", "float"):
            return repr(self.choose([0, 1, 2, 3]) if kind == "int" else self.choose(FLOATS))
        shape = [n if self.choose([True, True, False]) else 1 for n in self.shape]
        shape = shape[self.choose([0, 0, len(shape) // 2]) :]
        if kind == "wrong":
            shape = [*shape, self.choose([2, 3])]
        return self.literal(tuple(shape), self.choose(DTYPES))

    def _square(self) -> str:
        """Invertible matrices."""
        n, batch = self.choose([1, 2, 3]), self.choose([(), (), (2,)])
        self.shape = (*batch, n, n)
        whole = self.literal(self.shape, "float32", [-0.5, -0.25, 0.0, 0.25, 0.5])
        return f"({whole} + 3 * np.eye({n}, dtype=np.float32))"

    def _square2(self) -> str:
        """Return one such matrix."""
        n = self.choose([1, 2, 3])
        self.shape = (n, n)
        whole = self.literal(self.shape, "float32", [-0.5, -0.25, 0.0, 0.25, 0.5])
        return f"({whole} + 3 * np.eye({n}, dtype=np.float32))"

    def _positive(self) -> str:
        """Return a symmetric matrix with distinct positive eigenvalues."""
        n = self.choose([1, 2, 3])
        self.shape = (n, n)
        rows = [[float((k + 1) * 2) if k == j else 0.5 for j in range(n)] for k in range(n)]
        return f"np.asarray({rows}, dtype=np.float32)"

    def _rows(self) -> str:
        """Return an array with as many rows as the last one, or one more axis."""
        return self.literal((self.shape[-1], self.choose([1, 2])), "float32")

    def _right(self) -> str:
        """Return a right operand of a product."""
        inner = self.shape[-1] if self.shape else 2
        inner = self.often(inner, inner + 1)
        return self.literal(self.choose([(inner,), (inner, 2), (2, inner, 1)]), "float32")

    # Axes and options -------------------------------------------------------------------------

    def _axis(self) -> str:
        n = len(self.shape)
        valid = [*range(-n, n)] if n else [-1, 0]  # NumPy's reductions take these for 0-d arrays
        return str(self.choose(valid * 3 + [max(n, 1), -max(n, 1) - 1]))

    def _axis_or_none(self) -> str:
        return self.choose(["None", self._axis()])

    def _axes(self) -> str:
        n = len(self.shape)
        pair = (0, n - 1) if n > 1 else tuple(range(n))
        return self.choose(["None", self._axis(), self._axis(), str(pair)])

    def _order(self) -> str:
        left, order = [*range(len(self.shape))], []
        while left:
            order.append(left.pop(self.choose([*range(len(left))])))
        return str(tuple(order)) if order or self.choose([True, False]) else "(0,)"

    def _flag(self) -> str:
        return str(self.choose([False, True]))

    def _n(self) -> str:
        return str(self.choose([-2, -1, 0, 1, 2, 3]))

    def _k(self) -> str:
        return str(self.choose([0, 1, 2, 3]))

    def _ddof(self) -> str:
        return str(self.choose([0, 0, 1]))

    def _number(self) -> str:
        return repr(self.choose([0, 1, -2, 0.5, 3]))

    def _dtype(self) -> str:
        """A dtype, but not unsigned: converting a negative float depends on the processor."""
        return "np." + self.choose(["float32", "int32", "int16", "bool"])

    def _target(self) -> str:
        """Return a shape, usually of as many elements."""
        size = math.prod(self.shape)
        choices = [(size,), (1, size), (-1,), (size, 1, 1), self.shape[::-1], (2, -1), (size + 1,)]
        return str(self.choose(choices))

    def _wider(self) -> str:
        """Return a shape, usually one to which the last array broadcasts."""
        shape = tuple(self.choose([2, 3]) if n == 1 else n for n in self.shape)
        return str(self.choose([shape, (2, *shape), (*shape, 2)]))

    def _sizes(self) -> str:
        return str(tuple(self.choose([0, 1, 2, 3]) for _ in range(self.choose([0, 1, 2]))))

    def _places(self) -> str:
        """Return indices along the first axis of the last array; sometimes one is out of range."""
        n = self.shape[0] if self.shape else 1
        known = [*range(-n, n)]
        values = [self.choose(known * 8 + [n]) for _ in range(self.choose([1, 2, 3]))]
        return f"np.asarray({values}, dtype=np.int32)"

    def _sections(self) -> str:
        return self.choose(["1", "2", "3", "[1]", "[0, 2]", "[1, 7]"])

    def _widths(self) -> str:
        n = len(self.shape)
        each = [tuple(self.choose([0, 1, 2]) for _ in range(2)) for _ in range(n)]
        return self.choose(["1", "(1, 2)", str(tuple(each) or 0)])

    def _mode(self) -> str:
        statistics = ["maximum", "mean", "median", "minimum", "linear_ramp"]
        return repr(self.choose(["constant", "edge", "reflect", "symmetric", "wrap", *statistics]))

    def _side(self) -> str:
        return repr(self.choose(["left", "right"]))

    def _share(self) -> str:
        return self.choose(["0", "0.25", "0.5", "[0.1, 0.9]", "1", "1.5"])

    def _method(self) -> str:
        steps = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation"]
        between = ["linear", "lower", "higher", "nearest", "midpoint", "hazen"]
        return repr(self.choose([*between, *steps]))

    def _full(self) -> str:
        return repr(self.choose(["full", "same", "valid"]))

    def _index(self) -> str:
        """Return a basic index, or one by an array or a mask."""
        items = [
            self.choose([":", "::-1", "1:", ":2", "::2", "...", "None", "0", "-1", "[0, -1]"])
            for _ in range(self.choose([1, 1, 2, 3]))
        ]
        return ", ".join(items) if self.choose([True] * 4 + [False]) else self._mask()


def _each(names: str, *forms: str) -> dict[str, list[str]]:
    """Return the same forms for several functions, with `@` for the name."""
    return {name: [form.replace("@(", f"np.{name}(") for form in forms] for name in names.split()}


FORMS = [
    _each(
        "abs absolute ceil floor trunc positive negative sign fabs rint fix sinc radians"
        " degrees deg2rad rad2deg exp exp2 expm1 sin cos tan sinh cosh tanh arctan atan arcsinh"
        " asinh cbrt isnan isinf isfinite isneginf isposinf signbit logical_not real"
        " imag iscomplex isreal log log2 log10 log1p sqrt arcsin asin arccos acos arccosh acosh"
        " arctanh atanh spacing modf",
        "@({s})",
        "@({x})",
    ),
    _each("frexp", "@(np.nan_to_num({s}))", "@({i})"),  # C leaves other exponents unspecified
    _each("square conj conjugate", "@({s})", "@({i})"),
    _each("reciprocal", "@({s})"),
    _each("i0", "@({f})"),
    _each("nan_to_num", "@({s})", "@({s}, nan={number}, posinf=7)"),
    _each("bitwise_count bitwise_invert bitwise_not invert", "@({i})"),
    _each("angle", "@({f})", "@({f}, deg={flag})"),
    _each("round around", "@({f}, {n})", "@({i}, {n})", "@({s})"),
    _each(
        "add subtract multiply maximum minimum fmax fmin equal not_equal less less_equal greater"
        " greater_equal logical_and logical_or logical_xor copysign heaviside hypot arctan2 atan2"
        " logaddexp logaddexp2 divide true_divide",
        "@({x}, {beside})",
        "@({s}, {beside})",
    ),
    _each("floor_divide remainder mod fmod divmod", "@({f}, {beside})", "@({i}, {beside})"),
    _each("power pow float_power", "@(np.abs({f}) + 1, {beside})"),
    _each("nextafter", "@({s}, {number})", "@({f}, 0.0)"),
    _each("ldexp", "@({f}, {beside})", "@({f}, {n})"),
    _each(
        "bitwise_and bitwise_or bitwise_xor gcd lcm",
        "@({i}, {beside})",
        "@({x}, {beside})",
    ),
    _each(
        "left_shift right_shift bitwise_left_shift bitwise_right_shift", "@({i}, np.abs({same}))"
    ),
    _each("isclose allclose", "@({s}, {beside})", "@({s}, {beside}, equal_nan={flag})"),
    _each("array_equal array_equiv", "@({x}, {same})", "@({x}, {beside})"),
    _each("clip", "@({x}, {number}, {number})", "@({x}, {beside}, None)", "@({f}, None, {k})"),
    _each("where", "@({mask}, {x}, {beside})", "@({x} > 0, {beside}, {k})", "@({x})"),
    _each(
        "sum prod max min amax amin any all mean count_nonzero ptp",
        "@({x}, axis={axes}, keepdims={flag})",
        "@({x})",
    ),
    # NumPy's median of an empty array over several axes fails in a reshape to (0, -1).
    _each(
        "median",
        "@({some}, axis={axes}, keepdims={flag})",
        "@({x}, axis={axis_or_none}, keepdims={flag})",
        "@({x})",
    ),
    _each("sum prod mean", "@({x}, axis={axes}, dtype=np.float32)", "@({x}, axis={axes})"),
    _each("max min", "@({f}, axis={axes}, initial={k})", "@({s}, axis={axes})"),
    _each("var std", "@({x}, axis={axes}, ddof={ddof}, keepdims={flag})"),
    _each(
        "nansum nanprod nanmax nanmin nanmean nanmedian",
        "@({s}, axis={axes}, keepdims={flag})",
        "@({x})",
    ),
    _each("nanvar nanstd", "@({s}, axis={axes}, ddof={ddof})"),
    _each("argmax argmin", "@({x}, axis={axis_or_none}, keepdims={flag})", "@({s})"),
    _each("nanargmax nanargmin", "@({f}, axis={axis_or_none})"),
    _each("cumsum cumprod", "@({x}, axis={axis_or_none})", "@({x}, {axis}, dtype=np.float32)"),
    _each("nancumsum nancumprod", "@({s}, axis={axis_or_none})"),
    _each(
        "cumulative_sum cumulative_prod", "@({x}, axis={axis}, include_initial={flag})", "@({v})"
    ),
    _each("quantile nanquantile", "@({some}, {share}, axis={axes}, method={method})"),
    _each("percentile nanpercentile", "@({some}, 30, axis={axes}, keepdims={flag})"),
    _each(
        "average",
        "@({some}, axis={axis_or_none})",
        "@({some}, weights=np.abs({same}) + 1, returned=True)",
    ),
    _each("sort", "@({x}, axis={axis_or_none})", "@({s}, {axis})"),
    _each("argsort", "@({x}, axis={axis_or_none}, kind='stable')"),
    _each("partition", "@({nonempty}, 0)[..., 0]", "@({nonempty}, 0, axis=None)[0]"),
    _each("lexsort", "@(({m}, {same}))", "@(({m}, {same}), axis=0)"),
    _each(
        "unique",
        "@({x})",
        "@({i}, return_index=True, return_counts=True)",
        "@({x}, axis={axis})",
        "@({s}, return_inverse=True, return_counts=True)",
        "@({s}, axis={axis}, return_counts=True, equal_nan={flag})",
    ),
    _each("unique_counts unique_inverse unique_all", "tuple(@({x}))"),
    _each("unique_values", "np.sort(@({x}))"),
    _each("union1d intersect1d setdiff1d setxor1d", "@({i}, {same})", "@({x}, {x})"),
    _each("isin", "@({x}, {same})", "@({x}, {beside}, invert={flag})"),
    _each("searchsorted", "@({rising}, {x}, side={side})"),
    _each("digitize", "@({f}, {rising}, right={flag})"),
    _each("interp", "@({f}, {rising}, {same})", "@({f}, {rising}, {same}, left={number})"),
    _each("nonzero argwhere flatnonzero", "@({x})"),
    _each("bincount", "@({counts}, minlength={k})", "@({some_counts}, weights={same})", "@({i})"),
    _each("histogram", "@({v}, 'sturges')", "@({f}, bins={edges})", "@({f}, 4, range=(-3, 3))"),
    _each("histogram_bin_edges", "@({f}, 4)", "@({f}, 3, range=(0, 2))"),
    _each("histogram2d", "@({v}, {same}, bins=3, range=[[-3, 3], [-3, 3]])"),
    _each("diff", "@({x}, n={k})", "@({x}, axis={axis})", "@({f}, axis={axis}, prepend={number})"),
    _each("ediff1d", "@({f})", "@({f}, to_end={number})"),
    _each("gradient", "@({f})", "@({f}, 0.5, axis={axis})"),
    _each("trapezoid", "@({f}, dx=0.5, axis={axis})", "@({f}, {same})"),
    _each("cov corrcoef", "@({nonempty})", "@({nonempty}, {same})"),
    _each("convolve correlate", "@({v}, {v}, {full})"),
    _each("matmul", "@({m}, {right})", "{m} @ {right}", "@({v}, {same})"),
    _each("dot inner", "@({x}, {right})", "@({x}, {same})", "@({x}, {number})"),
    _each("outer kron", "@({x}, {same})", "@({f}, {i})"),
    _each("vdot", "@({x}, {same})"),
    _each("vecdot", "@({f}, {same}, axis={axis})", "@({f}, {beside})"),
    _each("matvec", "@({m}, {same}[..., 0, :])"),
    _each("vecmat", "@({m}[..., :, 0], {same})"),
    _each("tensordot", "@({f}, {same}, axes={k})", "@({m}, {same}, axes=([0], [0]))"),
    _each("einsum", "@('ij,ij->i', {m}, {same})", "@('...i->...', {f})", "@('i,i', {v}, {same})"),
    _each("cross", "@({vectors}, {same})"),
    _each("trace", "@({m}, offset={n})", "@({m}, 0, 0, 1)"),
    _each("reshape", "@({x}, {target})"),
    _each("ravel", "@({x})", "@({x}, 'F')"),
    _each("transpose permute_dims", "@({x}, {order})", "@({x})"),
    _each("matrix_transpose", "@({x})"),
    _each("swapaxes moveaxis rollaxis", "@({x}, {axis}, {axis})"),
    _each("expand_dims", "@({x}, {axis})"),
    _each("squeeze", "@({x})", "@({x}, axis={axis})"),
    _each("broadcast_to", "@({x}, {wider})"),
    _each("broadcast_arrays", "@({x}, {beside})"),
    _each("flip", "@({x}, axis={axes})"),
    _each("fliplr flipud", "@({x})"),
    _each("rot90", "@({x}, {n})"),
    _each("roll", "@({x}, {n}, axis={axis_or_none})", "@({x}, (1, {n}), axis=(0, {axis}))"),
    _each("tile", "@({x}, {k})", "@({x}, {sizes})"),
    _each("repeat", "@({x}, {k}, axis={axis_or_none})"),
    _each("resize", "@({x}, {sizes})"),
    _each("concat concatenate", "@([{x}, {same}], axis={axis})", "@([{x}, {x}])"),
    _each("stack", "@([{x}, {same}], axis={axis})"),
    _each("vstack hstack dstack column_stack", "@([{x}, {same}])", "@([{x}, {x}])"),
    _each("block", "@([{x}, {same}])", "@([[{m}], [{same}]])"),
    _each("append", "@({x}, {same}, axis={axis_or_none})", "@({x}, {number})"),
    _each("delete", "@({x}, {n}, axis={axis_or_none})", "@({x}, {places}, 0)"),
    _each("insert", "@({x}, {n}, {number}, axis={axis_or_none})"),
    _each("split array_split", "@({x}, {sections}, axis={axis})"),
    _each("hsplit vsplit dsplit", "@({x}, {sections})"),
    _each("unstack", "@({x}, axis={axis})"),
    _each("atleast_1d atleast_2d atleast_3d", "@({x})", "@({x}, {x})"),
    _each("pad", "@({x}, {widths})", "@({f}, {widths}, mode={mode})"),
    _each("take", "@({m}, {places}, axis={axis_or_none})", "@({v}, {places}, axis=0)"),
    _each("take_along_axis", "@({x}, np.argsort({same}, axis={axis}, kind='stable'), {axis})"),
    _each("compress", "@({mask}, {v})", "@([True, False], {x}, axis={axis_or_none})"),
    _each("extract", "@({mask}, {x})", "@({x}, {same})"),
    _each("choose", "@(np.abs({i}) % 2, [{same}, {same}])"),
    _each("select", "@([{x} > 0, {mask}], [{same}, {same}], default={number})"),
    _each("piecewise", "@({f}, [{mask}], [{number}, 2])"),
    _each("tril triu", "@({x}, {n})"),
    _each("diag", "@({v}, {n})", "@({m}, {n})"),
    _each("diagflat", "@({x}, {n})"),
    _each("diagonal", "@({m}, {n})", "@({x}, 0, {axis}, {axis})"),
    _each("vander", "@({v}, {k}, increasing={flag})"),
    _each("zeros ones", "@({sizes})", "@({sizes}, dtype={dtype})"),
    _each("full", "@({sizes}, {number})", "@({sizes}, {k}, dtype={dtype})"),
    _each("zeros_like ones_like", "@({x})", "@({x}, dtype={dtype})"),
    _each("full_like", "@({x}, {k})", "@({x}, {k}, dtype={dtype})"),
    _each("empty", "@({sizes}).shape"),
    _each("empty_like", "@({x}).shape"),
    _each("eye", "@({k}, {k}, {n})", "@({k}, dtype={dtype})"),
    _each("identity", "@({k})"),
    _each("tri", "@({k}, {k}, {n})"),
    _each("arange", "@({n}, {k})", "@({k})", "@({n}, 3, 0.5)", "@(3, {n}, {n})"),
    _each("linspace", "@({n}, {k}, {k}, endpoint={flag})", "@(0, 1, {n})"),
    _each("logspace", "@({n}, {k}, {k})"),
    _each("geomspace", "@(1, {k}, 3)", "@(0.5, 8, {k})"),
    _each("meshgrid", "@({v}, {v}, indexing='ij')", "@({v}, {v}, sparse={flag})"),
    _each("indices", "@({sizes})"),
    _each("ix_", "@({counts}, {counts})"),
    _each("tril_indices triu_indices", "@({k}, {n}, {k})"),
    _each("tril_indices_from triu_indices_from", "@({x}, {n})"),
    _each("diag_indices", "@({k})"),
    _each("unravel_index", "@(np.abs({i}), (2, 3))"),
    _each("ravel_multi_index", "@((np.abs({i}) % 2, np.abs({same}.astype(np.int32)) % 3), (2, 3))"),
    _each("fromfunction", "@(lambda i, j: i - 2 * j, ({k}, {k}))"),
    _each("apply_along_axis", "@(lambda v: v.sum(), {axis}, {m})"),
    _each("apply_over_axes", "@(np.sum, {m}, [0, 1])"),
    _each("asarray array asanyarray ascontiguousarray", "@({x})", "@({x}, dtype={dtype})"),
    _each("copy", "@({x})"),
    _each("astype", "@({x}, {dtype})"),
    _each("asarray_chkfinite", "@({s})", "@({x})"),
    _each("asfortranarray require", "@({m})"),
    _each("diag_indices_from", "@({square2})", "@({x})"),
    _each("mask_indices", "@({k}, np.triu, {n})"),
    _each("packbits", "@({x} > 0)", "@({x} > 0, axis={axis}, bitorder='little')"),
    _each("unpackbits", "@(np.abs({i}).astype(np.uint8))"),
    _each("real_if_close sort_complex trim_zeros", "@({v})"),
    _each("unwrap", "@({v})", "@({f}, axis={axis})"),
    _each("histogramdd", "@([{v}, {same}], bins=2, range=[(-3, 3), (-3, 3)])"),
    _each("linalg.tensorinv", "@({square2}, ind=1)"),
    _each("linalg.tensorsolve", "@({square2}, {rows}[:, 0])"),
    _each("argpartition", "@({nonempty}, 0).shape"),
    _each("polydiv", "@({coefficients}, [2.0, 1.0])"),
    _each("isscalar iscomplexobj isrealobj isfortran iterable", "@({x})"),
    _each("broadcast_shapes", "@({sizes}, {sizes})"),
    _each("can_cast", "@({dtype}, {dtype})"),
    _each("isdtype", "@({dtype}, 'integral')", "@({dtype}, ('bool', 'real floating'))"),
    _each("fromiter", "@([1, 2, {k}], dtype={dtype})"),
    _each("ndindex", "list(@({sizes}))"),
    _each("ndenumerate", "[k for k, _ in @({x})]"),
    _each("ndim shape size", "@({x})"),
    _each("hamming hanning blackman bartlett", "@({k})"),
    _each("kaiser", "@({k}, 3.0)"),
    _each("poly roots", "@({nonempty})"),
    _each("polyval", "@({v}, {x})"),
    _each("polyadd polysub polymul", "@({coefficients}, {coefficients})"),
    _each("polyder polyint", "@({coefficients})"),
    _each("linalg.inv linalg.det linalg.slogdet", "@({square})"),
    _each("linalg.pinv", "@({square})"),
    _each("linalg.cond", "@({square})"),
    _each("linalg.solve", "@({square}, {rows})"),
    _each("linalg.cholesky linalg.eigvalsh", "@({positive})"),
    _each("linalg.svdvals", "@({square})"),
    _each("linalg.matrix_rank", "@({square})"),
    _each("linalg.matrix_power", "@({square}, {n})"),
    _each("linalg.norm", "@({f}, axis={axis_or_none}, keepdims={flag})", "@({square}, 1)"),
    _each("linalg.vector_norm", "@({f}, axis={axes}, ord={k}, keepdims={flag})"),
    _each("linalg.matrix_norm", "@({square}, keepdims={flag})"),
    _each("linalg.multi_dot", "@([{positive}, {rows}, {right}])"),
    _each("linalg.diagonal linalg.trace", "@({m}, offset={n})"),
    _each("linalg.eigh", "@({positive})[0]"),
    _each("linalg.qr", "np.abs(@({square})[1])"),
    _each("linalg.svd", "@({square})[1]"),
    _each("linalg.eigvals linalg.eig", "np.sort(np.real(np.atleast_1d(@({positive})[0])))"),
    _each("linalg.lstsq", "@({square2}, {rows})[0]"),
    _each("linalg.outer", "@({v}, {v})"),
    _each("linalg.matmul", "@({m}, {right})"),
    _each("linalg.cross", "@({nonempty}, {same})"),
    _each("linalg.vecdot", "@({f}, {same})"),
    _each("linalg.tensordot", "@({f}, {same}, axes={k})"),
    _each("linalg.matrix_transpose", "@({x})"),
    _each("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft", "@({f}, axis={axis})"),
    _each("fft.fft fft.ifft fft.rfft", "@({f}, {k}, {axis})", "@({f}, norm='ortho')"),
    _each("fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2", "@({m})"),
    _each("fft.fftn fft.ifftn fft.rfftn fft.irfftn", "@({m})", "@({m}, axes=(0, {axis}))"),
    _each("fft.fftfreq fft.rfftfreq", "@({k})", "@({k}, 0.5)"),
    _each("fft.fftshift fft.ifftshift", "@({m})", "@({x}, axes={axis})"),
    _each("copyto", "[x := {x}, @(x, {beside}, where={mask}), x][2]"),
    _each("put", "[x := {x}, @(x, {places}, {same}), x][2]", "[x := {x}, @(x, {n}, {k}), x][2]"),
    _each(
        "put_along_axis",
        "[x := {f}, @(x, np.argsort({same}, axis={axis}, kind='stable'), {beside}, {axis}), x][2]",
    ),
    _each("putmask", "[x := {x}, @(x, {mask}, {same}.astype(x.dtype)), x][2]"),
    _each("place", "[x := {x}, @(x, {mask}, {v}.astype(x.dtype)), x][2]"),
    _each("fill_diagonal", "[x := {m}, @(x, {number}, wrap={flag}), x][2]"),
    _each(
        "shares_memory may_share_memory",
        "[x := {x}, @(x[{index}], x[{index}])][1]",
        "[x := {x}, @(x, x.reshape({target}))][1]",
    ),
    _each("array_str array2string", "@({x})", "@({s})"),
    _each("base_repr", "@({n}, {k})", "@(100 * {n} - 3, 7, padding={k})"),
    _each("binary_repr", "@({n})", "@(30 * {n} + 1, width={k})", "@({n}, 9)"),
    _each(
        "format_float_positional format_float_scientific",
        "@({number} / 7, precision={k})",
        "@({number} * 1e5, precision={k}, unique={flag}, trim='-')",
    ),
    _each(
        "emath.sqrt emath.log emath.log2 emath.log10 emath.arccos emath.arcsin emath.arctanh",
        "@({f})",
    ),
    _each("emath.power", "@({f}, {k})", "@({f}, 0.5)"),
    _each("emath.logn", "@({k} + 2, {f})"),
    {
        f"polynomial.{module}.{short}{form}": [
            call.replace("@(", f"np.polynomial.{module}.{short}{form}(") for call in calls
        ]
        for module, short in (
            *(("polynomial", "poly"), ("chebyshev", "cheb"), ("legendre", "leg")),
            *(("hermite", "herm"), ("hermite_e", "herme"), ("laguerre", "lag")),
        )
        for form, calls in {
            "val": ["@({v}, {coefficients})", "@({f}, {coefficients})"],
            "val2d": ["@({v}, {same}, {square2})"],
            "add": ["@({coefficients}, {coefficients})"],
            "sub": ["@({coefficients}, {coefficients})"],
            "mul": ["@({coefficients}, {coefficients})"],
            "der": ["@({coefficients}, {k})"],
            "int": ["@({coefficients} + 5, {k})"],  # NumPy gives one coefficient for [0]
            "vander": ["@({v}, {k})"],
            "line": ["@({number}, {k})"],
        }.items()
    },
    {
        "an index": ["{x}[{index}]"],
        "operators": [
            "{x} + {beside}",
            "{x} * {beside}",
            "{x} - {beside}",
            "{f} / {beside}",
            "-{x}",
        ],
        "comparisons": ["{x} < {beside}", "{s} == {beside}", "{s} >= {beside}", "{x} != {beside}"],
        "methods": [
            "{x}.sum({axes})",
            "{x}.reshape({target})",
            "{x}.astype({dtype})",
            "{x}.max({axis})",
            "{x}.cumsum({axis})",
            "{x}.repeat({k})",
            "{x}.clip({n}, {k})",
            "{f}.round({n})",
            "{x}.flatten()",
            "{x}.tolist()",
            "{x}.mean({axes}, keepdims={flag})",
            "{x}.prod({axes})",
            "{x}.any({axes}), {same}.all({axes})",
            "{x}.argmax({axis}), {same}.argmin({axis})",
            "{f}.var({axes}, ddof={ddof}), {same}.std({axes})",
            "{x}.argsort({axis}, kind='stable')",
            "{x}.nonzero()",
            "{x}.take({places}, {axis_or_none})",
            "{x}.compress({mask}.ravel(), {axis_or_none})",
            "{rising}.searchsorted({x}, {side})",
            "{m}.diagonal({n}), {same}.trace({n})",
            "{x}.swapaxes({axis}, {axis})",
            "{x}.squeeze(), {same}.T, {same}.transpose({order})",
            "{x}.dot({right})",
            "{f}.real, {same}.imag, {same}.conj()",
            "{x}.item({n})",
            "{x}.choose([{beside}, {same}])",
            "{x}.flat[{n}], {same}.flat[::2]",
            "{x}.byteswap().byteswap()",
            "{f}.view(np.int32), {same}.astype(np.float32).tobytes().hex()",
            "{x}.itemsize, {same}.size, {same}.ndim",
        ],
        "methods that write": [
            "[x := {x}, x.fill({k}), x][2]",
            "[x := {x}, x.sort({axis}), x][2]",
            "[x := {x}, x.put({places}, {k}, mode='wrap'), x][2]",
            "[x := {f}, x.flat.__setitem__({n}, {number}), x][2]",
            "[x := {x}, x.__setitem__({n}, {k}), x][2]",
            "[x := {x}, x.__setitem__(..., {beside}), x][2]",
            "[x := {f}, x.__iadd__({beside}), x][2]",
            "[x := {i}, x.__imul__({k}), x][2]",
            "[x := {i}, x.__ifloordiv__({beside}), x][2]",
            "[x := {x}, x.byteswap(True).byteswap(True), x][2]",
            "[x := {x}, x[::2].fill({k}), x.T[..., :1].fill({k}), x][3]",
        ],
        "ufunc methods": [
            "np.add.reduce({x}, axis={axes})",
            "np.maximum.accumulate({f}, axis={axis})",
            "np.multiply.outer({f}, {same})",
            "np.add.reduceat({v}, [0, {k}, 1])",
            "np.minimum.reduce({f}, axis={axis}, keepdims={flag}, initial={k})",
            "np.add.reduce({x}, axis={axes}, where={mask})",
            "np.multiply.accumulate({i})",
            "[x := {f}, np.add.at(x, {places}, {beside}), x][2]",
            "[x := {i}, np.maximum.at(x, {places}, {k}), x][2]",
            "np.divmod(x := {f}, {k}, out=(np.zeros_like(x), np.zeros_like(x)))",
            "np.modf(x := {f}, out=(np.zeros_like(x), None), where={mask})[0]",
            "np.subtract({f}, {beside}, where={mask}, out=np.zeros({sizes}, dtype=np.float32))",
        ],
    },
]
CALLS: dict[str, list[str]] = {}
for _forms in FORMS:
    for _name, _texts in _forms.items():
        CALLS.setdefault(_name, []).extend(_texts)


ELSEWHERE = {
    "about dtypes, not values": "as_strided common_type issubdtype min_scalar_type mintypecode"
    " promote_types result_type typename from_dlpack",
    "no function of NumPy's main modules": "crop div erf expand flatten fused_multiply_add ge gt le"
    " lt eq ne mul sub layer_norm log_softmax softmax sigmoid relu permute unsqueeze tensor trapz"
    " sliding_window_view",
    "files and text": "frombuffer fromfile fromstring genfromtxt load loadtxt save savetxt savez"
    " savez_compressed array_repr",
    "no tensor, or NumPy's no longer": "einsum_path row_stack",
    "random": "rand randn randint manual_seed",
    "the coefficients of a fit": "polyfit",
    "transforms": "checkpoint grad hessian hvp jacfwd jacrev jvp stop_gradient value_and_grad vjp"
    " vmap",
    "charts": "bar contour hist plot scatter",
    "settings, devices and pictures": "debug default_device device_info display empty_cache explain"
    " geterr imread imshow init kernel memory_info profile realize set_default_device"
    " set_default_dtype get_default_dtype show_config"
    " set_printoptions get_printoptions printoptions getbufsize setbufsize geterrcall seterrcall"
    " seterr synchronize synchronize_async tune tuning",
}
"""Functions without calls here, which have other tests."""


def call(name: str, choose: Choose) -> str:
    """Return a random call of a function, as text."""
    return choose(CALLS[name]).format_map(Holes(choose))
