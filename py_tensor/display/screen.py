"""Displays: `pt.imshow`, `pt.plot` and `pt.display`, and their updates.

A host that can show more than text registers with `set_screen`. Otherwise text is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from py_tensor.backend.device import GPU_DEVICE
from py_tensor.backend.host import host
from py_tensor.convert.conversion import drawable
from py_tensor.display.options import chart_options, image_options
from py_tensor.display.pictures import (
    can_paint,
    check_shape,
    discard,
    is_colour,
    is_picturable,
    picture,
    taken,
)
from py_tensor.errors import ShapeError, WaitError
from py_tensor.tensor import Tensor

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
Bundle = dict[str, Any]
"""What is shown, as JSON-able values: its "kind" and what that needs."""


class Screen(Protocol):
    """A host that shows bundles."""

    def post(self, number: int, bundle: Bundle, beside: Any, is_update: bool) -> None:
        """Show a bundle as display `number`, or in place of what that shows.

        `beside` is what `pictures.taken` gave for a bundle of kind "image", and the value of one
        that `present` made.
        """
        ...

    async def drawn(self, number: int, blocking: bool) -> None:
        """Return once the last update of a display was drawn; blocking: without suspending."""
        ...

    async def present(self, value: Any, blocking: bool) -> Bundle:
        """The bundle of any object."""
        ...


Options = dict[str, Any]
_Make = Callable[[Any, Options, Options], "_Content"]
"""From a value, the options kept so far, and those given with this value."""

_screen: Screen | None = None
_numbers = count(1)
_tasks: set[asyncio.Task[None]] = set()  # those under way, which nothing else refers to


def set_screen(screen: Screen | None) -> None:
    """Set the screen that shows displays; None prints them."""
    global _screen
    _screen = screen


class Display:
    """A displayed object, which `update` replaces in place.

    Attributes
    ----------
    number : int
        Its own.
    """

    def __init__(self, make: _Make, value: Any, options: Options) -> None:
        content = make(value, {}, options)
        self.number = next(_numbers)
        self._make = make
        self._options = options
        self._is_shown = False
        self._made = 0  # how many contents it has had
        self._latest = 0  # which of them was the last to be shown
        self._show(content)

    def update(self, value: Any, **options: Any) -> None:
        """Show another value in place; options that are not given are unchanged.

        Returns when the previous update was drawn, so a loop of updates runs at the frame rate of
        the screen.

        Raises
        ------
        WaitError
            If Python cannot block; await `update_async` instead.
        """
        self._show(self._replaced(value, options))

    async def update_async(self, value: Any, **options: Any) -> None:
        """Asynchronous version of `update`. Of several concurrent updates the last one stays."""
        content = self._replaced(value, options)
        await self._shown(content, self._next(), blocking=False)

    def _replaced(self, value: Any, options: Options) -> _Content:
        content = self._make(value, self._options, options)
        self._options = self._options | options
        return content

    def _show(self, content: _Content) -> None:
        if _screen is None or not content.must_wait() or host.can_wait():
            _finish(self._shown(content, self._next(), blocking=True))
        elif self._is_shown:
            host.check_can_wait("Display.update (or `await d.update_async(x)`)")
        else:
            import asyncio

            _screen.post(self.number, {"kind": "text", "text": "…"}, None, False)
            self._is_shown = True
            work = self._shown_or_failed(content, self._next(), _screen)
            task = asyncio.ensure_future(work)
            _tasks.add(task)
            task.add_done_callback(_tasks.discard)

    async def _shown(self, content: _Content, number: int, blocking: bool) -> None:
        screen = _screen
        if screen is None:
            print(await content.text(blocking))
            return
        bundle, beside = await content.bundle(screen, blocking)
        if self._is_shown:
            await screen.drawn(self.number, blocking)
        self._post(screen, number, bundle, beside)

    async def _shown_or_failed(self, content: _Content, number: int, screen: Screen) -> None:
        """The same where nobody waits, whom an error could reach: it is shown instead."""
        try:
            await self._shown(content, number, blocking=False)
        except BaseException as error:
            import asyncio

            is_interrupt = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
            name = "KeyboardInterrupt" if is_interrupt else type(error).__name__
            text = name if is_interrupt or not str(error) else f"{name}: {error}"
            self._post(screen, number, {"kind": "error", "text": text}, None)
            if not isinstance(error, Exception):
                raise

    def _next(self) -> int:
        """The number of one more content, in the order in which they are made."""
        self._made += 1
        return self._made

    def _post(self, screen: Screen, number: int, bundle: Bundle, beside: Any) -> None:
        """Show a content, unless a later one was faster."""
        if number > self._latest:
            self._latest = number
            screen.post(self.number, bundle, beside, self._is_shown)
            self._is_shown = True
        elif bundle["kind"] == "image":
            discard(beside)

    def __repr__(self) -> str:
        return f"<Display {self.number}>"


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits by blocking, and so never suspends."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    work.close()
    raise WaitError("display: the host's screen suspended where it was to block")


class _Content:
    """What a display shows: a value, and how it becomes a bundle or text."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def must_wait(self) -> bool:
        """Whether showing it waits for a GPU."""
        return isinstance(self.value, Tensor) and self.value.device is GPU_DEVICE

    async def text(self, blocking: bool) -> str:
        if self.must_wait() and not blocking:
            return await self.value.__repr_async__()
        return repr(self.value)

    async def bundle(self, screen: Screen, blocking: bool) -> tuple[Bundle, Any]:
        """The bundle, and what goes with it to `Screen.post`."""
        return await screen.present(self.value, blocking), self.value


class _Image(_Content):
    """A tensor through `pictures.picture`."""

    def __init__(self, op: str, value: Any, options: Options) -> None:
        x = drawable(value, op)
        check_shape(op, x)
        chosen = image_options(op, options, x.dtype)
        super().__init__(x)
        self._scale = chosen.scale
        self._drawn = picture(x, chosen, premultiplied=can_paint(x))
        self._cmap = "" if is_colour(x) else chosen.cmap

    async def bundle(self, screen: Screen, blocking: bool) -> tuple[Bundle, Any]:
        width, height = self._drawn.width, self._drawn.height
        label = f"Image of a tensor of shape {self.value.shape}"
        bundle = {
            "kind": "image",
            "width": width,
            "height": height,
            "scale": self._scale,
            "label": f"{label} in {self._cmap} colours" if self._cmap else label,
        }
        return bundle, await taken(self._drawn, blocking)


class _Plot(_Content):
    """A chart of y, or of a tuple (x, y)."""

    def __init__(self, value: Any, options: Options) -> None:
        from py_tensor.display.charts import chart

        chosen = chart_options("plot", options)
        pair = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value, None)
        if len(pair) != 2:
            raise ShapeError(f"plot: takes y or a pair (x, y), not a tuple of {len(pair)}")
        self._chart = chart(*pair, chosen)
        super().__init__(self._chart)

    def must_wait(self) -> bool:
        return any(GPU_DEVICE in (s.x.device, s.y.device) for s in self._chart.series)

    async def text(self, blocking: bool) -> str:
        return self._chart.summary()

    async def bundle(self, screen: Screen, blocking: bool) -> tuple[Bundle, Any]:
        return await self._chart.bundle(blocking), None


def _image(value: Any, kept: Options, given: Options) -> _Content:
    """How `imshow` shows a value."""
    return _Image("imshow", value, kept | given)


def _plot(value: Any, kept: Options, given: Options) -> _Content:
    """How `plot` shows a value."""
    return _Plot(value, kept | given)


def _any(value: Any, kept: Options, given: Options) -> _Content:
    """How `display` shows a value: what can be a picture as one, to which alone options apply."""
    if isinstance(value, Tensor) and is_picturable(value):
        return _Image("display", value, kept | given)
    if given:
        kind = (
            f"a tensor of shape {value.shape}"
            if isinstance(value, Tensor)
            else type(value).__name__
        )
        raise TypeError(f"display: {', '.join(given)} is for images, not for {kind}")
    return _Content(value)


def imshow(
    x: Any,
    *,
    vmin: float | None = None,
    vmax: float | None = None,
    cmap: str = "viridis",
    scale: float | None = None,
) -> Display:
    """Show a tensor as an image, with the first row on top.

    On a GPU the pixels are computed there and drawn to the canvas without being read.

    Parameters
    ----------
    x
        A tensor of shape (H, W) with values for the colour map, or of shape (H, W, 3) or (H, W, 4)
        with RGB or RGBA, as floats from 0 to 1 or integers from 0 to 255. A side longer than 4096
        is subsampled.
    vmin, vmax
        The values of the first and the last colour; by default the smallest and largest finite
        element. Values outside are clipped; NaN is transparent.
    cmap : {"viridis", "magma", "inferno", "coolwarm", "gray"}
        The colour map.
    scale
        CSS pixels per element; by default small images are enlarged.

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
        If the colour map is unknown, a bound is not finite, `vmin` is not less than `vmax`, or the
        scale is not positive and finite.
    """
    return Display(_image, x, {"vmin": vmin, "vmax": vmax, "cmap": cmap, "scale": scale})


def plot(
    x: Any,
    y: Any = None,
    *,
    label: Any = None,
    kind: str = "line",
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> Display:
    """Plot one or more series.

    For a line of more than 2000 points, the minimum and maximum of each of 1000 slices are drawn;
    they are computed on the device of the series.

    Parameters
    ----------
    x, y
        ``plot(y)`` plots y against its indices, ``plot(x, y)`` against a 1-D x. y is 1-D, 2-D with
        a series in each column, a list of series, or a dict of labels and series.
    label : str or list of str, optional
        The names of the series in the legend.
    kind : {"line", "scatter"}
    title, xlabel, ylabel : str
    xscale, yscale : {"linear", "log"}
        Values that are not positive are not drawn on a log axis.

    Returns
    -------
    Display
        Its ``update(y)`` or ``update((x, y))`` draws other series in the same style.

    Raises
    ------
    ShapeError
        If a series is not 1-D, or x and y differ in length.
    TypeError
        If an option has a wrong type.
    ValueError
        If the kind or a scale is unknown, or there are more than 20 series.
    """
    options: dict[str, Any] = {
        "label": label,
        "kind": kind,
        "title": title,
        "xlabel": xlabel,
        "ylabel": ylabel,
        "xscale": xscale,
        "yscale": yscale,
    }
    alone = list(cast("tuple[Any, ...]", x)) if isinstance(x, tuple) else x
    return Display(_plot, alone if y is None else (x, y), options)


def display(value: Any, **options: Any) -> Display:
    """Show any object, and return a handle that can replace it.

    A tensor of shape (H, W), (H, W, 3) or (H, W, 4) is shown like `imshow`, with the same options;
    any other object is shown like a result in the console.

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
