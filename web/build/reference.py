"""Generates the page's reference from the library itself.

usage: python3 web/build/reference.py WHEEL OUTPUT

Its content comes from the library in WHEEL (signatures, docstrings, dtypes, promised errors,
derivatives) and, if a docstring has no example, from web/build/examples.txt. Does not need NumPy.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernels import KINDS, use_noted_gpu

DTYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "complex64"),
)
"""The dtypes for which the reference lists an op's result: those of GPU devices."""
NO_TENSORS = ("None", "bool", "int", "str", "Shape")  # types of results
REDUCTIONS = "py_tensor.ops.reduction"

EXAMPLES = Path(__file__).parent / "examples.txt"

SECTIONS = {
    "conversion": "Tensors from data",
    "creation": "Creation",
    "generator": "Random numbers",
    "elementwise": "Elementwise",
    "transcendental": "Exponentials and trigonometry",
    "arithmetic": "Elementwise",
    "complex": "Complex numbers",
    "complex_results": "Complex numbers",
    "bitwise": "Bits and integers",
    "reduction": "Reductions and cumulative sums",
    "statistics": "Statistics",
    "histograms": "Statistics",
    "differences": "Differences and integrals",
    "sorting": "Sorting and searching",
    "setops": "Sets",
    "linalg": "Products",
    "products": "Products",
    "decompositions": "Linear algebra",
    "fourier": "Fourier transforms",
    "normalization": "Normalization",
    "movement": "Shapes",
    "attributes": "Shapes",
    "memory": "Shapes",
    "conversions": "Tensors from data",
    "rearrange": "Rearranging",
    "joining": "Rearranging",
    "sliding": "Rearranging",
    "grids": "Grids and indices",
    "window_functions": "Window functions",
    "polynomials": "Polynomials",
    "functional": "Applying functions",
    "iterating": "Applying functions",
    "gather": "Indexing, selecting and counting",
    "assignment": "Assignment",
    "tensor": "Tensor",
    "plotting": "Charts and pictures",
    "screen": "Charts and pictures",
    "ui": "Controls",
    "formatting": "Inspection",
    "configuration": "Inspection",
    "explaining": "Inspection",
    "profiling": "Inspection",
    "tuning": "Inspection",
    "kernel": "Custom kernels",
    "session": "Device",
    "device": "Device",
    "numeric": "Dtypes",
}
"""The headings of modules, in order; a module that is not listed has its own name."""

MODULES = {
    "linalg": ("Linear algebra", ("py_tensor.linalg", "py_tensor.linalg.decompositions")),
    "fft": ("Fourier transforms", ("py_tensor.fft",)),
    "random": ("Random numbers", ("py_tensor.random",)),
    "ui": ("Controls", ("py_tensor.ui",)),
}
"""Public modules: the heading of their functions, and the module or package that defines them."""

SYMBOLS = {
    "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__floordiv__": "//",
    "__mod__": "%", "__pow__": "**", "__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=",
    "__gt__": ">", "__ge__": ">=", "__and__": "&", "__or__": "|", "__xor__": "^",
    "__lshift__": "<<", "__rshift__": ">>",
}  # fmt: skip
OTHER_OPERATORS = {"invert": "~x", "negative": "-x", "positive": "+x", "matmul": "x @ y"}

Entry = dict[str, Any]


def load_examples(text: str) -> dict[str, str]:
    """Return the sessions in examples.txt, by the names above them."""
    blocks = re.split(r"\n\n(?=[\w.]+\n>>>)", text)[1:]
    return {name: session.strip() for name, session in (block.split("\n", 1) for block in blocks)}


# -- Docstrings ----------------------------------------------------------------------------------


def parsed(doc: str) -> Entry:
    """Return a docstring in numpydoc form: its paragraphs, sections and example session."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(doc), flags=re.MULTILINE)
    sections: list[Entry] = []
    example = ""
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title == "Examples":
            lines = body.strip().split("\n")
            example = "\n".join(line for line in lines if line != ">>> import py_tensor as pt")
        else:
            sections.append({"title": title, "items": list(items(body))})
    return {"text": parts[0].strip(), "sections": sections, "example": example}


def items(body: str) -> Iterator[dict[str, str]]:
    """Yield the entries of a section: a term, or "name : type", with indented text below."""
    for block in re.split(r"\n(?=\S)", body.strip()):
        head, _, text = block.partition("\n")
        name, _, kind = head.partition(" : ")
        yield {"name": name, "type": kind, "text": inspect.cleandoc(text)}


def signature(function: Any) -> str:
    """Return names and defaults, without annotations."""
    found = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def without_self(call: str) -> str:
    return re.sub(r"^\((self|x|a)(, /)?(, )?", "(", call)


# -- Entries -------------------------------------------------------------------------------------


class Reference:
    """All public names, with the facts from each source."""

    def __init__(self, examples: dict[str, str]) -> None:
        import py_tensor as pt
        from py_tensor.ir.node import NOT_DIFFERENTIABLE
        from py_tensor.tensors.tensor import INSTALLED
        from py_tensor.tools.hints import PARTLY

        self.pt = pt
        self.public = {name: getattr(pt, name) for name in dir(pt)}
        for name in INSTALLED:
            getattr(pt.Tensor, name)  # imports a method that is imported on first use
        self.partly = PARTLY
        self.not_differentiable = NOT_DIFFERENTIABLE
        self.examples = examples

    def entries(self) -> list[Entry]:
        """Return the entries, by section, and by name in each section."""
        found = [*self.functions(), *self.of_modules(), *self.of_tensor()]
        unused = set(self.examples) - {entry["name"] for entry in found}
        if unused:
            raise ValueError(f"examples.txt: there is nothing public named {sorted(unused)}")
        order = list(dict.fromkeys((*SECTIONS.values(), *(entry["section"] for entry in found))))
        return sorted(found, key=lambda e: (order.index(e["section"]), e["name"].lower()))

    def functions(self) -> Iterator[Entry]:
        """Yield each public function, under its own name."""
        names: dict[int, list[str]] = {}
        for name, value in self.public.items():
            if inspect.isfunction(value) and not name.startswith("_"):
                names.setdefault(id(value), []).append(name)
        for found in names.values():
            function = self.public[found[0]]
            name = function.__name__
            entry = self.entry(name, function, function.__doc__)
            module = self.module_of(function)
            entry["section"] = SECTIONS.get(module, module.capitalize())
            entry["call"] = f"pt.{name}{signature(function)}"
            entry["aliases"] = sorted(f"pt.{alias}" for alias in found if alias != name)
            methods = [n for n, f in vars(self.pt.Tensor).items() if f is function and n[0] != "_"]
            entry["aliases"] = [f"x.{n}" for n in methods] + entry["aliases"]
            if operator := operator_of(name, function):
                entry["aliases"].insert(0, operator)
            yield entry

    def of_modules(self) -> Iterator[Entry]:
        """Yield the functions of public modules that are not functions of the package itself."""
        functions = {f for f in self.public.values() if inspect.isfunction(f)}
        for module, (section, places) in MODULES.items():
            owner = getattr(self.pt, module)
            for name in dir(owner):
                function = getattr(owner, name)
                if name.startswith("_") or not inspect.isfunction(function):
                    continue
                if function in functions or not f"{function.__module__}.".startswith(
                    tuple(f"{place}." for place in places)
                ):
                    continue
                entry = self.entry(f"{module}.{name}", function, function.__doc__)
                entry["section"] = section
                entry["call"] = f"pt.{module}.{name}{signature(function)}"
                entry["aliases"] = []
                yield entry

    def of_tensor(self) -> Iterator[Entry]:
        """Methods and attributes of tensors that have no public function of the same name."""
        functions = {f for f in self.public.values() if inspect.isfunction(f)}
        for name, value in vars(self.pt.Tensor).items():
            if name.startswith("_") or value in functions:
                continue
            if not (inspect.isfunction(value) or isinstance(value, property)):
                continue
            entry = self.entry(f"Tensor.{name}", value, value.__doc__)
            call = "" if isinstance(value, property) else without_self(signature(value))
            entry["section"] = "Tensor"
            entry["call"] = f"x.{name}{call}"
            entry["aliases"] = []
            yield entry

    def entry(self, name: str, function: Any, doc: str | None) -> Entry:
        entry = parsed(doc or "")
        entry["name"] = name
        entry["example"] = self.examples.get(name) or entry["example"]
        if not entry["example"]:
            print(f"{name}: no example in its docstring or in examples.txt")
        entry["facts"] = self.facts(name, function) if name in self.public else []
        if name in self.partly:
            entry["facts"].append(["vs. NumPy", self.partly[name]])
        return entry

    def facts(self, name: str, function: Any) -> list[list[str]]:
        """Return the facts about an op, as pairs of a term and a text."""
        from py_tensor.ops.define import EXACT

        facts: list[list[str]] = []
        if dtypes := self.dtypes(function):
            facts.append(["dtypes", dtypes])
        ulp = getattr(function, "ulp", None)
        if ulp is not None:
            words = "exact, or correctly rounded" if ulp <= EXACT else f"within {ulp:g} ulp"
            facts.append(["accuracy", words if ulp <= EXACT else f"{words} in float32"])
        if takes_tensors(function):
            facts.append(["derivative", self.derivative(function)])
        return facts

    def dtypes(self, function: Any) -> str:
        """Dtypes that an elementwise op or reduction accepts, with the result's if it differs.

        For example, "float32; bool, int8, int32 → int32".
        """
        if function.__module__ != REDUCTIONS and not hasattr(function, "ulp"):
            return ""
        results: dict[str, list[str]] = {}
        for given in DTYPES:
            x = self.pt.zeros((2,), dtype=given)
            try:
                made = function(*[x] * operands_of(function))
            except self.pt.DTypeError:
                continue
            if not isinstance(made, self.pt.Tensor):
                return ""
            results.setdefault(str(made.dtype), []).append(given)
        kept = [result for result, names in results.items() if names == [result]]
        groups = [", ".join(kept)] if kept else []
        for result, names in results.items():
            if result not in kept:
                groups.append(f"{', '.join(names)} → {result}")
        return "; ".join(groups)

    def derivative(self, function: Any) -> str:
        op = getattr(function, "op", None)
        if op is None:
            return "through the ops it is composed of"
        known = getattr(op, "vjp", None)
        return "none" if known is None or known is self.not_differentiable else "defined"

    def module_of(self, function: Any) -> str:
        """Return the last part of the name of the public module that defines a function."""
        module = function.__module__
        if not module.endswith(".define"):
            return module.rpartition(".")[2]
        for name, found in sys.modules.items():
            if name.startswith("py_tensor.ops.") and function.__name__ in getattr(
                found, "__all__", ()
            ):
                return name.rpartition(".")[2]
        raise ValueError(f"no module of py_tensor.ops has {function.__name__} in its __all__")


def takes_tensors(function: Any) -> bool:
    """Return whether it computes from elements of operands, so it could have a derivative."""
    found = inspect.signature(function)
    if function.__name__.endswith("_like") or found.return_annotation in NO_TENSORS:
        return False
    first = next(iter(found.parameters.values()), None)
    return first is not None and ("Operand" in str(first.annotation) or first.name == "operands")


def operands_of(function: Any) -> int:
    """Number of required arguments."""
    parameters = inspect.signature(function).parameters.values()
    return sum(parameter.default is parameter.empty for parameter in parameters)


def operator_of(name: str, function: Any) -> str | None:
    """Return the operator for the function."""
    symbol = SYMBOLS.get(getattr(function, "operator", ""))
    return f"x {symbol} y" if symbol else OTHER_OPERATORS.get(name)


def main() -> int:
    wheel, output = sys.argv[1:]
    sys.path.insert(0, wheel)
    use_noted_gpu(KINDS["gpu"])
    entries = Reference(load_examples(EXAMPLES.read_text("utf-8"))).entries()
    from py_tensor.tools.hints import FUNCTIONS, METHODS

    absent = {f"x.{name}": instead for name, instead in METHODS.items()}
    absent |= {f"pt.{name}": instead for name, instead in FUNCTIONS.items()}
    found = {"entries": entries, "absent": absent}
    Path(output).write_text(json.dumps(found, ensure_ascii=False, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
