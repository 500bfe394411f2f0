"""The tiled form of matrix products: regions of `shaders/kernels/matmul_tiled.wgsl`.

Both tiles are stored in workgroup memory with the operand's own index (m or n) contiguous and the
summed index k outermost, whatever the layout of the matrices. The inner loop then reads vectors of
both and does one multiply-add for each pair of their elements. While a workgroup multiplies, the
next slice is being loaded into registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from py_tensor.base.dtypes import DType
from py_tensor.codegen.choices import Tile
from py_tensor.codegen.codec import XYZW, Binding
from py_tensor.codegen.program import Params
from py_tensor.codegen.writer import indent
from py_tensor.schedule.body import Load

# How an operand is read: "o" vectors along its own index; "k" vectors along the summed index; "go"
# and "gk" single elements, with neighbouring invocations along the own or the summed index.
VECTORS = ("o", "k")


@dataclass(slots=True)
class Operand:
    """One operand of a product, and its tile.

    Loads past the last row read arbitrary elements; results of these rows are not stored.

    Attributes
    ----------
    name : str
        "a" or "b".
    load : Load
    steps : tuple of int
        Its strides along its own index and along the summed one.
    size : int
        The extent of the tile along its own index.
    tile : Tile
    mode : str
        How it is read, see `VECTORS`.
    binding : int
        The number of its binding.
    own, along : str
        WGSL of its strides along its own index and along the summed one, in units of its loads.
    """

    name: str
    load: Load
    steps: tuple[int, int]
    size: int
    tile: Tile
    mode: str
    binding: int = 0
    own: str = ""
    along: str = ""

    def bind(self, bindings: Sequence[Binding], params: Params) -> None:
        """Find its binding, and add its strides to the parameters."""
        own, along = (step // self.scale for step in self.steps)
        slot = self.load.slot
        self.binding = next(n for n, b in enumerate(bindings) if b.slot == slot and not b.writable)
        self.own = "1u" if self.mode == "o" else params.add(own)
        self.along = "1u" if self.mode == "k" else params.add(along)

    @property
    def dtype(self) -> DType:
        return self.load.dtype

    @property
    def scale(self) -> int:
        """Elements of a load."""
        return 4 if self.mode in VECTORS else 1

    @property
    def kind(self) -> str:
        """The WGSL type of a load."""
        return f"vec4<{self.dtype.wgsl}>" if self.mode in VECTORS else str(self.dtype.wgsl)

    @property
    def unit(self) -> int:
        """Neighbours along its own index in an element of the tile."""
        return 4 if self.mode == "o" else 1

    @property
    def pitch(self) -> int:
        """The stride along k in the tile.

        Where single elements are stored, padding keeps neighbouring invocations in different banks.
        """
        return self.size if self.mode == "o" else self.size + 4

    @property
    def places(self) -> int:
        """The length of the tile's array, in vectors if its elements are vectors."""
        return self.pitch * self.tile.bk // self.unit

    def declaration(self) -> str:
        element = f"vec4<{self.dtype.wgsl}>" if self.mode == "o" else self.dtype.wgsl
        return f"var<workgroup> tile_{self.name}: array<{element}, {self.places}>;"

    @property
    def whole(self) -> int:
        """The number of loads of a slice, over all invocations."""
        return self.size * self.tile.bk // self.scale

    @property
    def loads(self) -> range:
        """The loads of one invocation; if a slice needs fewer, some invocations do none."""
        return range(-(-self.whole // self.tile.workgroup))

    @property
    def _across(self) -> int:
        """Loads side by side in the slice, along the index that is contiguous in memory."""
        return {"o": self.size // 4, "go": self.size, "k": self.tile.bk // 4}.get(
            self.mode, self.tile.bk
        )

    def _offset(self, number: int) -> tuple[int, int]:
        """Return the distance of load `number` from the first, along the own index and along k."""
        steps = number * self.tile.workgroup
        inner, outer = steps % self._across, steps // self._across
        return (inner, outer) if self.mode in ("o", "go") else (outer, inner)

    def start(self) -> list[str]:
        """Return statements that find the position of the first load, in memory and in the tile.

        All sizes are powers of two, so the other loads are at fixed distances from it.
        """
        x, unit = self.name, self.unit
        corner = f"{'m' if x == 'a' else 'n'}0"
        first = "start / 4u" if self.mode == "k" else f"start * {self.along}"
        e = "invocation" if self.whole >= self.tile.workgroup else f"(invocation % {self.whole}u)"
        inner, outer = f"{e} % {self._across}u", f"{e} / {self._across}u"
        across, k = (inner, outer) if self.mode in ("o", "go") else (outer, inner)
        rows = 4 * self.pitch if self.mode == "k" else self.pitch // unit
        moves = {f"{x}_move{n}": self._move(n) for n in self.loads if n}
        return [
            f"let {x}_own = {across};",
            f"let {x}_k = {k};",
            f"let {x}_to = {x}_k * {rows}u + {x}_own;",
            f"var {x}_at = base_{x} + ({corner} / {unit}u + {x}_own) * {self.own}"
            f" + {x}_k * {self.along} + {first};",
            *(f"let {name} = {move};" for name, move in moves.items()),
            *(f"var {x}_next{n} = {self.kind}();" for n in self.loads),
        ]

    def _move(self, number: int) -> str:
        """Return WGSL of the distance in memory of load `number` from the first."""
        across, k = self._offset(number)
        terms = [f"{n}u * {stride}" for n, stride in ((across, self.own), (k, self.along)) if n]
        return " + ".join(terms)

    def _guarded(self, code: list[str]) -> list[str]:
        """Return the statements, restricted to the invocations that load something."""
        if self.whole >= self.tile.workgroup:
            return code
        return [f"if (invocation < {self.whole}u) {{", *(f"  {line}" for line in code), "}"]

    def fetch(self) -> list[str]:
        """Return statements that load a slice into registers."""
        x = self.name
        step = self.tile.bk // (4 if self.mode == "k" else 1)
        moved = [f"{x}_at" + (f" + {x}_move{n}" if n else "") for n in self.loads]
        code = [f"{x}_next{n} = b{self.binding}[{index}];" for n, index in enumerate(moved)]
        return [*self._guarded(code), f"{x}_at += {step}u * {self.along};"]

    def keep(self) -> list[str]:
        """Return statements that store a slice from registers in the tile, with zeros past k's end.

        Every slice selects zeros. With a branch for the last slice instead, 2048 squared takes
        472 µs on an H200 rather than 400.
        """
        x = self.name
        code: list[str] = []
        for n in self.loads:
            across, k = self._offset(n)
            summed_index = f"{x}_k + {k}u"
            summed_index = f"({summed_index}) * 4u" if self.mode == "k" else summed_index
            kept = f"select({self.kind}(), {x}_next{n}, k0 + {summed_index} < end)"
            if self.mode == "k":
                code.append(f"let {x}_kept{n} = {kept};")
                to = [(4 * k + j) * self.pitch + across for j in range(4)]
                code += [
                    f"tile_{x}[{x}_to + {index}u] = {x}_kept{n}.{c};"
                    for index, c in zip(to, XYZW, strict=True)
                ]
            else:
                index = k * self.pitch // self.unit + across
                code.append(f"tile_{x}[{x}_to + {index}u] = {kept};")
        return self._guarded(code)

    def vector(self, k: int, first: int) -> str:
        """Return WGSL of four neighbours in the tile, `first` vectors after the first one."""
        index = k * self.pitch + 4 * first
        if self.mode == "o":
            return f"tile_{self.name}[{self.name}_from + {index // 4}u]"
        elements = (f"tile_{self.name}[{self.name}_from + {index + j}u]" for j in range(4))
        return f"vec4<{self.dtype.wgsl}>({', '.join(elements)})"

    def origin(self) -> str:
        """Return a statement for the position in the tile of the invocation's first vector."""
        across = ("ty" if self.name == "a" else "tx") + ("" if self.unit == 4 else " * 4u")
        rows = self.tile.bk // self.tile.wk * self.pitch // self.unit
        slice_start = f"tk * {rows}u + " if self.tile.wk > 1 else ""
        return f"let {self.name}_from = {slice_start}{across};"


def tiled(a: Operand, b: Operand, width: int) -> tuple[dict[str, str], list[str]]:
    """Return the regions that depend on the tile and the operands' modes, and the declarations.

    `width` is the number of neighbouring results that are stored at once.
    """
    tile, both = a.tile, (a, b)
    kind = f"vec4<{a.dtype.wgsl}>"
    columns = tile.tn // 4
    accs = [f"c{i}_{v}" for i in range(tile.tm) for v in range(columns)]
    declarations = [x.declaration() for x in both]
    multiply: list[str] = []
    for k in range(tile.bk // tile.wk):  # unrolled here, because the shader compilers do not
        multiply.append("{")
        multiply += [f"  let a{u} = {a.vector(k, u * tile.wy)};" for u in range(tile.tm // 4)]
        multiply += [f"  let b{v}_ = {b.vector(k, v * tile.wx)};" for v in range(columns)]
        multiply += [
            f"  c{i}_{v} += a{i // 4}.{XYZW[i % 4]} * b{v}_;"
            for i in range(tile.tm)
            for v in range(columns)
        ]
        multiply.append("}")
    results = [
        f"const COLUMNS = {columns}u;",
        f"var results = array<{kind}, {len(accs)}>({', '.join(accs)});",
    ]
    start = [s for x in both for s in (*x.start(), x.origin())]
    regions = {
        "start": indent([*start, *(f"var {c} = {kind}();" for c in accs)], 1),
        "first": indent([s for x in both for s in x.fetch()], 1),
        "keep": indent([s for x in both for s in x.keep()], 2),
        "next": indent([s for x in both for s in x.fetch()], 3),
        "multiply": indent(multiply, 2),
        "results": indent(results, 1),
    }
    if width == 1 or tile.wk > 1:
        declarations.append(f"var<workgroup> stage: array<{a.dtype.wgsl}, {tile.staged}>;")
        regions["finish"] = indent(_staged(tile, width), 2)
    return regions, declarations


def _staged(tile: Tile, width: int) -> list[str]:
    """Return statements that pass results through workgroup memory.

    This adds up the results of invocations that share k, and rearranges single elements so that
    neighbouring invocations store neighbours.
    """
    pitch, block = tile.staged // 4, tile.wx * tile.wy
    spots, across = block * 4 // width, tile.wx * 4 // width
    put = [
        f"stage[tk * {block}u + ty * WX + tx + {c * pitch}u] = results[e].{x};"
        for c, x in enumerate(XYZW)
    ]
    parts = [f"{n * block}u" for n in range(tile.wk)]
    s = "invocation" if spots <= tile.workgroup else "(invocation + r * WORKGROUP)"
    if width == 4:
        index = f"{s} % {block}u"
        sums = [" + ".join(f"stage[at + {p} + {c * pitch}u]" for p in parts) for c in range(4)]
        value, column = f"vec4({', '.join(sums)})", "column / 4u + x"
    else:
        index = f"x % 4u * {pitch}u + y * WX + x / 4u"
        value, column = " + ".join(f"stage[at + {p}]" for p in parts), "column + x"
    statements = [
        f"let x = {s} % {across}u;",
        f"let y = {s} / {across}u % {tile.wy}u;",
        f"let at = {index};",
        f"finish(batch, row + y * 4u, {column}, {value});",
    ]
    if spots < tile.workgroup:
        taken = [f"if (invocation < {spots}u) {{", *(f"  {line}" for line in statements), "}"]
    elif spots > tile.workgroup:
        rounds = f"for (var r = 0u; r < {spots // tile.workgroup}u; r++) {{"
        taken = [rounds, *(f"  {line}" for line in statements), "}"]
    else:
        taken = statements
    return [*put, "workgroupBarrier();", *taken, "workgroupBarrier();"]
