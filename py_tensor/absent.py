"""What NumPy and PyTorch have and this library has not, or in part, and what there is instead.

Errors, FEATURES.md (web/build/features.py) and the page's reference (web/build/reference.py) say
what is here.
"""

from __future__ import annotations

import re
from typing import NoReturn

_NO_GRADIENTS = "there is no automatic differentiation yet"
_NO_MATRIX = "tensors have any number of axes: it is pt.{} of two axes, and @ multiplies matrices"
_NO_TEXT = "elements are numbers or bools, no text; there is np.{}, on the CPU"
_NO_DATES = "elements are numbers or bools, no dates; there is np.{}, on the CPU"
_NO_RECORDS = "elements are numbers or bools, and have no fields; a dict of tensors has names"
_TOO_WIDE = "the widest numbers have 64 bits, in each part if complex; the CPU alone has them"
_NO_POINTERS = "memory may lie on a GPU, where C cannot point; x.numpy() is a copy that has {}"
_OF_NUMPY_ITSELF = "it is about NumPy itself: np.{}"

_PYTORCH = {
    "addmm": "c + a @ b",
    "as_tensor": "pt.asarray",
    "baddbmm": "c + a @ b",
    "bernoulli": "pt.random.binomial(1, p)",
    "BoolTensor": "pt.tensor(data, dtype=pt.bool)",
    "broadcast_tensors": "pt.broadcast_arrays",
    "bucketize": "pt.searchsorted(boundaries, x)",
    "cat": "pt.concat",
    "cdist": "pt.linalg.norm(x[:, None] - y, axis=-1)",
    "chain_matmul": "pt.linalg.multi_dot",
    "chunk": "pt.array_split",
    "clamp": "pt.clip",
    "complex": "pt.complex64",
    "DoubleTensor": 'pt.tensor(data, dtype=pt.float64, device="cpu")',
    "float": "pt.float32",
    "FloatTensor": "pt.tensor(data, dtype=pt.float32)",
    "frac": "x - pt.trunc(x)",
    "from_numpy": "pt.asarray",
    "gather": "pt.take_along_axis",
    "ger": "pt.outer",
    "HalfTensor": "pt.tensor(data, dtype=pt.float16)",
    "histc": "pt.histogram",
    "index_add": "pt.add.at(x, indices, values)",
    "index_put": "x[indices] = values",
    "index_select": "pt.take",
    "int": "pt.int32",
    "IntTensor": "pt.tensor(data, dtype=pt.int32)",
    "inverse": "pt.linalg.inv",
    "is_complex": "pt.iscomplexobj",
    "is_floating_point": 'pt.isdtype(x.dtype, "real floating")',
    "is_tensor": "isinstance(x, pt.Tensor)",
    "kthvalue": "pt.partition(x, k - 1)[k - 1]",
    "lerp": "x + (y - x) * weight",
    "logsumexp": "pt.logaddexp.reduce",
    "LongTensor": "pt.tensor(data, dtype=pt.int64)",
    "masked_fill": "pt.where(mask, value, x)",
    "masked_select": "x[mask]",
    "movedim": "pt.moveaxis",
    "multinomial": "pt.random.choice(n, size, p=p)",
    "narrow": "x[start:start + length]",
    "neg": "pt.negative",
    "numel": "x.size",
    "one_hot": "pt.eye(n)[labels]",
    "pinverse": "pt.linalg.pinv",
    "rand_like": "pt.rand(*x.shape)",
    "randn_like": "pt.randn(*x.shape)",
    "randperm": "pt.random.permutation(n)",
    "range": "pt.arange",
    "repeat_interleave": "pt.repeat",
    "rsqrt": "1 / pt.sqrt(x)",
    "scatter_add": "pt.add.at(x, indices, values)",
    "sgn": "pt.sign",
    "swapdims": "pt.swapaxes",
    "symeig": "pt.linalg.eigh",
    "t": "x.T",
    "take_along_dim": "pt.take_along_axis",
    "tensor_split": "pt.array_split",
    "topk": "pt.sort(x, descending=True)[:k]",
    "unbind": "pt.unstack",
    "unflatten": "pt.reshape",
    "view": "pt.reshape",
    **{
        name: f"pt.linalg.{name}"
        for name in (
            "cholesky", "cond", "det", "eigh", "inv", "lstsq", "matrix_power", "matrix_rank",
            "norm", "pinv", "qr", "slogdet", "solve", "svd",
        )
    },
}  # fmt: skip
"""Of functions in PyTorch, or in NumPy's `linalg`: what they are called here."""

FUNCTIONS: dict[str, str] = {
    **{name: f"it is {called}" for name, called in _PYTORCH.items()},
    **dict.fromkeys(("func", "inference_mode", "jacobian", "optim", "vmap"), _NO_GRADIENTS),
    "bit_generator": "its classes are names of pt.random, such as pt.random.Philox",
    "dtypes": "all dtypes are of one class, pt.DType",
    "exceptions": "they are names of the package, such as pt.AxisError and pt.ComplexWarning",
    "mtrand": "its functions are those of pt.random",
    "cuda": "pt.device_info() tells of the GPU, where tensors are made where there is one",
    "device": 'a device is named by "webgpu" or "cpu": x.to(name), pt.set_default_device(name)',
    "nn": "there are no layers yet; pt.relu, pt.softmax and pt.layer_norm are functions",
    "set_default_dtype": "the default is float32; dtype=, and x.astype(dtype), choose another",
    "Size": "the shape of a tensor is a tuple",
    **dict.fromkeys(("autograd", "backward", "grad", "jvp", "no_grad", "vjp"), _NO_GRADIENTS),
    **dict.fromkeys(("compile", "jit"), "expressions are fused and compiled by themselves"),
    "bfloat16": "there is pt.float16",
    **dict.fromkeys(("bmm", "mm", "mv"), "it is pt.matmul"),
    **{name: _NO_MATRIX.format("asarray") for name in ("asmatrix", "matrix")},
    "bmat": _NO_MATRIX.format("block"),
    **{name: _NO_TEXT.format(name) for name in ("char", "chararray", "strings")},
    **{
        name: _NO_DATES.format(name)
        for name in (
            "busday_count", "busday_offset", "busdaycalendar", "datetime_as_string",
            "datetime_data", "is_busday", "isnat",
        )
    },
    **dict.fromkeys(("rec", "recarray", "record", "fromregex"), _NO_RECORDS),
    **dict.fromkeys(("complex256", "float128"), _TOO_WIDE),
    "ctypeslib": _NO_POINTERS.format("ctypes"),
    "f2py": "it compiles Fortran, which runs on the CPU; pt.kernel compiles WGSL for the GPU",
    "memmap": "memory may lie on a GPU, where no file is; pt.asarray takes one of NumPy's",
    "ma": "no mask goes along with a tensor; there are NaN with pt.nanmean, and where=mask",
    **{
        name: _OF_NUMPY_ITSELF.format(name)
        for name in ("core", "get_include", "show_config", "show_runtime", "test")
    },
    "info": "help(pt.sum) shows what there is to read of pt.sum",
    "nested_iters": "loops over pt.ndindex(*shape) may stand in each other",
    "in1d": "it is pt.isin",
    "normal": "it is pt.random.normal",
    "seed": "it is pt.manual_seed",
    "uniform": "it is pt.random.uniform",
}  # fmt: skip
"""Of the package."""

_PYTORCH_METHODS = {
    "bernoulli_": "x[...] = pt.random.binomial(1, p, x.shape)",
    "byte": "x.astype(pt.uint8)",
    "clamp": "x.clip(min, max)",
    "clamp_": "x[...] = x.clip(min, max)",
    "contiguous": "pt.ascontiguousarray(x)",
    "det": "pt.linalg.det(x)",
    "div_": "x /= y",
    "element_size": "x.itemsize",
    "expand_as": "pt.broadcast_to(x, y.shape)",
    "gather": "pt.take_along_axis(x, indices, axis)",
    "H": "x.T.conj()",
    "half": "x.astype(pt.float16)",
    "index_add_": "pt.add.at(x, indices, values)",
    "index_copy_": "x[indices] = values",
    "index_fill_": "x[indices] = value",
    "index_put_": "x[indices] = values",
    "index_select": "x.take(indices, axis)",
    "inverse": "pt.linalg.inv(x)",
    "is_contiguous": "x.flags.c_contiguous",
    "is_cuda": 'x.device == "webgpu"',
    "mH": "x.mT.conj()",
    **dict.fromkeys(("bmm", "mm", "mv"), "x @ y"),
    "movedim": "pt.moveaxis(x, source, destination)",
    "mul_": "x *= y",
    "ndimension": "x.ndim",
    "neg": "-x",
    "neg_": "x *= -1",
    "nelement": "x.size",
    "new_empty": "pt.empty(shape, dtype=x.dtype)",
    "new_full": "pt.full(shape, value, dtype=x.dtype)",
    "new_ones": "pt.ones(shape, dtype=x.dtype)",
    "new_tensor": "pt.asarray(data, dtype=x.dtype)",
    "new_zeros": "pt.zeros(shape, dtype=x.dtype)",
    "normal_": "x[...] = pt.random.normal(size=x.shape)",
    "random_": "x[...] = pt.randint(low, high, x.shape)",
    "repeat_interleave": "x.repeat(repeats, axis)",
    "reshape_as": "x.reshape(y.shape)",
    **dict.fromkeys(("scatter", "scatter_"), "pt.put_along_axis(x, indices, values, axis)"),
    "scatter_add_": "pt.add.at(x, indices, values)",
    "short": "x.astype(pt.int16)",
    "stride": "x.strides, in bytes",
    "sub_": "x -= y",
    "type_as": "x.astype(y.dtype)",
    "unflatten": "x.reshape(...)",
    "uniform_": "x[...] = pt.random.uniform(size=x.shape)",
    "view_as": "x.reshape(y.shape)",
}
"""Of methods in PyTorch: what they are called here."""

METHODS: dict[str, str] = {
    **{name: f"it is {called}" for name, called in _PYTORCH_METHODS.items()},
    **dict.fromkeys(
        (
            "backward", "detach", "grad", "is_leaf", "register_hook", "requires_grad",
            "requires_grad_", "retain_grad",
        ),
        _NO_GRADIENTS,
    ),
    "data_ptr": _NO_POINTERS.format("ctypes"),
    "clone": "it is x.copy()",
    "bool": "it is x.astype(pt.bool)",
    "copy_": "it is x[...] = y",
    "cpu": 'it is x.to("cpu")',
    "cuda": 'it is x.to("webgpu")',
    "ctypes": _NO_POINTERS.format("ctypes"),
    "dim": "it is x.ndim",
    "double": 'it is x.astype(pt.float64), on the device "cpu"',
    **dict.fromkeys(("fill_", "zero_"), "it is x.fill(value)"),
    "float": "it is x.astype(pt.float32)",
    **dict.fromkeys(("getfield", "setfield"), "elements have no fields; x.view(dtype) is a view"),
    "gpu": 'it is x.to("webgpu")',
    "hist": "it is pt.histogram; pt.hist draws one",
    "int": "it is x.astype(pt.int32)",
    "long": "it is x.astype(pt.int64)",
    **dict.fromkeys(("masked_fill", "masked_fill_"), "it is x[mask] = value"),
    "norm": "it is pt.linalg.norm(x)",
    "numel": "it is x.size",
    "type": "it is x.astype(dtype)",
}  # fmt: skip
"""Of tensors. For a name that is not here, what FUNCTIONS has."""

_AXIS = dict.fromkeys(("dim", "dims"), "axis")
KEYWORDS: dict[str, str] = {
    **{name: f"it is {called}=" for name, called in (_AXIS | {"keepdim": "keepdims"}).items()},
    "requires_grad": _NO_GRADIENTS,
}
"""Of parameters of PyTorch's that functions do not take."""

_ON_HOST = "computed on the host, by NumPy: the GPU is waited for"
_WITHOUT_ELEMENTS = "for issubdtype and isinstance: no tensor has such elements"
_CPU_ALONE = 'on the device "cpu" alone: GPUs have no floats of 64 bits'
_OF_32_BITS = "32 bits, the default of integers here; NumPy's has 64"
_NOT_READ = ", where nothing is read for an error"
_STREAM = "another stream of numbers than NumPy's for the same seed"
PARTLY: dict[str, str] = {
    **dict.fromkeys(
        ("asfortranarray", "require"), "what is column-major is a view, and owns no memory"
    ),
    **dict.fromkeys(("nanargmax", "nanargmin"), "on the GPU 0 for NaN alone" + _NOT_READ),
    **dict.fromkeys(
        ("ravel_multi_index", "unravel_index"),
        "on the GPU numbers out of range stand for others" + _NOT_READ,
    ),
    **dict.fromkeys(
        ("linalg.cholesky", "linalg.inv", "linalg.solve", "linalg.svd", "linalg.svdvals"),
        "on the GPU NaN or infinities where there is no result" + _NOT_READ,
    ),
    **dict.fromkeys(
        ("average", "histogram", "histogram_bin_edges"),
        "on the GPU NaN or infinities for what NumPy refuses" + _NOT_READ,
    ),
    **dict.fromkeys(("pow", "power"), "on the GPU 0 for integers to negative powers" + _NOT_READ),
    "ufunc": "no resolve_dtypes; reduce takes no initial of None",
    **dict.fromkeys(
        ("bytes_", "character", "datetime64", "flexible", "object_", "str_", "timedelta64", "void"),
        _WITHOUT_ELEMENTS,
    ),
    **dict.fromkeys(("cdouble", "complex128", "double", "float64"), _CPU_ALONE),
    "longdouble": "float64: there is nothing wider; " + _CPU_ALONE,
    "clongdouble": "complex128: there is nothing wider; " + _CPU_ALONE,
    **dict.fromkeys(("int_", "intp", "uint", "uintp"), _OF_32_BITS),
    **dict.fromkeys(("errstate", "geterr", "seterr"), "accepted: nothing warns, nothing raises"),
    **dict.fromkeys(
        ("frompyfunc", "vectorize"), "the function is called for each element, on the host"
    ),
    **dict.fromkeys(
        ("frombuffer", "fromfile"), "a copy; without a dtype of float32, as float is everywhere"
    ),
    "fromstring": "of text alone; frombuffer takes bytes",
    "genfromtxt": "no names and no masks: elements have no fields; read on the host",
    "loadtxt": "no quoted numbers; read on the host",
    "nditer": "no ranges and no reductions; each element that is written to is an op",
    **dict.fromkeys(
        ("linalg.eig", "linalg.eigvals"), _ON_HOST + "; complex always, as the standard has it"
    ),
    **dict.fromkeys(("poly1d", "polydiv", "roots"), _ON_HOST),
    **dict.fromkeys(
        ("random.MT19937", "random.PCG64", "random.PCG64DXSM", "random.Philox", "random.SFC64"),
        _STREAM,
    ),
    "lib": "stride_tricks alone",
    "typing": "the types of this library",
    "random.bytes": "computed on the host",
    "random.seed": _STREAM,
}
"""Of names of NumPy's that mean less here, or something else: how. What belongs to a module has its
name in front. What follows from a signature is not here."""


def refuse_function(name: str, module: object) -> NoReturn:
    """Say that there is no `pt.name`, and what there is instead."""
    raise _error(f"module 'py_tensor' has no attribute '{name}'", name, module, FUNCTIONS.get(name))


def refuse_method(name: str, tensor: object) -> NoReturn:
    """Say that there is no `x.name`, and what there is instead: perhaps a function.

    Raised here and not where `self` is the tensor: there Python would suggest private names, too.
    """
    words = f"'Tensor' object has no attribute '{name}'"
    raise _error(words, name, tensor, _instead_of_method(name))


_UNEXPECTED = re.compile(r"(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument '(\w+)'")


def clarify_keyword(error: TypeError) -> None:
    """Have Python's error about a parameter that a function does not take say what there is.

    For hosts that show errors, as the page is: Python raises it before any function of ours runs.
    """
    import py_tensor

    found = _UNEXPECTED.match(str(error))
    if found is None or found[2] not in KEYWORDS:
        return
    if found[1] in dir(py_tensor) or hasattr(py_tensor.Tensor, found[1]):
        error.args = (f"{found[0]}; {KEYWORDS[found[2]]}",)


def _instead_of_method(name: str) -> str | None:
    return METHODS.get(name) or _function_or_op(name) or FUNCTIONS.get(name)


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
