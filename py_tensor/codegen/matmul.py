"""Matrix products: which kept dimensions are rows, columns and batch, and how operands lie.

Two forms: tiles in workgroup memory (`tiles.py`), and a direct one without it, for adapters on
which a barrier costs more than a load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from py_tensor.codegen.emit import XYZW, BodyCode, Space, decode_coordinates, load_mode
from py_tensor.codegen.map import (
    accesses,
    bind,
    gathered,
    interface,
    mask_dims,
    returns,
    store_results,
)
from py_tensor.codegen.profile import Profile
from py_tensor.codegen.program import Dispatch, Params
from py_tensor.codegen.reduce import Context
from py_tensor.codegen.tiles import VECTORS, Operand, lines, tiled
from py_tensor.graph.kernel import Contraction, Kernel, Load
from py_tensor.layout import merge_dims
from py_tensor.shapes import size_of

Group = tuple[int, ...]  # dimensions that are walked as one


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
        # An operand that is read element by element makes the others so: each choice that
        # depends on sizes alone doubles the programs that an expression needs.
        self.single = "g" in (self.a_mode, self.b_mode)
        if self.tile is None and self.single:
            self.a_mode, self.b_mode = (
                "o" if x == "o" else "g" for x in (self.a_mode, self.b_mode)
            )
        elif self.tile is not None and (self.single or self.width == 1):
            self.width, self.single = 1, True
            self.a_mode = self._scalar_mode(self.a, roles.m)
            self.b_mode = self._scalar_mode(self.b, roles.n)
        loads = [i for i in kernel.row.instructions if isinstance(i, Load)]
        self.modes = {
            x: load_mode(self._result(x.access.strides), x.access.offset, self.width) for x in loads
        }
        self.bindings = bind(
            [
                (self.a, self.a_mode in VECTORS),
                (self.b, self.b_mode in VECTORS),
                *((x, m == "v") for x, m in self.modes.items()),
                *gathered(kernel.row),
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
        own, along = self._steps(load, group)
        kept = load.access.strides[: self.rank]
        others = [stride_of(kept, g) for g in self.roles.batch] + [load.access.offset]
        if any(s % 4 for s in others):
            return "g"
        if own == 1 and along % 4 == 0 and extent % 4 == 0:
            return "o"
        return "k" if along == 1 and own % 4 == 0 and self.k % 4 == 0 else "g"

    def _scalar_mode(self, load: Load, group: Group) -> str:
        """Along which index neighbours are nearer in memory: "go", the own; "gk", the summed."""
        own, along = self._steps(load, group)
        return "go" if abs(own) <= abs(along) or not along else "gk"

    def _steps(self, load: Load, group: Group) -> tuple[int, int]:
        """The operand's strides along its own index and along the summed one."""
        kept, reduced = load.access.strides[: self.rank], load.access.strides[self.rank :]
        return stride_of(kept, group), stride_of(reduced, self.roles.k)

    def _result(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """An access's strides over (batch..., m, n)."""
        return tuple(stride_of(strides, g) for g in (*self.roles.batch, self.roles.m, self.roles.n))

    def _dim(self, dim: int) -> int:
        return [*self.roles.batch, self.roles.m, self.roles.n].index((dim,))

    def dispatch(self, context: Context) -> Dispatch:
        tile = self.tile
        kind = f"vec4<{self.a.dtype.wgsl}>"
        if tile is None:
            regions, code = self._direct(kind)
            constants = {"WORKGROUP": context.profile.workgroup}
            blocks = -(-self.m // 4) * -(-self.n // 4) * self.count
            groups = -(-blocks // context.profile.workgroup)
        else:
            operands = [
                self._operand("a", self.a, self.a_mode, self.roles.m, 0, tile.bm),
                self._operand("b", self.b, self.b_mode, self.roles.n, 1, tile.bn),
            ]
            regions, code = tiled(tile, self.a.dtype, *operands)
            constants = tile.constants()
            groups = -(-self.m // tile.bm) * -(-self.n // tile.bn) * self.count
        regions["bases"] = self._bases()
        code += self._finish(kind)
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

    def _direct(self, kind: str) -> tuple[dict[str, str], list[str]]:
        """The regions of the form without workgroup memory, and its functions."""
        regions = {
            "zero": lines([f"var c{i} = {kind}();" for i in range(4)], 1),
            "multiply": lines(_single_steps() if self.single else _block_steps(), 1),
            "results": f"  var results = array<{kind}, 4>(c0, c1, c2, c3);",
        }
        block = f"struct Block {{ x: {kind}, y: {kind}, z: {kind}, w: {kind} }}"
        return regions, [
            "" if self.single else block,
            self._loader("load_a", self.a, self.a_mode, self.roles.m, "m"),
            self._loader("load_b", self.b, self.b_mode, self.roles.n, "n"),
        ]

    def _operand(
        self, name: str, load: Load, mode: str, group: Group, extent: int, size: int
    ) -> Operand:
        """An operand for the tiled form, with its strides as parameters."""
        own, along = self._steps(load, group)
        scale = 4 if mode in VECTORS else 1
        return Operand(
            name=name,
            dtype=load.dtype,
            binding=self._binding(load),
            mode=mode,
            extent=self.params.at(extent),
            own="1u" if mode == "o" else self.params.add(own // scale),
            along="1u" if mode == "k" else self.params.add(along // scale),
            size=size,
        )

    def _binding(self, load: Load) -> int:
        return next(
            i for i, b in enumerate(self.bindings) if b.slot == load.slot and not b.writable
        )

    def _variant(self) -> str:
        """The tile, and along which index each operand is read in vectors, if along any."""
        tile = self.tile
        along = {"o": "{own}", "k": "k", "go": "elements of {own}", "gk": "elements of k"}
        a, b = (along.get(x, "elements") for x in (self.a_mode, self.b_mode))
        size = "4x4 blocks" if tile is None else f"tile {tile.bm}x{tile.bn}x{tile.bk}"
        return f"{size}, A by {a.format(own='m')}, B by {b.format(own='n')}"

    def _bases(self) -> str:
        """Where the operands' matrices of this batch begin, in the units they are read in."""
        split, names = decode_coordinates(self.params, self.batch or [1], "batch", "z")
        code = list(split)
        for name, load, mode in (("a", self.a, self.a_mode), ("b", self.b, self.b_mode)):
            scale = 4 if mode in VECTORS else 1
            terms = [self.params.add(load.access.offset // scale)]
            for z, group in zip(names, self.roles.batch, strict=False):
                terms.append(
                    f"{z} * {self.params.add(stride_of(load.access.strides, group) // scale)}"
                )
            code.append(f"let base_{name} = {' + '.join(terms)};")
        return lines(code, 1)

    def _loader(self, name: str, load: Load, mode: str, group: Group, index: str) -> str:
        """A function that gives four vectors along the operand's own index, one for each k."""
        number = self._binding(load)
        steps, scale = self._steps(load, group), 1 if mode == "g" else 4
        own = self.params.add(steps[0] // (1 if mode == "o" else scale))
        along = self.params.add(steps[1] // (1 if mode == "k" else scale))
        size = self.params.at(0 if index == "m" else 1)
        kind, vector = f"vec4<{load.dtype.wgsl}>", self.bindings[number].vector
        order = "base: u32, m: u32, k: u32" if index == "m" else "base: u32, k: u32, n: u32"
        if self.single:
            return self._column_loader(
                f"fn {name}({order}) -> {kind}", number, mode, index, own, along, size
            )
        code = [f"fn {name}({order}) -> Block {{", "  let K = params[0].z;"]
        if mode == "o":
            code.append(f"  let at = base + {index} / 4u;")
            for j, c in enumerate(XYZW):
                code.append(
                    f"  var {c} = {kind}(); if (k + {j}u < K && {index} < {size}) "
                    f"{{ {c} = b{number}[at + (k + {j}u) * {along}]; }}"
                )
            code.append("  return Block(x, y, z, w);")
        elif mode == "k":
            code.append("  let at = base + k / 4u;")
            for j in range(4):
                code.append(
                    f"  var r{j} = {kind}(); if (k < K && {index} + {j}u < {size}) "
                    f"{{ r{j} = b{number}[at + ({index} + {j}u) * {own}]; }}"
                )
            columns = [f"{kind}({', '.join(f'r{j}.{c}' for j in range(4))})" for c in XYZW]
            code.append(f"  return Block({', '.join(columns)});")
        else:
            code.append(f"  let at = base + {index} * {own} + k * {along};")
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
                code.append(f"  let c{j} = {kind}({', '.join(elements)});")
            code.append("  return Block(c0, c1, c2, c3);")
        return "\n".join([*code, "}"])

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
        body = BodyCode(self.kernel.row, self.bindings, {**self.modes}, self._dim)
        function = body.function("epilogue", params, [f"v{o.value}" for o in outputs], returned)
        zs = names[: len(self.batch)]
        code = [f"fn finish(batch: u32, m: u32, n4: u32, acc: {kind}) {{"]
        m, n = params.at(0), params.at(1)
        code += [f"  {line}" for line in split]
        if self.width == 4:
            code.append(f"  if (m < {m} && n4 * 4u < {n}) {{")
            code += self._lanes(body, Space([*zs, "m", "n4"], self._result, 4), XYZW)
            code.append("  }")
        else:
            for i, c in enumerate(XYZW):
                code += [f"  let n_{i} = n4 * 4u + {i}u;", f"  if (m < {m} && n_{i} < {n}) {{"]
                code += self._lanes(body, Space([*zs, "m", f"n_{i}"], self._result, 1), c)
                code.append("  }")
        return [declaration, function, "\n".join([*code, "}"])]

    def _lanes(self, body: BodyCode, space: Space, components: str) -> list[str]:
        arguments = body.arguments(
            self.params, space, len(components), "e", lambda _, lane: f"acc.{components[lane]}"
        )
        stored = store_results(
            self.params, space, self.kernel.outputs, self.bindings, "epilogue", arguments
        )
        return [f"    {line}" for line in stored]


def _block_steps() -> list[str]:
    """Four steps of k at a time, from blocks of 4 x 4."""
    code = ["for (var k = 0u; k < K; k += 4u) {", "  let a = load_a(base_a, m, k);"]
    code.append("  let b = load_b(base_b, k, n4 * 4u);")
    for i, c in enumerate(XYZW):
        products = " + ".join(f"a.{j}.{c} * b.{j}" for j in XYZW)
        code.append(f"  c{i} += {products};")
    return [*code, "}"]


def _single_steps() -> list[str]:
    """One step of k at a time, from a vector of either operand."""
    code = ["for (var k = 0u; k < K; k++) {", "  let a = load_a(base_a, m, k);"]
    code.append("  let b = load_b(base_b, k, n4 * 4u);")
    return [*code, *(f"  c{i} += a.{c} * b;" for i, c in enumerate(XYZW)), "}"]
