"""The environment that Python runs in: access to the GPU, blocking waits, NumPy, image decoding.

`host` is the current environment; no other module depends on which one it is.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from inspect import CO_COROUTINE
from io import BytesIO
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from py_tensor.base.errors import DeviceError, WaitError

if TYPE_CHECKING:
    from py_tensor.runtime.bridge import Bridge

T = TypeVar("T")
NO_NUMPY = "the cpu device and NumPy's arrays need NumPy, which is not installed"


class Host(ABC):
    """The differences between the environments that Python runs in."""

    adapters = 1
    """The number of GPU devices, whether or not they are available."""
    computes_in_software = False
    """Whether a software adapter may be the default device if there is no GPU."""

    def __init__(self) -> None:
        self._bridges: dict[int, Bridge] = {}  # by the index of the device

    def load_bridge(self, index: int) -> Bridge:
        """Return the bridge to a GPU device, the same one each time.

        Raises
        ------
        DeviceError
            If there is none; the message says what is missing.
        """
        if index not in self._bridges:
            self._bridges[index] = self._make_bridge()
        return self._bridges[index]

    @abstractmethod
    def _make_bridge(self) -> Bridge: ...

    @abstractmethod
    def can_wait(self) -> bool:
        """Return whether Python can block here until a promise of the bridge is fulfilled."""

    @abstractmethod
    def load_numpy(self) -> Any:
        """Return NumPy; a browser loads it first if necessary."""

    async def load_numpy_async(self) -> Any:
        """Like `load_numpy`, but await it."""
        return self.load_numpy()

    @abstractmethod
    def decode_image(self, data: bytes) -> tuple[int, int, bytes]:
        """Decode an image file: return its height, its width and its pixels as RGBA bytes.

        Raises
        ------
        ValueError
            If the data is not an image that can be decoded here.
        ImportError
            If no image decoder is installed.
        """

    @abstractmethod
    def wait(self, promise: Any, what: str, lock: RLock | None = None) -> Any:
        """Block until a promise of the bridge is fulfilled; return its value.

        A lock that this thread holds is released meanwhile, if there are other threads.

        Raises
        ------
        WaitError
            If Python cannot block; the message names what to await instead.
        """

    def check_can_wait(self, what: str) -> None:
        """Raise WaitError if Python cannot block; it says what can be done instead."""
        if self.can_wait():
            return
        instead = "write `await pt.init()` once, and `await x.to_numpy_async()` to read a tensor"
        if not _is_in_coroutine():
            instead = (
                "run this code with `pyodide.runPythonAsync`, in which Python can block if the"
                " browser has JSPI, and otherwise `await` can be used"
            )
        raise WaitError(f"{what} has to wait for the GPU, and Python cannot block here; {instead}")

    @abstractmethod
    def skip_exit_handlers(self) -> None:
        """Let a forked process end without the exit handlers of the GPU's driver.

        They wait for threads that exist only in its parent.
        """


class Pyodide(Host):
    """A browser, whose bridge is JavaScript (`web/bridge`).

    If the page has registered a module `py_tensor_bridge`, it is used. Otherwise the bridge is the
    self-contained script inside the wheel.
    """

    computes_in_software = True

    def __init__(self) -> None:
        super().__init__()
        self._ffi: Any = import_module("pyodide.ffi")
        # The original function. A page may later replace it with one that interrupts waits. The
        # bridge's promises do not need that, because the bridge itself ends them on an interrupt.
        self._run_sync: Callable[[Any], Any] = self._ffi.run_sync

    def wait_by(self, run_sync: Callable[[Any], Any]) -> None:
        """Use a function of the page in place of Pyodide's `run_sync`."""
        self._run_sync = run_sync

    def _make_bridge(self) -> Bridge:
        try:
            return import_module("py_tensor_bridge")  # pyright: ignore[reportReturnType]
        except ModuleNotFoundError:
            script = (files("py_tensor") / "bridge.js").read_text(encoding="utf-8")
            create = import_module("pyodide.code").run_js(script)
            return create(import_module("pyodide_js"))

    def can_wait(self) -> bool:
        return bool(self._ffi.can_run_sync())  # needs JSPI and `runPythonAsync`

    def wait(self, promise: Any, what: str, lock: RLock | None = None) -> Any:
        self.check_can_wait(what)
        # There is one thread, so the lock excludes nobody: other tasks run while this one waits.
        return self._run_sync(promise)

    def skip_exit_handlers(self) -> None:
        """Do nothing: no process forks here."""

    def load_numpy(self) -> Any:
        if find_spec("numpy") is None:
            if not self.can_wait():
                raise WaitError(
                    "NumPy is not loaded, and Python cannot block here to load it;"
                    ' write `await pyodide.loadPackage("numpy")` in JavaScript first'
                )
            self._ffi.run_sync(self._fetch_numpy())
        return import_module("numpy")

    async def load_numpy_async(self) -> Any:
        if find_spec("numpy") is None:
            await self._fetch_numpy()
        return self.load_numpy()

    async def _fetch_numpy(self) -> None:
        try:
            await import_module("pyodide_js").loadPackage("numpy")
            reason = "" if find_spec("numpy") else "no wheel was installed"
        except self._ffi.JsException as error:
            reason = str(error)
        if reason:
            raise DeviceError(
                f"{NO_NUMPY}, and this page's Pyodide cannot load it ({reason}); install it with"
                " `await micropip.install(...)` and the address of a wheel"
            )

    def decode_image(self, data: bytes) -> tuple[int, int, bytes]:
        if not self.can_wait():
            raise WaitError("imread has to wait for the browser, and Python cannot block here")
        return self._ffi.run_sync(self._decode_image(data))

    async def _decode_image(self, data: bytes) -> tuple[int, int, bytes]:
        js, to_js = import_module("js"), self._ffi.to_js
        exact = {"colorSpaceConversion": "none", "premultiplyAlpha": "none"}
        options = to_js(exact, dict_converter=js.Object.fromEntries)
        try:
            bitmap = await js.createImageBitmap(js.Blob.new(to_js([to_js(data)])), options)
        except self._ffi.JsException:
            raise ValueError("imread: the browser cannot decode this as an image") from None
        context = js.OffscreenCanvas.new(bitmap.width, bitmap.height).getContext("2d")
        context.drawImage(bitmap, 0, 0)
        bitmap.close()
        pixels = context.getImageData(0, 0, context.canvas.width, context.canvas.height)
        return pixels.height, pixels.width, pixels.data.to_bytes()


class CPython(Host):
    """A normal Python process, whose bridge is `native.py`."""

    make_native_bridge: Callable[[], Bridge] | None = None
    """Set in `backends/kinds.py`."""

    def _make_bridge(self) -> Bridge:
        if find_spec("wgpu") is None:
            raise DeviceError(
                "the webgpu device needs the package wgpu outside of a browser;"
                ' install it with `pip install "py-tensor[gpu]"`'
            )
        assert self.make_native_bridge is not None
        return self.make_native_bridge()

    def can_wait(self) -> bool:
        return True

    def wait(self, promise: Any, what: str, lock: RLock | None = None) -> Any:
        return promise.wait(lock)

    def skip_exit_handlers(self) -> None:
        ctypes = import_module("ctypes")
        library = ctypes.CDLL(None)
        if hasattr(library, "on_exit"):  # glibc; the handler that was added last runs first
            library.on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)

    def load_numpy(self) -> Any:
        try:
            return import_module("numpy")
        except ModuleNotFoundError:
            raise DeviceError(
                f'{NO_NUMPY}; install it with `pip install "py-tensor[cpu]"`'
            ) from None

    def decode_image(self, data: bytes) -> tuple[int, int, bytes]:
        try:
            image, ops = import_module("PIL.Image"), import_module("PIL.ImageOps")
        except ModuleNotFoundError:
            raise ImportError(
                "imread: outside a browser, images are decoded by Pillow, which is not installed;"
                " install it with `pip install pillow`"
            ) from None
        try:
            pixels = ops.exif_transpose(image.open(BytesIO(data)))
            if pixels.mode.startswith("I"):  # 16 bits, which `convert` would clip
                pixels = pixels.convert("I").point(_in_8_bits).convert("L")
            pixels = pixels.convert("RGBA")
        except OSError:  # UnidentifiedImageError among them
            raise ValueError("imread: Pillow cannot decode this as an image") from None
        return pixels.height, pixels.width, pixels.tobytes()


def finish(work: Coroutine[Any, Any, T], error: str = "") -> T:
    """Return the result of a coroutine that blocks where it waits, so that it never suspends.

    Raises
    ------
    WaitError
        If it suspends, with the text `error`.
    """
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise WaitError(error or f"{work.__qualname__} suspended instead of blocking")


def _is_in_coroutine() -> bool:
    """Return whether a coroutine is running, in which `await` can be written.

    The library's own, which `finish` runs in code that is none, do not count.
    """
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    is_in = False
    while frame is not None:
        is_in = (is_in or bool(frame.f_code.co_flags & CO_COROUTINE)) and (
            frame.f_code is not finish.__code__
        )
        frame = frame.f_back
    return is_in


def _in_8_bits(value: Any) -> Any:
    """Scale a 16-bit channel to 8 bits; Pillow's `point` accepts only such a product."""
    return value * (1 / 257)


host: Host = Pyodide() if sys.platform == "emscripten" else CPython()
