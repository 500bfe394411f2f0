"""Every op of the library has an entry in the tables of references, and every entry has an op."""

from __future__ import annotations

import importlib
import inspect
import re

import py_tensor as pt
from tests.functions import functions
from tests.ops import compositions
from tests.ops import references as ref

TABLES = {
    "unary": ref.UNARY,
    "binary": ref.BINARY,
    "reduction": ref.REDUCTIONS,
    "elsewhere": ref.ELSEWHERE,
    "compositions": compositions.CALLS,
}


def test_every_op_has_a_reference() -> None:
    entries = [name for table in TABLES.values() for name in table]
    assert len(entries) == len(set(entries)), "an op stands in two tables"
    missing = sorted(set(functions()) - set(entries))
    assert not missing, f"ops without a reference in tests/ops/references.py: {missing}"
    gone = sorted(set(entries) - set(functions()))
    assert not gone, f"references of ops that are not in the registry: {gone}"


def test_every_op_is_public_and_documented() -> None:
    for name, function in functions().items():
        assert getattr(pt, name) is function, f"pt.{name} is not the registered function"
        assert function.__doc__, f"{name} has no docstring"


def test_a_loose_bound_has_a_reason() -> None:
    for name, entry in {**ref.UNARY, **ref.BINARY}.items():
        assert entry.ulp <= 4 or entry.reason, f"{name}: {entry.ulp} ulp without a reason"


def test_every_op_states_its_error() -> None:
    """The errors in docstring and record are those tested, if the result is float32."""
    for name, entry in {**ref.UNARY, **ref.BINARY}.items():
        said = re.findall(
            r"(?:within (\S+) ulp|correctly rounded)\s+in\s+float32",
            getattr(pt, name).__doc__,
            re.IGNORECASE,
        )
        stated = [float(ulp or 0.5) for ulp in said]
        promised = [entry.ulp] if entry.dtypes.get("float32") == "float32" else []
        assert stated == promised, f"{name} states {stated}, and is held to {promised}"
        recorded = [ulp for ulp in [vars(getattr(pt, name))["ulp"]] if ulp is not None]
        assert recorded == promised, f"{name} promises {recorded}, and is held to {promised}"


def test_every_operator_is_recorded() -> None:
    """The page's reference shows it."""
    tensor = pt.full((), 2, device="cpu")
    for name, apply in ref.OPERATORS.items():
        method = getattr(pt.Tensor, getattr(pt, name).operator)
        assert (method(tensor, tensor) == apply(tensor, tensor)).item(), name


def test_ops_tested_elsewhere_are_used_there() -> None:
    for name, module in ref.ELSEWHERE.items():
        source = inspect.getsource(importlib.import_module(f"tests.ops.{module}"))
        assert re.search(rf"\b{name}\b", source), f"{name} does not appear in {module}.py"
