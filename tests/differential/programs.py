"""Random programs: statements, made from a seed, that change arrays through their views."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.differential.evaluating import CATEGORIES, execute_numpy
from tests.differential.operands import (
    ARRAYS,
    COMPARED,
    DTYPES,
    ERRORS,
    INDEX,
    LARGEST,
    MAX_AXES,
    OPERANDS,
    PROMOTED,
    SOURCES,
    UNSIGNED,
    Operands,
)

STATEMENTS = 30
BOUND = 1000  # largest magnitude: products of two are exact in float32

# Kind -> relative frequency.
KINDS = {
    "take_view": 6,
    "alias": 1,
    "assign": 6,
    "assign_overlapping": 2,
    "change_in_place": 6,
    "write_masked": 4,
    "read_masked": 1,
    "gather": 2,
    "scatter": 4,
    "call_method": 2,
    "call_with_out": 3,
    "call_at": 2,
    "put": 2,
    "combine_names": 1,
    "write_several": 1.5,
    "compute": 4,
    "reduce": 1,
    "read_scalar": 2,
    "loop": 2.5,
    "call_function": 1,
    "split": 1,
    "swap": 1,
}
IN_PLACE = {
    "float32": ["+=", "-=", "*=", "//= 3", "%= 4", "**= 2"],
    "int32": ["+=", "-=", "*=", "//=", "%=", "&=", "|=", "^=", "**= 2", "<<= 2", ">>= 1"],
    "bool": ["&=", "|=", "^=", "+=", "*="],
    "uint32": ["+=", "-=", "*=", "&=", "|=", "^=", "//= 2", "%= 5", "**= 2", "<<= 1", ">>= 3"],
    "uint8": ["+=", "-=", "*=", "&=", "|=", "^=", "//= 2", "%= 5", "**= 2", "<<= 5", ">>= 3"],
    "int8": ["+=", "-=", "*=", "&=", "|=", "^=", "//= 3", "%= 4", "**= 2", "<<= 2", ">>= 1"],
}
# Invalid in NumPy: a result that the array's dtype cannot hold, or an undefined op.
REFUSED = {
    "float32": ["&= 1", "|= True"],
    "int32": ["+= 1.5", "/= 2"],
    "bool": ["+= 1", "-= True", "*= 2.0"],
    "uint32": ["*= 0.5"],
    "uint8": ["*= 0.5", "+= 300", "-= -1"],
    "int8": ["/= 2", "+= 128"],
}
OVERLAPPING = [
    "{0}[1:] = {0}[:-1]",
    "{0}[:-1] = {0}[1:]",
    "{0}[2:] = {0}[:-2]",
    "{0}[::-1] = {0}",
    "{0}[...] = {0}[::-1]",
    "{0}[:] = {0}.T",
    "{0}[:, 1:] = {0}[:, :-1]",
    "{0}[1:] {1} {0}[:-1]",
    "{0} {1} {0}[::-1]",
    "{0} {1} {0}.T",
    "{0} {1} {0}[0]",
    "{0} {1} {0}[:, :1]",
    "{0}[0] {1} {0}[-1]",
    "{0}[[0, -1]] = {0}[[-1, 0]]",
    "{0}[[0, 1]] = {0}[:2][::-1]",
    "np.maximum({0}[1:], {0}[:-1], out={0}[1:])",
]


@dataclass(frozen=True)
class Program:
    """Statements over the names `np`, `a` to `f` (arrays), `s` and `t` (scalars).

    Attributes
    ----------
    seed
        The seed of the program.
    statements
        Each of one or several lines; those that make the initial arrays come first.
    interval
        The number of statements between comparisons: large, so that writes stay pending.
    """

    seed: int
    statements: tuple[str, ...]
    interval: int

    def text(self) -> str:
        return "\n".join(self.statements)


def make(seed: int) -> Program:
    """Return the program of a seed."""
    maker = Maker(seed)
    for name in ARRAYS:
        dtype = maker.pick(DTYPES)
        is_large = maker.chance(0.1)
        maker.add(
            f"{name} = {maker.larger(dtype) if is_large else maker.literal(maker.shape(), dtype)}"
        )
    maker.add("s = 2")
    maker.add("t = True")
    maker.add(f"{INDEX} = np.argmax([1, 2])")
    start = len(maker.statements)
    while len(maker.statements) < start + STATEMENTS:
        statement = getattr(maker, maker.pick(KINDS))()
        if statement is not None:
            maker.add(statement)
            maker.bound()
    return Program(seed, tuple(maker.statements), maker.rng.choice([1, 1, 5, STATEMENTS]))


class Maker(Operands):
    """Executes its statements with NumPy, so that the next one fits the state.

    The method of each kind returns a statement, or None if none fits.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.statements: list[str] = []

    def add(self, statement: str) -> None:
        error = execute_numpy(statement, self.names)
        assert error is None or isinstance(error, CATEGORIES), statement
        for name, value in self.names.items():
            if isinstance(value, np.ndarray | np.generic) and name != INDEX:
                assert value.dtype.name in DTYPES, statement
        self.statements.append(statement)

    def bound(self) -> None:
        """Keep numbers small, so that the next results are exact."""
        for name in ARRAYS:
            x = self.names[name]
            if x.dtype != bool and x.size and np.abs(x.astype(np.float64)).max() > BOUND:
                low = 0 if x.dtype.name in UNSIGNED else -9
                clipped = f"np.clip({name}, {low}, 9"
                self.add(f"{clipped}, out={name})" if x.flags.writeable else f"{name} = {clipped})")
        for name in "st":
            if not -BOUND <= self.names[name] <= BOUND:
                self.add(f"{name} = 3")

    def binding(self, expression: str) -> str | None:
        """Return the expression bound to a name, if the program can use its value."""
        x = self.value(expression)
        if isinstance(x, np.ndarray | np.generic) and (
            x.dtype.name not in DTYPES or x.size > LARGEST or x.ndim > MAX_AXES
        ):
            return None
        is_array = x is None or isinstance(x, np.ndarray)  # NumPy has scalars as well as 0-d arrays
        return f"{self.rng.choice(ARRAYS) if is_array else 't'} = {expression}"

    # Views and names ------------------------------------------------------------------------

    def take_view(self) -> str | None:
        return self.binding(self.view(self.array(), 3))

    def alias(self) -> str | None:
        name = self.array()
        return self.binding(self.rng.choice([name, f"{name}[...]", f"np.asarray({name})"]))

    def split(self) -> str | None:
        name = self.array(axes=1)
        axis = self.rng.randrange(max(self.names[name].ndim, 1))
        one, two = self.rng.sample(ARRAYS, 2)
        even = self.names[name].shape[axis : axis + 1] in ((2,), (4,), (6,)) or self.chance(ERRORS)
        return f"{one}, {two} = np.{'split' if even else 'array_split'}({name}, 2, {axis})"

    # Writes ---------------------------------------------------------------------------------

    def source(self, x: np.ndarray, near: str, masked: bool = False) -> str:
        """The right-hand side of an assignment to `x`, which is a part of the array `near`."""
        dtype = x.dtype.name
        if self.chance(0.1) and dtype == "int32":
            return self.rng.choice(["1.5", "-2.75"])  # floats are truncated
        if self.chance(0.1) and dtype not in UNSIGNED and x.size:
            return str(self.numbers(x.shape, dtype))
        source = self.apart(self.operand(x.shape, SOURCES[dtype], near), x, near, masked)
        value = self.value(source)
        if isinstance(value, np.integer) and value.astype(dtype) != value:
            return self.scalar(dtype)  # NumPy refuses a scalar by its value, which a GPU would read
        return source

    def change(self, target: str, shape: tuple[int, ...], dtype: str, near: str) -> str:
        """Return an in-place operator with its operand."""
        if self.chance(2 * ERRORS):
            return f"{target} {self.rng.choice(REFUSED[dtype])}"
        operator = self.rng.choice(IN_PLACE[dtype])
        if operator.endswith("="):
            operator += f" {self.operand(shape, OPERANDS[dtype], near)}"
        return f"{target} {operator}"

    def write(self, target: str, in_place: float, masked: bool = False) -> str:
        """Return an assignment to a target, or with this probability an in-place operator on it."""
        x = self.value(target)
        if x is None:  # the target raises
            return f"{target} = 1"
        near = self.root(target)
        if self.chance(in_place):
            return self.change(target, x.shape, x.dtype.name, near)
        return f"{target} = {self.source(x, near, masked)}"

    def assign(self) -> str | None:
        target, _ = self.place()
        return self.write(target if "[" in target else f"{target}[...]", 0)

    def change_in_place(self) -> str | None:
        return self.write(self.place()[0], 1)

    def assign_overlapping(self) -> str | None:
        name = self.array(axes=1)
        operator = "^=" if self.names[name].dtype == bool else self.rng.choice(["+=", "*="])
        return self.rng.choice(OVERLAPPING).format(name, operator)

    def write_masked(self) -> str | None:
        base = self.base(axes=1)
        if not np.ndim(self.value(base)):
            return None
        target = f"{base}[{self.mask(base)}]"
        x = self.value(target)
        if x is not None and x.dtype != bool and self.chance(0.3):
            return f"{target} = {target} {self.rng.choice('+-*')} 2"
        return self.write(target, 0.4, masked=True)

    def scatter(self) -> str | None:
        base = self.base(axes=1)
        if not np.ndim(x := self.value(base)):
            return None
        key = self.fancy(x.shape)
        target = f"{base}[{key}]"
        if np.size(self.value(target)) > LARGEST:
            return None
        statement = self.write(target, 0.35)
        if self.repeats(key, x.shape):  # NumPy iterates over the values in memory order
            value = self.value(statement.split("= ", 1)[1])
            arrays = [part for part in (value, *self.parts(key)) if isinstance(part, np.ndarray)]
            if not all(part.flags.c_contiguous for part in arrays):
                return None
        return statement

    def call_at(self) -> str | None:
        base = self.base(axes=1)
        x = self.value(base)
        if not np.ndim(x):
            return None
        choices = {self.fancy(x.shape): 3.0}
        if x.dtype != bool:
            choices[f"{base} > {self.rng.randint(-2, 4)}"] = 0.5
        key = self.pick(choices)
        found = self.value_of(x, key)
        if np.size(found) > LARGEST:
            return None
        # NumPy reads past the end of values that broadcast, and writes to read-only arrays.
        if not x.flags.writeable:
            return None
        dtype = x.dtype.name
        of = self.rng.choice(OPERANDS[dtype])
        value = self.scalar(of) if self.chance(0.5) else self.literal(np.shape(found), of)
        function = "add" if dtype == "bool" else self.rng.choice(["add", "subtract", "maximum"])
        return None if ":" in key else f"np.{function}.at({base}, ({key}), {value})"

    def put(self) -> str | None:
        target, x = self.place()
        if not isinstance(x, np.ndarray) or not x.size:
            return None
        dtype, n = x.dtype.name, x.size
        where = self.literal(x.shape, "bool")
        values = self.literal((self.rng.randint(1, 5),), dtype)
        places = self.rng.sample(range(-n, 0), self.rng.randint(1, min(n, 4)))
        if self.chance(ERRORS):
            places.insert(0, n)  # NumPy writes the values before it
        choices = {
            f"np.put({target}, {places}, {values})": 1.0,
            f"{target}.put({places}, {self.scalar(dtype)})": 1,
            f"np.putmask({target}, {where}, {values})": 1,
            f"np.place({target}, {where}, {values})": 1,
            f"{target}.flat[{places}] = {values}": 0.7,
            f"{target}.flat[{self.slice(n)}] = {values}": 0.7,
            f"{target}.flat[{places[-1]}] = {self.scalar(dtype)}": 0.3,
            f"{target}.flat = {values}": 0.3,
        }
        if x.dtype != bool:
            choices[f"np.putmask({target}, {target} > 1, {target} * 2)"] = 1
        if x.ndim > 1 and (x.ndim == 2 or len(set(x.shape)) == 1):
            choices[f"np.fill_diagonal({target}, {self.scalar(dtype)})"] = 2
        if x.ndim:
            axis = self.rng.randrange(-x.ndim, x.ndim)
            order = f"np.argsort({target}, axis={axis}, stable=True)"
            choices[f"np.put_along_axis({target}, {order}, {self.scalar(dtype)}, {axis})"] = 0.5
            sorted_ = f"np.take_along_axis({target}, {order}, {axis})"
            choices[f"np.put_along_axis({target}, {order}, {sorted_}, {axis})"] = 1
        return self.pick(choices)

    def combine_names(self) -> str | None:
        """Return names that are swapped, or refer to the same array."""
        one, two = self.rng.sample(ARRAYS, 2)
        x = self.names[one]
        return self.pick(
            {
                f"{one}, {two} = {two}, {one}": 1.0,
                f"{one} = {two} = {two}[...]": 1,
                f"{one} = [{one}, {two}][{self.rng.randint(0, 1)}]": 0.5,
                f"{one}, *_ = {one}; del _": 0.5 if x.ndim > 1 and len(x) else 0,
            }
        )

    def write_several(self) -> str | None:
        name = self.array(axes=1)
        x = self.names[name]
        if not x.ndim:
            return None
        dtype = x.dtype.name
        value, operator = self.scalar(dtype), "^=" if dtype == "bool" else "+="
        back = f"{name}[::-1]"
        choices = {
            f"{name}[::2], {name}[1::2] = {name}[1::2], {name}[::2].copy()": 1.0,
            f"{name}[:] = {back}; {name}[0] = {value}": 1,
            f"for v in ({name}[1:], {name}[:-1], {name}):\n    v {operator} {value}": 1,
            f"def over(v):\n    for y in v[::2]:\n        y {operator} {value}\n"
            f"    if v and v[0].ndim:\n        v[0][...] = v[-1]\n"
            f"over([{name}[i] for i in range(len({name}))])": 1,
            f"def inner(z, y={name}[:1]):\n    y {operator} z\n    return lambda: y\n"
            f"inner({value})()[...] = {value}": 1,
            f"try:\n    {name}[0] {operator} {value}\n    {name}[len({name})] = {value}\n"
            f"except IndexError:\n    {name}[-1:] = {value}": 1,
            f"if {name}.any():\n    {name}[{name} != 0] = {value}\nelse:\n    {name} {operator} 1"
            if dtype != "bool"
            else f"{name}[~{name}] = {name}.all()": 1,
            f"y = {name}[...]\ny.flags.writeable = False\n{name} = y": 0.15,
        }
        if x.ndim > 1:
            choices[f"for y, z in zip({name}.T, {back}.T):\n    y[...] = z.copy()"] = 1
            choices[f"for i, y in enumerate({name}):\n    y[i % (len(y) or 1) :] = {value}"] = 1
        return self.pick(choices)

    def swap(self) -> str | None:
        name = self.array(axes=1)
        x = self.names[name]
        if 0 in x.shape or not x.ndim:
            return None
        one, two = (self.rng.randrange(-n, n) for n in (x.shape[0], x.shape[-1]))
        choices = {f"{name}[0], {name}[{one}] = {name}[{one}], {name}[0]": 1.0}
        if x.ndim > 1:
            places = [f"{name}[{', '.join([str(at)] * x.ndim)}]" for at in (0, -1)]
            choices[f"{places[0]}, {places[1]} = {places[1]}, {places[0]}"] = 1
            choices[f"{name}[..., [0, {two}]] = {name}[..., [{two}, 0]]"] = 1
        return self.pick(choices)

    def call_method(self) -> str | None:
        target, x = self.place()
        if not isinstance(x, np.ndarray):
            return None
        dtype = x.dtype.name
        axis = self.rng.randrange(-x.ndim, x.ndim) if x.ndim else 0
        near = self.root(target)
        where = self.apart(self.condition(target, x), x, near, masked=True)
        # Assigning a read-only array to itself is not an error in NumPy.
        source = self.operand(x.shape, OPERANDS[dtype], near) if x.flags.writeable else "1"
        choices = {
            f"{target}.fill({self.scalar(dtype)})": 1.0,
            f"{target}.sort()": 1,
            f"{target}.sort(axis={axis})": 1,
            f"np.copyto({target}, {self.apart(source, x, near)}, where={where})": 1,
            f"np.copyto({target}, {self.apart(source, x, near)})": 1,
        }
        if dtype == "int32":
            choices[f"np.copyto({target}, {self.literal(x.shape, 'float32')})"] = 0.1
        return self.pick(choices)

    def condition(self, text: str, x: np.ndarray) -> str:
        """Return a boolean array that can be broadcast to the shape of `x`."""
        broadcastable = self.fit(self.array(("bool",)), x.shape)
        if broadcastable and self.chance(0.4) and self.value(broadcastable).dtype == bool:
            return broadcastable
        if x.dtype != bool and self.chance(0.6):
            return f"{text} > {self.rng.randint(-2, 4)}"
        return self.literal(x.shape[self.rng.choice([0, 0, 1]) :], "bool")

    def call_with_out(self) -> str | None:
        target = self.base() if self.chance(0.5) else self.place()[0]
        x = self.value(target)
        if not isinstance(x, np.ndarray):
            return None
        dtype = x.dtype.name
        if self.chance(0.4):
            # Writing no elements to a read-only array is an error in some NumPy functions.
            return self.fold_with_out(target, x) if x.size or x.flags.writeable else None
        if dtype == "bool":
            function = self.rng.choice(["less", "equal", "greater_equal", "not_equal"])
            of = self.rng.choice(["int32", "float32", "bool"])
        else:
            function = self.rng.choice(["add", "multiply", "maximum", "minimum"])
            of = dtype
        # The first is an array, because NumPy computes with two Python integers in 64 bits.
        first = self.fit(self.array((of,)), x.shape)
        if first is None or self.value(first).dtype.name != of:
            first = self.literal(x.shape, of)
        second = self.operand(x.shape, (of,), self.root(target))
        call = f"np.{function}({first}, {second}, out={target}"
        if self.chance(0.4):
            call += f", where={self.condition(target, x)}"
        return f"{self.rng.choice(ARRAYS)} = {call})" if self.chance(0.2) else f"{call})"

    def fold_with_out(self, target: str, x: np.ndarray) -> str:
        """Return a function of one operand, with `out`."""
        dtype = x.dtype.name
        y = self.fit(self.array((dtype,)), x.shape)
        if y is None or not isinstance(z := self.value(y), np.ndarray) or z.dtype != x.dtype:
            y = self.literal(x.shape, dtype)
        axis = self.rng.randrange(x.ndim + 1)
        wide = self.literal((*x.shape[:axis], 3, *x.shape[axis:]), dtype)
        choices = {
            f"np.logical_not({y}, out={target})"
            if dtype == "bool"
            else f"np.square({y}, {target})": 1.0,
            f"np.positive({y} + {y}, out={target})": 1 if dtype != "bool" else 0,
            f"np.take({wide}, 1, axis={axis}, out={target})": 1,
            f"np.max({wide}, axis={axis}, out={target})": 1,
            f"np.any({wide}, axis={axis}, out={target})": 1 if dtype == "bool" else 0,
            f"np.clip({y}, {self.scalar(dtype)}, 5, out={target})": 1 if dtype != "bool" else 0,
        }
        if x.ndim:
            longer = self.literal((*x.shape[:-1], x.shape[-1] + 1), dtype)
            taken = [True] * x.shape[-1]
            taken.insert(self.rng.randint(0, len(taken)), False)
            choices[f"np.compress({taken}, {longer}, axis=-1, out={target})"] = 0.5
        if x.ndim and dtype in ("float32", "int32"):
            along = self.rng.randrange(-x.ndim, x.ndim)
            choices[f"np.cumsum({target}, axis={along}, out={target})"] = 1
            total = f"np.sum({wide}, axis={axis}, out={target}, initial=2"
            choices[
                f"{total}, where={self.literal(x.shape[-1:] if axis < x.ndim else (3,), 'bool')})"
            ] = 1
        return self.pick(choices)

    # Results --------------------------------------------------------------------------------

    def read_masked(self) -> str | None:
        base = self.base(axes=1)
        if not np.ndim(self.value(base)):
            return None
        return self.binding(f"{base}[{self.mask(base)}]")

    def gather(self) -> str | None:
        base = self.base(axes=1)
        if not np.ndim(x := self.value(base)):
            return None
        return self.binding(f"{base}[{self.fancy(x.shape)}]")

    def compute(self) -> str | None:
        text = self.base()
        x = self.value(text)
        if not isinstance(x, np.ndarray):
            return None
        dtype = x.dtype.name
        near = self.root(text)
        other = self.operand(x.shape, PROMOTED[dtype], near)
        compared = self.operand(x.shape, COMPARED[dtype], near)
        choices = {
            f"{text}.copy()": 2.0,
            f"{text}.astype(np.{'int32' if dtype == 'float32' else 'float32'})": 1,
            f"{text}.astype(np.{dtype})": 0.5,
            f"{text}.flatten()": 0.5,
            f"np.where({self.condition(text, x)}, {text}, {other})": 1.5,
            f"{text} {self.rng.choice(['<', '==', '>='])} {compared}": 2,
            f"np.sort({text})": 0.5,
            f"np.repeat({text}, 2, axis=-1)": 0.3 if x.ndim else 0,
            f"np.roll({text}, 1)": 0.5,
            f"np.zeros_like({text})": 0.3,
            f"np.full_like({text}, {self.scalar(dtype)})": 0.3,
            f"np.array({text})": 0.5,
            f"np.asarray({text})[()]": 0.3,
        }
        if dtype == "bool":
            choices |= {f"~{text}": 1, f"{text} {self.rng.choice('&|^')} {other}": 2}
        else:
            choices |= {f"{text} {self.rng.choice('+-*')} {other}": 3, f"np.minimum({text}, 4)": 1}
        if x.ndim:
            axis = self.rng.randrange(-x.ndim, x.ndim)
            choices |= {
                f"np.concatenate([{text}, {text}[:2]])": 1,
                f"np.stack([{text}, {text}[::-1]], axis={axis})": 1,
            }
        return self.binding(self.pick(choices))

    def reduce(self) -> str | None:
        text = self.base(("float32", "int32"))
        x = self.value(text)
        if not isinstance(x, np.ndarray) or x.dtype.name not in ("float32", "int32"):
            return None
        axis = self.rng.choice([None, *range(-x.ndim, x.ndim)])
        keep = self.rng.choice([True, False])
        if self.chance(0.3):
            name = self.rng.choice(["any", "all"])
            return self.binding(f"np.{name}({text}, axis={axis}, keepdims={keep})")
        if self.chance(0.2) and x.ndim:
            axis = axis or 0
            return self.binding(f"np.cumsum({text}, axis={axis}, dtype=np.{x.dtype.name})")
        total = f"np.sum({text}, axis={axis}, dtype=np.{x.dtype.name}, keepdims={keep})"
        return self.binding(self.rng.choice([total, f"{text}.max(axis={axis}, keepdims={keep})"]))

    def read_scalar(self) -> str | None:
        name = self.array()
        x = self.names[name]
        at = ", ".join(self.integer(n) if n else "0" for n in x.shape) or "()"
        return self.rng.choice(
            [
                f"t = {name}[{at}]",
                f"s = int({name}[{at}])",
                f"s = int({name}.max())",
                f"s = int({name}.argmax())",
                f"{INDEX} = {name}.argmax()",
                f"s = int(np.count_nonzero({name}))",
                f"t = {name}.all()",
                f"s = len({name})",
                f"if ({name} == 2).any():\n    {name}[...] = 3",
            ]
        )

    # Control flow ---------------------------------------------------------------------------

    def loop(self) -> str | None:
        text = self.base(axes=1)
        x = self.value(text)
        if not np.ndim(x) or not x.size:
            return None
        dtype, rows = x.dtype.name, x.shape[1:]
        operator = "^=" if dtype == "bool" else self.rng.choice(["+=", "*="])
        near = self.root(text)
        if x.ndim == 1:  # the elements are scalars, not views
            return f"for row in {text}:\n    row {operator} {self.scalar(dtype)}"
        counted = f"for i in range(len({text})):\n    {text}"
        choices = {
            f"for row in {text}:\n    {self.change('row', rows, dtype, near)}": 3.0,
            f"for row in {text}:\n    row[...] = {self.source(x[0], near)}": 2,
            f"for row, other in zip({text}, {text}[::-1]):\n    row[...] = other": 1,
            f"{counted}[i] = {text}[-1 - i]": 1,
            f"{counted}[i, 0] {operator} {self.scalar(dtype)}": 1,
            f"for row in np.array_split({text}, 2, axis=-1):\n"
            f"    row {operator} {self.scalar(dtype)}": 1,
        }
        return self.pick(choices)

    def call_function(self) -> str | None:
        text = self.base(axes=1)
        x = self.value(text)
        if not np.ndim(x):
            return None
        operator = "^=" if x.dtype == bool else self.rng.choice(["+=", "*="])
        one, two = self.scalar(x.dtype.name), self.scalar(x.dtype.name)
        lines = [f"z {operator} {one}", f"z[1:] = {two}", f"z = z {operator[:-1]} {one}"]
        body = "".join(f"    {line}\n" for line in self.rng.sample(lines, 3))
        returned = self.rng.choice(ARRAYS) + " = " if self.chance(0.5) else ""
        return f"def change(z):\n{body}    return z\n{returned}change({text})"
