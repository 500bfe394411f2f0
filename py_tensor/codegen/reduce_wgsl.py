"""The WGSL of one pass of a reduction: the regions of `shaders/templates/reduce.wgsl`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from py_tensor.base.dtypes import DType, uint32
from py_tensor.base.shapes import size_of
from py_tensor.codegen.blocks import Strides
from py_tensor.codegen.codec import Binding, as_words, from_words
from py_tensor.codegen.emit import (
    Arguments,
    BodyCode,
    Space,
    decode_coordinates,
    decode_padded,
    load_mode,
    text_for,
)
from py_tensor.codegen.hoist import hoist
from py_tensor.codegen.map import bind, field_of, gathered, interface, returns, store, store_results
from py_tensor.codegen.program import Params
from py_tensor.codegen.walk import Walk
from py_tensor.schedule.body import Body, Load
from py_tensor.schedule.kernel import Accumulator, Kernel, Output

CHAIN = 16  # values folded in sequence on a level, before the result goes to the next level
MERGED_CHAIN = 4  # shorter for results of slices: equal ones are all rounded in one direction


@dataclass(frozen=True, slots=True)
class Written:
    """A pass as WGSL; `target` is the binding for the results of slices, if rows are sliced."""

    bindings: list[Binding]
    params: Params
    regions: dict[str, str]
    target: int


def write(
    kernel: Kernel, walk: Walk, element: Body, partial: int | None, *, merges: bool
) -> Written:
    """Return regions of the template, and the parameters they read.

    Parameters
    ----------
    element : Body
        The body that is folded: that of the kernel's stage, or loads of partial results.
    partial : int, optional
        The buffer for the results of slices.
    merges : bool
        Whether partial results are folded.
    """
    return _Writer(kernel, walk, element, partial, merges).written()


def indent(lines: list[str], depth: int) -> str:
    return "\n".join("  " * depth + line for line in lines)


def place(walk: Walk, params: Params, *, sliced: bool) -> list[str]:
    """Return statements that find the row and the lane of an invocation, and its slice if `sliced`.

    Neighbouring invocations read neighbours in memory, which are lanes of one row or different
    rows. Lanes of a row are `apart` invocations apart. All these numbers are powers of two.
    """
    lanes, rows = walk.lanes.bit_length() - 1, walk.rows_per_group.bit_length() - 1
    lane_at, row_at = (rows, 0) if walk.lanes_apart else (0, lanes)
    return [
        f"let lanes = {params.add(walk.lanes)};",
        f"let group_rows = {params.add(walk.rows_per_group)};",
        f"let apart = {params.add(1 << lane_at)};",
        f"let lane = (invocation >> {params.add(lane_at)}) & (lanes - 1u);",
        f"let local_row = (invocation >> {params.add(row_at)}) & (group_rows - 1u);",
        *(["let slice = block % slices;"] if sliced else []),
        f"let row = {'(block / slices)' if sliced else 'block'} * group_rows + local_row;",
    ]


class StageWriter:
    """The WGSL of one stage: its accumulator, its loop, and the folding of the lanes.

    Parameters
    ----------
    folds : tuple of Accumulator
        The folds of the stage.
    element : Body
        The body that it folds.
    merges : bool
        The stage folds results of slices: the instructions of `element` load the words of
        accumulators.
    mark : str
        A suffix for every name that the stage declares, if a kernel has several stages.
    accumulated : callable
        (number, lane) -> the WGSL of the result of an earlier stage's accumulator.
    """

    def __init__(
        self,
        walk: Walk,
        folds: tuple[Accumulator, ...],
        element: Body,
        params: Params,
        bindings: list[Binding],
        *,
        merges: bool = False,
        mark: str = "",
        accumulated: Callable[[int, int], str] = lambda number, lane: "",
    ) -> None:
        self.walk = walk
        self.folds = folds
        self.merges = merges
        self.chain = MERGED_CHAIN if merges else CHAIN
        self.params = params
        self.mark = mark
        if merges:
            roots = set(range(len(element.instructions)))
        else:
            roots = {v for f in folds for v in (f.value, f.index) if v is not None}
        self.element = SplitBody(walk, element, roots, params, bindings, mark, accumulated)

    def acc(self, lane: int) -> str:
        return f"acc{self.mark}{lane}"

    def start(self) -> list[str]:
        return [f"var {self.acc(n)} = identity{self.mark}();" for n in range(self.walk.width)]

    def shared(self) -> str:
        """Return the declaration of the workgroup memory through which lanes are folded."""
        size = self.walk.workgroup * self.walk.columns
        return f"var<workgroup> shared_accs{self.mark}: array<Acc{self.mark}, {size}>;"

    def accumulator(self) -> list[str]:
        """Return the accumulator's struct, and its functions: identity, combination, elements."""
        fields: list[str] = []
        starts: list[str] = []
        joined: list[str] = []
        made: list[str] = []
        word = 0
        for fold in self.folds:
            first, kind = len(fields), str(fold.dtype.wgsl)
            dtypes = fold.components
            combine = text_for(fold.op.combine, fold.dtype)
            element = text_for(fold.op.element, fold.dtype)
            names = {"t": kind}
            names |= {f"a{n}": f"x.p{first + n}" for n in range(len(dtypes))}
            names |= {f"b{n}": f"y.p{first + n}" for n in range(len(dtypes))}
            for n, (dtype, start) in enumerate(
                zip(dtypes, fold.op.identity(fold.dtype), strict=True)
            ):
                fields.append(f"p{first + n}: {dtype.wgsl}")
                starts.append(self.params.value(start, dtype))
                joined.append(combine[n].format(**names))
                made.append(self._made(element[n], fold, word, dtype))
                word += dtype.words
        m, acc = self.mark, f"Acc{self.mark}"
        return [
            f"struct {acc} {{ {', '.join(fields)} }}",
            f"fn identity{m}() -> {acc} {{ return {acc}({', '.join(starts)}); }}",
            f"fn combine{m}(x: {acc}, y: {acc}) -> {acc} {{ return {acc}({', '.join(joined)}); }}",
            *self.element.functions(f"element{m}", made, acc),
        ]

    def _made(self, text: str, fold: Accumulator, word: int, dtype: DType) -> str:
        """Return WGSL of one part of a single point's accumulator, inside the element function."""
        if self.merges:
            words = range(word, word + dtype.words)
            return from_words(dtype, *map(self.element.value, words))
        index = "" if fold.index is None else self.element.value(fold.index)
        return text.format(x=self.element.value(fold.value), i=index, t=fold.dtype.wgsl)

    def fold(self, split: list[str], kept_names: list[str]) -> list[str]:
        """Return the row's coordinates, then the loop over an invocation's part of the row."""
        inner, space = reduced_space(self.params, self.walk, kept_names)
        before = self.element.before(kept_names)
        arguments = self.element.arguments(space, "a")
        step = [*inner, *arguments.call(f"element{self.mark}", "value")]
        return [*split, *before, *space.hoisted, *self._loop(step)]

    def _loop(self, step: list[str]) -> list[str]:
        """Fold the points first + lane, first + lane + lanes, ... before last.

        A fold that rounds has levels: `chain` points make a part, `chain` parts make a part of the
        next level, and so on. As in pairwise summation (Higham, The accuracy of floating point
        summation, 1993), the error grows with the length of a chain, not with the number of points.
        """
        lines = ["var at = first + lane;"]
        levels = self.walk.levels + self.merges if any(fold.rounds for fold in self.folds) else 0
        return lines + self._level(step, levels, "last", f"acc{self.mark}")

    def _level(self, step: list[str], level: int, end: str, into: str) -> list[str]:
        """Fold points up to `end` into `into`, through parts of the level below."""
        if not level:
            return self._chain(step, end, into)
        walk, m, total, stop = self.walk, self.mark, f"part{level}_", f"stop{level}"
        inner = [f"let {stop} = min({end}, at + {self.chain**level}u * lanes);"]
        inner += [f"var {total}{n} = identity{m}();" for n in range(walk.width)]
        inner += self._level(step, level - 1, stop, total)
        inner += [f"{into}{n} = combine{m}({into}{n}, {total}{n});" for n in range(walk.width)]
        return [f"while (at < {end}) {{", *(f"  {line}" for line in inner), "}"]

    def _chain(self, step: list[str], end: str, into: str) -> list[str]:
        walk, m = self.walk, self.mark
        step = [
            *step,
            *(f"{into}{n} = combine{m}({into}{n}, value{n});" for n in range(walk.width)),
        ]
        lines: list[str] = []
        if walk.unroll > 1:
            unroll = walk.unroll
            lines.append(f"for (; at + {unroll - 1}u * lanes < {end}; at += {unroll}u * lanes) {{")
            for n in range(unroll):
                lines += ["  {", f"    let j = at + {n}u * lanes;"]
                lines += [*(f"    {line}" for line in step), "  }"]
            lines.append("}")
        lines += [f"for (; at < {end}; at += lanes) {{", "  let j = at;"]
        return [*lines, *(f"  {line}" for line in step), "}"]

    def share(self) -> list[str]:
        """Fold an invocation's accumulators, then those of the lanes of each row."""
        walk, m = self.walk, self.mark
        lines: list[str] = []
        if walk.dims.by_rows and walk.width == 4:
            first, second = (f"combine{m}({self.acc(n)}, {self.acc(n + 1)})" for n in (0, 2))
            lines.append(f"{self.acc(0)} = combine{m}({first}, {second});")
        cells = [
            "invocation",
            *(f"invocation + {n * walk.workgroup}u" for n in range(1, walk.columns)),
        ]
        lines += [f"shared_accs{m}[{cell}] = {self.acc(n)};" for n, cell in enumerate(cells)]
        lines.append("for (var half = lanes / 2u; half > 0u; half /= 2u) {")
        lines += ["  workgroupBarrier();", "  if (lane < half) {"]
        for n, cell in enumerate(cells):
            other = f"shared_accs{m}[{cell} + half * apart]"
            lines.append(f"    {self.acc(n)} = combine{m}({self.acc(n)}, {other});")
            lines.append(f"    shared_accs{m}[{cell}] = {self.acc(n)};")
        return [*lines, "  }", "}"]

    def result(self, number: int, lane: int) -> str:
        """Return the result of a fold of this stage, from its accumulator's parts."""
        fold = self.folds[number]
        first = sum(len(earlier.op.components) for earlier in self.folds[:number])
        parts = len(fold.op.components)
        return fold.op.result.format(
            **{f"a{n}": f"{self.acc(lane)}.p{first + n}" for n in range(parts)}
        )


class SplitBody:
    """A body over the whole space; its row-invariant part is computed before the loop.

    Parameters
    ----------
    roots : set of int
        The values that are used.
    """

    def __init__(
        self,
        walk: Walk,
        body: Body,
        roots: set[int],
        params: Params,
        bindings: list[Binding],
        mark: str,
        accumulated: Callable[[int, int], str],
    ) -> None:
        self.walk = walk
        self.params = params
        self.mark = mark
        self.accumulated = accumulated
        dims = walk.dims
        self.split = hoist(body, roots, dims.rank, loads=size_of(dims.reduced_extents) > 1)
        outer, inner = self.split.outer, self.split.inner
        modes = load_modes(inner, dims.space_strides, walk.width)
        self.inner = BodyCode(inner, bindings, {**modes}, dims.space_dim)
        row_modes = load_modes(outer, dims.kept_strides, walk.columns)
        self.outer = BodyCode(outer, bindings, {**row_modes}, dims.kept_dim)

    def value(self, number: int) -> str:
        return f"v{self.split.values[number]}"

    def functions(self, name: str, results: list[str], kind: str) -> list[str]:
        """Return the function for each point, and the one for each row."""
        roots = list(self.split.values.values())
        declared = [self.inner.function(name, self.params, roots, kind, results)]
        if self.split.results:
            kind, declaration = self._returns()
            ahead = f"ahead{self.mark}"
            function = self.outer.function(ahead, self.params, self.split.results, kind)
            declared += [declaration, function]
        return declared

    def before(self, kept_names: list[str]) -> list[str]:
        """Return statements that compute the row-invariant part before the loop."""
        if not self.split.results:
            return []
        columns = self.walk.columns
        space = Space(kept_names, self.walk.dims.kept_strides, columns)
        arguments = self.outer.arguments(self.params, space, columns, "h", self.accumulated)
        return arguments.call(f"ahead{self.mark}", "ahead")

    def arguments(self, space: Space, prefix: str) -> Arguments:
        """Load the arguments of the function for each point."""
        return self.inner.arguments(self.params, space, self.walk.width, prefix, self._given)

    def _given(self, number: int, lane: int) -> str:
        if number >= 0:
            return self.accumulated(number, lane)
        ahead = 0 if self.walk.dims.by_rows else lane
        return f"ahead{ahead}{field_of(self.split.results, -1 - number)}"

    def _returns(self) -> tuple[str, str]:
        dtypes = [self.split.outer.dtype(n) for n in self.split.results]
        return returns(dtypes, f"Ahead{self.mark}")


def load_modes(body: Body, strides: Strides, width: int) -> dict[Load, str]:
    """Return the mode of each load of a body; see `load_mode`."""
    return {
        x: load_mode(strides(x.access.strides), x.access.offset, width)
        for x in body.instructions
        if isinstance(x, Load)
    }


def kept_space(params: Params, walk: Walk) -> tuple[list[str], list[str]]:
    """Return statements that find a row's coordinates, and their names."""
    extents = walk.dims.kept_extents
    return decode_padded(params, (*extents[:-1], extents[-1] // walk.columns), "row", "k")


def reduced_space(params: Params, walk: Walk, kept_names: list[str]) -> tuple[list[str], Space]:
    """Return statements that find the coordinates of point `j` of a row, and the space."""
    dims = walk.dims
    last = dims.reduced_extents[-1] // (walk.width if dims.by_rows else 1)
    split = decode_padded if walk.width == 1 else decode_coordinates
    inner, names = split(params, (*dims.reduced_extents[:-1], last), "j", "j")
    if dims.by_rows:
        names, outer = kept_names + names, range(len(kept_names))
    else:
        names, outer = names + kept_names, range(len(names), len(names) + len(kept_names))
    return inner, Space(names, dims.space_strides, walk.width, frozenset(outer))


def finish(
    kernel: Kernel,
    walk: Walk,
    params: Params,
    bindings: list[Binding],
    names: list[str],
    accumulated: Callable[[int, int], str],
    results: Callable[[Output], str] = lambda output: f"v{output.value}",
) -> tuple[list[str], list[str]]:
    """Return statements that compute and store the outputs of a row, and their functions.

    Parameters
    ----------
    names : list of str
        The coordinates of the row.
    accumulated : callable
        (number, lane) -> the WGSL of the result of an accumulator.
    results : callable
        Output -> the WGSL of the stored value, in terms of the values of the row body.
    """
    strides, outputs = walk.dims.kept_strides, kernel.outputs
    modes = load_modes(kernel.row, strides, walk.columns)
    code = BodyCode(kernel.row, bindings, {**modes}, walk.dims.kept_dim)
    kind, declaration = returns([o.dtype for o in outputs], "Finish")
    texts = [results(o) for o in outputs]
    function = code.function("finish", params, [o.value for o in outputs], kind, texts)
    space = Space(names, strides, walk.columns)
    arguments = code.arguments(params, space, walk.columns, "e", accumulated)
    stores = store_results(params, space, outputs, bindings, "finish", arguments)
    return stores, [declaration, function]


class _Writer:
    """The regions of a pass over whole rows or over slices; one program serves both.

    The first output is bound as u32 words. If rows are sliced, another buffer takes its place for
    the results of slices, ordered by part, then slice, then row. If the first output has elements
    of two words, slices use a separate program without outputs.
    """

    def __init__(
        self, kernel: Kernel, walk: Walk, element: Body, partial: int | None, merges: bool
    ) -> None:
        self.walk = walk
        self.merges = merges
        self.size = size_of(kernel.kept)
        self.dtypes = [dtype for fold in kernel.accumulators() for dtype in fold.components]
        self.given = {o.slot: o.dtype for o in kernel.outputs[:1] if o.dtype.is_word}
        words = [replace(o, dtype=uint32) if o.slot in self.given else o for o in kernel.outputs]
        self.kernel = replace(kernel, outputs=tuple(words))
        self.params = Params()
        for value in (walk.rows, walk.slices, walk.slice_steps, walk.steps, 0):
            self.params.add(value)
        modes = load_modes(element, walk.dims.space_strides, walk.width)
        row_modes = load_modes(kernel.row, walk.dims.kept_strides, walk.columns)
        self.bindings = bind(
            [
                *((x, m == "v") for x, m in (*modes.items(), *row_modes.items())),
                *gathered(element, kernel.row),
            ],
            [(o, self._stores_vectors(o)) for o in self.kernel.outputs],
        )
        self.target = len(self.bindings) - len(kernel.outputs)
        if not kernel.outputs and partial is not None:
            self.bindings.append(Binding(partial, uint32, walk.columns == 4, writable=True))
        folds = tuple(kernel.accumulators())
        self.stage = StageWriter(walk, folds, element, self.params, self.bindings, merges=merges)

    def _stores_vectors(self, output: Output) -> bool:
        if output.dtype.is_packed:  # the words of a slice may be stored there
            return False
        strides = self.walk.dims.kept_strides(output.access.strides)
        return self.walk.columns == 4 and load_mode(strides, output.access.offset, 4) == "v"

    def written(self) -> Written:
        walk, stage = self.walk, self.stage
        accumulator = stage.accumulator()
        placed = place(walk, self.params, sliced=True)
        split, names = kept_space(self.params, walk)
        fold = stage.fold(split, names)
        stores, code = self._finish(names)
        ended = [*split, *stores]
        if not self.kernel.outputs:
            ended = self._store_partial()
        elif not self.merges and not self.kernel.outputs[0].dtype.is_wide:
            partial = [f"  {line}" for line in self._store_partial()]
            whole = [f"  {line}" for line in ended]
            ended = ["if (slices > 1u) {", *partial, "} else {", *whole, "}"]
        regions = {
            "interface": interface(
                self.bindings,
                self.params,
                {"WORKGROUP": walk.workgroup},
                *accumulator,
                *code,
                stage.shared(),
            ),
            "place": indent(placed, 1),
            "start": indent(stage.start(), 1),
            "fold": indent(fold, 2),
            "share": indent(stage.share(), 1),
            "finish": indent(ended, 2),
        }
        return Written(self.bindings, self.params, regions, self.target)

    def _store_partial(self) -> list[str]:
        """Return statements that store the result of a slice of a row."""
        binding, columns = self.bindings[self.target], self.walk.columns
        scale = 4 if binding.vector else 1
        size, apart = self.size // scale, self.walk.slices * self.size // scale
        times = columns // scale
        row = f"row * {times}u" if times > 1 else "row"
        lines = [f"let at = slice * {self.params.add(size)} + {row};"]
        step = self.params.add(apart) if len(self.dtypes) > 1 else ""
        before = 0  # words of a point in the parts before this one
        for number, dtype in enumerate(self.dtypes):
            index = "at" if dtype.words == 1 else f"{dtype.words}u * at"
            index = f"{index} + {before}u * {step}" if before else index
            before += dtype.words
            of_lanes = [as_words(dtype, f"acc{lane}.p{number}") for lane in range(columns)]
            words = [word for lane in of_lanes for word in lane]
            if binding.vector:
                lines.append(f"b{self.target}[{index}] = vec4<u32>({', '.join(words)});")
                continue
            for n, text in enumerate(words):
                target = f"b{self.target}[{index}{f' + {n}u' if n else ''}]"
                put = f"atomicStore(&{target}, {text})" if binding.atomic else f"{target} = {text}"
                lines.append(f"{put};")
        return lines

    def _finish(self, names: list[str]) -> tuple[list[str], list[str]]:
        """Return statements for lane 0 after folding a whole row, and their functions."""
        kernel, walk, params, bindings = self.kernel, self.walk, self.params, self.bindings
        if kernel.row.instructions:

            def result(output: Output) -> str:
                value = f"v{output.value}"
                dtype = self.given.get(output.slot)
                return value if dtype is None else as_words(dtype, value)[0]

            return finish(kernel, walk, params, bindings, names, self.stage.result, result)

        accumulator_words = [
            (part, n) for part, d in enumerate(self.dtypes) for n in range(d.words)
        ]

        def part(number: int, lane: int) -> str:
            if not kernel.outputs[number].dtype.is_word:
                return f"acc{lane}.p{number}"
            accumulator, word = accumulator_words[number]
            return as_words(self.dtypes[accumulator], f"acc{lane}.p{accumulator}")[word]

        space = Space(names, walk.dims.kept_strides, walk.columns)  # stores the accumulator itself
        return store(params, space, kernel.outputs, bindings, walk.columns, part), []
