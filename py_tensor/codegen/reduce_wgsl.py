"""The WGSL of one pass of a reduction: the regions of `shaders/templates/reduce.wgsl`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from py_tensor.codegen.blocks import Strides
from py_tensor.codegen.emit import (
    Arguments,
    BodyCode,
    Space,
    decode_coordinates,
    load_mode,
    padded,
)
from py_tensor.codegen.hoist import hoist
from py_tensor.codegen.map import bind, field_of, interface, returns, store, store_results
from py_tensor.codegen.program import Binding, Params, from_bits, to_bits
from py_tensor.dtypes import DType, bool_, float32, int32, uint32
from py_tensor.graph.kernel import Body, Fold, Kernel, Load, Output, Stage
from py_tensor.layout import Merged

CHAIN = 16  # values folded one after the other on a level, before they go to the next one
_OF_WGSL: dict[str, DType] = {"f32": float32, "i32": int32, "u32": uint32, "bool": bool_}


def part_dtypes(fold: Fold) -> list[DType]:
    """The types of the parts of a fold's accumulator."""
    return [fold.dtype if part == "T" else _OF_WGSL[part] for part in fold.op.parts]


@dataclass(slots=True)
class Pass:
    """How one pass walks its space.

    Attributes
    ----------
    element : Body
        What is folded: the stage's body, or the loads of partial results where `merges`.
    rank : int
        Number of kept dimensions before merging.
    kept, reduced : Merged
        Dimensions after merging; `kept_extents` and `reduced_extents` with 1s in front.
    by_rows : bool
        The lanes lie along the last reduced dimension, not along the last kept one.
    width : int
        Neighbours along the lanes' dimension that an invocation loads at once.
    levels : int
        Levels of parts between an element and an invocation's accumulator, where a fold rounds.
    steps, rows : int
        Points to fold and points kept, counted in units of `width` along the lanes' dimension.
    lanes, rows_per_group : int
        Invocations to a row, and rows to a workgroup.
    slices, slice_steps, slice_stride : int
        Parts each row is cut into, the steps of a part, and how far apart their results lie.
    """

    stage: Stage
    element: Body
    merges: bool
    rank: int
    kept: Merged
    reduced: Merged
    kept_extents: tuple[int, ...]
    reduced_extents: tuple[int, ...]
    by_rows: bool
    workgroup: int
    unroll: int
    levels: int
    width: int = 1
    steps: int = 0
    rows: int = 0
    lanes: int = 1
    rows_per_group: int = 1
    slices: int = 1
    slice_steps: int = 1
    slice_stride: int = 0

    @property
    def columns(self) -> int:
        """Neighbouring rows that an invocation folds side by side."""
        return 1 if self.by_rows else self.width

    def kept_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        return padded(self.kept.strides(strides[: self.rank]), len(self.kept_extents), 0)

    def reduced_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        return padded(self.reduced.strides(strides[self.rank :]), len(self.reduced_extents), 0)

    def space_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Over both kinds of dimensions, the lanes' dimension last."""
        kept, reduced = self.kept_strides(strides), self.reduced_strides(strides)
        return kept + reduced if self.by_rows else reduced + kept

    def result_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Of what happens once per row: the slice comes first."""
        return (self.slice_stride, *self.kept_strides(strides))

    def element_dim(self, dim: int) -> int:
        """Where a dimension of the whole space stands among `space_strides`."""
        kept, reduced = len(self.kept_extents), len(self.reduced_extents)
        if dim < self.rank:
            place = self.kept.position(dim) + kept - len(self.kept.extents)
            return place if self.by_rows else reduced + place
        place = self.reduced.position(dim - self.rank) + reduced - len(self.reduced.extents)
        return kept + place if self.by_rows else place

    def row_dim(self, dim: int) -> int:
        """Where a kept dimension stands among `result_strides`."""
        return 1 + self.kept.position(dim) + len(self.kept_extents) - len(self.kept.extents)


@dataclass(frozen=True, slots=True)
class Written:
    bindings: list[Binding]
    params: Params
    regions: dict[str, str]


def write(kernel: Kernel, p: Pass) -> Written:
    """Regions of the template, and the parameters they read."""
    return _Writer(kernel, p).written()


def indent(lines: list[str], depth: int) -> str:
    return "\n".join("  " * depth + line for line in lines)


def place(p: Pass) -> list[str]:
    """Neighbouring invocations lie along the lanes' dimension."""
    if p.by_rows:
        return ["let lane = invocation % LANES;", "let local_row = invocation / LANES;"]
    return ["let local_row = invocation % ROWS;", "let lane = invocation / ROWS;"]


class StageWriter:
    """The WGSL of one stage: its accumulator, its loop, and the folding of the lanes.

    Parameters
    ----------
    mark : str
        Stands behind every name that the stage declares, where a kernel has several.
    accumulated : callable
        (number, lane) -> the WGSL of the result of an earlier stage's accumulator.
    """

    def __init__(
        self,
        p: Pass,
        params: Params,
        bindings: list[Binding],
        mark: str = "",
        accumulated: Callable[[int, int], str] = lambda number, lane: "",
    ) -> None:
        self.p = p
        self.params = params
        self.mark = mark
        if p.merges:
            roots = set(range(len(p.element.instructions)))
        else:
            roots = {v for f in p.stage.folds for v in (f.value, f.index) if v is not None}
        self.element = SplitBody(p, params, bindings, roots, mark, accumulated)

    def acc(self, lane: int) -> str:
        return f"acc{self.mark}{lane}"

    def start(self) -> list[str]:
        return [f"var {self.acc(n)} = identity{self.mark}();" for n in range(self.p.width)]

    def shared(self) -> str:
        """The declaration of the memory in which lanes meet, if they do."""
        p = self.p
        if p.lanes == 1:
            return ""
        size = p.workgroup * p.columns
        return f"var<workgroup> shared_accs{self.mark}: array<Acc{self.mark}, {size}>;"

    def accumulator(self) -> list[str]:
        """The accumulator's struct, and the functions that start, combine and make one."""
        fields: list[str] = []
        starts: list[str] = []
        joined: list[str] = []
        made: list[str] = []
        for fold in self.p.stage.folds:
            first, kind = len(fields), str(fold.dtype.wgsl)
            dtypes = part_dtypes(fold)
            combine = fold.op.combine.get(kind) or fold.op.combine["*"]
            element = fold.op.element.get(kind) or fold.op.element["*"]
            names = {f"a{n}": f"x.p{first + n}" for n in range(len(dtypes))}
            names |= {f"b{n}": f"y.p{first + n}" for n in range(len(dtypes))}
            for n, (dtype, start) in enumerate(
                zip(dtypes, fold.op.identity(fold.dtype), strict=True)
            ):
                fields.append(f"p{first + n}: {dtype.wgsl}")
                starts.append(from_bits(self.params.add(to_bits(start, dtype)), dtype))
                joined.append(combine[n].format(**names))
                made.append(self._made(element[n], fold, len(made)))
        m, acc = self.mark, f"Acc{self.mark}"
        return [
            f"struct {acc} {{ {', '.join(fields)} }}",
            f"fn identity{m}() -> {acc} {{ return {acc}({', '.join(starts)}); }}",
            f"fn combine{m}(x: {acc}, y: {acc}) -> {acc} {{ return {acc}({', '.join(joined)}); }}",
            *self.element.functions(f"element{m}", made, acc),
        ]

    def _made(self, text: str, fold: Fold, part: int) -> str:
        """One part of the accumulator of a single point, in the element's function."""
        if self.p.merges:  # the point is an accumulator already
            return self.element.value(part)
        index = "" if fold.index is None else self.element.value(fold.index)
        return text.format(x=self.element.value(fold.value), i=index)

    def fold(self, split: list[str], kept_names: list[str]) -> list[str]:
        """The row's coordinates, then the loop over an invocation's part of the row."""
        p, m = self.p, self.mark
        inner, space = reduced_space(self.params, p, kept_names)
        before = self.element.before(kept_names)
        arguments = self.element.arguments(space, "a")
        step = [*inner, *arguments.call(f"element{m}", "value")]
        return [*split, *before, *space.hoisted, *self._loop(step)]

    def _loop(self, step: list[str]) -> list[str]:
        """Fold the points first + lane, first + lane + LANES, ... before last.

        A fold that rounds goes in levels: `CHAIN` points to a part, `CHAIN` parts to one of the
        next level, and so on. Its error grows with the length of the chains, as in pairwise
        summation (Higham, The accuracy of floating point summation, 1993), and not with their sum.
        """
        lines = ["var at = first + lane;"]
        levels = self.p.levels if any(fold.rounds for fold in self.p.stage.folds) else 0
        return lines + self._level(step, levels, "last", f"acc{self.mark}")

    def _level(self, step: list[str], level: int, end: str, into: str) -> list[str]:
        """Fold up to `end` into `into`, through parts of the level below."""
        if not level:
            return self._chain(step, end, into)
        p, m, part, stop = self.p, self.mark, f"part{level}_", f"stop{level}"
        inner = [f"let {stop} = min({end}, at + {CHAIN**level * p.lanes}u);"]
        inner += [f"var {part}{n} = identity{m}();" for n in range(p.width)]
        inner += self._level(step, level - 1, stop, part)
        inner += [f"{into}{n} = combine{m}({into}{n}, {part}{n});" for n in range(p.width)]
        return [f"while (at < {end}) {{", *(f"  {line}" for line in inner), "}"]

    def _chain(self, step: list[str], end: str, into: str) -> list[str]:
        p, m = self.p, self.mark
        step = [*step, *(f"{into}{n} = combine{m}({into}{n}, value{n});" for n in range(p.width))]
        lines: list[str] = []
        if p.unroll > 1:
            far, all_lanes = (p.unroll - 1) * p.lanes, p.unroll * p.lanes
            lines.append(f"for (; at + {far}u < {end}; at += {all_lanes}u) {{")
            for n in range(p.unroll):
                lines += ["  {", f"    let j = at + {n * p.lanes}u;"]
                lines += [*(f"    {line}" for line in step), "  }"]
            lines.append("}")
        lines += [f"for (; at < {end}; at += LANES) {{", "  let j = at;"]
        return [*lines, *(f"  {line}" for line in step), "}"]

    def share(self) -> list[str]:
        """Fold an invocation's accumulators, then the lanes of each row."""
        p, m = self.p, self.mark
        lines: list[str] = []
        if p.by_rows and p.width == 4:
            first, second = (f"combine{m}({self.acc(n)}, {self.acc(n + 1)})" for n in (0, 2))
            lines.append(f"{self.acc(0)} = combine{m}({first}, {second});")
        if p.lanes == 1:
            return lines
        size, apart = p.workgroup * p.columns, 1 if p.by_rows else p.rows_per_group
        cells = [
            f"invocation + {n * p.workgroup}u" if n else "invocation" for n in range(p.columns)
        ]
        lines += [f"shared_accs{m}[{cell}] = {self.acc(n)};" for n, cell in enumerate(cells)]
        half = p.lanes // 2
        while half:
            lines += ["workgroupBarrier();", f"if (lane < {half}u) {{"]
            for n, cell in enumerate(cells):
                other = f"({cell} + {half * apart}u) % {size}u"
                lines.append(
                    f"  {self.acc(n)} = combine{m}({self.acc(n)}, shared_accs{m}[{other}]);"
                )
                lines.append(f"  shared_accs{m}[{cell}] = {self.acc(n)};")
            lines.append("}")
            half //= 2
        return lines

    def result(self, number: int, lane: int) -> str:
        """The result of a fold of this stage, from its accumulator's parts."""
        folds = self.p.stage.folds
        first = sum(len(fold.op.parts) for fold in folds[:number])
        parts = len(folds[number].op.parts)
        return folds[number].op.result.format(
            **{f"a{n}": f"{self.acc(lane)}.p{first + n}" for n in range(parts)}
        )


class SplitBody:
    """A body over the whole space, with what stays the same along a row computed ahead of the loop.

    Parameters
    ----------
    roots : set of int
        The values that are asked for.
    """

    def __init__(
        self,
        p: Pass,
        params: Params,
        bindings: list[Binding],
        roots: set[int],
        mark: str,
        accumulated: Callable[[int, int], str],
    ) -> None:
        self.p = p
        self.params = params
        self.mark = mark
        self.accumulated = accumulated
        self.split = hoist(p.element, roots, p.rank)
        outer, inner = self.split.outer, self.split.inner
        modes = load_modes(inner, p.space_strides, p.width)
        self.inner = BodyCode(inner, bindings, {**modes}, p.element_dim)
        row_modes = load_modes(outer, p.kept_strides, p.columns)
        self.outer = BodyCode(outer, bindings, {**row_modes}, lambda d: p.row_dim(d) - 1)

    def value(self, number: int) -> str:
        return f"v{self.split.values[number]}"

    def functions(self, name: str, results: list[str], kind: str) -> list[str]:
        """The function of every point, and that of every row."""
        declared = [self.inner.function(name, self.params, results, kind)]
        if self.split.results:
            kind, declaration = self._returns()
            results = [f"v{n}" for n in self.split.results]
            function = self.outer.function(f"ahead{self.mark}", self.params, results, kind)
            declared += [declaration, function]
        return declared

    def before(self, kept_names: list[str]) -> list[str]:
        """Statements that compute ahead of the loop."""
        if not self.split.results:
            return []
        space = Space(kept_names, self.p.kept_strides, self.p.columns)
        arguments = self.outer.arguments(self.params, space, self.p.columns, "h", self.accumulated)
        return arguments.call(f"ahead{self.mark}", "ahead")

    def arguments(self, space: Space, prefix: str) -> Arguments:
        """Load the arguments of the function of every point."""
        return self.inner.arguments(self.params, space, self.p.width, prefix, self._given)

    def _given(self, number: int, lane: int) -> str:
        if number >= 0:
            return self.accumulated(number, lane)
        ahead = 0 if self.p.by_rows else lane
        return f"ahead{ahead}{field_of(self.split.results, -1 - number)}"

    def _returns(self) -> tuple[str, str]:
        dtypes = [self.split.outer.dtype(n) for n in self.split.results]
        return returns(dtypes, f"Ahead{self.mark}")


def load_modes(body: Body, strides: Strides, width: int) -> dict[Load, str]:
    """How each load of a body is done, see `load_mode`."""
    return {
        x: load_mode(strides(x.access.strides), x.access.offset, width)
        for x in body.instructions
        if isinstance(x, Load)
    }


def kept_space(params: Params, p: Pass) -> tuple[list[str], list[str]]:
    """Statements that find a row's coordinates, and their names."""
    kept = (*p.kept_extents[:-1], p.kept_extents[-1] // p.columns)
    return decode_coordinates(params, kept, "row", "k")


def reduced_space(params: Params, p: Pass, kept_names: list[str]) -> tuple[list[str], Space]:
    """Statements that find the coordinates of point `j` of a row, and the space around them."""
    reduced = (*p.reduced_extents[:-1], p.reduced_extents[-1] // (p.width if p.by_rows else 1))
    inner, reduced_names = decode_coordinates(params, reduced, "j", "j")
    names = kept_names + reduced_names if p.by_rows else reduced_names + kept_names
    outer = range(len(kept_names)) if p.by_rows else range(len(reduced), len(names))
    return inner, Space(names, p.space_strides, p.width, frozenset(outer))


class _Writer:
    def __init__(self, kernel: Kernel, p: Pass) -> None:
        self.kernel = kernel
        self.p = p
        self.params = Params()
        for value in (p.rows, p.slices, p.slice_steps, p.steps, 0):
            self.params.add(value)
        modes = load_modes(p.element, p.space_strides, p.width)
        row_modes = load_modes(kernel.row, p.result_strides, p.columns)
        self.bindings = bind(
            [(x, m == "v") for x, m in (*modes.items(), *row_modes.items())],
            [(o, self._stores_vectors(o)) for o in kernel.outputs],
        )
        self.stage = StageWriter(p, self.params, self.bindings)
        self.row = BodyCode(kernel.row, self.bindings, {**row_modes}, p.row_dim)

    def _stores_vectors(self, output: Output) -> bool:
        strides = self.p.result_strides(output.access.strides)
        return self.p.columns == 4 and load_mode(strides, output.access.offset, 4) == "v"

    def written(self) -> Written:
        p, stage = self.p, self.stage
        accumulator = stage.accumulator()
        split, names = kept_space(self.params, p)
        fold = stage.fold(split, names)
        finish, code = self._finish(split, names)
        constants = {"WORKGROUP": p.workgroup, "LANES": p.lanes, "ROWS": p.rows_per_group}
        regions = {
            "interface": interface(
                self.bindings, self.params, constants, *accumulator, *code, stage.shared()
            ),
            "place": indent(place(p), 1),
            "start": indent(stage.start(), 1),
            "fold": indent(fold, 2),
            "share": indent(stage.share(), 1),
            "finish": indent(finish, 2),
        }
        return Written(self.bindings, self.params, regions)

    def _finish(self, split: list[str], names: list[str]) -> tuple[list[str], list[str]]:
        """What lane 0 does with a row, and the functions that takes."""
        p, outputs = self.p, self.kernel.outputs
        space = Space(["slice", *names], p.result_strides, p.columns)
        if not self.kernel.row.instructions:
            stores = store(
                self.params,
                space,
                outputs,
                self.bindings,
                p.columns,
                lambda n, lane: f"acc{lane}.p{n}",
            )
            return [*split, *stores], []
        kind, declaration = returns([o.dtype for o in outputs])
        arguments = self.row.arguments(self.params, space, p.columns, "e", self.stage.result)
        function = self.row.function("finish", self.params, [f"v{o.value}" for o in outputs], kind)
        stores = store_results(self.params, space, outputs, self.bindings, "finish", arguments)
        return [*split, *stores], [declaration, function]
