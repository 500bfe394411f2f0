"""Modules that most programs never use are imported on first use, without visible differences."""

from __future__ import annotations

import json
import pickle
import pkgutil
import subprocess
import sys
from typing import Any

import pytest

import py_tensor as pt
from py_tensor.base.first_use import METHODS, PACKAGE, RANDOM
from tests.environment import ROOT

MODULES = {*PACKAGE.values(), *RANDOM.values(), *METHODS.values()}
MODULES -= {"py_tensor.random.common"}  # `rand`, `randint` and `randn` are made from its methods


def fresh(code: str) -> Any:
    """Return the JSON that `code` prints in a Python that has imported only the library."""
    command = [sys.executable, "-c", f"import json, sys\nimport py_tensor as pt\n{code}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_name_is_that_of_another_module() -> None:
    """Importing that module would replace the object of that name."""
    modules = {info.name for info in pkgutil.iter_modules(pt.__path__)}
    assert not {name for name, module in PACKAGE.items() if module != f"py_tensor.{name}"} & modules


def test_importing_the_package_imports_none_of_them() -> None:
    imported = fresh("print(json.dumps([*sys.modules]))")
    assert MODULES.isdisjoint(imported)
    assert not {"numpy", "wgpu"} & {*imported}


def test_the_listing_does_not_change() -> None:
    code = "first = sorted(dir(pt))\nfor name in first: getattr(pt, name)\n"
    first, last = fresh(f"{code}print(json.dumps([first, sorted(dir(pt))]))")
    assert first == last == sorted({*dir(pt)})


def test_a_star_stands_for_what_is_listed() -> None:
    found = fresh("from py_tensor import *\nprint(json.dumps([*globals()]))")
    assert {name for name in dir(pt) if not name.startswith("_")} <= {*found}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("found = pt.as_strided.__name__", "as_strided"),
        ("from py_tensor import median\nfound = float(median([1, 3, 2]))", 2),
        ("found = float(pt.linalg.norm([3.0, 4.0]))", 5),
        ("from py_tensor.lib import stride_tricks\nfound = stride_tricks.as_strided.__name__",
         "as_strided"),
        ("import numpy as np\nfound = np.kron(pt.ones(2), pt.ones(1)).tolist()", [1, 1]),
        ("try: pt.ones(1).unique()\nexcept AttributeError as error: found = str(error)[-18:]",
         "function pt.unique"),
        ("try: pt.medain\nexcept AttributeError as error: found = error.name", "medain"),
    ],
)  # fmt: skip
def test_first_use(code: str, expected: object) -> None:
    assert fresh(f"pt.set_default_device('cpu')\n{code}\nprint(json.dumps(found))") == expected


def test_its_module_alone_is_imported() -> None:
    code = "before = {*sys.modules}\npt.kron\nprint(json.dumps([*{*sys.modules} - before]))"
    assert fresh(code) == ["py_tensor.ops.products"]


def test_it_is_pickled_by_its_module() -> None:
    """Restoring it imports the module."""
    given = pickle.dumps([pt.diff, pt.finfo, pt.Explanation])
    assert fresh(
        f"import pickle\nfound = pickle.loads({given!r})\n"
        "print(json.dumps(found == [pt.diff, pt.finfo, pt.Explanation]))"
    )


def test_the_prompt_offers_it_and_imports_none() -> None:
    """Only describing a name imports its module."""
    code = (
        "from tests.page_python import load\n"
        "completer = load('completion').Completer({'pt': pt})\n"
        "kinds = {o['label']: o['kind'] for o in completer.complete('pt.')['options']}\n"
        "there = [n for n in sys.modules if n.startswith('py_tensor.')]\n"
        "titles = [completer.describe('pt.', n)['title'] for n in ('diff', 'iinfo', 'linalg')]\n"
        "print(json.dumps([kinds, there, titles]))"
    )
    kinds, there, titles = fresh(code)
    assert {kinds[name] for name in ("diff", "median", "softmax")} == {"function"}
    assert {kinds[name] for name in ("lib", "linalg", "random")} == {"module"}
    assert MODULES.isdisjoint(there)
    assert titles == [
        "diff(a, n=1, axis=-1, prepend=None, append=None)",
        "iinfo(dtype)",
        "module linalg",
    ]
