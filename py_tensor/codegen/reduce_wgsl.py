"""The WGSL of one pass of a reduction: the regions of `shaders/templates/reduce.wgsl`."""

from __future__ import annotations

from dataclasses import dataclass

from py_tensor.codegen.emit import BodyCode, Space, decode_coordinates, load_mode, padded
from py_tensor.codegen.map import bind, field_of, interface, returns, store
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


def _indent(lines: list[str], depth: int) -> str:
    return "\n".join("  " * depth + line for line in lines)


class _Writer:
    def __init__(self, kernel: Kernel, p: Pass) -> None:
        self.kernel = kernel
        self.p = p
        self.params = Params()
        for value in (p.rows, p.slices, p.slice_steps, p.steps, 0):
            self.params.add(value)
        modes = {
            x: load_mode(p.space_strides(x.access.strides), x.access.offset, p.width)
            for x in p.element.instructions
            if isinstance(x, Load)
        }
        row_modes = {
            x: load_mode(p.result_strides(x.access.strides), x.access.offset, p.columns)
            for x in kernel.row.instructions
            if isinstance(x, Load)
        }
        self.bindings = bind(
            [(x, m == "v") for x, m in (*modes.items(), *row_modes.items())],
            [(o, self._stores_vectors(o)) for o in kernel.outputs],
        )
        self.element = BodyCode(p.element, self.bindings, {**modes}, p.element_dim)
        self.row = BodyCode(kernel.row, self.bindings, {**row_modes}, p.row_dim)

    def _stores_vectors(self, output: Output) -> bool:
        strides = self.p.result_strides(output.access.strides)
        return self.p.columns == 4 and load_mode(strides, output.access.offset, 4) == "v"

    def written(self) -> Written:
        p = self.p
        accumulator = self._accumulator()
        fold = self._fold()
        share = self._share()
        finish, code = self._finish()
        constants = {"WORKGROUP": p.workgroup, "LANES": p.lanes, "ROWS": p.rows_per_group}
        shared = f"var<workgroup> shared_accs: array<Acc, {p.workgroup * p.columns}>;"
        regions = {
            "interface": interface(
                self.bindings,
                self.params,
                constants,
                *accumulator,
                *code,
                shared if p.lanes > 1 else "",
            ),
            "place": _indent(self._place(), 1),
            "start": _indent([f"var acc{n} = identity();" for n in range(p.width)], 1),
            "fold": _indent(fold, 2),
            "share": _indent(share, 1),
            "finish": _indent(finish, 2),
        }
        return Written(self.bindings, self.params, regions)

    def _place(self) -> list[str]:
        """Neighbouring invocations lie along the lanes' dimension."""
        if self.p.by_rows:
            return ["let lane = invocation % LANES;", "let local_row = invocation / LANES;"]
        return ["let local_row = invocation % ROWS;", "let lane = invocation / ROWS;"]

    def _accumulator(self) -> list[str]:
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
                made.append(element[n].format(x=f"v{fold.value}", i=f"v{fold.index}"))
        if self.p.merges:
            made = [f"v{n}" for n in range(len(fields))]
        return [
            f"struct Acc {{ {', '.join(fields)} }}",
            f"fn identity() -> Acc {{ return Acc({', '.join(starts)}); }}",
            f"fn combine(x: Acc, y: Acc) -> Acc {{ return Acc({', '.join(joined)}); }}",
            self.element.function("element", self.params, made, "Acc"),
        ]

    def _fold(self) -> list[str]:
        """The row's coordinates, then the loop over an invocation's part of the row."""
        p = self.p
        kept = (*p.kept_extents[:-1], p.kept_extents[-1] // p.columns)
        reduced = (*p.reduced_extents[:-1], p.reduced_extents[-1] // (p.width if p.by_rows else 1))
        split, kept_names = decode_coordinates(self.params, kept, "row", "k")
        inner, reduced_names = decode_coordinates(self.params, reduced, "j", "j")
        self.kept_space = (split, kept_names)
        names = kept_names + reduced_names if p.by_rows else reduced_names + kept_names
        outer = range(len(kept)) if p.by_rows else range(len(reduced), len(names))
        space = Space(names, p.space_strides, p.width, frozenset(outer))
        arguments = self.element.arguments(self.params, space, p.width, "a")
        calls = [
            f"let value{lane} = element({', '.join(args)});"
            for lane, args in enumerate(arguments.lanes)
        ]
        step = [*inner, *arguments.statements, *calls]
        return [*split, *space.hoisted, *self._loop(step)]

    def _loop(self, step: list[str]) -> list[str]:
        """Fold the points first + lane, first + lane + LANES, ... before last.

        A fold that rounds goes in levels: `CHAIN` points to a part, `CHAIN` parts to one of the
        next level, and so on. Its error grows with the length of the chains, as in pairwise
        summation (Higham, The accuracy of floating point summation, 1993), and not with their sum.
        """
        lines = ["var at = first + lane;"]
        levels = self.p.levels if any(fold.rounds for fold in self.p.stage.folds) else 0
        return lines + self._level(step, levels, "last", "acc")

    def _level(self, step: list[str], level: int, end: str, into: str) -> list[str]:
        """Fold up to `end` into `into`, through parts of the level below."""
        if not level:
            return self._chain(step, end, into)
        p, part, stop = self.p, f"part{level}_", f"stop{level}"
        inner = [f"let {stop} = min({end}, at + {CHAIN**level * p.lanes}u);"]
        inner += [f"var {part}{n} = identity();" for n in range(p.width)]
        inner += self._level(step, level - 1, stop, part)
        inner += [f"{into}{n} = combine({into}{n}, {part}{n});" for n in range(p.width)]
        return [f"while (at < {end}) {{", *(f"  {line}" for line in inner), "}"]

    def _chain(self, step: list[str], end: str, into: str) -> list[str]:
        p = self.p
        step = [*step, *(f"{into}{n} = combine({into}{n}, value{n});" for n in range(p.width))]
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

    def _share(self) -> list[str]:
        """Fold an invocation's accumulators, then the lanes of each row."""
        p = self.p
        lines: list[str] = []
        if p.by_rows and p.width == 4:
            lines.append("acc0 = combine(combine(acc0, acc1), combine(acc2, acc3));")
        if p.lanes == 1:
            return lines
        size, apart = p.workgroup * p.columns, 1 if p.by_rows else p.rows_per_group
        cells = [
            f"invocation + {n * p.workgroup}u" if n else "invocation" for n in range(p.columns)
        ]
        lines += [f"shared_accs[{cell}] = acc{n};" for n, cell in enumerate(cells)]
        half = p.lanes // 2
        while half:
            lines += ["workgroupBarrier();", f"if (lane < {half}u) {{"]
            for n, cell in enumerate(cells):
                other = f"({cell} + {half * apart}u) % {size}u"
                lines.append(f"  acc{n} = combine(acc{n}, shared_accs[{other}]);")
                lines.append(f"  shared_accs[{cell}] = acc{n};")
            lines.append("}")
            half //= 2
        return lines

    def _finish(self) -> tuple[list[str], list[str]]:
        """What lane 0 does with a row, and the functions that takes."""
        p, outputs = self.p, self.kernel.outputs
        split, names = self.kept_space
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
        kind, declaration = returns(outputs)
        arguments = self.row.arguments(self.params, space, p.columns, "e", self._result)
        function = self.row.function("finish", self.params, [f"v{o.value}" for o in outputs], kind)
        calls = [f"let r{lane} = finish({', '.join(a)});" for lane, a in enumerate(arguments.lanes)]
        stores = store(
            self.params,
            space,
            outputs,
            self.bindings,
            p.columns,
            lambda n, lane: f"r{lane}{field_of(outputs, n)}",
        )
        return [*split, *arguments.statements, *calls, *stores], [declaration, function]

    def _result(self, number: int, lane: int) -> str:
        """The result of a fold, from its accumulator's parts."""
        folds = self.p.stage.folds
        first = sum(len(fold.op.parts) for fold in folds[:number])
        parts = len(folds[number].op.parts)
        return folds[number].op.result.format(
            **{f"a{n}": f"acc{lane}.p{first + n}" for n in range(parts)}
        )
