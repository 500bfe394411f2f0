"""Writes the gallery's examples to one JSON file: their docstrings and their code.

usage: python3 web/build/examples.py FOLDER OUTPUT

An example is a file of FOLDER whose docstring has a title, a one-line summary, and a longer
explanation, each in a paragraph of its own. `ORDER` is the order in the gallery.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

ORDER = (
    "elementwise",
    "matmul",
    "mandelbrot",
    "life",
    "gray_scott",
    "filters",
    "nbody",
    "monte_carlo",
    "kmeans",
)


def example(path: Path) -> dict[str, str]:
    """Return the gallery's entry of one example: name, title, line, text, and the code below it.

    Raises
    ------
    ValueError
        If its docstring lacks a part.
    """
    source = path.read_text("utf-8")
    module = ast.parse(source)
    paragraphs = (ast.get_docstring(module) or "").split("\n\n")
    if len(paragraphs) < 3:
        raise ValueError(f"{path}: the docstring needs a title, a line and an explanation")
    title, line, *text = (" ".join(paragraph.split()) for paragraph in paragraphs)
    code = "".join(source.splitlines(keepends=True)[module.body[0].end_lineno :])
    return {
        "name": path.stem,
        "title": title.rstrip("."),
        "line": line,
        "text": "\n\n".join(text),
        "code": code.strip() + "\n",
    }


def main() -> int:
    folder, output = map(Path, sys.argv[1:])
    found = {path.stem for path in folder.glob("*.py")}
    if found != set(ORDER):
        raise ValueError(f"{folder} and ORDER differ in {sorted(found ^ set(ORDER))}")
    examples = [example(folder / f"{name}.py") for name in ORDER]
    output.write_text(json.dumps(examples, ensure_ascii=False, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
