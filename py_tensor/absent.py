"""Names that NumPy and PyTorch have and this library has not, and what there is instead."""

from __future__ import annotations

from typing import NoReturn

_NO_GRADIENTS = "there is no automatic differentiation yet"

FUNCTIONS: dict[str, str] = {
    **dict.fromkeys(("autograd", "backward", "grad", "jvp", "no_grad", "vjp"), _NO_GRADIENTS),
    **dict.fromkeys(("compile", "jit"), "expressions are fused and compiled by themselves"),
    "bfloat16": "there is pt.float16",
    **dict.fromkeys(("bmm", "mm", "mv"), "it is pt.matmul"),
    "cat": "it is pt.concat",
    "from_numpy": "it is pt.asarray",
    "hist": "it is pt.histogram",
    "in1d": "it is pt.isin",
    "norm": "it is pt.linalg.norm",
    "normal": "it is pt.random.normal",
    "seed": "it is pt.manual_seed",
    "uniform": "it is pt.random.uniform",
}  # fmt: skip
"""Of the package."""

METHODS: dict[str, str] = {
    **dict.fromkeys(
        ("backward", "detach", "grad", "requires_grad", "requires_grad_"), _NO_GRADIENTS
    ),
    "clone": "it is x.copy()",
    "bool": "it is x.astype(pt.bool)",
    "copy_": "it is x[...] = y",
    "cpu": 'it is x.to("cpu")',
    "cuda": 'it is x.to("webgpu")',
    "ctypes": "there is x.numpy().ctypes, of a copy",
    "dim": "it is x.ndim",
    "double": 'it is x.astype(pt.float64), on the device "cpu"',
    **dict.fromkeys(("fill_", "zero_"), "it is x.fill(value)"),
    "float": "it is x.astype(pt.float32)",
    **dict.fromkeys(("getfield", "setfield"), "elements have no fields; x.view(dtype) is a view"),
    "gpu": 'it is x.to("webgpu")',
    "hist": FUNCTIONS["hist"],
    "int": "it is x.astype(pt.int32)",
    "long": "it is x.astype(pt.int64)",
    **dict.fromkeys(("masked_fill", "masked_fill_"), "it is x[mask] = value"),
    "norm": "it is pt.linalg.norm(x)",
    "numel": "it is x.size",
    "resize": "there is x.reshape(...), and pt.concat for more elements",
    "type": "it is x.astype(dtype)",
}
"""Of tensors."""


def refuse_function(name: str, module: object) -> NoReturn:
    """Say that there is no `pt.name`, and what there is instead."""
    raise _error(f"module 'py_tensor' has no attribute '{name}'", name, module, FUNCTIONS.get(name))


def refuse_method(name: str, tensor: object) -> NoReturn:
    """Say that there is no `x.name`, and what there is instead: perhaps a function.

    Raised here and not where `self` is the tensor: there Python would suggest private names, too.
    """
    words = f"'Tensor' object has no attribute '{name}'"
    raise _error(words, name, tensor, METHODS.get(name) or _function_or_op(name))


def _function_or_op(name: str) -> str | None:
    """A function of this name, or the op that PyTorch's `name_` does in place; None for others."""
    import py_tensor
    from py_tensor.ops.define import REGISTRY

    if not name.startswith("_") and callable(getattr(py_tensor, name, None)):
        return f"there is the function pt.{name}"
    op = name.removesuffix("_")
    if op != name and op in REGISTRY and hasattr(py_tensor.Tensor, op):
        return f"it is x[...] = x.{op}(...)"
    return None


def _error(words: str, name: str, owner: object, instead: str | None) -> AttributeError:
    """Of no object where it says what there is, or Python would go on to suggest another name."""
    if instead:
        return AttributeError(f"{words}; {instead}", name=name, obj=None)
    return AttributeError(words, name=name, obj=owner)
