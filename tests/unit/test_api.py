"""Every public name has documentation, and every example in the documentation runs."""

from __future__ import annotations

import copy
import doctest
import importlib
import inspect
import math
import pickle
import pkgutil
import re
import traceback
from collections.abc import Callable
from operator import attrgetter
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends.choice import default_device, set_default_device
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.base import dtypes
from py_tensor.tensors.tensor import Tensor
from py_tensor.tools.hints import FUNCTIONS, KEYWORDS, METHODS, PARTLY, clarify_arguments
from tests.functions import functions

NAMES = {n: getattr(pt, n) for n in dir(pt) if not n.startswith("_")}
ANY: Any = pt
"""The package, without static types."""
PUBLIC = {n: v for n, v in NAMES.items() if callable(v)}


def modules() -> list[ModuleType]:
    found = pkgutil.walk_packages(pt.__path__, "py_tensor.")
    return [pt, *(importlib.import_module(m.name) for m in found)]


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names_are_documented(name: str) -> None:
    value = PUBLIC[name]
    text = inspect.getdoc(value)
    assert text
    assert any(m.startswith("py_tensor") for m in (type(value).__module__, value.__module__))


def test_nothing_else_is_public() -> None:
    """Modules, helpers and constants of the implementation are not public."""
    allowed = {"e", "pi", "inf", "nan", "euler_gamma", "newaxis", "typing", "testing"}
    allowed |= {"mgrid", "ogrid", "r_", "c_", "s_", "index_exp"}
    allowed |= {"single", "double", "int_", "intc", "intp", "uint", "uintc", "uintp"}
    allowed |= {"False_", "ScalarType", "True_", "little_endian", "sctypeDict", "typecodes"}
    allowed |= {"long", "longlong", "ulong", "ulonglong"}
    others = NAMES.keys() - PUBLIC.keys() - allowed
    assert not {n for n in others if not inspect.ismodule(NAMES[n])}
    assert {n for n, v in NAMES.items() if v in dtypes.ALL} >= {d.name for d in dtypes.ALL}
    helpers = {"make", "build", "apply", "tensor_of", "node_of", "as_index", "install", "lift"}
    assert not helpers & set(PUBLIC)


def test_every_op_is_public() -> None:
    for name, function in functions().items():
        assert getattr(pt, name) is function
        assert function.__name__ == name
        assert inspect.signature(function).parameters


def test_public_methods_are_documented() -> None:
    for name, value in inspect.getmembers(Tensor):
        if not name.startswith("_"):
            assert inspect.getdoc(value), name


@pytest.mark.parametrize("module", modules(), ids=lambda m: m.__name__)
def test_examples_run(module: ModuleType) -> None:
    before = default_device()
    set_default_device(CPU_DEVICE)
    try:
        failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    finally:
        set_default_device(before)
    assert not failed


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = [e for m in modules() for t in finder.find(m) for e in t.examples]
    assert len(examples) >= 4


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        (lambda x: pt.Tensor(cast("Any", [1, 2])), TypeError, r"pt\.tensor"),
        (lambda x: x * "a", TypeError, r"^mul: .*str"),
        (
            lambda x: pt.ones((4, 2, 3)) @ pt.ones((5, 3, 2)),
            pt.ShapeError,
            r"\(4, 2, 3\) and \(5, 3",
        ),
        (lambda x: pt.ones((2, 3, 4)).transpose(0, 1), pt.ShapeError, "^transpose: .*swapaxes"),
        (lambda x: pt.concat(x, x), TypeError, "^concat: .*list"),
        (
            lambda x: x.to(cast("Any", pt.int32)),
            pt.DeviceError,
            r"x\.astype\(pt\.int32\) for dtypes",
        ),
    ],
)
def test_habits_from_other_libraries(
    wrong: Callable[[pt.Tensor], object], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        wrong(pt.ones(3))


def test_copies_and_pickles() -> None:
    x = pt.arange(6).reshape(2, 3)
    for y in (copy.copy(x), copy.deepcopy([x])[0]):
        y[0] = 7
        assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert y.tolist() == [[7, 7, 7], [3, 4, 5]]
    values = (x, pt.tensor(2.5), pt.zeros((0, 3)), pt.tensor([True, False]))
    for y in (*values, pt.tensor([1, 2], dtype=pt.uint32)):
        restored = pickle.loads(pickle.dumps(y))
        assert repr(restored) == repr(y)
        assert (restored.shape, restored.dtype) == (y.shape, y.dtype)


@pytest.mark.parametrize(
    ("owner", "name", "words"),
    [
        (pt.ones(2, device="cpu"), "plot", "use the function pt.plot"),
        (pt.ones(2, device="cpu"), "where", "use the function pt.where"),
        (pt.ones(2, device="cpu"), "shap", "'Tensor' object has no attribute 'shap'"),
        (
            pt.ones(2, device="cpu"),
            "getfield",
            "elements have no fields; use x.view(dtype)",
        ),
        (pt.ones(2, device="cpu"), "grad", "pt.grad(f)(x) returns the gradient of a function"),
        (
            pt.ones(2, device="cpu"),
            "add_",
            "use x[...] = x.add(...)",
        ),
        (pt.ones(2, device="cpu"), "copy_", "use x[...] = y"),
        (pt.ones(2, device="cpu"), "masked_fill", "use x[mask] = value"),
        (pt.ones(2, device="cpu"), "_reed", "'Tensor' object has no attribute '_reed'"),
        (pt, "no_grad", "pt.grad(f)(x) returns the gradient of a function"),
        (pt, "cat", "use pt.concat"),
        (pt, "view", "use pt.reshape"),
        (pt, "LongTensor", "use pt.tensor(data, dtype=pt.int64)"),
        (pt, "svd", "use pt.linalg.svd"),
        (pt.ones(2, device="cpu"), "t", "use x.T"),
        (pt.ones(2, device="cpu"), "half", "use x.astype(pt.float16)"),
        (pt.ones(2, device="cpu"), "topk", "use pt.sort(x, descending=True)[:k]"),
        (pt.ones(2, device="cpu"), "shape_", "'Tensor' object has no attribute 'shape_'"),
        (pt.ones(2, device="cpu"), "numpy_", "'Tensor' object has no attribute 'numpy_'"),
        (pt, "nosuch", "module 'py_tensor' has no attribute 'nosuch'"),
        (pt.random, "nosuch", "module 'py_tensor.random' has no attribute 'nosuch'"),
    ],
)
def test_a_name_that_is_elsewhere(owner: Any, name: str, words: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    assert str(caught.value).endswith(words)
    if not words.endswith("'"):  # and Python does not suggest another name
        assert traceback.format_exception_only(caught.value)[-1].endswith(f"{words}\n")


def test_misspelt_names_get_suggestions() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = cast("Any", pt.ones(2, device="cpu")).shap
    assert (caught.value.name, type(caught.value.obj)) == ("shap", pt.Tensor)


def test_listed_names_exist_and_are_public() -> None:
    modules = {name for name, value in NAMES.items() if isinstance(value, ModuleType)}
    assert modules == {
        *("emath", "fft", "lib", "linalg", "polynomial", "random", "testing", "tree"),
        *("typing", "ui"),
    }
    assert {"tensor", "Tensor", "exp", "pi", "float32", "__version__"} <= set(dir(pt))


@pytest.mark.parametrize("name", ["emath", "fft", "lib", "linalg", "polynomial", "testing"])
def test_a_module_lists_its_public_names(name: str) -> None:
    module = getattr(pt, name)
    numpys = getattr(np, name)
    assert dir(module) == sorted(module.__all__)
    own = {"EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult"}
    for listed in dir(module):
        assert hasattr(numpys, listed) or hasattr(np, listed) or listed in own, listed


@pytest.mark.parametrize(("owner", "names"), [(pt, FUNCTIONS), (pt.Tensor, METHODS)])
def test_absent_names_are_missing(owner: Any, names: dict[str, str]) -> None:
    assert [name for name in names if name in dir(owner)] == []


@pytest.mark.parametrize(
    "instead",
    sorted({*FUNCTIONS.values(), *METHODS.values(), *KEYWORDS.values(), *PARTLY.values()}),
)
def test_suggested_names_exist(instead: str) -> None:
    owners = {"pt": pt, "x": pt.ones((2, 2), device="cpu"), "np": np}
    for owner, path in re.findall(r"\b(pt|x|np)\.(\w+(?:\.\w+)*)", instead):
        attrgetter(path)(owners[owner])  # or it raises


not_of_the_library: Any = lambda axis: axis  # noqa: E731


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.sum(dim=1), "; use axis="),
        (lambda x: ANY.mean(x, keepdim=True), "; use keepdims="),
        (lambda x: ANY.flip(x, dims=(0,)), "; use axis="),
        (
            lambda x: ANY.ones(2, requires_grad=True),
            "; pt.grad(f)(x) returns the gradient of a function",
        ),
        (lambda x: ANY.plot(x, legend=True), "; use label="),
        (
            lambda x: ANY.hist(x, alpha=0.5),
            "; its options are bins, range, density, label, color,",
        ),
        (lambda x: ANY.imshow(x, grid=True), "; its options are cmap, vmin, vmax,"),
        (lambda x: x.sum(nosuch=1), "'nosuch'"),
        (lambda x: not_of_the_library(dims=x), "'dims'"),
    ],
)
def test_a_parameter_of_another_library(call: Any, words: str) -> None:
    with pytest.raises(TypeError, match="got an unexpected keyword argument") as caught:
        call(pt.ones((2, 3), device="cpu"))
    clarify_arguments(caught.value)
    assert words in str(caught.value)
    assert str(caught.value).count("; ") == words.count("; ")


def test_a_second_curve_in_one_call() -> None:
    with pytest.raises(TypeError) as caught:
        ANY.plot([1, 2], "k-o", [3, 4], "b-")
    clarify_arguments(caught.value)
    assert str(caught.value).endswith(
        "4 were given; draw several curves as pt.plot(y1, 'k-o') + pt.plot(y2, 'b-')"
    )


def test_membership_in_a_tensor() -> None:
    x = pt.arange(6).reshape(2, 3)
    assert 5 in x
    assert 6 not in x
    assert [3, 4, 5] in x  # as in NumPy, it is broadcast and compared with each element
    assert "5" not in x
    assert object() not in x
    assert math.nan not in pt.tensor([math.nan])
    assert 0 not in pt.zeros((0, 3))
    assert 2.5 in pt.tensor(2.5)


def test_a_tensor_that_an_error_left_half_made_has_no_node() -> None:
    x = pt.Tensor.__new__(pt.Tensor)
    for name in ("_node", "_alias"):
        with pytest.raises(AttributeError):
            getattr(x, name)
