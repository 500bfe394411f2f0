"""WGSL of bodies: a body becomes one scalar function, and the code around it loads its arguments.

A kernel that handles four neighbouring elements at a time calls that function four times. Loads and
stores use vectors; arithmetic is scalar, which is how GPUs execute it anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from py_tensor.base.dtypes import DType, float32, includes, uint32
from py_tensor.base.shapes import size_of
from py_tensor.codegen.codec import Binding, from_words
from py_tensor.codegen.program import Params
from py_tensor.ir.op import Elementwise
from py_tensor.schedule.body import (
    NOWHERE,
    Access,
    Accumulated,
    Address,
    Apply,
    Body,
    Const,
    Convert,
    Gather,
    Index,
    Instruction,
    Load,
    Mask,
    Select,
    Within,
)
from py_tensor.schedule.branches import arms_of
from py_tensor.schedule.kernel import FAULTS, Output
from py_tensor.schedule.reroll import Before, Current, Loop, Operand, Outside, Varying, loops_in

Texts = TypeVar("Texts", str, tuple[str, ...])

RANKS = (1, 2, 4, 8, 16, 32, 64)
MAX_PADDED = 4  # lower ranks are padded to at most this many dimensions


def rank_class(rank: int) -> int:
    """Return the rank rounded up to one that programs exist for; added dimensions have size 1."""
    return next(r for r in RANKS if rank <= r)


def padded_class(count: int, rank: int) -> int:
    """Return the number of dimensions to iterate over when merging leaves `count` of `rank`.

    It is one, or the rank of the expression. Otherwise, sizes that happen to let dimensions merge
    would need more programs. `decode_coordinates` skips the added dimensions.
    """
    return rank_class(1 if count <= 1 else max(count, min(rank, MAX_PADDED)))


def braced(head: str, lines: Iterable[str]) -> list[str]:
    """Return a statement, or nothing, with a block of statements after it."""
    return [f"{head} {{".lstrip(), *(f"  {line}" for line in lines), "}"]


def text_for(texts: Mapping[str, Texts], dtype: DType) -> Texts:
    """Return an op's text for the WGSL type of a dtype; the key "64" covers int64 and uint64."""
    kind = str(dtype.wgsl)
    text = texts.get(kind) or (texts.get("64") if kind in ("int64", "uint64") else None)
    return texts["*"] if text is None else text


def apply_text(op: Elementwise, dtype: DType, args: Sequence[str]) -> str:
    """Return an elementwise op on operands of a dtype as WGSL."""
    return text_for(op.wgsl, dtype).format(*args, t=dtype.wgsl)


def convert_text(target: DType, source: DType, value: str) -> str:
    if source.is_small and target.wgsl == "f32":
        value = f"f32({value})"  # exact on every device: `f32_from_i32` rounds over 24 bits
    elif target.wgsl != source.wgsl:
        value = f"{target.wgsl}_from_{source.wgsl}({value})"
    fits = not target.is_small or includes(target, source)
    return value if fits else wrapped(target, value)


def wrapped(dtype: DType, value: str) -> str:
    """Return a computed value, wrapped to the range of its dtype (`shaders/lib/convert.wgsl`)."""
    return f"wrap_{dtype.name}({value})" if dtype.is_small else value


class Axes(Protocol):
    """The dimensions that a kernel iterates over, made of those of a body."""

    def strides(self, of: tuple[int, ...]) -> tuple[int, ...]:
        """Return the strides of an access over these dimensions."""
        ...

    def position(self, dim: int) -> int:
        """Return the position of a dimension of the body that a mask depends on."""
        ...


@dataclass(slots=True)
class Space:
    """A point of the dimensions that a kernel iterates over; lanes lie along the last one.

    Attributes
    ----------
    coordinates : list of str
        WGSL of each coordinate; the last counts steps of `width` elements.
    axes : Axes
    width : int
        Elements per step of the last coordinate.
    outer : frozenset of int
        Coordinates that do not change inside the loop around the code.
    hoisted : list of str
        Statements to place before that loop: they compute the part of each address that depends on
        `outer` only.
    """

    coordinates: list[str]
    axes: Axes
    width: int
    outer: frozenset[int] = frozenset()
    hoisted: list[str] = field(default_factory=list[str])


def address(params: Params, space: Space, access: Access, scale: int = 1) -> str:
    """Return WGSL of an affine address, as the index of a vector of `scale` elements."""
    strides = space.axes.strides(access.strides)
    last = len(strides) - 1
    outer, inner = [params.add(access.offset // scale)], list[str]()
    for d, (c, s) in enumerate(zip(space.coordinates, strides, strict=True)):
        step = s * (space.width if d == last else 1) // scale
        (outer if d in space.outer else inner).append(f"{c} * {params.add(step)}")
    if space.outer:
        name = f"base{len(space.hoisted)}"
        space.hoisted.append(f"let {name} = {' + '.join(outer)};")
        outer = [name]
    return " + ".join(outer + inner)


def mode_of(x: Load | Output, axes: Axes, width: int) -> str:
    """Return how `width` neighbours are loaded or stored.

    "v" is one vector, which two-word elements never are; "s" one scalar; "g" one by one.
    """
    *outer, inner = axes.strides(x.access.strides)
    if inner == 0:
        return "s"
    if width == 1 or inner != 1 or x.dtype.is_wide or x.access.offset % width:
        return "g"
    return "g" if any(s % width for s in outer) else "v"


def load_modes(body: Body, axes: Axes, width: int) -> dict[Load, str]:
    """Return the mode of each load of a body."""
    return {x: mode_of(x, axes, width) for x in body.loads()}


@dataclass(slots=True)
class Arguments:
    """The arguments of one body: statements that load them, and each lane's expressions."""

    statements: list[str] = field(default_factory=list[str])
    lanes: list[list[str]] = field(default_factory=list[list[str]])  # by lane, then argument

    def call(self, function: str, result: str) -> list[str]:
        """Load the arguments, and call the body's function for each lane: result0, result1, ..."""
        calls = [f"let {result}{n} = {function}({', '.join(a)});" for n, a in enumerate(self.lanes)]
        return [*self.statements, *calls]


# The instructions in each arm of a `Select`, by its number and side; None has all others.
Blocks = dict[tuple[int, bool] | None, list[int]]


@dataclass(slots=True)
class BodyCode:
    """The code of a body for `width` neighbours, with its loads resolved to bindings and modes.

    It becomes a function whose arguments are its loads and the base addresses of indexed reads.

    Attributes
    ----------
    modes : dict
        Load instruction -> mode, see `mode_of`.
    noted : list of str, optional
        The words for out-of-range indices, which `reports` stores at the end. Without a list the
        function stores each one immediately, which makes the loads of neighbours wait for each
        other.
    """

    body: Body
    bindings: list[Binding]
    params: Params
    axes: Axes
    width: int
    modes: dict[Load, str] = field(init=False)
    noted: list[str] | None = None

    def __post_init__(self) -> None:
        self.modes = load_modes(self.body, self.axes, self.width)

    def inputs(self) -> list[tuple[int, Instruction]]:
        """Return the values, with their instructions, that are arguments of the function."""
        argument = Load | Address | Index | Mask | Accumulated
        return [(n, i) for n, i in enumerate(self.body.instructions) if isinstance(i, argument)]

    def binding(self, load: Load | Gather) -> int:
        return next(n for n, b in enumerate(self.bindings) if b.slot == load.slot)

    def function(
        self, name: str, results: Sequence[int], returns: str, texts: Sequence[str] | None = None
    ) -> str:
        """Return the body as a function that returns these values, with loops for repeated parts.

        `texts`, if given, is the WGSL of the returned values, in terms of the values
        ``v{n}``.
        """
        arguments = [
            f"from{n}: u32" if isinstance(i, Address) else f"v{n}: {i.dtype.wgsl}"
            for n, i in self.inputs()
        ]
        lines: list[str] = []
        loops = {loop.iterations[0][0]: loop for loop in loops_in(self.body, results)}
        written = self._ahead_of_loops(loops.values(), results, lines)
        arms = () if loops else arms_of(self.body, results)
        blocks: Blocks = {}
        for n, arm in enumerate(arms):
            blocks.setdefault(arm and (arm.select, arm.inside), []).append(n)
        for n in blocks[None] if arms else range(len(self.body.instructions)):
            if n in loops:
                lines += (f"  {line}" for line in self._loop(loops[n]))
            if n not in written:
                lines += (f"  {line}" for line in self._statements(n, blocks))
        values = ", ".join([f"v{n}" for n in results] if texts is None else texts)
        text = (
            f"fn {name}({', '.join(arguments)}) -> {returns} {{\n"
            + "\n".join([*lines, f"  return {returns}({values});"])
            + "\n}"
        )
        return _renumbered(text) if loops else text

    def _statements(self, n: int, blocks: Blocks) -> list[str]:
        """Return statements that compute value n (both arms of a `Select`); none for arguments."""
        i = self.body.instructions[n]
        if isinstance(i, Load | Index | Mask | Accumulated):
            return []
        if isinstance(i, Address):
            return self._place(i, n)
        sides = [blocks.get((n, inside), ()) for inside in (True, False)]
        if not isinstance(i, Select) or not any(sides):
            return [f"let v{n} = {self._text(i)};"]
        lines = [f"var v{n}: {i.dtype.wgsl};", f"if (v{i.mask}) {{"]
        for value, side in zip((i.inside, i.outside), sides, strict=True):
            for inner in side:
                lines += (f"  {line}" for line in self._statements(inner, blocks))
            lines.append(f"  v{n} = v{value};")
            lines.append("} else {")
        return [*lines[:-1], "}"]

    def _ahead_of_loops(
        self, loops: Collection[Loop], results: Iterable[int], lines: list[str]
    ) -> set[int]:
        """Write the constants before all loops; return them and the values that loops compute."""
        if not loops:
            return set()
        instructions = self.body.instructions
        computed = {n for loop in loops for row in loop.iterations for n in row}
        asked = {*results, *(v for loop in loops for v in loop.outside())}
        for n, i in enumerate(instructions):
            if n not in computed:
                asked.update(i.operands)
        constants = {n for n, i in enumerate(instructions) if isinstance(i, Const)}
        for n in sorted(constants & asked):
            lines.append(f"  let v{n} = {self._text(instructions[n])};")
        return computed | constants

    def _loop(self, loop: Loop) -> list[str]:
        """Return a loop, with variables for values carried between passes or used afterwards."""
        first = loop.iterations[0]

        def name(operand: Operand) -> str:
            match operand:
                case Outside():
                    return f"v{operand.value}"
                case Current():
                    return f"v{first[operand.position]}"
                case Before():
                    return f"v{first[operand.position]}_{operand.back}"
                case Varying():
                    return f"constant{operand.number}"

        nearer = [Before(x.position, back) for x in loop.used for back in range(1, x.back)]
        kept = dict.fromkeys([*loop.initial, *loop.used, *nearer])
        lines: list[str] = []
        for x in kept:
            initial = f" = v{loop.initial[x]}" if x in loop.initial else ""
            lines.append(f"var {name(x)}: {self.body.dtype(first[x.position]).wgsl}{initial};")
        lines.append(f"let turns_{first[0]} = {self.params.add(len(loop.iterations))};")
        lines.append(f"for (var turn = 0u; turn < turns_{first[0]}; turn++) {{")
        constants = [self.body.instructions[n] for row in loop.constants for n in row]
        row = self.params.row([x for x in constants if isinstance(x, Const)]) if constants else ""
        dtypes = [self.body.dtype(n) for n in loop.constants[0]]
        length, before = sum(dtype.words for dtype in dtypes), 0
        for number, dtype in enumerate(dtypes):
            words = [f"({row} + turn * {length}u + {before + n}u)" for n in range(dtype.words)]
            value = from_words(dtype, *map(self.params.found, words))
            lines.append(f"  let constant{number} = {value};")
            before += dtype.words
        for n, operands in zip(first, loop.operands, strict=True):
            text = self._text(self.body.instructions[n], [name(x) for x in operands])
            lines.append(f"  let v{n} = {text};")
        for x in sorted(kept, key=lambda x: -x.back):  # older values first
            newer = Before(x.position, x.back - 1) if x.back > 1 else Current(x.position)
            lines.append(f"  {name(x)} = {name(newer)};")
        lines.append("}")
        return [
            *lines,
            *(f"let v{loop.iterations[-x.back][x.position]} = {name(x)};" for x in loop.used),
        ]

    def _place(self, address: Address, n: int) -> list[str]:
        """Return statements that find an address: a negative index counts from the end."""
        lines = [f"var v{n} = from{n};"]
        outside: list[str] = []
        for j, (value, extent, stride) in enumerate(
            zip(address.indices, address.extents, address.strides, strict=True)
        ):
            index, size, step = f"v{value}", self.params.add(extent), self.params.add(stride)
            where, bad, dtype = f"i{n}_{j}", f"bad{n}_{j}", self.body.dtype(value)
            index = f"index_from_{dtype.wgsl}({index})" if dtype.is_wide else index
            if dtype.wgsl == "u32":
                lines.append(f"let {where} = min({index}, {size} - 1u);")
                lines.append(f"let {bad} = {index} >= {size};")
            else:
                end = f"i32({size})"
                lines.append(f"let {where}_s = {index} + select(0, {end}, {index} < 0);")
                lines.append(f"let {where} = u32(clamp({where}_s, 0, {end} - 1));")
                lines.append(f"let {bad} = i32({where}) != {where}_s;")
            lines.append(f"v{n} += {where} * {step};")
            outside.append(bad)
            if address.checks:
                guard = "" if address.guard is None else f" & v{address.guard}"
                word = self.params.add(address.words[j])
                bits = f"bitcast<u32>({index})"
                if self.noted is not None:
                    name = f"noted{len(self.noted)}"
                    self.noted.append(word)
                    lines.append(f"{name} = max({name}, select(0u, {bits}, {bad}{guard}));")
                else:
                    noted = f"atomicMax(&b{self._faults()}[{word}], {bits});"
                    lines.append(f"if ({bad}{guard}) {{ {noted} }}")
        if not address.clips:
            lines.append(f"if ({' | '.join(outside)}) {{ v{n} = {NOWHERE}u; }}")
        return lines

    def declarations(self) -> list[str]:
        """Return the variables that record indices out of range."""
        return [f"var<private> noted{n} = 0u;" for n in range(len(self.noted or ()))]

    def reports(self) -> list[str]:
        """Return statements that store the recorded indices."""
        return [
            f"if (noted{n} != 0u) {{ atomicMax(&b{self._faults()}[{word}], noted{n}); }}"
            for n, word in enumerate(self.noted or ())
        ]

    def _faults(self) -> int:
        return next(n for n, b in enumerate(self.bindings) if b.slot == FAULTS)

    def _text(self, i: Instruction, operands: Sequence[str] | None = None) -> str:
        """Return WGSL of an instruction; `operands` names its operands."""
        names = [f"v{a}" for a in i.operands] if operands is None else operands
        match i:
            case Const():
                return self.params.const(i)
            case Apply():
                computed = self.body.dtype(i.args[-1])
                return wrapped(i.dtype, apply_text(i.op, computed, names))
            case Convert():
                source = self.body.dtype(i.arg)
                if not i.dtype.is_complex or source.is_complex:
                    return convert_text(i.dtype, source, names[0])
                # A parameter: compilers drop products with a literal 0, which is wrong for NaN.
                zero = self.params.value(0.0, float32)
                return f"vec2f({convert_text(float32, source, names[0])}, {zero})"
            case Gather():
                number = self.binding(i)
                return self.bindings[number].element(number, i.dtype, names[0])
            case Within():
                low, high = self.params.add(i.low), self.params.add(i.high)
                also = "" if i.also is None else f" & {names[1]}"
                return f"({names[0]} >= {low}) & ({names[0]} < {high}){also}"
            case Select():
                mask, inside, outside = names
                return f"select({outside}, {inside}, {mask})"
            case _:
                raise TypeError(i)

    def arguments(
        self,
        space: Space,
        prefix: str,
        accumulated: Callable[[int, int], str] = lambda number, lane: "",
        loaded: Mapping[Load, list[str]] | None = None,
    ) -> Arguments:
        """Load the body's arguments for neighbours along the last coordinate.

        `accumulated(number, lane)` is the WGSL of an accumulator's result. `loaded` has the WGSL of
        each lane for loads that were already done.
        """
        lanes = range(self.width)
        result = Arguments(lanes=[[] for _ in lanes])
        for n, (_, i) in enumerate(self.inputs()):
            match i:
                case Load() if loaded and i in loaded:
                    texts = loaded[i]
                case Load():
                    texts = self._load(space, i, f"{prefix}{n}", result)
                case Index():
                    texts = self._index(space, i, f"{prefix}{n}", result)
                case Address():
                    start = Index(uint32, i.access)
                    texts = self._index(space, start, f"{prefix}{n}", result)
                case Mask():
                    texts = self._mask(space, i)
                case Accumulated():
                    texts = [wrapped(i.dtype, accumulated(i.number, lane)) for lane in lanes]
                case _:
                    raise TypeError(i)
            for arguments, text in zip(result.lanes, texts, strict=True):
                arguments.append(text)
        return result

    def _load(self, space: Space, load: Load, name: str, result: Arguments) -> list[str]:
        number = self.binding(load)
        mode, binding, lanes = self.modes[load], self.bindings[number], self.width
        if mode == "v":
            where = address(self.params, space, load.access, binding.lanes)
            result.statements.append(f"let {name} = b{number}[{where}];")
            return [binding.lane(load.dtype, name, n) for n in range(lanes)]
        result.statements.append(f"let {name}_at = {address(self.params, space, load.access)};")
        if mode == "s" or lanes == 1:
            value = binding.element(number, load.dtype, f"{name}_at")
            result.statements.append(f"let {name} = {value};")
            return [name] * lanes
        step = self.params.add(self.axes.strides(load.access.strides)[-1])
        return [
            binding.element(number, load.dtype, f"({name}_at + {n}u * {step})")
            for n in range(lanes)
        ]

    def _index(self, space: Space, index: Index, name: str, result: Arguments) -> list[str]:
        result.statements.append(f"let {name} = {address(self.params, space, index.access)};")
        step = self.params.add(self.axes.strides(index.access.strides)[-1])
        texts = [f"{name} + {lane}u * {step}" for lane in range(self.width)]
        if index.dtype.is_wide:
            return [f"{index.dtype.wgsl}_from_u32({text})" for text in texts]
        return [f"{index.dtype.wgsl}({text})" for text in texts]

    def _mask(self, space: Space, mask: Mask) -> list[str]:
        last = len(space.coordinates) - 1
        bounds = [
            (self.axes.position(d), self.params.add(low), self.params.add(high - low))
            for d, low, high in mask.ranges
        ]
        texts: list[str] = []
        for n in range(self.width):
            tests: list[str] = []
            for d, low, size in bounds:
                c = space.coordinates[d]
                if d == last and space.width > 1:
                    c = f"({c} * {space.width}u + {n}u)"
                tests.append(f"({c} - {low} < {size})")
            # Parenthesized, because WGSL parses `f(a < b, c > d)` as a template list. `&`, because
            # `&&` would branch.
            texts.append(f"({' & '.join(tests)})")
        return texts


def _renumbered(function: str) -> str:
    """Number the values of a function in order of appearance.

    Otherwise the number of a value after a loop would depend on the number of passes, and each
    number of passes would need its own program.
    """
    numbers: dict[str, int] = {}

    def name(match: re.Match[str]) -> str:
        return f"{match[1]}{numbers.setdefault(match[2], len(numbers))}"

    return re.sub(r"\b(v|from|turns_|bad|i(?=\d+_\d))(\d+)", name, function)


def decode_coordinates(
    params: Params, extents: Sequence[int], source: str, name: str
) -> tuple[list[str], list[str]]:
    """Return statements that split a linear index into coordinates, and the coordinates' names.

    With more than two dimensions, the divisions for the leading ones are skipped at run time if
    these all have extent 1. A program for many dimensions is then just as fast for few.
    """
    rank = len(extents)
    if rank == 1:
        return [], [source]
    names = [f"{name}{d}" for d in range(rank)]
    last = params.add(extents[-1])
    # On some devices, `%` would be a second division.
    statements = [
        f"var {names[-2]} = {source} / {last};",
        f"var {names[-1]} = {source} - {names[-2]} * {last};",
    ]
    if rank == 2:
        return statements, names
    statements += [f"var {c} = 0u;" for c in names[:-2]]
    statements.append(f"if ({params.add(size_of(tuple(extents[:-2])))} > 1u) {{")
    rest = names[-2]
    for d in range(rank - 2, 0, -1):
        extent = params.add(extents[d])
        statements.append(f"  let {name}_{d} = {rest} / {extent};")
        statements.append(f"  {names[d]} = {rest} - {name}_{d} * {extent};")
        rest = f"{name}_{d}"
    return [*statements, f"  {names[0]} = {rest};", "}"], names


def decode_padded(
    params: Params, extents: Sequence[int], source: str, name: str
) -> tuple[list[str], list[str]]:
    """Like `decode_coordinates`, without any division if all extents but the last are 1."""
    if len(extents) == 1:
        return [], [source]
    split, coordinates = decode_coordinates(params, extents, source, f"{name}_")
    names = [f"{name}{d}" for d in range(len(extents))]
    statements = [*(f"var {c} = 0u;" for c in names[:-1]), f"var {names[-1]} = {source};"]
    statements.append(f"if ({params.add(size_of(tuple(extents[:-1])))} > 1u) {{")
    taken = [f"{c} = {value};" for c, value in zip(names, coordinates, strict=True)]
    return [*statements, *(f"  {line}" for line in (*split, *taken)), "}"], names


def advance_coordinates(
    params: Params, extents: Sequence[int], step: int, names: Sequence[str]
) -> list[str]:
    """Return division-free statements that advance coordinates by `step` of the index."""
    if len(extents) == 1:
        return []
    statements: list[str] = []
    carry = ""
    for d in range(len(extents) - 1, 0, -1):
        extent, name = params.add(extents[d]), names[d]
        statements.append(f"{name} += {params.add(step % extents[d])}{carry};")
        statements.append(f"let over{d} = {name} >= {extent};")
        statements.append(f"{name} -= select(0u, {extent}, over{d});")
        carry = f" + select(0u, 1u, over{d})"
        step //= extents[d]
    return [*statements, f"{names[0]} += {params.add(step)}{carry};"]
