"""Pack the bridge's modules into one script, for hosts whose origin does not serve them.

The script is one expression whose value is the function ``createBridge``, so that Pyodide's
``run_js(pack(directory))`` returns it. This needs no JavaScript parser, because the modules use
only declarations that begin a line and have one of a few forms; any other form is an error.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_IMPORT = re.compile(r'^import \{([\w\s,]+)\} from "\./([\w.]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function |class |const )", re.MULTILINE)
_DECLARATION = re.compile(
    r"^(export )?(?:(?:async )?function\*?|class|const|let) (\w+)", re.MULTILINE
)
_UNKNOWN = re.compile(r"^(?:import|export|var)\b.*|^(?:const|let) *[\[{].*", re.MULTILINE)


def pack(directory: Path) -> str:
    """Return the modules reachable from ``directory / "index.js"`` as one expression.

    Raises ``ValueError`` for modules that cannot be packed: a name declared by two modules, an
    import of a name that the other module does not export, a circular import, or an unknown form.
    """
    bodies: dict[str, str] = {}
    exports: dict[str, set[str]] = {}
    owners: dict[str, str] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise ValueError(f"circular import: {' -> '.join((*importers, name))}")
        if name in bodies:
            return
        text = (directory / name).read_text(encoding="utf-8")
        for names, source in _IMPORT.findall(text):
            add(source, (*importers, name))
            wanted = {part.strip() for part in names.split(",")} - {""}
            if missing := wanted - exports[source]:
                raise ValueError(
                    f"{name} imports {sorted(missing)}, which {source} does not export"
                )
        body = _EXPORT.sub("", _IMPORT.sub("", text))
        if unknown := _UNKNOWN.search(body):
            raise ValueError(f"{name}: a form that pack.py does not know: {unknown.group()!r}")
        declared = _DECLARATION.findall(text)
        for _, identifier in declared:
            if owner := owners.get(identifier):
                raise ValueError(f"{identifier} is declared in {owner} and in {name}")
            owners[identifier] = name
        exports[name] = {identifier for exported, identifier in declared if exported}
        bodies[name] = body

    add("index.js", ())
    modules = "\n".join(f"// {name}\n{body}" for name, body in bodies.items())
    return f'(() => {{\n"use strict";\n{modules}\nreturn createBridge;\n}})()\n'


if __name__ == "__main__":
    sys.stdout.write(pack(Path(__file__).parent))
