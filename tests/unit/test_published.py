"""The renaming of published programs, and the comparison of their values."""

import base64

import numpy as np
import pytest

import py_tensor as pt
from tests.published.__main__ import in_process
from tests.published.compare import differing, reason
from tests.published.rename import missing_names, renamed

SECONDS = 60


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import numpy as np", "import py_tensor as np"),
        ("import numpy", "import py_tensor as numpy"),
        ("import os, numpy as np", "import os, py_tensor as np"),
        ("import numpy.linalg as la", "import py_tensor.linalg as la"),
        ("from numpy import *", "from py_tensor import *"),
        ("from numpy.linalg import inv as f", "from py_tensor.linalg import inv as f"),
        ("import numpy.random as r", "import numpy_random as r"),
        ("from numpy.random import rand", "from numpy_random import rand"),
        ("from numpy import random", "import numpy_random as random"),
        ("import numpy.linalg", "import py_tensor as numpy"),
        ("    from numpy import (\n        pi)", "    from py_tensor import (\n        pi)"),
        ("import numpy as np\nnp.random.rand()", "import py_tensor as np\nnumpy_random.rand()"),
        ("import numpyro\ns = 'import numpy'", "import numpyro\ns = 'import numpy'"),
    ],
)
def test_renaming_replaces_imports_and_random(text: str, expected: str) -> None:
    assert renamed(text) == expected


def test_names_that_a_module_lacks_are_found_whole() -> None:
    text = (
        "import numpy as np\nfrom numpy import sin, no_such\nnp.linalg.no_inverse(np.random.rand())"
    )
    text += "\nnp.exp(1)\nnp.neither.nor\nother.gone"
    assert missing_names(text, pt) == ["linalg.no_inverse", "neither", "no_such"]


def _left(**values: object) -> dict[str, dict[str, object]]:
    left: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        array = np.asarray(value)
        data = base64.b64encode(array.astype(np.complex128).tobytes()).decode()
        left[name] = {"kind": array.dtype.kind, "shape": array.shape, "data": data}
    return left


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        (1.0, 1.0009, True),
        (1.0, 1.002, False),
        ([1e4, 0.0], [1e4, 0.9], True),  # rounding of values as large as the largest
        ([1e4, 0.0], [1e4, 1.1], False),
        ([1e4, np.inf], [1e4, np.inf], True),
        ([0.0, np.inf], [1e-3, np.inf], False),
        ([1.0, np.nan], [1.0, np.nan], True),
        ([1.0, np.nan], [1.0, 2.0], False),
        (1000, 1001, False),
        (1000, 1000.1, True),
        (True, 1, True),
        (1 + 1j, 1 - 1j, False),
        (3.3e-126, 0.0, True),
        ([1.0], 1.0, False),
        ([], [], True),
        (np.zeros((0, 2)), np.zeros((2, 0)), False),
    ],
)
def test_values_are_equal_up_to_float32(expected: object, found: object, same: bool) -> None:
    assert (differing(_left(x=expected), _left(x=found)) == {}) == same


def test_names_that_are_not_there_differ() -> None:
    assert differing(_left(x=1, y=2), _left(y=2, z=3)) == {"x": "missing"}


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("pt.no_such", "missing name"),
        ("pt.zeros(3).no_such", "missing method"),
        ("pt.zeros(3, no_such=1)", "argument"),
        ("pt.zeros(3, dtype='complex256')", "dtype"),
        ("1 / 0", "other"),
    ],
)
def test_a_stop_is_said_with_its_reason_and_statement(statement: str, kind: str) -> None:
    text = f"import py_tensor as pt\nx = 1\nif x:\n    {statement}\n"
    ended = in_process(SECONDS, "host", "cpu", "float32", text)
    assert reason(ended["error"])[0] == kind
    assert ended["error"]["statement"] == statement


def test_results_of_a_program_are_found_in_lists_and_objects() -> None:
    text = """
import numpy as np
from matplotlib import pyplot as plt
from numpy import pi
figure, (left, right) = plt.subplots(1, 2)
class Model:
    def __init__(self):
        self.weights = [np.ones(2), "text"]
model, _hidden, table = Model(), 1, {"a": 2}
print("done")
"""
    ended = in_process(SECONDS, "host", "", "float32", text)
    assert ended["error"] is None
    assert ended["stdout"] == "done\n"
    assert set(ended["values"]) == {"model['weights'][0]", "table['a']"}


@pytest.mark.parametrize("random_as", ["host", "tensor"])
def test_random_numbers_are_numpys_on_both_sides(random_as: str) -> None:
    text = "import numpy as np\nx = np.random.rand(3, 2)\ny = np.random.default_rng().random(4)"
    expected = in_process(SECONDS, "host", "", "float32", text)["values"]
    found = in_process(SECONDS, random_as, "cpu", "float32", renamed(text))["values"]
    assert differing(expected, found) == {}
    assert {value["tensor"] for value in found.values()} == {random_as == "tensor"}


def test_annotations_are_evaluated_as_the_program_says() -> None:
    text = "import py_tensor as pt\ndef f(x: pt.no_such): ..."
    assert in_process(SECONDS, "host", "cpu", "float32", text)["error"]["type"] == "AttributeError"


def test_the_default_dtype() -> None:
    text = "import numpy as np\nx = np.arange(1, 4) / 3"
    expected = in_process(SECONDS, "host", "", "float32", text)["values"]
    found = in_process(SECONDS, "host", "cpu", "float64", renamed(text))["values"]
    assert found["x"]["data"] == expected["x"]["data"]
    narrow = in_process(SECONDS, "host", "cpu", "float32", renamed(text))["values"]
    assert narrow["x"]["data"] != expected["x"]["data"]
