"""Products with a vector on software adapters: regions of `kernels/matmul_vector.wgsl`.

Such an adapter takes as long for a load as for many multiplications, and a turn of a loop costs it
several loads: so an invocation goes along several rows of the matrix at once, four elements of each
in a turn, and loads an element of the vector once for all of them.
"""

from __future__ import annotations

from py_tensor.codegen.adapter_profile import Column
from py_tensor.codegen.quads import Side
from py_tensor.codegen.tiles import lines

WORKGROUP = 16  # invocations
CHAIN = 256  # products added up one after the other; a multiple of 4


def vector_regions(column: Column, kind: str, a: Side, b: Side) -> tuple[dict[str, str], list[str]]:
    """The regions, and the functions that go into the interface.

    `kind` is the WGSL type of an element, `a` the matrix and `b` the vector.
    """
    rows = range(column.rows)
    start = [f"let along_a = {a.along};", f"let along_b = {b.along};", "var at_b = base_b;"]
    start += [f"var at_a{i} = base_a + min(m + {i}u, M - 1u) * {a.own};" for i in rows]
    start += [f"var sum{i} = {kind}();" for i in rows]
    four = [f"let v{n} = load_b(at_b + {n}u * along_b);" for n in range(4)]
    for i in rows:
        products = (f"load_a(at_a{i} + {n}u * along_a) * v{n}" for n in range(4))
        four.append(f"part{i} += {' + '.join(products)};")
    one = ["let v = load_b(at_b);", *(f"part{i} += load_a(at_a{i}) * v;" for i in rows)]
    for code, steps in ((four, "4u * "), (one, "")):
        code += [f"at_a{i} += {steps}along_a;" for i in rows]
        code.append(f"at_b += {steps}along_b;")
    sums = ", ".join(f"sum{i}" for i in rows)
    regions = {
        "start": lines(start, 1),
        "parts": lines([f"var part{i} = {kind}();" for i in rows], 2),
        "four": lines(four, 3),
        "one": lines(one, 3),
        "join": lines([f"sum{i} += part{i};" for i in rows], 2),
        "results": f"  var results = array<{kind}, ROWS>({sums});",
    }
    return regions, [
        f"fn load_a(at: u32) -> {kind} {{ return {a.at('at')}; }}",
        f"fn load_b(at: u32) -> {kind} {{ return {b.at('at')}; }}",
    ]
