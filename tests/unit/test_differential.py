"""The differential test itself: NumPy agrees with NumPy, and a wrong module is detected."""

from __future__ import annotations

import inspect
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.differential import compare_calls
from tests.differential.calls import CALLS, ELSEWHERE, call
from tests.differential.programs import Program, make
from tests.differential.run import NumPyArrays, check, difference, tensors_on

FEW_HUNDRED = 300


class Array(np.ndarray):
    """NumPy's array; subclasses have an error."""


class Module:
    """NumPy with arrays of a subclass, and with some functions replaced."""

    def __init__(self, kind: type[np.ndarray], functions: dict[str, Any]) -> None:
        self._kind = kind
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        found = self._functions.get(name, getattr(np, name))
        if isinstance(found, type) or not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._of_kind(found(*args, **kwargs))

        if hasattr(found, "at"):
            vars(call)["at"] = getattr(found, "at")  # noqa: B009
        return call

    def _of_kind(self, x: Any) -> Any:
        if isinstance(x, list | tuple):
            return [self._of_kind(piece) for piece in x]
        return x.view(self._kind) if type(x) is np.ndarray else x


def wrong(functions: dict[str, Any] | None = None, **methods: Any) -> Module:
    """Return a module with these functions and methods of arrays."""
    return Module(type("Array", (Array,), methods), functions or {})


def negative_steps(index: Any) -> bool:
    items = index if isinstance(index, tuple) else (index,)
    return any(isinstance(item, slice) and (item.step or 1) < 0 for item in items)


def is_basic(index: Any) -> bool:
    items = index if isinstance(index, tuple) else (index,)
    return all(item is None or isinstance(item, int | slice | type(...)) for item in items)


def copying(name: str) -> Callable[..., Any]:
    """Return a method whose result is a copy."""

    def method(self: np.ndarray, *args: Any) -> Any:
        return getattr(np.ndarray, name)(self, *args).copy()

    return method


def rebinding(self: np.ndarray, other: Any) -> Any:
    return self + other


def unbuffered(self: np.ndarray, index: Any, value: Any) -> None:
    """Assign rows one by one, so that some may change before they are read."""
    target = self[index]
    if not (is_basic(index) and np.ndim(target) and np.shape(value) == target.shape):
        np.ndarray.__setitem__(self, index, value)
        return
    for i in range(len(target)):
        np.ndarray.__setitem__(target, i, value[i])


def off_by_one(self: np.ndarray, index: Any, value: Any) -> None:
    if negative_steps(index) and np.ndim(value):
        value = np.roll(value, 1)
    np.ndarray.__setitem__(self, index, value)


def first_of_repeats(self: np.ndarray, index: Any, value: Any) -> None:
    """For repeated integers in a list, the first value is kept."""
    if isinstance(index, list) and np.ndim(value) == self.ndim and len(value) == len(index):
        index, value = index[::-1], value[::-1]
    np.ndarray.__setitem__(self, index, value)


def after_change(self: np.ndarray, index: Any, value: Any) -> None:
    """A failing assignment changes elements."""
    try:
        np.ndarray.__setitem__(self, index, value)
    except ValueError:
        if self.flags.writeable:
            self.ravel()[:1] = 7
        raise


def other_error(self: np.ndarray, index: Any) -> Any:
    try:
        return np.ndarray.__getitem__(self, index)
    except IndexError as error:
        if isinstance(index, int):  # iteration ends with it
            raise
        raise ValueError(str(error)) from error


def rounding(self: np.ndarray, index: Any, value: Any) -> None:
    np.ndarray.__setitem__(self, index, np.rint(value) if isinstance(value, float) else value)


def element_as_view(self: np.ndarray, index: Any) -> Any:
    found = np.ndarray.__getitem__(self, index)
    if isinstance(found, np.generic) and isinstance(index, tuple):
        return np.ndarray.__getitem__(self, (*index, ...))
    return found


def short_masks(self: np.ndarray, index: Any, value: Any) -> None:
    """A mask with fewer axes is aligned with the last axes."""
    if isinstance(index, np.ndarray) and index.dtype == bool and index.shape == self.shape[-1:]:
        index = (..., index)
    np.ndarray.__setitem__(self, index, value)


def without_where(name: str) -> dict[str, Any]:
    def function(*args: Any, where: Any = None, **kwargs: Any) -> Any:
        return getattr(np, name)(*args, **kwargs)

    return {name: function}


def without_out(*args: Any, out: Any = None, where: Any = True) -> Any:
    return np.add(*args)


def writable_broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(x, shape).copy()


def sorted_last(self: np.ndarray, axis: int = -1) -> None:
    np.ndarray.sort(self, -1)


def unsafe_add(self: np.ndarray, other: Any) -> Any:
    return np.add(self, other, out=self, casting="unsafe")


def ignoring_out(name: str) -> dict[str, Any]:
    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        return getattr(np, name)(*args, **kwargs)

    return {name: function}


def adding_once() -> dict[str, Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return np.add(*args, **kwargs)

    def at(x: np.ndarray, index: Any, value: Any) -> None:
        x[index] = np.add(x[index], value)

    vars(function)["at"] = at
    return {"add": function}


def nothing(*args: Any) -> None:
    """A function that does not write."""


WRONG = {
    "ravel() copies": wrong(ravel=copying("ravel")),
    "reshape() copies": wrong(reshape=copying("reshape")),
    "a slice is a copy": wrong(
        __getitem__=lambda self, i: (
            np.array(np.ndarray.__getitem__(self, i), subok=True)
            if np.ndim(np.ndarray.__getitem__(self, i))
            else np.ndarray.__getitem__(self, i)
        )
    ),
    "a negative slice is a copy": wrong(
        __getitem__=lambda self, i: np.ndarray.__getitem__(
            self.copy() if negative_steps(i) else self, i
        )
    ),
    ".T is a copy": wrong(T=property(lambda self: self.transpose().copy())),
    "swapaxes() copies": wrong(swapaxes=copying("swapaxes")),
    "squeeze() copies": wrong(squeeze=copying("squeeze")),
    "flip() copies": wrong({"flip": lambda x, axis=None: np.flip(x, axis).copy()}),
    "expand_dims() copies": wrong({"expand_dims": lambda x, a: np.expand_dims(x, a).copy()}),
    "array_split() copies": wrong(
        {"array_split": lambda *a, **k: [x.copy() for x in np.array_split(*a, **k)]}
    ),
    "rows of a loop are copies": wrong(__iter__=lambda self: iter([x.copy() for x in self[:]])),
    "copy() is a view": wrong(copy=lambda self: self[...]),
    "astype() to the same dtype is a view": wrong(
        astype=lambda self, dtype: np.ndarray.astype(self, dtype, copy=False)
    ),
    "flatten() is a view": wrong(flatten=np.ndarray.ravel),
    "an element is a view": wrong(__getitem__=element_as_view),
    "+= rebinds": wrong(__iadd__=rebinding),
    "^= rebinds": wrong(__ixor__=lambda self, other: self ^ other),
    "+= casts": wrong(__iadd__=unsafe_add),
    "overlapping rows are not buffered": wrong(__setitem__=unbuffered),
    "a reversed slice is off by one": wrong(__setitem__=off_by_one),
    "the first of repeated integers wins": wrong(__setitem__=first_of_repeats),
    "a failing assignment changes": wrong(__setitem__=after_change),
    "IndexError is ValueError": wrong(__getitem__=other_error),
    "a float is rounded": wrong(__setitem__=rounding),
    "a mask is aligned with the last axes": wrong(__setitem__=short_masks),
    "add ignores out": wrong({"add": without_out}),
    "maximum ignores where": wrong(without_where("maximum")),
    "copyto ignores where": wrong(without_where("copyto")),
    "broadcast_to can be written": wrong({"broadcast_to": writable_broadcast}),
    "sort ignores the axis": wrong(sort=sorted_last),
    "flat is a copy": wrong(
        flat=property(lambda self: self.copy().flat, lambda self, values: None)
    ),
    "put does nothing": wrong({"put": nothing}),
    "putmask does nothing": wrong({"putmask": nothing}),
    "place does nothing": wrong({"place": nothing}),
    "put_along_axis does nothing": wrong({"put_along_axis": nothing}),
    "add.at adds once": wrong(adding_once()),
    "take ignores out": wrong(ignoring_out("take")),
    "cumsum ignores out": wrong(ignoring_out("cumsum")),
    "sum ignores where": wrong(without_where("sum")),
    "fill does nothing": wrong(fill=lambda self, value: None),
}


def test_numpy_agrees_with_itself() -> None:
    for seed in range(40):
        check(seed, NumPyArrays())


def raising(error: type[Exception]) -> Module:
    """Return a module whose arrays raise this for all indices except ``...`` and slices."""

    def read(self: np.ndarray, index: Any) -> Any:
        if index is Ellipsis or isinstance(index, slice):
            return np.ndarray.__getitem__(self, index)
        raise error

    def write(self: np.ndarray, index: Any, value: Any) -> None:
        read(self, index)
        np.ndarray.__setitem__(self, index, value)

    return wrong(__getitem__=read, __setitem__=write)


TWO_ERRORS = (
    "a[[0, 3]] = [1, 2, 3]",
    "a[[0, 3]] += [1, 2, 3]",
    "a[np.asarray([[0], [3]]), [0]] = np.zeros((3, 2))",
    "a[3:][[0, 1]] = a[:0]",
)
ONE_ERROR = {
    IndexError: ("a[[0, 3]] = 1", "a[3] = 1", "a[[0, 3]] += 1"),
    ValueError: ("a[[0, 2]] = [1, 2, 3]", "a[a > 0] = [1, 2]"),
}


def test_either_of_two_errors_is_accepted() -> None:
    made = ("a = np.ones(3)", "a = np.ones((3, 2))")
    for error in (IndexError, ValueError, TypeError):
        arrays = NumPyArrays(raising(error))
        for n, statement in enumerate(TWO_ERRORS):
            found = difference(Program(0, (made[n > 1], statement), 1), arrays)
            assert (found is None) == (error is not TypeError), statement


@pytest.mark.parametrize("error", ONE_ERROR)
def test_another_error_than_numpys_is_a_difference(error: type[Exception]) -> None:
    for other in ONE_ERROR:
        arrays = NumPyArrays(raising(other))
        for statement in ONE_ERROR[error]:
            found = difference(Program(0, ("a = np.ones(3)", statement), 1), arrays)
            assert (found is None) == (error is other), statement


def test_an_array_of_a_subclass_is_no_difference() -> None:
    for seed in range(40):
        check(seed, NumPyArrays(wrong()))


def test_views_of_new_arrays_stay_views() -> None:
    """Only results of NumPy that are not in C order are copied."""
    ones = "a = np.ones((2, 3), dtype=np.float32)"
    for steps in (
        (ones, "b = np.add(a, 1)[0]", "b = np.add(1, 1, out=np.ravel(a.T)[::-1])"),
        (ones, "b = a[:, np.asarray([0, 2], dtype=np.int32)]"),
        (ones, "a = a.T", "b = a + 1"),
        (ones, "b = (a * 2)[::2]"),
    ):
        steps = (*steps, "b.ravel()[:2] = 7", "c = b.ravel()", "c[0] = 5")
        with tensors_on("cpu") as tensors:
            assert difference(Program(0, steps, 1), tensors) is None, steps


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_module_is_caught(name: str) -> None:
    arrays = NumPyArrays(WRONG[name])
    assert any(difference(make(seed), arrays) for seed in range(FEW_HUNDRED))


# -- Calls of functions ---------------------------------------------------------------------------


def test_every_public_function_has_calls() -> None:
    elsewhere = {name for names in ELSEWHERE.values() for name in names.split()}
    functions = {
        name
        for name in dir(pt)
        if not name.startswith("_") and inspect.isfunction(getattr(pt, name))
    }
    for module in ("linalg", "fft"):
        ours, numpys = getattr(pt, module), getattr(np, module)
        functions |= {f"{module}.{n}" for n in dir(numpys) if inspect.isfunction(vars(ours).get(n))}
    assert functions - set(CALLS) - elsewhere == set()
    assert elsewhere - functions == set()


def test_numpys_calls_agree_with_numpys(source: random.Random) -> None:
    for name in CALLS:
        compare_calls.check(call(name, source.choice), np)


@pytest.mark.parametrize(
    ("name", "function"),
    {
        "sum": lambda x, axis=None, **options: np.sum(x, axis=axis and 0, **options),
        "argmax": lambda x, **options: np.argmax(x, **options) + 1,
        "median": lambda x, **options: np.mean(x, **options),
        "reshape": lambda x, shape: np.resize(x, np.zeros(shape).shape if -1 not in shape else -1),
        "concatenate": lambda arrays, axis=0: np.concatenate(arrays[::-1], axis),
        "add": np.logaddexp,
    }.items(),
)
def test_a_wrong_function_is_caught(
    name: str, function: Callable[..., Any], source: random.Random
) -> None:
    module = wrong({name: function})
    texts = (call(name, source.choice) for _ in range(FEW_HUNDRED))
    with pytest.raises(AssertionError, match=name):
        deque((compare_calls.check(text, module) for text in texts), maxlen=0)
