"""Matrix products: by tiles in workgroup memory, elementwise for few terms, or as reductions.

A workgroup computes a tile of results over all of k. If there are too few tiles to fill the device,
k is split into parts with their own workgroups (split-K), and a reduction adds up their results.

Both operands' tiles are stored in workgroup memory with the operand's own index (m or n) contiguous
and the summed index k outermost, whatever the layout of the matrices. The inner loop then reads
vectors of both and does one multiply-add for each pair of their elements. While a workgroup
multiplies, the next slice is being loaded into registers (`shaders/kernels/matmul_tiled.wgsl`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import mul

from py_tensor.base.dtypes import uint32
from py_tensor.base.layout import merge_dims
from py_tensor.base.shapes import row_major, size_of
from py_tensor.codegen.adapter_profile import FURTHER, ON_SIMD, AdapterProfile, Tile
from py_tensor.codegen.codec import XYZW
from py_tensor.codegen.map import lower_map
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.reduce import lower_reduce, merge
from py_tensor.codegen.walk import Space, accesses, decode_coordinates, mask_dims, mode_of
from py_tensor.codegen.writer import BodyCode, Context, Writer, braced, stage_of
from py_tensor.ir.primitives import MUL, SUM
from py_tensor.schedule.body import Access, Accumulated, Apply, Body, Instruction, Load, copied
from py_tensor.schedule.kernel import Accumulator, Contraction, Kernel, Output, ReduceStage

Group = tuple[int, ...]  # dimensions that are merged into one


@dataclass(frozen=True, slots=True)
class Roles:
    """The dimensions of a product: batch groups, then rows m, columns n, and the summed k.

    Its axes are those of the result: (batch..., m, n).
    """

    batch: tuple[Group, ...]
    m: Group
    n: Group
    k: Group

    def strides(self, of: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(_stride(of, group) for group in (*self.batch, self.m, self.n))

    def position(self, dim: int) -> int:
        return (*self.batch, self.m, self.n).index((dim,))


def lower_contraction(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a matrix product, or of another sum of products."""
    roles, terms, profile = _roles_of(kernel), size_of(kernel.reduced), context.profile
    if roles is not None and 0 < terms <= profile.max_terms:
        return [lower_map(_as_map(kernel), context)]
    if roles is None or not profile.has_tiles(size_of(kernel.kept), terms):
        return lower_reduce(_as_reduction(kernel), context)
    rows, columns = (_extent(kernel.kept, group) for group in (roles.m, roles.n))
    batch = size_of(kernel.kept) // (rows * columns)
    tile, part_count = tile_for(profile, rows, columns, batch, terms)
    length = -(-terms // (part_count * tile.bk)) * tile.bk  # the length of a part, in whole slices
    part_count = -(-terms // max(1, length))
    if part_count <= 1:
        return [_Writer(kernel, roles, tile, context).product()]
    return _in_parts(kernel, part_count, length, tile, context)


def _roles_of(kernel: Kernel) -> Roles | None:
    """Group the dimensions by the operands that depend on them; None unless both are matrices."""
    rank = len(kernel.kept)
    a, b = (x.access.strides for x in stage_of(kernel, Contraction).element.loads())
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


def _stride(strides: Sequence[int], group: Group) -> int:
    return strides[group[-1]] if group else 0


def _in_parts(
    kernel: Kernel, parts: int, length: int, tile: Tile, context: Context
) -> list[Dispatch]:
    """Return the dispatches of the product over each part of k, and of the sum of these."""
    factors = stage_of(kernel, Contraction).element.loads()
    dtype = factors[0].dtype
    element = Body([replace(x, access=x.access.over((0, *x.access.strides))) for x in factors])
    kept = (parts, *kernel.kept)
    slot = context.temporary(size_of(kept) * dtype.itemsize)
    partial = Output(slot, 0, dtype, Access(row_major(kept), 0), whole=False)
    row = Body.of([Accumulated(0, dtype)])
    first = Kernel(kept, kernel.reduced, (Contraction(element),), row, (partial,), kernel.label)
    roles = _roles_of(first)
    assert roles is not None
    words = Load(slot, uint32, Access((*row_major(kernel.kept), size_of(kernel.kept)), 0))
    added = replace(kernel, stages=(ReduceStage(Body(), (Accumulator(SUM, 0, dtype),)),))
    product_of_parts = _Writer(first, roles, tile, context, length).product()
    return [product_of_parts, merge(added, parts, [words], context)]


def _as_reduction(kernel: Kernel) -> Kernel:
    """Return a contraction as a reduction, a sum of products, where tiles do not apply."""
    factors = stage_of(kernel, Contraction).element.loads()
    element, dtype = Body(), factors[0].dtype
    values = tuple(map(element.add, factors))
    fold = Accumulator(SUM, element.add(Apply(MUL, dtype, values)), dtype)
    return replace(kernel, stages=(ReduceStage(element, (fold,)),))


def _as_map(kernel: Kernel) -> Kernel:
    """Return a contraction of few terms as an elementwise kernel, with the sum written out."""
    factors = stage_of(kernel, Contraction).element.loads()
    rank, dtype, row = len(kernel.kept), factors[0].dtype, Body()

    def term(load: Load, indices: tuple[int, ...]) -> int:
        kept, reduced = load.access.strides[:rank], load.access.strides[rank:]
        access = load.access.over(kept, sum(map(mul, indices, reduced)))
        return row.add(replace(load, access=access))

    assert SUM.pairwise is not None
    total = -1
    for indices in product(*map(range, kernel.reduced)):
        value = row.add(Apply(MUL, dtype, tuple(term(load, indices) for load in factors)))
        total = value if total < 0 else row.add(Apply(SUM.pairwise, dtype, (total, value)))

    def add(x: Instruction) -> int:
        return total if isinstance(x, Accumulated) else row.add(x)

    values = copied(kernel.row, [output.value for output in kernel.outputs], add)
    outputs = tuple(replace(o, value=values[o.value]) for o in kernel.outputs)
    label = f"{kernel.label}, k = {size_of(kernel.reduced)}"
    return replace(kernel, reduced=(), stages=(), row=row, outputs=outputs, label=label)


# -- The tile -----------------------------------------------------------------------------------

# A cost model, fitted to 586 timings of 76 products on an H200. Half of the timings are within 9 %
# of it, and the chosen tiles are on average 1.4 % slower than the best. The time of a product is
# that of its busiest processor. A single workgroup spends part of its time waiting for memory and
# at barriers; concurrent workgroups use that time. The unit of time is 0.8 ns.
LOAD = 82.0  # for each invocation to load a vector through registers into workgroup memory
BEGIN = 1100.0  # start-up of a workgroup, until it multiplies
STORE = 0.5  # to store a result
DISPATCH = 10900.0  # the second dispatch, which adds up the parts
BYTES = 58.0  # bytes that a processor reads per unit of time, mostly from the cache
# The time of one multiply-add in every invocation: a fixed part, and a part for every 128
# invocations on the processor, counted over all its workgroups.
ALONE, EACH = 0.34, 0.49
WAVES = (1, 2, 4, 8)  # numbers of workgroups per processor to aim at by splitting k


def tile_for(profile: AdapterProfile, m: int, n: int, batch: int, k: int) -> tuple[Tile, int]:
    """Return the tile of a matrix product, and the number of parts that k is split into.

    At least one tile fits on every adapter. The options have the lowest cost.
    """
    if profile.software:
        return ON_SIMD, 1
    choices = profile.use("large_tile", "medium_tile", "small_tile", "processors")
    tiles = choices.large_tile, choices.medium_tile, choices.small_tile, *FURTHER
    options: list[tuple[float, int, int]] = []
    for number, tile in enumerate(tiles):
        if tile.memory <= profile.workgroup_memory:
            count = -(-m // tile.bm) * -(-n // tile.bn) * batch
            most = -(-k // tile.bk)  # each part has at least one slice
            split = {min(waves * choices.processors // count, most) for waves in WAVES}
            for parts in {1, *split} - {0}:
                options.append((_cost(tile, parts, choices.processors, count, k), number, parts))
    _, number, parts = min(options)
    return tiles[number], parts


def _cost(tile: Tile, parts: int, processors: int, count: int, k: int) -> float:
    """Return the time of a product of `count` tiles without the overhead of its first dispatch."""
    groups = -(-count * parts // processors)  # on the busiest processor
    slices = -(-k // (parts * tile.bk))
    read = (tile.bm + tile.bn) * tile.bk  # for a slice
    loads = read / (4 * tile.workgroup)
    work = tile.bk / tile.wk * tile.tm * tile.tn + LOAD * loads
    computed = (slices * work + BEGIN) * (ALONE + EACH * groups * tile.workgroup / 128)
    memory = groups * (4 * slices * read / BYTES + STORE * tile.bm * tile.bn)
    return computed + memory + (DISPATCH if parts > 1 else 0)


# -- WGSL ---------------------------------------------------------------------------------------


class _Operand:
    """One operand of a product, and its tile.

    Loads past the last row read arbitrary elements; results of these rows are not stored.

    Attributes
    ----------
    name : str
        "a" or "b".
    load : Load
    vectors : bool
        Whether it is read in vectors, or else in single elements.
    by_own, by_k : bool
        Whether vectors, or the elements of neighbouring invocations, lie along its own index, or
        else along the summed one; and whether vectors lie along that.
    own, along : str
        WGSL of its strides along its own index and along the summed one, in units of its loads.
    """

    def __init__(
        self, writer: _Writer, name: str, load: Load, group: Group, size: int, by_own: bool | None
    ) -> None:
        """Add the strides to the parameters.

        `size` is the extent of the tile along its own index. `by_own` is None for single elements.
        """
        self.name, self.load, self.tile = name, load, writer.tile
        own, along = writer.strides_of(load, group)
        self.vectors = by_own is not None
        self.by_own = abs(own) <= abs(along) or not along if by_own is None else by_own
        self.buffer, bk = f"b{writer.binding(load.slot)}", self.tile.bk
        self.scale = 4 if self.vectors else 1  # elements of a load
        # Neighbours along its own index in an element of the tile.
        self.unit = 4 if self.vectors and self.by_own else 1
        # Where vectors lie, the stride is 1.
        self.own = "1u" if self.unit == 4 else writer.params.add(own // self.scale)
        self.by_k = self.vectors and not self.by_own
        self.along = "1u" if self.by_k else writer.params.add(along // self.scale)
        self.vector = f"vec4<{load.dtype.wgsl}>"  # the WGSL type of a vector
        self.kind = self.vector if self.vectors else str(load.dtype.wgsl)  # that of a load
        # The stride along k in the tile. Where single elements are stored, padding keeps
        # neighbouring invocations in different banks.
        self.pitch = size if self.unit == 4 else size + 4
        # The number of loads of a slice over all invocations, and the loads of one invocation. If a
        # slice needs fewer, some invocations do none.
        self.whole = size * bk // self.scale
        self.loads = range(-(-self.whole // self.tile.workgroup))
        # Loads side by side in the slice, along the index that is contiguous in memory.
        self._across = (size if self.by_own else bk) // self.scale

    def declaration(self) -> str:
        element = self.vector if self.unit == 4 else self.load.dtype.wgsl
        count = self.pitch * self.tile.bk // self.unit
        return f"var<workgroup> tile_{self.name}: array<{element}, {count}>;"

    def _offset(self, number: int) -> tuple[int, int]:
        """Return the distance of load `number` from the first, along the own index and along k."""
        outer, inner = divmod(number * self.tile.workgroup, self._across)
        return (inner, outer) if self.by_own else (outer, inner)

    def start(self) -> list[str]:
        """Return statements that find the position of the first load, in memory and in the tile.

        All sizes are powers of two, so the other loads are at fixed distances from it.
        """
        x, unit = self.name, self.unit
        in_k = self.scale // unit  # neighbours along k in a load
        corner = f"{'m' if x == 'a' else 'n'}0"
        first = "start / 4u" if in_k == 4 else f"start * {self.along}"
        e = "invocation" if self.whole >= self.tile.workgroup else f"(invocation % {self.whole}u)"
        inner, outer = f"{e} % {self._across}u", f"{e} / {self._across}u"
        across, k = (inner, outer) if self.by_own else (outer, inner)
        return [
            f"let {x}_own = {across};",
            f"let {x}_k = {k};",
            f"let {x}_to = {x}_k * {in_k * self.pitch // unit}u + {x}_own;",
            f"var {x}_at = base_{x} + ({corner} / {unit}u + {x}_own) * {self.own}"
            f" + {x}_k * {self.along} + {first};",
            *(f"let {x}_move{n} = {self._move(n)};" for n in self.loads if n),
            *(f"var {x}_next{n} = {self.kind}();" for n in self.loads),
            self._origin(),
        ]

    def _move(self, number: int) -> str:
        """Return WGSL of the distance in memory of load `number` from the first."""
        across, k = self._offset(number)
        terms = [f"{n}u * {stride}" for n, stride in ((across, self.own), (k, self.along)) if n]
        return " + ".join(terms)

    def _origin(self) -> str:
        """Return a statement for the position in the tile of the invocation's first vector."""
        across = ("ty" if self.name == "a" else "tx") + ("" if self.unit == 4 else " * 4u")
        rows = self.tile.bk // self.tile.wk * self.pitch // self.unit
        slice_start = f"tk * {rows}u + " if self.tile.wk > 1 else ""
        return f"let {self.name}_from = {slice_start}{across};"

    def _guarded(self, code: list[str]) -> list[str]:
        """Return the statements, restricted to the invocations that load something."""
        if self.whole >= self.tile.workgroup:
            return code
        return braced(f"if (invocation < {self.whole}u)", code)

    def fetch(self) -> list[str]:
        """Return statements that load a slice into registers."""
        x = self.name
        step = self.tile.bk * self.unit // self.scale
        moved = [f"{x}_at" + (f" + {x}_move{n}" if n else "") for n in self.loads]
        code = [f"{x}_next{n} = {self.buffer}[{index}];" for n, index in enumerate(moved)]
        return [*self._guarded(code), f"{x}_at += {step}u * {self.along};"]

    def keep(self) -> list[str]:
        """Return statements that store a slice from registers in the tile, with zeros past k's end.

        Every slice selects zeros. With a branch for the last slice instead, 2048 squared takes
        472 µs on an H200 rather than 400.
        """
        x, code = self.name, list[str]()
        for n in self.loads:
            across, k = self._offset(n)
            summed_index = f"{x}_k + {k}u"
            summed_index = f"({summed_index}) * 4u" if self.by_k else summed_index
            kept = f"select({self.kind}(), {x}_next{n}, k0 + {summed_index} < end)"
            if self.by_k:
                code.append(f"let {x}_kept{n} = {kept};")
                for j, c in enumerate(XYZW):
                    index = (4 * k + j) * self.pitch + across
                    code.append(f"tile_{x}[{x}_to + {index}u] = {x}_kept{n}.{c};")
            else:
                index = k * self.pitch // self.unit + across
                code.append(f"tile_{x}[{x}_to + {index}u] = {kept};")
        return self._guarded(code)

    def neighbours(self, k: int, first: int) -> str:
        """Return WGSL of four neighbours in the tile, `first` vectors after the first one."""
        index = k * self.pitch + 4 * first
        if self.unit == 4:
            return f"tile_{self.name}[{self.name}_from + {index // 4}u]"
        elements = (f"tile_{self.name}[{self.name}_from + {index + j}u]" for j in range(4))
        return f"{self.vector}({', '.join(elements)})"


class _Writer(Writer):
    """The program of a product.

    If `length` is given, the first kept dimension counts parts of the sum of that length; the last
    part may be shorter.
    """

    def __init__(
        self, kernel: Kernel, roles: Roles, tile: Tile, context: Context, length: int | None = None
    ) -> None:
        super().__init__(kernel, context)
        a, b = stage_of(kernel, Contraction).element.loads()
        # Products in parts have a batch dimension. Every product gets one, to share programs.
        self.roles = roles = replace(roles, batch=roles.batch or ((),))
        self.tile = tile
        self.m, self.n = (_extent(kernel.kept, g) for g in (roles.m, roles.n))
        self.k = _extent(kernel.reduced, roles.k)
        self.batch = [_extent(kernel.kept, g) for g in roles.batch]
        self.count = size_of(tuple(self.batch))
        self.length = self.k if length is None else length
        self.parts = 1 if length is None else kernel.kept[0]
        sides = (a, roles.m, self.m), (b, roles.n, self.n)
        along_own = [self._vectors_along_own(*side) for side in sides]
        # If one operand is read element by element, so are the others. Otherwise each choice that
        # depends only on sizes would double the number of programs that an expression needs.
        vectors = self.n % 4 == 0 and None not in along_own
        self.width = 4 if vectors else 1
        stored = [(o, mode_of(o, roles, self.width) == "v") for o in kernel.outputs]
        loads = [(a, vectors), (b, vectors)]
        self.bind_bodies([(kernel.row, roles, self.width)], stored, loads)
        self.params.extend(self.m, self.n, self.k, self.count)
        self.params.extend(self.length, self.count // self.parts)
        self.constants |= tile.constants()
        along_own = along_own if vectors else [None, None]
        named = zip("ab", sides, (tile.bm, tile.bn), along_own, strict=True)
        self.operands = [
            _Operand(self, name, load, group, size, by_own)
            for name, (load, group, _), size, by_own in named
        ]

    def strides_of(self, load: Load, group: Group) -> tuple[int, int]:
        """Return the strides of an operand along its own index and along the summed one."""
        rank = len(self.kernel.kept)
        kept, reduced = load.access.strides[:rank], load.access.strides[rank:]
        return _stride(kept, group), _stride(reduced, self.roles.k)

    def _vectors_along_own(self, load: Load, group: Group, extent: int) -> bool | None:
        """Return whether vectors lie along its own index, or else along k; None if neither."""
        own, along = self.strides_of(load, group)
        others = [_stride(load.access.strides, g) for g in self.roles.batch]
        if any(s % 4 for s in others) or not load.access.is_aligned(4):
            return None
        if own == 1 and along % 4 == 0 and extent % 4 == 0:
            return True
        return False if along == 1 and own % 4 == 0 and self.k % 4 == 0 else None

    def product(self) -> Dispatch:
        tile, operands = self.tile, self.operands
        self.code += [x.declaration() for x in operands]
        fetch = [line for x in operands for line in x.fetch()]
        keep = [line for x in operands for line in x.keep()]
        regions = {"bases": self._bases(), "first": fetch, "keep": keep, "next": fetch}
        regions |= self._multiply()
        if self.width == 1 or tile.wk > 1:
            kind = operands[0].load.dtype.wgsl
            self.code.append(f"var<workgroup> stage: array<{kind}, {tile.staged}>;")
            regions["finish"] = _staged(tile, self.width)
        self._finish()
        along = [
            ("" if x.vectors else "elements of ") + (own if x.by_own else "k")
            for x, own in zip(operands, "mn", strict=True)
        ]
        variant = f"tile {tile}, A by {along[0]}, B by {along[1]}"
        groups = -(-self.m // tile.bm) * -(-self.n // tile.bn) * self.count
        work = 2 * self.m * self.n * max(self.length, 1) * self.count
        counts = {"work": work, "operations": self.kernel.operations() // self.parts}
        return self.dispatch("matmul_tiled", variant, groups, **counts, regions=regions)

    def _bases(self) -> list[str]:
        """Return the start of each operand's matrix for this batch, in the units of its loads."""
        code, names = decode_coordinates(self.params, self.batch, "batch", "z")
        for operand in self.operands:
            access, scale = operand.load.access, operand.scale
            terms = [self.params.offset(access, scale)]
            for z, group in zip(names, self.roles.batch, strict=False):
                terms.append(f"{z} * {self.params.add(_stride(access.strides, group) // scale)}")
            code.append(f"let base_{operand.name} = {' + '.join(terms)};")
        return code

    def _multiply(self) -> dict[str, list[str]]:
        """Return the regions that depend on the results of an invocation."""
        tile, (a, b) = self.tile, self.operands
        columns = tile.tn // 4
        accs = [f"c{i}_{v}" for i in range(tile.tm) for v in range(columns)]
        multiply: list[str] = []
        for k in range(tile.bk // tile.wk):  # unrolled here, because the shader compilers do not
            lines = [f"let a{u} = {a.neighbours(k, u * tile.wy)};" for u in range(tile.tm // 4)]
            lines += [f"let b{v}_ = {b.neighbours(k, v * tile.wx)};" for v in range(columns)]
            lines += [
                f"c{i}_{v} += a{i // 4}.{XYZW[i % 4]} * b{v}_;"
                for i in range(tile.tm)
                for v in range(columns)
            ]
            multiply += braced("", lines)
        results = f"var results = array<{a.vector}, {len(accs)}>({', '.join(accs)});"
        return {
            "start": [*a.start(), *b.start(), *(f"var {c} = {a.vector}();" for c in accs)],
            "multiply": multiply,
            "results": [f"const COLUMNS = {columns}u;", results],
        }

    def _finish(self) -> None:
        """Add the function that applies the row body to results and stores those in range.

        It takes four neighbours where vectors can be stored, otherwise one result.
        """
        wide = self.width == 4
        kind = self.operands[0].kind
        outputs, params = self.kernel.outputs, self.params
        split, names = decode_coordinates(params, self.batch, "batch", "z")
        body = BodyCode(self, self.kernel.row, self.roles, self.width)
        body.function("epilogue", [o.value for o in outputs])
        n = "n4" if wide else "n"
        space = Space([*names, "m", n], self.roles, self.width)
        accumulated = [f"acc.{x}" for x in XYZW] if wide else ["acc"]
        arguments = body.arguments(space, "e", lambda _, lane: accumulated[lane])
        stored = self.store_results(space, outputs, "epilogue", arguments)
        beyond = f"m >= {params.at(1)} || {n}{' * 4u' if wide else ''} >= {params.at(2)}"
        head = f"finish(batch: u32, m: u32, {n}: u32, acc: {kind})"
        self.function(head, *braced(f"if ({beyond})", ["return;"]), *split, *stored)


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
    blocks = [f"{n * block}u" for n in range(tile.wk)]
    s = "invocation" if spots <= tile.workgroup else "(invocation + r * WORKGROUP)"
    if width == 4:
        index = f"{s} % {block}u"
        sums = [" + ".join(f"stage[at + {p} + {c * pitch}u]" for p in blocks) for c in range(4)]
        value, column = f"vec4({', '.join(sums)})", "column / 4u + x"
    else:
        index = f"x % 4u * {pitch}u + y * WX + x / 4u"
        value, column = " + ".join(f"stage[at + {p}]" for p in blocks), "column + x"
    taken = [
        f"let x = {s} % {across}u;",
        f"let y = {s} / {across}u % {tile.wy}u;",
        f"let at = {index};",
        f"finish(batch, row + y * 4u, {column}, {value});",
    ]
    if spots < tile.workgroup:
        taken = braced(f"if (invocation < {spots}u)", taken)
    elif spots > tile.workgroup:
        taken = braced(f"for (var r = 0u; r < {spots // tile.workgroup}u; r++)", taken)
    return [*put, "workgroupBarrier();", *taken, "workgroupBarrier();"]
