"""Runs one program and records its results, in a separate process or in the page's worker.

It is self-contained, because its text is sent to the worker. Plotting is replaced by objects that
accept everything and do nothing; `FuncAnimation` calls its function for a few frames.
"""

from __future__ import annotations

import base64
import contextlib
import dis
import io
import json
import linecache
import random
import sys
import time
import traceback
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from typing import Any

NAME = "<program>"
DRAWING = ("matplotlib", "mpl_toolkits", "pylab", "seaborn", "IPython", "ipywidgets")
FRAMES = 10
SAMPLE = 4096  # elements recorded of an array; of a larger one, evenly spaced ones
ITEMS = 100  # members recorded of a list, dict or object
DEPTH = 3  # nesting levels of these


def execute(
    text: str, random_as: str, device: str | None, dtype: str = "float32"
) -> dict[str, Any]:
    """Run a program; return its output, its variables by name, and how it ended.

    Parameters
    ----------
    text
        The program.
    random_as : {"host", "tensor"}
        Whether `numpy_random`, used by renamed programs, returns arrays or tensors.
    device
        py_tensor's default device; None does not use py_tensor.
    dtype : {"float32", "float64"}
        Its default dtype.
    """
    import numpy as np

    np.random.seed(0)
    random.seed(0)
    make_default = np.random.default_rng
    np.random.default_rng = lambda seed=0: make_default(seed)
    sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]
    source: Any = np.random
    if device is not None:
        import py_tensor as pt

        pt.set_default_device(device)
        pt.set_default_dtype(dtype)
        source = _TensorRandom(source) if random_as == "tensor" else source
    sys.modules["numpy_random"] = source
    space: dict[str, Any] = {"__name__": "__main__", "numpy_random": source}
    values: dict[str, Any] = {}
    linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
    printed, error, started = io.StringIO(), None, time.perf_counter()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(text, NAME, "exec", dont_inherit=True), space)
            for name, value in space.items():  # pending tensors are computed here
                own = value is not getattr(np, name, None)  # not from a star import
                if own and not name.startswith("_"):
                    values.update(_recorded(name, value, DEPTH))
        except KeyboardInterrupt:
            raise
        except BaseException as caught:
            error = _error(caught)
    seconds = time.perf_counter() - started
    return {"error": error, "values": values, "stdout": printed.getvalue(), "seconds": seconds}


def _error(error: BaseException) -> dict[str, Any]:
    """Return the exception, and the program's last line in its traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == NAME]
    message = str(error).partition("\n")[0]
    statement = frames[-1].line if frames else ""
    return {"type": type(error).__name__, "message": message, "statement": statement}


def _recorded(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the numbers in a value, by the path to them."""
    import numpy as np

    ours = type(value).__module__ == "py_tensor.tensors.tensor"
    read = value.numpy() if ours else value
    if isinstance(read, bool | int | float | complex | np.generic | np.ndarray):
        array = np.asarray(read)
        if array.dtype.kind in "biufc":
            flat = array.reshape(-1)[:: -(-array.size // SAMPLE) or 1].astype(np.complex128)
            about = {"kind": array.dtype.kind, "shape": array.shape, "tensor": ours}
            yield name, {**about, "data": base64.b64encode(flat.tobytes()).decode()}
        return
    members = value if isinstance(value, dict) else {}
    if isinstance(value, list | tuple):
        members = dict(enumerate(value[:ITEMS]))
    elif type(value).__module__ == "__main__":
        members = getattr(value, "__dict__", {})
    for key, item in list(members.items())[:ITEMS] if depth else ():
        yield from _recorded(f"{name}[{key!r}]", item, depth - 1)


class _TensorRandom:
    """NumPy's `random` or one of its generators, with arrays converted to tensors."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._source, name)
        return (lambda *a, **k: self._given(found(*a, **k))) if callable(found) else found

    def _given(self, result: Any) -> Any:
        import numpy as np

        import py_tensor as pt

        if isinstance(result, np.ndarray):
            dtype = {"f": "float32", "i": "int32"}.get(result.dtype.kind, result.dtype)
            return pt.asarray(result.astype(dtype))
        draws = isinstance(result, np.random.Generator | np.random.RandomState)
        return _TensorRandom(result) if draws else result


class _Drawing:
    """Accepts every use and returns itself; unpacks to any number of names."""

    __path__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _animated if name == "FuncAnimation" else self

    def _itself(self, *args: object, **options: object) -> Any:
        return self

    __call__ = __getitem__ = __enter__ = __add__ = __mul__ = __rmul__ = _itself

    def __setitem__(self, index: object, value: object) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        here = next(i for i in dis.get_instructions(frame.f_code) if i.offset == frame.f_lasti)
        return iter([self] * (here.arg or 0) if here.opname == "UNPACK_SEQUENCE" else [])


def _animated(figure: object, update: Any, *args: object, **options: Any) -> _Drawing:
    for frame in range(FRAMES):
        update(frame, *options.get("fargs", ()))
    return _Drawing()


class _Finder:
    """Finds plotting modules, installed or not, as a module that is a `_Drawing`."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        ours = name.split(".")[0] in DRAWING
        return ModuleSpec(name, self, is_package=True) if ours else None  # type: ignore[arg-type]

    def create_module(self, spec: object) -> Any:
        return _Drawing()

    def exec_module(self, module: object) -> None:
        pass


def answer(text: str, random_as: str, device: str | None, dtype: str = "float32") -> None:
    """Print the result of `execute` for the caller."""
    print(json.dumps(execute(text, random_as, device, dtype)))


if __name__ == "__main__":  # the program is read from stdin
    answer(sys.stdin.read(), sys.argv[1], sys.argv[2] or None, sys.argv[3])
