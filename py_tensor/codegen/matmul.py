"""Matrix products: which kept dimensions are rows, columns and batch, and how operands lie.

Three forms: tiles in workgroup memory (`tiles.py`); and for adapters on which a barrier costs more
than a load, blocks that four invocations share without it (`quads.py`), and several rows for each
invocation where they are multiplied with a vector (`vectors.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from py_tensor.codegen import vectors
from py_tensor.codegen.choices import Block, Tile
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
from py_tensor.codegen.profile import Column, Profile
from py_tensor.codegen.program import Dispatch, Params
from py_tensor.codegen.quads import WORKGROUP, Side, quad_regions
from py_tensor.codegen.reduce import Context
from py_tensor.codegen.tiles import VECTORS, Operand, lines, tiled
from py_tensor.codegen.vectors import vector_regions
from py_tensor.graph.body import Load
from py_tensor.graph.kernel import Contraction, Kernel
from py_tensor.layout import merge_dims
from py_tensor.shapes import size_of

Group = tuple[int, ...]  # dimensions that are walked as one


@dataclass(frozen=True, slots=True)
class Roles:
    """The dimensions of a product: batch groups, then rows m, columns n, and the summed k.

    Of a product with a vector, which has no columns, m are the dimensions that the matrix moves.
    """

    batch: tuple[Group, ...]
    m: Group
    n: Group
    k: Group


def roles_of(kernel: Kernel) -> Roles | None:
    """Sort the dimensions by which operand they move; None if neither operand is a matrix."""
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
    if not (rows or columns) or len(summed) > 1:
        return None
    m = max(rows or columns, key=lambda g: _extent(kernel.kept, g))
    n = max(columns, key=lambda g: _extent(kernel.kept, g)) if rows and columns else ()
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
        if not stride_of(self.a.access.strides[: self.rank], roles.m):  # the vector comes first
            self.a, self.b = self.b, self.a
        self.m, self.n = (_extent(kernel.kept, g) for g in (roles.m, roles.n))
        self.k = _extent(kernel.reduced, roles.k)
        self.batch = [_extent(kernel.kept, g) for g in roles.batch]
        self.count = size_of(tuple(self.batch))
        self.swaps = profile.subgroups
        self.form = self._chosen(profile)
        self.width = 4 if self.n % 4 == 0 else 1
        if not isinstance(self.form, Tile):
            self.width, self.a_mode, self.b_mode = 1, "e", "e"
        else:
            self.a_mode = self._operand_mode(self.a, roles.m, self.m)
            self.b_mode = self._operand_mode(self.b, roles.n, self.n)
            # An operand that is read element by element makes the others so: each choice that
            # depends on sizes alone doubles the programs that an expression needs.
            if "g" in (self.a_mode, self.b_mode) or self.width == 1:
                self.width = 1
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

    def _chosen(self, profile: Profile) -> Tile | Block | Column:
        column = None if self.roles.n else profile.column(self.m, self.count)
        if column is not None:
            return column
        return profile.tile(self.m, self.n, self.count) or profile.block(self.m, self.n)

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
        kind, form = f"vec4<{self.a.dtype.wgsl}>", self.form
        if isinstance(form, Block):
            template = "matmul_quads"
            a, b = self._side(self.a, self.roles.m), self._side(self.b, self.roles.n)
            regions, code = quad_regions(form, str(self.a.dtype.wgsl), a, b, swaps=self.swaps)
            constants = {"WORKGROUP": WORKGROUP, "ROWS": form.rows, "COLUMNS": form.columns}
            blocks = -(-self.m // form.rows) * -(-self.n // form.columns) * self.count
            groups = -(-blocks * 4 // WORKGROUP)
        elif isinstance(form, Column):
            template = "matmul_vector"
            a, b = self._side(self.a, self.roles.m), self._side(self.b, ())
            regions, code = vector_regions(form, str(self.a.dtype.wgsl), a, b)
            constants = {"WORKGROUP": vectors.WORKGROUP, "ROWS": form.rows, "CHAIN": vectors.CHAIN}
            blocks = -(-self.m // form.rows) * self.count
            groups = -(-blocks // vectors.WORKGROUP)
        else:
            template = "matmul_tiled"
            operands = [
                self._operand("a", self.a, self.a_mode, self.roles.m, 0, form.bm),
                self._operand("b", self.b, self.b_mode, self.roles.n, 1, form.bn),
            ]
            regions, code = tiled(form, self.a.dtype, *operands)
            constants = form.constants()
            groups = -(-self.m // form.bm) * -(-self.n // form.bn) * self.count
        regions["bases"] = self._bases()
        code += self._finish(kind)
        regions["interface"] = interface(self.bindings, self.params, constants, *code)
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

    def _side(self, load: Load, group: Group) -> Side:
        """An operand for the form without workgroup memory, with its strides as parameters."""
        number = self._binding(load)
        own, along = (self.params.add(step) for step in self._steps(load, group))
        return Side(number, self.bindings[number].vector, own, along)

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
        """The tile or block, and along which index each operand is read in vectors, if any."""
        form = self.form
        if isinstance(form, Block):
            return f"{form.rows}x{form.columns} blocks"
        if isinstance(form, Column):
            return f"{form.rows} rows by a vector"
        along = {"o": "{own}", "k": "k", "go": "elements of {own}", "gk": "elements of k"}
        a, b = (along[x] for x in (self.a_mode, self.b_mode))
        size = f"tile {form.bm}x{form.bn}x{form.bk}"
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
            for i, c in enumerate(XYZW if self.roles.n else XYZW[:1]):
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
