"""Derivatives of functions of tensors and of trees of tensors.

The function runs as it always does, and its values can be read: what it records is the tape. A
derivative is a walk over it (`walks.py`), which records ordinary nodes, so derivatives nest.

For complex numbers the convention is that of JAX: the pullback multiplies by the transpose of the
Jacobian, without a conjugation. The gradient of a real function f of z = x + iy is df/dx - i df/dy.

Sources: A. Griewank and A. Walther, Evaluating Derivatives, 2nd edition, SIAM 2008, chapters 3 and
5; the transposition of a linear walk is that of R. Frostig and others, "Decomposing reverse-mode
automatic differentiation", arXiv:2105.09469.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, cast

from py_tensor.base.errors import TracedValueError
from py_tensor.ir.node import Node
from py_tensor.ir.recording import Recording, recording
from py_tensor.ops.creation import eye, ones_like, zeros_like
from py_tensor.ops.operands import node_of
from py_tensor.runtime.trace import innermost_trace
from py_tensor.tensors.tensor import Tensor, tensor_of
from py_tensor.transforms.batching import vmap
from py_tensor.transforms.walks import pull, push, variable
from py_tensor.tree import Structure, flatten, is_array, matching, unflatten

__all__ = [
    "grad", "hessian", "hvp", "jacfwd", "jacrev", "jvp", "value_and_grad", "vjp",
]  # fmt: skip


@dataclass(slots=True)
class _Arguments:
    """The arguments of a function, with variables in place of what is differentiated.

    Attributes
    ----------
    values : list
        The positional arguments for the function.
    inputs : list of Tensor
        The tensors with respect to which it is differentiated.
    variables : list of Node
        One for each of them.
    trees : list of (Structure, list)
        For each argument that is differentiated, its structure, and for each leaf the position in
        `inputs`, or None.
    """

    values: list[Any]
    inputs: list[Tensor]
    variables: list[Node]
    trees: list[tuple[Structure, list[int | None]]]

    def tree_of(self, number: int, values: Sequence[Any]) -> Any:
        """Return the tree of an argument with a value for each input, and None elsewhere."""
        structure, positions = self.trees[number]
        return unflatten(structure, [None if at is None else values[at] for at in positions])


def _arguments(op: str, values: Sequence[Any], numbers: Iterable[int]) -> _Arguments:
    """Make the variables of a function's arguments; `numbers` are those that are differentiated."""
    made = _Arguments(list(values), [], [], [])
    for number in numbers:
        leaves, structure = flatten(values[number])
        positions: list[int | None] = []
        for at, (leaf, is_state) in enumerate(zip(leaves, structure.are_states(), strict=True)):
            if is_state or not _is_inexact(leaf):
                positions.append(None)
                continue
            x = tensor_of(leaf, op)
            node = variable(x)
            leaves[at] = Tensor(node)
            if not x.is_scalar:
                leaves[at].flags.writeable = False  # the caller would not see what is written
            positions.append(len(made.inputs))
            made.inputs.append(x)
            made.variables.append(node)
        if not any(at is not None for at in positions) and values[number] is not None:
            raise TypeError(
                f"{op}: argument {number} has no floating-point numbers to differentiate by, but"
                f" {_described(values[number], leaves)}; convert integers to floats"
            )
        made.values[number] = unflatten(structure, leaves)
        made.trees.append((structure, positions))
    if not made.inputs:
        raise TypeError(f"{op}: there is no argument to differentiate by")
    return made


def _is_inexact(leaf: Any) -> bool:
    if is_array(leaf):
        return tensor_of(leaf, "grad").dtype.is_inexact
    return isinstance(leaf, float | complex)


def _described(value: Any, leaves: Sequence[Any]) -> str:
    if type(value) is Tensor:
        return f"is {value.dtype} of shape {value.shape}"
    return f"is {value!r}" if len(leaves) == 1 else f"{len(leaves)} other leaves"


def _as_numbers(op: str, argnums: int | Sequence[int], count: int) -> list[int]:
    """Return the positions of arguments as non-negative numbers."""
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    for number in numbers:
        if not -count <= number < count:
            raise ValueError(f"{op}: argnums {argnums} with {count} positional arguments")
    numbers = [number % count for number in numbers]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{op}: argnums {argnums} has an argument twice")
    return numbers


@dataclass(slots=True)
class _Run:
    """A run of a function that was recorded."""

    made: Recording
    arguments: _Arguments
    results: list[Tensor]
    structure: Structure
    aux: Any

    def nodes(self) -> list[Node]:
        return [node_of(y) for y in self.results]

    def pull(self, cotangents: Sequence[Tensor]) -> list[Tensor]:
        """Return a cotangent for each input."""
        arguments = self.arguments
        parts = pull(self.made, self.nodes(), cotangents, arguments.variables)
        pairs = zip(parts, arguments.inputs, strict=True)
        return [zeros_like(x) if part is None else _settled(part) for part, x in pairs]

    def push(self, tangents: Sequence[Tensor]) -> list[Tensor]:
        """Return a tangent for each result."""
        parts = push(self.made, self.nodes(), self.arguments.variables, tangents)
        pairs = zip(parts, self.results, strict=True)
        return [zeros_like(y) if part is None else _settled(part) for part, y in pairs]


def _run(
    op: str,
    function: Callable[..., Any],
    values: Sequence[Any],
    options: dict[str, Any],
    numbers: Iterable[int],
    has_aux: bool,
) -> _Run:
    """Run a function and record it."""
    with recording() as made:
        arguments = _arguments(op, values, numbers)
        with made.varying(arguments.variables):
            y = function(*arguments.values, **options)
        aux: Any = None
        if has_aux:
            if not isinstance(y, tuple) or len(cast("tuple[Any, ...]", y)) != 2:
                raise TypeError(f"{op}: with has_aux the function returns (result, aux), not {y!r}")
            y, aux = cast("tuple[Any, Any]", y)
        leaves, structure = flatten(y)
        # New tensors: one of the arguments would be read-only.
        results = [Tensor(node_of(tensor_of(leaf, op))) for leaf in leaves]
        inner = innermost_trace()
        if any(y.device.depth > (0 if inner is None else inner.depth) for y in results):
            raise TracedValueError(f"{op}: the function used a tensor of a trace that has ended")
    return _Run(made, arguments, results, structure, aux)


def _settled(x: Tensor) -> Tensor:
    """Return a tensor of its own for a derivative, whose device may compute it from now on."""
    node = node_of(x)
    node.meta.device.record_deferred(node)
    return Tensor(node)


def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the value of a function, and its pullback: the product with the transposed Jacobian.

    Parameters
    ----------
    function : callable
        Takes the primals; returns a tensor or a tree of them.
    *primals
        Tensors of floating-point or complex dtypes, or trees that have some.
    has_aux : bool
        The function returns ``(result, aux)``, where `aux` is not differentiated.

    Returns
    -------
    value, pullback, and aux with `has_aux`
        ``pullback(cotangent)`` takes a tree like the value, and returns a tuple with a tree for
        each primal, with None for leaves that are not differentiated. It may be called repeatedly.

    Raises
    ------
    TypeError
        If a primal has no floating-point numbers, or a cotangent does not match the value.

    Examples
    --------
    >>> import py_tensor as pt
    >>> y, pullback = pt.vjp(lambda x: x**2, pt.tensor([1.0, 2.0]))
    >>> pullback(pt.ones(2))
    (tensor([2., 4.]),)
    """
    run = _run("vjp", function, primals, {}, range(len(primals)), has_aux)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        parts = run.pull(_like("vjp: the cotangent", run.structure, cotangent, run.results))
        return tuple([run.arguments.tree_of(number, parts) for number in range(len(primals))])

    value = unflatten(run.structure, run.results)
    return (value, pullback, run.aux) if has_aux else (value, pullback)


def _like(op: str, structure: Structure, tree: Any, wanted: Sequence[Tensor]) -> list[Tensor]:
    """Return the leaves of a tree of tangents or cotangents, in the shapes and dtypes wanted."""
    parts: list[Tensor] = []
    for leaf, x in zip(matching(op, structure, tree), wanted, strict=True):
        part = tensor_of(leaf, op, device=x.device)
        if part.shape != x.shape:
            raise TypeError(f"{op} has shape {part.shape}, not {x.shape}")
        if part.dtype.is_complex and not x.dtype.is_complex:
            raise TypeError(f"{op} is {part.dtype}, but the value {x.dtype}")
        parts.append(part.astype(x.dtype))
    return parts


def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that returns the value of a scalar function and its gradient.

    Parameters
    ----------
    function : callable
        Returns a 0-d tensor.
    argnums : int or sequence of int
        The positional arguments that it is differentiated by; for a sequence the gradient is a
        tuple.
    has_aux : bool
        The function returns ``(result, aux)``; the value is then that pair.
    holomorphic : bool
        The result may be complex: the function is holomorphic, and the gradient its derivative.

    Raises
    ------
    TypeError
        If the result is not a real scalar, or an argument has no floating-point numbers.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.value_and_grad(lambda x: (x**2).sum())(pt.tensor([1.0, 2.0]))
    (tensor(5.), tensor([2., 4.]))
    """

    @wraps(function)
    def differentiated(*values: Any, **options: Any) -> tuple[Any, Any]:
        numbers = _as_numbers("grad", argnums, len(values))
        run = _run("grad", function, values, options, numbers, has_aux)
        y = _scalar(run, holomorphic)
        parts = run.pull([ones_like(y)])
        trees = [run.arguments.tree_of(number, parts) for number in range(len(numbers))]
        value = (y, run.aux) if has_aux else y
        return value, trees[0] if isinstance(argnums, int) else tuple(trees)

    return differentiated


def _scalar(run: _Run, holomorphic: bool) -> Tensor:
    """Return the result of a function, which must be a scalar."""
    if len(run.results) != 1 or run.structure.children:
        raise TypeError(
            f"grad: the function must return one scalar, not {run.structure}; with has_aux it"
            " returns (scalar, aux)"
        )
    y = run.results[0]
    if y.ndim:
        raise TypeError(
            f"grad: the function must return a scalar, not shape {y.shape}; reduce it, as by"
            " .sum(), or use pt.jacrev"
        )
    if not y.dtype.is_inexact:
        raise TypeError(f"grad: the function must return a floating-point number, not {y.dtype}")
    if y.dtype.is_complex and not holomorphic:
        raise TypeError(
            "grad: the function must return a real number, not complex; take its real part, or set"
            " holomorphic=True"
        )
    return y


def grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that returns the gradient of a scalar function.

    Parameters are those of `value_and_grad`. With `has_aux` it returns ``(gradient, aux)``. The
    gradient has the structure of the argument: a tensor for a tensor, and for a tree a tree with
    None in place of leaves that are not floating-point numbers.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.grad(lambda x: x**3)(2.0)
    tensor(12.)
    >>> pt.grad(pt.grad(lambda x: x**3))(2.0)
    tensor(12.)
    """
    both = value_and_grad(function, argnums, has_aux=has_aux, holomorphic=holomorphic)

    @wraps(function)
    def differentiated(*values: Any, **options: Any) -> Any:
        value, gradient = both(*values, **options)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated


def jvp(function: Callable[..., Any], primals: Any, tangents: Any, *, has_aux: bool = False) -> Any:
    """Return the value of a function and the product of its Jacobian with a tangent.

    Parameters
    ----------
    function : callable
        Returns a tensor or a tree of them.
    primals, tangents : tuple or list
        The arguments, and a tangent for each, of the same structure and shapes. The tangent of a
        leaf that is not differentiated is not used.
    has_aux : bool
        The function returns ``(result, aux)``, where `aux` is not differentiated.

    Returns
    -------
    value, tangent, and aux with `has_aux`

    Raises
    ------
    TypeError
        If the tangents do not match the primals.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.jvp(lambda x: x**2, (pt.tensor([1.0, 2.0]),), (pt.tensor([1.0, 0.0]),))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    _check_tuples("jvp", primals, tangents)
    if len(primals) != len(tangents):
        raise TypeError(f"jvp: {len(tangents)} tangents for {len(primals)} primals")
    run = _run("jvp", function, primals, {}, range(len(primals)), has_aux)
    of_inputs: list[Tensor] = []
    for (structure, positions), tangent in zip(run.arguments.trees, tangents, strict=True):
        leaves = matching("jvp: the tangent", structure, tangent)
        for at, leaf in zip(positions, leaves, strict=True):
            if at is not None:
                x = run.arguments.inputs[at]
                of_inputs += _like("jvp: the tangent", flatten(leaf)[1], leaf, [x])
    value = unflatten(run.structure, run.results)
    moved = unflatten(run.structure, run.push(of_inputs))
    return (value, moved, run.aux) if has_aux else (value, moved)


def _check_tuples(op: str, *values: Any) -> None:
    if not all(isinstance(x, tuple | list) for x in values):
        raise TypeError(f"{op}: primals and tangents are tuples with an entry for each argument")


def hvp(function: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """Return the product of the Hessian of a scalar function with a tangent.

    It is the tangent of the gradient, which takes about twice as long as the gradient. Parameters
    are those of `jvp`; the result is a tuple with a tree for each primal.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.hvp(lambda x: (x**3).sum(), (pt.tensor([1.0, 2.0]),), (pt.tensor([1.0, 1.0]),))
    (tensor([ 6., 12.]),)
    """
    _check_tuples("hvp", primals, tangents)
    return jvp(grad(function, tuple(range(len(primals)))), primals, tangents)[1]


def jacrev(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that returns the Jacobian, by a pullback for each element of the result.

    For a result of shape (m,) and an argument of shape (n,), it has shape (m, n). For trees it is
    a tree like the result, in which each leaf is a tree like the argument. `argnums` and `has_aux`
    are as in `grad`.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.jacrev(lambda x: x**2)(pt.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    def blocks(run: _Run) -> list[list[Tensor]]:
        rows: list[list[Tensor]] = []
        for at, y in enumerate(run.results):
            others = [zeros_like(each) for each in run.results]

            def pulled(unit: Tensor, at: int = at, others: Sequence[Tensor] = others) -> Any:
                return run.pull([*others[:at], unit, *others[at + 1 :]])

            inputs = run.arguments.inputs
            parts = vmap(pulled)(_basis(y)) if y.size else inputs
            pairs = zip(parts, inputs, strict=True)
            rows.append([part.reshape(*y.shape, *x.shape) for part, x in pairs])
        return rows

    return _jacobian("jacrev", function, argnums, has_aux, blocks)


def jacfwd(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that returns the Jacobian, by a tangent for each element of the argument.

    It is faster than `jacrev` if the argument has fewer elements than the result. The result has
    the same form.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.jacfwd(lambda x: pt.stack([x.sum(), x.prod()]))(pt.tensor([2.0, 3.0]))
    tensor([[1., 1.],
            [3., 2.]])
    """

    def blocks(run: _Run) -> list[list[Tensor]]:
        inputs = run.arguments.inputs
        columns: list[list[Tensor]] = []
        for k, x in enumerate(inputs):
            others = [zeros_like(each) for each in inputs]

            def pushed(unit: Tensor, k: int = k, others: Sequence[Tensor] = others) -> Any:
                return run.push([*others[:k], unit, *others[k + 1 :]])

            parts = vmap(pushed, out_axes=-1)(_basis(x)) if x.size else run.results
            pairs = zip(parts, run.results, strict=True)
            columns.append([part.reshape(*y.shape, *x.shape) for part, y in pairs])
        return [list(row) for row in zip(*columns, strict=True)]

    return _jacobian("jacfwd", function, argnums, has_aux, blocks)


def _basis(x: Tensor) -> Tensor:
    """Return a tensor of the shape of `x` for each of its elements: 1 there, and 0 elsewhere."""
    return eye(x.size, dtype=x.dtype, device=x.device).reshape(x.size, *x.shape)


def _jacobian(
    op: str,
    function: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    blocks: Callable[[_Run], list[list[Tensor]]],
) -> Callable[..., Any]:
    """Return the function of a Jacobian; `blocks` has one for each result and each input."""

    @wraps(function)
    def differentiated(*values: Any, **options: Any) -> Any:
        numbers = _as_numbers(op, argnums, len(values))
        run = _run(op, function, values, options, numbers, has_aux)
        _check_results(op, run)
        rows: list[Any] = []
        for row in blocks(run):
            trees = [run.arguments.tree_of(number, row) for number in range(len(numbers))]
            rows.append(trees[0] if isinstance(argnums, int) else tuple(trees))
        jacobian = unflatten(run.structure, rows)
        return (jacobian, run.aux) if has_aux else jacobian

    return differentiated


def _check_results(op: str, run: _Run) -> None:
    is_real = any(not x.dtype.is_complex for x in run.arguments.inputs)
    for y in run.results:
        if not y.dtype.is_inexact:
            raise TypeError(f"{op}: the function must return floats, not {y.dtype}")
        if op == "jacrev" and is_real and y.dtype.is_complex:
            raise TypeError(
                "jacrev: a real argument and a complex result; use jacfwd, or differentiate the"
                " real and the imaginary part"
            )


def hessian(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that returns the matrix of second derivatives of a scalar function.

    For an argument of shape (n,), it has shape (n, n). It is ``jacfwd(jacrev(function))``.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.hessian(lambda x: x[0] ** 2 * x[1])(pt.tensor([1.0, 2.0]))
    tensor([[4., 2.],
            [2., 0.]])
    """
    return jacfwd(jacrev(function, argnums, has_aux=has_aux), argnums, has_aux=has_aux)
