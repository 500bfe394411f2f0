"""Describes an object for the help panel: kind, signature, docstring, source. Runs no user code.

Only numbers, strings and other plain values are shown by their repr: the repr of a tensor would
wait for the GPU.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Iterable, Mapping
from typing import Any

from . import magics
from .expressions import Known, attribute, look_up, runs_others

LONGEST_VALUE = 200
"""The most characters shown of a repr."""

MAX_DOC = 20_000
"""The most characters shown of a docstring."""

Block = dict[str, Any]
"""A part of a docstring: {"heading"}, {"text"}, {"code"}, {"items": [...]} or
{"terms": [{"term", "type", "text"}]}."""


# -- kinds, signatures, summaries ----------------------------------------------------------------


def kind_of(value: Any) -> str:
    """Return the kind of an object: module, class, function, property or value."""
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return "class"
    if isinstance(value, staticmethod | classmethod) or inspect.isroutine(value):
        return "function"
    if isinstance(value, property) or inspect.isdatadescriptor(value):
        return "property"
    return "value"


def static_attribute(owner: Any, name: str) -> Any:
    """Return an attribute as stored, so that no property runs; None if it is computed on demand."""
    found = inspect.getattr_static(owner, name, None)
    return found.__func__ if isinstance(found, staticmethod | classmethod) else found


class _Verbatim:
    """An annotation shown as written in the source."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def signature_of(value: Any, *, annotated: bool = False) -> str | None:
    """`(x, axis=None)`, optionally with annotations; None if the signature is unknown."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return _signature_in_doc(value)
    if not annotated:
        empty = inspect.Parameter.empty
        parameters = [p.replace(annotation=empty) for p in found.parameters.values()]
        return str(found.replace(parameters=parameters, return_annotation=empty))
    parameters = [p.replace(annotation=_verbatim(p.annotation)) for p in found.parameters.values()]
    found = found.replace(
        parameters=parameters, return_annotation=_verbatim(found.return_annotation)
    )
    return str(found)


def _verbatim(annotation: Any) -> Any:
    return _Verbatim(annotation) if isinstance(annotation, str) else annotation


def _signature_in_doc(value: Any) -> str | None:
    """Return the signature of a builtin, from the first line of its docstring: `max(a, b, *c)`."""
    name = getattr(value, "__name__", None)
    doc = inspect.getdoc(value) if callable(value) else None
    match = re.match(rf"{re.escape(name)}(\(.*?\))(?=\s|$)", doc) if name and doc else None
    return match[1] if match else None


def summary_of(value: Any) -> str:
    """Return the first sentence of the object's own docstring; "" if it has none."""
    doc = _own_doc(value)
    for paragraph in (doc or "").split("\n\n"):
        first = " ".join(paragraph.split())
        if first and not re.match(r"[\w.]+\(.*\)( ->.*)?$", first):
            return re.split(r"(?<=\.) (?=[A-Z])", first, maxsplit=1)[0]
    return ""


def _own_doc(value: Any) -> str | None:
    """Return the docstring of a module, class, function or property; None for other values."""
    doc = inspect.getdoc(value) if kind_of(value) != "value" else None
    if doc is None or len(doc) <= MAX_DOC:
        return doc
    return f"{doc[:MAX_DOC]}\n\n… {len(doc) - MAX_DOC:,} more characters"


def brief(name: str, value: Any) -> dict[str, str]:
    """Return the text beside a completion: {"title", "summary"}."""
    kind = kind_of(value)
    if kind in ("function", "class"):
        return {"title": name + (signature_of(value) or "()"), "summary": summary_of(value)}
    if kind == "value":
        return {"title": f"{name}: {type(value).__qualname__}", "summary": value_text(value) or ""}
    return {"title": f"{kind} {name}", "summary": summary_of(value)}


def value_text(value: Any) -> str | None:
    """Return a value on one line; None if that would need foreign code or the GPU."""
    if type(value) in (int, float, complex, bool, str, bytes, types.NoneType):
        text = repr(value)
        return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"
    if isinstance(value, list | tuple | dict | set | frozenset):
        return f"{len(value)} items" if len(value) != 1 else "1 item"
    shape, dtype = (_plain_attribute(value, name) for name in ("shape", "dtype"))
    return f"shape {shape}, {dtype}" if isinstance(shape, tuple) and dtype is not None else None


def _plain_attribute(value: Any, name: str) -> Any:
    if runs_others(value):
        return None
    try:
        return getattr(value, name)
    except Exception:
        return None


def _type_name(cls: type) -> str:
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


# -- help panel ----------------------------------------------------------------------------------


def help_on(namespace: Mapping[str, Any], expression: str, *, source: bool) -> Block | str:
    """Return the help panel's content for an expression, which is not evaluated, or a magic.

    Parameters
    ----------
    namespace
        The names that the expression may use.
    expression
        The text as typed: `pt.softmax`, `pt.softmax(x)`, `%timeit`; "" for an overview.
    source
        Whether to include the source.

    Returns
    -------
    dict or str
        {"name", "kind", "signature", "facts": [[label, text]], "doc": [block], "source"}, and
        "names", the names under which the page's reference may list the object; or a sentence that
        says why there is no help, and what to type instead.
    """
    expression = expression.strip()
    if not expression:
        return _overview()
    if expression.startswith("%"):
        return _help_on_magic(expression, source=source)
    known = look_up(expression, namespace)
    if known is None:
        return _reason(expression, namespace)
    value = described(known, expression, namespace)
    kind = kind_of(value)
    if kind == "class" and not known.has_value:
        found = _block(expression, "value", None, value, source=source)
        found["facts"] = [["Type", _type_name(value)]]
        found["doc"].insert(0, {"text": _not_run(expression)})
        return found
    signature = signature_of(value, annotated=True) if kind in ("function", "class") else None
    subject = value if kind != "value" else type(value)
    return _block(expression, kind, signature, subject, source=source) | {
        "facts": [*_facts(value, kind), *_types_in(signature or "", value)],
        "names": _reference_names(expression, value, namespace),
    }


def _reference_names(expression: str, value: Any, namespace: Mapping[str, Any]) -> list[str]:
    """Return the names under which the page's reference may list an object of the library."""
    root, _, path = expression.partition(".")
    package = look_up(root, namespace)
    if package is not None and inspect.ismodule(package.subject) and re.fullmatch(r"[\w.]+", path):
        if package.subject.__name__ != "py_tensor":
            return []
        owner, _, name = path.rpartition(".")
        return [path, f"x.{name}" if owner == "Tensor" else f"pt.{path}"]
    owner, _, name = expression.rpartition(".")
    holder = look_up(owner, namespace) if owner else None
    kind = None if holder is None else holder.subject
    kind = kind if isinstance(kind, type) else type(kind)
    if kind.__module__.startswith("py_tensor") and kind.__name__ == "Tensor":
        return [f"Tensor.{name}", f"x.{name}"]
    if runs_others(value) or not (getattr(value, "__module__", None) or "").startswith("py_tensor"):
        return []
    name = getattr(value, "__name__", "")
    return [name, f"pt.{name}"] if name else []


def _overview() -> Block:
    """Return the content of `help()`."""
    terms = {
        "pt.sum?": "What a function does; `pt.sum??` shows its source, too.",
        "pt.": "Tab lists what is there. `dir(pt)` gives the names.",
        "%time, %timeit, %profile": "In front of code: how long it takes, and what the GPU did.",
        "pt.explain(x)": "The kernels that compute a tensor.",
        "pt.plot(y), pt.hist(y), pt.imshow(x)": "Charts and pictures, here in the transcript.",
        "import numpy as np": "Loads NumPy; `x.numpy()` gives an array, `pt.asarray(a)` a tensor.",
    }
    doc: list[Block] = [
        {"text": "`pt` is py_tensor: tensors that compute on the GPU, with NumPy's names."},
        {"terms": [{"term": term, "type": "", "text": text} for term, text in terms.items()]},
        {"text": "The tab Reference has every function, with an example to run."},
    ]
    facts: list[list[str]] = []
    return {
        "name": "py_tensor", "kind": "in this page", "signature": None, "facts": facts, "doc": doc,
        "source": None,
    }  # fmt: skip


def _help_on_magic(magic: str, *, source: bool) -> Block | str:
    name = magic.lstrip("%")
    if name in magics.MAGICS:
        found = magics.MAGICS[name]
        return _block(magic, "magic", magics.usage(magic), found, source=source)
    return f"Unknown magic {magic}; available: {magics.names()}."


def _block(name: str, kind: str, signature: str | None, subject: Any, *, source: bool) -> Block:
    return {
        "name": name,
        "kind": kind,
        "signature": signature,
        "facts": [],
        "doc": doc_blocks(inspect.getdoc(subject) or ""),
        "source": source_of(subject) if source else None,
    }


def _not_run(expression: str) -> str:
    """Return a note for help on an expression of which only the type is known."""
    tree = ast.parse(expression, mode="eval").body
    said = "It was not run: this is about its type."
    if isinstance(tree, ast.Call):
        said += f" `{ast.unparse(tree.func)}?` describes the function that it calls."
    return said


def _reason(expression: str, namespace: Mapping[str, Any]) -> str:
    """Return why there is no help on an expression that could not be looked up."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"No help on {expression}: not an expression."
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and look_up(node.id, namespace) is None:
            return f"No help on {node.id}: not found.{_alike(node.id, namespace)}"
    if isinstance(tree, ast.Attribute | ast.Subscript):
        owner = look_up(ast.unparse(tree.value), namespace)
        if owner is not None and owner.has_value and not runs_others(owner.value):
            names = dir(owner.value) if isinstance(tree, ast.Attribute) else ()
            attribute_ = tree.attr if isinstance(tree, ast.Attribute) else ""
            return f"No help on {expression}: not found.{_alike(attribute_, names)}"
    return f"Help on {expression} needs its value. Run y = {expression}, then y?"


def _alike(name: str, names: Iterable[str]) -> str:
    """Return a question that suggests a similar name; "" if there is none."""
    import difflib  # here: the import would slow down the first visit

    public = [other for other in names if not other.startswith("_")]
    alike = difflib.get_close_matches(name, public, 1)
    return f" Did you mean {alike[0]}?" if alike else ""


def described(known: Known, expression: str, namespace: Mapping[str, Any]) -> Any:
    """Return the object to give help on: the property itself if the value came from one."""
    owner, _, name = expression.strip().rpartition(".")
    if name.isidentifier() and (holder := look_up(owner, namespace)) is not None:
        stored = inspect.getattr_static(holder.subject, name, None)
        if kind_of(stored) == "property":
            return stored
        if not known.has_value and (method := attribute(holder, name)) is not None:
            return method.subject
    return known.subject


def _facts(value: Any, kind: str) -> list[list[str]]:
    facts: list[list[str]] = []
    if kind == "value":
        facts.append(["Type", _type_name(type(value))])
        if text := value_text(value):
            facts.append(["Value", text])
    elif kind == "class" and (bases := [b for b in value.__bases__ if b is not object]):
        facts.append(["Bases", ", ".join(_type_name(base) for base in bases)])
    elif kind == "module" and (file := getattr(value, "__file__", None)):
        facts.append(["File", str(file)])
    return facts


_TYPES = {
    "Operand": "a tensor, a number, a list or an array",
    "Scalar": "a number: bool, int or float",
    "Real": "a number: bool, int or float",
    "Axes": "an axis, a tuple of axes, or None for all",
    "Shape": "a tuple of ints",
    "Size": "an int or a tuple of ints; None for a single number",
    "Out": "a tensor or an array that the result is written to, or a tuple of one",
    "Bins": "a number of bins, the name of a rule, or the edges",
    "Seed": "an int, ints, a SeedSequence, or None",
    "Converter": "a function from the text of a field to its value",
    "ShapeRule": "the name of an input of that shape, or a function of the inputs' shapes",
}
"""The library's names for types that have no help of their own."""


def _types_in(signature: str, value: Any) -> list[list[str]]:
    """Return explanations of the type names in a signature of the library."""
    if not (getattr(value, "__module__", None) or "").startswith("py_tensor."):
        return []
    return [[name, text] for name, text in _TYPES.items() if re.search(rf"\b{name}\b", signature)]


def source_of(value: Any) -> str | None:
    """Return the source; None for objects not written in Python."""
    value = value.fget if isinstance(value, property) else value
    try:
        return inspect.cleandoc("\n" + inspect.getsource(value)).rstrip()
    except (OSError, TypeError):
        return None


# -- docstrings in NumPy's format ----------------------------------------------------------------

_WITH_TERMS = {
    "Parameters",
    "Other Parameters",
    "Returns",
    "Yields",
    "Receives",
    "Raises",
    "Warns",
    "Attributes",
    "Methods",
    "See Also",
}


def doc_blocks(doc: str) -> list[Block]:
    """Return a docstring as a list of blocks. Unrecognised parts become plain text."""
    blocks: list[Block] = []
    for heading, lines in _sections(doc.expandtabs().splitlines()):
        if heading:
            blocks.append({"heading": heading})
        blocks += _terms(lines) if heading in _WITH_TERMS else _prose(lines)
    return blocks


def _sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return headings (lines underlined with hyphens) with their lines; "" before the first."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    index = 0
    while index < len(lines):
        rule = lines[index + 1].strip() if index + 1 < len(lines) else ""
        if lines[index].strip() and re.fullmatch(r"-{3,}", rule):
            sections.append((lines[index].strip(), []))
            index += 2
        else:
            sections[-1][1].append(lines[index])
            index += 1
    return sections


def _terms(lines: list[str]) -> list[Block]:
    """Terms: `name : type` at the margin, with an indented description below."""
    terms: list[dict[str, Any]] = []
    for line in lines:
        if line.strip() and not line.startswith(" "):
            term, _, type_ = line.partition(" : ")
            terms.append({"term": term.strip(), "type": type_.strip(), "lines": []})
        elif terms:
            terms[-1]["lines"].append(line)
    if not terms:
        return _prose(lines)
    return [
        {
            "terms": [
                {"term": t["term"], "type": t["type"], "text": _joined(t["lines"])} for t in terms
            ]
        }
    ]


def _joined(lines: list[str]) -> str:
    """Indented lines as paragraphs of one line each, separated by empty lines."""
    paragraphs = inspect.cleandoc("\n" + "\n".join(lines)).split("\n\n")
    return "\n\n".join(" ".join(p.split()) for p in paragraphs).strip()


def _prose(lines: list[str]) -> list[Block]:
    """Paragraphs, lists, and code, which has a prompt or is indented."""
    blocks: list[Block] = []
    for paragraph in _paragraphs(lines):
        first = paragraph[0]
        if first.startswith((">>>", " ")) or first.lstrip().startswith(">>>"):
            _add_code(blocks, inspect.cleandoc("\n" + "\n".join(paragraph)))
        elif re.match(r"[-*] ", first):
            text = "\n".join(paragraph)
            items = re.split(r"^[-*] ", text, flags=re.MULTILINE)[1:]
            blocks.append({"items": [" ".join(item.split()) for item in items]})
        else:
            blocks.append({"text": " ".join(" ".join(paragraph).split())})
    return blocks


def _add_code(blocks: list[Block], code: str) -> None:
    """Add code to the last block if that is code too, else as a new block."""
    if blocks and "code" in blocks[-1]:
        blocks[-1]["code"] += "\n\n" + code
    else:
        blocks.append({"code": code})


def _paragraphs(lines: list[str]) -> list[list[str]]:
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line.rstrip())
        elif paragraphs[-1]:
            paragraphs.append([])
    return [paragraph for paragraph in paragraphs if paragraph]
