"""User-defined kernels as functions of tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import index
from reprlib import repr as _shown  # shortened
from typing import Any, ClassVar, SupportsIndex, cast

from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DeviceError, DTypeError, ShapeError
from py_tensor.base.shapes import Shape, parse_shape
from py_tensor.codegen.custom import MAX_NESTING, Buffer, CustomPass, nesting_of
from py_tensor.codegen.program import MAX_GROUPS
from py_tensor.ir.arrays import Array, Run
from py_tensor.ir.bind import bind
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Meta, Node, Op, meta_of
from py_tensor.ir.primitives import constant
from py_tensor.ops.operands import Operand, Real, as_arrays, node_of, real_number_of
from py_tensor.schedule import build
from py_tensor.schedule.body import Body, Const
from py_tensor.schedule.build import Builder, Family
from py_tensor.schedule.kernel import Kernel
from py_tensor.tensors.tensor import Tensor

__all__ = ["kernel"]

MAX_BUFFERS = 8  # the limit that every device supports
MAX_INVOCATIONS = 256  # per workgroup, also on every device
MAX_INDICES = 2**32 - 1  # `index` is a u32

ShapeRule = str | Callable[..., Shape]
Rule = tuple[ShapeRule, str | DType]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")  # NUL, and halves of characters
_TAKEN = {"group", "groups", "index", "invocation", "main", "params", "WORKGROUP"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Custom(Op):
    """A user's kernel on tensors and numbers (x1, ..., xk, p1, ..., pn).

    The node's attribute is the number of the output. Each output's node runs the kernel.
    """

    body: str
    inputs: Mapping[str, DType | None]
    outputs: Mapping[str, Rule]
    params: Mapping[str, DType]
    workgroup: int
    dispatch: Callable[..., int] | None
    on_arrays: Callable[..., Any] | None

    barrier: ClassVar[bool] = True

    @property
    def operands(self) -> int:
        return len(self.inputs) + len(self.params)

    def buffered(self, node: Node) -> tuple[Node, ...]:
        return node.inputs[: len(self.inputs)]

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        for (name, dtype), meta in zip(self.params.items(), metas[len(self.inputs) :], strict=True):
            if meta.shape or meta.dtype is not dtype:
                raise DTypeError(f"{self.name}: {name} must be one {dtype}, not {meta}")
        result = self.results(metas)[int(attrs)]
        return result.shape, result.dtype

    def results(self, metas: tuple[Meta, ...]) -> list[Meta]:
        """Return the metas of all outputs."""
        by_name = dict(zip(self.inputs, metas, strict=False))
        for (name, dtype), meta in zip(self.inputs.items(), metas, strict=False):
            if dtype is not None and meta.dtype is not dtype:
                raise DTypeError(f"{self.name}: {name} must be {dtype}, not {meta.dtype}")
            if not meta.size:
                raise ShapeError(f"{self.name}: {name} of shape {meta.shape} has no elements")
        shapes = [meta.shape for meta in by_name.values()]
        metas_of_outputs: list[Meta] = []
        for name, (where, kind) in self.outputs.items():
            shape = by_name[where].shape if isinstance(where, str) else where(*shapes)
            dtype = by_name[kind].dtype if isinstance(kind, str) else kind
            shape = parse_shape(f"{self.name}: {name}", shape)
            metas_of_outputs.append(meta_of(shape, dtype, metas[0].device))
        return metas_of_outputs

    def count(self, inputs: tuple[Meta, ...], results: list[Meta]) -> int:
        """Return the number of indices to run for."""
        if self.dispatch is None:
            return results[0].size
        count: object = self.dispatch(*(meta.shape for meta in inputs))
        if not _is_int(count):
            raise TypeError(f"{self.name}: dispatch must return an int, not {_shown(count)}")
        number = index(cast("SupportsIndex", count))
        most = min(MAX_INDICES, MAX_GROUPS**2 * self.workgroup)
        if not 1 <= number <= most:
            raise ValueError(
                f"{self.name}: dispatch must return from 1 to {most} indices, not {_shown(number)}"
            )
        return number

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        assert self.on_arrays is not None
        k = len(self.inputs)
        options = {name: x.item() for name, x in zip(self.params, operands[k:], strict=True)}
        computed = self.on_arrays(run.np, *map(_read_only, operands[:k]), **options)
        results: tuple[Array, ...] = computed if len(self.outputs) > 1 else (computed,)
        result = run.np.asarray(results[node.attrs]).astype(node.meta.dtype.host)
        if result.shape != node.meta.shape:
            raise ShapeError(
                f"{self.name}: numpy returned shape {result.shape}, not {node.meta.shape}"
            )
        return result


def _read_only(x: Array) -> Array:
    """Return a read-only view of an array, whose memory may be shared."""
    view = x.view()
    view.flags.writeable = False
    return view


def _build(builder: Builder, slot: int, node: Node) -> None:
    """Build one kernel over the indices for which the body runs."""
    op = cast("Custom", node.op)
    k = len(op.inputs)
    metas = tuple(x.meta for x in node.inputs)
    buffered = builder.decisions.buffered[slot]
    for operand in buffered:
        builder.need(operand.slot)
    operands = zip(op.inputs, metas, buffered, strict=False)
    inputs = [Buffer(name, x.slot, meta.shape, meta.dtype) for name, meta, x in operands]
    results = op.results(metas)
    outputs = [
        Buffer(name, slot if n == node.attrs else None, meta.shape, meta.dtype)
        for n, (name, meta) in enumerate(zip(op.outputs, results, strict=True))
    ]
    numbers = [
        (name, Const(builder.slots[x], x.meta.dtype))
        for name, x in zip(op.params, node.inputs[k:], strict=True)
    ]
    count = op.count(metas[:k], results)
    stage = CustomPass(
        op.name, op.body, tuple(inputs), tuple(outputs), tuple(numbers), op.workgroup
    )
    builder.kernels.append(Kernel((count,), (), (stage,), Body(), (), op.name))


build.FAMILIES.insert(0, Family(Custom, _build))


def kernel(
    name: str,
    wgsl: str,
    *,
    inputs: tuple[str, ...] | Mapping[str, object],
    outputs: Mapping[str, str | tuple[ShapeRule, object]],
    params: tuple[str, ...] | Mapping[str, object] = (),
    workgroup_size: int = 64,
    dispatch: Callable[..., int] | None = None,
    numpy: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Create a function of tensors from your own WGSL kernel.

    Parameters
    ----------
    name : str
        The name of the kernel in errors, `pt.profile` and `pt.explain`.
    wgsl : str
        The body of the entry point. It runs for each ``index`` (u32) below the number that
        `dispatch` returns. Tensors are arrays in row-major order, named as here: bools as u32, 8-
        and 16-bit integers as i32, float16 as f32. For a tensor ``x``, ``x_shape[0]`` is the size
        of the first axis. Parameters are values named as here. The body must write every element of
        the outputs exactly once.
    inputs
        Names, or a mapping from names to accepted dtypes; None accepts any.
    outputs : dict
        For each name, the name of an input with the same shape and dtype, or a pair: the shape, as
        the name of an input or a function of the inputs' shapes, and the dtype, as the name of an
        input or a dtype.
    params
        Names of float32 parameters, or a mapping from names to dtypes. They are keyword arguments
        of the function. A new value does not recompile the kernel.
    workgroup_size : int
        Invocations per workgroup, from 1 to 256.
    dispatch : callable, optional
        Returns the number of indices to run for, from the inputs' shapes. By default the size of
        the first output.
    numpy : callable, optional
        ``numpy(np, *arrays, **params)`` computes the same with NumPy, for the cpu device. Without
        it the function runs on GPUs only. The arrays are read-only and must not be kept.

    Returns
    -------
    callable
        ``function(*tensors, **params)`` returns the output, or a tuple of outputs. Each output of a
        tuple that is read runs the kernel once. The results have no derivative.

    Raises
    ------
    ValueError
        If a name is not valid in WGSL, an output refers to an unknown input, there are more than 8
        tensors, the workgroup size is out of range, or the WGSL nests more than 48 levels deep;
        when called, if `dispatch` returns no valid number of indices.
    DTypeError
        If a dtype is unknown; when called, if a tensor or a number has another dtype.
    GPUError
        At the next read, if the WGSL does not compile; it names the kernel and the line.

    Examples
    --------
    >>> import py_tensor as pt
    >>> blur = pt.kernel(
    ...     "blur",
    ...     '''
    ...     let n = i32(x_shape[0]);
    ...     var sum = 0.0;
    ...     for (var d = -radius; d <= radius; d++) {
    ...       sum += x[clamp(i32(index) + d, 0, n - 1)];
    ...     }
    ...     y[index] = sum / f32(2 * radius + 1);
    ...     ''',
    ...     inputs=("x",),
    ...     outputs={"y": "x"},
    ...     params={"radius": pt.int32},
    ... )
    >>> blur(pt.tensor([0.0, 0.0, 3.0, 0.0, 6.0]), radius=1)  # doctest: +SKIP
    tensor([0., 1., 1., 3., 4.])
    >>> collatz = pt.kernel(
    ...     "collatz",
    ...     '''
    ...     var n = x[index];
    ...     var count = 0;
    ...     while (n > 1u) {
    ...       n = select(n / 2u, 3u * n + 1u, n % 2u == 1u);
    ...       count++;
    ...     }
    ...     steps[index] = count;
    ...     ''',
    ...     inputs={"x": pt.uint32},
    ...     outputs={"steps": ("x", pt.int32)},
    ... )
    >>> collatz(pt.tensor([1, 6, 27], dtype=pt.uint32))  # doctest: +SKIP
    tensor([  0,   8, 111])
    """
    _check_text(name, wgsl)
    taken = inputs if isinstance(inputs, Mapping) else dict.fromkeys(inputs)
    named = {word: None if dtype is None else dtypes.parse(dtype) for word, dtype in taken.items()}
    by_name = params if isinstance(params, Mapping) else dict.fromkeys(params, dtypes.float32)
    numbers = {word: dtypes.parse(dtype) for word, dtype in by_name.items()}
    names = [*named, *outputs, *numbers]
    for word in names:
        if not _NAME.fullmatch(word) or word in _TAKEN or names.count(word) > 1:
            raise ValueError(f"{name}: {word!r} is not a unique, valid WGSL name")
    if not named or not outputs or len(named) + len(outputs) > MAX_BUFFERS:
        raise ValueError(f"{name}: needs inputs and outputs, at most {MAX_BUFFERS} in all")
    if not _is_int(workgroup_size) or not 1 <= workgroup_size <= MAX_INVOCATIONS:
        raise ValueError(
            f"{name}: workgroup_size must be from 1 to {MAX_INVOCATIONS},"
            f" not {_shown(workgroup_size)}"
        )
    rules = {word: _rule(name, rule, named) for word, rule in outputs.items()}
    op = Custom(
        name, wgsl, named, rules, numbers, workgroup_size, dispatch, numpy,
        vjp=NOT_DIFFERENTIABLE,
    )  # fmt: skip

    def function(*operands: Operand, **values: Real) -> Any:
        if len(operands) != len(named):
            raise TypeError(f"{name}: takes {', '.join(named)}, not {len(operands)} tensors")
        if values.keys() != numbers.keys():
            raise TypeError(f"{name}: takes the numbers ({', '.join(numbers)}), not {list(values)}")
        tensors = as_arrays(name, operands)
        device = tensors[0].device
        if device.uses_numpy and numpy is None:
            raise DeviceError(
                f"{name}: runs on webgpu only; pass numpy= to run it on the cpu device"
            )
        nodes = [node_of(x) for x in tensors]
        nodes += [
            constant(name, _number(name, word, values[word], dtype), dtype, device)
            for word, dtype in numbers.items()
        ]
        metas = tuple(x.meta for x in nodes)
        results = op.results(metas)
        for meta in results:
            device.check(name, meta)
        op.count(metas[: len(named)], results)
        outputs_made = tuple(Tensor(bind(op, tuple(nodes), n)) for n in range(len(outputs)))
        return outputs_made[0] if len(outputs_made) == 1 else outputs_made

    function.__name__ = function.__qualname__ = name
    return function


def _check_text(name: object, wgsl: object) -> None:
    """Raise unless a kernel's name and body are text that a compiler can read."""
    for what, text in (("name", name), ("WGSL", wgsl)):
        if not isinstance(text, str):
            raise TypeError(f"kernel {_shown(name)}: the {what} must be a str, not {_shown(text)}")
        wrong = _NOT_TEXT.search(text)
        if wrong:
            raise ValueError(
                f"kernel {_shown(name)}: character {wrong.start()} of the {what} is"
                f" {wrong.group()!r}, which is not valid in WGSL"
            )
    assert isinstance(wgsl, str)
    nesting = nesting_of(wgsl)
    if nesting > MAX_NESTING:
        raise ValueError(
            f"{name}: the WGSL nests {nesting} levels of parentheses, blocks, operators or types;"
            f" at most {MAX_NESTING} are supported"
        )


def _is_int(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _rule(name: str, rule: str | tuple[ShapeRule, object], inputs: Mapping[str, object]) -> Rule:
    """Return the specification of an output, with dtype names converted to dtypes."""
    where, kind = (rule, rule) if isinstance(rule, str) else rule
    if isinstance(where, str) and where not in inputs:
        raise ValueError(f"{name}: an output refers to {where!r}, but the inputs are {[*inputs]}")
    return where, kind if isinstance(kind, str) and kind in inputs else dtypes.parse(kind)


def _number(name: str, word: str, value: object, dtype: DType) -> Real:
    """Return a parameter; an integer dtype accepts only whole numbers."""
    number = real_number_of(name, word, value)
    if dtype.is_integer and number != int(number):
        raise DTypeError(f"{name}: {word} must be {dtype}, not {number}")
    return number
