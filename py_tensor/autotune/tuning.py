"""Finding out which kernels are best on this adapter, keeping that, and showing it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from textwrap import wrap
from time import perf_counter
from typing import TYPE_CHECKING, Any

from py_tensor.backend.device import CPU_DEVICE, default_device
from py_tensor.backend.host import host
from py_tensor.codegen.choices import Choices, defaults, kept_choices, tuning_parameters, value_of
from py_tensor.errors import DeviceError, DeviceLostError
from py_tensor.inspect.profiling import duration

if TYPE_CHECKING:
    from py_tensor.autotune.contest import Attempt
    from py_tensor.backend.webgpu import WebGPU

SECONDS = 10.0


def tune(*names: str, seconds: float = SECONDS) -> Tuning:
    """Measure which kernels are the fastest on this GPU, and use and keep what was found.

    Each tuning parameter of the code generator has a few values (`pt.tuning()` lists them). Kernels
    with each of them are compiled and run. Values whose results are not right in every bit are
    dropped, and the others are timed in turns. A value that is 5 % faster than the default is
    chosen.

    A choice that this session has used stays what it is, so that a program always makes the same
    kernels; it changes from the next session on. The page keeps what was found in the browser
    (IndexedDB), for this adapter and this build of the page; in any other host it lasts as long as
    the session, and `Tuning.to_json` takes it along.

    Parameters
    ----------
    names : str
        The tuning parameters; by default all that mean something on this kind of adapter.
    seconds : float
        How long it may take. Parameters for which no time is left stay as they are. A compilation
        that has begun is finished.

    Returns
    -------
    Tuning
        What was found, as `pt.tuning()` gives it.

    Raises
    ------
    DeviceError
        On the cpu device, which has no kernels; inside a profile.
    ValueError
        For an unknown tuning parameter.
    WaitError
        Where Python cannot block.
    DeviceLostError
        If the device was lost on the way. Then, as after an interrupt, nothing has changed.
    """
    from py_tensor.autotune.contest import OUT_OF_TIME, Attempt, contest

    backend = _backend("tune")
    values = tuning_parameters(backend.profile.software)
    for name in names:
        if name not in values:
            known = ", ".join(values)
            raise ValueError(f"tune: unknown tuning parameter {name!r}; known are {known}")
    host.check_can_wait("pt.tune()")
    deadline = perf_counter() + seconds
    backend.synchronize()
    generation = backend.generation
    record = _Record.of(backend)
    choices = kept_choices(backend.record, backend.profile.software) or _defaults(backend)
    for name in (name for name in values if name in names or not names):
        if perf_counter() > deadline:
            found, attempts = choices, [Attempt(str(v), None, OUT_OF_TIME) for v in values[name]]
        else:
            found, attempts = contest(backend, name, choices, deadline)
        if backend.generation != generation:
            raise DeviceLostError("tune: the GPU device was lost; its choices were not changed")
        if name in record.choices and any(a.verdict == OUT_OF_TIME for a in attempts):
            continue  # what was found before is worth more than half a contest
        choices, record.attempts[name] = found, attempts
        if attempts[0].verdict != OUT_OF_TIME:
            record.choices[name] = str(getattr(choices, name))
    backend.empty_cache()
    record.when = datetime.now(UTC).isoformat(timespec="seconds")
    backend.keep_choices(record.to_json())
    return tuning()


def tuning() -> Tuning:
    """The choices among kernels on this GPU, and what `pt.tune()` has found out about them.

    Print it for a table.

    Raises
    ------
    DeviceError
        On the cpu device, which has no kernels.
    """
    backend = _backend("tuning")
    record, chosen, software = _Record.of(backend), backend.profile.chosen, backend.profile.software
    later = (kept_choices(backend.record, software) or defaults(software)).named()
    rows = tuple(
        TuningParameter(
            name,
            chosen.named()[name],
            later[name],
            str(values[0]),
            name in backend.profile.used,
            tuple(record.attempts.get(name, ())),
        )
        for name, values in tuning_parameters(software).items()
    )
    return Tuning(record.adapter, record.when, rows, backend.unkept, backend.record)


@dataclass(frozen=True, slots=True)
class TuningParameter:
    """What kernels are made by, with its values.

    Attributes
    ----------
    name : str
    value : str
        What this session takes.
    later : str
        What the next session takes.
    default : str
    is_used : bool
        Whether this session has kernels that follow from it, so that it does not change any more.
    attempts : tuple of Attempt
        How each value fared when it was tuned.
    """

    name: str
    value: str
    later: str
    default: str
    is_used: bool
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The choices among kernels on an adapter. Its `repr` is a table.

    Attributes
    ----------
    adapter : dict
        As in `pt.device_info()`.
    when : str or None
        When it was tuned last, in ISO 8601; None where it was not.
    parameters : tuple of TuningParameter
    unkept : str
        Why it is lost with this session; "" if it is not.
    """

    adapter: Mapping[str, Any]
    when: str | None
    parameters: tuple[TuningParameter, ...]
    unkept: str
    _record: str

    def to_json(self, path: str | Path | None = None) -> str:
        """All that was found, as JSON; also written to the file at `path`, if one is given.

        ::

            {"adapter": {...}, "when": "...", "choices": {parameter: value, ...},
             "attempts": {parameter: [{"value", "time", "verdict"}, ...], ...}}

        Times are in seconds. Under Pyodide a path is one of its own file system.
        """
        text = self._record or _Record(dict(self.adapter), None, {}, {}).to_json()
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @staticmethod
    def from_json(source: str | Path) -> Tuning:
        """Use and keep what `to_json` gave, here or in another session on the same adapter.

        Parameters
        ----------
        source : str or Path
            The text, or the path of a file.

        Raises
        ------
        ValueError
            For what is no such text, names other parameters or values, was found on another
            adapter, or computes wrong on this one. Then nothing has changed.
        """
        from py_tensor.autotune.contest import is_right

        backend = _backend("from_json")
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        record = _Record.parsed(text, backend)
        host.check_can_wait("from_json")
        for name, value in record.choices.items():
            choices = _with(_defaults(backend), {name: value}, backend)
            wrong = "" if choices == _defaults(backend) else is_right(backend, name, choices)
            if wrong:
                raise ValueError(f"from_json: {name} = {value} does not work here: {wrong}")
        backend.keep_choices(record.to_json())
        return tuning()

    def reset(self) -> Tuning:
        """Forget what was found: the defaults hold, of what is used from the next session on."""
        backend = _backend("reset")
        host.check_can_wait("reset")
        backend.keep_choices("")
        return tuning()

    def __repr__(self) -> str:
        return self.table(shutil.get_terminal_size().columns)

    def table(self, columns: int) -> str:
        """The choices, with every value and its time, in lines of at most so many columns."""
        lines = [self._head(), *chain.from_iterable(map(_lines, self.parameters))]
        return "\n".join(
            part
            for line in lines
            for part in wrap(line, max(20, columns), subsequent_indent="    ") or [""]
        )

    def _head(self) -> str:
        names = (self.adapter.get(key) for key in ("vendor", "architecture", "device"))
        name = " ".join(str(x) for x in names if x) or "this adapter"
        if self.when is None:
            return f"{name}: not tuned (pt.tune() does it)"
        kept = f"lost with this session: {self.unkept}" if self.unkept else "kept"
        return f"{name}: tuned {self.when}, {kept}"


def _lines(row: TuningParameter) -> Iterator[str]:
    default = "default" if row.value == row.default else f"default {row.default}"
    later = f"; from the next session on {row.later}" if row.later != row.value else ""
    yield f"{row.name} = {row.value} ({default}){later}"
    width = max((len(a.value) for a in row.attempts), default=0)
    for a in row.attempts:
        time = "-" if a.time is None else duration(a.time * 1e9)
        yield f"  {a.value:{width}} {time:>9}  {a.verdict}"


@dataclass(slots=True)
class _Record:
    """What is kept of a tuning: the choices of the parameters that were tuned, and the reasons."""

    adapter: dict[str, Any]
    when: str | None
    choices: dict[str, str]
    attempts: dict[str, list[Attempt]]

    @staticmethod
    def of(backend: WebGPU) -> _Record:
        """What is kept for the device; nothing where that cannot be read."""
        try:
            return _Record.parsed(backend.record, backend)
        except ValueError:
            return _Record(backend.adapter, None, {}, {})

    @staticmethod
    def parsed(text: str, backend: WebGPU) -> _Record:
        """What `to_json` gave; raises ValueError where it is not that, or not of this device."""
        from py_tensor.autotune.contest import Attempt

        try:
            found: Any = json.loads(text)
            attempts = {
                str(name): [
                    Attempt(str(a["value"]), a["time"] and float(a["time"]), str(a["verdict"]))
                    for a in rows
                ]
                for name, rows in found["attempts"].items()
            }
            choices = {str(name): str(value) for name, value in found["choices"].items()}
            record = _Record(dict(found["adapter"]), found["when"], choices, attempts)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError("from_json: text must be the output of to_json") from None
        adapter = backend.adapter
        if record.adapter != adapter:
            raise ValueError(f"from_json: the choices are for {record.adapter}, not for {adapter}")
        _with(_defaults(backend), choices, backend)
        return record

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)


def _defaults(backend: WebGPU) -> Choices:
    return defaults(backend.profile.software)


def _with(choices: Choices, named: Mapping[str, str], backend: WebGPU) -> Choices:
    """Choices with other values, given as text; raises ValueError where there is no such value."""
    software = backend.profile.software
    return replace(choices, **{n: value_of(n, value, software) for n, value in named.items()})


def _backend(op: str) -> WebGPU:
    """The webgpu device."""
    device = default_device()
    if device is CPU_DEVICE:
        raise DeviceError(f"{op}: the cpu device has no kernels to tune")
    backend: Any = device.backend
    return backend
