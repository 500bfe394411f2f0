"""Reductions: how rows are sliced, and the WGSL of one pass (`shaders/templates/reduce.wgsl`).

If there are too few rows to fill the device, rows are cut into slices, and a second kernel folds
the partial results. Each invocation keeps several accumulators, so the error of a sum grows like
that of pairwise summation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from py_tensor.base.dtypes import DType, uint32
from py_tensor.base.shapes import size_of
from py_tensor.codegen.adapter_profile import COSTLY, AdapterProfile
from py_tensor.codegen.codec import Binding, as_words, from_words
from py_tensor.codegen.program import Dispatch
from py_tensor.codegen.walk import (
    Space,
    Walk,
    arrange,
    decode_coordinates,
    decode_padded,
    lanes_of,
    mode_of,
)
from py_tensor.codegen.writer import (
    Arguments,
    BodyCode,
    Context,
    Writer,
    braced,
    field_of,
    stage_of,
    text_for,
)
from py_tensor.schedule.body import (
    Access,
    Accumulated,
    Addressed,
    Body,
    Const,
    Instruction,
    Load,
    Mask,
    copied,
)
from py_tensor.schedule.kernel import Accumulator, Kernel, ReduceStage

MAX_REDUCED = 2**31  # points that one pass folds per row: its index must fit 32 bits
MAX_SLICES = 1024  # to keep the device busy
MAX_STEPS = 2**14  # per invocation, if slices allow; lavapipe stops loops after 65,535 iterations
CHAIN = 16  # values folded in sequence on a level, before the result goes to the next level
MERGED_CHAIN = 4  # shorter for results of slices: equal ones are all rounded in one direction


def lower_reduce(kernel: Kernel, context: Context) -> list[Dispatch]:
    """Return the dispatches of a kernel with one stage: one, or several if its rows are sliced."""
    sections, profile = _sections(kernel), context.profile
    in_order = len(sections) > 1  # all of them store their results in one order
    whole = [arrange(x, x.stages[0].bodies(), profile, in_order=in_order) for x in sections]
    walks = [_sliced(walk, profile) for walk in whole]
    slices = sum(walk.slices for walk in walks)
    if slices == 1:
        return [_Writer(kernel, walks[0], context).fold()]
    folds, words = _fold_slices(sections, walks, context)
    return [*folds, merge(kernel, slices, words, context)]


def _sections(kernel: Kernel) -> list[Kernel]:
    """Cut rows that are too long for one pass into sections of their longest axis."""
    if size_of(kernel.reduced) <= MAX_REDUCED:
        return [kernel]
    stage, longest = stage_of(kernel, ReduceStage), max(kernel.reduced)
    axis = kernel.reduced.index(longest)
    length = max(1, MAX_REDUCED * longest // size_of(kernel.reduced))
    sections: list[Kernel] = []
    for start in range(0, longest, length):
        extents = *kernel.reduced[:axis], min(length, longest - start), *kernel.reduced[axis + 1 :]
        stages = (replace(stage, element=stage.element.moved(len(kernel.kept) + axis, start)),)
        sections.append(Kernel(kernel.kept, extents, stages, Body(), (), kernel.label))
    return sections


def _sliced(walk: Walk, profile: AdapterProfile) -> Walk:
    """Cut rows into slices where there are too few of them to fill the device."""
    worthwhile = walk.steps // (walk.lanes * profile.min_slice)
    wanted = min(-(-profile.wanted_groups // walk.groups), MAX_SLICES)
    wanted = max(wanted, walk.steps // (walk.lanes * MAX_STEPS))
    slices = max(1, min(wanted, worthwhile))
    return walk.cut(-(-walk.steps // slices))


def _fold_slices(
    sections: Sequence[Kernel], walks: Sequence[Walk], context: Context
) -> tuple[list[Dispatch], list[Load]]:
    """Return the folds of every slice, and loads of its accumulators over (kept..., slice)."""
    kernel, slices = sections[0], sum(walk.slices for walk in walks)
    size = size_of(kernel.kept)
    slot = context.temporary(kernel.accumulated_words * slices * size * uint32.itemsize)
    strides = (*walks[0].dims.flat_strides(kernel.kept), size)
    accesses: list[Access] = []
    for dtype in (dtype for fold in kernel.accumulators() for dtype in fold.components):
        apart, first = tuple(dtype.words * s for s in strides), len(accesses) * slices * size
        accesses += [Access(apart, first + word) for word in range(dtype.words)]
    folds, before = list[Dispatch](), 0
    for section, walk in zip(sections, walks, strict=True):
        element = stage_of(section, ReduceStage).element
        if element.cost > COSTLY or any(o.dtype.is_wide for o in section.outputs[:1]):
            section = replace(section, row=Body(), outputs=())
        folds.append(_Writer(section, walk, context, (slot, before, slices)).fold())
        before += walk.slices
    return folds, [Load(slot, uint32, access) for access in accesses]


def merge(kernel: Kernel, parts: int, words: Sequence[Load], context: Context) -> Dispatch:
    """Fold the partial results of the rows.

    Parameters
    ----------
    kernel
        The folds and the outputs; the body of its stage is not used.
    parts
        The number of parts of each row.
    words
        Loads of the accumulators' words, over the kept dimensions and the parts.
    """
    stage = ReduceStage(Body(list(words)), tuple(kernel.accumulators()))
    merging = replace(kernel, reduced=(parts,), stages=(stage,))
    walk = arrange(merging, [stage.element], context.profile, vectors=False)
    return _Writer(merging, walk, context, merges=True).fold()


def fold_slices(kernel: Kernel, length: int, context: Context) -> tuple[Dispatch, Load]:
    """Fold every `length` points of the one reduced dimension separately.

    Parameters
    ----------
    kernel
        A kernel with one stage of one fold, whose accumulator has one part, and no outputs.
    length
        A multiple of 4, less than the extent of the dimension.

    Returns
    -------
    The dispatch, and a load of its results over the kept dimensions and the slices.
    """
    stage = stage_of(kernel, ReduceStage)
    whole = arrange(kernel, [stage.element], context.profile)
    steps = length // (whole.width if whole.dims.by_rows else 1)
    lanes = lanes_of(context.profile, whole.rows, steps, apart=whole.lanes_apart)
    walk = replace(whole, lanes=lanes).cut(steps)
    (first,), words = _fold_slices([kernel], [walk], context)
    (fold,) = stage.folds
    strides = tuple(s // fold.dtype.words for s in words[0].access.strides)
    return first, Load(words[0].slot, fold.dtype, Access(strides, 0))


# -- WGSL ---------------------------------------------------------------------------------------


class WalkWriter(Writer):
    """A program whose invocations share rows as a walk says.

    Attributes
    ----------
    split : list of str
        Statements that find the coordinates of row `row`.
    row : Space
        The kept dimensions, at that row.
    """

    def __init__(self, kernel: Kernel, walk: Walk, context: Context, *values: int) -> None:
        super().__init__(kernel, context, *values)
        self.walk = walk
        self.constants["WORKGROUP"] = walk.workgroup
        *outer, last = walk.dims.kept.extents
        extents = *outer, last // walk.columns
        self.split, names = decode_padded(self.params, extents, "row", "k")
        self.row = Space(names, walk.dims.kept, walk.columns)

    def accumulated(self, number: int, lane: int) -> str:
        """Return WGSL of the result of an accumulator, for later stages and for the outputs."""
        raise NotImplementedError

    def point(self) -> tuple[list[str], Space]:
        """Return statements that find the coordinates of point `j` of a row, and the space."""
        dims, width = self.walk.dims, self.walk.width
        last = dims.reduced.extents[-1] // (width if dims.by_rows else 1)
        split = decode_padded if width == 1 else decode_coordinates
        inner, names = split(self.params, (*dims.reduced.extents[:-1], last), "j", "j")
        row = self.row.coordinates
        names, first = (row + names, 0) if dims.by_rows else (names + row, len(names))
        return inner, Space(names, dims, width, frozenset(range(first, first + len(row))))

    def finish(self) -> list[str]:
        """Return statements that compute and store the outputs of a row."""
        outputs, row = self.kernel.outputs, self.row
        code = BodyCode(self, self.kernel.row, row.axes, row.width)
        code.function("finish", [o.value for o in outputs])
        arguments = code.arguments(row, "e", self.accumulated)
        return self.store_results(row, outputs, "finish", arguments)


def _split(
    body: Body, roots: set[int], rank: int, *, loads: bool
) -> tuple[Body, list[int], Body, dict[int, int]]:
    """Move code that is constant along a row out of the loop over the row.

    Not every browser's compiler does this. Without it, dividing a sum by the row length would be
    repeated for every element. The first `rank` dimensions of the body are kept.

    `roots` are the values that are used outside the body. With ``loads=False`` no load is moved.
    This is for rows of a single point: every load could be moved out of these, and they would need
    a different program from longer rows.

    Returns
    -------
    The body that runs once per row, its values that the other one uses (``Accumulated(-1 - n)`` is
    number n of these), the body that runs at every point, and from each root to its value in it.
    """
    invariant: list[bool] = []
    for i in body.instructions:
        constant = all(invariant[a] for a in i.operands)
        if isinstance(i, Addressed):
            constant &= loads and not any(i.access.strides[rank:])
        elif isinstance(i, Mask):
            constant &= all(d < rank for d, _, _ in i.ranges)
        invariant.append(constant)
    inner, outer = Body(), Body()
    values: dict[int, int] = {}
    passed: dict[int, int] = {}  # invariant values that the inner part needs, in order

    def value(n: int) -> int:
        """Return the value of the inner part that is value n of the body."""
        if n not in values:
            i = body.instructions[n]
            if invariant[n] and not isinstance(i, Const | Accumulated):
                i = Accumulated(-1 - passed.setdefault(n, len(passed)), i.dtype)
            values[n] = inner.add(i)
        return values[n]

    for n, i in enumerate(body.instructions):
        if not invariant[n]:
            values[n] = inner.add(i.renumbered({a: value(a) for a in i.operands}))

    def over_rows(i: Instruction) -> int:
        if isinstance(i, Addressed):
            i = replace(i, access=i.access.over(i.access.strides[:rank]))
        return outer.add(i)

    used = {n: value(n) for n in roots}
    by_row = copied(body, passed, over_rows)
    return outer, [by_row[n] for n in passed], inner, used


class SplitBody:
    """A body over the whole space; its row-invariant part is computed before the loop.

    Parameters
    ----------
    roots : set of int
        The values that are used.
    mark : str
        A suffix for every declared name, if a kernel has several stages.
    """

    def __init__(self, writer: WalkWriter, body: Body, roots: set[int], mark: str = "") -> None:
        self.writer, self.walk, self.mark = writer, writer.walk, mark
        dims = self.walk.dims
        has_points = size_of(dims.reduced.extents) > 1
        outer, self.results, inner, self.values = _split(body, roots, dims.rank, loads=has_points)
        self.coordinates, self.space = writer.point()
        self.inner = BodyCode(writer, inner, dims, self.walk.width)
        self.outer = BodyCode(writer, outer, writer.row.axes, writer.row.width)

    def value(self, number: int) -> str:
        return f"v{self.values[number]}"

    def define(
        self, name: str, values: Iterable[int], kind: str = "", texts: Sequence[str] | None = None
    ) -> None:
        """Add the function for each point (see `BodyCode.function`), and the one for each row."""
        self.inner.function(name, [self.values[n] for n in values], kind, texts)
        if self.results:
            self.outer.function(f"ahead{self.mark}", self.results)

    def before(self) -> list[str]:
        """Return statements before the loop, after all addresses inside it are known.

        They compute the row-invariant part of the body and of the addresses.
        """
        if not self.results:
            return self.space.hoisted
        arguments = self.outer.arguments(self.writer.row, "h", self.writer.accumulated)
        return [*arguments.call(f"ahead{self.mark}", "ahead"), *self.space.hoisted]

    def arguments(self) -> Arguments:
        """Find point `j` of a row, and load the arguments of the function for each point."""

        def accumulated(number: int, lane: int) -> str:
            if number >= 0:
                return self.writer.accumulated(number, lane)
            ahead = 0 if self.walk.dims.by_rows else lane
            return f"ahead{ahead}{field_of(self.results, -1 - number)}"

        arguments = self.inner.arguments(self.space, "a", accumulated)
        arguments.statements[:0] = self.coordinates
        return arguments


class StageWriter(SplitBody):
    """The WGSL of one stage: its accumulator, its loop, and the folding of the lanes.

    Parameters
    ----------
    merges : bool
        The stage folds results of slices: the instructions of `element` load the words of
        accumulators.
    """

    def __init__(
        self, writer: WalkWriter, stage: ReduceStage, mark: str = "", *, merges: bool = False
    ) -> None:
        self.stage, self.folds, self.merges = stage, stage.folds, merges
        self.chain = MERGED_CHAIN if merges else CHAIN
        roots = {v for f in stage.folds for v in (f.value, f.index) if v is not None}
        roots = set(range(len(stage.element.instructions))) if merges else roots
        super().__init__(writer, stage.element, roots, mark)

    def acc(self, lane: int) -> str:
        return f"acc{self.mark}{lane}"

    def start(self) -> list[str]:
        return [f"var {self.acc(n)} = identity{self.mark}();" for n in range(self.walk.width)]

    def declare(self) -> None:
        """Add the accumulator's struct, its functions, and workgroup memory to fold the lanes."""
        fields: list[str] = []
        starts: list[str] = []
        joined: list[str] = []
        made: list[str] = []
        word = 0
        for fold in self.folds:
            first, dtypes = len(fields), fold.components
            names = {"t": str(fold.dtype.wgsl)}
            for n in range(len(dtypes)):
                names |= {f"a{n}": f"x.p{first + n}", f"b{n}": f"y.p{first + n}"}
            joined += [x.format(**names) for x in text_for(fold.op.combine, fold.dtype)]
            starts += map(self.writer.params.value, fold.op.identity(fold.dtype), dtypes)
            for text, dtype in zip(text_for(fold.op.element, fold.dtype), dtypes, strict=True):
                fields.append(f"p{len(fields)}: {dtype.wgsl}")
                made.append(self._made(text, fold, word, dtype))
                word += dtype.words
        m, acc = self.mark, f"Acc{self.mark}"
        self.writer.code += [
            f"struct {acc} {{ {', '.join(fields)} }}",
            f"fn identity{m}() -> {acc} {{ return {acc}({', '.join(starts)}); }}",
            f"fn combine{m}(x: {acc}, y: {acc}) -> {acc} {{ return {acc}({', '.join(joined)}); }}",
        ]
        self.define(f"element{m}", self.values, acc, made)
        size = self.walk.workgroup * self.walk.columns
        self.writer.code.append(f"var<workgroup> shared_accs{m}: array<{acc}, {size}>;")

    def _made(self, text: str, fold: Accumulator, word: int, dtype: DType) -> str:
        """Return WGSL of one part of a single point's accumulator, inside the element function."""
        if self.merges:
            return from_words(dtype, *map(self.value, range(word, word + dtype.words)))
        index = "" if fold.index is None else self.value(fold.index)
        return text.format(x=self.value(fold.value), i=index, t=fold.dtype.wgsl)

    def fold(self) -> list[str]:
        """Return the row's coordinates, then the loop over an invocation's part of the row.

        It folds the points first + lane, first + lane + lanes, ... before last.

        A fold that rounds has levels: `chain` points make a part, `chain` parts make a part of the
        next level, and so on. As in pairwise summation (Higham, The accuracy of floating point
        summation, 1993), the error grows with the length of a chain, not with the number of points.
        """
        step = self.arguments().call(f"element{self.mark}", "value")
        levels = self.walk.levels + self.merges if any(fold.rounds for fold in self.folds) else 0
        loop = self._level(step, levels, "last", f"acc{self.mark}")
        return [*self.writer.split, *self.before(), "var at = first + lane;", *loop]

    def _combined(self, into: str, values: str) -> list[str]:
        """Return statements that fold values into accumulators, for each lane of a vector."""
        combine = f"combine{self.mark}"
        return [f"{into}{n} = {combine}({into}{n}, {values}{n});" for n in range(self.walk.width)]

    def _level(self, step: list[str], level: int, end: str, into: str) -> list[str]:
        """Fold points up to `end` into `into`, through parts of the level below."""
        if not level:
            return self._chain([*step, *self._combined(into, "value")], end)
        total, stop = f"part{level}_", f"stop{level}"
        inner = [f"let {stop} = min({end}, at + {self.chain**level}u * lanes);"]
        inner += [f"var {total}{n} = identity{self.mark}();" for n in range(self.walk.width)]
        inner += self._level(step, level - 1, stop, total)
        return braced(f"while (at < {end})", [*inner, *self._combined(into, total)])

    def _chain(self, step: list[str], end: str) -> list[str]:
        """Fold points one after the other, several of them in flight."""
        unroll, lines = self.walk.unroll, list[str]()
        if unroll > 1:
            head = f"for (; at + {unroll - 1}u * lanes < {end}; at += {unroll}u * lanes)"
            starts = [f"let j = at + {n}u * lanes;" for n in range(unroll)]
            lines += braced(head, [x for start in starts for x in braced("", [start, *step])])
        return [*lines, *braced(f"for (; at < {end}; at += lanes)", ["let j = at;", *step])]

    def share(self) -> list[str]:
        """Fold an invocation's accumulators, then those of the lanes of each row."""
        walk, m = self.walk, self.mark
        lines: list[str] = []
        if walk.dims.by_rows and walk.width == 4:
            first, second = (f"combine{m}({self.acc(n)}, {self.acc(n + 1)})" for n in (0, 2))
            lines.append(f"{self.acc(0)} = combine{m}({first}, {second});")
        cells = ["invocation"]
        cells += [f"invocation + {n * walk.workgroup}u" for n in range(1, walk.columns)]
        lines += [f"shared_accs{m}[{cell}] = {self.acc(n)};" for n, cell in enumerate(cells)]
        folds: list[str] = []
        for n, cell in enumerate(cells):
            other = f"shared_accs{m}[{cell} + half * apart]"
            folds.append(f"{self.acc(n)} = combine{m}({self.acc(n)}, {other});")
            folds.append(f"shared_accs{m}[{cell}] = {self.acc(n)};")
        halves = ["workgroupBarrier();", *braced("if (lane < half)", folds)]
        return [*lines, *braced("for (var half = lanes / 2u; half > 0u; half /= 2u)", halves)]

    def result(self, number: int, lane: int) -> str:
        """Return the result of a fold of this stage, from its accumulator's parts."""
        op = self.folds[number].op
        first = sum(len(earlier.op.components) for earlier in self.folds[:number])
        numbers = range(len(op.components))
        return op.result.format(**{f"a{n}": f"{self.acc(lane)}.p{first + n}" for n in numbers})


class _Writer(WalkWriter):
    """A pass over whole rows or over slices; one program serves both.

    The first output is bound as u32 words. If rows are sliced, another buffer takes its place for
    the results of slices, ordered by part, then slice, then row. If the first output has elements
    of two words, slices use a separate program without outputs.

    Parameters
    ----------
    partial : tuple of int, optional
        The buffer for the results of slices, the number of the first slice in it, and the number
        of all slices.
    merges : bool
        Whether partial results are folded: the element of the stage loads their words.
    """

    def __init__(
        self,
        kernel: Kernel,
        walk: Walk,
        context: Context,
        partial: tuple[int, int, int] | None = None,
        *,
        merges: bool = False,
    ) -> None:
        sizes = walk.rows, walk.slices, walk.slice_steps, walk.steps
        super().__init__(kernel, walk, context, *sizes, *walk.placing)
        words = {o.slot for o in kernel.outputs[:1] if o.dtype.is_word}
        outputs = [replace(o, dtype=uint32) if o.slot in words else o for o in kernel.outputs]
        self.partial, self.merges = partial, merges
        self.dtypes = [dtype for fold in kernel.accumulators() for dtype in fold.components]
        kept = walk.dims.kept
        stage = stage_of(kernel, ReduceStage)
        bodies = (stage.element, walk.dims, walk.width), (kernel.row, kept, walk.columns)
        # Packed outputs are no vectors: the words of a slice may be stored there.
        vectors = [not o.dtype.is_packed and mode_of(o, kept, walk.columns) == "v" for o in outputs]
        self.bind_bodies(bodies, list(zip(outputs, vectors, strict=True)))
        self.target = len(self.bindings) - len(outputs)  # the binding for the results of slices
        if not outputs and partial is not None:
            self.bindings.append(Binding(partial[0], uint32, walk.columns, writable=True))
        self.stage = StageWriter(self, stage, merges=merges)

    def accumulated(self, number: int, lane: int) -> str:
        return self.stage.result(number, lane)

    def fold(self) -> Dispatch:
        """Return the dispatch."""
        kernel, walk, cost = self.kernel, self.walk, self.stage.stage.element.cost
        rows, folding, stored = size_of(kernel.kept), kernel, 0
        if self.partial is not None:  # the row body and the outputs are those of the next pass
            folding = replace(kernel, row=Body(), outputs=())
            stored = kernel.accumulated_words * walk.slices * rows * uint32.itemsize
        work = rows * (size_of(kernel.reduced) * cost + kernel.row.cost)
        counts = {"operations": folding.operations(), "traffic": folding.traffic() + stored}
        variant, regions = "slices" if self.merges else walk.variant, self._regions()
        return self.dispatch("reduce", variant, walk.groups, work=work, **counts, regions=regions)

    def _regions(self) -> dict[str, list[str]]:
        """Return the regions of the template; complete bindings, parameters and code."""
        outputs, stage = self.kernel.outputs, self.stage
        stage.declare()
        fold = stage.fold()
        ended = [*self.split, *self.finish()] if outputs else self._store_partial()
        if outputs and not self.merges and not outputs[0].dtype.is_wide:
            *partial, close = braced("if (slices > 1u)", self._store_partial())
            ended = [*partial, *braced(f"{close} else", ended)]
        if self.partial is not None:
            self.bindings[self.target] = replace(self.bindings[self.target], slot=self.partial[0])
        return {"start": stage.start(), "fold": fold, "share": stage.share(), "finish": ended}

    def _store_partial(self) -> list[str]:
        """Return statements that store the result of a slice of a row."""
        binding, columns = self.bindings[self.target], self.walk.columns
        scale = binding.lanes
        size = size_of(self.kernel.kept)
        times = columns // scale
        row = f"row * {times}u" if times > 1 else "row"
        _, first, slices = self.partial or (0, 0, 1)
        # The slices of several sections share one buffer.
        is_section = slices > self.walk.slices
        start = f" + {self.params.add(first * size // scale)}" if is_section else ""
        lines = [f"let at = slice * {self.params.add(size // scale)} + {row}{start};"]
        step = self.params.add(slices * size // scale) if len(self.dtypes) > 1 else ""
        before = 0  # words of a point in the parts before this one
        for number, dtype in enumerate(self.dtypes):
            index = "at" if dtype.words == 1 else f"{dtype.words}u * at"
            index = f"{index} + {before}u * {step}" if before else index
            before += dtype.words
            of_lanes = [as_words(dtype, f"acc{lane}.p{number}") for lane in range(columns)]
            words = [word for lane in of_lanes for word in lane]
            if scale > 1:
                lines.append(f"b{self.target}[{index}] = vec4<u32>({', '.join(words)});")
                continue
            for n, text in enumerate(words):
                target = f"b{self.target}[{index}{f' + {n}u' if n else ''}]"
                put = f"atomicStore(&{target}, {text})" if binding.atomic else f"{target} = {text}"
                lines.append(f"{put};")
        return lines
