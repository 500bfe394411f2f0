"""Runs a program on a device, compares the values, and finds the shortest part that fails."""

from __future__ import annotations

from typing import Any

import numpy as np

import py_tensor as pt
from tests.ops.programs.program import Program
from tests.ops.programs.value import Array, Value


def run(
    program: Program,
    device: str,
    lines: list[int] | None = None,
    live: set[int] | None = None,
    order: Any = None,
) -> dict[int, Any]:
    """Return the live lines' results as NumPy arrays, read in a random order."""
    chosen = list(range(len(program.lines))) if lines is None else lines
    live = program.live if live is None else live
    last_use: dict[int, int] = {}
    for i in chosen:
        last_use[i] = i
        for j in program.lines[i].inputs:
            last_use[j] = i
    names: dict[str, Any] = {"pt": pt, "device": device, **program.data}
    for i in chosen:
        names[f"v{i}"] = eval(program.lines[i].text, names)
        for j in {i, *program.lines[i].inputs}:
            if j not in live and last_use[j] <= i:
                names.pop(f"v{j}", None)
        if lines is None and i in program.realized:
            pt.realize(*(names[f"v{j}"] for j in program.realized[i]))
    kept = [i for i in chosen if i in live]
    if order is not None:
        order.shuffle(kept)
    return {i: names[f"v{i}"].numpy() for i in kept}


def mismatch(value: Value, got: Array) -> str | None:
    """Return a description of the error in a result, or None."""
    if got.shape != value.shape:
        return f"shape {got.shape}, not {value.shape}"
    if got.dtype.name != value.dtype:
        return f"dtype {got.dtype}, not {value.dtype}"
    if value.dtype != "float32":
        bad = got != value.ref
    else:
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(got.astype(np.float64) - value.ref) <= value.error)
    if not np.any(bad):
        return None
    at = tuple(int(n) for n in np.argwhere(bad)[0])
    return (
        f"{int(np.count_nonzero(bad))} of {got.size} elements are wrong; at {at}: {got[at]!r}, "
        f"not {value.ref[at]!r} (+- {value.error[at]:.3g})"
    )


def check(program: Program, device: str) -> None:
    """Run a program; if a result is wrong, report the shortest program that reproduces it."""
    try:
        got = run(program, device, order=np.random.default_rng(program.seed))
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    else:
        wrong = ((i, mismatch(program.lines[i].value, a)) for i, a in sorted(got.items()))
        first = next(((i, m) for i, m in wrong if m), None)
        if first is None:
            return
        problem = f"v{first[0]}: {first[1]}"
    raise AssertionError(
        f"program of seed {program.seed}: {problem}\n\n{program.text()}\n\n"
        f"Shortest found:\n{shrink(program, device)}"
    )


def shrink(program: Program, device: str) -> str:
    """Return the first line that is wrong with only its ancestors, and these lines."""
    for i in range(len(program.lines)):
        lines = program.closure(i)
        for live in ({i}, set(lines)):
            try:
                got = run(program, device, lines, live)
                problem = next(
                    (
                        f"v{j}: {m}"
                        for j in sorted(live)
                        if (m := mismatch(program.lines[j].value, got[j]))
                    ),
                    None,
                )
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            if problem:
                chosen = Program(program.seed, program.lines, live=live)
                data = "\n".join(
                    f"{k} = {_shown(v)}"
                    for k, v in program.data.items()
                    if f"v{k[1:]}" in {f"v{j}" for j in lines}
                )
                return f"{data}\n{chosen.text(lines)}\n-> {problem}"
    return "(only the whole program goes wrong)"


def _shown(a: Array) -> str:
    return f"np.array({a.tolist()!r}, '{a.dtype}')" if a.size <= 24 else f"<{a.dtype} {a.shape}>"
