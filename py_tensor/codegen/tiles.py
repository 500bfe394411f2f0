"""The tiled form of matrix products: regions of `shaders/kernels/matmul_tiled.wgsl`.

Both tiles lie in workgroup memory with the operand's own index contiguous and the summed one
outside, whichever way the matrices lie in memory: the inner loop then reads vectors of both and
does one multiply-add for each pair of their elements. While a workgroup multiplies, the next slice
is on its way into registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from py_tensor.codegen.choices import Tile
from py_tensor.codegen.emit import XYZW
from py_tensor.dtypes import DType

# How an operand is read: "o", vectors along its own index; "k", vectors along the summed one; "go"
# and "gk", elements, neighbouring invocations along the one or the other.
VECTORS = ("o", "k")


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of a product, and its tile.

    Attributes
    ----------
    name : str
        "a" or "b".
    binding : int
        Of its buffer.
    mode : str
        How it is read, see `VECTORS`.
    extent, own, along : str
        WGSL of the length of its own index, and of the strides along that and the summed one, in
        the units in which it is read.
    size : int
        Of the tile along its own index.
    """

    name: str
    dtype: DType
    binding: int
    mode: str
    extent: str
    own: str
    along: str
    size: int

    @property
    def pitch(self) -> int:
        """Elements between neighbours along k in the tile.

        Where single elements are stored, neighbouring invocations would otherwise meet in a bank.
        """
        return self.size if self.mode == "o" else self.size + 4

    def declaration(self, depth: int) -> str:
        element = f"vec4<{self.dtype.wgsl}>" if self.mode == "o" else self.dtype.wgsl
        count = self.pitch * depth // (4 if self.mode == "o" else 1)
        return f"var<workgroup> tile_{self.name}: array<{element}, {count}>;"

    def loads(self, tile: Tile) -> int:
        """How many loads each invocation makes for a slice."""
        return self.size * tile.bk // tile.workgroup // (4 if self.mode in VECTORS else 1)

    def position(self, tile: Tile, number: int) -> tuple[str, str]:
        """WGSL of where load `number` lies in the slice: along the own index, and along k.

        In units of loads: vectors along the index that is contiguous.
        """
        e = f"(invocation + {number * tile.workgroup}u)"
        match self.mode:
            case "o":
                inner = self.size // 4
            case "k":
                inner = tile.bk // 4
            case "go":
                inner = self.size
            case _:
                inner = tile.bk
        first, second = f"({e} % {inner}u)", f"({e} / {inner}u)"
        return (first, second) if self.mode in ("o", "go") else (second, first)

    def places(self, tile: Tile) -> list[str]:
        """Statements that find where each load begins. Rows past the end read the last one."""
        corner, extent = f"{'m' if self.name == 'a' else 'n'}0", self.extent
        if self.mode == "o":
            corner, extent = f"{corner} / 4u", f"{extent} / 4u"
        code: list[str] = []
        for n in range(self.loads(tile)):
            own, k = self.position(tile, n)
            code.append(
                f"let {self.name}_at{n} = base_{self.name} + "
                f"min({corner} + {own}, {extent} - 1u) * {self.own} + {k} * {self.along};"
            )
        return code

    def fetch(self, tile: Tile, k0: str) -> list[str]:
        """Statements that load a slice into registers."""
        step = f"{k0} / 4u" if self.mode == "k" else f"{k0} * {self.along}"
        return [
            f"{self.name}_next{n} = b{self.binding}[{self.name}_at{n} + {step}];"
            for n in range(self.loads(tile))
        ]

    def registers(self, tile: Tile) -> list[str]:
        kind = f"vec4<{self.dtype.wgsl}>" if self.mode in VECTORS else str(self.dtype.wgsl)
        return [f"var {self.name}_next{n} = {kind}();" for n in range(self.loads(tile))]

    def keep(self, tile: Tile) -> list[str]:
        """Statements that bring a slice from registers to the tile, zeros past the end of k."""
        code: list[str] = []
        for n in range(self.loads(tile)):
            own, k = self.position(tile, n)
            value, name = f"{self.name}_next{n}", f"tile_{self.name}"
            unit = "4u * " if self.mode == "k" else ""
            inside = f"k0 + {unit}{k} < K"
            if self.mode == "o":
                vectors = f"{k} * {self.pitch // 4}u + {own}"
                code.append(
                    f"{name}[{vectors}] = select({_zero(self.dtype, 4)}, {value}, {inside});"
                )
            elif self.mode == "k":
                code += [
                    "{",
                    f"  let kept = select({_zero(self.dtype, 4)}, {value}, {inside});",
                    f"  let at = {k} * {4 * self.pitch}u + {own};",
                    *(f"  {name}[at + {j * self.pitch}u] = kept.{c};" for j, c in enumerate(XYZW)),
                    "}",
                ]
            else:
                at = f"{k} * {self.pitch}u + {own}"
                code.append(f"{name}[{at}] = select({_zero(self.dtype, 1)}, {value}, {inside});")
        return code

    def vector(self, k: int, first: str) -> str:
        """WGSL of four neighbours in the tile, from vector `first` on."""
        if self.mode == "o":
            return f"tile_{self.name}[{k * self.pitch // 4}u + {first}]"
        at = f"{k * self.pitch}u + ({first}) * 4u"
        elements = ", ".join(f"tile_{self.name}[{at} + {j}u]" for j in range(4))
        return f"vec4<{self.dtype.wgsl}>({elements})"


def _zero(dtype: DType, width: int) -> str:
    return f"vec4<{dtype.wgsl}>()" if width == 4 else f"{dtype.wgsl}()"


def tiled(tile: Tile, dtype: DType, a: Operand, b: Operand) -> tuple[dict[str, str], list[str]]:
    """The regions that depend on the tile and on how operands are read, and the declarations."""
    kind = f"vec4<{dtype.wgsl}>"
    columns = tile.tn // 4
    accs = [f"c{i}_{v}" for i in range(tile.tm) for v in range(columns)]
    multiply: list[str] = []
    for k in range(tile.bk):  # unrolled here: no compiler on the way does it
        multiply.append("{")
        multiply += [
            f"  let a{u} = {a.vector(k, f'ty + {u * tile.wy}u')};" for u in range(tile.tm // 4)
        ]
        multiply += [
            f"  let b{v}_ = {b.vector(k, f'tx + {v * tile.wx}u')};" for v in range(columns)
        ]
        multiply += [
            f"  c{i}_{v} += a{i // 4}.{XYZW[i % 4]} * b{v}_;"
            for i in range(tile.tm)
            for v in range(columns)
        ]
        multiply.append("}")
    both = (a, b)
    results = [
        f"const COLUMNS = {columns}u;",
        f"var results = array<{kind}, {len(accs)}>({', '.join(accs)});",
    ]
    start = [s for x in both for s in (*x.places(tile), *x.registers(tile))]
    regions = {
        "start": lines([*start, *(f"var {c} = {kind}();" for c in accs)], 1),
        "first": lines([s for x in both for s in x.fetch(tile, "0u")], 1),
        "keep": lines([s for x in both for s in x.keep(tile)], 2),
        "next": lines([s for x in both for s in x.fetch(tile, "next")], 3),
        "multiply": lines(multiply, 2),
        "results": lines(results, 1),
    }
    return regions, [x.declaration(tile.bk) for x in both]


def lines(code: Sequence[str], depth: int) -> str:
    return "\n".join("  " * depth + line for line in code)
