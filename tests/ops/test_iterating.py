"""Iterators over elements, against NumPy's: `nditer`, `ndenumerate`, `ndindex` and ``x.flat``."""

# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.compare import same

Array = Any
VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda a: a,
    "transposed": lambda a: a.transpose(2, 0, 1),
    "reversed": lambda a: a[::-1],
    "both": lambda a: a[:, ::-1].T,
    "strided": lambda a: a[::2, :, 1:],
    "one axis": lambda a: a[0, 1],
    "no axes": lambda a: a[0, 0, 0, ...],
}


@pytest.fixture
def array(rng: np.random.Generator) -> Array:
    return rng.integers(0, 99, (4, 2, 3)).astype(np.int32)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_orders(view: str, order: Any, array: Array, device: str) -> None:
    a, x = VIEWS[view](array), VIEWS[view](pt.tensor(array, device=device))
    expected = [int(v) for v in np.nditer(a, order=order)]
    assert [v.item() for v in pt.nditer(x, order=order)] == expected
    theirs = np.nditer(a, flags=["multi_index"], order=order)
    ours = pt.nditer(x, flags=["multi_index"], order=order)
    assert (ours.itersize, ours.ndim, ours.shape, ours.nop) == (a.size, a.ndim, a.shape, 1)
    while not theirs.finished:
        assert ours.multi_index == theirs.multi_index
        assert ours[0].item() == ours.value.item() == theirs[0].item()
        assert ours.iternext() == theirs.iternext()
    assert ours.finished
    for flag in ("c_index", "f_index"):
        theirs = np.nditer(a, flags=[flag], order=order)
        ours = pt.nditer(x, flags=[flag], order=order)
        assert [ours.index for _ in ours] == [theirs.index for _ in theirs]


@pytest.mark.parametrize("view", VIEWS)
def test_writes(view: str, array: Array, device: str) -> None:
    whole = pt.tensor(array, device=device)
    a, x = VIEWS[view](array), VIEWS[view](whole)
    a[...] = 2 * a + 1
    with pt.nditer(x, op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = 2 * v + 1
    same(whole, array, "what was written")
    it = pt.nditer(x, op_flags=[["readwrite"]], flags=["multi_index"])
    it[0] = 7
    assert x[it.multi_index] == 7


def test_a_result_that_must_not_broadcast(array: Array, device: str) -> None:
    """The loop of NumPy's guide for a function of an operand and a result."""
    flags = [["readonly"], ["writeonly", "allocate", "no_broadcast"]]
    results: list[Any] = []
    for np_, x in ((pt, pt.tensor(array, device=device)), (np, array)):
        it: Any = np_.nditer([x, None], op_flags=flags)
        with it:
            for element, result in it:
                result[...] = element * element
            results.append(it.operands[1])
    np.testing.assert_array_equal(np.asarray(results[0]), results[1])


def test_several_operands(array: Array, device: str) -> None:
    x = pt.tensor(array, device=device)
    row = np.array([1, 2, 3], np.int32)
    pairs = [(int(a), int(b)) for a, b in np.nditer([array, row])]
    for other in (row, pt.tensor(row, device=device), [1, 2, 3]):
        assert [(a.item(), b.item()) for a, b in pt.nditer([x, other])] == pairs
    theirs, ours = np.nditer([array, row, None]), pt.nditer([x, row, None])
    for a, b, c in theirs:
        c[...] = a * b
    for a, b, c in ours:
        c[...] = a * b
    same(ours.operands[2], theirs.operands[2], "what is new")
    it = pt.nditer([x, None], op_dtypes=[None, "float32"])
    assert str(it.operands[1].dtype) == "float32"
    assert it.operands[1].device is x.device
    it = pt.nditer([x, 0.5], flags=["common_dtype"])
    assert [str(d) for d in it.dtypes] == ["float32", "float32"]


def test_external_loop(array: Array, device: str) -> None:
    x = pt.tensor(array, device=device)
    for view in ("whole", "transposed"):
        (vector,) = pt.nditer(VIEWS[view](x), flags=["external_loop"])
        same(vector, array.reshape(-1), view)
        (columns,) = pt.nditer(VIEWS[view](x), flags=["external_loop"], order="F")
        same(columns, VIEWS[view](array).ravel("F"), view)
    for vector in pt.nditer(x, flags=["external_loop"], op_flags=["readwrite"]):
        vector[...] = vector * 2
    same(x, array * 2, "written as one vector")
    theirs = array * 2
    whole = pt.tensor(theirs, device=device)
    for order in ("C", "F"):  # a part without contiguous elements is written back
        count = array[:, :, ::2].size
        with pt.nditer(whole[:, :, ::2], ["external_loop"], ["readwrite"], order=order) as it:
            for vector in it:
                vector[...] = pt.arange(count, device=device)
        theirs[:, :, ::2] = np.arange(count).reshape(4, 2, 2, order=order)
        same(whole, theirs, f"written in order {order}")


def test_walking(array: Array, device: str) -> None:
    it = pt.nditer(pt.tensor(array[0], device=device), flags=["multi_index"])
    assert len(it) == 1
    first = [v.item() for v in it]
    assert it.finished
    it.reset()
    assert (it.iterindex, it.finished, it.multi_index) == (0, False, (0, 0))
    assert [v.item() for v in it] == first
    assert [*pt.nditer(pt.ones((0, 3), device=device), flags=["zerosize_ok"])] == []


def test_jumps_and_copies(device: str) -> None:
    """Assigned positions, `iternext` and copies agree with NumPy."""
    array = np.arange(6, dtype="int32").reshape(2, 3) * 10
    flags = ["multi_index", "c_index"]
    seen: list[Any] = []
    iterators: tuple[Any, ...] = (
        np.nditer(array, flags),
        pt.nditer(pt.tensor(array, device=device), flags),
    )
    for it in iterators:
        it.iterindex = 2
        values = [it.value.item(), it.iternext(), it.value.item()]
        copied = it.copy()
        values += [next(it).item(), next(it).item(), copied.value.item(), copied.multi_index]
        it.multi_index = (1, 2)
        values.append(it.value.item())
        it.index = 1
        values.append(it.value.item())
        it.reset()
        it.remove_multi_index()
        seen.append([*values, it.has_multi_index, *(v.item() for v in copied)])
    assert seen[0] == seen[1]
    x = pt.zeros((2, 3), device=device)
    whole: Any = pt.nditer(x[:, ::2], ["external_loop"], ["readwrite"])
    next(whole)[...] = 3
    assert [*whole.copy()] == []  # which has nothing to write back
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]]
    whole.close()
    assert x.tolist() == [[3, 0, 3], [3, 0, 3]]


def test_axes_of_operands(device: str) -> None:
    """`op_axes` and `itershape` agree with NumPy."""
    a, b, c = np.arange(6).reshape(2, 3), np.arange(3) * 10, np.arange(2) * 100
    forms: list[tuple[list[Any], dict[str, Any]]] = [
        ([b, c], {"op_axes": [[0, -1], [-1, 0]]}),
        ([b, c], {"op_axes": [[0, None], [None, 0]]}),
        ([a, b], {"op_axes": [[1, 0], [0, -1]]}),
        ([a, c], {"op_axes": [[1, 0], None]}),
        ([a], {"op_axes": [[0]]}),
        ([b], {"op_axes": [[-1, 0]], "itershape": (2, 3)}),
        ([a, b], {"op_axes": [[0, 1], [-1, 0]], "itershape": (-1, 3)}),
    ]
    for order in "CF":
        for arrays, options in forms:
            tensors = [pt.tensor(v, dtype="int32", device=device) for v in arrays]
            theirs = np.nditer(arrays, order=order, **options)
            ours = pt.nditer(tensors, order=order, **options)
            assert ours.operands[0].shape == theirs.operands[0].shape
            expected = [[int(v) for v in row] for row in map(np.atleast_1d, theirs)]
            assert [[v.item() for v in row] for row in ours] == expected
    for axes in (None, [1, 0], [0, 1]):
        options = {"op_axes": [[0, -1], [-1, 0], axes]}
        results: list[Any] = []
        for module, made in ((np, np.array), (pt, lambda v: pt.tensor(v, device=device))):
            it: Any = module.nditer([made(b), made(c), None], **options)
            with it:
                for x, y, z in it:
                    z[...] = x + y
                results.append(it.operands[2])
        assert results[1].tolist() == results[0].tolist()
    x = pt.zeros((2, 3), device=device)
    with pt.nditer(x, op_axes=[[1, 0]], op_flags=["readwrite"], flags=["multi_index"]) as it:
        for v in it:
            v[...] = it.multi_index[0] * 10 + it.multi_index[1]
    assert x.tolist() == [[0, 10, 20], [1, 11, 21]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: pt.nditer(x, flags=["range"]), ValueError, '^nditer: .* "range"'),
        (lambda x: pt.nditer(x, op_flags=["readonly", "overwrite"]), ValueError, '"overwrite"$'),
        (lambda x: pt.nditer(x, op_flags=["readonly", "readwrite"]), ValueError, "Only one of"),
        (lambda x: pt.nditer(x, ["c_index", "external_loop"]), ValueError, "EXTERNAL_LOOP cannot"),
        (
            lambda x: pt.nditer(
                [x, pt.ones((4, 3))], op_flags=[["readonly", "no_broadcast"], ["readonly"]]
            ),
            ValueError,
            r"^nditer: non-broadcastable operand with shape \(3,\)",
        ),
        (lambda x: pt.nditer(x, order="B"), ValueError, "order"),
        (lambda x: pt.nditer(x, op_axes=[[0], [0]]), ValueError, "op_axes .* number of ops"),
        (lambda x: pt.nditer(x, op_axes=[[0, 0]]), ValueError, "duplicate value 0"),
        (lambda x: pt.nditer(x, op_axes=[[1]]), ValueError, "not a valid axis"),
        (lambda x: pt.nditer(x, itershape=(4,)), ValueError, r"\(4,\)"),
        (lambda x: pt.nditer([x, None], op_axes=[[0], [1]]), ValueError, "inconsistent axis"),
        (lambda x: pt.nditer([x, x], op_flags=[["readonly"]]), ValueError, "op_flags must"),
        (lambda x: pt.nditer([x, x], op_dtypes=["int32"]), ValueError, "1 dtypes .* 2"),
        (lambda x: pt.nditer([None]), ValueError, "not None"),
        (lambda x: pt.nditer([x, pt.ones((2, 2))]), ValueError, r"^nditer: .*\(2,2\)"),
        (
            lambda x: pt.nditer([x, pt.ones((4, 3))], op_flags=[["readwrite"], ["readonly"]]),
            ValueError,
            "^nditer: output operand requires a reduction",
        ),
        (lambda x: pt.nditer(x, ["multi_index"], ["readwrite"], "int32"), ValueError, "iterated"),
        (lambda x: pt.nditer(x).multi_index, ValueError, "not tracking"),
        (lambda x: pt.nditer(x).index, ValueError, "not have an index"),
        (lambda x: cast("Any", pt.nditer(x)).unknown, AttributeError, "'nditer' .*unknown"),
        (lambda x: cast("Any", pt.nditer(x)).itviews, AttributeError, "'nditer' .*itviews"),
        (
            lambda x: cast("Any", pt.nditer(x)).enable_external_loop(),
            AttributeError,
            "'nditer' .*external",
        ),
        (lambda x: setattr(pt.nditer(x), "iterindex", 9), IndexError, "^nditer: .*iterindex"),
        (lambda x: setattr(pt.nditer(x), "iterrange", (0, 1)), AttributeError, "iterrange"),
        (lambda x: pt.nditer(x)[1], IndexError, "^nditer: "),
        (lambda x: pt.nditer(x).__setitem__(0, 1), ValueError, "read-only"),
        (lambda x: vars(pt)["__getattr__"]("nested_iters"), AttributeError, "ndindex"),
    ],
)
def test_invalid_calls(call: Any, error: type[Exception], words: str) -> None:
    before = pt.default_device()
    pt.set_default_device("cpu")
    try:
        with pytest.raises(error, match=words):
            call(pt.ones(3))
    finally:
        pt.set_default_device(before)


def test_indices_and_pairs(array: Array, device: str) -> None:
    x = pt.tensor(array, device=device)
    for shape in ((4, 2, 3), (5,), (), (2, 0)):
        assert [*pt.ndindex(*shape)] == [*np.ndindex(*shape)]
        assert [*pt.ndindex(shape)] == [*np.ndindex(shape)]
    assert [*pt.ndenumerate(x.T)] == [(i, int(v)) for i, v in np.ndenumerate(array.T)]


def test_flat(array: Array, device: str) -> None:
    x = pt.tensor(array, device=device)
    ours, theirs = x.flat, array.flat
    assert isinstance(ours, pt.flatiter)
    assert iter(ours) is ours
    for _ in range(5):
        assert (ours.index, ours.coords) == (theirs.index, theirs.coords)
        assert next(ours).item() == next(theirs)
    assert [v.item() for v in ours] == [*theirs]
    assert (ours.index, ours.coords) == (theirs.index, theirs.coords)
    assert [*ours] == []
    assert [v.item() for v in x.flat] == array.reshape(-1).tolist()
    np.testing.assert_array_equal(pt.array(x.T.flat).numpy(), np.array(array.T.flat))
    np.testing.assert_array_equal(pt.bincount(x.T.flat).numpy(), np.bincount(array.T.flat))
    np.testing.assert_array_equal(pt.concatenate([x.flat, x.flat]).numpy(), [*array.flat] * 2)


def test_valid_calls() -> None:
    def handler(*args: object) -> None: ...

    assert pt.seterrcall(handler) is None
    assert pt.seterrcall(None) is handler
    assert pt.geterrcall() is None
    size = pt.getbufsize()
    assert size == np.getbufsize()
    with pt.errstate():
        pt.setbufsize(4096)
        pt.seterrcall(handler)
    assert (pt.getbufsize(), pt.geterrcall()) == (size, None)
    assert pt.setbufsize(4096) == size
    assert pt.getbufsize() == 4096
    pt.setbufsize(size)
    with pytest.raises(ValueError, match=r"^seterrcall: "):
        pt.seterrcall(3)
    with pytest.raises(ValueError, match=r"^setbufsize: "):
        pt.setbufsize(-1)
