"""What all families of kernels share: writing one program, and the bindings that its bodies use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from py_tensor.base.dtypes import DType
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.codegen.codec import Binding
from py_tensor.codegen.emit import (
    Arguments,
    Axes,
    BodyCode,
    Space,
    address,
    decode_padded,
    load_modes,
)
from py_tensor.codegen.library import indented
from py_tensor.codegen.program import FAULT_WORDS, Dispatch, Params, Programs
from py_tensor.codegen.walk import Dimensions
from py_tensor.schedule.body import Body, Check, Gather, Load
from py_tensor.schedule.kernel import FAULTS, Kernel, Output, Stage

Kind = TypeVar("Kind", bound=Stage)


@dataclass(slots=True)
class Context:
    """What lowering a kernel needs: the adapter's profile, known programs, temporary buffers."""

    profile: AdapterProfile
    programs: Programs
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
        self.bindings.append(Binding(slot, dtype, vector=False, writable=writable, atomic=atomic))
        return f"b{len(self.bindings) - 1}"

    def bind_loads(
        self,
        loads: Sequence[tuple[Load | Gather | Check, bool]],
        outputs: Sequence[tuple[Output, bool]] = (),
        lanes: int = 4,
    ) -> None:
        """Add one binding for each buffer; it holds vectors of `lanes` elements if any use does.

        A buffer that is read and written has the binding of the output. Several outputs may share a
        buffer. Outputs come last, after the buffer that records out-of-range indices.
        """
        read: dict[int, Binding] = {}
        over = {output.slot for output, _ in outputs}
        faults: list[Binding] = []
        for load, vector in loads:
            if isinstance(load, Check):
                faults = [FAULT_WORDS]
                continue
            if load.slot in over:
                continue
            vector = vector or (load.slot in read and read[load.slot].vector)
            read[load.slot] = Binding(load.slot, load.dtype, vector, writable=False, lanes=lanes)
        written = {o.slot: result(o.slot, o.dtype, lanes if vector else 0) for o, vector in outputs}
        self.bindings += [*read.values(), *faults, *written.values()]

    def bind_bodies(
        self,
        bodies: Sequence[tuple[Body, Axes, int]],
        outputs: Sequence[tuple[Output, bool]] = (),
    ) -> None:
        """Add bindings for what bodies read, and for outputs, which are vectors or elements.

        With each body are its axes, and the neighbours that an invocation loads at once.
        """
        loads = [(x, mode == "v") for use in bodies for x, mode in load_modes(*use).items()]
        self.bind_loads([*loads, *gathered(*(body for body, _, _ in bodies))], outputs)

    def put(self, slot: int, dtype: DType, at: str, value: str) -> str:
        """Add a binding for a result; return a statement that stores an element there."""
        self.bindings.append(result(slot, dtype))
        return self.bindings[-1].put(len(self.bindings) - 1, dtype, at, value)

    def function(self, head: str, *lines: str) -> None:
        """Add a function with these statements."""
        self.code.append("\n".join([f"fn {head} {{", *(f"  {line}" for line in lines), "}"]))

    def body_code(self, body: Body, axes: Axes, width: int) -> BodyCode:
        """Return the code of a body for `width` neighbours."""
        return BodyCode(body, self.bindings, self.params, axes, width)

    def element(
        self, name: str, body: Body, value: int, space: Space, kind: str = ""
    ) -> tuple[list[str], str]:
        """Add a function that computes one value of a body; its type is `kind`, if given.

        Return statements, and the WGSL of the value at a point of the space.
        """
        code = self.body_code(body, space.axes, 1)
        kind = kind or str(body.dtype(value).wgsl)
        self.code.append(code.function(name, [value], kind))
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
            if binding.vector:
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

        def value(number: int, lane: int) -> str:
            return f"r{lane}{field_of(outputs, number)}"

        stores = self.store(space, outputs, len(arguments.lanes), value)
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
            text = region if isinstance(region, str) else indented(template, name, region)
            texts[name] = text
        return Dispatch(
            self.context.programs.get(template, kernel.label, self.bindings, texts, variant),
            tuple(b.slot for b in self.bindings),
            tuple(self.params.values),
            tuple(self.params.consts),
            groups,
            work,
            kernel.operations() if operations is None else operations,
            kernel.traffic() if traffic is None else traffic,
        )


def gathered(*bodies: Body) -> list[tuple[Gather | Check, bool]]:
    """Return the gathers and index checks of bodies, for `bind_loads`; they never use vectors."""
    return [(x, False) for body in bodies for x in (*body.gathers(), *body.checks())]


def result(slot: int, dtype: DType, lanes: int = 0) -> Binding:
    """Return the binding of an output: vectors of `lanes` elements, or single elements."""
    atomic = dtype.is_packed and not lanes
    return Binding(slot, dtype, lanes > 0, writable=True, atomic=atomic, lanes=lanes or 4)


def returns(dtypes: Sequence[DType], name: str = "Results") -> tuple[str, str]:
    """Return the type of a function with these results, and its declaration if it needs one."""
    if len(dtypes) == 1:
        return str(dtypes[0].wgsl), ""
    fields = ", ".join(f"r{n}: {dtype.wgsl}" for n, dtype in enumerate(dtypes))
    return name, f"struct {name} {{ {fields} }}"


def field_of(results: Sequence[object], number: int) -> str:
    """Return WGSL that selects result `number` from the value of a function with these results."""
    return f".r{number}" if len(results) > 1 else ""


def _literal(value: int) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}u"
