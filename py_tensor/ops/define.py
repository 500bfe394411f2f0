"""Definition of ops: one assignment defines the function, the method, the node and its meaning.

    exp = unary("exp", FLOATING, "exp_{t}({0})", lambda np, x: np.exp(x), vjp=..., doc="...")

The functions record their op by recipes (`record.py`).
"""

from __future__ import annotations

import inspect
import math
import operator as python_operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from py_tensor.base import dtypes
from py_tensor.base.dtypes import Accepts, DType
from py_tensor.base.errors import DTypeError, check_option, check_order
from py_tensor.base.shapes import broadcast
from py_tensor.ir.bind import Maker, Recipes, Step, ValueMaker, follow
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Meta, NotDifferentiable, Op, meta_of
from py_tensor.ir.op import Elementwise
from py_tensor.ops.operands import (
    Operand,
    Scalar,
    coerce,
    common_dtype,
    device_of,
    goes_first,
    in_dtype,
    lift,
    number_like,
    takes,
    takes_numbers,
)
from py_tensor.ops.out import SAME_KIND, Out, assign_result, check_kind, stored
from py_tensor.ops.record import apply, filled, recipe_of
from py_tensor.tensors.tensor import Tensor, install

# The types of defined functions.
Unary = Callable[..., Tensor]
Binary = Callable[..., Tensor]


# The callables in definitions: numpy(np, *arrays), and vjp(g, y, *operands, None), which returns a
# gradient or None for each operand.
OnArray = Callable[[Any, Any], Any]
OnArrays = Callable[[Any, Any, Any], Any]
UnaryVjp = Callable[[Tensor, Tensor, Tensor, None], tuple[Tensor | None]]
BinaryVjp = Callable[[Tensor, Tensor, Tensor, Tensor, None], tuple[Tensor | None, Tensor | None]]


_IDENTITIES: dict[str, Scalar] = {
    **dict.fromkeys(("add", "bitwise_or", "bitwise_xor", "gcd", "hypot"), 0),
    **dict.fromkeys(("logical_or", "logical_xor"), False),
    "bitwise_and": -1, "logaddexp": -math.inf, "logaddexp2": -math.inf, "logical_and": True,
    "multiply": 1,
}  # fmt: skip
EXACT = 0.5
"""The error in ulp of an exact or correctly rounded result."""


# The steps of a tensor, the maker of the result, and the fields of `Number` for the number beside
# it. It is flat because unpacking it once is faster than reading attributes.
WithNumber = tuple[tuple[Step, ...], Maker, int, int, Callable[[Any], Scalar], ValueMaker]


def register(
    function: Any, op: Op | None = None, *, method: bool = True, **known: float | str | None
) -> None:
    """Give a public function the op that it records, and install it as a method.

    An elementwise function gets the attributes `ulp`, the largest error of a float32 result (None
    without a bound), which the docstring and the page's reference state and the tests check; and
    `operator`, the name of the method of its Python operator.
    """
    if op is not None:
        function.op = op
    for key, value in known.items():
        setattr(function, key, value)
    if method:
        install(function.__name__, function)


def same_dtype(dtype: DType) -> DType:
    return dtype


class Loop(NamedTuple):
    """The dtypes in which an elementwise function computes, and the result dtype for each."""

    accepts: Accepts
    result: Callable[[DType], DType]

    def types(self, nin: int, nout: int) -> list[str]:
        """Return the signatures without conversions, in NumPy's type characters."""
        signatures: list[str] = []
        for dtype in dtypes.ALL:
            is_native = self.accepts.takes(dtype) and self.accepts.compute(dtype) is dtype
            if dtype.is_numpys and is_native:
                operand, result = dtype.character, self.result(dtype).character
                signatures.append(f"{operand * nin}->{result * nout}")
        return signatures


LOOPS: dict[str, Loop] = {}
"""The loops of elementwise functions whose operands have one dtype, by name."""
UFUNCS: list[Any] = []
"""Elementwise functions whose methods are not installed yet; `ufuncs` installs them."""


def count_operands(
    function: Any, nin: int, nout: int = 1, loop: Loop | None = None, signature: str | None = None
) -> None:
    """Give an elementwise function the attributes of NumPy's ufuncs, so that it is a `ufunc`."""
    function.nin, function.nout, function.nargs = nin, nout, nin + nout
    function.identity = _IDENTITIES.get(function.__name__)
    function.signature = signature
    if loop is not None:
        LOOPS[function.__name__] = loop
        function.types = loop.types(nin, nout)
        function.ntypes = len(function.types)
    UFUNCS.append(function)
    for complete in ON_UFUNC:
        complete()


ON_UFUNC: list[Callable[[], None]] = []
"""Callbacks for new entries of `UFUNCS`."""


def _finish(
    function: Any,
    name: str,
    doc: str,
    nin: int,
    op: Op | None = None,
    *,
    accepts: Accepts | None = None,
    ulp: float | None = None,
    method: bool = False,
) -> Any:
    """Name, document and register a public function made by a definition."""
    function.__name__ = function.__qualname__ = name
    loop = None if accepts is None else Loop(accepts, same_dtype)
    if isinstance(op, Elementwise) and not op.leading:
        loop = Loop(op.accepts, op.result)
    count_operands(function, nin, loop=loop)
    function.__doc__ = inspect.cleandoc(doc)
    if ulp is not None:
        said = f"Within {ulp:g} ulp" if ulp > EXACT else "Correctly rounded"
        function.__doc__ += f"\n\n{said} in float32."
    register(function, op, method=method, ulp=ulp)
    return function


def _mapping(wgsl: str | Mapping[str, str]) -> Mapping[str, str]:
    return {"*": wgsl} if isinstance(wgsl, str) else wgsl


def check_options(
    op: str,
    accepts: Accepts,
    operands: Sequence[Operand],
    dtype: object,
    casting: str,
    signature: object,
    order: object,
) -> None:
    """Check options of NumPy's elementwise functions that do not change the result.

    `subok` is not checked, because results are always tensors.

    Raises
    ------
    TypeError
        If `signature` is passed; use `dtype` instead.
    DTypeError
        If `casting` does not allow an operand to be converted to the dtype of the computation.
    ValueError
        If `casting` or `order` is unknown.
    """
    if signature is not None:
        raise TypeError(f"{op}: signature is not supported; use dtype")
    check_option(op, "casting", casting, dtypes.CASTINGS)
    check_order(op, order)
    coerced = coerce(op, operands)
    if dtype is not None:
        target = dtypes.parse(dtype)
        accepts.check_converted(op, target)
    elif casting == SAME_KIND:
        return
    else:
        target = accepts.check(op, common_dtype(op, coerced))
    for x in coerced:
        if isinstance(x, Tensor):
            dtypes.check_cast(op, x.dtype, target, casting)
        elif casting != "unsafe":  # a Python number: only its kind matters
            number_dtype = dtypes.of_scalar(x)
            number_dtype = target if number_dtype.is_signed and target.is_unsigned else number_dtype
            check_kind(op, number_dtype, target, "casting='unsafe' allows it")


def _in_requested_dtype(
    op: Elementwise,
    operands: Sequence[Operand],
    dtype: object,
    casting: str,
    signature: object,
    order: object,
) -> Sequence[Operand]:
    """Return the operands in the requested dtype, which is the result's if that is bool.

    Raises
    ------
    DTypeError
        If the op does not compute in the dtype, or `casting` does not allow the conversion.
    """
    gives = dtypes.bool_ if op.accepts is dtypes.LOGICAL else op.gives
    if isinstance(gives, DType) and dtype is not None:
        if dtypes.parse(dtype) is not gives:
            raise DTypeError(f"{op.name}: returns {gives}, not {dtype}")
        dtype = None
    check_options(op.name, op.accepts, operands, dtype, casting, signature, order)
    return operands if dtype is None else [in_dtype(op.name, x, dtype) for x in operands]


def unary(
    name: str,
    accepts: Accepts,
    wgsl: str | Mapping[str, str],
    numpy: OnArray,
    *,
    vjp: UnaryVjp | NotDifferentiable,
    doc: str,
    result: DType | Callable[[DType], DType] | None = None,
    ulp: float = EXACT,
    cost: int = 1,
    method: bool = True,
) -> Unary:
    """Define an elementwise op of one operand, whose error in float32 is at most `ulp`."""
    op = Elementwise(name, _mapping(wgsl), numpy, accepts, result, vjp=vjp, cost=cost)
    return unary_of(op, doc=doc, ulp=ulp, method=method)


def unary_of(op: Elementwise, *, doc: str, ulp: float = EXACT, method: bool = True) -> Unary:
    """Create the public function of an existing op of one operand, like `unary`."""

    def made(meta: Meta) -> tuple[tuple[Step, ...], Maker] | None:
        recorded = recipe_of(op, meta)
        return None if recorded is None else (recorded.before[0], recorded.make)

    recipes = Recipes[Meta, tuple[tuple[Step, ...], Maker] | None](made)

    def function(
        x: Operand,
        /,
        out: Out = None,
        *,
        where: Operand = True,
        casting: str = SAME_KIND,
        order: str = "K",
        dtype: object = None,
        subok: bool = True,
        signature: None = None,
    ) -> Tensor:
        if casting is not SAME_KIND or signature is not None or order != "K":
            (x,) = _in_requested_dtype(op, (x,), dtype, casting, signature, order)
            return stored(op.name, function(x), out, where, casting)
        if out is not None or where is not True or dtype is not None:
            if dtype is not None:
                (x,) = _in_requested_dtype(op, (x,), dtype, casting, signature, order)
            return stored(op.name, function(x), out, where)
        if type(x) is Tensor:
            node = x._node  # pyright: ignore[reportPrivateUsage]
            recipe = recipes[node.meta]
            if recipe is not None:
                steps, make = recipe
                if steps:
                    node = follow(node, steps)
                return Tensor(make((node,)))
        return apply(op, (x,))

    return _finish(function, op.name, doc, 1, op, ulp=_if_float(op, ulp), method=method)


def _if_float(op: Elementwise, ulp: float) -> float | None:
    """Return the error of an op with float32 results, else None."""
    return (
        ulp
        if op.accepts.takes(dtypes.float32)
        and op.result(op.accepts.compute(dtypes.float32)).is_floating
        else None
    )


def binary(
    name: str,
    accepts: Accepts,
    wgsl: str | Mapping[str, str],
    numpy: OnArrays,
    *,
    vjp: BinaryVjp | NotDifferentiable,
    doc: str,
    result: DType | Callable[[DType], DType] | None = None,
    ulp: float = EXACT,
    cost: int = 1,
    operator: str | None = None,
) -> Binary:
    """Define an elementwise op of two operands, whose error in float32 is at most `ulp`.

    `operator` also defines the methods ``__{operator}__`` and ``__r{operator}__``.
    """
    op = Elementwise(name, _mapping(wgsl), numpy, accepts, result, vjp=vjp, cost=cost)
    return binary_of(op, doc=doc, ulp=ulp, operator=operator)


def comparison(
    name: str,
    operator: str,
    accepts: Accepts,
    wgsl: str | Mapping[str, str],
    numpy: OnArrays,
    *,
    doc: str,
) -> Binary:
    """Define an elementwise comparison, and its method ``__{operator}__``.

    Integers are compared exactly with Python numbers: an integer outside the tensor's dtype is
    below or above all its values, and a float lies between two integers.
    """
    decide = _deciding(operator)
    op = Elementwise(
        name, _mapping(wgsl), numpy, accepts, dtypes.bool_, vjp=NOT_DIFFERENTIABLE, decide=decide
    )

    def record(x: Operand, y: Operand) -> Tensor:
        if type(x) is not Tensor and hasattr(x, "dtype"):
            x = _as_exact(x, y)
        elif type(y) is not Tensor and hasattr(y, "dtype"):
            y = _as_exact(y, x)
        first, second = coerce(name, (x, y))
        if isinstance(first, float) and _has_integers(second):
            first = _beside_integers(_MIRRORED[operator], first)
        elif isinstance(second, float) and _has_integers(first):
            second = _beside_integers(operator, second)
        if isinstance(first, Tensor) and isinstance(second, Tensor):
            apart = apart_by_sign(first, second)
            return apply(op, (first, second)) if apart is None else apart
        decided = _decided(decide, first, second)
        return apply(op, (first, second)) if decided is None else decided

    def apart_by_sign(x: Tensor, y: Tensor) -> Tensor | None:
        """Compare uint64 and signed integers by bits and sign; None for other dtypes."""
        if not dtypes.have_no_common(x.dtype, y.dtype):
            return None
        negative: Any = (x if x.dtype.is_signed else y) < 0
        alike = apply(op, [in_dtype(name, v, dtypes.uint64) for v in (x, y)])
        below = decide(-1, 0) if x.dtype.is_signed else decide(0, -1)
        return negative | alike if below else ~negative & alike

    return binary_of(op, doc=doc, operator=operator, record=record)


def _deciding(operator: str) -> Callable[[Any, Any], bool]:
    """Return a comparison of Python numbers; complex ones are in lexicographic order."""
    plain: Callable[[Any, Any], bool] = getattr(python_operator, operator)
    if operator in ("eq", "ne"):
        return plain
    strict = python_operator.lt if operator in ("lt", "le") else python_operator.gt

    def decide(x: Any, y: Any) -> bool:
        if not isinstance(x, complex) and not isinstance(y, complex):
            return plain(x, y)
        if x.real == y.real:
            return plain(x.imag, y.imag)
        return strict(x.real, y.real) and x.imag == x.imag and y.imag == y.imag

    return decide


def _has_integers(x: Tensor | Scalar) -> bool:
    return isinstance(x, Tensor) and not x.dtype.is_inexact


def _as_exact(x: Operand, other: Operand) -> Operand:
    """Return a NumPy integer beside integers as Python's, which is compared exactly with them."""
    number = number_like(x) if isinstance(other, Tensor) and _has_integers(other) else None
    return number if isinstance(number, int) else x


def _beside_integers(operator: str, number: float) -> Scalar:
    """Return the int to compare integers with instead of a float, or the float itself.

    It is the float if all integers compare alike with it: if it is infinite, NaN or equal to none.
    """
    if not math.isfinite(number) or (operator in ("eq", "ne") and number % 1):
        return number
    return math.ceil(number) if operator in ("lt", "ge") else math.floor(number)


def _decided(
    decide: Callable[[Scalar, Scalar], bool], x: Tensor | Scalar, y: Tensor | Scalar
) -> Tensor | None:
    """Return a comparison of integers with a number out of range: one result for all."""
    tensor, scalar = (x, y) if isinstance(x, Tensor) else (y, x)
    if not _has_integers(tensor) or isinstance(scalar, Tensor | complex):
        return None
    assert isinstance(tensor, Tensor)
    dtype = dtypes.numeric(tensor.dtype)
    if isinstance(scalar, int) and dtypes.holds(dtype, scalar):
        return None
    value = decide(0, scalar) if tensor is x else decide(scalar, 0)
    return filled(value, meta_of(tensor.shape, dtypes.bool_, tensor.device))


def binary_of(
    op: Elementwise,
    *,
    doc: str,
    ulp: float = EXACT,
    operator: str | None = None,
    record: Binary | None = None,
) -> Binary:
    """Create the public function of an existing op of two operands, like `binary`.

    `record` replaces `apply` if the operands are not two tensors.
    """

    def made(a: Meta, b: Meta) -> tuple[tuple[Step, ...], tuple[Step, ...], Maker] | None:
        if op.decide is not None and dtypes.have_no_common(a.dtype, b.dtype):
            return None
        recorded = recipe_of(op, a, b)
        if recorded is None:
            return None
        first, second = recorded.before
        return first, second, recorded.make

    def made_with(meta: Meta, kind: type) -> WithNumber | None:
        if op.decide is not None and kind is float and not meta.dtype.is_inexact:
            return None  # integers are not converted to be compared
        recorded = recipe_of(op, meta, kind)
        if recorded is None:
            return None
        low, high, convert, make_number, _ = recorded.number
        return recorded.before[0], recorded.make, low, high, convert, make_number

    recipes = Recipes[tuple[Meta, Meta], tuple[tuple[Step, ...], tuple[Step, ...], Maker] | None](
        made
    )
    with_numbers = Recipes[tuple[Meta, type], WithNumber | None](made_with)

    def any_operands(x: Operand, y: Operand) -> Tensor:
        return apply(op, (x, y))

    def recording(other: Callable[[Any, Any], Any]) -> Binary:
        """Return the op for a tensor with a tensor or number; `other` handles all other operands.

        It is made separately for the function and the operator, because an additional call would
        increase the overhead by a third.
        """

        def function(x: Operand, y: Operand, /) -> Tensor:
            if type(x) is Tensor:
                kind: Any = type(y)  # pyright: ignore[reportUnknownVariableType]
                a = x._node  # pyright: ignore[reportPrivateUsage]
                if kind is Tensor:
                    b = y._node  # pyright: ignore[reportPrivateUsage]
                    recipe = recipes[a.meta, b.meta]
                    if recipe is not None:
                        first, second, make = recipe
                        if first:
                            a = follow(a, first)
                        if second:
                            b = follow(b, second)
                        return Tensor(make((a, b)))
                elif kind is int or isinstance(y, float):  # includes NumPy's float64
                    kind = kind if kind is int else float
                    numbered = with_numbers[a.meta, kind]
                    if numbered is not None:
                        steps, make, low, high, convert, make_number = numbered
                        if kind is float or low <= y <= high:
                            if steps:
                                a = follow(a, steps)
                            number = make_number(convert(y), ())
                            return Tensor(make((a, number)))
            return other(x, y)

        return function

    def reflected(other: Callable[[Any, Any], Any]) -> Binary:
        """Return the op with a number to the left of a tensor; `other` handles all other operands.

        It is written out, like `recording`, to save the overhead of a call.
        """

        def function(x: Tensor, y: Operand, /) -> Tensor:
            kind: Any = type(y)  # pyright: ignore[reportUnknownVariableType]
            if kind is int or isinstance(y, float):
                kind = kind if kind is int else float
                a = x._node  # pyright: ignore[reportPrivateUsage]
                numbered = with_numbers[a.meta, kind]
                if numbered is not None:
                    steps, make, low, high, convert, make_number = numbered
                    if kind is float or low <= y <= high:
                        number = make_number(convert(y), ())
                        if steps:
                            a = follow(a, steps)
                        return Tensor(make((number, a)))
            return other(x, y)

        return function

    plain = recording(record or any_operands)

    def function(
        x1: Operand,
        x2: Operand,
        /,
        out: Out = None,
        *,
        where: Operand = True,
        casting: str = SAME_KIND,
        order: str = "K",
        dtype: object = None,
        subok: bool = True,
        signature: None = None,
    ) -> Tensor:
        if dtype is not None or casting is not SAME_KIND or signature is not None or order != "K":
            x1, x2 = _in_requested_dtype(op, (x1, x2), dtype, casting, signature, order)
        result = plain(x1, x2)
        if out is None and where is True:
            return result
        return stored(op.name, result, out, where, casting)

    finished = _finish(function, op.name, doc, 2, op, ulp=_if_float(op, ulp))
    if operator is not None:
        _install_operator(operator, plain, recording, reflected)
        finished.operator = f"__{operator}__"
    return finished


def _composed(
    name: str,
    accepts: Accepts,
    operands: Sequence[Operand],
    compose: Callable[..., Tensor],
    out: Out,
    where: Operand,
    dtype: object,
    casting: str,
) -> Tensor:
    """Call `compose` on operands in one dtype that broadcast."""
    coerced = coerce(name, operands)
    shape = broadcast(name, *(x.shape for x in coerced if isinstance(x, Tensor)))
    common = common_dtype(name, coerced)
    target = accepts.check(name, common) if dtype is None else dtypes.parse(dtype)
    device = device_of(coerced)
    device.check(name, meta_of((), target, device))
    nodes = [lift(name, x, shape, target, device) for x in coerced]
    return stored(name, compose(*map(Tensor, nodes)), out, where, casting)


def composed_unary(
    name: str,
    accepts: Accepts,
    compose: Callable[[Tensor], Tensor],
    *,
    doc: str,
    ulp: float | None = EXACT,
) -> Unary:
    """Define an elementwise function of one operand as a composition, with NumPy's options."""

    def function(
        x: Operand,
        /,
        out: Out = None,
        *,
        where: Operand = True,
        casting: str = SAME_KIND,
        order: str = "K",
        dtype: object = None,
        subok: bool = True,
        signature: None = None,
    ) -> Tensor:
        check_options(name, accepts, (x,), dtype, casting, signature, order)
        return _composed(name, accepts, (x,), compose, out, where, dtype, casting)

    return _finish(function, name, doc, 1, accepts=accepts, ulp=ulp)


def composed_binary(
    name: str,
    accepts: Accepts,
    compose: Callable[[Tensor, Tensor], Tensor],
    *,
    doc: str,
    ulp: float | None = EXACT,
) -> Binary:
    """Define an elementwise function of two operands as a composition, with NumPy's options."""

    def function(
        x1: Operand,
        x2: Operand,
        /,
        out: Out = None,
        *,
        where: Operand = True,
        casting: str = SAME_KIND,
        order: str = "K",
        dtype: object = None,
        subok: bool = True,
        signature: None = None,
    ) -> Tensor:
        check_options(name, accepts, (x1, x2), dtype, casting, signature, order)
        return _composed(name, accepts, (x1, x2), compose, out, where, dtype, casting)

    return _finish(function, name, doc, 2, accepts=accepts, ulp=ulp)


# The comparison with the operands exchanged.
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_OF_UNLIKE = {"eq": False, "ne": True}  # the comparison with None or text, as in NumPy


def _repeating(multiply: Binary) -> Binary:
    """Return a `*` that repeats a list or tuple if the other operand is a scalar, as in NumPy."""

    def product(x: Operand, y: Operand, /) -> Any:
        for scalar, sequence in ((x, y), (y, x)):
            if isinstance(sequence, list | tuple) and cast(Tensor, scalar).is_scalar:
                return cast(Any, sequence) * python_operator.index(scalar)
        return multiply(x, y)

    return product


def _left_to(other: object, method: str, x: Tensor) -> Any:
    """Read a scalar and call the other operand's operator with the number."""
    reflected = getattr(other, method, None) if x.is_scalar and takes_numbers(other) else None
    return NotImplemented if reflected is None else reflected(x.item())


def _install_operator(
    operator: str,
    function: Binary,
    recording: Callable[[Callable[[Any, Any], Any]], Binary],
    reflected: Callable[[Callable[[Any, Any], Any]], Binary],
) -> None:
    is_comparison = operator in _MIRRORED
    unlike = _OF_UNLIKE.get(operator)
    if operator == "mul":
        function = _repeating(function)

    def mixed(self: Tensor, other: Operand) -> Any:
        if unlike is not None and (other is None or isinstance(other, str | bytes)):
            return filled(unlike, meta_of(self.shape, dtypes.bool_, self.device))
        if takes(other):
            return NotImplemented if goes_first(other) else function(self, other)
        if not is_comparison and isinstance(other, str | bytes):  # `*` would repeat the text
            raise TypeError(f"{operator}: takes numbers and arrays, not {type(other).__name__}")
        return _left_to(other, f"__r{operator}__", self)

    def mirrored(self: Tensor, other: Operand) -> Any:
        if takes(other):
            return function(other, self)
        return _left_to(other, f"__{operator}__", self)

    def in_place(self: Tensor, other: Operand) -> Tensor:
        if not takes(other):
            return NotImplemented
        if not self.is_scalar:
            self._check_writeable(f"i{operator}")  # pyright: ignore[reportPrivateUsage]
        return assign_result(f"i{operator}", self, function(self, other))

    named: list[tuple[str, Any]] = [(f"__{operator}__", recording(mixed))]
    if not is_comparison:
        named += [(f"__r{operator}__", reflected(mirrored)), (f"__i{operator}__", in_place)]
    for name, f in named:
        f.__name__ = name
        install(name, f)
