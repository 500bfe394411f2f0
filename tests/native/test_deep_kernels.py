"""WGSL that nests deeply: what `pt.kernel` accepts compiles in a thread with a small stack."""

from __future__ import annotations

import subprocess
import sys
from time import process_time

import pytest

import py_tensor as pt
from py_tensor.codegen.custom import MAX_NESTING, nesting_of
from tests.environment import ROOT

# The text for n levels, and how many of them count as one level of a bracket.
DEEP = {
    "parentheses": ("lambda n: f'y[index] = {\"(\" * n}1.0{\")\" * n};'", 1),
    "minus": ("lambda n: 'y[index] = ' + '- ' * n + 'x[index];'", 1),
    "not": ("lambda n: f'let b = {\"!\" * n}true; y[index] = f32(b);'", 1),
    "calls": ("lambda n: f'y[index] = {\"abs(\" * n}x[index]{\")\" * n};'", 1),
    "indices": (
        "lambda n: f'let a = array<u32, 2>(0u, 1u);y[index] = f32({\"a[\" * n}0u{\"]\" * n});'", 1
    ),
    "types": ("lambda n: f'var a: {\"array<\" * n}f32{\", 1>\" * n}; y[index] = 1.0;'", 1),
    "blocks": ("lambda n: '{' * n + 'y[index] = 1.0;' + '}' * n", 1),
    "ifs": ("lambda n: 'if (true) {' * n + 'y[index] = 1.0;' + '}' * n", 1),
    "else ifs": (
        "lambda n: 'if (index == 0u) { y[index] = 1.0; }'"
        " + ' else if (index == 1u) { y[index] = 2.0; }' * n",
        2,
    ),
    "sums": ("lambda n: 'y[index] = x[index]' + ' + 1.0' * n + ';'", 4),
    "comparisons": ("lambda n: 'let b = 1.0' + ' > 2.0' * n + '; y[index] = 1.0;'", 4),
    "indices in a row": (
        "lambda n: 'let a = array<u32, 2>(0u, 1u); y[index] = f32(a' + '[0]' * n + ');'", 4
    ),
    "unknown templates": (
        "lambda n: f'var a: {\"binding_array<\" * n}f32{\", 1>\" * n}; y[index] = 1.0;'", 1
    ),
    "sums in templates": ("lambda n: f'var a: {\"T<1 + \" * n}1{\">\" * n}; y[index] = 1.0;'", 1),
    "names beyond ASCII": ("lambda n: f'var a: {\"\u2118<\" * n}f32{\">\" * n};'", 1),
    "comment in else if": (
        "lambda n: 'if (index == 0u) { y[index] = 1.0; }'"
        " + ' else/**/if (index == 1u) { y[index] = 2.0; }' * n",
        2,
    ),
    "direction mark in else if": (
        "lambda n: 'if (index == 0u) { y[index] = 1.0; }'"
        " + ' else\u200eif (index == 1u) { y[index] = 2.0; }' * n",
        2,
    ),
    **{
        f"comment before {end!r}": (
            f"lambda n: f'// a{end}y[index] = {{\"(\" * n}}1.0{{\")\" * n}};'", 1
        )
        for end in ("\\n", "\\v", "\\f", "\\r", "\\x85", "\\u2028", "\\u2029")
    },
    "swizzles": ("lambda n: 'var v = vec2f(1.0); y[index] = v' + '.xy' * n + '.x;'", 4),
}  # fmt: skip
PROGRAM = """
import sys, threading
import py_tensor as pt
pt.set_default_device("webgpu")
text = eval(sys.argv[1])(int(sys.argv[2]))
def run():
    kernel = pt.kernel("deep", text, inputs=("x",), outputs={"y": "x"})
    print(kernel(pt.ones(3)).shape)
threading.stack_size(256 * 1024)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("kind", DEEP)
def test_too_deep_is_an_error(kind: str) -> None:
    text, levels = DEEP[kind]
    made = eval(text)
    for n in (3000, 50_000):
        with pytest.raises(ValueError, match=r"^deep: the WGSL nests \d+ levels .* at most"):
            pt.kernel("deep", made(n), inputs=("x",), outputs={"y": "x"})
    assert nesting_of(made(levels * (MAX_NESTING + 2))) > MAX_NESTING
    assert nesting_of(made(levels * MAX_NESTING // 2)) < MAX_NESTING


@pytest.mark.parametrize(
    "kind", ["parentheses", "types", "else ifs", "sums", "indices in a row", "sums in templates"]
)
def test_the_deepest_compiles_in_a_small_thread(kind: str) -> None:
    text, levels = DEEP[kind]
    deepest = levels * (MAX_NESTING - 3)
    assert nesting_of(eval(text)(deepest)) <= MAX_NESTING
    command = [sys.executable, "-c", PROGRAM, text, str(deepest)]
    assert subprocess.check_output(command, cwd=ROOT, text=True) == "(3,)\n"


def test_many_comments_take_linear_time() -> None:
    start = process_time()
    for comment in ("/*", "/* */", "//\n", "/* /* */ "):
        assert nesting_of(comment * 200_000) == 0
    assert process_time() - start < 5


def test_what_nests_and_what_does_not() -> None:
    for text, levels in (
        ("a - b * c;", 0), ("a[b[0]];", 2), ("- - -x;", 3), ("f(a, b, (c));", 2),
        ("// ((((\n(a);", 1), ("/* (((( */ (a);", 1), ("if (a < b) {} if (c > d) { e; }", 2),
        ("array<vec2<f32>, 2>();", 2), ("x = a + b; " * 1000, 0),
        ("if (a) {} else if (b) {} else if (c) { d; }", 2),
        ("// ((\r(a);", 1), ("/* /* */ (( */ (a);", 1), ("/*/ (( */ (a);", 1), ("(a); /* ((", 1),
        ("// /*\n(a);", 1), ("/* // */ (a);", 1), ("if (a) {} else/**/if (b) {}" * 100, 1),
        ("if a < b { c; } " * 100, 1), ("x = f(a, b < c); " * 100, 2), ("x = a < b; " * 100, 1),
        ("a < b && c < d;", 1), ("for (var i = 0; i < n; i++) {}" * 100, 2),
        ("a << b;", 0), ("a: T<T<U<1>>>= b;", 3), ("x = 1.0.x.x.x.x;", 1),
    ):  # fmt: skip
        assert nesting_of(text) == levels, text
