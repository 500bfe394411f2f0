"""Completions at the caret, and the signature of the call around it, while the user types.

No code of the input runs (expressions.py documents how far a lookup goes), no Python module is
imported, and no value is read from the GPU.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import importlib.machinery
import inspect
import itertools
import keyword
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .expressions import Known, Scan, Token, attribute, look_up, primary_before, scan
from .inspection import brief, doc_blocks, kind_of, static_attribute, summary_of

MAX_KEYS = 1000

Names = dict[str, str]
"""Maps text that can be inserted to its kind: module, class, function, property, value, argument,
key, keyword."""


@dataclass(frozen=True)
class Place:
    """The syntactic position of the caret."""

    kind: str
    """attribute, module, member, key or name"""
    prefix: str
    """The part of the word typed so far, which a completion replaces."""
    owner: Known | None = None
    """The object that has the attribute or key."""
    module: str = ""
    """The package of a module, with a trailing dot; the module of a member."""
    quote: str = ""
    """The opening quote of a key."""
    call: Call | None = None
    """The call whose argument begins at a name."""


@dataclass(frozen=True)
class Call:
    """The call around the caret."""

    name: str
    callee: Any
    position: int
    """The number of arguments before the one at the caret."""
    keyword: str = ""
    """The keyword of the argument at the caret."""
    given: frozenset[str] = field(default_factory=frozenset[str])
    """The keywords of all arguments."""


class Completer:
    """Answers requests for one session.

    Parameters
    ----------
    namespace
        The session's globals.
    vendored
        Modules that can be imported although their files are not loaded yet.
    """

    def __init__(self, namespace: Mapping[str, Any], vendored: Iterable[str] = ()) -> None:
        self._namespace = namespace
        self._vendored = tuple(vendored)

    def complete(self, before: str, after: str = "") -> dict[str, Any] | None:
        """Return completions between `before` and `after`.

        Returns
        -------
        dict or None
            {"prefix": the text at the end of `before` that a completion replaces,
            "options": [{"label", "kind", "apply"}]}, with `apply` only if the text to insert
            differs from the label; None if there are no completions.
        """
        place = self._place(before)
        if place is None:
            return None
        names = self._names(place, before, after)
        options = [
            {"label": name, "kind": kind} | _applied(place, kind, name, after)
            for name, kind in names.items()
            if _begins(name, place.prefix)
        ]
        return {"prefix": place.prefix, "options": options} if options else None

    def describe(self, before: str, label: str) -> dict[str, str] | None:
        """{"title", "summary"} of one of the completions at the end of `before`."""
        place = self._place(before)
        if place is None:
            return None
        if place.kind == "attribute" and place.owner is not None:
            return _brief_attribute(place.owner, label)
        if place.kind == "member":
            module = sys.modules.get(place.module)
            return None if module is None else _brief_attribute(Known(type(module), module), label)
        if place.kind == "module":
            module = sys.modules.get(place.module + label)
            return None if module is None else brief(place.module + label, module)
        if place.kind == "key":
            return None
        if label.endswith("=") and place.call is not None:
            return _brief_argument(place.call, label[:-1])
        known = None if keyword.iskeyword(label) else look_up(label, self._namespace)
        return None if known is None else brief(label, known.subject)

    def signature(self, before: str) -> dict[str, Any] | None:
        """Return the call around the end of `before`.

        Returns
        -------
        dict or None
            {"name", "parameters": [str], "active": index of the parameter at the caret or None,
            "summary"}.
        """
        found = scan(before)
        call = None if found.in_comment else _call(found, self._namespace)
        if call is None:
            return None
        try:
            parameters = inspect.signature(call.callee).parameters
        except (TypeError, ValueError):
            return None
        shown = _shown(parameters.values())
        active = _active(parameters, call)
        return {
            "name": call.name,
            "parameters": [text for _, text in shown],
            "active": next(
                (i for i, (name, _) in enumerate(shown) if name and name == active), None
            ),
            "summary": summary_of(call.callee),
        }

    # -- position of the caret -------------------------------------------------------------------

    def _place(self, before: str) -> Place | None:
        found = scan(before)
        tokens = found.tokens
        if found.in_comment:
            return None
        if found.string is not None:
            return self._place_in_string(found)
        if place := _place_in_import(found):
            return place
        last = tokens[-1] if tokens else None
        touching = last if last is not None and last.end == len(before) else None
        if touching is not None and touching.kind in ("number", "string", "close"):
            return None
        prefix = touching.text if touching is not None and touching.kind == "name" else ""
        index = len(tokens) - 1 - bool(prefix)  # the index of the token before the word
        previous = tokens[index] if index >= 0 else None
        if previous is not None and previous.text == ".":
            owner = self._known(primary_before(found, index - 1))
            return None if owner is None else Place("attribute", prefix, owner)
        if previous is not None and previous.text in ("def", "class", "as"):
            return None
        if previous is not None and previous.text == "[" and not prefix:
            owner = self._known(primary_before(found, index - 1)) if index else None
            if owner is not None and _keys(owner):
                return Place("key", "", owner)
        begins_argument = previous is not None and previous.text in ("(", ",")
        call = _call(found, self._namespace) if begins_argument else None
        return Place("name", prefix, call=call)

    def _place_in_string(self, found: Scan) -> Place | None:
        """A string is completed only if it is a key: `d["`."""
        string, tokens = found.string, found.tokens
        if string is None or len(string.quote) > 1 or not found.opened:
            return None
        if found.text[string.start : string.body] != string.quote:  # it has a prefix
            return None
        if tokens[-1].text != "[" or found.opened[-1] != len(tokens) - 1:
            return None
        owner = self._known(primary_before(found, len(tokens) - 2))
        prefix = found.text[string.body :]
        return None if owner is None else Place("key", prefix, owner, quote=string.quote)

    def _known(self, expression: str | None) -> Known | None:
        return None if expression is None else look_up(expression, self._namespace)

    # -- candidates ------------------------------------------------------------------------------

    def _names(self, place: Place, before: str, after: str) -> Names:
        match place.kind:
            case "attribute" if place.owner is not None:
                return _attributes(place.owner)
            case "module":
                return dict.fromkeys(self._modules(place.module), "module")
            case "member":
                return _members(place.module)
            case "key" if place.owner is not None:
                return _key_names(place.owner, place.quote)
            case _:
                arguments = {} if place.call is None else _arguments(place.call)
                return arguments | self._plain_names(before, place.prefix, after)

    def _plain_names(self, before: str, prefix: str, after: str) -> Names:
        names: Names = dict.fromkeys(keyword.kwlist, "keyword")
        names |= {name: kind_of(value) for name, value in vars(builtins).items()}
        typed = before.removesuffix(prefix) + " " + after
        names |= {t.text: "value" for t in _bound_names(scan(typed)) if t.text not in names}
        names |= {name: kind_of(value) for name, value in self._namespace.items()}
        return {name: "keyword" if keyword.iskeyword(name) else k for name, k in names.items()}

    def _modules(self, package: str) -> Iterator[str]:
        if package:
            yield from _submodules(package.rstrip("."))
            return
        yield from (info.name for info in pkgutil.iter_modules())
        yield from sys.builtin_module_names
        yield from self._vendored


def _applied(place: Place, kind: str, name: str, after: str) -> dict[str, str]:
    """Return the text inserted for a key, with missing closing quotes and brackets."""
    if kind != "key" or not place.quote:
        return {}
    if after.startswith(place.quote):
        return {}
    return {"apply": name + place.quote + ("" if after.startswith("]") else "]")}


def _begins(name: str, prefix: str) -> bool:
    """Return whether to offer `name`: ignores case; private names only after a typed underscore."""
    if name.startswith("_") and not prefix.startswith("_"):
        return False
    return name.lower().startswith(prefix.lower())


def _bound_names(found: Scan) -> Iterator[Token]:
    """Yield the names in the input, which may define names that the namespace lacks."""
    previous = ""
    for token in found.tokens:
        if token.kind == "name" and previous != "." and not keyword.iskeyword(token.text):
            yield token
        previous = token.text


# -- attributes and keys -------------------------------------------------------------------------


def _attributes(owner: Known) -> Names:
    subject = owner.subject
    names = [name for name in dir(subject) if name.isidentifier()]
    kinds = {name: kind_of(static_attribute(subject, name)) for name in names}
    if inspect.ismodule(subject):  # names that it lists but does not hold load on first use
        modules = {*_submodules(subject.__name__)}
        missing = kinds.keys() - vars(subject).keys()
        kinds |= {name: "module" if name in modules else "function" for name in missing}
    return kinds


def _brief_attribute(owner: Known, name: str) -> dict[str, str]:
    stored = static_attribute(owner.subject, name)
    if stored is None or kind_of(stored) == "function":  # a bound signature has no `self`
        with contextlib.suppress(Exception):
            bound = attribute(owner, name)
            stored = stored if bound is None else bound.subject
    return brief(name, stored)


def _keys(owner: Known) -> list[Any]:
    if not owner.has_value or not isinstance(owner.value, Mapping):
        return []
    mapping: Mapping[Any, Any] = owner.value
    return [key for _, key in zip(range(MAX_KEYS), mapping, strict=False)]


def _key_names(owner: Known, quote: str) -> Names:
    """Return the keys as literals; inside a quote, only string keys."""
    keys = _keys(owner)
    if not quote:
        return {repr(key): "key" for key in keys if isinstance(key, str | int | float | bool)}
    strings = (key for key in keys if isinstance(key, str))
    return {key: "key" for key in strings if key.isprintable() and not {quote, "\\"} & set(key)}


# -- imports -------------------------------------------------------------------------------------


def _place_in_import(found: Scan) -> Place | None:
    line = found.text[_start_of_statement(found) :]
    if match := re.match(r"from\s+([\w.]+)\s+import\b\s*\(?(.*)$", line, re.DOTALL):
        prefix = _last_word(match[2])
        return None if prefix is None else Place("member", prefix, module=match[1])
    match = re.match(r"from\s+([\w.]*)$", line) or re.match(r"import\s+(?:.*,\s*)?([\w.]*)$", line)
    if match is None:
        return None
    package, dot, prefix = match[1].rpartition(".")
    return Place("module", prefix, module=package + dot)


def _start_of_statement(found: Scan) -> int:
    for token, after in zip(found.tokens[::-1], [None, *found.tokens[::-1]], strict=False):
        if token.kind == "newline" or token.text in (";", ":"):
            return len(found.text) if after is None else after.start
    return found.tokens[0].start if found.tokens else 0


def _last_word(names: str) -> str | None:
    """Return the partial name at the end of `a, b as c, d`; None if no name can follow."""
    last = names.rpartition(",")[2].strip() if names and not names[-1].isspace() else ""
    if names.strip() and not last and not names.rstrip().endswith((",", "(")):
        return None
    return last if re.fullmatch(r"\w*", last) else None


def _specification(name: str) -> importlib.machinery.ModuleSpec | None:
    """Return the specification of a module, found without an import."""
    path: list[str] | None = None
    spec = None
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[:end]), path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
    return spec


def _submodules(package: str) -> Iterator[str]:
    spec = _specification(package)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    return (info.name for info in pkgutil.iter_modules(places))


def _members(module: str) -> Names:
    """Return the names importable from a module; if not loaded, those that its source defines."""
    names = dict.fromkeys(_submodules(module), "module")
    if module in sys.builtin_module_names:
        importlib.import_module(module)  # safe: a builtin module runs no Python code
    if (loaded := sys.modules.get(module)) is not None:
        return names | _attributes(Known(type(loaded), loaded))
    return names | dict.fromkeys(_defined_in(module), "value")


def _defined_in(module: str) -> Iterator[str]:
    spec = _specification(module)
    source = getattr(spec.loader, "get_source", None) if spec is not None else None
    text = source(module) if source is not None else None
    if text is None:
        return
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


# -- calls ---------------------------------------------------------------------------------------


def _call(found: Scan, namespace: Mapping[str, Any]) -> Call | None:
    """Return the call around the end of the text, if its bracket is the innermost open one."""
    if not found.opened or found.tokens[found.opened[-1]].text != "(":
        return None
    opener = found.opened[-1]
    expression = primary_before(found, opener - 1) if opener else None
    if expression is None or (opener > 1 and found.tokens[opener - 2].text in ("def", "class")):
        return None
    known = look_up(expression, namespace)
    if known is None or not known.has_value or not callable(known.value):
        return None
    name = expression.rpartition(".")[2]
    return Call(name, known.value, *_given(found.tokens[opener + 1 :]))


def _given(tokens: list[Token]) -> tuple[int, str, frozenset[str]]:
    """Return the number of arguments before the last, the last one's keyword, and all keywords."""
    depth, position, current = 0, 0, ""
    keywords: set[str] = set()
    for token, follower in itertools.zip_longest(tokens, tokens[1:]):
        depth += (token.kind == "open") - (token.kind == "close")
        if depth:
            continue
        if token.text == ",":
            position, current = position + 1, ""
        elif token.kind == "name" and follower is not None and follower.text == "=":
            current = token.text
            keywords.add(current)
    return position, current, frozenset(keywords)


def _arguments(call: Call) -> Names:
    """Return the keywords that the call accepts and does not have yet."""
    try:
        parameters = inspect.signature(call.callee).parameters.values()
    except (TypeError, ValueError):
        return {}
    by_keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        f"{p.name}=": "argument"
        for p in parameters
        if p.kind in by_keyword and p.name not in call.given
    }


def _brief_argument(call: Call, name: str) -> dict[str, str] | None:
    """Return a parameter with its default and its description in the docstring."""
    try:
        parameter = inspect.signature(call.callee).parameters.get(name)
    except (TypeError, ValueError):
        return None
    if parameter is None:
        return None
    terms = (
        term
        for block in doc_blocks(inspect.getdoc(call.callee) or "")
        for term in block.get("terms", ())
        if name in re.split(r"\s*,\s*", term["term"])
    )
    title = str(parameter.replace(annotation=inspect.Parameter.empty))
    return {"title": title, "summary": next(terms, {"text": ""})["text"]}


def _shown(parameters: Iterable[inspect.Parameter]) -> list[tuple[str, str]]:
    """Return each parameter's name and text, with the `/` and `*` of a signature."""
    shown: list[tuple[str, str]] = []
    previous: inspect.Parameter | None = None
    has_star = False
    for parameter in parameters:
        kind = parameter.kind
        if (
            previous is not None
            and previous.kind == previous.POSITIONAL_ONLY
            and kind != kind.POSITIONAL_ONLY
        ):
            shown.append(("", "/"))
        if kind == kind.KEYWORD_ONLY and not has_star:
            shown.append(("", "*"))
        has_star = has_star or kind in (kind.VAR_POSITIONAL, kind.KEYWORD_ONLY)
        text = str(parameter.replace(annotation=inspect.Parameter.empty))
        shown.append((parameter.name, text))
        previous = parameter
    if previous is not None and previous.kind == previous.POSITIONAL_ONLY:
        shown.append(("", "/"))
    return shown


def _active(parameters: Mapping[str, inspect.Parameter], call: Call) -> str | None:
    """Return the name of the parameter that the argument at the caret binds to."""
    by_kind = {p.kind: p.name for p in parameters.values()}
    if call.keyword:
        return (
            call.keyword
            if call.keyword in parameters
            else by_kind.get(inspect.Parameter.VAR_KEYWORD)
        )
    positional = [
        p.name
        for p in parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if call.position < len(positional):
        return positional[call.position]
    return by_kind.get(inspect.Parameter.VAR_POSITIONAL)
