"""Names of NumPy and PyTorch that are missing or partly supported, and the alternatives.

Used by error messages, FEATURES.md (web/build/features.py) and the page's reference
(web/build/reference.py).
"""

from __future__ import annotations

import re
from inspect import signature
from typing import NoReturn

from py_tensor.tensors.tensor import INSTALLED, Tensor, public


def _each(names: str, hint: str) -> dict[str, str]:
    """Return a hint for each of several names, which it may contain as `{}`."""
    return {name: hint.format(name) for name in names.split()}


_GRADIENTS = "pt.grad(f)(x) returns the gradient of a function"
_NO_MATRIX = "there is no matrix class; use pt.{} with two axes, and @ for matrix products"
_NO_TEXT = "text is not supported; use np.{} on the CPU"
_NO_DATES = "dates are not supported; use np.{} on the CPU"
_NO_RECORDS = "structured dtypes are not supported; use a dict of tensors"
_TOO_WIDE = "the widest dtypes are float64 and complex128, on the CPU only"
_NO_POINTERS = "GPU memory has no host address; x.numpy() is a copy with {}"

# Written here, because an error must not load the module that has them.
_LINALG = (
    "cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_norm matrix_power matrix_rank "
    "multi_dot norm pinv qr slogdet solve svd svdvals tensorinv tensorsolve vector_norm"
)

_RENAMED = (
    "alltrue:all as_tensor:asarray bool8:bool broadcast_tensors:broadcast_arrays cat:concat "
    "chain_matmul:linalg.multi_dot chunk:array_split clamp:clip complex:complex64 "
    "complex_:complex64 cumproduct:cumprod find_common_type:result_type float:float32 "
    "float_:float32 from_numpy:asarray gather:take_along_axis ger:outer histc:histogram "
    "in1d:isin index_select:take Inf:inf Infinity:inf infty:inf int:int32 "
    "inverse:linalg.inv is_complex:iscomplexobj logsumexp:logaddexp.reduce movedim:moveaxis "
    "NAN:nan NaN:nan neg:negative PINF:inf pinverse:linalg.pinv product:prod range:arange "
    "repeat_interleave:repeat round_:round sgn:sign sometrue:any swapdims:swapaxes "
    "symeig:linalg.eigh take_along_dim:take_along_axis tensor_split:array_split "
    "unbind:unstack unflatten:reshape view:reshape"
)
"""Functions and dtypes of PyTorch, or that NumPy 2 has removed, and their names here."""

_TENSORS = {"Bool": "bool", "Float": "float32", "Half": "float16", "Int": "int32", "Long": "int64"}

_REPLACED = {
    "asfarray": "pt.asarray(x, dtype=float)",
    "asscalar": "x.item()",
    "msort": "pt.sort(x, axis=0)",
    "NINF": "-pt.inf",
    **_each("addmm baddbmm", "c + a @ b"),
    "bernoulli": "pt.random.binomial(1, p)",
    "bucketize": "pt.searchsorted(boundaries, x)",
    "cdist": "pt.linalg.norm(x[:, None] - y, axis=-1)",
    "DoubleTensor": 'pt.tensor(data, dtype=pt.float64, device="cpu")',
    "frac": "x - pt.trunc(x)",
    **_each("index_add scatter_add", "pt.add.at(x, indices, values)"),
    "index_put": "x[indices] = values",
    "is_floating_point": 'pt.isdtype(x.dtype, "real floating")',
    "is_tensor": "isinstance(x, pt.Tensor)",
    "kthvalue": "pt.partition(x, k - 1)[k - 1]",
    "lerp": "x + (y - x) * weight",
    "masked_fill": "pt.where(mask, value, x)",
    "masked_select": "x[mask]",
    "multinomial": "pt.random.choice(n, size, p=p)",
    "narrow": "x[start:start + length]",
    "numel": "x.size",
    "one_hot": "pt.eye(n)[labels]",
    "rand_like": "pt.rand(*x.shape)",
    "randn_like": "pt.randn(*x.shape)",
    "randperm": "pt.random.permutation(n)",
    "rsqrt": "1 / pt.sqrt(x)",
    "t": "x.T",
    "topk": "pt.sort(x, descending=True)[:k]",
    **{f"{n}Tensor": f"pt.tensor(data, dtype=pt.{dtype})" for n, dtype in _TENSORS.items()},
    **_each(_LINALG, "pt.linalg.{}"),
}  # fmt: skip
"""Functions of PyTorch or of `numpy.linalg`, and their equivalents here."""

_OWN_CHART = "each call of pt.plot draws its own chart"
_PLOTS = {
    **_each("title xlabel ylabel", "use pt.plot(..., {}=...)"),
    "suptitle": "use pt.plot(..., title=...)",
    **_each("xscale yscale", 'use pt.plot(..., {}="log")'),
    "semilogx": 'use pt.plot(x, y, xscale="log")',
    "semilogy": 'use pt.plot(x, y, yscale="log")',
    "loglog": 'use pt.plot(x, y, xscale="log", yscale="log")',
    "legend": "use pt.plot(y, label=...)",
    "figure": _OWN_CHART,
    **_each("subplot subplots", _OWN_CHART + "; pt.plot(y1) + pt.plot(y2) is one chart"),
    "show": "pt.plot and pt.imshow show what they draw",
    "savefig": 'click "Save SVG" or "Save PNG" below a chart of pt.plot',
    "colorbar": "pt.imshow has one",
    "errorbar": "pt.plot(y) + pt.scatter(x, z) combines lines and points",
    "fill_between": 'use pt.plot(y, kind="area"), which fills down to 0',
    "contourf": "use pt.contour or pt.imshow",
    **_each("matshow pcolormesh", "use pt.imshow"),
    **_each("xlim ylim", "the axes of pt.plot fit the data"),
}
"""Functions of Matplotlib, and their equivalents here."""

FUNCTIONS: dict[str, str] = {
    **_PLOTS,
    **{name: f"use pt.{new}" for name, new in (pair.split(":") for pair in _RENAMED.split())},
    **{name: f"use {called}" for name, called in _REPLACED.items()},
    "bit_generator": "its classes are in pt.random, such as pt.random.Philox",
    "dtypes": "all dtypes are instances of pt.DType",
    "exceptions": "they are in the package itself, such as pt.AxisError and pt.ComplexWarning",
    "mtrand": "its functions are in pt.random",
    "cuda": "tensors are created on the GPU if there is one; see pt.device_info()",
    "device": 'devices are named "webgpu" and "cpu"; use x.to(name) or pt.set_default_device(name)',
    "nn": "layers are not supported yet; see the functions pt.relu, pt.softmax and pt.layer_norm",
    "Size": "the shape of a tensor is a tuple",
    **_each("autograd backward func inference_mode jacobian", _GRADIENTS),
    **_each("no_grad", _GRADIENTS),
    **_each("compile jit", "expressions are fused and compiled automatically"),
    **_each("bmm mm mv", "use pt.matmul"),
    **_each("asmatrix mat matrix", _NO_MATRIX.format("asarray")),
    "bmat": _NO_MATRIX.format("block"),
    **_each("char strings", _NO_TEXT),
    "chararray": _NO_TEXT.format("strings"),  # which replaces it: NumPy 2.5 has it no more
    **_each("busday_count busday_offset busdaycalendar datetime_as_string", _NO_DATES),
    **_each("datetime_data is_busday isnat", _NO_DATES),
    **_each("rec recarray record fromregex", _NO_RECORDS),
    **_each("complex256 float128", _TOO_WIDE),
    "ctypeslib": _NO_POINTERS.format("ctypes"),
    "f2py": "Fortran runs on the CPU only; pt.kernel compiles WGSL for the GPU",
    "memmap": "GPU memory cannot be mapped to a file; pt.asarray copies a NumPy memmap",
    "ma": "masked arrays are not supported; use NaN with pt.nanmean, or where=mask",
    **_each("core get_include test", "specific to NumPy: np.{}"),
    "show_runtime": "use pt.show_config",
    "info": "use help(pt.sum)",
    "nested_iters": "use nested loops over pt.ndindex(*shape)",
    **_each("normal uniform", "use pt.random.{}"),
    "seed": "use pt.manual_seed",
}  # fmt: skip
"""Hints for names that are missing in the package."""

_DTYPES = {
    **{"bool": "bool", "byte": "uint8", "short": "int16", "int": "int32", "long": "int64"},
    **{"half": "float16", "float": "float32"},
}
"""PyTorch's methods that convert to a dtype."""

_PYTORCH_METHODS = {
    "bernoulli_": "x[...] = pt.random.binomial(1, p, x.shape)",
    "clamp": "x.clip(min, max)",
    "clamp_": "x[...] = x.clip(min, max)",
    "contiguous": "pt.ascontiguousarray(x)",
    "div_": "x /= y",
    "element_size": "x.itemsize",
    "expand_as": "pt.broadcast_to(x, y.shape)",
    "H": "x.T.conj()",
    "index_copy_": "x[indices] = values",
    "index_fill_": "x[indices] = value",
    "is_contiguous": "x.flags.c_contiguous",
    "is_cuda": 'x.device == "webgpu"',
    "mH": "x.mT.conj()",
    "mul_": "x *= y",
    "ndimension": "x.ndim",
    "neg": "-x",
    "neg_": "x *= -1",
    "nelement": "x.size",
    "new_full": "pt.full(shape, value, dtype=x.dtype)",
    "new_tensor": "pt.asarray(data, dtype=x.dtype)",
    **{f"new_{name}": f"pt.{name}(shape, dtype=x.dtype)" for name in ("empty", "ones", "zeros")},
    "normal_": "x[...] = pt.random.normal(size=x.shape)",
    "random_": "x[...] = pt.randint(low, high, x.shape)",
    **_each("reshape_as view_as", "x.reshape(y.shape)"),
    **_each("scatter scatter_", "pt.put_along_axis(x, indices, values, axis)"),
    "stride": "x.strides, in bytes",
    "sub_": "x -= y",
    "type_as": "x.astype(y.dtype)",
    "uniform_": "x[...] = pt.random.uniform(size=x.shape)",
}
"""Methods of PyTorch and their equivalents here."""

METHODS: dict[str, str] = {
    **{name: f"use {called}" for name, called in _PYTORCH_METHODS.items()},
    **_each("backward detach grad is_leaf register_hook requires_grad", _GRADIENTS),
    **_each("requires_grad_ retain_grad", _GRADIENTS),
    **_each("ctypes data_ptr", _NO_POINTERS.format("ctypes")),
    "clone": "use x.copy()",
    **{name: f"use x.astype(pt.{dtype})" for name, dtype in _DTYPES.items()},
    "copy_": "use x[...] = y",
    "cpu": 'use x.to("cpu")',
    "dim": "use x.ndim",
    "double": 'use x.astype(pt.float64) on the device "cpu"',
    **_each("fill_ zero_", "use x.fill(value)"),
    "itemset": "use x[index] = value",
    "newbyteorder": "use x.byteswap()",
    "tostring": "use x.tobytes()",
    **_each("getfield setfield", "elements have no fields; use x.view(dtype)"),
    **_each("cuda gpu", 'use x.to("webgpu")'),
    "hist": "use pt.histogram, or pt.hist to draw one",
    **_each("masked_fill masked_fill_", "use x[mask] = value"),
    "type": "use x.astype(dtype)",
}  # fmt: skip
"""Hints for attributes of tensors; other names, also without a last "_", are in `FUNCTIONS`."""

KEYWORDS: dict[str, str] = {
    **_each("dim dims", "use axis="),
    "keepdim": "use keepdims=",
    "legend": "use label=",
    "requires_grad": _GRADIENTS,
}
"""Hints for parameter names of PyTorch and Matplotlib."""

_ON_HOST = "computed on the host by NumPy; waits for the GPU"
_NO_ELEMENTS = "only for issubdtype and isinstance; tensors cannot hold such elements"
_CPU_ALONE = 'only on the device "cpu": GPUs have no 64-bit floats'
_OF_32_BITS = "32 bits, the default for integers; 64 bits in NumPy"
_NOT_READ = ", because nothing is read to raise an error"
_NOT_FINITE = "NaN or infinities on the GPU instead of an error" + _NOT_READ
_COLUMN_MAJOR = "a column-major result is a view and does not own its memory"
_STREAM = "the numbers differ from NumPy's for the same seed"
PARTLY: dict[str, str] = {
    **_each("asfortranarray require", _COLUMN_MAJOR),
    **_each("nanargmax nanargmin", "0 on the GPU if all elements are NaN" + _NOT_READ),
    **_each(
        "ravel_multi_index unravel_index",
        "no error on the GPU for indices out of range" + _NOT_READ,
    ),
    **_each("linalg.cholesky linalg.inv linalg.solve linalg.svd linalg.svdvals", _NOT_FINITE),
    **_each("average histogram histogram_bin_edges", _NOT_FINITE),
    **_each("pow power", "0 on the GPU for integers to negative powers" + _NOT_READ),
    "ufunc": "no resolve_dtypes; reduce does not accept initial=None",
    **_each("bytes_ character datetime64 flexible object_ str_ timedelta64 void", _NO_ELEMENTS),
    **_each("cdouble complex128 double float64", _CPU_ALONE),
    "longdouble": "float64, the widest float; " + _CPU_ALONE,
    "clongdouble": "complex128, the widest complex dtype; " + _CPU_ALONE,
    **_each("int_ intp uint uintp", _OF_32_BITS),
    **_each("errstate geterr seterr", "accepted; has no effect"),
    **_each("frompyfunc vectorize", "the function is called for each element on the host"),
    **_each("frombuffer fromfile", "a copy; the default dtype is float32"),
    "fromstring": "text only; use frombuffer for bytes",
    "genfromtxt": "no names and no masks; read on the host by NumPy",
    "savetxt": "written on the host by NumPy",
    "loadtxt": "read on the host by NumPy",
    "nditer": "on the host by NumPy; each write to an element is one op",
    **_each("linalg.eig linalg.eigvals", _ON_HOST + "; always complex, as in the standard"),
    **_each("poly poly1d polyadd polyder polydiv polyint polymul polysub roots", _ON_HOST),
    **_each("random.MT19937 random.PCG64 random.PCG64DXSM random.Philox random.SFC64", _STREAM),
    "lib": "stride_tricks only",
    "polynomial": "computed on the host by NumPy, but for values at the elements of a tensor",
    "typing": "the types of this library",
    "random.bytes": "computed on the host",
    "random.SeedSequence": "hashed on the host by NumPy",
    "random.seed": _STREAM,
}  # fmt: skip
"""NumPy names that are partly supported, and the difference. Names in a module have its name as a
prefix. Missing parameters are found from the signatures and not listed here."""


def refuse_function(name: str, module: object) -> NoReturn:
    """Raise AttributeError for `pt.name`, with a hint."""
    raise _error(f"module 'py_tensor' has no attribute '{name}'", name, module, FUNCTIONS.get(name))


def refuse_method(name: str, tensor: object) -> NoReturn:
    """Raise AttributeError for `x.name`, with a hint.

    It is raised here because Python would also suggest private names if the raising frame had the
    tensor as `self`.
    """
    words = f"'Tensor' object has no attribute '{name}'"
    of_function = FUNCTIONS.get(name) or FUNCTIONS.get(name.removesuffix("_"))
    raise _error(words, name, tensor, METHODS.get(name) or _function_or_op(name) or of_function)


_UNEXPECTED = re.compile(r"(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument '(\w+)'")


_TOO_MANY = re.compile(r"plot\(\) takes from 1 to 3 positional arguments")
_DRAWING = ("plot", "scatter", "bar", "hist", "contour", "imshow")


def clarify_arguments(error: TypeError) -> None:
    """Add a hint to Python's error about an unexpected argument.

    Hosts that show errors, such as the page, call it, because Python raises the error before the
    function runs.
    """
    from py_tensor.display.options import SEVERAL

    if _TOO_MANY.match(str(error)):
        error.args = (f"{error}; {SEVERAL}",)
    unexpected = _UNEXPECTED.match(str(error))
    if unexpected is None:
        return
    hint = KEYWORDS.get(unexpected[2])
    if hint is None and unexpected[1] in _DRAWING:
        parameters = signature(getattr(public(), unexpected[1])).parameters.values()
        known = ", ".join(each.name for each in parameters if each.default is not each.empty)
        hint = f"its options are {known}"
    if hint and (unexpected[1] in dir(public()) or hasattr(Tensor, unexpected[1])):
        error.args = (f"{unexpected[0]}; {hint}",)


def _function_or_op(name: str) -> str | None:
    """Return the hint for a function of this name, or for PyTorch's in-place `name_`, or None."""
    if not name.startswith("_") and callable(getattr(public(), name, None)):
        return f"use the function pt.{name}"
    op = name.removesuffix("_")
    if op != name and op in INSTALLED and callable(getattr(public(), op, None)):
        return f"use x[...] = x.{op}(...)"
    return None


def _error(words: str, name: str, owner: object, instead: str | None) -> AttributeError:
    """Return the error; it has no object if there is a hint, so Python suggests no other name."""
    if instead:
        return AttributeError(f"{words}; {instead}", name=name, obj=None)
    return AttributeError(words, name=name, obj=owner)
