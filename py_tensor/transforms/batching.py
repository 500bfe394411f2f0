"""`vmap`: a function of one example becomes a function of many.

The function is traced on one example, which lacks the batch axis. Then the nodes that depend on a
batched argument are recorded again with the batch as axis 0, and the others as they are. What is
recorded are ordinary nodes of the caller's device, which may be a trace itself, so `vmap` nests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, cast

from py_tensor.base.errors import check_option
from py_tensor.base.layout import Layout
from py_tensor.base.shapes import Shape, normalize_axis
from py_tensor.ir.bind import ARGUMENT, bind, generate
from py_tensor.ir.node import Device, Node, meta_of, next_number
from py_tensor.ir.op import (
    Assign,
    Broadcast,
    Cast,
    Elementwise,
    Gather,
    Movement,
    Pad,
    Reshape,
    Scatter,
    layout_of,
)
from py_tensor.ir.primitives import BROADCAST, EXPAND, RESHAPE, VIEW, WHERE, filled, index
from py_tensor.ir.recording import Recording, Rule, current_recording
from py_tensor.ops.operands import node_of
from py_tensor.ops.rearrange import moveaxis
from py_tensor.runtime.trace import Trace, innermost_trace, noting_draws, trace_on, tracing
from py_tensor.tensors.tensor import Tensor, tensor_of
from py_tensor.tree import Structure, flatten, is_array, unflatten

__all__ = ["vmap"]


def vmap(
    function: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Return a function that computes another one for many examples at once.

    Parameters
    ----------
    function : callable
        Takes and returns tensors and trees of them. It runs once, on tensors without elements, so
        it cannot read them.
    in_axes : int, None, or tuple
        The axis of the examples in the arguments; None for one that is the same for all. A tuple
        has an entry for each argument, which may be a tree of entries like the argument. Python
        numbers are the same for all.
    out_axes : int, None, or tree
        The same for the result. None is for a result that is the same for all.
    randomness : {"error", "same"}
        Whether random draws raise, or give each example the same numbers.

    Raises
    ------
    ValueError
        If the arguments have different numbers of examples, or none.
    TracedValueError
        If the function reads elements; see `pt.where` and `where=`.
    NotImplementedError
        If it uses an op that cannot compute several examples at once, such as a kernel of your own.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.vmap(lambda x, y: x @ y)(pt.ones((3, 2)), pt.ones((3, 2)))
    tensor([2., 2., 2.])
    >>> pt.vmap(pt.grad(lambda x: x**2))(pt.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    check_option("vmap", "randomness", randomness, ("error", "same"))

    @wraps(function)
    def batched(*values: Any, **options: Any) -> Any:
        leaves, structure = flatten(tuple(values))
        axes = _axes_of("in_axes", _per_argument(in_axes, len(values)), structure)
        n, examples, device = _examples(leaves, axes, structure)
        trace = trace_on(device)
        rewrite = _Rewrite(n, trace, device)
        for at, x in examples.items():
            argument = trace.argument(x.shape[1:], x.dtype)
            rewrite.put(argument, node_of(x), True)
            leaves[at] = Tensor(argument)
            if x.ndim > 1:
                leaves[at].flags.writeable = False  # the caller would not see what is written
        start = next_number()
        with tracing(trace), noting_draws() as draws:
            y = function(*unflatten(structure, leaves), **options)
        if draws and randomness == "error":
            raise ValueError(
                "vmap: the function draws random numbers; set randomness='same', or draw them"
                " outside for all examples and pass them"
            )
        rewrite.note_span(start)
        results, form = flatten(y)
        rewrite.take_rules(current_recording())
        made = [
            rewrite.result(tensor_of(x, "vmap"), axis)
            for x, axis in zip(results, _axes_of("out_axes", out_axes, form), strict=True)
        ]
        return unflatten(form, made)

    return batched


def _per_argument(in_axes: Any, count: int) -> Any:
    """Return an entry of `in_axes` for each argument."""
    if in_axes is None or isinstance(in_axes, int):
        return (in_axes,) * count
    if not isinstance(in_axes, tuple | list) or len(cast("Sequence[Any]", in_axes)) != count:
        raise ValueError(f"vmap: in_axes {in_axes} for {count} arguments")
    return tuple(cast("Sequence[Any]", in_axes))


def _axes_of(name: str, entry: Any, structure: Structure) -> list[int | None]:
    """Return the axis of each leaf from a tree of axes, which may have one for a whole subtree."""
    if entry is None or isinstance(entry, int):
        return [entry] * structure.size
    if structure.size and not structure.children:
        raise ValueError(f"vmap: {name} {entry!r} for a leaf must be an int or None")
    axes: list[int | None] = []
    for key, child in zip(structure.names, structure.children, strict=True):
        try:
            inner = entry[key] if isinstance(entry, _CONTAINERS) else getattr(entry, key)
        except (AttributeError, IndexError, KeyError, TypeError):
            raise ValueError(f"vmap: {name} {entry!r} does not match {structure}") from None
        axes += _axes_of(name, inner, child)
    return axes


_CONTAINERS: Any = dict, list, tuple


def _examples(
    leaves: list[Any], axes: list[int | None], structure: Structure
) -> tuple[int, dict[int, Tensor], Device]:
    """Return the number of examples, the batched leaves with axis 0 for them, and their device."""
    examples: dict[int, Tensor] = {}
    n, first = -1, ""
    for at, (leaf, axis, path) in enumerate(zip(leaves, axes, structure.paths(), strict=True)):
        if axis is None or not is_array(leaf):
            continue
        x = tensor_of(leaf, "vmap")
        axis = normalize_axis("vmap", axis, x.ndim)
        if n >= 0 and x.shape[axis] != n:
            raise ValueError(
                f"vmap: argument {path} has {x.shape[axis]} examples, but argument {first} has {n}"
            )
        n, first = x.shape[axis], first or path
        examples[at] = moveaxis(x, axis, 0) if axis else x
    if n <= 0:
        raise ValueError(f"vmap: {'no examples' if n == 0 else 'no argument has a batch axis'}")
    devices = [x.device for x in examples.values()]
    if (trace := innermost_trace()) is not None:
        devices.append(trace)  # else a traced value that the function uses would be of this one
    return n, examples, max(devices, key=lambda device: device.depth)


class _Rewrite:
    """The nodes that are recorded for all examples in place of those of a trace."""

    def __init__(
        self, n: int, trace: Trace, below: Device, earlier: _Rewrite | None = None
    ) -> None:
        self._n = n
        self._trace = trace
        self._below = below
        self._earlier = earlier  # one for other devices, whose nodes are lifted
        # First and last numbers of the nodes of the function: traces of one depth share a device.
        self._spans: list[tuple[int, int]] = [] if earlier is None else earlier._spans
        self._made: dict[Node, tuple[Node, bool]] = {}  # and whether it has the batch axis

    def put(self, node: Node, replacement: Node, is_batched: bool) -> None:
        self._made[node] = self._lowered(replacement), is_batched

    def result(self, x: Tensor, axis: int | None) -> Tensor:
        """Return a result of the function for all examples."""
        node, is_batched = self.of(node_of(x))
        if axis is None:
            if is_batched:
                raise ValueError("vmap: out_axes is None for a result that differs by example")
            return Tensor(node)
        y = Tensor(self._whole(node, is_batched, x.shape))
        return moveaxis(y, 0, axis) if axis else y

    def of(self, node: Node) -> tuple[Node, bool]:
        """Return the replacement of a node; operands first, without recursion."""
        made = self._made
        stack = [node]
        while stack:
            top = stack[-1]
            if top in made:
                stack.pop()
            elif not self._is_of_function(top):
                made[stack.pop()] = self._lowered(top), False
            elif (known := self._known_earlier(top)) is not None:
                self.put(stack.pop(), *known)
            elif missing := [x for x in top.inputs if x not in made]:
                stack += missing
            else:
                made[stack.pop()] = self._replaced(top)
        return made[node]

    def note_span(self, start: int) -> None:
        """Note that the nodes recorded since this number are of the function."""
        self._spans.append((start, next_number()))

    def _is_of_function(self, node: Node) -> bool:
        return node.meta.device is self._trace and any(
            start < node.number < end for start, end in self._spans
        )

    def _known_earlier(self, node: Node) -> tuple[Node, bool] | None:
        """Return the replacement of a node by an earlier rewrite."""
        earlier = self._earlier
        while earlier is not None:
            if node in earlier._made:
                return earlier._made[node]
            earlier = earlier._earlier
        return None

    def _replaced(self, node: Node) -> tuple[Node, bool]:
        if node.op is ARGUMENT:
            return self._lowered(node_of(node.attrs)), False
        if not node.inputs:
            meta = meta_of(node.meta.shape, node.meta.dtype, self._below)
            return generate(node.op, node.attrs, meta), False
        pairs = [self._made[x] for x in node.inputs]
        if any(is_batched for _, is_batched in pairs):
            return self._batched(node, [x for x, _ in pairs], [is_it for _, is_it in pairs]), True
        return bind(node.op, tuple([x for x, _ in pairs]), node.attrs), False

    def _lowered(self, node: Node) -> Node:
        """Return a node that the trace refers to on the device below the trace."""
        if node.meta.device is self._below:
            return node
        lifted = self._below.lifted(node, Tensor(node))
        if lifted is None:
            raise ValueError(
                "vmap: a tensor of another traced function was used. To differentiate a function"
                " with a rule, such as linalg.solve, twice, batch its derivatives:"
                " vmap(hessian(f)), not hessian(vmap(f))"
            )
        return lifted

    def _whole(self, node: Node, is_batched: bool, shape: Shape) -> Node:
        """Return a node of one example's shape with the batch axis."""
        return node if is_batched else bind(EXPAND, (node,), (self._n, *shape))

    def _spread(self, node: Node, is_batched: bool, shape: Shape) -> Node:
        """Return a node with the batch axis, expanded to a shape."""
        if not is_batched:
            return self._whole(node, False, shape)
        wanted = (self._n, *shape)
        if node.meta.shape == wanted:
            return node
        lead = (1,) * (len(wanted) - len(node.meta.shape))
        node = bind(RESHAPE, (node,), (self._n, *lead, *node.meta.shape[1:])) if lead else node
        return bind(EXPAND, (node,), wanted)

    def _batched(self, node: Node, operands: list[Node], are_batched: list[bool]) -> Node:
        """Return the node for all examples."""
        op, shape = node.op, node.meta.shape
        shapes = [x.meta.shape for x in node.inputs]
        if isinstance(op, Movement):
            return self._moved(node, operands[0])
        if isinstance(op, Elementwise | Cast):
            inputs = [
                x if x.op.constant and not is_batched else self._spread(x, is_batched, shape)
                for x, is_batched in zip(operands, are_batched, strict=True)
            ]
        elif isinstance(op, Pad) and are_batched[1]:
            return self._padded(node, operands, are_batched)
        elif isinstance(op, Pad):
            inputs = [self._whole(operands[0], are_batched[0], shapes[0]), operands[1]]
        elif isinstance(op, Assign):
            return self._assigned(node, operands, are_batched)
        elif isinstance(op, Gather | Scatter) and any(are_batched[_first_index(op) :]):
            return self._indexed(node, operands, are_batched)
        else:
            inputs = list(map(self._whole, operands, are_batched, shapes))
        return bind(op, tuple(inputs), op.batched(node.attrs))

    def _moved(self, node: Node, x: Node) -> Node:
        n, shape = self._n, node.meta.shape
        if isinstance(node.op, Reshape):
            return bind(node.op, (x,), (n, *shape))
        if isinstance(node.op, Broadcast):  # it stays an operand of a product
            before = node.attrs[0]
            lead = (1,) * (len(shape) - len(before))
            return bind(BROADCAST, (x,), ((n, *lead, *before), (n, *shape)))
        layout = self._of_all(layout_of(node), node.inputs[0].meta.size)
        return bind(VIEW, (x,), (layout.shape, layout.strides, layout.offset))

    def _of_all(self, layout: Layout, size: int) -> Layout:
        """Return the layout of all examples from that of one, whose source has `size` elements."""
        return Layout((self._n, *layout.shape), (size, *layout.strides), layout.offset)

    def _padded(self, node: Node, operands: list[Node], are_batched: list[bool]) -> Node:
        """Return a node padded with another value for each example."""
        meta = node.inputs[0].meta
        x = self._whole(operands[0], are_batched[0], meta.shape)
        false, true = (
            filled(value, meta_of((), self._bool, self._below)) for value in (False, True)
        )
        widths = node.op.batched(node.attrs)
        inside = bind(node.op, (bind(EXPAND, (true,), x.meta.shape), false), widths)
        zero = filled(0, meta_of((), meta.dtype, self._below))
        fill = self._spread(operands[1], True, node.meta.shape)
        return bind(WHERE, (inside, bind(node.op, (x, zero), widths), fill))

    @property
    def _bool(self) -> Any:
        return WHERE.leading[0]

    def _assigned(self, node: Node, operands: list[Node], are_batched: list[bool]) -> Node:
        whole = self._whole(operands[0], are_batched[0], node.meta.shape)
        value, (shape, strides, offset) = operands[1], node.attrs
        if are_batched[1] or value.meta.shape:
            value = self._spread(value, are_batched[1], shape)
        layout = self._of_all(Layout(shape, strides, offset), node.meta.size)
        return bind(node.op, (whole, value), (layout.shape, layout.strides, layout.offset))

    def _indexed(self, node: Node, operands: list[Node], are_batched: list[bool]) -> Node:
        """Return a gather or a scatter with other indices for each example.

        The batch axis is one more axis that is indexed, and so are those before the place where the
        indices' axes are, so that these come first.
        """
        first = _first_index(node.op)
        axes, at, *rest = node.attrs
        shape = node.inputs[first].meta.shape
        of_x = node.inputs[0].meta.shape
        pairs = list(zip(operands, are_batched, strict=True))
        indices = {
            axis: self._whole(x, is_batched, shape)
            for axis, (x, is_batched) in zip(axes, pairs[first:], strict=True)
        }
        dtype = next(iter(indices.values())).meta.dtype
        kept = [axis for axis in range(len(of_x)) if axis not in axes][:at]
        for before, axis in enumerate(kept):
            numbers = index((of_x[axis],), self._below, dtype)
            column = (of_x[axis], *(1,) * (len(shape) - before - 1))
            indices[axis] = bind(EXPAND, (bind(RESHAPE, (numbers,), column),), (self._n, *shape))
        ordered = [indices[axis] for axis in sorted(indices)]
        x, is_batched = pairs[0]
        if isinstance(node.op, Gather) and not is_batched:
            return bind(node.op, (x, *ordered), (tuple(sorted(indices)), 0, *rest))
        number = index((self._n,), self._below, dtype)
        number = bind(RESHAPE, (number,), (self._n, *(1,) * len(shape)))
        number = bind(EXPAND, (number,), (self._n, *shape))
        data = [
            self._whole(data, is_it, of_it.meta.shape)
            for (data, is_it), of_it in zip(pairs[:first], node.inputs, strict=False)
        ]
        numbers_of_axes = (0, *(axis + 1 for axis in sorted(indices)))
        return bind(node.op, (*data, number, *ordered), (numbers_of_axes, 0, *rest))

    def on(self, device: Device) -> _Rewrite:
        """Return one whose nodes are on a device: this, or one on a trace above its device."""
        if device is self._below:
            return self
        return _Rewrite(self._n, self._trace, device, self)

    def take_rules(self, current: Recording | None) -> None:
        """Move the rules of results to their replacements, for all examples."""
        if current is None:
            return
        for rule in dict.fromkeys(current.rules.values()):
            if self._is_of_function(rule.results[0]):
                arguments = [self.of(x) for x in rule.arguments]
                results = tuple([self.of(x)[0] for x in rule.results])
                for x in rule.results:
                    del current.rules[x]
                made = self._rule_of_all(rule, arguments, results)
                current.rules.update(dict.fromkeys(made.results, made))

    def _rule_of_all(
        self, rule: Rule, arguments: Sequence[tuple[Node, bool]], results: tuple[Node, ...]
    ) -> Rule:
        """Return a rule of one example as one of all examples."""

        def pullback(cotangents: list[Any]) -> list[Any]:
            devices = [x.device for x in cotangents if x is not None]
            inner = innermost_trace()
            devices += [] if inner is None else [inner]
            rewrite = self.on(max([self._below, *devices], key=lambda device: device.depth))
            cotangents_of_one: list[Any] = []
            for cotangent, result in zip(cotangents, rule.results, strict=True):
                if cotangent is None:
                    cotangents_of_one.append(None)
                    continue
                argument = self._trace.argument(result.meta.shape, result.meta.dtype)
                is_batched = cotangent.ndim > len(result.meta.shape)
                rewrite.put(argument, node_of(cotangent), is_batched)
                cotangents_of_one.append(Tensor(argument))
            start = next_number()
            with tracing(self._trace):
                parts = rule.pullback(cotangents_of_one)
            rewrite.note_span(start)
            rewrite.take_rules(current_recording())
            made: list[Any] = []
            for part, (_, is_batched) in zip(parts, arguments, strict=True):
                y = None if part is None else rewrite.result(part, 0)
                made.append(y if y is None or is_batched else y.sum(0))
            return made

        return Rule(rule.name, tuple([node for node, _ in arguments]), results, pullback)


def _first_index(op: object) -> int:
    return 1 if isinstance(op, Gather) else 2
