"""The WGSL of one pass of a reduction: the regions of `shaders/templates/reduce.wgsl`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from py_tensor.base.dtypes import DType, uint32
from py_tensor.base.shapes import size_of
from py_tensor.codegen.codec import Binding, as_words, from_words
from py_tensor.codegen.emit import (
    Arguments,
    Space,
    decode_coordinates,
    decode_padded,
    mode_of,
    text_for,
)
from py_tensor.codegen.hoist import hoist
from py_tensor.codegen.program import Params
from py_tensor.codegen.walk import Walk
from py_tensor.codegen.writer import Context, Writer, field_of, indent, returns
from py_tensor.schedule.body import Body
from py_tensor.schedule.kernel import Accumulator, Kernel, Output

CHAIN = 16  # values folded in sequence on a level, before the result goes to the next level
MERGED_CHAIN = 4  # shorter for results of slices: equal ones are all rounded in one direction


def no_accumulator(number: int, lane: int) -> str:
    """Return no WGSL: bodies before the first fold have no accumulators."""
    return ""


class SplitBody:
    """A body over the whole space; its row-invariant part is computed before the loop.

    Parameters
    ----------
    roots : set of int
        The values that are used.
    """

    def __init__(
        self,
        writer: Writer,
        walk: Walk,
        body: Body,
        roots: set[int],
        mark: str = "",
        accumulated: Callable[[int, int], str] = no_accumulator,
    ) -> None:
        self.walk = walk
        self.params = writer.params
        self.mark = mark
        self.accumulated = accumulated
        dims = walk.dims
        self.split = hoist(body, roots, dims.rank, loads=size_of(dims.reduced.extents) > 1)
        outer, inner = self.split.outer, self.split.inner
        self.inner = writer.body_code(inner, dims.space_strides, dims.space_dim, walk.width)
        row_dim = dims.kept.position
        self.outer = writer.body_code(outer, dims.kept_strides, row_dim, walk.columns)

    def value(self, number: int) -> str:
        return f"v{self.split.values[number]}"

    def functions(self, name: str, results: list[str], kind: str) -> list[str]:
        """Return the function for each point, and the one for each row."""
        roots = list(self.split.values.values())
        declared = [self.inner.function(name, roots, kind, results)]
        if self.split.results:
            kind, declaration = self._returns()
            ahead = f"ahead{self.mark}"
            function = self.outer.function(ahead, self.split.results, kind)
            declared += [declaration, function]
        return declared

    def before(self, kept_names: list[str]) -> list[str]:
        """Return statements that compute the row-invariant part before the loop."""
        if not self.split.results:
            return []
        columns = self.walk.columns
        space = Space(kept_names, self.walk.dims.kept_strides, columns)
        arguments = self.outer.arguments(space, columns, "h", self.accumulated)
        return arguments.call(f"ahead{self.mark}", "ahead")

    def arguments(self, space: Space, prefix: str) -> Arguments:
        """Load the arguments of the function for each point."""
        return self.inner.arguments(space, self.walk.width, prefix, self._given)

    def _given(self, number: int, lane: int) -> str:
        if number >= 0:
            return self.accumulated(number, lane)
        ahead = 0 if self.walk.dims.by_rows else lane
        return f"ahead{ahead}{field_of(self.split.results, -1 - number)}"

    def _returns(self) -> tuple[str, str]:
        dtypes = [self.split.outer.dtype(n) for n in self.split.results]
        return returns(dtypes, f"Ahead{self.mark}")


class StageWriter(SplitBody):
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
        writer: Writer,
        walk: Walk,
        folds: tuple[Accumulator, ...],
        element: Body,
        *,
        merges: bool = False,
        mark: str = "",
        accumulated: Callable[[int, int], str] = no_accumulator,
    ) -> None:
        self.folds = folds
        self.merges = merges
        self.chain = MERGED_CHAIN if merges else CHAIN
        if merges:
            roots = set(range(len(element.instructions)))
        else:
            roots = {v for f in folds for v in (f.value, f.index) if v is not None}
        super().__init__(writer, walk, element, roots, mark, accumulated)

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
            first, dtypes = len(fields), fold.components
            names = {"t": str(fold.dtype.wgsl)}
            for n in range(len(dtypes)):
                names |= {f"a{n}": f"x.p{first + n}", f"b{n}": f"y.p{first + n}"}
            joined += [x.format(**names) for x in text_for(fold.op.combine, fold.dtype)]
            starts += map(self.params.value, fold.op.identity(fold.dtype), dtypes)
            for text, dtype in zip(text_for(fold.op.element, fold.dtype), dtypes, strict=True):
                fields.append(f"p{len(fields)}: {dtype.wgsl}")
                made.append(self._made(text, fold, word, dtype))
                word += dtype.words
        m, acc = self.mark, f"Acc{self.mark}"
        return [
            f"struct {acc} {{ {', '.join(fields)} }}",
            f"fn identity{m}() -> {acc} {{ return {acc}({', '.join(starts)}); }}",
            f"fn combine{m}(x: {acc}, y: {acc}) -> {acc} {{ return {acc}({', '.join(joined)}); }}",
            *self.functions(f"element{m}", made, acc),
        ]

    def _made(self, text: str, fold: Accumulator, word: int, dtype: DType) -> str:
        """Return WGSL of one part of a single point's accumulator, inside the element function."""
        if self.merges:
            words = range(word, word + dtype.words)
            return from_words(dtype, *map(self.value, words))
        index = "" if fold.index is None else self.value(fold.index)
        return text.format(x=self.value(fold.value), i=index, t=fold.dtype.wgsl)

    def fold(self, split: list[str], kept_names: list[str]) -> list[str]:
        """Return the row's coordinates, then the loop over an invocation's part of the row."""
        inner, space = reduced_space(self.params, self.walk, kept_names)
        before = self.before(kept_names)
        arguments = self.arguments(space, "a")
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
        components = len(fold.op.components)
        return fold.op.result.format(
            **{f"a{n}": f"{self.acc(lane)}.p{first + n}" for n in range(components)}
        )


def kept_space(params: Params, walk: Walk) -> tuple[list[str], list[str]]:
    """Return statements that find a row's coordinates, and their names."""
    extents = walk.dims.kept.extents
    return decode_padded(params, (*extents[:-1], extents[-1] // walk.columns), "row", "k")


def reduced_space(params: Params, walk: Walk, kept_names: list[str]) -> tuple[list[str], Space]:
    """Return statements that find the coordinates of point `j` of a row, and the space."""
    dims = walk.dims
    last = dims.reduced.extents[-1] // (walk.width if dims.by_rows else 1)
    split = decode_padded if walk.width == 1 else decode_coordinates
    inner, names = split(params, (*dims.reduced.extents[:-1], last), "j", "j")
    if dims.by_rows:
        names, outer = kept_names + names, range(len(kept_names))
    else:
        names, outer = names + kept_names, range(len(names), len(names) + len(kept_names))
    return inner, Space(names, dims.space_strides, walk.width, frozenset(outer))


def finish(
    writer: Writer,
    walk: Walk,
    names: list[str],
    accumulated: Callable[[int, int], str],
    results: Callable[[Output], str] = lambda output: f"v{output.value}",
) -> list[str]:
    """Return statements that compute and store the outputs of a row.

    Parameters
    ----------
    names : list of str
        The coordinates of the row.
    accumulated : callable
        (number, lane) -> the WGSL of the result of an accumulator.
    results : callable
        Output -> the WGSL of the stored value, in terms of the values of the row body.
    """
    kernel, strides = writer.kernel, walk.dims.kept_strides
    row, outputs = kernel.row, kernel.outputs
    code = writer.body_code(row, strides, walk.dims.kept.position, walk.columns)
    kind, declaration = returns([o.dtype for o in outputs], "Finish")
    texts = [results(o) for o in outputs]
    function = code.function("finish", [o.value for o in outputs], kind, texts)
    writer.code += [declaration, function]
    space = Space(names, strides, walk.columns)
    arguments = code.arguments(space, walk.columns, "e", accumulated)
    return writer.store_results(space, outputs, "finish", arguments)


class ReduceWriter(Writer):
    """A pass over whole rows or over slices; one program serves both.

    The first output is bound as u32 words. If rows are sliced, another buffer takes its place for
    the results of slices, ordered by part, then slice, then row. If the first output has elements
    of two words, slices use a separate program without outputs.

    Parameters
    ----------
    element : Body
        The body that is folded: that of the kernel's stage, or loads of partial results.
    partial : int, optional
        The buffer for the results of slices.
    merges : bool
        Whether partial results are folded.
    """

    def __init__(
        self,
        kernel: Kernel,
        walk: Walk,
        element: Body,
        context: Context,
        partial: int | None,
        *,
        merges: bool,
    ) -> None:
        self.word_dtypes = {o.slot: o.dtype for o in kernel.outputs[:1] if o.dtype.is_word}
        outputs = tuple(
            replace(o, dtype=uint32) if o.slot in self.word_dtypes else o for o in kernel.outputs
        )
        sizes = walk.rows, walk.slices, walk.slice_steps, walk.steps
        super().__init__(replace(kernel, outputs=outputs), context, *sizes, *walk.placing)
        self.walk = walk
        self.partial = partial
        self.merges = merges
        self.dtypes = [dtype for fold in kernel.accumulators() for dtype in fold.components]
        self.constants["WORKGROUP"] = walk.workgroup
        dims = walk.dims
        bodies = [
            (element, dims.space_strides, walk.width),
            (kernel.row, dims.kept_strides, walk.columns),
        ]
        # Packed outputs are no vectors: the words of a slice may be stored there.
        modes = [mode_of(o, dims.kept_strides, walk.columns) for o in outputs]
        stored = zip(outputs, modes, strict=True)
        self.bind_bodies(bodies, [(o, m == "v" and not o.dtype.is_packed) for o, m in stored])
        self.target = len(self.bindings) - len(outputs)  # the binding for the results of slices
        if not outputs and partial is not None:
            self.bindings.append(Binding(partial, uint32, walk.columns == 4, writable=True))
        self.stage = StageWriter(self, walk, tuple(kernel.accumulators()), element, merges=merges)

    def regions(self) -> dict[str, str]:
        """Return the regions of the template; complete the bindings, the parameters and the code.

        Call it once.
        """
        walk, stage = self.walk, self.stage
        self.code += stage.accumulator()
        split, names = kept_space(self.params, walk)
        fold = stage.fold(split, names)
        ended = [*split, *self._finish(names)]
        if not self.kernel.outputs:
            ended = self._store_partial()
        elif not self.merges and not self.kernel.outputs[0].dtype.is_wide:
            partial = [f"  {line}" for line in self._store_partial()]
            whole = [f"  {line}" for line in ended]
            ended = ["if (slices > 1u) {", *partial, "} else {", *whole, "}"]
        self.code.append(stage.shared())
        if self.partial is not None:
            self.bindings[self.target] = replace(self.bindings[self.target], slot=self.partial)
        return {
            "start": indent(stage.start(), 1),
            "fold": indent(fold, 2),
            "share": indent(stage.share(), 1),
            "finish": indent(ended, 2),
        }

    def _store_partial(self) -> list[str]:
        """Return statements that store the result of a slice of a row."""
        binding, columns = self.bindings[self.target], self.walk.columns
        scale = 4 if binding.vector else 1
        size = size_of(self.kernel.kept)
        times = columns // scale
        row = f"row * {times}u" if times > 1 else "row"
        lines = [f"let at = slice * {self.params.add(size // scale)} + {row};"]
        step = self.params.add(self.walk.slices * size // scale) if len(self.dtypes) > 1 else ""
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

    def _finish(self, names: list[str]) -> list[str]:
        """Return statements for lane 0 after folding a whole row."""
        walk, outputs = self.walk, self.kernel.outputs
        if self.kernel.row.instructions:

            def result(output: Output) -> str:
                value = f"v{output.value}"
                dtype = self.word_dtypes.get(output.slot)
                return value if dtype is None else as_words(dtype, value)[0]

            return finish(self, walk, names, self.stage.result, result)

        accumulator_words = [
            (part, n) for part, d in enumerate(self.dtypes) for n in range(d.words)
        ]

        def part(number: int, lane: int) -> str:
            if not outputs[number].dtype.is_word:
                return f"acc{lane}.p{number}"
            accumulator, word = accumulator_words[number]
            return as_words(self.dtypes[accumulator], f"acc{lane}.p{accumulator}")[word]

        space = Space(names, walk.dims.kept_strides, walk.columns)  # stores the accumulator itself
        return self.store(space, outputs, walk.columns, part)
