"""Interactive controls, and functions that run again when they change.

>>> import py_tensor as pt
>>> zoom = pt.ui.slider(1, 100, value=10, label="zoom")
>>> zoom.value
10

In a page that shows displays, `pt.display(zoom)` shows the control, and `interact` shows controls
with the output of a function below them. Elsewhere controls cannot be changed: a control keeps its
initial value, and `interact` calls its function once.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import partial
from itertools import count
from typing import Any, Generic, TypeVar, cast, overload
from weakref import WeakValueDictionary

from py_tensor.convert.presentation import finish
from py_tensor.display.options import type_text
from py_tensor.display.screen import (
    Bundle,
    Display,
    Outputs,
    Owner,
    Widget,
    display,
    has_screen,
    owner,
)

__all__ = ["Control", "Interaction", "button", "checkbox", "choice", "interact", "number", "slider"]

T = TypeVar("T")
Real = int | float
Function = Callable[..., Any]
_FIRST: Any = object()  # a default that means the first option

KEPT = 200
"""The number of most recently shown controls that stay alive without other references."""

_MUST_NOT_WAIT = "interact: a coroutine function that waits needs a page that shows displays"
_LARGEST = Decimal(sys.float_info.max)

_numbers = count(1)
_known: WeakValueDictionary[int, _Target] = WeakValueDictionary()
_kept: OrderedDict[int, _Target] = OrderedDict()


def __dir__() -> list[str]:
    return __all__


class _Target(Widget):
    """A control or interaction: calls functions when controls change, and shows their outputs.

    Attributes
    ----------
    id : int
        The number that identifies it on the page.
    """

    def __init__(self) -> None:
        self.id = next(_numbers)
        self._outputs = Outputs()
        _known[self.id] = self

    def bundle(self) -> Bundle:
        self._outputs = Outputs()  # new outputs, below the widget's new place
        _kept[self.id] = self
        _kept.move_to_end(self.id)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
        return {"kind": "controls"}

    def _calls(self) -> Iterator[Callable[[], Any]]:
        """Return the calls to make."""
        raise NotImplementedError

    async def run(self) -> None:
        """Call the functions; their displays and registrations replace those of the last call."""
        itself = ("call", self.id)
        forget(itself)
        token = owner.set(itself)
        try:
            with self._outputs.replaced():
                for call in self._calls():
                    result = call()
                    if inspect.isawaitable(result):
                        result = await result
                    if result is not None and not isinstance(result, Display | Widget):
                        display(result)
        finally:
            owner.reset(token)
        await self._outputs.finish()


class Control(_Target, Generic[T]):
    """A value that the user of a page can change.

    Created by `slider`, `number`, `checkbox`, `choice` and `button`.

    Attributes
    ----------
    label : str
        The text beside the control.
    interactions
        Those that are called with its value, by their numbers.
    """

    def __init__(self, label: Any, sent: Any, form: Bundle, parse: Callable[[Any], T]) -> None:
        if not isinstance(label, str):
            raise TypeError(f"{form['type']}: label must be a str, not {type_text(label)}")
        super().__init__()
        self.label = label
        self._form = form
        self._parse = parse
        self._sent = sent  # the value in the page's form
        self._value = parse(sent)
        self._functions: list[tuple[Function, Owner | None]] = []
        self.interactions: WeakValueDictionary[int, Interaction] = WeakValueDictionary()

    @property
    def value(self) -> T:
        """The current value. A loop that updates a display sees each change."""
        return self._value

    def on_change(self, function: Callable[[T], Any]) -> Callable[[T], Any]:
        """Register a function that is called with the value after each change.

        It runs when no input is running. If several changes happen while it runs or waits, only the
        last one is used. Its printed output, displays and return value are shown below the control
        and replace those of the previous call.

        A function registered by a cell of the page's editor is dropped when the cell runs again or
        its output is cleared. A function registered by a function of `interact` or `on_change` is
        dropped when the latter is called again.

        Returns
        -------
        callable
            The function, so that ``@control.on_change`` works as a decorator.
        """
        if not callable(function):
            raise TypeError(f"on_change: takes a function, not {type_text(function)}")
        self._functions.append((function, owner.get()))
        return function

    def bundle(self) -> Bundle:
        return super().bundle() | {"target": None, "controls": [self.described()]}

    def described(self, name: str = "") -> Bundle:
        """Return the control's description for the page; `name` is the default label."""
        label = self.label or name or self._form["type"]
        return self._form | {"number": self.id, "label": label, "value": self._sent}

    def take(self, sent: Any) -> list[int]:
        """Set a new value from the page; return the numbers of the functions to call."""
        self._value = self._parse(sent)
        self._sent = sent
        functions = [self.id] if self._functions else []
        return [*self.interactions, *functions]

    def forget(self, registrant: Owner) -> None:
        """Drop the functions that an input or a call registered."""
        self._functions = [(f, by) for f, by in self._functions if by != registrant]

    def _calls(self) -> Iterator[Callable[[], Any]]:
        return (lambda f=f: f(self._value) for f, _ in self._functions)

    def __repr__(self) -> str:
        label = f" {self.label!r}" if self.label else ""
        return f"<{self._form['type']}{label}: {self._value!r}>"


class Interaction(_Target):
    """A function that is called again when its controls change, created by `interact`.

    Calling it calls the function.

    Attributes
    ----------
    function : callable
    controls : dict of str and Control
        The controls by parameter name.
    """

    def __init__(self, function: Function, controls: Mapping[str, Any]) -> None:
        if not callable(function):
            raise TypeError(f"interact: takes a function, not {type_text(function)}")
        if not controls:
            raise TypeError("interact: needs a control for at least one parameter of the function")
        super().__init__()
        self.shown_by: Owner | None = None
        self.function = function
        self.controls = {name: _control(name, value) for name, value in controls.items()}
        _check_call(function, self.controls)
        if has_screen():
            display(self)
        else:
            finish(self.run(), _MUST_NOT_WAIT)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def bundle(self) -> Bundle:
        self.shown_by = owner.get()
        for control in self.controls.values():
            control.interactions[self.id] = self
        described = [control.described(name) for name, control in self.controls.items()]
        return super().bundle() | {"target": self.id, "controls": described}

    def end(self) -> None:
        """Disconnect from the controls until the interaction is shown again."""
        self.shown_by = None
        _kept.pop(self.id, None)
        for control in self.controls.values():
            control.interactions.pop(self.id, None)

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
    """Create a slider for a number within a range.

    Parameters
    ----------
    start, stop : int or float
        The smallest and the largest value.
    step : int or float, optional
        The step between values, counted from `start`. By default 1 if all numbers are ints, else
        about a hundredth of the range: 1, 2, 2.5 or 5 times a power of ten. The values are then
        its multiples, `start` and `stop`.
    value : int or float, optional
        The initial value, which need not be a whole number of steps from `start`; by default
        `start`.
    label : str, optional
        The label; in `interact`, by default the name of the parameter.

    Returns
    -------
    Control
        Its values are ints if all given numbers are ints, else floats.

    Raises
    ------
    TypeError
        If a number is not an int or float, or the label is not a str.
    ValueError
        If `start` is not less than `stop`, the step is not positive, the value is outside the
        range, or a number is not finite.
    """
    initial, is_whole = _checked("slider", start, stop, step, value)
    first, last, asked = _decimal(start), _decimal(stop), _decimal(initial)
    if step is None and not is_whole:
        by = _round_step(last - first)
        low = max(_to_steps(first, by, ROUND_FLOOR), -_LARGEST)
        high = min(_to_steps(last, by, ROUND_CEILING), _LARGEST)
        top = last
    else:
        by = Decimal(1) if step is None else _decimal(step)
        low, high = first, last
        top = first + _to_steps(last - first, by, ROUND_FLOOR)

    def parse(sent: Any) -> Real:
        """Return the initial value, an end or the nearest step, in decimals: 3 * 0.1 is 0.3."""
        exact = _decimal(sent)
        if exact != asked:
            exact = min(max(exact, first), top)
        if exact not in (asked, first, top):
            steps = low + _to_steps(exact - low, by, ROUND_HALF_EVEN)
            exact = min(max(steps, first), top)
        return int(exact) if is_whole else float(exact)

    form: Bundle = {"type": "slider", "start": start, "stop": stop, "step": step or float(by)}
    if (low, high) != (first, last):
        form |= {"start": float(low), "stop": float(high), "limits": [start, stop]}
    return Control(label, parse(initial), form, parse)


def _decimal(x: Real) -> Decimal:
    """Return a number exactly as it is written."""
    return Decimal(x if isinstance(x, int) else repr(float(x)))


def _to_steps(x: Decimal, by: Decimal, rounding: str) -> Decimal:
    """Round a number to a multiple of `by`."""
    return (x / by).to_integral_value(rounding) * by


def _round_step(extent: Decimal) -> Decimal:
    """Return the round number that is nearest to a hundredth of a range."""
    power = Decimal(1).scaleb((extent / 100).adjusted())
    steps = [power * Decimal(factor) for factor in ("1", "2", "2.5", "5", "10")]
    nearest = min(steps, key=lambda by: max(100 * by / extent, extent / by / 100))
    return nearest if float(nearest) else extent  # a range of a few subnormal numbers


def number(
    start: float | None = None,
    stop: float | None = None,
    step: float | None = None,
    *,
    value: float | None = None,
    label: str = "",
) -> Control[Any]:
    """Create a field for a number.

    Parameters
    ----------
    start, stop : int or float, optional
        The smallest and the largest value; unbounded by default.
    step : int or float, optional
        The step of the arrow keys; by default 1.
    value : int or float, optional
        The initial value; by default `start`, or 0.
    label : str, optional
        The label; in `interact`, by default the name of the parameter.

    Returns
    -------
    Control
        Its values are ints if all given numbers are (``number(value=0)``), else floats
        (``number(value=0.0)``).

    Raises
    ------
    TypeError
        If a number is not an int or float, or the label is not a str.
    ValueError
        If `start` is not less than `stop`, the step is not positive, the value is out of bounds, or
        a number is not finite.
    """
    initial, is_whole = _checked("number", start, stop, step, value)

    def parse(sent: Any) -> Real:
        within = sent if start is None else max(sent, start)
        within = within if stop is None else min(within, stop)
        return round(within) if is_whole else float(within)

    form = {"type": "number", "start": start, "stop": stop, "step": step or 1, "whole": is_whole}
    return Control(label, parse(initial), form, parse)


def checkbox(value: bool = False, *, label: str = "") -> Control[bool]:
    """Create a checkbox for True or False.

    Parameters
    ----------
    value : bool
        The initial value.
    label : str, optional
        The label; in `interact`, by default the name of the parameter.

    Raises
    ------
    TypeError
        If the value is not a bool, or the label is not a str.
    """
    checked: Any = value
    if not isinstance(checked, bool):
        raise TypeError(f"checkbox: value must be a bool, not {type_text(checked)}")
    return Control(label, checked, {"type": "checkbox"}, bool)


def choice(
    options: Sequence[T] | Mapping[str, T], *, value: Any = _FIRST, label: str = ""
) -> Control[T]:
    """Create a list to choose one of several values.

    Parameters
    ----------
    options : list or dict
        The values, each named by its str; or a dict of names and values.
    value : optional
        The initial value; by default the first of `options`.
    label : str, optional
        The label; in `interact`, by default the name of the parameter.

    Raises
    ------
    TypeError
        If the options are not a list, tuple or dict, or the label is not a str.
    ValueError
        If there are no options, or the value is not one of them.
    """
    if isinstance(options, Mapping):
        named: Mapping[str, T] = options
        names, values = [str(name) for name in named], list(named.values())
    elif isinstance(options, list | tuple | range):
        values = list(cast("Sequence[T]", options))
        names = [str(option) for option in values]
    else:
        raise TypeError(f"choice: options must be a list or a dict, not {type_text(options)}")
    if not values:
        raise ValueError("choice: needs at least one option")
    same = [i for i, option in enumerate(values) if value is _FIRST or _is_same(value, option)]
    if not same:
        raise ValueError(f"choice: value must be one of {', '.join(names)}, not {value!r}")
    return Control(label, same[0], {"type": "choice", "options": names}, values.__getitem__)


def button(label: str = "Run") -> Control[int]:
    """Create a button, whose value is the number of times it was pressed.

    Parameters
    ----------
    label : str
        The text on the button.

    Raises
    ------
    TypeError
        If the label is not a str.
    """
    return Control(label, 0, {"type": "button"}, int)


# -- Interactions --------------------------------------------------------------------------------


@overload
def interact(function: Function, /, **controls: Any) -> Interaction: ...
@overload
def interact(**controls: Any) -> Callable[[Function], Interaction]: ...
def interact(function: Function | None = None, /, **controls: Any) -> Any:
    """Show controls, and call a function with their values initially and after each change.

    In a page the first call is made when the current input has ended, and later ones when no input
    is running. If several changes happen while a call runs or waits, only the last one is used. The
    function's printed output, displays and return value are shown below the controls; the next call
    replaces them, at most once per frame of the screen. An error is shown there too, and the
    controls remain usable. A coroutine function is awaited.

    If displays are printed instead of shown, the function is called once, with the initial values.

    Parameters
    ----------
    function : callable, optional
        Takes the values as keyword arguments. Without it, a decorator is returned.
    **controls
        A control for each parameter. A bool is short for `checkbox`, a number for `number`, a tuple
        of two or three numbers for `slider`, and a list or a dict for `choice`.

    Returns
    -------
    Interaction or callable
        Can be called like the function.

    Raises
    ------
    TypeError
        If there are no controls, a value does not describe a control, or the function does not take
        these parameters.
    ValueError
        If a number, a tuple or a list is not valid for its control.

    Examples
    --------
    >>> import py_tensor as pt
    >>> @pt.ui.interact(n=pt.ui.slider(1, 9, value=3), reverse=False)
    ... def count(n, reverse):
    ...     return pt.arange(n)[::-1] if reverse else pt.arange(n)
    tensor([0, 1, 2])
    """
    if function is None:
        return partial(Interaction, controls=controls)
    return Interaction(function, controls)


def _control(name: str, value: Any) -> Control[Any]:
    """Return a control, or the control that a value is short for."""
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
                f"interact: {name} must be a control, a bool, a number, a tuple of two or three "
                f"numbers, a list or a dict, not {type_text(value)}"
            )


def _check_call(function: Function, controls: Mapping[str, Any]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # A builtin has no signature; the call itself raises an error.
        return
    try:
        signature.bind(**controls)
    except TypeError as error:
        raise TypeError(f"interact: {error}") from None


# -- From the page -------------------------------------------------------------------------------


def changed(number: int, sent: Any) -> list[int] | None:
    """Set a control; return the numbers of the targets to run, or None for an unknown control."""
    control = _known.get(number)
    return control.take(sent) if isinstance(control, Control) else None


def forget(registrant: Owner) -> None:
    """Drop the functions and interactions of an input or a call whose output was removed."""
    for target in list(_known.values()):
        if isinstance(target, Control):
            cast("Control[Any]", target).forget(registrant)
        elif isinstance(target, Interaction) and target.shown_by == registrant:
            target.end()
            forget(("call", target.id))


async def run(number: int) -> None:
    """Run the control or interaction with this number."""
    if (target := _known.get(number)) is not None:
        await target.run()


# -- Checks --------------------------------------------------------------------------------------


def _checked(
    name: str, start: Real | None, stop: Real | None, step: Real | None, value: Real | None
) -> tuple[Real, bool]:
    """Return the initial value, and whether all given numbers are ints."""
    numbers = {"start": start, "stop": stop, "step": step, "value": value}
    there = {what: real for what, real in numbers.items() if real is not None}
    for what, real in there.items():
        if isinstance(real, bool) or not isinstance(cast("Any", real), int | float):
            raise TypeError(f"{name}: {what} must be an int or a float, not {type_text(real)}")
        if isinstance(real, int):
            if abs(real) > _LARGEST:
                raise ValueError(f"{name}: {what} must be at most 1.8e308 in magnitude")
        elif not math.isfinite(real):
            raise ValueError(f"{name}: {what} must be finite, not {real}")
    if there.get("step", 1) <= 0:
        raise ValueError(f"{name}: step must be positive, not {step}")
    least, most = there.get("start", -math.inf), there.get("stop", math.inf)
    if least >= most:
        raise ValueError(f"{name}: start must be less than stop, got {start} and {stop}")
    initial = there.get("value", there.get("start", 0))
    if not least <= initial <= most:
        raise ValueError(f"{name}: value must be from {least} to {most}, not {initial}")
    return initial, all(isinstance(real, int) for real in there.values())


def _is_same(value: Any, option: Any) -> bool:
    """Return whether a value is an option; arrays are compared by identity."""
    has_axes = hasattr(option, "shape") or hasattr(value, "shape")
    return option is value or (not has_axes and option == value)
