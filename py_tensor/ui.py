"""Controls that the user of a page moves, and functions that run again as they do.

>>> import py_tensor as pt
>>> zoom = pt.ui.slider(1, 100, value=10, label="zoom")
>>> zoom.value
10

In a page that shows displays, `pt.display(zoom)` shows the control, and `interact` shows controls
with the output of a function below them. Elsewhere nothing can be moved: a control has its first
value, and `interact` calls its function once.
"""

from __future__ import annotations

import inspect
import math
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import count
from typing import Any, Generic, TypeVar, cast, overload
from weakref import WeakValueDictionary

from py_tensor.display.screen import (
    Bundle,
    Display,
    Outputs,
    Widget,
    display,
    has_screen,
)
from py_tensor.errors import WaitError

__all__ = ["Control", "Interaction", "button", "checkbox", "choice", "interact", "number", "slider"]

T = TypeVar("T")
Real = int | float
Function = Callable[..., Any]

KEPT = 200
"""How many of those that were shown last stay alive when nothing else refers to them."""

_numbers = count(1)
_known: WeakValueDictionary[int, _Target] = WeakValueDictionary()
_kept: OrderedDict[int, _Target] = OrderedDict()


def __dir__() -> list[str]:
    return __all__


class _Target(Widget):
    """What is called as controls move, and has outputs below them.

    Attributes
    ----------
    id : int
        By which the page knows it.
    """

    def __init__(self) -> None:
        self.id = next(_numbers)
        self._outputs = Outputs()
        _known[self.id] = self

    def bundle(self) -> Bundle:
        self._outputs = Outputs()  # below the place where it is shown now
        _kept[self.id] = self
        _kept.move_to_end(self.id)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
        return {"kind": "controls"}

    def _calls(self) -> Iterator[Callable[[], Any]]:
        """What is to be called."""
        raise NotImplementedError

    async def run(self) -> None:
        """Call the functions; what they show replaces what they showed before."""
        with self._outputs.replaced():
            for call in self._calls():
                result = call()
                if inspect.isawaitable(result):
                    result = await result
                if result is not None and not isinstance(result, Display | Widget):
                    display(result)
        await self._outputs.finish()


class Control(_Target, Generic[T]):
    """A value that the user of a page changes.

    Made by `slider`, `number`, `checkbox`, `choice` and `button`.

    Attributes
    ----------
    label : str
        What stands beside it.
    """

    def __init__(self, label: Any, sent: Any, form: Bundle, parse: Callable[[Any], T]) -> None:
        if not isinstance(label, str):
            raise TypeError(f"{form['type']}: label is a str, not {_described(label)}")
        super().__init__()
        self.label = label
        self._form = form
        self._parse = parse
        self._sent = sent  # the value as the page knows it
        self._value = parse(sent)
        self._functions: list[Function] = []
        self._interactions: list[Interaction] = []

    @property
    def value(self) -> T:
        """The value now. A loop that updates a display sees each change."""
        return self._value

    def on_change(self, function: Callable[[T], Any]) -> Callable[[T], Any]:
        """Call ``function(value)`` after each change.

        It runs when no input does. Of the changes that come while it runs, or waits for its turn,
        the last one counts. What it prints and displays, and what it returns, is shown below the
        control, in place of what the call before showed.

        Returns
        -------
        callable
            The function, so that ``@control.on_change`` can stand above it.
        """
        if not callable(function):
            raise TypeError(f"on_change: takes a function, not {_described(function)}")
        self._functions.append(function)
        return function

    def bundle(self) -> Bundle:
        return super().bundle() | {"target": None, "controls": [self.described()]}

    def described(self, name: str = "") -> Bundle:
        """The control as the page draws it; `name` is its label where it has none."""
        label = self.label or name or self._form["type"]
        return self._form | {"number": self.id, "label": label, "value": self._sent}

    def take(self, sent: Any) -> list[int]:
        """The user changed it; gives the numbers of what is to be called."""
        self._value = self._parse(sent)
        self._sent = sent
        own = [self.id] if self._functions else []
        return [*(interaction.id for interaction in self._interactions), *own]

    def feed(self, interaction: Interaction) -> None:
        """Have an interaction called at each change."""
        if interaction not in self._interactions:
            self._interactions.append(interaction)

    def _calls(self) -> Iterator[Callable[[], Any]]:
        return (lambda f=f: f(self._value) for f in self._functions)

    def __repr__(self) -> str:
        label = f" {self.label!r}" if self.label else ""
        return f"<{self._form['type']}{label}: {self._value!r}>"


class Interaction(_Target):
    """A function that is called again as its controls change, made by `interact`.

    Calling it calls the function.

    Attributes
    ----------
    function : callable
    controls : dict of str and Control
        By the name of the parameter that each gives.
    """

    def __init__(self, function: Function, controls: Mapping[str, Any]) -> None:
        if not callable(function):
            raise TypeError(f"interact: takes a function, not {_described(function)}")
        if not controls:
            raise TypeError("interact: needs a control for at least one parameter of the function")
        super().__init__()
        self.function = function
        self.controls = {name: _control(name, value) for name, value in controls.items()}
        _check_call(function, self.controls)
        for control in self.controls.values():
            control.feed(self)
        if has_screen():
            display(self)
        else:
            _finish(self.run())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def bundle(self) -> Bundle:
        described = [control.described(name) for name, control in self.controls.items()]
        return super().bundle() | {"target": self.id, "controls": described}

    def _calls(self) -> Iterator[Callable[[], Any]]:
        values = {name: control.value for name, control in self.controls.items()}
        yield lambda: self.function(**values)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"<Interaction {name}({', '.join(self.controls)})>"


# -- Controls ------------------------------------------------------------------------------------


def slider(
    start: float,
    stop: float,
    step: float | None = None,
    *,
    value: float | None = None,
    label: str = "",
) -> Control[Any]:
    """A number within a range, by a slider.

    Parameters
    ----------
    start, stop : int or float
        The least and the largest value.
    step : int or float, optional
        From one value to the next; by default 1 where all numbers are ints, else a hundredth of the
        range.
    value : int or float, optional
        The first one, rounded to a whole number of steps from `start`; by default `start`.
    label : str, optional
        What stands beside it; in `interact`, by default the name of the parameter.

    Returns
    -------
    Control
        Whose values are ints where all numbers are, else floats.

    Raises
    ------
    TypeError
        For numbers that are no int or float, and for a label that is no str.
    ValueError
        Where `start` is not less than `stop`, for a step that is not positive, for a value outside
        the range, and for what is not finite.
    """
    given = {"start": start, "stop": stop, "step": step, "value": value}
    is_whole = _check_numbers("slider", given)
    if start >= stop:
        raise ValueError(f"slider: start must be less than stop, got {start} and {stop}")
    initial = start if value is None else value
    _check_range("slider", initial, start, stop)
    chosen = step or (1 if is_whole else (stop - start) / 100)

    def parse(sent: Any) -> Real:
        """The nearest value to a number, in decimals: 0.1 + 2 * 0.1 is 0.3."""
        first, last, by = (Decimal(repr(x)) for x in (start, stop, chosen))
        steps = min(round((min(max(sent, start), stop) - start) / chosen), int((last - first) / by))
        exact = first + steps * by
        return int(exact) if is_whole else float(exact)

    form = {"type": "slider", "start": start, "stop": stop, "step": chosen}
    return Control(label, parse(initial), form, parse)


def number(
    start: float | None = None,
    stop: float | None = None,
    step: float | None = None,
    *,
    value: float | None = None,
    label: str = "",
) -> Control[Any]:
    """A number that is typed in.

    Parameters
    ----------
    start, stop : int or float, optional
        The least and the largest value; by default there is no bound.
    step : int or float, optional
        By how much the arrow keys change it; by default 1.
    value : int or float, optional
        The first one; by default `start`, or 0.
    label : str, optional
        What stands beside it; in `interact`, by default the name of the parameter.

    Returns
    -------
    Control
        Whose values are ints where all numbers are (``number(value=0)``), else floats
        (``number(value=0.0)``).

    Raises
    ------
    TypeError
        For numbers that are no int or float, and for a label that is no str.
    ValueError
        Where `start` is not less than `stop`, for a step that is not positive, for a value outside
        the bounds, and for what is not finite.
    """
    is_whole = _check_numbers(
        "number", {"start": start, "stop": stop, "step": step, "value": value}
    )
    least = -math.inf if start is None else start
    largest = math.inf if stop is None else stop
    if least >= largest:
        raise ValueError(f"number: start must be less than stop, got {start} and {stop}")
    first = value if value is not None else (start if start is not None else 0)
    _check_range("number", first, least, largest)

    def parse(sent: Any) -> Real:
        within = min(max(sent, least), largest)
        return round(within) if is_whole else float(within)

    form = {"type": "number", "start": start, "stop": stop, "step": step or 1, "whole": is_whole}
    return Control(label, parse(first), form, parse)


def checkbox(value: bool = False, *, label: str = "") -> Control[bool]:
    """True or False, by a box to tick.

    Parameters
    ----------
    value : bool
        The first one.
    label : str, optional
        What stands beside it; in `interact`, by default the name of the parameter.

    Raises
    ------
    TypeError
        For a value that is no bool, and for a label that is no str.
    """
    given: Any = value
    if not isinstance(given, bool):
        raise TypeError(f"checkbox: value is a bool, not {_described(given)}")
    return Control(label, given, {"type": "checkbox"}, bool)


def choice(
    options: Sequence[T] | Mapping[str, T], *, value: Any = None, label: str = ""
) -> Control[T]:
    """One of several values, by a list to choose from.

    Parameters
    ----------
    options : list or dict
        The values, each named by its str; or names and values.
    value : optional
        The first one; by default the first of `options`.
    label : str, optional
        What stands beside it; in `interact`, by default the name of the parameter.

    Raises
    ------
    TypeError
        For options that are no list, tuple or dict, and for a label that is no str.
    ValueError
        Without options, and for a value that is none of them.
    """
    if isinstance(options, Mapping):
        named: Mapping[str, T] = options
        names, values = [str(name) for name in named], list(named.values())
    elif isinstance(options, list | tuple):
        values = list(cast("Sequence[T]", options))
        names = [str(option) for option in values]
    else:
        raise TypeError(f"choice: options is a list or a dict, not {_described(options)}")
    if not values:
        raise ValueError("choice: needs at least one option")
    if value is not None and value not in values:
        raise ValueError(f"choice: value {value!r} is none of the options {', '.join(names)}")
    first = 0 if value is None else values.index(value)
    return Control(label, first, {"type": "choice", "options": names}, values.__getitem__)


def button(label: str = "Run") -> Control[int]:
    """A button, whose value is how many times it was pressed.

    Parameters
    ----------
    label : str
        What stands on it.

    Raises
    ------
    TypeError
        For a label that is no str.
    """
    return Control(label, 0, {"type": "button"}, int)


# -- Interactions --------------------------------------------------------------------------------


@overload
def interact(function: Function, /, **controls: Any) -> Interaction: ...
@overload
def interact(**controls: Any) -> Callable[[Function], Interaction]: ...
def interact(function: Function | None = None, /, **controls: Any) -> Any:
    """Show controls, and call a function with their values now and after each change.

    In a page the first call comes when the input that runs has ended, and each further one when no
    input runs. Of the changes that come while a call runs, or waits for its turn, the last one
    counts. What the function prints and displays, and what it returns, is shown below the controls;
    the next call shows its own in the same places, at most once for each frame of the screen. An
    error is shown there too, and the controls stay usable. A coroutine function is awaited.

    Where displays are printed rather than shown, the function is called once, with the first
    values.

    Parameters
    ----------
    function : callable, optional
        Gets the values by keyword. Without it, a decorator is returned.
    **controls
        A control for each parameter. Instead of a control, a bool stands for `checkbox`, a number
        for `number`, a tuple of two or three numbers for `slider`, a list or a dict for `choice`.

    Returns
    -------
    Interaction or callable
        Which can be called as the function can.

    Raises
    ------
    TypeError
        Without controls, for what stands for no control, and where the function does not take these
        parameters.
    ValueError
        Where a number, a tuple or a list makes no control.

    Examples
    --------
    >>> import py_tensor as pt
    >>> @pt.ui.interact(n=pt.ui.slider(1, 9, value=3), reverse=False)
    ... def count(n, reverse):
    ...     return pt.arange(n)[::-1] if reverse else pt.arange(n)
    tensor([0, 1, 2])
    """
    if function is None:

        def decorate(decorated: Function) -> Interaction:
            return Interaction(decorated, controls)

        return decorate
    return Interaction(function, controls)


def _control(name: str, value: Any) -> Control[Any]:
    """A control, or what a value stands for."""
    match value:
        case Control():
            return cast("Control[Any]", value)
        case bool():
            return checkbox(value)
        case int() | float():
            return number(value=value)
        case tuple() if len(cast("tuple[Any, ...]", value)) in (2, 3):
            return slider(*cast("tuple[Any, ...]", value))
        case list() | dict():
            return choice(cast("list[Any]", value))
        case _:
            raise TypeError(
                f"interact: {name} is a control, a bool, a number, a tuple of two or three "
                f"numbers, a list or a dict, not {_described(value)}"
            )


def _check_call(function: Function, controls: Mapping[str, Any]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a builtin: the call itself will tell
        return
    try:
        signature.bind(**controls)
    except TypeError as error:
        raise TypeError(f"interact: {error}") from None


def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Run to its end what has nothing to wait for."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise WaitError("interact: a coroutine function that waits needs a page that shows displays")


# -- From the page -------------------------------------------------------------------------------


def changed(number: int, sent: Any) -> list[int] | None:
    """Set a control; gives the numbers of what is to be run then, or None if it is gone."""
    control = _known.get(number)
    return control.take(sent) if isinstance(control, Control) else None


async def run(number: int) -> None:
    """Call what has this number."""
    if (target := _known.get(number)) is not None:
        await target.run()


# -- Checks --------------------------------------------------------------------------------------


def _check_numbers(name: str, given: Mapping[str, Any]) -> bool:
    """Whether all that are given are ints."""
    there = {what: value for what, value in given.items() if value is not None}
    for what, value in there.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{name}: {what} is an int or a float, not {_described(value)}")
        if not math.isfinite(value):
            raise ValueError(f"{name}: {what} must be finite, got {value}")
    if there.get("step", 1) <= 0:
        raise ValueError(f"{name}: step must be positive, got {there['step']}")
    return all(isinstance(value, int) for value in there.values())


def _check_range(name: str, value: Real, start: Real, stop: Real) -> None:
    if not start <= value <= stop:
        raise ValueError(f"{name}: value must be from {start} to {stop}, got {value}")


def _described(value: object) -> str:
    return (
        f"{type(value).__name__} {value!r}"
        if isinstance(value, str | bytes | int | float)
        else type(value).__name__
    )
