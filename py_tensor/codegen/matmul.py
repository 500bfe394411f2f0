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
from py_tensor.codegen.emit import BodyCode, Space, decode_coordinates, load_modes, mode_of
from py_tensor.codegen.map import accesses, mask_dims
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.tiles import VECTORS, Operand, tiled
from py_tensor.codegen.writer import Context, Writer, gathered, indent, returns
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
    m, n = (max(dims, key=lambda g: _extent(kernel.kept, g)) for dims in (rows, columns))
    rest = [g for g in (*rows, *columns) if g not in (m, n)]
    return Roles((*batch, *rest), m, n, summed[0] if summed else ())


def _extent(extents: Sequence[int], group: Group) -> int:
    return size_of(tuple(extents[d] for d in group))


def stride_of(strides: Sequence[int], group: Group) -> int:
    return strides[group[-1]] if group else 0


def lower_matmul(
    kernel: Kernel, roles: Roles, tile: Tile, context: Context, length: int | None = None
) -> Dispatch:
    """Return the dispatch of a kernel whose stage is a contraction.

    If `length` is given, the first kept dimension counts parts of the sum of that length; the last
    part may be shorter.
    """
    return _Matmul(kernel, roles, tile, length, context).product()


class _Matmul(Writer):
    def __init__(
        self, kernel: Kernel, roles: Roles, tile: Tile, length: int | None, context: Context
    ) -> None:
        super().__init__(kernel, context)
        stage = kernel.stages[0]
        assert isinstance(stage, Contraction)
        # Products in parts have a batch dimension. Every product gets one, to share programs.
        roles = replace(roles, batch=roles.batch or ((),))
        self.roles, self.a, self.b = roles, stage.a, stage.b
        self.rank = len(kernel.kept)
        self.m, self.n = (_extent(kernel.kept, g) for g in (roles.m, roles.n))
        self.k = _extent(kernel.reduced, roles.k)
        self.batch = [_extent(kernel.kept, g) for g in roles.batch]
        self.count = size_of(tuple(self.batch))
        self.tile = tile
        self.length = self.k if length is None else length
        self.parts = 1 if length is None else kernel.kept[0]
        self.width = 4 if self.n % 4 == 0 else 1
        self.a_mode = self._operand_mode(self.a, roles.m, self.m)
        self.b_mode = self._operand_mode(self.b, roles.n, self.n)
        # If one operand is read element by element, so are the others. Otherwise each choice that
        # depends only on sizes would double the number of programs that an expression needs.
        if "g" in (self.a_mode, self.b_mode) or self.width == 1:
            self.width = 1
            self.a_mode = self._scalar_mode(self.a, roles.m)
            self.b_mode = self._scalar_mode(self.b, roles.n)
        self.modes = load_modes(kernel.row, self._result, self.width)
        reads = [(self.a, self.a_mode in VECTORS), (self.b, self.b_mode in VECTORS)]
        reads += [(x, mode == "v") for x, mode in self.modes.items()]
        stored = [(o, mode_of(o, self._result, self.width) == "v") for o in kernel.outputs]
        self.bind_loads([*reads, *gathered(kernel.row)], stored)
        self.params.extend(self.m, self.n, self.k, self.count, 0)
        self.params.extend(self.length, self.count // self.parts)
        self.constants |= tile.constants()

    def _operand_mode(self, load: Load, group: Group, extent: int) -> str:
        """Return the contiguous index: "o" the operand's own; "k" the summed one; "g" neither."""
        across, along = self._steps(load, group)
        kept = load.access.strides[: self.rank]
        others = [stride_of(kept, g) for g in self.roles.batch] + [load.access.offset]
        if any(s % 4 for s in others):
            return "g"
        if across == 1 and along % 4 == 0 and extent % 4 == 0:
            return "o"
        return "k" if along == 1 and across % 4 == 0 and self.k % 4 == 0 else "g"

    def _scalar_mode(self, load: Load, group: Group) -> str:
        """Return the index with the smaller stride: "go" the operand's own; "gk" the summed one."""
        across, along = self._steps(load, group)
        return "go" if abs(across) <= abs(along) or not along else "gk"

    def _steps(self, load: Load, group: Group) -> tuple[int, int]:
        """Return the operand's strides along its own index and along the summed one."""
        kept, reduced = load.access.strides[: self.rank], load.access.strides[self.rank :]
        return stride_of(kept, group), stride_of(reduced, self.roles.k)

    def _result(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Return an access's strides over (batch..., m, n)."""
        return tuple(stride_of(strides, g) for g in (*self.roles.batch, self.roles.m, self.roles.n))

    def _dim(self, dim: int) -> int:
        return [*self.roles.batch, self.roles.m, self.roles.n].index((dim,))

    def product(self) -> Dispatch:
        tile = self.tile
        a = self._operand("a", self.a, self.a_mode, self.roles.m, tile.bm)
        b = self._operand("b", self.b, self.b_mode, self.roles.n, tile.bn)
        regions, declarations = tiled(tile, self.a.dtype, a, b, self.width)
        self.code += declarations
        regions["bases"] = self._bases()
        self._finish()
        return self.dispatch(
            "matmul_tiled",
            self._variant(),
            -(-self.m // tile.bm) * -(-self.n // tile.bn) * self.count,
            first=4,
            work=2 * self.m * self.n * max(self.length, 1) * self.count,
            operations=self.kernel.operations() // self.parts,
            regions=regions,
        )

    def _operand(self, name: str, load: Load, mode: str, group: Group, size: int) -> Operand:
        """Return an operand, with its strides as parameters."""
        across, along = self._steps(load, group)
        scale = 4 if mode in VECTORS else 1
        return Operand(
            name=name,
            dtype=load.dtype,
            binding=next(
                n for n, b in enumerate(self.bindings) if b.slot == load.slot and not b.writable
            ),
            mode=mode,
            own="1u" if mode == "o" else self.params.add(across // scale),
            along="1u" if mode == "k" else self.params.add(along // scale),
            size=size,
            tile=self.tile,
        )

    def _variant(self) -> str:
        """Return the tile, and the index along which operands are read, in vectors or elements."""
        tile = self.tile
        along = {"o": "{own}", "k": "k", "go": "elements of {own}", "gk": "elements of k"}
        a, b = (along[x] for x in (self.a_mode, self.b_mode))
        return f"tile {tile}, A by {a.format(own='m')}, B by {b.format(own='n')}"

    def _bases(self) -> str:
        """Return the start of each operand's matrix for this batch, in the units of its loads."""
        split, names = decode_coordinates(self.params, self.batch, "batch", "z")
        code = list(split)
        for name, load, mode in (("a", self.a, self.a_mode), ("b", self.b, self.b_mode)):
            scale = 4 if mode in VECTORS else 1
            terms = [self.params.add(load.access.offset // scale)]
            for z, group in zip(names, self.roles.batch, strict=False):
                terms.append(
                    f"{z} * {self.params.add(stride_of(load.access.strides, group) // scale)}"
                )
            code.append(f"let base_{name} = {' + '.join(terms)};")
        return indent(code, 1)

    def _finish(self) -> None:
        """Add the function that applies the row body to results and stores those in range.

        It takes four neighbours where vectors can be stored, otherwise one result.
        """
        wide = self.width == 4
        kind = f"vec4<{self.a.dtype.wgsl}>" if wide else self.a.dtype.wgsl
        outputs, params = self.kernel.outputs, self.params
        returned, declaration = returns([o.dtype for o in outputs])
        split, names = decode_coordinates(params, self.batch, "batch", "z")
        body = BodyCode(self.kernel.row, self.bindings, self.modes, self._dim)
        function = body.function("epilogue", params, [o.value for o in outputs], returned)
        n = "n4" if wide else "n"
        space = Space([*names, "m", n], self._result, self.width)
        arguments = body.arguments(
            params, space, self.width, "e", lambda _, lane: f"acc.{XYZW[lane]}" if wide else "acc"
        )
        stored = self.store_results(space, outputs, "epilogue", arguments)
        beyond = f"m >= {params.at(0)} || {n}{' * 4u' if wide else ''} >= {params.at(1)}"
        self.code += [declaration, function]
        head = f"finish(batch: u32, m: u32, {n}: u32, acc: {kind})"
        self.function(head, f"if ({beyond}) {{", "  return;", "}", *split, *stored)


def as_map(kernel: Kernel) -> Kernel:
    """Return a contraction of few terms as an elementwise kernel, with the sum written out."""
    contraction = kernel.stages[0]
    assert isinstance(contraction, Contraction)
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
