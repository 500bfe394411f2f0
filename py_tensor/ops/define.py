"""Definition of ops: one assignment defines the function, the method, the node and its meaning.

    exp = unary("exp", FLOATING, "exp_{t}({0})", lambda np, x: np.exp(x), vjp=..., doc="...")

The functions record their op by recipes (`record.py`).
"""

from __future__ import annotations

import inspect
import math
import operator as python_operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from py_tensor.base import dtypes
from py_tensor.base.dtypes import Accepts, DType
from py_tensor.base.errors import DTypeError, check_option, check_order
from py_tensor.base.shapes import broadcast
from py_tensor.ir.bind import Recipes, follow
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
from py_tensor.ops.out import SAME_KIND, Out, assign_result, check_kind, stored, stored_both
from py_tensor.ops.record import Recorded, apply, filled, recipe_of
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


def with_options(
    name: str,
    record: Callable[..., Any],
    *,
    nin: int,
    accepts: Accepts,
    doc: str | None,
    op: Elementwise | None = None,
    recipes: Recipes[Meta, Recorded | None] | None = None,
    ulp: float | None = None,
    method: bool = False,
    nout: int = 1,
    is_uniform: bool = True,
    operator: str | None = None,
) -> Any:
    """Return the public function that calls `record` on one or two operands, with NumPy's options.

    Parameters
    ----------
    op
        The op of the result, if it is one op.
    recipes
        The recipes of the op for one tensor, which then replace `record`.
    is_uniform
        Whether all operands have one dtype, and all results. Otherwise `dtype` is that of the first
        operand.
    """
    gives = dtypes.bool_ if accepts is dtypes.LOGICAL else op.gives if op else None
    options = _Options(name, accepts, record, gives, nout, is_uniform)
    function = _of_two(options) if nin == 2 else _of_one(options, recipes)
    if nout == 2:
        function.__defaults__ = ((None, None),)  # that of `out`
    function.__name__ = function.__qualname__ = name
    loop = Loop(accepts, op.result if op else same_dtype) if is_uniform else None
    count_operands(function, nin, nout, loop)
    function.__doc__ = inspect.cleandoc(doc or "")
    if ulp is not None:
        said = f"Within {ulp:g} ulp" if ulp > EXACT else "Correctly rounded"
        function.__doc__ += f"\n\n{said} in float32."
    named = {} if operator is None else {"operator": f"__{operator}__"}
    register(function, op, method=method, ulp=ulp, **named)
    return function


def _mapping(wgsl: str | Mapping[str, str]) -> Mapping[str, str]:
    return {"*": wgsl} if isinstance(wgsl, str) else wgsl


def _numpys(name: str, nin: int) -> Callable[..., Any]:
    """Return NumPy's function of a name as the implementation of an op."""

    def of_one(np: Any, x: Any) -> Any:
        return getattr(np, name)(x)

    def of_two(np: Any, x: Any, y: Any) -> Any:
        return getattr(np, name)(x, y)

    return of_one if nin == 1 else of_two


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


@dataclass(frozen=True, slots=True)
class _Options:
    """What a function needs for NumPy's options; `record` computes without them."""

    name: str
    accepts: Accepts
    record: Callable[..., Any]
    gives: DType | Callable[[DType], DType] | None
    nout: int
    is_uniform: bool

    def compute(
        self,
        operands: tuple[Operand, ...],
        out: Out,
        where: Operand,
        casting: str,
        order: str,
        dtype: object,
        signature: object,
    ) -> Any:
        if dtype is not None or casting is not SAME_KIND or signature is not None or order != "K":
            count = len(operands) if self.is_uniform else 1
            converted = self.in_dtype(operands[:count], dtype, casting, signature, order)
            operands = (*converted, *operands[count:])
        result = self.record(*operands)
        if self.nout == 2:
            return stored_both(self.name, result, out, where, casting)
        return stored(self.name, result, out, where, casting)

    def in_dtype(
        self,
        operands: Sequence[Operand],
        dtype: object,
        casting: str,
        signature: object,
        order: object,
    ) -> Sequence[Operand]:
        """Return the operands in the requested dtype, which is the result's if that is bool.

        Python numbers beside other operands are weak.

        Raises
        ------
        DTypeError
            If the op does not compute in the dtype, or `casting` does not allow the conversion.
        """
        if isinstance(self.gives, DType) and dtype is not None:
            if dtypes.parse(dtype) is not self.gives:
                raise DTypeError(f"{self.name}: returns {self.gives}, not {dtype}")
            dtype = None
        check_options(self.name, self.accepts, operands, dtype, casting, signature, order)
        if dtype is None:
            return operands
        target = dtypes.parse(dtype)
        are_numbers = all(isinstance(x, Scalar) for x in operands)

        def is_weak(x: Operand) -> bool:
            return isinstance(x, Scalar) and dtypes.is_of_kind(dtypes.of_scalar(x), target)

        return [
            x if is_weak(x) and not are_numbers else in_dtype(self.name, x, target)
            for x in operands
        ]


def _no_recipe(meta: Meta) -> None:
    return None


def _of_one(options: _Options, known: Recipes[Meta, Recorded | None] | None) -> Any:
    """Return a function of one operand; `known` are the recipes of its op, if it has one."""
    record = options.record
    recipes = Recipes[Meta, Recorded | None](_no_recipe) if known is None else known

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
        is_plain = dtype is None and casting is SAME_KIND and signature is None and order == "K"
        if not (is_plain and out is None and where is True):
            return options.compute((x,), out, where, casting, order, dtype, signature)
        if type(x) is Tensor:
            node = x._node  # pyright: ignore[reportPrivateUsage]
            recipe = recipes[node.meta]
            if recipe is not None:
                (steps,), make, _ = recipe
                if steps:
                    node = follow(node, steps)
                return Tensor(make((node,)))
        return record(x)

    return function


def _of_two(options: _Options) -> Any:
    """Return a function of two operands."""
    record = options.record

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
        is_plain = dtype is None and casting is SAME_KIND and signature is None and order == "K"
        if not (is_plain and out is None and where is True):
            return options.compute((x1, x2), out, where, casting, order, dtype, signature)
        return record(x1, x2)

    return function


def unary(
    name: str,
    accepts: Accepts,
    wgsl: str | Mapping[str, str] | None = None,
    numpy: OnArray | None = None,
    *,
    vjp: UnaryVjp | NotDifferentiable,
    doc: str,
    result: DType | Callable[[DType], DType] | None = None,
    ulp: float = EXACT,
    cost: int = 1,
    method: bool = True,
) -> Unary:
    """Define an elementwise op of one operand, whose error in float32 is at most `ulp`.

    By default its WGSL calls the function ``{name}_{type}``, and `numpy` is NumPy's function of
    that name.
    """
    op = Elementwise(
        name,
        _mapping(wgsl or f"{name}_{{t}}({{0}})"),
        numpy or _numpys(name, 1),
        accepts,
        result,
        vjp=vjp,
        cost=cost,
    )
    return unary_of(op, doc=doc, ulp=ulp, method=method)


def unary_of(op: Elementwise, *, doc: str, ulp: float = EXACT, method: bool = True) -> Unary:
    """Create the public function of an existing op of one operand, like `unary`."""

    def record(x: Operand) -> Tensor:
        return apply(op, (x,))

    def made(meta: Meta) -> Recorded | None:
        return recipe_of(op, meta)

    return with_options(
        op.name, record, nin=1, accepts=op.accepts, op=op, doc=doc, ulp=_if_float(op, ulp),
        method=method, recipes=Recipes(made),
    )  # fmt: skip


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
    wgsl: str | Mapping[str, str] | None = None,
    numpy: OnArrays | None = None,
    *,
    vjp: BinaryVjp | NotDifferentiable,
    doc: str,
    result: DType | Callable[[DType], DType] | None = None,
    ulp: float = EXACT,
    cost: int = 1,
    operator: str | None = None,
) -> Binary:
    """Define an elementwise op of two operands, whose error in float32 is at most `ulp`.

    `operator` also defines the methods ``__{operator}__`` and ``__r{operator}__``. The defaults are
    those of `unary`.
    """
    op = Elementwise(
        name,
        _mapping(wgsl or f"{name}_{{t}}({{0}}, {{1}})"),
        numpy or _numpys(name, 2),
        accepts,
        result,
        vjp=vjp,
        cost=cost,
    )
    return binary_of(op, doc=doc, ulp=ulp, operator=operator)


def comparison(
    name: str,
    operator: str,
    accepts: Accepts,
    wgsl: Mapping[str, str],
    *,
    doc: str,
) -> Binary:
    """Define an elementwise comparison, and its method ``__{operator}__``.

    Integers are compared exactly with Python numbers: an integer outside the tensor's dtype is
    below or above all its values, and a float lies between two integers.
    """
    decide = _deciding(operator)
    op = Elementwise(
        name, wgsl, _numpys(name, 2), accepts, dtypes.bool_, decide=decide, vjp=NOT_DIFFERENTIABLE
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

    def made(*kinds: Any) -> Recorded | None:
        return None if op.decide is not None and _are_unlike(*kinds) else recipe_of(op, *kinds)

    # By the metas of tensors; `int` or `float` stands for a number.
    recipes = Recipes[tuple[Any, Any], Recorded | None](made)

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
                        (first, second), make, _ = recipe
                        if first:
                            a = follow(a, first)
                        if second:
                            b = follow(b, second)
                        return Tensor(make((a, b)))
                elif kind is int or isinstance(y, float):  # includes NumPy's float64
                    kind = kind if kind is int else float
                    recipe = recipes[a.meta, kind]
                    if recipe is not None:
                        (steps, _), make, (low, high, convert, make_number) = recipe
                        if kind is float or low <= y <= high:
                            if steps:
                                a = follow(a, steps)
                            return Tensor(make((a, make_number(convert(y), ()))))
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
                recipe = recipes[kind, a.meta]
                if recipe is not None:
                    (_, steps), make, (low, high, convert, make_number) = recipe
                    if kind is float or low <= y <= high:
                        if steps:
                            a = follow(a, steps)
                        return Tensor(make((make_number(convert(y), ()), a)))
            return other(x, y)

        return function

    plain = recording(record or any_operands)
    if operator is not None:
        _install_operator(operator, plain, recording, reflected)
    return with_options(
        op.name, plain, nin=2, accepts=op.accepts, op=op, doc=doc, ulp=_if_float(op, ulp),
        operator=operator,
    )  # fmt: skip


def _are_unlike(x: Any, y: Any) -> bool:
    """Return whether operands are not converted to be compared: integers of two kinds, or floats.

    Each is the meta of a tensor, or the type of a number.
    """
    if type(x) is Meta and type(y) is Meta:
        return dtypes.have_no_common(x.dtype, y.dtype)
    meta, kind = (x, y) if type(x) is Meta else (y, x)
    return kind is float and not meta.dtype.is_inexact


def composed(
    accepts: Accepts, *, ulp: float | None = EXACT, nout: int = 1, is_uniform: bool = True
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that defines an elementwise function as a composition of others.

    The decorated function takes one or two tensors of one dtype that broadcast. The result has its
    name and docstring, and NumPy's options.
    """

    def decorate(compose: Callable[..., Any]) -> Any:
        name = compose.__name__

        def record(*operands: Operand) -> Any:
            coerced = coerce(name, operands)
            shape = broadcast(name, *(x.shape for x in coerced if isinstance(x, Tensor)))
            target, device = accepts.check(name, common_dtype(name, coerced)), device_of(coerced)
            device.check(name, meta_of((), target, device))
            return compose(*(Tensor(lift(name, x, shape, target, device)) for x in coerced))

        return with_options(
            name, record, nin=compose.__code__.co_argcount, accepts=accepts,
            doc=compose.__doc__, ulp=ulp, nout=nout, is_uniform=is_uniform,
        )  # fmt: skip

    return decorate


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
