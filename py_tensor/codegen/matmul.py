"""Matrix products: roles of the dimensions (rows, columns, batch) and operand layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import mul

from py_tensor.base.layout import merge_dims
from py_tensor.base.shapes import size_of
from py_tensor.codegen.choices import Tile
from py_tensor.codegen.codec import XYZW
from py_tensor.codegen.emit import Space, decode_coordinates, load_modes, mode_of
from py_tensor.codegen.map import accesses, mask_dims
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.tiles import VECTORS, Operand, tiled
from py_tensor.codegen.writer import Context, Writer, gathered, indent, returns, stage_of
from py_tensor.ir.primitives import MUL, SUM
from py_tensor.schedule.body import Access, Accumulated, Apply, Body, Instruction, Load, copied
from py_tensor.schedule.kernel import Contraction, Kernel

Group = tuple[int, ...]  # dimensions that are merged into one


@dataclass(frozen=True, slots=True)
class Roles:
    """The dimensions of a product: batch groups, then rows m, columns n, and the summed k."""

    batch: tuple[Group, ...]
    m: Group
    n: Group
    k: Group


def roles_of(kernel: Kernel) -> Roles | None:
    """Group the dimensions by the operands that depend on them; None unless both are matrices."""
    stage = stage_of(kernel, Contraction)
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
    m, n = (max(dims, key=lambda g: _extent(kernel.kept, g)) for dims in (rows, columns))
    rest = [g for g in (*rows, *columns) if g not in (m, n)]
    return Roles((*batch, *rest), m, n, summed[0] if summed else ())


def _extent(extents: Sequence[int], group: Group) -> int:
    return size_of(tuple(extents[d] for d in group))


def stride_of(strides: Sequence[int], group: Group) -> int:
    return strides[group[-1]] if group else 0


class MatmulWriter(Writer):
    """The program of a product.

    If `length` is given, the first kept dimension counts parts of the sum of that length; the last
    part may be shorter.
    """

    def __init__(
        self, kernel: Kernel, roles: Roles, tile: Tile, context: Context, length: int | None = None
    ) -> None:
        super().__init__(kernel, context)
        stage = stage_of(kernel, Contraction)
        # Products in parts have a batch dimension. Every product gets one, to share programs.
        roles = replace(roles, batch=roles.batch or ((),))
        self.roles = roles
        self.rank = len(kernel.kept)
        self.m, self.n = (_extent(kernel.kept, g) for g in (roles.m, roles.n))
        self.k = _extent(kernel.reduced, roles.k)
        self.batch = [_extent(kernel.kept, g) for g in roles.batch]
        self.count = size_of(tuple(self.batch))
        self.tile = tile
        self.length = self.k if length is None else length
        self.parts = 1 if length is None else kernel.kept[0]
        self.width = 4 if self.n % 4 == 0 else 1
        a = self._operand("a", stage.a, roles.m, self.m, tile.bm)
        b = self._operand("b", stage.b, roles.n, self.n, tile.bn)
        self.operands = a, b
        # If one operand is read element by element, so are the others. Otherwise each choice that
        # depends only on sizes would double the number of programs that an expression needs.
        if "g" in (a.mode, b.mode) or self.width == 1:
            self.width = 1
            for operand in self.operands:
                own, along = operand.steps
                operand.mode = "go" if abs(own) <= abs(along) or not along else "gk"
        modes = load_modes(kernel.row, self._result, self.width)
        reads = [(x.load, x.mode in VECTORS) for x in self.operands]
        reads += [(x, mode == "v") for x, mode in modes.items()]
        stored = [(o, mode_of(o, self._result, self.width) == "v") for o in kernel.outputs]
        self.bind_loads([*reads, *gathered(kernel.row)], stored)
        self.params.extend(self.m, self.n, self.k, self.count)
        self.params.extend(self.length, self.count // self.parts)
        self.constants |= tile.constants()

    def _operand(self, name: str, load: Load, group: Group, extent: int, size: int) -> Operand:
        """Return an operand with its mode: "g" if it cannot be read in vectors."""
        kept, reduced = load.access.strides[: self.rank], load.access.strides[self.rank :]
        own, along = stride_of(kept, group), stride_of(reduced, self.roles.k)
        others = [stride_of(kept, g) for g in self.roles.batch] + [load.access.offset]
        mode = "g"
        if not any(s % 4 for s in others):
            if own == 1 and along % 4 == 0 and extent % 4 == 0:
                mode = "o"
            elif along == 1 and own % 4 == 0 and self.k % 4 == 0:
                mode = "k"
        return Operand(name, load, (own, along), size, self.tile, mode)

    def _result(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Return an access's strides over (batch..., m, n)."""
        return tuple(stride_of(strides, g) for g in (*self.roles.batch, self.roles.m, self.roles.n))

    def _dim(self, dim: int) -> int:
        return [*self.roles.batch, self.roles.m, self.roles.n].index((dim,))

    def product(self) -> Dispatch:
        tile = self.tile
        for operand in self.operands:
            operand.bind(self.bindings, self.params)
        regions, declarations = tiled(*self.operands, self.width)
        self.code += declarations
        regions["bases"] = self._bases()
        self._finish()
        return self.dispatch(
            "matmul_tiled",
            self._variant(),
            -(-self.m // tile.bm) * -(-self.n // tile.bn) * self.count,
            work=2 * self.m * self.n * max(self.length, 1) * self.count,
            operations=self.kernel.operations() // self.parts,
            regions=regions,
        )

    def _variant(self) -> str:
        """Return the tile, and the index along which operands are read, in vectors or elements."""
        along = {"o": "{own}", "k": "k", "go": "elements of {own}", "gk": "elements of k"}
        a, b = (along[x.mode] for x in self.operands)
        return f"tile {self.tile}, A by {a.format(own='m')}, B by {b.format(own='n')}"

    def _bases(self) -> str:
        """Return the start of each operand's matrix for this batch, in the units of its loads."""
        split, names = decode_coordinates(self.params, self.batch, "batch", "z")
        code = list(split)
        for operand in self.operands:
            access, scale = operand.load.access, operand.scale
            terms = [self.params.add(access.offset // scale)]
            for z, group in zip(names, self.roles.batch, strict=False):
                terms.append(f"{z} * {self.params.add(stride_of(access.strides, group) // scale)}")
            code.append(f"let base_{operand.name} = {' + '.join(terms)};")
        return indent(code, 1)

    def _finish(self) -> None:
        """Add the function that applies the row body to results and stores those in range.

        It takes four neighbours where vectors can be stored, otherwise one result.
        """
        wide = self.width == 4
        kind = self.operands[0].dtype.wgsl
        kind = f"vec4<{kind}>" if wide else kind
        outputs, params = self.kernel.outputs, self.params
        returned, declaration = returns([o.dtype for o in outputs])
        split, names = decode_coordinates(params, self.batch, "batch", "z")
        body = self.body_code(self.kernel.row, self._result, self._dim, self.width)
        function = body.function("epilogue", [o.value for o in outputs], returned)
        n = "n4" if wide else "n"
        space = Space([*names, "m", n], self._result, self.width)
        arguments = body.arguments(
            space, self.width, "e", lambda _, lane: f"acc.{XYZW[lane]}" if wide else "acc"
        )
        stored = self.store_results(space, outputs, "epilogue", arguments)
        beyond = f"m >= {params.at(1)} || {n}{' * 4u' if wide else ''} >= {params.at(2)}"
        self.code += [declaration, function]
        head = f"finish(batch: u32, m: u32, {n}: u32, acc: {kind})"
        self.function(head, f"if ({beyond}) {{", "  return;", "}", *split, *stored)


def as_map(kernel: Kernel) -> Kernel:
    """Return a contraction of few terms as an elementwise kernel, with the sum written out."""
    contraction = stage_of(kernel, Contraction)
    rank, dtype = len(kernel.kept), contraction.a.dtype
    row = Body()

    def term(load: Load, indices: tuple[int, ...]) -> int:
        kept, reduced = load.access.strides[:rank], load.access.strides[rank:]
        offset = load.access.offset + sum(map(mul, indices, reduced))
        return row.add(replace(load, access=Access(kept, offset)))

    assert SUM.pairwise is not None
    total: int | None = None
    for indices in product(*map(range, kernel.reduced)):
        factors = term(contraction.a, indices), term(contraction.b, indices)
        value = row.add(Apply(MUL, dtype, factors))
        total = value if total is None else row.add(Apply(SUM.pairwise, dtype, (total, value)))
    assert total is not None
    accumulated = total

    def add(x: Instruction) -> int:
        return accumulated if isinstance(x, Accumulated) else row.add(x)

    values = copied(kernel.row, [output.value for output in kernel.outputs], add)
    return replace(
        kernel,
        reduced=(),
        stages=(),
        row=row,
        outputs=tuple(replace(o, value=values[o.value]) for o in kernel.outputs),
        label=f"{kernel.label}, k = {size_of(kernel.reduced)}",
    )
