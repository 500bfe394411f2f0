"""Displays: `pt.imshow` and `pt.display`, and their updates.

A host that can show more than text registers with `set_screen`. Without such a host, IPython
notebooks get pictures as PNG and charts as SVG (`mime.py`). Otherwise text is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Coroutine, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, cast

from py_tensor.convert.presentation import can_wait, check_can_wait, drawable, finish, install
from py_tensor.display.shapes import is_colour, is_picturable
from py_tensor.tensors.tensor import Tensor

if TYPE_CHECKING:
    import asyncio

__all__ = ["Display", "display", "imshow"]

Bundle = dict[str, Any]
"""The content of a display as JSON values: its "kind" and the fields of that kind."""


class Screen(Protocol):
    """A host that shows bundles."""

    def post(self, number: int, bundle: Bundle, beside: Any, is_update: bool) -> None:
        """Show a bundle as display `number`, or replace the content of that display.

        `beside` is the result of `pictures.taken` for a bundle of kind "image", the value itself
        for a bundle made by `present`, and None otherwise.
        """
        ...

    async def drawn(self, number: int, blocking: bool) -> None:
        """Wait until the last update of a display is drawn; if `blocking`, without suspending."""
        ...

    async def present(self, value: Any, blocking: bool) -> Bundle:
        """Return the bundle of any object."""
        ...


Changes = dict[str, Any]
_Make = Callable[[Any, Changes, Changes], "Content"]
"""Makes a content from a value, the options of the display, and the options of this call."""

_screen: Screen | None = None
_numbers = count(1)
_tasks: set[asyncio.Task[None]] = set()  # keeps running tasks alive; asyncio holds weak references


def _mime() -> Any:
    """Return what makes the forms of notebooks, imported at first use."""
    from py_tensor.display import mime

    return mime


def set_screen(screen: Screen | None) -> None:
    """Set the screen that shows displays; with None, displays are printed."""
    global _screen
    _screen = screen


def has_screen() -> bool:
    """Return whether a screen shows displays."""
    return _screen is not None


class Outputs:
    """The displays of a function that is called repeatedly.

    The n-th display of a call is shown in the slot of the n-th display of the previous call.
    """

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._used = 0

    @contextmanager
    def replaced(self) -> Generator[None]:
        """Run one call: its new displays replace those of the previous call."""
        self._used = 0
        token = _outputs.set(self)
        try:
            yield
        finally:
            _outputs.reset(token)

    def take(self) -> _Slot:
        """Return the slot for the next display of this call."""
        if self._used == len(self._slots):
            self._slots.append(_Slot())
        self._used += 1
        return self._slots[self._used - 1]

    async def finish(self) -> None:
        """Wait for the displays of this call, and empty those of the previous call that remain."""
        for slot in self._slots[: self._used]:
            if slot.task is not None:
                await slot.task
        for slot in self._slots[self._used :]:
            slot.empty()


_outputs: ContextVar[Outputs | None] = ContextVar("outputs", default=None)

Owner = tuple[str, int]
"""The running input ("input", number), or the call of a control's function ("call", number)."""

owner: ContextVar[Owner | None] = ContextVar("owner", default=None)
"""The owner of what this task shows and registers; None if the host sets none."""


class _Slot:
    """What a screen shows as one display: a content, replaced in place by later ones.

    Attributes
    ----------
    number : int
        The number that identifies the display.
    content : Content
        The latest content.
    task : asyncio.Task or None
        Shows a content that waits for a GPU.
    shown_by : Any
        The execution count of the notebook cell that showed it last.
    """

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.content = Content(None)
        self.task: asyncio.Task[None] | None = None
        self.shown_by: Any = None
        self.is_shown = False
        self._made = 0  # the number of contents made so far
        self._latest = 0  # the number of the latest content shown

    def start(self, content: Content) -> None:
        """Show a content: now, or in a task if it waits for a GPU and Python cannot block."""
        if _screen is None or not content.must_wait() or can_wait():
            finish(self.show(content, blocking=True))
        else:
            import asyncio

            if not self.is_shown:
                _screen.post(self.number, {"kind": "text", "text": "…"}, None, False)
                self.is_shown = True
            work = self._shown_or_failed(self._next(content), content, _screen)
            self.task = task = asyncio.ensure_future(work)
            _tasks.add(task)
            task.add_done_callback(_tasks.discard)

    def show(self, content: Content, blocking: bool) -> Coroutine[Any, Any, None]:
        """Return a coroutine that shows a content, unless a later one has been shown already."""
        return self._shown(self._next(content), content, blocking)

    async def _shown(self, number: int, content: Content, blocking: bool) -> None:
        screen = _screen
        if screen is None:
            if not self.publish(content) and not content.is_printed:
                content.is_printed = True
                print(await content.text(blocking))
            return
        bundle, beside = await content.bundle(screen, blocking)
        if self.is_shown:
            await screen.drawn(self.number, blocking)
        self._post(screen, number, bundle, beside)

    async def _shown_or_failed(self, number: int, content: Content, screen: Screen) -> None:
        """Show a content in a task; an error is shown in its place, as no caller gets it."""
        try:
            await self._shown(number, content, blocking=False)
        except BaseException as error:
            import asyncio

            is_interrupt = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
            name = "KeyboardInterrupt" if is_interrupt else type(error).__name__
            text = name if is_interrupt or not str(error) else f"{name}: {error}"
            self._post(screen, number, {"kind": "error", "text": text}, None)
            if not isinstance(error, Exception):
                raise

    def empty(self) -> None:
        """Show nothing, until the next content. Contents that are still computed are dropped."""
        self._latest = self._made
        if not self.is_shown:
            return
        if _screen is not None:
            _screen.post(self.number, {"kind": "shown"}, None, True)
        elif self.shown_by is not None:
            _mime().publish({}, self.number, is_update=True)

    def publish(self, content: Content) -> bool:
        """Show a content in the running notebook; return False if that is impossible."""
        if "IPython" not in sys.modules:
            return False
        shell = _mime().shell()
        if shell is None or (content.must_wait() and not can_wait()):
            return False
        _mime().publish(content.mimes(), self.number, self.is_shown)
        if not self.is_shown:
            self.shown_by = shell.execution_count
        self.is_shown = True
        return True

    def _next(self, content: Content) -> int:
        """Return the number of a new content; contents are numbered in order of creation."""
        self.content = content
        self._made += 1
        return self._made

    def _post(self, screen: Screen, number: int, bundle: Bundle, beside: Any) -> None:
        """Show a content, unless a later one has been shown already."""
        if number > self._latest:
            self._latest = number
            screen.post(self.number, bundle, beside, self.is_shown)
            self.is_shown = True
        elif bundle["kind"] == "image" and hasattr(beside, "close"):
            beside.close()  # a bitmap may hold GPU memory


class Display:
    """A displayed object, which `update` replaces in place.

    Attributes
    ----------
    number : int
        The number that identifies the display.
    """

    def __init__(self, make: _Make, value: Any, options: Changes) -> None:
        content = make(value, {}, options)
        outputs = _outputs.get()
        self._slot = _Slot() if outputs is None else outputs.take()
        self._make = make
        self._options = options
        if isinstance(value, Widget):
            value.shown_as = self.number
        self._move(value)
        self._slot.start(content)

    @property
    def number(self) -> int:
        return self._slot.number

    @property
    def content(self) -> Content:
        """What it shows."""
        return self._slot.content

    def update(self, value: Any, **options: Any) -> None:
        """Show another value in place; options that are not given stay unchanged.

        A value that is a display moves here: it leaves its own place, and its updates are shown
        here too.

        The call returns when the previous update is drawn, so a loop of updates runs at the frame
        rate of the screen.

        Raises
        ------
        WaitError
            If Python cannot block; await `update_async` instead.
        """
        content = self._replaced(value, options)
        if _screen is not None and self._slot.is_shown and content.must_wait():
            check_can_wait("Display.update (or `await d.update_async(x)`)")
        self._move(value)
        self._slot.start(content)

    async def update_async(self, value: Any, **options: Any) -> None:
        """Asynchronous version of `update`. The last of several concurrent updates stays."""
        content = self._replaced(value, options)
        self._move(value)
        await self._slot.show(content, blocking=False)

    def __add__(self, other: Display) -> Display:
        """Show the series of two charts in this display, and return it.

        The other display becomes empty. The values are not computed again.

        Raises
        ------
        ValueError
            If there are more than 20 series, or the bars have different names.
        """
        both = self.content.joined(other) if isinstance(cast("Any", other), Display) else None
        if both is None:
            return NotImplemented
        self._make = _refuse
        self._slot.start(both)
        if other._slot is not self._slot:
            other._slot.empty()
        return self

    def _replaced(self, value: Any, options: Changes) -> Content:
        if isinstance(value, Display):
            return _any(value, {}, options)
        content = self._make(value, self._options, options)
        self._options = self._options | options
        return content

    def _move(self, value: Any) -> None:
        """If the value is a display, make it leave its slot for that of this display."""
        if isinstance(value, Display) and value._slot is not self._slot:
            value._slot.empty()
            value._slot = self._slot

    def __repr__(self) -> str:
        return f"<Display {self.number}>"

    # -- Notebooks -------------------------------------------------------------------------------

    def _ipython_display_(self) -> None:
        """Show the display as the result of a cell, unless that cell has shown it already."""
        if self._slot.shown_by == _mime().shell().execution_count:
            return
        self._slot.is_shown = False  # start a new output in this cell; later updates go there
        self._slot.publish(self.content)

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """Return the current content as PNG (base64) or SVG and as text, by MIME type.

        If the values are on a GPU and Python cannot block, the result contains only text.
        """
        content = self.content
        can_read = not content.must_wait() or can_wait()
        mimes = content.mimes() if can_read else {"text/plain": repr(self)}
        return _mime().chosen(mimes, include, exclude)


def _repr_mimebundle(
    x: Tensor, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, str]:
    """Return the repr by MIME type, and a PNG in base64 for shapes that `imshow` accepts."""
    return _mime().chosen(_mime().of_tensor(x), include, exclude)


install("_repr_mimebundle_", _repr_mimebundle)


class Content:
    """The content of a display: a value, and its conversion to a bundle or to text."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.is_printed = False

    def must_wait(self) -> bool:
        """Return whether showing the value waits for a GPU."""
        return isinstance(self.value, Tensor) and self.value.device.waits

    async def text(self, blocking: bool) -> str:
        if self.must_wait() and not blocking:
            return await self.value.__repr_async__()
        return repr(self.value)

    async def bundle(self, screen: Screen, blocking: bool) -> tuple[Bundle, Any]:
        """Return the bundle and the `beside` argument of `Screen.post`."""
        if isinstance(self.value, Widget):
            return self.value.bundle(), None
        return await screen.present(self.value, blocking), self.value

    def joined(self, other: Display) -> Content | None:
        """Return a chart with the series of this one and of another display; None for others."""
        return None

    def mimes(self) -> dict[str, str]:
        """Return the forms that notebooks show, by MIME type."""
        return _mime().of_object(self.value)


class Widget:
    """Base class of objects that make their own bundle.

    Attributes
    ----------
    shown_as : int
        The number of the display that showed the widget last; 0 if there was none.
    """

    shown_as = 0

    def bundle(self) -> Bundle:
        """Return the bundle that a screen shows."""
        raise NotImplementedError


class _Image(Content):
    """A tensor drawn by `pictures.picture`, with title, axes and colour bar."""

    def __init__(self, op: str, value: Any, options: Changes) -> None:
        from py_tensor.display import pictures
        from py_tensor.display.options import checked_options

        x = drawable(value, op)
        pictures.check_shape(op, x)
        self._options = checked_options(op, options, x.dtype)
        super().__init__(x.copy())  # so that later writes to x do not change it
        self._has_values = not is_colour(x)

    async def bundle(self, screen: Screen, blocking: bool) -> tuple[Bundle, Any]:
        from py_tensor.display import pictures

        made = pictures.picture(self.value, self._options, pictures.can_paint(self.value))
        figure = await self._figure(blocking)  # before the pixels: an error would leak a bitmap
        label = f"Image of a tensor of shape {self.value.shape}"
        if self._has_values:
            label += f" in {self._options.cmap} colours"
        if figure and figure["colours"]:
            low, high = figure["colours"]["range"]
            label += f" from {low:g} to {high:g}"
        bundle: Bundle = {"kind": "image", "width": made.width, "height": made.height}
        bundle |= {"scale": self._options.scale, "label": label, "figure": figure}
        return bundle, await pictures.taken(made, blocking)

    def mimes(self) -> dict[str, str]:
        from py_tensor.display import pictures

        made = pictures.picture(self.value, self._options)
        figure = finish(self._figure(blocking=True))
        png: str = _mime().png_of(made, self._options.scale)
        mimes = {"text/plain": repr(self.value), "image/png": png}
        if figure is None:
            return mimes
        from py_tensor.display.drawing import enlargement, svg_of_image

        factor = enlargement(made.width, made.height, self._options.scale)
        size = made.width * factor, made.height * factor
        return mimes | {"image/svg+xml": svg_of_image(png, size, figure)}

    async def _figure(self, blocking: bool) -> Bundle | None:
        """Return what is drawn around the picture; the range of values is read for a colour bar."""
        from py_tensor.display import pictures

        o = self._options
        has_bar = o.colorbar and self._has_values
        has_axes = bool(o.xlabel or o.ylabel or o.extent) or o.colorbar
        if not (has_axes or o.title):
            return None
        ends = [0.0, 0.0]
        if has_bar and (o.vmin is None or o.vmax is None):
            ends = await pictures.numbers(pictures.value_ends(self.value), blocking)
        return pictures.figure_facts(o, self.value, ends, has_axes)


def _refuse(value: Any, kept: Changes, changed: Changes) -> Content:
    """Raise TypeError for an update of a sum of charts."""
    raise TypeError("update: a sum of charts cannot be updated; draw its charts again")


def _image(value: Any, kept: Changes, changed: Changes) -> Content:
    """Make the content of `imshow`."""
    return _Image("imshow", value, kept | changed)


def _any(value: Any, kept: Changes, changed: Changes) -> Content:
    """Make the content of `display`; only tensors with the shape of a picture take options."""
    if isinstance(value, Display) and not changed:
        return value.content
    if isinstance(value, Tensor) and is_picturable(value):
        return _Image("display", value, kept | changed)
    if changed:
        is_tensor = isinstance(value, Tensor)
        kind = f"a tensor of shape {value.shape}" if is_tensor else type(value).__name__
        raise TypeError(f"display: {', '.join(changed)} is for images, not for {kind}")
    return Content(value)


def imshow(
    x: Any,
    cmap: str = "viridis",
    *,
    vmin: float | None = None,
    vmax: float | None = None,
    scale: float | None = None,
    colorbar: bool = True,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    extent: tuple[float, float, float, float] | None = None,
) -> Display:
    """Show a tensor as an image, with the first row on top.

    On a GPU the pixels are computed there and drawn to the canvas without being read. The minimum
    and maximum are read for the colour bar, unless both bounds are given.

    Parameters
    ----------
    x
        A tensor of shape (H, W) with values for the colour map, or of shape (H, W, 3) or (H, W, 4)
        with RGB or RGBA, as floats from 0 to 1 or integers from 0 to 255. A side longer than 4096
        is subsampled.
    cmap : {"viridis", "magma", "inferno", "coolwarm", "gray"}
        The colour map.
    vmin, vmax
        The values of the first and the last colour; by default the smallest and largest finite
        element. Values outside are clipped; NaN is transparent.
    scale
        CSS pixels per element; by default small images are enlarged.
    colorbar : bool
        Whether to draw axes, and a colour bar for values; False shows only the image.
    title, xlabel, ylabel : str
        The title of the image and the labels of its axes.
    extent : (left, right, bottom, top), optional
        The values at the ends of the axes; by default column and row numbers.

    Returns
    -------
    Display
        Its `update` shows another image in place.

    Raises
    ------
    ShapeError
        If the shape is different.
    TypeError
        If an option has a wrong type.
    ValueError
        If the colour map is unknown, a bound is not finite, `vmin` is not less than `vmax`, the
        scale is not positive and finite, or the extent has no width or height.
    """
    options = dict(locals())  # a tracer adds later locals to `locals()` itself
    return Display(_image, options.pop("x"), options)


def display(value: Any, **options: Any) -> Display:
    """Show any object, and return a handle that can replace it.

    A tensor of shape (H, W), (H, W, 3) or (H, W, 4) is shown as by `imshow`, with the same options,
    but without a colour bar and axes unless an option requests them. Any other object is shown like
    a result in the console.

    Returns
    -------
    Display
        ``d.update(y)`` shows y in place, at most once per frame of the screen; use ``await
        d.update_async(y)`` if Python cannot block.

    Examples
    --------
    >>> import py_tensor as pt
    >>> d = pt.display(pt.arange(3))
    tensor([0, 1, 2])
    >>> d.update(pt.arange(3) * 2)
    tensor([0, 2, 4])
    """
    return Display(_any, value, options)
