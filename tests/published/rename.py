"""Renames a NumPy program for py_tensor, as a user would, and lists the names that it uses.

Random numbers still come from NumPy, so that both runs have the same: `np.random` becomes
`numpy_random`, which `execute` supplies.
"""

from __future__ import annotations

import ast
import re

MODULES = "linalg|fft|lib|ma|testing|typing|polynomial"
_NAMES = re.compile(r"^\s*(?:import|import .*,) *numpy(?: as (\w+))?\b", re.M)


def renamed(text: str) -> str:
    """Return the program with py_tensor instead of NumPy, line by line."""
    text = re.sub(rf"\b({'|'.join(_aliases(text))})\.random\b", "numpy_random", text)
    text = re.sub(r"(?m)^(\s*)from numpy import random\b", r"\1import numpy_random as random", text)
    text = re.sub(r"(?m)^(\s*)from numpy\b", r"\1from py_tensor", text)
    text = re.sub(r"(?m)^(\s*import (?:.*, *)?)numpy((?:\.\w+)*) as\b", r"\1py_tensor\2 as", text)
    return re.sub(r"(?m)^(\s*import (?:.*, *)?)numpy\b[\w.]*", r"\1py_tensor as numpy", text)


def missing_names(text: str, module: object) -> list[str]:
    """The names of NumPy in a program that `module` lacks, such as `array` or `linalg.norm`."""
    asked = re.compile(rf"(?:{'|'.join(_aliases(text))})\.((?:(?:{MODULES})\.)?\w+)")
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and (match := asked.fullmatch(ast.unparse(node))):
            names.add(match[1])
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numpy":
            inside = (node.module or "")[len("numpy.") :]
            names |= {f"{inside}.{a.name}".strip(".") for a in node.names if a.name != "*"}
    gone = {n for n in names if not n.startswith("random") and not _has(module, n)}
    return sorted(n for n in gone if not any(m.startswith(f"{n}.") for m in gone))


def _aliases(text: str) -> set[str]:
    return {"numpy", *filter(None, _NAMES.findall(text))}


def _has(module: object, dotted: str) -> bool:
    for name in dotted.split("."):
        if not hasattr(module, name):
            return False
        module = getattr(module, name)
    return True
