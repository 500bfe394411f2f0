"""The form of matrix products for software adapters: regions of `kernels/matmul_quads.wgsl`.

Such an adapter runs four neighbouring invocations, a quad, in one vector of the CPU. A load is then
four loads of an element each with a test before every one, wherever in memory they lie, while a
swap within the quad is one instruction. So the quad keeps a block of results in registers,
invocation l those of the rows 4 i + l, and each element of either operand is loaded by one of the
four only. An invocation that swaps its element of B's columns 4 j + l with the others' holds, as
component s of a vector, that of column 4 j + (l xor s): what it adds up is put in order at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from py_tensor.codegen.choices import Block
from py_tensor.codegen.emit import element
from py_tensor.codegen.tiles import lines

WORKGROUP = 16  # invocations: each quad has a large share of the work
_SWAPS = ("quadSwapX", "quadSwapY", "quadSwapDiagonal")
_DIRECTIVES = """enable subgroups;
diagnostic(off, subgroup_uniformity);"""


@dataclass(frozen=True, slots=True)
class Side:
    """An operand: its buffer's binding, and WGSL of its strides in elements.

    Attributes
    ----------
    binding : int
    vector : bool
        The buffer is bound as vectors, because the epilogue reads it so.
    own, along : str
        The strides along the operand's own index, and along the summed one.
    """

    binding: int
    vector: bool
    own: str
    along: str

    def at(self, where: str) -> str:
        return element(self.binding, self.vector, where)


def quad_regions(
    block: Block, kind: str, a: Side, b: Side, *, swaps: bool
) -> tuple[dict[str, str], list[str]]:
    """The regions, and the functions that go into the interface.

    `kind` is the WGSL type of an element; without `swaps`, which need the feature "subgroups", each
    invocation loads all four elements of B by itself.
    """
    rows, vectors = range(block.rows // 4), range(block.columns // 4)
    start = [f"let a_at{i} = base_a + min(m + {4 * i}u, M - 1u) * {a.own};" for i in rows] + [
        f"let b_at{j} = base_b + min(n + {4 * j}u + columns(lane), Columns(N - 1u)) * {b.own};"
        for j in vectors
    ]
    start += [f"var c{i}_{j} = vec4<{kind}>();" for i in rows for j in vectors]
    multiply: list[str] = []
    for step, k in enumerate(("k", "k1")):
        for name, side, count, zero in (("a", a, rows, kind), ("b", b, vectors, f"vec4<{kind}>")):
            for n in count:
                value = f"load_{name}({name}_at{n} + {k} * {side.along})"
                if step:
                    value = f"select({zero}(), {value}, second)"
                multiply.append(f"let {name}{n}_{step} = {value};")
        multiply += [f"c{i}_{j} += a{i}_{step} * b{j}_{step};" for i in rows for j in vectors]
    results = ", ".join(f"c{i}_{j}" for i in rows for j in vectors)
    regions = {
        "directives": _DIRECTIVES if swaps else "",
        "start": lines(start, 1),
        "multiply": lines(multiply, 2),
        "results": f"  var results = array<vec4<{kind}>, {len(rows) * len(vectors)}>({results});",
    }
    loads = [f"fn load_a(at: u32) -> {kind} {{ return {a.at('at')}; }}"]
    if swaps:
        swapped = ", ".join(f"{swap}(b)" for swap in _SWAPS)
        loads += [
            "alias Columns = u32;",
            "fn columns(lane: u32) -> Columns { return lane; }",
            f"fn load_b(at: Columns) -> vec4<{kind}> {{\n  let b = {b.at('at')};\n"
            f"  return vec4<{kind}>(b, {swapped});\n}}",
        ]
    else:
        each = ", ".join(b.at(f"at.{c}") for c in "xyzw")
        loads += [
            "alias Columns = vec4u;",
            "fn columns(lane: u32) -> Columns { return vec4u(lane) ^ vec4u(0u, 1u, 2u, 3u); }",
            f"fn load_b(at: Columns) -> vec4<{kind}> {{ return vec4<{kind}>({each}); }}",
        ]
    return regions, loads
