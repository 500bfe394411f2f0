"""Rich results: how objects are shown by the page, and which tensors it can still ask about.

What is shown is a bundle: JSON-able values with a "kind", which web/page/display/ draws. Nothing
here needs a browser; `Port` is what the worker (web/worker/display_port.js) supplies.
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
from py_tensor.display.pictures import is_colour
from py_tensor.display.screen import Bundle, Widget, owner, set_screen

KEPT_TENSORS = 50
"""How many of the tensors that were shown can still be looked at."""

KEPT_BYTES = 64 << 20
"""What those may keep; beyond that they live as long as somebody else holds them."""

LARGEST_TEXT = 4_000_000
"""Characters of a picture or of HTML; what is longer is shown by its repr."""


FORMS = ("npy", "csv", "list")
"""What a tensor can be saved as (saving.py)."""


class Port(Protocol):
    """The way to the page."""

    def post(self, number: int, bundle: str, pixels: Any, is_update: bool) -> None: ...
    def drawn(self, number: int) -> Awaitable[Any]: ...


class Kept:
    """The tensors shown last, by number.

    The newest by strong references while they take little memory, the others by weak ones.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, weakref.ref[pt.Tensor]] = OrderedDict()
        self._strong: OrderedDict[int, pt.Tensor] = OrderedDict()
        self._last = 0

    def add(self, x: pt.Tensor, instead_of: int | None = None) -> int:
        """The number of a tensor from now on; `instead_of` is that of one not shown any more."""
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
        """Forget a tensor that is not shown any more."""
        self._known.pop(number, None)
        self._strong.pop(number, None)

    def get(self, number: int) -> pt.Tensor | None:
        """The tensor; None if it is gone."""
        reference = self._known.get(number)
        return None if reference is None else reference()


def _bytes_kept_by(x: pt.Tensor) -> int:
    """What a tensor takes, and what it is a view of or is yet to be computed from."""
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
    """The views (views.py) that make sense for a tensor's shape and dtype."""
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
    """Shows what the library displays, and describes results.

    Parameters
    ----------
    port
        Takes what is to be shown.
    wait
        Blocks until an awaitable is done.
    can_block
        Whether it can, now.
    flush
        Has what was printed before sent before.
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
        self._new: set[int] = set()  # displays of the input that runs
        self._tensor_in: dict[int, int] = {}  # by display, which of `_kept` it shows as text

    def install(self) -> None:
        """Show what the library displays from now on."""
        set_screen(self)

    def begin(self, number: int | None = None) -> None:
        """Note that another input begins, in this task, with its number; None: a reaction."""
        self._new.clear()
        if number is not None:
            owner.set(("input", number))

    # -- The library's screen --------------------------------------------------------------------

    def post(self, number: int, bundle: Bundle, beside: Any, is_update: bool) -> None:
        """Show a bundle in the page, behind what was printed."""
        if not is_update:
            self._new.add(number)
        replaced = self._tensor_in.pop(number, None)
        if bundle["kind"] == "tensor":
            self._tensor_in[number] = kept = self._kept.add(beside, replaced)
            bundle = bundle | {"number": kept}
        elif replaced is not None:
            self._kept.drop(replaced)
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
        """The bundle of any object; a tensor's number is added once it is posted."""
        bundle = self._described(value)
        if bundle is None or bundle["kind"] == "tensor":
            is_late = not blocking and hasattr(type(value), "__repr_async__")
            text = await value.__repr_async__() if is_late else repr(value)
            bundle = (bundle or {"kind": "text"}) | {"text": text}
        return bundle

    # -- Results ---------------------------------------------------------------------------------

    def describe(self, value: Any) -> Bundle | None:
        """What is shown beside, or instead of, a value's repr; None for the repr alone."""
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
        """Compute a view of a tensor that was shown, or a form to save it in, and post it.

        `request` is the "view" command of the page, as JSON.
        """
        asked = json.loads(request)
        x = self._kept.get(asked["number"])
        if x is None:
            text = "This tensor is not kept any more. Run its expression again to look at it."
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

        `request` is the "draw" command of the page, as JSON, and `frame` the pixels that came with
        it, as a buffer of uint32, or None.
        """
        from . import views
        from .gallery import LEVELS, live_picture

        asked = json.loads(request)
        x = live_picture(asked["name"], asked["code"], asked["values"], frame)
        self._answer(*await views.drawn(x, self._can_block(), LEVELS))

    def _answer(self, bundle: Bundle, pixels: Any) -> None:
        """Post what the running command of the page asked for."""
        self._port.post(0, json.dumps(bundle), pixels, False)


# -- Objects of other libraries ------------------------------------------------------------------

MIME_KINDS = {"text/html": "html", "image/svg+xml": "svg", "image/png": "png"}
"""What is shown of an object, the most telling first."""


def described_object(value: Any) -> Bundle | None:
    """The first of an object's rich forms that it gives; None if it has none."""
    for kind, data in _forms(value):
        text = _as_text(kind, data)
        if text and len(text) <= LARGEST_TEXT:
            return {"kind": kind, "data": text, "label": f"Output of type {type(value).__name__}"}
    return None


def _forms(value: Any) -> Iterable[tuple[str, Any]]:
    """Kind and data of each form, computed one after another."""
    mimes = _called(value, "_repr_mimebundle_")
    if isinstance(mimes, tuple):
        mimes = mimes[0] if mimes else None  # beside it there is metadata
    if isinstance(mimes, Mapping):
        yield from ((kind, mimes.get(mime)) for mime, kind in MIME_KINDS.items())
    for kind in MIME_KINDS.values():
        data = _called(value, f"_repr_{kind}_")
        yield kind, data[0] if isinstance(data, tuple) and data else data


def _called(value: Any, name: str) -> Any:
    """What a method without arguments gives; None if it is not there or fails."""
    try:
        method = getattr(type(value), name, None) and getattr(value, name)
        return method() if callable(method) else None
    except Exception:
        return None


def _as_text(kind: str, data: Any) -> str | None:
    """Data as it travels: markup as it is, a PNG in base64."""
    if isinstance(data, bytes | bytearray | memoryview):
        if kind == "png":
            return binascii.b2a_base64(data, newline=False).decode("ascii")
        return bytes(data).decode("utf-8", "replace")
    return data if isinstance(data, str) else None
