"""Random expressions for programs: views, indices, masks and values that fit a shape."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import numpy as np

from tests.differential.evaluating import CATEGORIES, Names

ARRAYS = "abcdef"
INDEX = "k"  # a result of argmax: int64 in NumPy, so it is only used as an index
DTYPES = {"float32": 5, "int32": 4, "bool": 2.5, "uint32": 1.5, "uint8": 1.5, "int8": 1}
UNSIGNED = ("uint8", "uint32")
SIZES = [0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7]
LARGEST, MAX_AXES = 500, 4
ERRORS = 0.02  # probability of each invalid choice

# Dtype -> dtypes of operands allowed for in-place operators, and for assignment.
# Without int32 with uint32, which gives int64, and without conversions undefined in C.
OPERANDS = {
    "float32": ("float32", "int32", "bool", "uint8", "int8"),
    "int32": ("int32", "bool", "uint8", "int8"),
    "bool": ("bool",),
    "uint32": ("uint32", "bool", "uint8"),
    "uint8": ("uint8", "bool"),
    "int8": ("int8", "bool", "uint8"),
}
SOURCES = {
    **OPERANDS,
    "int32": ("int32", "bool", "float32", "uint8"),
    "bool": ("bool", "int32", "float32", "uint32", "uint8"),
    "uint8": ("uint8", "bool", "int32", "int8"),
    "int8": ("int8", "bool", "int32", "float32", "uint32"),
}
# Dtypes of operands allowed in a comparison, and those whose result has the first dtype.
COMPARED = {
    "float32": ("float32", "int32", "bool", "uint32", "uint8"),
    "int32": ("int32", "float32", "bool", "int8"),
    "bool": ("bool", "float32", "int32", "uint32", "int8"),
    "uint32": ("uint32", "float32", "bool", "uint8"),
    "uint8": ("uint8", "int8", "int32", "float32", "bool"),
    "int8": ("int8", "uint8", "int32", "float32", "bool"),
}
PROMOTED = {
    "float32": ("float32", "bool", "uint8"),
    "int32": ("int32", "bool", "uint8", "int8"),
    "bool": ("bool", "float32", "int32", "uint32", "uint8"),
    "uint32": ("uint32", "bool", "uint8"),
    "uint8": ("uint8", "bool", "int32", "float32"),
    "int8": ("int8", "bool", "int32", "float32"),
}

Shape = tuple[int, ...]


class _Key:
    def __getitem__(self, key: Any) -> Any:
        return key if isinstance(key, tuple) else (key,)


class Operands:
    """Expressions over the arrays of the program so far, whose values are known."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names: Names = {"np": np}

    # Reading the program's state ------------------------------------------------------------

    def value(self, text: str) -> Any:
        """Return the value of an expression; None if it raises."""
        try:
            with np.errstate(all="ignore"):
                return eval(text, self.names)
        except CATEGORIES:
            return None

    def array(self, dtypes: tuple[str, ...] = tuple(DTYPES), axes: int = 0) -> str:
        """A name of an array of one of these dtypes with enough axes; `a` if there is none."""
        known = {name: self.names[name] for name in ARRAYS}
        fits = [n for n, x in known.items() if x.dtype.name in dtypes and x.ndim >= axes]
        full = [n for n in fits if known[n].size > 0]
        return self.rng.choice((full if self.chance(0.9) else fits) or fits or ["a"])

    @staticmethod
    def root(text: str) -> str:
        """Return the name of the array of which an expression is a view."""
        name = re.search(rf"\b[{ARRAYS}]\b", text)
        assert name is not None, text
        return name.group()

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def pick(self, choices: dict[str, float]) -> str:
        return self.rng.choices(list(choices), list(choices.values()))[0]

    # Literals -------------------------------------------------------------------------------

    def shape(self) -> Shape:
        return tuple(self.rng.choice(SIZES) for _ in range(self.rng.choice([0, 1, 1, 2, 2, 2, 3])))

    def scalar(self, dtype: str) -> str:
        if dtype == "bool":
            return self.rng.choice(["True", "False"])
        number = self.rng.randint(0 if dtype in UNSIGNED else -5, 9)
        return f"{number}.0" if dtype == "float32" and self.chance(0.2) else str(number)

    def numbers(self, shape: Shape, dtype: str) -> Any:
        """Return nested lists of numbers."""
        if shape:
            return [self.numbers(shape[1:], dtype) for _ in range(shape[0])]
        if dtype == "bool":
            return self.chance(0.5)
        return self.rng.randint(0 if dtype in UNSIGNED else -9, 9)

    def literal(self, shape: Shape, dtype: str) -> str:
        if 0 in shape:
            return f"np.zeros({shape}, dtype=np.{dtype})"
        return f"np.asarray({self.numbers(shape, dtype)}, dtype=np.{dtype})"

    def larger(self, dtype: str) -> str:
        """Return an array large enough for other kernels than those for a few elements."""
        shape = self.rng.choice(
            [(64,), (130,), (16, 16), (8, 33), (3, 128), (4, 4, 16), (20, 5, 4)]
        )
        number = f"np.arange({math.prod(shape)}) * {self.rng.choice([3, 5, 7])} % 17"
        number += {"bool": " > 8", **dict.fromkeys(UNSIGNED, "")}.get(dtype, " - 8")
        return f"np.asarray({number}, dtype=np.{dtype}).reshape({shape})"

    # Indices and views ----------------------------------------------------------------------

    def integer(self, size: int) -> str:
        if self.chance(ERRORS):
            return str(self.rng.choice([size, -size - 1]))
        given = str(self.rng.randrange(-size, size))
        return self.rng.choice([f"s % {size}", f"{INDEX} % {size}"]) if self.chance(0.2) else given

    def slice(self, size: int) -> str:
        step = self.rng.choice([1, 1, 1, 2, -1, -1, -2, 3])
        if self.chance(0.1):
            first, last = (self.rng.randint(-size - 2, size + 2) for _ in range(2))
        else:
            first, last = self.rng.randint(0, size // 2), self.rng.randint((size + 1) // 2, size)
            if step < 0:
                first, last = last - 1, first - 1 if first else -size - 1
            elif self.chance(0.3):
                first -= size
        start, stop = ("" if self.chance(0.4) else str(n) for n in (first, last))
        return f"{start}:{stop}" + (f":{step}" if step != 1 else "")

    def index(self, shape: Shape) -> str:
        """Return a basic index, without its brackets."""
        items: list[str] = []
        for size in shape:
            if self.chance(0.12):
                break
            integer = size > 0 and self.chance(0.25)
            items.append(self.integer(size) if integer else self.slice(size))
        if self.chance(0.1) and len(items) == len(shape):
            start, stop = sorted(self.rng.randint(0, len(items)) for _ in range(2))
            items[start:stop] = ["..."]
        if self.chance(0.08):
            items.insert(self.rng.randint(0, len(items)), "None")
        return ", ".join(items) or "..."

    def view(self, text: str, most: int = 2) -> str:
        """Return a chain of movements of an array."""
        for _ in range(self.rng.randint(1, most)):
            x = self.value(text)
            if not isinstance(x, np.ndarray):
                break
            moved = self.movement(text, x)
            y = self.value(moved)
            if y is not None and (np.ndim(y) > MAX_AXES or np.size(y) > LARGEST):
                break
            text = moved
            if ".ravel(" in text or ".reshape(" in text:
                break  # it may be a copy, whose views are not views of an older array
        return text

    def movement(self, text: str, x: Any) -> str:
        n = x.ndim
        axis = self.rng.randrange(-n, n) if n and not self.chance(ERRORS) else n
        ones = [a for a, size in enumerate(x.shape) if size == 1]
        order = self.rng.sample(range(n), n)
        wide = tuple(self.rng.choice([2, 3]) if size == 1 else size for size in x.shape)
        if self.chance(0.5):
            wide = (2, *wide)
        choices = {
            f"{text}[{self.index(x.shape)}]": 8 if n else 1,
            f"{text}.T": 2 if n > 1 else 0.1,
            f"{text}[::-1]": 1 if n else 0.1,
            f"np.flip({text}, axis={axis})": 1 if n else 0,
            f"np.flip({text})": 0.4,
            f"{text}.ravel()": 1.5,
            f"{text}.reshape({self.new_shape(x.size)})": 2,
            f"np.expand_dims({text}, {axis})": 0.5,
            f"{text}.squeeze()": 1 if ones else 0.1,
            f"np.squeeze({text}, axis={ones[0] if ones else axis})": 0.7 if ones else 0.05,
            f"{text}.swapaxes({axis}, 0)": 0.8 if n > 1 else 0,
            f"{text}.transpose({tuple(order)})": 1 if n > 1 else 0,
            f"np.moveaxis({text}, {axis}, 0)": 0.5 if n > 1 else 0,
            f"np.broadcast_to({text}, {wide})": 0.7,
            f"{text}.mT": 0.5 if n > 1 else 0.02,
            f"{text}.diagonal({self.rng.randint(-1, 1)})": 0.5 if n > 1 else 0.02,
            f"{text}.ravel(order='F')": 0.3,
        }
        by_columns = f"{text}.reshape({self.new_shape(x.size)}, order='F')"
        y = self.value(by_columns)  # NumPy copies here to get C order, but py_tensor does not
        if y is not None and np.may_share_memory(x, y):
            choices[by_columns] = 1
        return self.pick(choices)

    def new_shape(self, size: int) -> str:
        sizes = [1] * self.rng.randint(1, 3)
        rest = size
        for at in range(len(sizes) - 1):
            sizes[at] = self.rng.choice([d for d in range(1, 8) if rest % d == 0])
            rest //= sizes[at]
        sizes[-1] = rest + self.chance(ERRORS)
        self.rng.shuffle(sizes)
        if 0 not in sizes and self.chance(0.4):
            sizes[self.rng.randrange(len(sizes))] = -1
        return ", ".join(map(str, sizes))

    def base(self, dtypes: tuple[str, ...] = tuple(DTYPES), axes: int = 0) -> str:
        """Return a name, or a view of it that is an array."""
        name = self.array(dtypes, axes)
        view = self.view(name) if self.chance(0.3) else name
        x = self.value(view)
        return view if isinstance(x, np.ndarray) and x.ndim >= axes else name

    def place(self) -> tuple[str, Any]:
        """Return a target of `=` or of an in-place operator, and its value."""
        base = self.base()
        text = base
        if "(" in base or "[" in base or base.endswith("T") or self.chance(0.6):
            text = f"{base}[{self.index(self.value(base).shape)}]"
        return text, self.value(text)

    def fancy(self, shape: Shape) -> str:
        """An index with at least one integer array or list, and slices, integers and None."""
        chosen = self.rng.sample(range(len(shape)), self.rng.choice([1, 1, min(2, len(shape))]))
        count = self.rng.randint(1, 4)
        items = []
        for axis, size in enumerate(shape[: max(chosen) + 1 + self.chance(0.4)]):
            if axis not in chosen:
                integer = size > 0 and self.chance(0.25)
                items.append(self.integer(size) if integer else self.slice(size))
                continue
            if size == 0:
                items.append("[]")
                continue
            known = {n: self.names[n] for n in ARRAYS}  # not 0-d, where NumPy's index is a scalar
            counters = [n for n, x in known.items() if x.dtype == np.int32 and x.ndim]
            if counters and len(chosen) == 1 and self.chance(0.15):
                name = self.rng.choice(counters)
                items.append(f"{name} % {size}" + (f" - {size}" if self.chance(0.3) else ""))
                continue
            places = [self.rng.randrange(-size, size) for _ in range(count)]
            if self.chance(ERRORS):
                places[-1] = size
            elif self.chance(0.15):
                places = places[:1]
            wanted: Any = [[p] for p in places] if axis != chosen[0] and count > 1 else places
            if len(chosen) == 1 and len(places) == count == 4 and self.chance(0.5):
                wanted = [places[:2], places[2:]]
            if len(chosen) == 1 and len(items) > 0 and places[-1] != size and self.chance(0.1):
                wanted = places[0]  # 0-d, written as an int
            error = size in places  # a list is checked at once on every device, a tensor is not
            listed = error or self.chance(0.6)
            items.append(str(wanted) if listed else f"np.asarray({wanted}, dtype=np.int32)")
        if self.chance(0.1):
            items.insert(self.rng.randint(0, len(items)), "None")
        if self.chance(0.03):
            items.insert(self.rng.randint(0, len(items)), self.rng.choice(["True", "False"]))
        if self.chance(0.1) and len(items) < len(shape):
            items.append("...")
        return ", ".join(items)

    def parts(self, key: str) -> tuple[Any, ...]:
        """Return the values of the parts of an index."""
        return eval(f"index[{key}]", {**self.names, "index": _Key()})

    def repeats(self, key: str, shape: Shape) -> bool:
        """Return whether an index has a place twice; then the last of several values is kept."""
        places = self.value_of(np.arange(math.prod(shape)).reshape(shape), key)
        return np.unique(places).size < np.size(places)

    def value_of(self, x: np.ndarray, key: str) -> Any:
        """Return the elements that an index selects from an array; empty if it raises."""
        try:
            return x[self.parts(key)]
        except IndexError:
            return []

    def mask(self, text: str) -> str:
        """Return an index with a boolean array that covers all axes of the array, or some."""
        x = self.value(text)
        shape = x.shape
        number = self.rng.randint(-2, 5)
        axes = self.rng.randint(1, max(x.ndim, 1))
        part = shape[:axes]
        if self.chance(ERRORS) and part:
            part = (part[0] + 1, *part[1:])
        masks = [n for n in ARRAYS if self.names[n].dtype == bool]
        fitting = [n for n in masks if self.names[n].shape == part]
        if fitting and self.chance(0.5):
            return self.apart(self.rng.choice(fitting), x, self.root(text), masked=True)
        if x.dtype == bool:
            whole = self.rng.choice(["{0}", "~{0}"])
        else:
            whole = self.rng.choice(["{0} > {1}", "{0} == {1}", "({0} > -1) & ({0} < {1})"])
        choices = {whole.format(text, number): 4.0, self.literal(part, "bool"): 2}
        if x.ndim > 1 and shape[1] > 0 and axes == 1:
            choices[whole.format(f"{text}[{'..., ' * (x.ndim - 2)}:, 0]"[:-1] + "]", number)] = 2
        if x.ndim > 1 and self.chance(0.35):
            return self.mask_beside(shape)
        if self.chance(0.05):
            return self.rng.choice(["True", "False", "np.asarray(True)", f"({text} > 0).any()"])
        return self.pick(choices)

    def mask_beside(self, shape: Shape) -> str:
        """Return a mask of one axis with other parts of an index, for a shape of several axes."""
        first, second = (self.literal((n,), "bool") for n in shape[:2])
        at = [self.integer(n) if n else ":" for n in shape[:2]]
        choices = {
            f":, {second}": 4.0,
            f"..., {self.literal(shape[-1:], 'bool')}": 1,
            f"{self.slice(shape[0])}, {second}": 1,
            f"{at[0]}, {second}": 1,
            f"{first}, {at[1]}": 1,
            f"{first}, {self.slice(shape[1])}": 1,
            f"None, {first}": 0.5,
        }
        count = int(np.count_nonzero(self.value(first)))
        if shape[1]:
            places = [self.rng.randrange(-shape[1], shape[1]) for _ in range(count)]
            choices[f"{first}, {places}"] = 1
        return self.pick(choices)

    # Values ---------------------------------------------------------------------------------

    def fit(self, name: str, shape: Shape) -> str | None:
        """A view of an array that can be broadcast to a shape; None if there is no simple one."""
        x = self.names[name]
        if x.ndim > 1 and self.chance(0.3) and x.shape[::-1] == shape:
            return f"{name}.T"
        extra = max(x.ndim - len(shape), 0)
        if 0 in x.shape[:extra]:
            return None
        items = [str(self.rng.randrange(-n, n)) for n in x.shape[:extra]]
        kept = x.shape[extra:]
        for has, wants in zip(kept, shape[len(shape) - len(kept) :], strict=True):
            if has == wants:
                items.append("::-1" if self.chance(0.25) else ":")
            elif has > wants:
                start = self.rng.randint(0, has - wants)
                back = start > 0 and self.chance(0.3)
                items.append(
                    f"{start + wants - 1}:{start - 1}:-1" if back else f"{start}:{start + wants}"
                )
            elif has > 0:
                start = self.rng.randrange(has)
                items.append(f"{start}:{start + 1}")
            else:
                return None
        return name if all(item == ":" for item in items) else f"{name}[{', '.join(items)}]"

    def operand(self, shape: Shape, dtypes: tuple[str, ...], near: str = "") -> str:
        """Return a value that can be broadcast to a shape; rarely one that cannot.

        Parameters
        ----------
        shape, dtypes
            The required shape and dtypes; the first dtype is that of the target.
        near
            A name that is often used in the value, so that memory overlaps.
        """
        if self.chance(ERRORS):
            return self.literal((*shape[:-1], (shape[-1] if shape else 0) + 2), dtypes[0])
        kind = self.rng.random()
        if kind < 0.5:
            near_fits = near and self.names[near].dtype.name in dtypes and self.chance(0.5)
            broadcastable = self.fit(near if near_fits else self.array(dtypes), shape)
            if broadcastable and self.value(broadcastable).dtype.name in dtypes:
                if kind < 0.1 and dtypes[0] not in ("bool", *UNSIGNED):
                    dtype = self.value(broadcastable).dtype.name
                    return f"{broadcastable} {'^' if dtype == 'bool' else '*'} {self.scalar(dtype)}"
                return broadcastable
        if kind < 0.7 and math.prod(shape) <= 40:
            sizes = [1 if self.chance(0.15) else n for n in shape]
            return self.literal(tuple(sizes[self.rng.choice([0, 0, 1]) :]), self.rng.choice(dtypes))
        if kind < 0.75 and getattr(self.names["t"], "dtype", np.dtype("bool")).name in dtypes:
            return "t"
        return "s" if kind < 0.8 and dtypes[0] in ("int32", "float32") else self.scalar(dtypes[0])

    def apart(self, source: str, x: np.ndarray, near: str, masked: bool = False) -> str:
        """Return the source, or a copy if NumPy would read elements after writing them.

        It does so with a mask, and along one axis if memory overlaps with another stride. Its
        documentation says otherwise, as does py_tensor's.
        """
        y = self.value(source)
        if not isinstance(y, np.ndarray) or not np.may_share_memory(self.names[near], y):
            return source
        unsafe = masked or (x.ndim == 1 and x.strides != y.strides[-1:])
        return f"{source}.copy()" if unsafe else source
