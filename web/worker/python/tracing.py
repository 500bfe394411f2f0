"""Traces the evaluation of one expression step by step, for the page's "How it works".

Imported on first use. `trace` prints a line of JSON, documented in learn/learn.js.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from time import perf_counter
from typing import Any

import py_tensor as pt
from py_tensor.backends.webgpu import WebGPU
from py_tensor.ir.node import Node
from py_tensor.runtime.device import with_backend
from py_tensor.runtime.plan import DISPATCH, Plan
from py_tensor.schedule.order import topological

MAX_NODES = 400
HEAD = 8  # words of a DISPATCH before its buffers: see runtime/plan.py


def trace(expression: str, columns: int) -> None:
    """Evaluate an expression of `x`, `y`, `w` and the console's names, and print the trace.

    The result is shown in lines of at most this many columns.
    """
    given = operands()
    names = vars(sys.modules["__main__"]) | {"pt": pt} | given
    code = compiled(expression)
    start = perf_counter()
    result = eval(code, names)
    recorded = perf_counter()
    if not isinstance(result, pt.Tensor):
        raise TypeError(
            f"the result is not a tensor but {type(result).__name__}, so there is no graph to show;"
            " leave out a call that reads the values, such as .item() or .tolist()"
        )
    nodes = topological([result._node])
    if len(nodes) > MAX_NODES:
        raise ValueError(f"{len(nodes)} nodes are too many to show (limit {MAX_NODES})")
    found: dict[str, Any] = {
        "nodes": [described(node, nodes) for node in nodes],
        "names": {nodes.index(x._node): name for name, x in given.items() if x._node in nodes},
        "device": result.device.name,
        "result": {"shape": result.shape, "dtype": str(result.dtype)},
        "microseconds": {"record": 1e6 * (recorded - start)},
    }
    found |= {"kernels": [asdict(k) for k in pt.explain(result).kernels]}
    device = with_backend(result.device)
    backend = device.backend
    if isinstance(backend, WebGPU) and found["kernels"]:
        program = device.request([result._node]).program
        start = perf_counter()
        plan = backend.plan_for(backend.profile, program)
        found["microseconds"]["plan"] = 1e6 * (perf_counter() - start)
        found["stream"] = stream(plan)
    start = perf_counter()
    with pt.printoptions(linewidth=columns):
        shown = repr(result)
    found["microseconds"]["read"] = 1e6 * (perf_counter() - start)
    print(json.dumps(found | {"shown": shown}))


def compiled(expression: str) -> Any:
    """Compile an expression; the error says if the text is empty or a statement."""
    if not expression:
        raise ValueError("enter an expression")
    try:
        return compile(expression, "<expression>", "eval")
    except SyntaxError:
        compile(expression, "<expression>", "exec")  # raises if it is not valid Python either
        raise ValueError("enter an expression, not a statement") from None


def operands() -> dict[str, pt.Tensor]:
    """Return the page's operands: x (64, 64), y (64,) and w (64, 64), computed."""
    draw = pt.Generator(0)
    given = {"x": draw.rand(64, 64), "y": draw.rand(64), "w": draw.randn(64, 64)}
    pt.realize(*given.values())
    return given


def described(node: Node, nodes: list[Node]) -> dict[str, Any]:
    return {
        "op": node.op.name,
        "shape": node.meta.shape,
        "dtype": str(node.meta.dtype),
        "inputs": [nodes.index(operand) for operand in node.inputs],
        "value": written(node.attrs) if node.op.constant else None,
        "stored": node.storage is not None,
        "moves": node.op.reads_by_map,
    }


def written(constant: float) -> str:
    """Return a constant as text, because JSON has no infinities or NaN."""
    return f"{constant:g}" if isinstance(constant, float) else str(constant)


def stream(plan: Plan) -> dict[str, Any]:
    """Return the commands of a plan as submitted, each decoded."""
    programs = {program.number: program.label for program in plan.programs}
    return {
        "commands": [command | {"program": programs.get(command["words"][1], "")}
                     if len(command["words"]) > 1 else command for command in commands(plan)],
        "parameters": plan.params.itemsize * len(plan.params),
        "parts": len(plan.cuts) + 1,
        "leaves": len(plan.leaves),
        "outputs": len(plan.outputs) + len(plan.slices),
    }  # fmt: skip


def commands(plan: Plan) -> Iterator[dict[str, Any]]:
    at, words = 0, plan.commands.tolist()
    while at < len(words):
        size = HEAD + words[at + HEAD - 1] if words[at] == DISPATCH else 1
        command = words[at : at + size]
        yield {"words": command, "groups": command[4:7], "buffers": command[HEAD:]}
        at += size
