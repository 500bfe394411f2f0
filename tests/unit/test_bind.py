"""Creating nodes: inferred shapes and dtypes, cached recipes, and recordings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE, GPU_DEVICE
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import AxisError, DeviceError, DTypeError, ShapeError
from py_tensor.ir import primitives
from py_tensor.ir.bind import EMPTY, bind, forget, leaf
from py_tensor.ir.node import Node, Op, meta_of
from py_tensor.ir.primitives import (
    ASSIGN,
    CAST,
    CONCAT,
    CONTRACT,
    EDGES,
    EXPAND,
    GATHER,
    MUL,
    PAD,
    RESHAPE,
    SCATTER,
    SUM,
    VIEW,
    WHERE,
)
from py_tensor.ir.recording import recording
from py_tensor.ops.record import Composition
from py_tensor.ops.reduction import CUMSUM
from py_tensor.ops.sorting import SORT
from py_tensor.random.threefry import random_bits
from py_tensor.runtime.device import deferring
from py_tensor.schedule.order import topological
from tests.functions import functions
from tests.unit.fake_bridge import GPU

RECORDED: dict[str, tuple[Callable[[pt.Tensor], pt.Tensor], list[str]]] = {
    "unary": (lambda x: pt.exp(x), ["exp"]),
    "binary": (lambda x: x + x, ["add"]),
    "a number": (lambda x: x * 2.0, ["const", "multiply"]),
    "a cast": (lambda x: pt.sqrt(x > 0), ["const", "greater", "astype", "sqrt"]),
    "broadcast": (lambda x: x[0] + x, ["view", "expand", "add"]),
    "reduction": (lambda x: x.sum(0), ["sum", "reshape"]),
    "product": (lambda x: x @ x, ["broadcast", "broadcast", "fused_multiply_add", "reshape"]),
    "where": (lambda x: pt.where(x > 0, x, 1.0), ["const", "greater", "const", "where"]),
    "random": (
        lambda x: pt.random.Generator(1).rand(2, device="cpu"),
        ["index", "const", "offset", "const", "const", "random_bits", "rand"],
    ),
    "concat": (lambda x: pt.concat([x, x]), ["concat"]),
    "sort": (lambda x: pt.sort(x), ["sort"]),
    "pad": (lambda x: pt.pad(x, 1), ["const", "pad"]),
}


def recorded(y: pt.Tensor, operands: Callable[[Node], tuple[Node, ...]]) -> list[str]:
    """Return the sorted names of the ops between stored operands and a tensor."""
    nodes = {y._node}  # pyright: ignore[reportPrivateUsage]
    stack = list(nodes)
    while stack:
        for x in operands(stack.pop()):
            if x not in nodes:
                nodes.add(x)
                stack.append(x)
    return sorted(node.op.name for node in nodes if node.op.name != "leaf")


@pytest.mark.parametrize("what", RECORDED)
def test_a_recording_has_every_node(what: str) -> None:
    """At first, and from a cached recipe; also if nodes are computed when they are recorded."""
    f, expected = RECORDED[what]
    x = pt.tensor([[3.0, 1.0], [2.0, 4.0]], device="cpu")
    forget()
    for _ in range(2):
        with recording() as made:
            y = f(x)
        assert recorded(y, made.operands) == sorted(expected)
        y.tolist()
        assert recorded(y, made.operands) == sorted(expected)


def node(dtype: DType, *shape: int, device: Any = CPU_DEVICE) -> Node:
    return leaf(meta_of(shape, dtype, device), EMPTY)


FLOAT, INT, BOOL = pt.float32, pt.int32, pt.bool
f1, f6, f23, f32, i6, b6, none = (
    node(FLOAT), node(FLOAT, 6), node(FLOAT, 2, 3), node(FLOAT, 3, 2), node(INT, 6), node(BOOL, 6),
    node(FLOAT, 0),
)  # fmt: skip
many, i2, i3, f2, f3 = (
    node(FLOAT, 2**32),
    node(INT, 2),
    node(INT, 3),
    node(FLOAT, 2),
    node(FLOAT, 3),
)
NAMES = ("exp", "add", "less", "bitwise_and", "negative", "any", "argmax", "max")
EXP, ADD, LESS, AND, NEGATIVE, ANY, ARGMAX, MAX = (vars(functions()[name])["op"] for name in NAMES)
INTO = (0,), 0, "", "set", False

# op, operands, attributes, error, message
REFUSED: list[tuple[Op, tuple[Node, ...], Any, type[Exception], str]] = [
    (MUL, (f23, f32), None, ShapeError, r"multiply: .* one shape, not \(2, 3\) and \(3, 2\)$"),
    (MUL, (f6,), None, TypeError, "multiply: takes 2 operands, not 1$"),
    (EXP, (f6, f6), None, TypeError, "exp: takes 1 operand, not 2$"),
    (EXP, (i6,), None, DTypeError, "exp: computes in float32, not int32$"),
    (ADD, (f6, i6), None, DTypeError, "add: operands must have one dtype, not float32 and int32$"),
    (ADD, (f1, i6), None, DTypeError, "add: operands must have one dtype, not float32 and int32$"),
    (LESS, (b6, b6), None, DTypeError, "less: computes in int32, not bool$"),
    (AND, (f6, f6), None, DTypeError, "bitwise_and: takes bool and int dtypes, not"),
    (NEGATIVE, (b6,), None, DTypeError, "negative: takes int, float and complex dtypes, not bool$"),
    (WHERE, (f6, f6, f6), None, DTypeError, "where: operand 0 must be bool, not float32$"),
    (random_bits, (i6, i6, i6), None, DTypeError, "random_bits: takes uint32, not int32$"),
    (CAST, (f6,), "int", DTypeError, "astype: converts to a dtype, not to 'int'$"),
    (SUM, (f6,), (1,), AxisError, "sum: axis 1 is out of bounds for"),
    (SUM, (f6,), (-1,), AxisError, r"sum: axes must be nonnegative, not \(-1,\)$"),
    (SUM, (f23,), (1, 1), AxisError, r"sum: repeated axis in \(1, 1\)$"),
    (SUM, (f6,), None, TypeError, "sum: axes must be a tuple of ints, not None$"),
    (SUM, (none,), (0,), ShapeError, r"sum: no elements along axes \(0,\) of \(0,\)$"),
    (ANY, (f6,), (0,), DTypeError, "any: computes in bool, not float32$"),
    (ARGMAX, (b6,), (0,), DTypeError, "argmax: takes int, float and complex dtypes, not bool$"),
    (ARGMAX, (node(FLOAT, 2**31 + 1),), (0,), ShapeError, "argmax: the index along axes .* int32$"),
    (MAX, (f6,), (1,), AxisError, "max: axis 1 is out of bounds for"),
    (CONTRACT, (f23, f32), (0,), ShapeError, "fused_multiply_add: operands .* do not match$"),
    (CONTRACT, (f23, f23), (2,), AxisError, "fused_multiply_add: axis 2 is out of bounds"),
    (CUMSUM, (f6,), (1,), AxisError, "cumsum: axis 1 is out of bounds"),
    (CUMSUM, (b6,), (0,), DTypeError, "cumsum: takes int, float and complex dtypes, not bool$"),
    (SORT, (f6,), (1, False), AxisError, "sort: axis 1 is out of bounds"),
    (SORT, (node(BOOL, 2**31 + 1),), (0, False), ShapeError, "sort: an index along axis 0 of .*"),
    (RESHAPE, (f6,), (5,), ShapeError, "reshape: cannot reshape .*, 6 elements, to"),
    (RESHAPE, (f6,), (3, -1), ShapeError, r"reshape: invalid shape \(3, -1\) and strides"),
    (RESHAPE, (f1,), (1,) * 65, ShapeError, "reshape: shape .* has 65 axes; at most 64"),
    (EXPAND, (f3,), (2,), ShapeError, r"expand: shape \(3,\) does not broadcast to \(2,\)$"),
    (EXPAND, (f23,), (3,), ShapeError, "expand: shape .* does not broadcast"),
    (VIEW, (f6,), ((3,), (2,), 2), ShapeError, "view: shape .* from 2 is outside the elements of"),
    (VIEW, (f6,), ((3,), (-1,), 1), ShapeError, "view: shape .* is outside the elements of"),
    (VIEW, (f6,), ((3,), (1, 1), 0), ShapeError, "view: invalid shape"),
    (EDGES, (f6,), ((1,), 2), AxisError, "edges: axis 1 is out of bounds"),
    (EDGES, (f6,), ((0,), 7), ShapeError, "edges: shape .* is outside the elements of"),
    (
        PAD,
        (f6, node(INT)),
        ((1, 1),),
        DTypeError,
        "pad: the fill value must be a float32 scalar, not int32",
    ),
    (PAD, (f6, f1), ((1, 1), (1, 1)), ShapeError, r"pad: widths .* do not fit the shape \(6,\)$"),
    (PAD, (f6, f1), ((-1, 1),), ShapeError, "pad: widths .* do not fit"),
    (CONCAT, (f23, f32), 0, ShapeError, "concat: shapes .* differ in an axis other than axis 0$"),
    (CONCAT, (f6, i6), 0, DTypeError, "concat: .* one dtype, not float32 and int32$"),
    (CONCAT, (f6, f6), 1, AxisError, "concat: axis 1 is out of bounds"),
    (CONCAT, (), 0, TypeError, "concat: takes at least 1 operand, not 0$"),
    (ASSIGN, (f6, i2), ((2,), (1,), 0), DTypeError, "setitem: cannot assign a value of int32"),
    (ASSIGN, (f6, f3), ((3,), (1,), 100), ShapeError, "setitem: shape .* from 100 is outside"),
    (ASSIGN, (f6, f3), ((2,), (1,), 0), ShapeError, "setitem: cannot assign a value of shape"),
    (ASSIGN, (f6, f3), ((3,), (0,), 0), ShapeError, "setitem: shape .* has overlapping elements$"),
    (GATHER, (f6, f3), ((0,), 0, ""), DTypeError, "take_along_axis: indices must be integers"),
    (GATHER, (f6, i3), ((5,), 0, "index"), AxisError, "index: axis 5 is out of bounds"),
    (GATHER, (f6, i3), ((0, 0), 0, "index"), AxisError, r"index: repeated axis in \(0, 0\)$"),
    (GATHER, (f6, i3, i3), ((0,), 0, ""), ShapeError, "take_along_axis: 2 indices do not"),
    (GATHER, (f23, i3, i2), ((0, 1), 0, ""), ShapeError, "take_along_axis: .* one shape"),
    (
        GATHER,
        (f23, i3),
        ((0,), 2, ""),
        ShapeError,
        r"take_along_axis: .* do not match axes \(0,\) of \(2, 3\) inserted at 2$",
    ),
    (GATHER, (f23, i2), ((0,), 0, ""), ShapeError, "take_along_axis: indices .* inserted at 0$"),
    (GATHER, (none, i3), ((0,), 0, "take"), IndexError, "take: shape .* has no elements"),
    (SCATTER, (f6, i3, i3), INTO, DTypeError, "scatter: .* int32 to a tensor of float32$"),
    (SCATTER, (f6, f2, i3), INTO, ShapeError, "scatter: cannot assign a value of shape"),
    (SCATTER, (f6, f3, f3), INTO, DTypeError, "scatter: indices must be integers, not float32$"),
    (SCATTER, (f6, f3), INTO, ShapeError, "scatter: 0 indices do not match the axes"),
    (SCATTER, (f6, f3, i3), ((1,), 0, "put", "set", False), AxisError, "put: axis 1 is out of"),
    (SCATTER, (f6, f3, i3), ((0,), 0, "", "xor", False), ValueError, "scatter: mode .* not 'xor'"),
    (SCATTER, (f6, many, node(INT, 2**32)), INTO, ShapeError, "scatter: 4294967296 values"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "attrs", "error", "message"), REFUSED)
def test_an_op_rejects_invalid_operands(
    op: Op, operands: tuple[Node, ...], attrs: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}"):
        bind(op, operands, attrs)


def test_every_op_refuses_operands_on_two_devices() -> None:
    ops = {op for f in functions().values() if (op := getattr(f, "op", None)) is not None}
    ops |= {op for op in vars(primitives).values() if isinstance(op, Op)}
    assert len(ops) > 80
    for op in ops:
        with pytest.raises(DeviceError, match=f"^{op.name}: operands on cpu and webgpu; move one"):
            bind(op, (f6, node(FLOAT, 6, device=GPU_DEVICE)))


def test_a_user_defined_kernel_rejects_invalid_operands() -> None:
    scale = pt.kernel(
        "scale",
        "y[index] = x[index] * by;",
        inputs={"x": pt.float32},
        outputs={"y": "x"},
        params=("by",),
        numpy=lambda np, x, by: x * by,
    )
    op = scale(pt.ones(3, device="cpu"), by=2.0)._node.op  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(TypeError, match=r"^scale: takes 2 operands, not 1$"):
        bind(op, (f6,), 0)
    with pytest.raises(DTypeError, match=r"^scale: x must be float32, not int32$"):
        bind(op, (i6, f1), 0)
    with pytest.raises(DTypeError, match=r"^scale: by must be one float32, not float32\[6\]$"):
        bind(op, (f6, f6), 0)


def test_an_empty_result_is_a_leaf() -> None:
    x = pt.ones((0, 3), device="cpu")._node
    made = bind(MUL, (x, x))
    assert made.op.name == "leaf"
    assert made.meta is x.meta


PLAIN: dict[str, Callable[[pt.Tensor], pt.Tensor]] = {
    "sum of an axis": lambda x: x.sum(-1),
    "sum of all": lambda x: x.sum(),
    "max": lambda x: x.max(0, keepdims=True),
    "argmin": lambda x: x.argmin(1),
    "any": lambda x: x.any(),
    "mean": lambda x: x.mean(1),
    "variance": lambda x: x.var(0),
    "variance, corrected": lambda x: x.var(ddof=1, keepdims=True),
    "deviation": lambda x: x.std((0, 1)),
    "softmax": lambda x: pt.softmax(x, 0),
    "log-softmax": lambda x: pt.log_softmax(x),
    "layer norm": lambda x: pt.layer_norm(x, eps=0.1),
    "roll": lambda x: pt.roll(x, 1, 1),
    "roll by nothing": lambda x: pt.roll(x, 3, 1),
    "pad": lambda x: pt.pad(x, 1),
    "a number before": lambda x: 2 - x,
    "a number behind": lambda x: x**2,
    "where": lambda x: pt.where(x, 1, 2.5),
}


def graph_of(x: pt.Tensor, operand: pt.Tensor) -> list[tuple[Any, ...]]:
    """Return the nodes between an operand and a tensor, with the positions of their operands."""
    order = topological([x._node])  # pyright: ignore[reportPrivateUsage]
    places = {node: place for place, node in enumerate(order)}
    return [
        (node.op, repr(node.attrs), node.meta, node.key, [places[i] for i in node.inputs])
        for node in order
        if node is not operand._node  # pyright: ignore[reportPrivateUsage]
    ]


@pytest.mark.parametrize("f", PLAIN.values(), ids=PLAIN.keys())
@pytest.mark.parametrize("dtype", [pt.float32, pt.int32, pt.bool_], ids=str)
def test_recording_again_gives_the_same_nodes(
    f: Callable[[pt.Tensor], pt.Tensor], dtype: DType
) -> None:
    """Nodes are the same the first time and from a cached recipe."""
    CPU_DEVICE.flush()  # pending nodes of other tests could make it flush in between
    tensors = [pt.tensor([[0, 1, 1], [1, 0, 1]], dtype=dtype, device="cpu") for _ in range(3)]
    forget()
    with deferring():
        first = graph_of(f(tensors[0]), tensors[0])
        again = [graph_of(f(x), x) for x in tensors for _ in range(2)]
    assert all(graph == first for graph in again)


def test_a_composition_distinguishes_its_operands() -> None:
    CPU_DEVICE.flush()  # a call with a flush in between is not cached
    recorded: list[int] = []

    @Composition
    def difference(x: pt.Tensor, y: pt.Tensor) -> pt.Tensor:
        recorded.append(1)
        return x * 2 - y

    x, y = (pt.tensor(values, device="cpu") for values in ([1.0, 2.0], [5.0, 7.0]))
    assert difference((x, x)).tolist() == [1, 2]
    assert difference((x, y)).tolist() == [-3, -3]
    assert difference((y, x)).tolist() == [9, 12]
    assert len(recorded) == 2  # a call with the same operand twice is not cached
    assert difference((y, y)).tolist() == [5, 7]


def test_a_composition_of_several_results() -> None:
    CPU_DEVICE.flush()
    recorded: list[int] = []

    @Composition
    def parts(x: pt.Tensor, y: pt.Tensor) -> tuple[pt.Tensor, pt.Tensor, pt.Tensor]:
        recorded.append(1)
        total = x + y
        return total, total[1:], total[::-1] * x

    for factor in (1, 2, 3):
        x, y = (pt.tensor(v, device="cpu") * factor for v in ([1.0, 2.0], [5.0, 7.0]))
        total, rest, product = parts((x, y))
        assert total.tolist() == [6 * factor, 9 * factor]
        assert rest.tolist() == [9 * factor]
        assert product.tolist() == [9 * factor**2, 12 * factor**2]
        assert rest.base is None
        rest[0] = 0  # no result is a view of another
        assert total.tolist() == [6 * factor, 9 * factor]
    assert len(recorded) == 1


def test_no_write_comes_between_the_results_of_a_composition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    CPU_DEVICE.flush()

    @Composition
    def parts(x: pt.Tensor) -> tuple[pt.Tensor, pt.Tensor]:
        return x + 1, x * 10

    written, has_written = pt.zeros(3, device="cpu"), True
    record = type(CPU_DEVICE).record

    def recording(self: Any, node: Any, **options: Any) -> None:
        nonlocal has_written
        record(self, node, **options)
        if node.op.name == "add" and not has_written:
            has_written = True
            written[1:] = 100

    monkeypatch.setattr(type(CPU_DEVICE), "record", recording)
    for _ in range(3):
        written = pt.tensor([1.0, 2.0, 3.0], device="cpu") * 1
        has_written = False
        first, second = parts((written,))
        assert (first.tolist(), second.tolist()) == ([2, 3, 4], [10, 20, 30])
        assert written.tolist() == [1, 100, 100]


def test_a_composition_keeps_nothing_of_a_write_by_another_task() -> None:
    """The write may occur while the function records, because recording may wait."""
    CPU_DEVICE.flush()
    written = pt.tensor([1.0, 2.0], device="cpu")

    @Composition
    def tripled(x: pt.Tensor) -> pt.Tensor:
        doubled = x * 2
        written[...] = written * 5
        return doubled + x

    assert tripled((written,)).tolist() == [3, 6]
    assert written.tolist() == [5, 10]
    assert tripled((pt.tensor([1.0, 1.0], device="cpu"),)).tolist() == [3, 3]


@pytest.mark.parametrize("name", ["mean", "variance", "softmax", "layer norm"])
def test_nodes_of_a_composition_count_as_pending(gpu: GPU, name: str) -> None:
    """If they did not count, many more would be pending than a device allows."""
    x = pt.full((64, 64), 1.5, device=gpu.device).realize()
    counts: list[int] = []
    for _ in range(2):
        before = gpu.backend.planned + gpu.backend.recalled
        y = [PLAIN[name](x) for _ in range(1500)]
        counts.append(gpu.backend.planned + gpu.backend.recalled - before)
        pt.realize(*y)
    assert counts[0]
    assert abs(counts[1] - counts[0]) <= 1
