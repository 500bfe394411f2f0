"""Tuning: finds the fastest kernels on this adapter, and stores and shows the choices."""

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

from py_tensor.backends.choice import default_device
from py_tensor.base.errors import DeviceError, DeviceLostError
from py_tensor.codegen.choices import Choices, defaults, kept_choices, tuning_parameters, value_of
from py_tensor.runtime.host import host
from py_tensor.tools.profiling import duration, written

if TYPE_CHECKING:
    from py_tensor.backends.webgpu import WebGPU
    from py_tensor.tools.contest import Attempt

__all__ = ["Tuning", "tune", "tuning"]

SECONDS = 10.0


def tune(*names: str, seconds: float = SECONDS) -> Tuning:
    """Measure which kernels are fastest on this GPU, and use and store the choices.

    Each tuning parameter of the code generator has a few values, which `pt.tuning()` lists. Kernels
    are compiled and run with each value. Values whose results are not exact in every bit are
    rejected, and the others are timed in turns. A value that is 5 % faster than the default is
    chosen.

    A choice that this session has already used does not change until the next session, so a program
    always generates the same kernels. The page stores the choices in the browser (IndexedDB) for
    this adapter and this build of the page. Outside a browser they are stored in the user's cache
    folder for this adapter. In other pages they last for the session; use `Tuning.to_json` to save
    them.

    Parameters
    ----------
    names : str
        The tuning parameters; by default all that apply to this kind of adapter.
    seconds : float
        The time limit. Parameters for which no time is left are unchanged. A compilation that has
        started is finished.

    Returns
    -------
    Tuning
        The choices, as returned by `pt.tuning()`.

    Raises
    ------
    DeviceError
        On the cpu device, which has no kernels, or inside a profile.
    ValueError
        If a tuning parameter is unknown.
    WaitError
        If Python cannot block.
    DeviceLostError
        If the device was lost meanwhile. Then, as after an interrupt, nothing has changed.
    """
    from py_tensor.tools.contest import OUT_OF_TIME, Attempt, Contest

    backend = _backend("tune")
    values = tuning_parameters(backend.profile.software)
    for name in names:
        if name not in values:
            known = ", ".join(values)
            raise ValueError(f"tune: unknown tuning parameter {name!r}; known parameters: {known}")
    host.check_can_wait("pt.tune()")
    deadline = perf_counter() + seconds
    backend.synchronize()
    generation = backend.generation
    record = _Record.of(backend)
    choices = kept_choices(backend.record, backend.profile.software) or _defaults(backend)
    for name in (name for name in values if name in names or not names):
        if perf_counter() > deadline:
            chosen, attempts = choices, [Attempt(str(v), None, OUT_OF_TIME) for v in values[name]]
        else:
            chosen, attempts = Contest(backend, name, choices, deadline).result()
        if backend.generation != generation:
            raise DeviceLostError("tune: the GPU device was lost; its choices were not changed")
        if name in record.choices and any(a.verdict == OUT_OF_TIME for a in attempts):
            continue  # an earlier complete result is better than an incomplete contest
        choices, record.attempts[name] = chosen, attempts
        if attempts[0].verdict != OUT_OF_TIME:
            record.choices[name] = str(getattr(choices, name))
    default_device().collect()
    backend.empty_cache()
    record.when = datetime.now(UTC).isoformat(timespec="seconds")
    backend.keep_choices(record.to_json())
    return tuning()


def tuning() -> Tuning:
    """Return the choices of kernels on this GPU, and the results of `pt.tune()`.

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
    """A tuning parameter of the code generator, with its values.

    Attributes
    ----------
    name : str
    value : str
        The value in this session.
    later : str
        The value in the next session.
    default : str
    is_used : bool
        Whether this session has kernels that depend on it, so it cannot change any more.
    attempts : tuple of Attempt
        The outcome for each value when it was tuned.
    """

    name: str
    value: str
    later: str
    default: str
    is_used: bool
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The choices of kernels on an adapter. Its `repr` is a table.

    Attributes
    ----------
    adapter : dict
        As in `pt.device_info()`.
    when : str or None
        When it was last tuned, in ISO 8601; None if it was not.
    parameters : tuple of TuningParameter
    unkept : str
        The reason if the choices are not stored; otherwise "".
    """

    adapter: Mapping[str, Any]
    when: str | None
    parameters: tuple[TuningParameter, ...]
    unkept: str
    _record: str

    def to_json(self, path: str | Path | None = None) -> str:
        """Return all results as JSON; also write them to the file at `path`, if given.

        ::

            {"adapter": {...}, "when": "...", "choices": {parameter: value, ...},
             "attempts": {parameter: [{"value", "time", "verdict"}, ...], ...}}

        Times are in seconds. Under Pyodide paths refer to its virtual file system.
        """
        return written(self._record or _Record(dict(self.adapter), None, {}, {}).to_json(), path)

    @staticmethod
    def from_json(source: str | Path) -> Tuning:
        """Use and store choices from `to_json`, from this or another session on the same adapter.

        Parameters
        ----------
        source : str or Path
            The JSON text, or the path of a file.

        Raises
        ------
        ValueError
            If the text is not valid, has unknown parameters or values, is for another adapter, or
            gives wrong results on this one. Then nothing has changed.
        """
        from py_tensor.tools.contest import error_with

        backend = _backend("from_json")
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        record = _Record.parsed(text, backend)
        host.check_can_wait("from_json")
        for name, value in record.choices.items():
            choices = _with(_defaults(backend), {name: value}, backend)
            wrong = "" if choices == _defaults(backend) else error_with(backend, name, choices)
            if wrong:
                raise ValueError(f"from_json: {name} = {value} does not work here: {wrong}")
        backend.keep_choices(record.to_json())
        return tuning()

    def reset(self) -> Tuning:
        """Forget all results and use the defaults; parameters in use change in the next session."""
        backend = _backend("reset")
        host.check_can_wait("reset")
        backend.keep_choices("")
        return tuning()

    def __repr__(self) -> str:
        return self.table(shutil.get_terminal_size().columns)

    def table(self, columns: int) -> str:
        """Return the choices with every value and its time, as text of limited width."""
        lines = [self._head(), *chain.from_iterable(map(_lines, self.parameters))]
        return "\n".join(
            row
            for line in lines
            for row in wrap(line, max(20, columns), subsequent_indent="    ") or [""]
        )

    def _head(self) -> str:
        names = (self.adapter.get(key) for key in ("vendor", "architecture", "device"))
        name = " ".join(str(x) for x in names if x) or "this adapter"
        if self.when is None:
            return f"{name}: not tuned (run pt.tune())"
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
    """The stored result of tuning: the choices of the tuned parameters, and the attempts."""

    adapter: dict[str, Any]
    when: str | None
    choices: dict[str, str]
    attempts: dict[str, list[Attempt]]

    @staticmethod
    def of(backend: WebGPU) -> _Record:
        """Return the record stored for the device; an empty one if it is missing or unreadable."""
        try:
            return _Record.parsed(backend.record, backend)
        except ValueError:
            return _Record(backend.adapter, None, {}, {})

    @staticmethod
    def parsed(text: str, backend: WebGPU) -> _Record:
        """Parse the output of `to_json`; raises ValueError for other text, or another device."""
        from py_tensor.tools.contest import Attempt

        try:
            stored: Any = json.loads(text)
            attempts = {
                str(name): [
                    Attempt(str(a["value"]), a["time"] and float(a["time"]), str(a["verdict"]))
                    for a in rows
                ]
                for name, rows in stored["attempts"].items()
            }
            choices = {str(name): str(value) for name, value in stored["choices"].items()}
            record = _Record(dict(stored["adapter"]), stored["when"], choices, attempts)
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
    """Replace choices by values given as text; raises ValueError for unknown values."""
    software = backend.profile.software
    return replace(choices, **{n: value_of(n, value, software) for n, value in named.items()})


def _backend(op: str) -> WebGPU:
    """Return the webgpu device."""
    device = default_device()
    if device.kind != "webgpu":
        raise DeviceError(f"{op}: the {device} device has no kernels to tune")
    backend: Any = device.backend
    return backend
