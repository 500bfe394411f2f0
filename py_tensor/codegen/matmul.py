"""Matrix products: which kept dimensions are rows, columns and batch, how operands lie, tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from py_tensor.codegen.emit import BodyCode, Space, decode_coordinates, load_mode
from py_tensor.codegen.map import accesses, bind, interface, mask_dims, returns, store_results
from py_tensor.codegen.profile import Profile, Tile
from py_tensor.codegen.program import Dispatch, Params
from py_tensor.codegen.reduce import Context
from py_tensor.graph.kernel import Contraction, Kernel, Load
from py_tensor.layout import merge_dims
from py_tensor.shapes import size_of

Group = tuple[int, ...]  # dimensions that are walked as one
XYZW = "xyzw"


@dataclass(frozen=True, slots=True)
class Roles:
    """The dimensions of a product: batch groups, then rows m, columns n, and the summed k."""

    batch: tuple[Group, ...]
    m: Group
    n: Group
    k: Group


def roles_of(kernel: Kernel) -> Roles | None:
    """Sort the dimensions by which operand they move; None if this is no product of matrices."""
    stage = kernel.stages[0]
    assert isinstance(stage, Contraction)
    rank = len(kernel.kept)
    a, b = stage.a.access.strides, stage.b.access.strides
    maps = [a[:rank], b[:rank], *accesses(kernel.row), *(o.access.strides for o in kernel.outputs)]
    fixed = mask_dims(kernel.row)

    def groups(chosen: Callable[[int], bool]) -> list[Group]:
        dims = [d for d in range(rank) if chosen(d)]
        return list(merge_dims(kernel.kept, maps, dims, fixed).groups)

    rows = groups(lambda d: a[d] != 0 and b[d] == 0)
    columns = groups(lambda d: a[d] == 0 and b[d] != 0)
    batch = groups(lambda d: (a[d] == 0) == (b[d] == 0))
    summed = merge_dims(kernel.reduced, [a[rank:], b[rank:]], range(len(kernel.reduced))).groups
    if not rows or not columns or len(summed) > 1:
        return None
    m = max(rows, key=lambda g: _extent(kernel.kept, g))
    n = max(columns, key=lambda g: _extent(kernel.kept, g))
    rest = [g for g in (*rows, *columns) if g not in (m, n)]
    return Roles((*batch, *rest), m, n, summed[0] if summed else ())


def _extent(extents: Sequence[int], group: Group) -> int:
    return size_of(tuple(extents[d] for d in group))


def stride_of(strides: Sequence[int], group: Group) -> int:
    return strides[group[-1]] if group else 0


def lower_matmul(kernel: Kernel, roles: Roles, context: Context) -> Dispatch:
    """The dispatch of a kernel whose stage is a contraction."""
    return _Matmul(kernel, roles, context.profile).dispatch(context)


class _Matmul:
    def __init__(self, kernel: Kernel, roles: Roles, profile: Profile) -> None:
        stage = kernel.stages[0]
        assert isinstance(stage, Contraction)
        self.kernel, self.roles, self.a, self.b = kernel, roles, stage.a, stage.b
        self.rank = len(kernel.kept)
        self.m, self.n = (_extent(kernel.kept, g) for g in (roles.m, roles.n))
        self.k = _extent(kernel.reduced, roles.k)
        self.batch = [_extent(kernel.kept, g) for g in roles.batch]
        self.count = size_of(tuple(self.batch))
        self.tile = profile.tile(self.m, self.n, self.count)
        self.width = 4 if self.n % 4 == 0 else 1
        self.a_mode = self._operand_mode(self.a, roles.m, self.m)
        self.b_mode = self._operand_mode(self.b, roles.n, self.n)
        # Without workgroup memory and with an operand that is read element by element, k goes in
        # steps of 1: more loads in one loop than that make SwiftShader's compiler explode.
        self.single = self.tile is None and "g" in (self.a_mode, self.b_mode)
        if self.single:
            self.a_mode, self.b_mode = (
                "o" if x == "o" else "g" for x in (self.a_mode, self.b_mode)
            )
        loads = [i for i in kernel.row.instructions if isinstance(i, Load)]
        self.modes = {
            x: load_mode(self._result(x.access.strides), x.access.offset, self.width) for x in loads
        }
        self.bindings = bind(
            [
                (self.a, self.a_mode != "g"),
                (self.b, self.b_mode != "g"),
                *((x, m == "v") for x, m in self.modes.items()),
            ],
            [
                (o, load_mode(self._result(o.access.strides), o.access.offset, self.width) == "v")
                for o in kernel.outputs
            ],
        )
        self.params = Params()
        for value in (self.m, self.n, self.k, self.count, 0):
            self.params.add(value)

    def _operand_mode(self, load: Load, group: Group, extent: int) -> str:
        """Which index is contiguous: "o", the operand's own; "k", the summed one; "g": neither."""
        kept, reduced = load.access.strides[: self.rank], load.access.strides[self.rank :]
        own, along = stride_of(kept, group), stride_of(reduced, self.roles.k)
        others = [stride_of(kept, g) for g in self.roles.batch] + [load.access.offset]
        if any(s % 4 for s in others):
            return "g"
        if own == 1 and along % 4 == 0 and extent % 4 == 0:
            return "o"
        return "k" if along == 1 and own % 4 == 0 and self.k % 4 == 0 else "g"

    def _result(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """An access's strides over (batch..., m, n)."""
        return tuple(stride_of(strides, g) for g in (*self.roles.batch, self.roles.m, self.roles.n))

    def _dim(self, dim: int) -> int:
        return [*self.roles.batch, self.roles.m, self.roles.n].index((dim,))

    def dispatch(self, context: Context) -> Dispatch:
        tile = self.tile
        kind = f"vec4<{self.a.dtype.wgsl}>"
        regions = {"bases": self._bases()}
        code = [
            "" if self.single else f"struct Block {{ x: {kind}, y: {kind}, z: {kind}, w: {kind} }}",
            self._loader("load_a", self.a, self.a_mode, self.roles.m, "m"),
            self._loader("load_b", self.b, self.b_mode, self.roles.n, "n"),
            *self._finish(kind),
        ]
        if tile is None:
            constants = {"WORKGROUP": context.profile.workgroup}
            regions["zero"] = _lines([f"var c{i} = {kind}();" for i in range(4)], 1)
            regions["multiply"] = _lines(_single_steps() if self.single else _block_steps(), 1)
            regions["results"] = f"  var results = array<{kind}, 4>(c0, c1, c2, c3);"
            blocks = -(-self.m // 4) * -(-self.n // 4) * self.count
            groups = -(-blocks // context.profile.workgroup)
        else:
            constants = tile.constants()
            code += [
                f"var<workgroup> tile_{x}: array<{kind}, {tile.bk * size // 4}>;"
                for x, size in (("a", tile.bm), ("b", tile.bn))
            ]
            regions |= _tiled(tile, kind)
            groups = -(-self.m // tile.bm) * -(-self.n // tile.bn) * self.count
        regions["interface"] = interface(self.bindings, self.params, constants, *code)
        template = "matmul_direct" if tile is None else "matmul_tiled"
        return Dispatch(
            context.programs.get(
                template, self.kernel.label, self.bindings, regions, self._variant()
            ),
            tuple(b.slot for b in self.bindings),
            tuple(self.params.values),
            tuple(self.params.consts),
            groups,
            4,
            2 * self.m * self.n * max(self.k, 1) * self.count,
            self.kernel.operations(),
            self.kernel.traffic(),
        )

    def _variant(self) -> str:
        """The tile, and along which index each operand is read in vectors, if along any."""
        tile = self.tile
        along = {"k": "k", "g": "elements"}
        a, b = along.get(self.a_mode, "m"), along.get(self.b_mode, "n")
        size = "4x4 blocks" if tile is None else f"tile {tile.bm}x{tile.bn}x{tile.bk}"
        return f"{size}, A by {a}, B by {b}"

    def _bases(self) -> str:
        """Where the operands' matrices of this batch begin, in the units their loader uses."""
        split, names = decode_coordinates(self.params, self.batch or [1], "batch", "z")
        lines = list(split)
        for name, load, mode in (("a", self.a, self.a_mode), ("b", self.b, self.b_mode)):
            scale = 1 if mode == "g" else 4
            terms = [self.params.add(load.access.offset // scale)]
            for z, group in zip(names, self.roles.batch, strict=False):
                terms.append(
                    f"{z} * {self.params.add(stride_of(load.access.strides, group) // scale)}"
                )
            lines.append(f"let base_{name} = {' + '.join(terms)};")
        return _lines(lines, 1)

    def _loader(self, name: str, load: Load, mode: str, group: Group, index: str) -> str:
        """A function that gives four vectors along the operand's own index, one for each k."""
        number = next(
            i for i, b in enumerate(self.bindings) if b.slot == load.slot and not b.writable
        )
        kept, reduced = load.access.strides[: self.rank], load.access.strides[self.rank :]
        scale = 1 if mode == "g" else 4
        own = self.params.add(stride_of(kept, group) // (1 if mode == "o" else scale))
        along = self.params.add(stride_of(reduced, self.roles.k) // (1 if mode == "k" else scale))
        size = self.params.at(0 if index == "m" else 1)
        kind, vector = f"vec4<{load.dtype.wgsl}>", self.bindings[number].vector
        order = "base: u32, m: u32, k: u32" if index == "m" else "base: u32, k: u32, n: u32"
        if self.single:
            return self._column_loader(
                f"fn {name}({order}) -> {kind}", number, mode, index, own, along, size
            )
        lines = [f"fn {name}({order}) -> Block {{", "  let K = params[0].z;"]
        if mode == "o":
            lines.append(f"  let at = base + {index} / 4u;")
            for j, c in enumerate(XYZW):
                lines.append(
                    f"  var {c} = {kind}(); if (k + {j}u < K && {index} < {size}) "
                    f"{{ {c} = b{number}[at + (k + {j}u) * {along}]; }}"
                )
            lines.append("  return Block(x, y, z, w);")
        elif mode == "k":
            lines.append("  let at = base + k / 4u;")
            for j in range(4):
                lines.append(
                    f"  var r{j} = {kind}(); if (k < K && {index} + {j}u < {size}) "
                    f"{{ r{j} = b{number}[at + ({index} + {j}u) * {own}]; }}"
                )
            columns = [f"{kind}({', '.join(f'r{j}.{c}' for j in range(4))})" for c in XYZW]
            lines.append(f"  return Block({', '.join(columns)});")
        else:
            lines.append(f"  let at = base + {index} * {own} + k * {along};")
            # What is out of range is read from somewhere in the buffer, and not used.
            for j in range(4):
                elements: list[str] = []
                for i in range(4):
                    where = f"at + {i}u * {own} + {j}u * {along}"
                    raw = (
                        f"b{number}[({where}) >> 2u][({where}) & 3u]"
                        if vector
                        else f"b{number}[{where}]"
                    )
                    inside = f"k + {j}u < K && {index} + {i}u < {size}"
                    elements.append(f"select({load.dtype.wgsl}(0), {raw}, {inside})")
                lines.append(f"  let c{j} = {kind}({', '.join(elements)});")
            lines.append("  return Block(c0, c1, c2, c3);")
        return "\n".join([*lines, "}"])

    def _column_loader(
        self, head: str, number: int, mode: str, index: str, own: str, along: str, size: str
    ) -> str:
        """A function that gives the one vector of a single k."""
        if mode == "o":
            value = f"b{number}[base + {index} / 4u + k * {along}]"
        else:
            kind, vector = self.a.dtype.wgsl, self.bindings[number].vector
            elements: list[str] = []
            for i in range(4):
                where = f"base + ({index} + {i}u) * {own} + k * {along}"
                raw = (
                    f"b{number}[({where}) >> 2u][({where}) & 3u]"
                    if vector
                    else f"b{number}[{where}]"
                )
                elements.append(f"select({kind}(0), {raw}, {index} + {i}u < {size})")
            value = f"vec4<{kind}>({', '.join(elements)})"
        return f"{head} {{\n  return {value};\n}}"

    def _finish(self, kind: str) -> list[str]:
        """The row body applied to four neighbouring results, and stored where they are in range."""
        outputs, params = self.kernel.outputs, self.params
        returned, declaration = returns([o.dtype for o in outputs])
        split, names = decode_coordinates(params, self.batch or [1], "batch", "z")
        code = BodyCode(self.kernel.row, self.bindings, {**self.modes}, self._dim)
        function = code.function("epilogue", params, [f"v{o.value}" for o in outputs], returned)
        zs = names[: len(self.batch)]
        lines = [f"fn finish(batch: u32, m: u32, n4: u32, acc: {kind}) {{"]
        m, n = params.at(0), params.at(1)
        lines += [f"  {line}" for line in split]
        if self.width == 4:
            lines.append(f"  if (m < {m} && n4 * 4u < {n}) {{")
            lines += self._lanes(code, Space([*zs, "m", "n4"], self._result, 4), XYZW)
            lines.append("  }")
        else:
            for i, c in enumerate(XYZW):
                lines += [f"  let n_{i} = n4 * 4u + {i}u;", f"  if (m < {m} && n_{i} < {n}) {{"]
                lines += self._lanes(code, Space([*zs, "m", f"n_{i}"], self._result, 1), c)
                lines.append("  }")
        return [declaration, function, "\n".join([*lines, "}"])]

    def _lanes(self, code: BodyCode, space: Space, components: str) -> list[str]:
        arguments = code.arguments(
            self.params, space, len(components), "e", lambda _, lane: f"acc.{components[lane]}"
        )
        stored = store_results(
            self.params, space, self.kernel.outputs, self.bindings, "epilogue", arguments
        )
        return [f"    {line}" for line in stored]


def _block_steps() -> list[str]:
    """Four steps of k at a time, from blocks of 4 x 4."""
    lines = ["for (var k = 0u; k < K; k += 4u) {", "  let a = load_a(base_a, m, k);"]
    lines.append("  let b = load_b(base_b, k, n4 * 4u);")
    for i, c in enumerate(XYZW):
        products = " + ".join(f"a.{j}.{c} * b.{j}" for j in XYZW)
        lines.append(f"  c{i} += {products};")
    return [*lines, "}"]


def _single_steps() -> list[str]:
    """One step of k at a time, from a vector of either operand."""
    lines = ["for (var k = 0u; k < K; k++) {", "  let a = load_a(base_a, m, k);"]
    lines.append("  let b = load_b(base_b, k, n4 * 4u);")
    return [*lines, *(f"  c{i} += a.{c} * b;" for i, c in enumerate(XYZW)), "}"]


def _tiled(tile: Tile, kind: str) -> dict[str, str]:
    """The regions of the tiled template that depend on the tile alone."""
    rows, columns = range(tile.tm // 4), range(tile.tn // 4)
    accs = [f"c{i}_{v}" for i in range(tile.tm) for v in columns]
    multiply: list[str] = []
    for kk in range(tile.bk):  # unrolled here: no compiler on the way does it
        multiply.append("{")
        multiply += [
            f"  let a{u} = tile_a[{kk * tile.bm // 4}u + ty + {u * tile.wy}u];" for u in rows
        ]
        multiply += [
            f"  let b{v}_ = tile_b[{kk * tile.bn // 4}u + tx + {v * tile.wx}u];" for v in columns
        ]
        multiply += [
            f"  c{i}_{v} += a{i // 4}.{XYZW[i % 4]} * b{v}_;"
            for i in range(tile.tm)
            for v in columns
        ]
        multiply.append("}")
    results = [
        f"const COLUMNS = {len(columns)}u;",
        f"var results = array<{kind}, {len(accs)}>({', '.join(accs)});",
    ]
    return {
        "start": _lines([f"var {c} = {kind}();" for c in accs], 1),
        "stage": _lines(_stage(tile), 2),
        "multiply": _lines(multiply, 2),
        "results": _lines(results, 1),
    }


def _stage(tile: Tile) -> list[str]:
    """Each invocation brings its share of the 4 x 4 blocks of both tiles."""
    blocks_a, blocks_b = (size * tile.bk // 16 for size in (tile.bm, tile.bn))
    lines: list[str] = []
    for first in range(0, blocks_a + blocks_b, tile.workgroup):
        a, b = _stage_block("a", tile.bm), _stage_block("b", tile.bn)
        lines += ["{", f"  let e = invocation + {first}u;"]
        if first + tile.workgroup <= blocks_a:
            lines += ["  let f = e;", *a]
        elif first >= blocks_a and first + tile.workgroup <= blocks_a + blocks_b:
            lines += [f"  let f = e - {blocks_a}u;", *b]
        else:
            lines += [f"  if (e < {blocks_a}u) {{", "  let f = e;", *a]
            lines += [
                f"  }} else if (e < {blocks_a + blocks_b}u) {{",
                f"  let f = e - {blocks_a}u;",
                *b,
                "  }",
            ]
        lines.append("}")
    return lines


def _stage_block(name: str, size: int) -> list[str]:
    vectors = size // 4
    index = f"{'m' if name == 'a' else 'n'}0 + (f % {vectors}u) * 4u"
    k = f"k0 + (f / {vectors}u) * 4u"
    call = f"load_a(base_a, {index}, {k})" if name == "a" else f"load_b(base_b, {k}, {index})"
    lines = [
        f"  let q = {call};",
        f"  let at = (f / {vectors}u) * {4 * vectors}u + f % {vectors}u;",
    ]
    return lines + [f"  tile_{name}[at + {j * vectors}u] = q.{c};" for j, c in enumerate(XYZW)]


def _lines(lines: Sequence[str], depth: int) -> str:
    return "\n".join("  " * depth + line for line in lines)
