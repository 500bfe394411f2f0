"""Definition of ops: one decorated function defines the public function, the method and the node.

    @unary(FLOATING, vjp=lambda g, y, x, _: (g * y,), ulp=4)
    def exp(np, x):
        return np.exp(x)

The decorated function is the computation with NumPy; one that takes only the operands, and has no
body, declares that this is NumPy's function of its name. The functions record their op by recipes
(`record.py`).
"""

from __future__ import annotations

import inspect
import math
import operator as python_operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import MethodType
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from py_tensor.base import dtypes
from py_tensor.base.dtypes import Accepts, DType
from py_tensor.base.errors import DTypeError, check_option, check_order
from py_tensor.ir.bind import Recipes, follow
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Derivative, Meta, Op, meta_of
from py_tensor.ir.op import Elementwise, OnArrays
from py_tensor.ops.operands import (
    Operand,
    Scalar,
    coerce,
    common_dtype,
    goes_first,
    in_dtype,
    lifted,
    number_like,
    takes,
    takes_numbers,
)
from py_tensor.ops.out import SAME_KIND, Out, check_kind, store, stored
from py_tensor.ops.record import Recorded, apply, filled, recipe_of
from py_tensor.tensors.tensor import Tensor, install

Binary = Callable[..., Tensor]

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


class Loop(NamedTuple):
    """The dtypes in which an elementwise function computes, and the result dtype for each."""

    accepts: Accepts
    result: Callable[[DType], DType] = lambda dtype: dtype

    def types(self, nin: int, nout: int) -> list[str]:
        """Return the signatures without conversions, in NumPy's type characters."""
        accepted = [d for d in dtypes.ALL if d.is_numpys and self.accepts.takes(d)]
        native = [d for d in accepted if self.accepts.compute(d) is d]
        return [f"{d.character * nin}->{self.result(d).character * nout}" for d in native]


LOOPS: dict[str, Loop] = {}
"""The loops of elementwise functions whose operands have one dtype, by name."""
UFUNCS: list[Any] = []
UFUNC_METHODS: dict[str, Callable[..., Any]] = {}
"""The methods of elementwise functions; `ufuncs`, which needs reductions, defines them."""


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
    give_methods(function)


def give_methods(function: Any) -> None:
    """Give an elementwise function its methods, such as `reduce`, as far as they are defined."""
    for name, method in UFUNC_METHODS.items():
        setattr(function, name, MethodType(method, function))


def with_options(
    name: str,
    record: Callable[..., Any],
    *,
    nin: int,
    accepts: Accepts,
    doc: str | None,
    op: Elementwise | None = None,
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
    is_uniform
        Whether all operands have one dtype, and all results. Otherwise `dtype` is that of the first
        operand.
    """
    gives = dtypes.bool_ if accepts is dtypes.LOGICAL else op.gives if op else None
    function = _taking_options(name, record, accepts, gives, (nin, nout), is_uniform)
    function.__name__ = function.__qualname__ = name
    loop = Loop(accepts, op.result) if op else Loop(accepts)
    count_operands(function, nin, nout, loop if is_uniform else None)
    function.__doc__ = inspect.cleandoc(doc or "")
    if ulp is not None:
        said = f"Within {ulp:g} ulp" if ulp > EXACT else "Correctly rounded"
        function.__doc__ += f"\n\n{said} in float32."
    method_name = {} if operator is None else {"operator": f"__{operator}__"}
    register(function, op, method=method, ulp=ulp, **method_name)
    return function


def _taking_options(
    name: str,
    record: Callable[..., Any],
    accepts: Accepts,
    gives: DType | Callable[[DType], DType] | None,
    counts: tuple[int, int],
    is_uniform: bool,
) -> Any:
    """Return the function for `with_options`; `counts` are the numbers of operands and results."""
    nin, nout = counts
    count = nin if is_uniform else 1  # the operands that `dtype` is for

    def all_options(
        *operands: Operand,
        out: Out = None,
        where: Operand = True,
        casting: str = SAME_KIND,
        order: str = "K",
        dtype: object = None,
        subok: bool = True,
        signature: None = None,
    ) -> Any:
        if len(operands) == nin + 1:
            if out is not None:
                raise TypeError(f"{name}: out is given by position and by name")
            operands, out = operands[:nin], operands[nin]
        if len(operands) != nin:
            expected = f"{nin} operand{'s' if nin > 1 else ''}"
            raise TypeError(f"{name}: takes {expected}, and out, not {len(operands)}")
        if dtype is not None or casting is not SAME_KIND or signature is not None or order != "K":
            wanted = _computed_dtype(name, gives, dtype)
            options = wanted, casting, signature, order
            first = in_options(name, accepts, operands[:count], options)
            operands = (*first, *operands[count:])
        results = record(*operands)
        if nout == 1:
            return stored(name, results, out, where, casting)
        out = (None, None) if out is None else out
        targets: Any = out
        if not isinstance(out, tuple) or len(targets) != 2:
            raise TypeError(f"{name}: out must be a tuple of two, one for each result")
        pairs = zip(results, targets, strict=True)
        return tuple(stored(name, *pair, where, casting) for pair in pairs)

    def function(*operands: Operand, **options: Any) -> Any:
        # Most calls have no options; Python would set each of them to its default.
        if options or len(operands) != nin:
            return all_options(*operands, **options)
        return record(*operands)

    all_options.__qualname__ = name
    public: Any = function
    public.__signature__ = _signature(all_options, nin, nout)
    public.__annotations__["return"] = public.__signature__.return_annotation
    return public


_signatures: dict[tuple[int, int], inspect.Signature] = {}


def _signature(function: Callable[..., Any], nin: int, nout: int) -> inspect.Signature:
    """Return NumPy's signature of a function with options, which takes `out` by position, too."""
    if (nin, nout) not in _signatures:
        signature = inspect.signature(function)
        operands, out, *options = signature.parameters.values()
        names = ("x",) if nin == 1 else ("x1", "x2")
        first = [operands.replace(name=name, kind=operands.POSITIONAL_ONLY) for name in names]
        default = None if nout == 1 else (None, None)
        out = out.replace(kind=out.POSITIONAL_OR_KEYWORD, default=default)
        result = "Tensor" if nout == 1 else "tuple[Tensor, Tensor]"
        signature = inspect.Signature([*first, out, *options], return_annotation=result)
        _signatures[nin, nout] = signature
    return _signatures[nin, nout]


def in_options(
    op: str, accepts: Accepts, operands: Sequence[Operand], options: tuple[Any, ...]
) -> Sequence[Operand]:
    """Return operands in the dtype to compute in, and check the options of NumPy's functions.

    `options` are `dtype`, `casting`, `signature` and `order`. `subok` is not checked, because
    results are always tensors.

    Raises
    ------
    TypeError
        If `signature` is passed; use `dtype` instead.
    DTypeError
        If `casting` does not allow an operand to be converted to the dtype of the computation.
    ValueError
        If `casting` or `order` is unknown.
    """
    dtype, casting, signature, order = options
    if signature is not None:
        raise TypeError(f"{op}: signature is not supported; use dtype")
    check_option(op, "casting", casting, dtypes.CASTINGS)
    check_order(op, order)
    coerced = coerce(op, operands)
    if dtype is not None:
        target = dtypes.parse(dtype)
        accepts.check_converted(op, target)
    elif casting == SAME_KIND:
        return operands
    else:
        target = accepts.check(op, common_dtype(coerced))
    for x in coerced:
        if isinstance(x, Tensor):
            dtypes.check_cast(op, x.dtype, target, casting)
        elif casting != "unsafe":  # a Python number: only its kind matters
            number_dtype = dtypes.of_scalar(x)
            number_dtype = target if number_dtype.is_signed and target.is_unsigned else number_dtype
            check_kind(op, number_dtype, target, "casting='unsafe' allows it")
    return operands if dtype is None else _in_dtype(op, operands, target)


def _computed_dtype(
    op: str, gives: DType | Callable[[DType], DType] | None, dtype: object
) -> DType | None:
    """Return the dtype in which to compute for the option `dtype`; None if that is open.

    An op whose results have one dtype computes in any; `dtype` can be only that of the results.
    """
    wanted = None if dtype is None else dtypes.parse(dtype)
    if wanted is None or not isinstance(gives, DType):
        return wanted
    if wanted is not gives:
        raise DTypeError(f"{op}: returns {gives}, not {dtype}")
    return None


def _in_dtype(op: str, operands: Sequence[Operand], dtype: DType) -> list[Operand]:
    """Return the operands in a dtype; Python numbers beside other operands are weak."""
    are_numbers = all(isinstance(x, Scalar) for x in operands)

    def is_weak(x: Operand) -> bool:
        return isinstance(x, Scalar) and dtypes.is_of_kind(dtypes.of_scalar(x), dtype)

    return [x if is_weak(x) and not are_numbers else in_dtype(op, x, dtype) for x in operands]


def numpys(name: str) -> OnArrays:
    """Return the computation of an op that is NumPy's function of a name."""

    def on_arrays(np: Any, *operands: Any) -> Any:
        return getattr(np, name)(*operands)

    return on_arrays


def _elementwise(
    nin: int,
    accepts: Accepts,
    wgsl: str | Mapping[str, str] | None = None,
    *,
    vjp: Derivative,
    result: DType | Callable[[DType], DType] | None = None,
    ulp: float = EXACT,
    cost: int = 1,
    method: bool = False,
    operator: str | None = None,
    name: str | None = None,
) -> Callable[[Any], Callable[..., Tensor]]:
    """Return a decorator that defines an elementwise op by the same computation with NumPy.

    The decorated function takes NumPy and arrays, or declares only the operands if it is NumPy's
    function of its name. The op and its public function have its name and docstring.

    Parameters
    ----------
    nin
        The number of operands.
    wgsl
        The WGSL, for each type if it differs; by default a call of ``{name}_{type}``.
    vjp
        The derivative, see `Vjp`.
    result
        The dtype of the result, if it is not that of the operands.
    ulp
        The largest error of the result in float32.
    cost
        A rough number of instructions.
    method, operator
        Whether the function is a method, too; and, for two operands, the name of its Python
        operator: "add" defines ``__add__``, ``__radd__`` and ``__iadd__``.
    name
        The name of the op, if it is not that of the decorated function.
    """

    def define(function: Any) -> Callable[..., Tensor]:
        op_name = name or function.__name__
        text = wgsl or f"{op_name}_{{t}}({'{0}' if nin == 1 else '{0}, {1}'})"
        texts = {"*": text} if isinstance(text, str) else text
        numpy = function if function.__code__.co_argcount > nin else numpys(op_name)
        op = Elementwise(op_name, texts, numpy, accepts, result, vjp=vjp, cost=cost)
        return function_of(op, doc=function.__doc__, ulp=ulp, method=method, operator=operator)

    return define


unary = partial(_elementwise, 1, method=True)
binary = partial(_elementwise, 2)


def function_of(
    op: Elementwise,
    *,
    doc: str | None,
    ulp: float = EXACT,
    method: bool = False,
    operator: str | None = None,
    others: Binary | None = None,
) -> Callable[..., Tensor]:
    """Create the public function of an existing op of one or two operands.

    `others` replaces `apply` if the operands are not two tensors.
    """

    def made(*kinds: Any) -> Recorded | None:
        return None if op.decide is not None and _are_unlike(*kinds) else recipe_of(op, *kinds)

    # By the metas of tensors; `int` or `float` stands for a number.
    recipes = Recipes[Any, Recorded | None](made)
    recording = _recording_one if op.operands == 1 else _recording_two
    record = recording(recipes, others or (lambda *operands: apply(op, operands)))
    if operator is not None:
        add_operator(operator, record, recipes)
    computed = op.accepts.takes(dtypes.float32) and op.accepts.compute(dtypes.float32)
    error = ulp if computed and op.result(computed).is_floating else None
    return with_options(
        op.name, record, nin=op.operands, accepts=op.accepts, op=op, doc=doc, ulp=error,
        method=method, operator=operator,
    )  # fmt: skip


_Recipes = Recipes[Any, Recorded | None]


def _recording_one(recipes: _Recipes, other: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the op of one operand for a tensor; `other` handles all other operands."""

    def function(x: Operand, /) -> Tensor:
        if type(x) is Tensor:
            node = x._node  # pyright: ignore[reportPrivateUsage]
            recipe = recipes[node.meta]
            if recipe is not None:
                (steps,), make, _ = recipe
                if steps:
                    node = follow(node, steps)
                return Tensor(make((node,)))
        return other(x)

    return function


def comparison(
    name: str, operator: str, accepts: Accepts, wgsl: Mapping[str, str], *, doc: str
) -> Binary:
    """Define an elementwise comparison, and its method ``__{operator}__``.

    Integers are compared exactly with Python numbers: an integer outside the tensor's dtype is
    below or above all its values, and a float lies between two integers.
    """
    decide = _deciding(operator)
    op = Elementwise(
        name, wgsl, numpys(name), accepts, dtypes.bool_, decide=decide, vjp=NOT_DIFFERENTIABLE
    )

    def record(x: Operand, y: Operand) -> Tensor:
        first, second = coerce(name, (_as_exact(x, y), _as_exact(y, x)))
        if not isinstance(second, Tensor):
            return with_number(first, second, False)
        if not isinstance(first, Tensor):
            return with_number(second, first, True)
        if dtypes.have_no_common(first.dtype, second.dtype):
            return apart_by_sign(first, second)
        return apply(op, (first, second))

    def with_number(x: Any, number: Scalar, is_first: bool) -> Tensor:
        """Compare with a number; if integers cannot be equal to it, the result is one for all."""
        is_among_integers = not (x.dtype.is_inexact or isinstance(number, complex))
        if is_among_integers and isinstance(number, float):
            number = _beside_integers(_MIRRORED[operator] if is_first else operator, number)
        is_held = isinstance(number, int) and dtypes.holds(dtypes.numeric(x.dtype), number)
        if is_held or not is_among_integers:
            return apply(op, (number, x) if is_first else (x, number))
        value = decide(number, 0) if is_first else decide(0, number)
        return filled(value, meta_of(x.shape, dtypes.bool_, x.device))

    def apart_by_sign(x: Tensor, y: Tensor) -> Tensor:
        """Compare uint64 and signed integers by bits and sign."""
        negative: Any = (x if x.dtype.is_signed else y) < 0
        alike = apply(op, [in_dtype(name, v, dtypes.uint64) for v in (x, y)])
        below = decide(-1, 0) if x.dtype.is_signed else decide(0, -1)
        return negative | alike if below else ~negative & alike

    return function_of(op, doc=doc, operator=operator, others=record)


def _deciding(operator: str) -> Callable[[Any, Any], bool]:
    """Return a comparison of Python numbers; complex ones are in lexicographic order."""
    plain: Callable[[Any, Any], bool] = getattr(python_operator, operator)
    if operator in ("eq", "ne"):
        return plain

    def decide(x: Any, y: Any) -> bool:
        if not isinstance(x, complex) and not isinstance(y, complex):
            return plain(x, y)
        has_nan = x.imag != x.imag or y.imag != y.imag  # which tuples compare only beside equals
        return not has_nan and plain((x.real, x.imag), (y.real, y.imag))

    return decide


def _as_exact(x: Operand, other: Operand) -> Operand:
    """Return a NumPy integer beside integers as Python's, which is compared exactly with them."""
    if type(x) is Tensor or not hasattr(x, "dtype"):
        return x
    has_integers = isinstance(other, Tensor) and not other.dtype.is_inexact
    number = number_like(x) if has_integers else None
    return number if isinstance(number, int) else x


def _beside_integers(operator: str, number: float) -> Scalar:
    """Return the int to compare integers with instead of a float, or the float itself.

    It is the float if all integers compare alike with it: if it is infinite, NaN or equal to none.
    """
    if not math.isfinite(number) or (operator in ("eq", "ne") and number % 1):
        return number
    return math.ceil(number) if operator in ("lt", "ge") else math.floor(number)


def _recording_two(recipes: _Recipes, other: Binary) -> Binary:
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


def _reflected(recipes: _Recipes, other: Binary) -> Binary:
    """Return the op with a number to the left of a tensor; `other` handles all other operands.

    It is written out, like `_recording_two`, to save the overhead of a call.
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
            return compose(*map(Tensor, lifted(name, accepts, coerce(name, operands))))

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


def add_operator(operator: str, function: Binary, recipes: _Recipes | None = None) -> None:
    """Add an operator to Tensor: forward, reflected and in place, unless it is a comparison.

    With the recipes of an op, it is recorded at once on the operands that these are for.
    """
    is_comparison = operator in _MIRRORED
    unlike = _OF_UNLIKE.get(operator)
    if operator == "mul":
        function = _repeating(function)

    def mixed(self: Tensor, other: Operand) -> Tensor:
        if unlike is not None and (other is None or isinstance(other, str | bytes)):
            return filled(unlike, meta_of(self.shape, dtypes.bool_, self.device))
        if type(other) in (Tensor, int, float):
            return function(self, other)
        if takes(other):
            return NotImplemented if goes_first(other) else function(self, other)
        if not is_comparison and isinstance(other, str | bytes):  # `*` would repeat the text
            raise TypeError(f"{operator}: takes numbers and arrays, not {type(other).__name__}")
        return _left_to(other, f"__r{operator}__", self)

    def mirrored(self: Tensor, other: Operand) -> Tensor:
        if takes(other):
            return function(other, self)
        return _left_to(other, f"__{operator}__", self)

    def in_place(self: Tensor, other: Operand) -> Tensor:
        if not takes(other):
            return NotImplemented
        if not self.is_scalar:
            self._check_writeable(f"i{operator}")  # pyright: ignore[reportPrivateUsage]
        result = function(self, other)
        # A scalar, such as a sum or an element, never changes: the name is rebound to the result.
        return result if self.is_scalar else store(f"i{operator}", self, result)

    forward, back = mixed, mirrored
    if recipes is not None:
        forward, back = _recording_two(recipes, mixed), _reflected(recipes, mirrored)
    named: dict[str, Any] = {f"__{operator}__": forward}
    if not is_comparison:
        named |= {f"__r{operator}__": back, f"__i{operator}__": in_place}
    for name, method in named.items():
        method.__name__, method.__doc__ = name, function.__doc__
        install(name, method)


# -- Functions that follow from others -------------------------------------------------------------

P = ParamSpec("P")
R = TypeVar("R")


def declared(
    name: str, of: inspect.Signature, call: Callable[..., R], doc: str | None
) -> Callable[..., R]:
    """Return a function with a name and a signature, whose arguments `call` gets by name.

    It is compiled, so that Python binds its arguments and names it in errors.
    """
    plain = inspect.Signature([p.replace(annotation=p.empty) for p in of.parameters.values()])
    passed = ", ".join(f"{argument}={argument}" for argument in of.parameters)
    text = f"lambda call: lambda {str(plain)[1:-1]}: call({passed})"
    function: Any = eval(text, {"__name__": call.__module__})(call)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    kinds = {p.name: p.annotation for p in of.parameters.values() if p.annotation is not p.empty}
    function.__annotations__ = {**kinds, "return": of.return_annotation}
    return function


def declared_like(
    function: Callable[P, R], call: Callable[..., R], name: str, **words: str
) -> Callable[P, R]:
    """Return a function with the parameters of another one, all of which `call` gets by name.

    Its docstring is that of `call`, formatted with `words`.
    """
    doc = call.__doc__ and inspect.cleandoc(call.__doc__)  # -OO removes docstrings
    doc = doc.format(**words) if doc and words else doc
    return declared(name, inspect.signature(function), call, doc)


class OnFirstUse:
    """A method of a class, whose module is imported when the method is first used."""

    def __init__(self, kind: type, module: str, name: str) -> None:
        self.kind, self.module, self.name = kind, module, name

    def __get__(self, owner: Any, kind: type) -> Any:
        method = getattr(import_module(self.module), self.name)
        setattr(self.kind, self.name, method)
        return method.__get__(owner, kind)
