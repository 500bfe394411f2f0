"""The walks over recorded nodes that give derivatives: from results to arguments, and back.

A walk visits the nodes between variables and results that depend on a variable, in the order of
recording or against it. What it records and nothing needs is never computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from py_tensor.base.errors import NotDifferentiableError
from py_tensor.ir.bind import bind
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Node
from py_tensor.ir.op import Elementwise
from py_tensor.ir.primitives import VARIABLE
from py_tensor.ir.recording import Recording, Rule, recording
from py_tensor.ops.creation import zeros
from py_tensor.ops.operands import node_of
from py_tensor.runtime.device import deferring
from py_tensor.runtime.trace import innermost_trace
from py_tensor.tensors.tensor import Tensor


def variable(x: Tensor) -> Node:
    """Return a node of a tensor's elements with respect to which something is differentiated.

    It is on the innermost trace: lifted later, it would be a constant there.
    """
    node, trace = node_of(x), innermost_trace()
    if trace is not None and x.device is not trace:
        node = trace.lifted(node, Tensor(node)) or node
    return bind(VARIABLE, (node,), x.shape)


def _dependents(made: Recording, results: Sequence[Node], variables: Sequence[Node]) -> list[Node]:
    """Return the nodes that depend on a variable and that a result needs, operands first.

    Operands have smaller numbers, so nothing older than the variables is looked at.
    """
    first = min([node.number for node in variables])
    nodes = {*variables}  # what they are made of is not looked at
    stack = list(results)
    while stack:
        node = stack.pop()
        if node in nodes or node.number < first or not node.meta.dtype.is_inexact:
            continue
        nodes.add(node)
        stack += made.operands(node)
        if node in made.rules:
            stack += made.rules[node].results
    reached = set(variables)
    order: list[Node] = []
    for node in sorted(nodes, key=lambda node: node.number):
        if node not in reached and not reached.isdisjoint(made.operands(node)):
            reached.add(node)
            order.append(node)
    return order


def _first_results(made: Recording, order: Sequence[Node]) -> dict[Rule, Node]:
    """Return the oldest result of each rule; integers are not in the order."""
    first: dict[Rule, Node] = {}
    for node in order:
        if node in made.rules:
            first.setdefault(made.rules[node], node)
    return first


def pull(
    made: Recording,
    results: Sequence[Node],
    cotangents: Sequence[Tensor],
    variables: Sequence[Node],
) -> list[Tensor | None]:
    """Return the cotangents of variables for those of results; None for one of no influence.

    Raises
    ------
    NotDifferentiableError
        If a node between them has no derivative.
    """
    order = _dependents(made, results, variables)
    last = _first_results(made, order)
    wanted = {*order, *variables}
    of: dict[Node, Tensor] = {}

    def add(nodes: Sequence[Node], parts: Sequence[Tensor | None]) -> None:
        for node, part in zip(nodes, parts, strict=True):
            if part is not None and node in wanted:
                of[node] = of[node] + part if node in of else part

    with deferring():
        add(results, cotangents)
        for node in reversed(order):
            rule = made.rules.get(node)
            if rule is None:
                if (g := of.pop(node, None)) is not None:
                    operands = made.operands(node)
                    add(operands, _transposed(node, operands, g))
            elif node is last[rule]:  # the cotangents of the others are there
                parts = [of.pop(result, None) for result in rule.results]
                if any(part is not None for part in parts):
                    add(rule.arguments, _checked(rule, rule.pullback(parts)))
        return [of.get(node) for node in variables]


def _transposed(node: Node, operands: Sequence[Node], g: Tensor) -> Sequence[Tensor | None]:
    """Return the cotangents of a node's operands."""
    vjp: Any = node.op.vjp
    if vjp is NOT_DIFFERENTIABLE:
        raise NotDifferentiableError(
            f"{node.op.name}: has no derivative; use pt.stop_gradient if it needs none, or"
            " pt.custom_vjp to define one"
        )
    return vjp(g, Tensor(node), *map(Tensor, operands), node.attrs)


def _checked(rule: Rule, parts: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
    """Return a rule's cotangents, if they fit its arguments."""
    if len(parts) != len(rule.arguments):
        raise TypeError(
            f"{rule.name}: its rule returns {len(parts)} cotangents for {len(rule.arguments)}"
            " arguments"
        )
    for part, argument in zip(parts, rule.arguments, strict=True):
        meta = argument.meta
        if part is not None and type(part) is not Tensor:
            raise TypeError(f"{rule.name}: its rule returns {part!r} for a cotangent {meta}")
        if part is not None and (part.shape != meta.shape or part.dtype is not meta.dtype):
            raise TypeError(
                f"{rule.name}: its rule returns a cotangent {part.dtype}{list(part.shape)} for an"
                f" argument {meta}"
            )
    return parts


def push(
    made: Recording,
    results: Sequence[Node],
    variables: Sequence[Node],
    tangents: Sequence[Tensor],
) -> list[Tensor | None]:
    """Return the tangents of results for those of variables; None for one that depends on none.

    Raises
    ------
    NotDifferentiableError
        If a node between them has no derivative.
    """
    of: dict[Node, Tensor] = dict(zip(variables, tangents, strict=True))
    order = _dependents(made, results, variables)
    first = _first_results(made, order)
    with deferring():
        for node in order:
            rule = made.rules.get(node)
            operands = made.operands(node)
            of_operands = [of.get(operand) for operand in operands]
            if rule is None:
                moved = _moved(node, operands, of_operands)
                if moved is not None:
                    of[node] = moved
            elif node is first[rule] and any(part is not None for part in of_operands):
                parts = _pushed(rule, of_operands)
                pairs = zip(rule.results, parts, strict=True)
                of.update({result: part for result, part in pairs if part is not None})
        return [of.get(node) for node in results]


def _moved(node: Node, operands: Sequence[Node], tangents: list[Tensor | None]) -> Tensor | None:
    """Return the tangent of a node for those of its operands."""
    numbers = [number for number, part in enumerate(tangents) if part is not None]
    if not numbers:
        return None
    op = node.op
    if op.linear and (op.arity == 1 or len(numbers) == len(operands)):
        inputs = tuple([node_of(cast("Tensor", part)) for part in tangents])
        return Tensor(bind(op, inputs, node.attrs))
    is_real = not any(x.meta.dtype.is_complex for x in (node, *operands))
    if isinstance(op, Elementwise) and is_real:  # a diagonal matrix is its own transpose
        total: Tensor | None = None
        for number in numbers:
            part = _transposed(node, operands, cast("Tensor", tangents[number]))[number]
            if part is not None:
                total = part if total is None else total + part
        return total
    (pushed,) = transposed(
        lambda parts: _transposed(node, operands, cast("Tensor", parts[0])), [node], tangents
    )
    return pushed


def transposed(
    pullback: Callable[[list[Tensor | None]], Sequence[Tensor | None]],
    results: Sequence[Node],
    tangents: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """Return the tangents of results from a pullback, which is linear: its own transpose's.

    The pullback is recorded for cotangents that are variables, and the walk back from what it
    returns multiplies by the matrix that it multiplies by the transpose of.
    """
    metas = [node.meta for node in results]
    variables = [variable(zeros(m.shape, m.dtype, device=m.device)) for m in metas]
    with recording() as made:
        parts = pullback([Tensor(node) for node in variables])
    pairs = [
        (node_of(part), tangent)
        for part, tangent in zip(parts, tangents, strict=True)
        if part is not None and tangent is not None
    ]
    if not pairs:
        return [None] * len(results)
    return pull(made, [node for node, _ in pairs], [part for _, part in pairs], variables)


def _pushed(rule: Rule, tangents: list[Tensor | None]) -> Sequence[Tensor | None]:
    if rule.pushforward is not None:
        return rule.pushforward(tangents)
    return transposed(rule.pullback, rule.results, tangents)
