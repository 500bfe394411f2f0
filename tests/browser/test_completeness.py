"""Which inputs Enter runs, and which it continues on a new line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

Run = Callable[[str], dict[str, Any]]


COMPLETE = r"""
1
constructor
toString = 1
x = 'abc
x = )
(]
x = (1, '(')
'a' "b"
# only a comment (
for x in y: pass
@dec\ndef f(): pass
if'a'=='a': pass
class A:\n    x = 1\n
for x in y:\n    pass\n    \t
def f(x):\n    return x\n\nf(1)
  x = 1
x[1:]
x = [1, # (\n2]
x = '''a\n'''
x = 'a\\\nb'
x = 1 \\\n+ 2
f'{x}'
f'{{'
f'}'
f'{x!r:>10}'
f'{x:{w}.{p}}'
f'{d['a']}'
f'{'a' if x else "b"}'
f'''{x\n}'''
rf'\\{x}'
f'\\N{DASH}'
f'{x:">10}'
f'{(lambda x: 1)(2):>{3}}'
f'{ {'a': 1}['a'] }'
""".strip().split("\n")

INCOMPLETE = r"""
x = (1,
x = [1, # )
x = '''abc
x = 'abc\\
x = 1 \\
for x in y:
for x in y:  # why
for x in y:\n
for x in y:\n    pass
if x: pass\nelse: pass
try:\n    f()\n\nexcept E:
@dec
class A:\n    x = '''a\nb'''
def f():\n    return (1,\n2)
async def f():
x[1:
print('#', (
f'''{x}
f'''{x
f'{f(
f'{x:%H:%M}' + (
'\\'' + (
""".strip().split("\n")

IS_COMPLETE = """async (texts) => {
    const { isComplete } = await import("./sources/page/repl/completeness.js");
    return texts.map(isComplete);
}"""


class TestCompleteness:
    @pytest.mark.parametrize("text", COMPLETE)
    def test_complete(self, page: Page, text: str) -> None:
        assert page.evaluate(IS_COMPLETE, [_unescaped(text)]) == [True]

    @pytest.mark.parametrize("text", INCOMPLETE)
    def test_incomplete(self, page: Page, text: str) -> None:
        assert page.evaluate(IS_COMPLETE, [_unescaped(text)]) == [False]

    def test_pythons_own_answer_for_each_line_of_some_modules(self, page: Page, run: Run) -> None:
        code = (
            "import ast, codeop, inspect, json, shlex, textwrap\n"
            "from py_tensor.convert import printing\n"
            "texts, answers = [], []\n"
            "for module in (printing, shlex, textwrap):\n"
            "    source = inspect.getsource(module)\n"
            "    for part in ast.parse(source).body:\n"
            "        lines = source.split('\\n')[part.lineno - 1 : part.end_lineno + 1]\n"
            "        for n in range(1, len(lines) + 1):\n"
            "            if lines[n - 1].endswith('\\\\'):\n"
            "                continue  # Python's answers differ with what it is in\n"
            "            texts.append('\\n'.join(lines[:n]) + '\\n')\n"
            "            try:\n"
            "                answer = codeop.compile_command(texts[-1], '', 'exec') is not None\n"
            "            except SyntaxError:\n"
            "                answer = True\n"
            "            answers.append(answer)\n"
            "print(json.dumps([texts, answers]))"
        )
        texts, answers = json.loads(run(code)["stdout"])
        assert len(texts) > 500
        found = page.evaluate(IS_COMPLETE, texts)
        wrong = [t[-80:] for t, a, b in zip(texts, answers, found, strict=True) if a != b]
        assert wrong == []


def _unescaped(text: str) -> str:
    """Unescape one line of a list here; backslashes have the same meaning as in a string."""
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace("\0", "\\")
