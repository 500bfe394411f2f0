"""What all families of kernels share: writing one program, its bindings, and the code of bodies.

A body becomes one scalar function, and the code around it loads its arguments. A kernel that
handles four neighbouring elements at a time calls that function four times. Loads and stores use
vectors; arithmetic is scalar, which is how GPUs execute it anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from py_tensor.base.dtypes import DType, float32, includes
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.codec import Binding, from_words
from py_tensor.codegen.library import indented
from py_tensor.codegen.program import FAULT_WORDS, Dispatch, Params, Programs
from py_tensor.codegen.walk import Axes, Dimensions, Space, address, decode_padded, load_modes
from py_tensor.ir.op import Elementwise
from py_tensor.schedule.body import (
    NOWHERE,
    Accumulated,
    Address,
    Apply,
    Body,
    Check,
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
from py_tensor.schedule.kernel import FAULTS, Kernel, Output, Stage
from py_tensor.schedule.reroll import Before, Current, Loop, Operand, Outside, Varying, loops_in

Kind = TypeVar("Kind", bound=Stage)
Texts = TypeVar("Texts", str, tuple[str, ...])


@dataclass(slots=True)
class Context:
    """What lowering a kernel needs: the adapter's profile, known programs, temporary buffers.

    `words` has the word of the buffer `FAULTS` that records the indices out of range of a check.
    """

    profile: AdapterProfile
    programs: Programs
    words: Mapping[Check, int] = field(default_factory=dict[Check, int])
    temporaries: list[int] = field(default_factory=list[int])  # the bytes of each

    def temporary(self, nbytes: int) -> int:
        """Add a temporary buffer; return its slot."""
        self.temporaries.append(nbytes)
        return FAULTS - len(self.temporaries)


def stage_of(kernel: Kernel, kind: type[Kind]) -> Kind:
    """Return the first stage of a kernel, which is a pass of this kind."""
    stage = kernel.stages[0]
    assert isinstance(stage, kind)
    return stage


class Writer:
    """A program that is being written, and the parameters of its dispatch.

    Attributes
    ----------
    bindings : list of Binding
    params : Params
    constants : dict of str to int or bool
        The WGSL constants that precede everything else.
    code : list of str
        The declarations and functions that the template uses.
    names : list of str
        The variables of the bindings, if they are not b0, b1, ...
    """

    def __init__(self, kernel: Kernel, context: Context, *values: int) -> None:
        """`values` are the first parameters, which the template reads at positions from 1 on."""
        self.kernel = kernel
        self.context = context
        self.bindings: list[Binding] = []
        self.params = Params()
        self.params.extend(0, *values)  # the number of the first workgroup; see `Dispatch.pieces`
        self.constants: dict[str, int] = {}
        self.code: list[str] = []
        self.names: list[str] = []

    def bind(self, slot: int, dtype: DType, *, writable: bool = False, atomic: bool = False) -> str:
        """Add a binding for a buffer; return its name."""
        self.bindings.append(Binding(slot, dtype, writable=writable, atomic=atomic))
        return f"b{len(self.bindings) - 1}"

    def bind_bodies(
        self,
        bodies: Sequence[tuple[Body, Axes, int]],
        outputs: Sequence[tuple[Output, bool]] = (),
        loads: Sequence[tuple[Load, bool]] = (),
        lanes: int = 4,
    ) -> None:
        """Add one binding for each buffer; it holds vectors of `lanes` elements if any use does.

        With each body are its axes, and the neighbours that an invocation loads at once. With each
        output, and with other loads, is whether they are vectors. A buffer that is read and written
        has the binding of the output. Several outputs may share a buffer. Outputs come last, after
        the buffer that records out-of-range indices.
        """
        reads: list[tuple[Load | Gather, bool]] = [*loads]
        for body, axes, width in bodies:
            reads += [(x, mode == "v") for x, mode in load_modes(body, axes, width).items()]
        reads += [(x, False) for body, _, _ in bodies for x in body.gathers()]
        read: dict[int, Binding] = {}
        over = {output.slot for output, _ in outputs}
        for load, vector in reads:
            if load.slot not in over:
                vector = vector or (load.slot in read and read[load.slot].lanes > 1)
                read[load.slot] = Binding(load.slot, load.dtype, lanes if vector else 1)
        faults = [FAULT_WORDS] if any(body.checks() for body, _, _ in bodies) else []
        written = {o.slot: result(o.slot, o.dtype, lanes if vector else 1) for o, vector in outputs}
        self.bindings += [*read.values(), *faults, *written.values()]

    def binding(self, slot: int) -> int:
        """Return the number of the first binding of a buffer."""
        return next(n for n, b in enumerate(self.bindings) if b.slot == slot)

    def put(self, slot: int, dtype: DType, at: str, value: str) -> str:
        """Add a binding for a result; return a statement that stores an element there."""
        self.bindings.append(result(slot, dtype))
        return self.bindings[-1].put(len(self.bindings) - 1, dtype, at, value)

    def function(self, head: str, *lines: str) -> None:
        """Add a function with these statements."""
        self.code.append("\n".join([f"fn {head} {{", *(f"  {line}" for line in lines), "}"]))

    def element(self, name: str, body: Body, value: int, space: Space) -> tuple[list[str], str]:
        """Add a function that computes one value of a body.

        Return statements, and the WGSL of the value at a point of the space.
        """
        code = BodyCode(self, body, space.axes, 1)
        code.function(name, [value])
        arguments = code.arguments(space, "a")
        return arguments.statements, f"{name}({', '.join(arguments.lanes[0])})"

    def store(
        self, space: Space, outputs: Sequence[Output], lanes: int, value: Callable[[int, int], str]
    ) -> list[str]:
        """Return statements that store every output's `value(number of the output, lane)`."""
        params, statements = self.params, list[str]()
        numbers = {b.slot: number for number, b in enumerate(self.bindings) if b.writable}
        for n, output in enumerate(outputs):
            values = [value(n, lane) for lane in range(lanes)]
            number = numbers[output.slot]
            binding = self.bindings[number]
            if binding.lanes > 1:
                where = address(params, space, output.access, binding.lanes)
                statements.append(binding.put_vector(number, output.dtype, where, values))
                continue
            statements.append(f"let o{n} = {address(params, space, output.access)};")
            step = params.add(space.axes.strides(output.access.strides)[-1]) if lanes > 1 else "0u"
            statements += [
                binding.put(number, output.dtype, f"o{n} + {lane}u * {step}", v)
                for lane, v in enumerate(values)
            ]
        return statements

    def store_results(
        self, space: Space, outputs: Sequence[Output], function: str, arguments: Arguments
    ) -> list[str]:
        """Return statements that load arguments, call the function per lane, and store results."""
        fields = [field_of(outputs, number) for number in range(len(outputs))]
        lanes = len(arguments.lanes)
        stores = self.store(space, outputs, lanes, lambda n, lane: f"r{lane}{fields[n]}")
        return [*arguments.call(function, "r"), *stores]

    def element_of_row(self, dims: Dimensions, body: Body, value: int) -> tuple[list[str], str]:
        """Add the bindings of a body, and a function that computes one value of it.

        Return statements, and the WGSL of the value for element `j` of row `row`.
        """
        self.bind_bodies([(body, dims, 1)])
        split, names = decode_padded(self.params, dims.kept.extents, "row", "k")
        space = Space([*names, "j"], dims, 1)
        statements, call = self.element("element", body, value, space)
        return [*split, *statements], call

    def dispatch(
        self,
        template: str,
        variant: str,
        groups: int,
        *,
        work: int,
        operations: int | None = None,
        traffic: int | None = None,
        regions: Mapping[str, str | list[str]] | None = None,
    ) -> Dispatch:
        """Return a dispatch of the program, with `groups` workgroups.

        `work`, `operations` and `traffic` are those of `Dispatch`; the last two are those of the
        kernel by default. `regions` are those of the template, without "interface": text, or
        lines that are indented like the region.
        """
        kernel = self.kernel
        declared = [f"const {name} = {_literal(value)};" for name, value in self.constants.items()]
        names = self.names or [f"b{n}" for n in range(len(self.bindings))]
        for n, (binding, name) in enumerate(zip(self.bindings, names, strict=True)):
            declared.append(binding.declaration(n, name))
        declared.append(self.params.declaration(len(self.bindings)))
        texts = {"interface": "\n".join([*declared, *self.code])}
        for name, region in (regions or {}).items():
            texts[name] = region if isinstance(region, str) else indented(template, name, region)
        programs, slots = self.context.programs, tuple(b.slot for b in self.bindings)
        program = programs.get(template, kernel.label, self.bindings, texts, variant)
        values, patches = tuple(self.params.values), tuple(self.params.patches)
        operations = kernel.operations() if operations is None else operations
        traffic = kernel.traffic() if traffic is None else traffic
        return Dispatch(program, slots, values, patches, groups, work, operations, traffic)


def result(slot: int, dtype: DType, lanes: int = 1) -> Binding:
    """Return the binding of an output: vectors of `lanes` elements, or single elements."""
    return Binding(slot, dtype, lanes, writable=True, atomic=dtype.is_packed and lanes == 1)


def field_of(results: Sequence[object], number: int) -> str:
    """Return WGSL that selects result `number` from the value of a function with these results."""
    return f".r{number}" if len(results) > 1 else ""


def _literal(value: int) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}u"


# -- Bodies -------------------------------------------------------------------------------------


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

    def __init__(
        self, writer: Writer, body: Body, axes: Axes, width: int, noted: list[str] | None = None
    ) -> None:
        self.writer, self.body, self.axes, self.width = writer, body, axes, width
        self.bindings, self.params = writer.bindings, writer.params
        self.modes = load_modes(body, axes, width)
        self.noted = noted

    def inputs(self) -> list[tuple[int, Instruction]]:
        """Return the values, with their instructions, that are arguments of the function."""
        argument = Load | Address | Index | Mask | Accumulated
        return [(n, i) for n, i in enumerate(self.body.instructions) if isinstance(i, argument)]

    def function(
        self, name: str, results: Sequence[int], kind: str = "", texts: Sequence[str] | None = None
    ) -> None:
        """Add the body as a function that returns these values, with loops for repeated parts.

        It returns the values' own type, or a struct of several, unless `kind` is given. `texts`, if
        given, is the WGSL of the returned values, in terms of the values ``v{n}``.
        """
        if not kind:
            types = [str(self.body.dtype(n).wgsl) for n in results]
            kind = types[0] if len(types) == 1 else name.capitalize()
            fields = ", ".join(f"r{n}: {each}" for n, each in enumerate(types))
            self.writer.code += [f"struct {kind} {{ {fields} }}"] if len(types) > 1 else []
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
        head = f"fn {name}({', '.join(arguments)}) -> {kind} {{"
        text = "\n".join([head, *lines, f"  return {kind}({values});", "}"])
        self.writer.code.append(_renumbered(text) if loops else text)

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
        mask, *values = i.operands
        lines = [f"var v{n}: {i.dtype.wgsl};", f"if (v{mask}) {{"]
        for value, side in zip(values, sides, strict=True):
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
        values = [(loop.iterations[-x.back][x.position], name(x)) for x in loop.used]
        return lines + [f"let v{n} = {variable};" for n, variable in values]

    def _place(self, address: Address, n: int) -> list[str]:
        """Return statements that find an address: a negative index counts from the end."""
        lines = [f"var v{n} = from{n};"]
        outside: list[str] = []
        for j, (value, extent, stride) in enumerate(
            zip(address.operands, address.extents, address.strides, strict=False)
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
                guard = f" & v{address.operands[-1]}" if address.guarded else ""
                word = self.params.add(self.writer.context.words[address.checks[j]])
                bits = f"bitcast<u32>({index})"
                if self.noted is not None:
                    name = f"noted{len(self.noted)}"
                    self.noted.append(word)
                    lines.append(f"{name} = max({name}, select(0u, {bits}, {bad}{guard}));")
                else:
                    noted = f"atomicMax(&{self._fault(word)}, {bits});"
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
            f"if (noted{n} != 0u) {{ atomicMax(&{self._fault(word)}, noted{n}); }}"
            for n, word in enumerate(self.noted or ())
        ]

    def _fault(self, word: str) -> str:
        return f"b{self.writer.binding(FAULTS)}[{word}]"

    def _text(self, i: Instruction, operands: Sequence[str] | None = None) -> str:
        """Return WGSL of an instruction; `operands` names its operands."""
        names = [f"v{a}" for a in i.operands] if operands is None else operands
        match i:
            case Const():
                return self.params.const(i)
            case Apply():
                computed = self.body.dtype(i.operands[-1])
                return wrapped(i.dtype, apply_text(i.op, computed, names))
            case Convert():
                source = self.body.dtype(*i.operands)
                if not i.dtype.is_complex or source.is_complex:
                    return convert_text(i.dtype, source, names[0])
                # A parameter: compilers drop products with a literal 0, which is wrong for NaN.
                zero = self.params.value(0.0, float32)
                return f"vec2f({convert_text(float32, source, names[0])}, {zero})"
            case Gather():
                number = self.writer.binding(i.slot)
                return self.bindings[number].element(number, i.dtype, names[0])
            case Within():
                low, high = self.params.add(i.low), self.params.add(i.high)
                value, *also = names
                return " & ".join([f"({value} >= {low})", f"({value} < {high})", *also])
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
                case Index() | Address():
                    texts = self._index(space, i, f"{prefix}{n}", result)
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
        number = self.writer.binding(load.slot)
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

    def _index(
        self, space: Space, index: Index | Address, name: str, result: Arguments
    ) -> list[str]:
        """Return the affine address of each lane; of an `Address`, the part without its indices."""
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
