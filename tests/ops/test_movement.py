"""Chains of movement ops against NumPy, random and hand-written."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from tests.ops import programs
from tests.ops.compare import same

PROGRAMS = 240
GROUPS = 8


@pytest.mark.computes
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_chains(group: int, device: str, request: pytest.FixtureRequest) -> None:
    """reshape, permute, expand, pad, crop, slices and flip on views of views."""
    seed = request.config.option.seed
    for n in range(PROGRAMS // GROUPS):
        program = programs.make([seed, 100 + group, n], (3, 6, 12)[n % 3], movement_only=True)
        programs.check(program, device)


# name -> (call on our tensor, the same on NumPy's array), both of shape (2, 3, 4)
MOVES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "permute negative": (lambda x: x.permute((-1, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "permute as arguments": (lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "permute_dims": (lambda x: pt.permute_dims(x, (1, 0, 2)), lambda a: a.transpose(1, 0, 2)),
    "transpose": (lambda x: x.transpose(), lambda a: a.transpose()),
    "transpose axes": (lambda x: x.transpose(0, 2, 1), lambda a: a.transpose(0, 2, 1)),
    "T": (lambda x: x.T, lambda a: a.T),
    "mT": (lambda x: x.mT, lambda a: a.swapaxes(-1, -2)),
    "matrix_transpose": (pt.matrix_transpose, lambda a: a.swapaxes(-1, -2)),
    "swapaxes": (lambda x: x.swapaxes(0, -1), lambda a: a.swapaxes(0, -1)),
    "reshape": (lambda x: x.reshape(6, 4), lambda a: a.reshape(6, 4)),
    "reshape -1": (lambda x: x.reshape((3, -1)), lambda a: a.reshape(3, -1)),
    "reshape list": (lambda x: pt.reshape(x, [4, 6]), lambda a: a.reshape(4, 6)),
    "reshape of a transpose": (lambda x: x.T.reshape(2, 12), lambda a: a.T.reshape(2, 12)),
    "reshape of a flip": (lambda x: x.flip(1).reshape(6, 4), lambda a: np.flip(a, 1).reshape(6, 4)),
    "ravel": (lambda x: x.ravel(), lambda a: a.ravel()),
    "ravel of a transpose": (lambda x: x.mT.ravel(), lambda a: a.swapaxes(1, 2).ravel()),
    "flatten": (lambda x: x.flatten(), lambda a: a.ravel()),
    "expand": (
        lambda x: x[:, :1].expand((2, 5, 4)),
        lambda a: np.broadcast_to(a[:, :1], (2, 5, 4)),
    ),
    "expand leading": (lambda x: x.expand(2, 2, 3, 4), lambda a: np.broadcast_to(a, (2, 2, 3, 4))),
    "broadcast_to": (lambda x: pt.broadcast_to(x, (1, 2, 3, 4)), lambda a: a[None]),
    "squeeze": (lambda x: x[:1, :, :1].squeeze(), lambda a: a[:1, :, :1].squeeze()),
    "squeeze axis": (lambda x: x[:1, :, :1].squeeze(-1), lambda a: a[:1, :, :1].squeeze(-1)),
    "squeeze axes": (
        lambda x: x[:1, :, :1].squeeze((0, 2)),
        lambda a: a[:1, :, :1].squeeze((0, 2)),
    ),
    "expand_dims": (lambda x: pt.expand_dims(x, 1), lambda a: np.expand_dims(a, 1)),
    "expand_dims tuple": (lambda x: x.expand_dims((0, -1)), lambda a: np.expand_dims(a, (0, -1))),
    "unsqueeze": (lambda x: x.unsqueeze(-1), lambda a: a[..., None]),
    "flip": (lambda x: x.flip(), lambda a: np.flip(a)),
    "flip axes": (lambda x: x.flip((0, -1)), lambda a: np.flip(a, (0, 2))),
    "crop": (lambda x: x.crop(((1, 2), (0, 2), (1, 4))), lambda a: a[1:2, 0:2, 1:4]),
    "crop to nothing": (lambda x: x.crop(((1, 1), (0, 2), (1, 4))), lambda a: a[1:1, 0:2, 1:4]),
    "pad": (
        lambda x: x.pad(((1, 0), (0, 2), (3, 1))),
        lambda a: np.pad(a, ((1, 0), (0, 2), (3, 1))),
    ),
    "pad int": (lambda x: x.pad(1), lambda a: np.pad(a, 1)),
    "pad pair": (lambda x: x.pad((1, 2)), lambda a: np.pad(a, (1, 2))),
    **{
        f"pad values {values}": (
            lambda x, v=values: x.pad(((1, 2), (0, 1), (2, 0)), constant_values=v),
            lambda a, v=values: np.pad(a, ((1, 2), (0, 1), (2, 0)), constant_values=v),
        )
        for values in ((1,), (1, 0), ((1, 0),), ((1, 0), (0, 1), (1, 1)))
    },
    "pad value": (lambda x: x.pad(1, constant_values=1), lambda a: np.pad(a, 1, constant_values=1)),
    "pad of a flip": (lambda x: x.flip(2).pad(1), lambda a: np.pad(np.flip(a, 2), 1)),
    "pad of nothing": (lambda x: x[:0].pad(1), lambda a: np.pad(a[:0], 1)),
    **{
        f"pad, {mode}": (
            lambda x, m=mode: pt.pad(x, ((2, 1), (0, 5), (3, 3)), m),
            lambda a, m=mode: np.pad(a, ((2, 1), (0, 5), (3, 3)), m),
        )
        for mode in ("edge", "wrap", "reflect", "symmetric")
    },
    "pad twice": (
        lambda x: x.pad(1).pad(2, constant_values=1),
        lambda a: np.pad(np.pad(a, 1), 2, constant_values=1),
    ),
    "index": (lambda x: x[1], lambda a: a[1]),
    "index negative": (lambda x: x[-1, -2], lambda a: a[-1, -2]),
    "index all": (lambda x: x[1, 2, 3], lambda a: a[1, 2, 3]),
    "slices": (lambda x: x[:, 1:, ::2], lambda a: a[:, 1:, ::2]),
    "slices reversed": (lambda x: x[::-1, ::-2, 3:0:-1], lambda a: a[::-1, ::-2, 3:0:-1]),
    "slices past the end": (lambda x: x[5:, :100, -100:2], lambda a: a[5:, :100, -100:2]),
    "ellipsis": (lambda x: x[..., 1], lambda a: a[..., 1]),
    "ellipsis in the middle": (lambda x: x[0, ..., 1], lambda a: a[0, ..., 1]),
    "newaxis": (lambda x: x[:, None, 1, pt.newaxis], lambda a: a[:, None, 1, None]),
    "numpy index": (lambda x: x[np.int64(1)], lambda a: a[1]),
    "tensor index": (lambda x: x[pt.tensor(1)], lambda a: a[1]),
    "list index": (lambda x: x[[1, -2, 0]], lambda a: a[[1, -2, 0]]),
    "nested list index": (lambda x: x[[[1], [0]]], lambda a: a[[[1], [0]]]),
    "empty list index": (lambda x: x[[]], lambda a: a[[]]),
    "list index in a tuple": (lambda x: x[[1, 0],], lambda a: a[[1, 0],]),
    "array index": (lambda x: x[np.array([1, 1, 0])], lambda a: a[[1, 1, 0]]),
    "concat": (
        lambda x: pt.concat([x, x.flip(0), x[:1]]),
        lambda a: np.concatenate([a, a[::-1], a[:1]]),
    ),
    "concat last": (
        lambda x: pt.concat([x, x[..., :1]], -1),
        lambda a: np.concatenate([a, a[..., :1]], -1),
    ),
    "concat None": (
        lambda x: pt.concat([x, x[0]], None),
        lambda a: np.concatenate([a, a[0]], None),
    ),
    "concat many": (
        lambda x: pt.concat([x[:1] for _ in range(23)] + [x, x[:0], pt.flip(x, 0)] * 3),
        lambda a: np.concatenate([a[:1]] * 23 + [a, a[::-1]] * 3),
    ),
    "concat empty": (lambda x: pt.concat([x[:0], x, x[:0]]), lambda a: a),
    "concat all empty": (lambda x: pt.concat([x[:0], x[:0]]), lambda a: a[:0]),
    "concatenate": (
        lambda x: pt.concatenate([x.T, x.T], 1),
        lambda a: np.concatenate([a.T, a.T], 1),
    ),
    "stack": (lambda x: pt.stack([x, x + x], 1), lambda a: np.stack([a, a + a], 1)),
    "stack last": (lambda x: pt.stack([x.T, x.T], -1), lambda a: np.stack([a.T, a.T], -1)),
    "moveaxis": (lambda x: pt.moveaxis(x, 0, -1), lambda a: np.moveaxis(a, 0, -1)),
    "moveaxis several": (
        lambda x: pt.moveaxis(x, (0, 2), (1, 0)),
        lambda a: np.moveaxis(a, (0, 2), (1, 0)),
    ),
    "repeat": (lambda x: pt.repeat(x, 3, 1), lambda a: np.repeat(a, 3, 1)),
    "repeat flat": (lambda x: x.repeat(2), lambda a: np.repeat(a, 2)),
    "repeat by a list": (
        lambda x: pt.repeat(x, [2, 0, 1, 3], axis=2),
        lambda a: np.repeat(a, [2, 0, 1, 3], axis=2),
    ),
    "repeat by one in a list": (lambda x: x.repeat([2], 0), lambda a: a.repeat([2], 0)),
    "repeat by a tensor": (
        lambda x: x.repeat(pt.tensor([1, 2]), axis=0),
        lambda a: np.repeat(a, [1, 2], axis=0),
    ),
    "repeat 0 times": (lambda x: x.repeat(0, -1), lambda a: np.repeat(a, 0, -1)),
    "tile": (lambda x: pt.tile(x, (2, 1, 3)), lambda a: np.tile(a, (2, 1, 3))),
    "tile last": (lambda x: pt.tile(x, 2), lambda a: np.tile(a, 2)),
    "tile to more axes": (lambda x: pt.tile(x[0], (2, 2, 1)), lambda a: np.tile(a[0], (2, 2, 1))),
    "tile 0 times": (lambda x: pt.tile(x, (0, 1, 1)), lambda a: np.tile(a, (0, 1, 1))),
    "roll": (lambda x: pt.roll(x, 1, 2), lambda a: np.roll(a, 1, 2)),
    "roll flat": (lambda x: pt.roll(x, -5), lambda a: np.roll(a, -5)),
    "roll axes": (lambda x: pt.roll(x, (1, -7), (1, 2)), lambda a: np.roll(a, (1, -7), (1, 2))),
    "roll axes alike": (lambda x: pt.roll(x, 1, (0, 1)), lambda a: np.roll(a, 1, (0, 1))),
    "roll twice": (lambda x: pt.roll(x, (2, -3), 1), lambda a: np.roll(a, (2, -3), 1)),
    "roll flat twice": (lambda x: pt.roll(x, (2, 3)), lambda a: np.roll(a, (2, 3))),
    "roll by nothing": (lambda x: pt.roll(x, (), 1), lambda a: np.roll(a, (), 1)),
    "roll along nothing": (lambda x: pt.roll(x, 1, ()), lambda a: np.roll(a, 1, ())),
    "roll of nothing": (lambda x: pt.roll(x[:0], 1, 0), lambda a: a[:0]),
    "vstack": (lambda x: pt.vstack([x[0, 0], x[1]]), lambda a: np.vstack([a[0, 0], a[1]])),
    "hstack": (lambda x: pt.hstack([x, x]), lambda a: np.hstack([a, a])),
    "hstack vectors": (
        lambda x: pt.hstack([x[0, 0], x[1, 1, 1]]),
        lambda a: np.hstack([a[0, 0], a[1, 1, 1]]),
    ),
    "meshgrid": (
        lambda x: pt.stack(pt.meshgrid(x[0, 0], x[0, :, 0])),
        lambda a: np.stack(np.meshgrid(a[0, 0], a[0, :, 0])),
    ),
    "meshgrid ij": (
        lambda x: pt.stack(pt.meshgrid(x[0, 0], x[0, :, 0], x[:, 0, 0], indexing="ij")),
        lambda a: np.stack(np.meshgrid(a[0, 0], a[0, :, 0], a[:, 0, 0], indexing="ij")),
    ),
    "outer": (lambda x: pt.outer(x[0], x[1, 0]), lambda a: np.outer(a[0], a[1, 0])),
    "tril": (lambda x: pt.tril(x), np.tril),
    "tril of a vector": (lambda x: pt.tril(x[0, 0]), lambda a: np.tril(a[0, 0])),
    "tril below": (lambda x: pt.tril(x, -1), lambda a: np.tril(a, -1)),
    "triu": (lambda x: pt.triu(x), np.triu),
    "triu above": (lambda x: pt.triu(x, 1), lambda a: np.triu(a, 1)),
    **{
        f"diag {k}": (
            lambda x, k=k: pt.stack([pt.diag(x[0, 0], k).ravel(), pt.diag(x[1, 0], k).ravel()]),
            lambda a, k=k: np.stack([np.diag(a[0, 0], k).ravel(), np.diag(a[1, 0], k).ravel()]),
        )
        for k in (0, 2, -1)
    },
    **{
        f"diagonal {k}": (
            lambda x, k=k: pt.concat([pt.diag(x[0], k), pt.diag(x[0].T, k)]),
            lambda a, k=k: np.concatenate([np.diag(a[0], k), np.diag(a[0].T, k)]),
        )
        for k in (0, 1, -2, 3)
    },
    "iteration": (lambda x: pt.stack(list(x)[::-1]), lambda a: a[::-1]),
}
DTYPES = ("float32", "int32", "uint32", "bool")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_each_move(dtype: str, device: str, rng: np.random.Generator) -> None:
    data = rng.integers(0, 2 if dtype == "bool" else 9, (2, 3, 4)).astype(dtype)
    x = pt.tensor(data, device=device)
    for name, (ours, numpys) in MOVES.items():
        same(ours(x), numpys(data), f"{name}, {dtype}")
        same(ours(x + x), numpys(data + data), f"{name} of a pending sum, {dtype}")


@pytest.mark.computes
def test_split(device: str) -> None:
    data = np.arange(24, dtype=np.int32).reshape(4, 6)
    x = pt.tensor(data, device=device)
    for parts, axis in ((2, 0), (3, 1), ([1, 3], 0), ([2, 2, 5], -1), ([0, 9], 0)):
        got, expected = x.split(parts, axis), np.split(data, parts, axis)
        assert len(got) == len(expected)
        for i, (a, b) in enumerate(zip(got, expected, strict=True)):
            same(a, b, f"split({parts}, {axis})[{i}]")


@pytest.mark.computes
def test_trace(device: str) -> None:
    data = np.arange(12, dtype=np.int32).reshape(3, 4)
    x = pt.tensor(data, device=device)
    for offset in (0, 1, -1, 5):
        expected = np.asarray(np.trace(data, offset), np.int32)
        same(pt.trace(x, offset), expected, f"trace, {offset}")
        same(x.T.trace(-offset), expected, f"trace of the transpose, {offset}")
    cube = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    y = pt.tensor(cube, device=device)
    for axes in ((0, 1), (1, 2), (2, 0), (-1, -2)):
        expected = np.trace(cube, 1, *axes, dtype=np.int32)
        same(pt.trace(y, 1, *axes), expected, f"trace of the axes {axes}")


@pytest.mark.computes
def test_rank_eight(device: str) -> None:
    data = np.arange(2**8, dtype=np.float32).reshape((2,) * 8)
    x = pt.tensor(data, device=device)
    order = (7, 2, 5, 0, 3, 6, 1, 4)
    same(x.permute(order) + x, data.transpose(order) + data, "permute of rank 8")
    same(x.permute(order).sum((1, 4, 6)), data.transpose(order).sum((1, 4, 6)), "sum of rank 8")


@pytest.mark.computes
def test_joining_promotes(device: str) -> None:
    x, y = pt.tensor([1, 2], device=device), pt.tensor([0.5], device=device)
    same(pt.concat([x, y]), np.array([1, 2, 0.5], np.float32), "concat int32, float32")
    same(pt.concat([y, pt.tensor([True], device=device)]), np.array([0.5, 1], np.float32), "bool")
    same(
        pt.stack([x, pt.tensor([True, False], device=device)]),
        np.array([[1, 2], [1, 0]], np.int32),
        "stack",
    )


@pytest.mark.computes
def test_many_operands(device: str, rng: np.random.Generator) -> None:
    """More inputs than a kernel has bindings for."""
    data = rng.integers(-9, 9, (24, 3, 5)).astype(np.float32)
    parts = [pt.tensor(a, device=device) for a in data]
    same(pt.concat(parts, 1), np.concatenate(list(data), 1), "concat of 24")
    total, expected = parts[0], data[0]
    for i, part in enumerate(parts[1:]):
        total = total + part if i % 2 else pt.maximum(total, part)
        expected = expected + data[i + 1] if i % 2 else np.maximum(expected, data[i + 1])
    same(total, expected, "expression of 24 operands")
    same(total.sum(1), expected.sum(1), "its sum")
    same((parts[0] * total).sum(), (data[0] * expected).sum(), "its product's sum")


@pytest.mark.computes
@pytest.mark.parametrize(
    "shape", [(4, 4), (8, 12), (36, 20), (132, 260), (64, 4), (2, 12, 16), (3, 8, 5, 12), (5, 7)]
)
def test_arithmetic_on_transposed_operands(
    shape: tuple[int, ...], device: str, rng: np.random.Generator
) -> None:
    """If both sizes are multiples of four, blocks of four by four are computed at a time."""
    a = rng.standard_normal(shape).astype(np.float32)
    b = rng.standard_normal(shape[::-1]).astype(np.float32)
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    wider = ((4, 0), *((0, 0),) * (len(shape) - 2), (0, 4))
    same(x.T * 2, a.T * 2, "transposed")
    same(x.T - y, a.T - b, "with an operand that is not")
    same(pt.where(y < x.T, x.T, y), np.where(b < a.T, a.T, b), "both in one kernel")
    same(x.T.pad(wider, constant_values=7) + 1, np.pad(a.T, wider, constant_values=7) + 1, "padded")
    same(pt.flip(x.T, 0) + y, a.T[::-1] + b, "flipped")
    same(x.T[:, 1:] + 1, a.T[:, 1:] + 1, "sliced")
    rising = pt.arange(a.size, device=device).reshape(shape[::-1])
    same(rising < x.T, np.arange(a.size).reshape(shape[::-1]) < a.T, "with an index")
    for axes in itertools.permutations(range(len(shape))):
        same(x.permute(axes) + 1, a.transpose(axes) + 1, f"permuted {axes}")


BY_NAME: dict[str, Callable[[Any, Any], Any]] = {
    "split by a number of NumPy's": lambda m, x: m.split(x, np.int64(3), axis=1),
    "split by name": lambda m, x: m.split(x, indices_or_sections=[1], axis=1),
    "split by an array": lambda m, x: m.split(x, np.array([1, 2]), 1),
    "array_split by a number of NumPy's": lambda m, x: m.array_split(x, np.int64(2), 1),
    "array_split by name": lambda m, x: m.array_split(x, indices_or_sections=4, axis=1),
    "transpose": lambda m, x: m.transpose(x, axes=(1, 0)),
    "transpose by None": lambda m, x: m.transpose(x, axes=None),
    "transpose by an array": lambda m, x: x.transpose(m.array([1, 0])),
    "transpose by an array of NumPy's": lambda m, x: m.transpose(x, np.array([1, 0])),
    "permute_dims": lambda m, x: m.permute_dims(x, axes=(1, 0)),
    "reshape": lambda m, x: m.reshape(x, shape=(6, -1)),
    "reshape by one size": lambda m, x: m.reshape(x, shape=-1, order="F"),
    "broadcast_to": lambda m, x: m.broadcast_to(x, shape=(2, 4, 6)),
    "take": lambda m, x: m.take(x, indices=[1, 0], axis=0),
    "the method take": lambda m, x: x.take(indices=[1, 0], axis=0),
    "take_along_axis": lambda m, x: m.take_along_axis(x, indices=x * 0, axis=1),
    "stack": lambda m, x: m.stack(arrays=[x, x], axis=1),
}


@pytest.mark.parametrize("what", BY_NAME)
def test_numpys_names_of_parameters(what: str, device: str) -> None:
    array = np.arange(24, dtype=np.int32).reshape(4, 6)
    found = BY_NAME[what](pt, pt.tensor(array, device=device))
    expected = BY_NAME[what](np, array)
    pairs = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
    for got, wanted in pairs:
        same(got, wanted, what)


def test_put_along_axis_by_name(device: str) -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    x = pt.tensor(array, device=device)
    pt.put_along_axis(x, indices=pt.tensor([[2], [0]], device=device), values=-1, axis=1)
    np.put_along_axis(array, indices=np.array([[2], [0]]), values=-1, axis=1)
    same(x, array, "put_along_axis")


def test_parameters_given_twice_or_wrong(device: str) -> None:
    x = pt.zeros((2, 3), device=device)
    given: dict[str, Any] = {"shape": (3, 2)}
    with pytest.raises(TypeError, match=r"^_?reshape\(\) got multiple values for argument .shape."):
        x.reshape(3, 2, **given)
    with pytest.raises(TypeError, match=r"^transpose: axes was passed twice"):
        x.transpose(1, 0, axes=(1, 0))
    with pytest.raises(TypeError, match=r"^split: takes a number of parts or indices, not 1\.5"):
        pt.split(x, 1.5)


def test_casting_of_joined_tensors_into_out(device: str) -> None:
    x = pt.tensor([[1.5, 2.5]], device=device)
    for name in ("concat", "concatenate", "stack"):
        join = getattr(pt, name)
        shape = (2, 1, 2) if name == "stack" else (2, 2)
        whole = pt.zeros(shape, dtype="int32", device=device)
        with pytest.raises(TypeError, match=rf"^{'concat' if name == 'stack' else name}: .*int32"):
            join([x, x], out=whole)
        assert join([x, x], out=whole, casting="unsafe") is whole
        same(whole, np.broadcast_to(np.array([1, 2], np.int32), shape), f"{name} into ints")


def test_shifts_of_roll_may_be_an_array(device: str) -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    x = pt.tensor(array, device=device)
    expected = np.roll(array, [1, 2], (0, 1))
    for shifts in ([1, 2], np.array([1, 2]), pt.tensor([1, 2], device=device)):
        same(pt.roll(x, cast("Any", shifts), (0, 1)), expected, "roll by several")
    same(pt.roll(x, cast("Any", pt.tensor(4, device=device))), np.roll(array, 4), "roll by one")
