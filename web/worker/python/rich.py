"""Rich results: how the page shows objects, and which tensors it can still inspect.

A displayed object is a bundle: JSON values with a "kind", which web/page/display/ draws. Nothing
here needs a browser; the worker supplies the `Port` (web/worker/display_port.js).
"""

from __future__ import annotations

import binascii
import inspect
import json
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

import py_tensor as pt
from py_tensor.display.screen import Bundle, Widget, owner, set_screen
from py_tensor.display.shapes import is_colour

from .drawings import Drawings

KEPT_TENSORS = 50
"""The number of displayed tensors that can still be inspected."""

KEPT_BYTES = 64 << 20
"""The most memory held for them; beyond that they live only while the program holds them."""

LARGEST_TEXT = 4_000_000
"""The most characters of an image or of HTML; a larger object is shown by its repr."""


FORMS = ("npy", "csv", "list")
"""The formats in which a tensor can be saved (saving.py)."""


class Port(Protocol):
    """The connection to the page."""

    def post(self, number: int, bundle: str, pixels: Any, is_update: bool) -> None: ...
    def drawn(self, number: int) -> Awaitable[Any]: ...


class Kept:
    """The tensors displayed last, by number.

    The newest are held by strong references, within KEPT_BYTES; the others by weak references.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, weakref.ref[pt.Tensor]] = OrderedDict()
        self._strong: OrderedDict[int, pt.Tensor] = OrderedDict()
        self._last = 0

    def add(self, x: pt.Tensor, instead_of: int | None = None) -> int:
        """Add a tensor and return its number; `instead_of` is the number of the one it replaces."""
        if instead_of is not None:
            self.drop(instead_of)
        self._last += 1
        self._known[self._last] = weakref.ref(x)
        self._strong[self._last] = x
        while len(self._known) > KEPT_TENSORS:
            number, _ = self._known.popitem(last=False)
            self._strong.pop(number, None)
        while sum(map(_bytes_kept_by, self._strong.values())) > KEPT_BYTES:
            self._strong.popitem(last=False)
        return self._last

    def drop(self, number: int) -> None:
        """Drop a tensor that is no longer displayed."""
        self._known.pop(number, None)
        self._strong.pop(number, None)

    def get(self, number: int) -> pt.Tensor | None:
        """Return the tensor; None if it no longer exists."""
        reference = self._known.get(number)
        return None if reference is None else reference()


def _bytes_kept_by(x: pt.Tensor) -> int:
    """Return the bytes that a tensor keeps alive, including its base and pending inputs."""
    found = 0
    pending, seen = [x._node], set[int]()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.storage is None:
            pending += node.inputs
        else:
            found += node.meta.nbytes
    return max(found, x.nbytes)


def _described_tensor(x: pt.Tensor) -> Bundle:
    return {
        "kind": "tensor",
        "shape": list(x.shape),
        "dtype": str(x.dtype),
        "device": str(x.device),
        "bytes": x.nbytes,
        "views": views_of(x),
        "forms": list(FORMS),
    }


def views_of(x: pt.Tensor) -> list[str]:
    """Return the views (views.py) that suit a tensor's shape and dtype."""
    if not x.ndim or not x.size:
        return []
    found = ["table"]
    if x.ndim == 1 and x.size > 1:
        found.append("plot")
    if x.ndim >= 2 and max(x.shape[-2:]) > 1:
        found.append("heatmap")
    if x.size > 1:
        found.append("histogram")
    if is_colour(x):
        found.append("image")
    return found


class Rich:
    """Sends what the library displays to the page, and describes results.

    Parameters
    ----------
    port
        The connection to the page.
    wait
        Blocks until an awaitable is done.
    can_block
        Whether `wait` works now.
    flush
        Sends earlier output first.
    """

    def __init__(
        self,
        port: Port,
        wait: Callable[[Awaitable[Any]], Any],
        can_block: Callable[[], bool],
        flush: Callable[[], None],
    ) -> None:
        self._port = port
        self._wait = wait
        self._can_block = can_block
        self._flush = flush
        self._kept = Kept()
        self.drawings = Drawings()
        self._new: set[int] = set()  # displays made by the running input
        self._tensor_in: dict[int, int] = {}  # maps a display to the tensor in `_kept` it shows

    def install(self) -> None:
        """Become the screen of the library."""
        set_screen(self)

    def begin(self, number: int | None = None) -> None:
        """Note that a new input begins, with its number; None: a reaction to a control."""
        self._new.clear()
        if number is not None:
            owner.set(("input", number))

    # -- The library's screen --------------------------------------------------------------------

    def post(self, number: int, bundle: Bundle, beside: Any, is_update: bool) -> None:
        """Show a bundle in the page, after the output so far."""
        if not is_update:
            self._new.add(number)
        replaced = self._tensor_in.pop(number, None)
        if bundle["kind"] == "tensor":
            self._tensor_in[number] = kept = self._kept.add(beside, replaced)
            bundle = bundle | {"number": kept}
        elif replaced is not None:
            self._kept.drop(replaced)
        bundle = self.drawings.added(number, bundle)
        pixels = beside if bundle["kind"] == "image" else None
        self._flush()
        self._port.post(number, json.dumps(bundle), pixels, is_update)

    async def drawn(self, number: int, blocking: bool) -> None:
        """Return once the page has drawn the last update of a display."""
        if not blocking:
            await self._port.drawn(number)
        elif self._can_block():
            self._wait(self._port.drawn(number))

    async def present(self, value: Any, blocking: bool) -> Bundle:
        """Return the bundle of any object; a tensor's number is added once it is posted."""
        bundle = self._described(value)
        if bundle is None or bundle["kind"] == "tensor":
            is_late = not blocking and hasattr(type(value), "__repr_async__")
            text = await value.__repr_async__() if is_late else repr(value)
            bundle = (bundle or {"kind": "text"}) | {"text": text}
        return bundle

    # -- Results ---------------------------------------------------------------------------------

    def describe(self, value: Any) -> Bundle | None:
        """Return the bundle shown with or instead of a value's repr; None for the repr only."""
        if isinstance(value, Widget) and value.shown_as not in self._new:
            pt.display(value)
        bundle = self._described(value)
        if isinstance(value, pt.Tensor) and bundle is not None:
            bundle = bundle | {"number": self._kept.add(value)}
        return bundle

    def _described(self, value: Any) -> Bundle | None:
        if isinstance(value, pt.Tensor):
            return _described_tensor(value)
        if isinstance(value, pt.Display):
            return {"kind": "shown"} if value.number in self._new else None
        if isinstance(value, Widget):
            return {"kind": "shown"}
        return None if inspect.isclass(value) else described_object(value)

    async def view(self, request: str) -> None:
        """Compute a view of a displayed tensor, or a file to save it in, and post it.

        `request` is the page's "view" command as JSON.
        """
        asked = json.loads(request)
        x = self._kept.get(asked["number"])
        if x is None:
            text = "This tensor is no longer kept. Run its expression again to view it."
            self._answer({"kind": "text", "text": text}, None)
            return
        if asked["view"] in FORMS:
            from . import saving

            self._answer(*await saving.saved(x, asked["view"], self._can_block()))
            return
        from . import views

        self._answer(*await views.view(x, asked["view"], asked["place"], self._can_block()))

    async def draw(self, request: str, frame: Any) -> None:
        """Compute a live picture of the gallery, and post it.

        `request` is the page's "draw" command as JSON; `frame` is None or the pixels sent with it,
        a buffer of uint32.
        """
        from . import views
        from .gallery import LOOKS, live_picture

        asked = json.loads(request)
        x = live_picture(asked["name"], asked["code"], asked["values"], frame)
        self._answer(*await views.drawn(x, self._can_block(), LOOKS[asked["name"]]))

    def _answer(self, bundle: Bundle, pixels: Any) -> None:
        """Post the answer to the running command."""
        self._port.post(0, json.dumps(self.drawings.added(0, bundle)), pixels, False)


# -- Objects of other libraries ------------------------------------------------------------------

MIME_KINDS = {
    "text/html": "html",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
}
"""Rich forms of an object, in order of preference."""


def described_object(value: Any) -> Bundle | None:
    """Return the first rich form that an object provides; None if it has none."""
    for kind, data in _forms(value):
        text = _as_text(kind, data)
        if text and len(text) <= LARGEST_TEXT:
            return {"kind": kind, "data": text, "label": f"Output of type {type(value).__name__}"}
    return None


def _forms(value: Any) -> Iterable[tuple[str, Any]]:
    """Yield the kind and data of each form, computed lazily."""
    mimes = _called(value, "_repr_mimebundle_")
    if isinstance(mimes, tuple):
        mimes = mimes[0] if mimes else None  # the second item is metadata
    if isinstance(mimes, Mapping):
        yield from ((kind, mimes.get(mime)) for mime, kind in MIME_KINDS.items())
    for kind in MIME_KINDS.values():
        data = _called(value, f"_repr_{kind}_")
        yield kind, data[0] if isinstance(data, tuple) and data else data


def _called(value: Any, name: str) -> Any:
    """Return the result of a method without arguments; None if it is missing or fails."""
    try:
        method = getattr(type(value), name, None) and getattr(value, name)
        return method() if callable(method) else None
    except Exception:
        return None


def _as_text(kind: str, data: Any) -> str | None:
    """Data as text for the page: markup unchanged, a PNG or JPEG in base64."""
    if isinstance(data, bytes | bytearray | memoryview):
        if kind in ("png", "jpeg"):
            return binascii.b2a_base64(data, newline=False).decode("ascii")
        return bytes(data).decode("utf-8", "replace")
    return data if isinstance(data, str) else None
