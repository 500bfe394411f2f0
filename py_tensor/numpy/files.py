"""Reading and writing tensors: NumPy's formats `.npy` and `.npz`, pictures, and raw bytes.

This module does not need NumPy. The format is documented in ``numpy.lib.format``: a magic string, a
version, the length of the header, the header as a Python literal, and the elements.
"""

from __future__ import annotations

import os
import reprlib
from array import array as packed
from ast import literal_eval
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal, cast

from py_tensor.backends.choice import parse
from py_tensor.base import dtypes
from py_tensor.base.errors import DeviceError, DTypeError, check_option
from py_tensor.base.shapes import Shape, parse_shape, size_of
from py_tensor.convert.conversion import from_bytes
from py_tensor.ir.node import Device, meta_of
from py_tensor.ops.operands import Operand
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["frombuffer", "fromfile", "imread", "load", "save", "savez", "savez_compressed"]

MAGIC = b"\x93NUMPY"
ALIGNMENT = 64  # the alignment of the first element in a file
MAX_READ = 1 << 24  # bytes read at a time, because the length that a file claims may be wrong
LONGEST_NUMBER = 21  # digits reserved so that a size can be changed without moving the elements
_LENGTHS = {1: (2, "latin1"), 2: (4, "latin1"), 3: (4, "utf8")}
"""Maps a version to the bytes of the header's length, and to the header's encoding."""


# -- Writing ------------------------------------------------------------------------------------


def save(file: Any, arr: Operand, allow_pickle: bool = True) -> None:
    """Write a tensor to a file in NumPy's format, `.npy`, which `numpy.load` reads.

    Parameters
    ----------
    file : str, path or file
        A path gets the suffix ``.npy`` if it is missing. A file object must be open in binary mode.
    arr
        A tensor, or anything that `asarray` accepts. Column-major order is preserved.
    allow_pickle : bool
        Accepted; has no effect, because elements are never Python objects.

    Examples
    --------
    >>> import py_tensor as pt
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> pt.save(file, pt.arange(3))
    >>> pt.load(BytesIO(file.getvalue()))
    tensor([0, 1, 2])
    """
    x = tensor_of(arr, "save")
    with _opened(file, "wb", ".npy") as opened:
        _write(opened, x)


def savez(file: Any, *args: Operand, allow_pickle: bool = True, **kwds: Operand) -> None:
    """Write several tensors to one `.npz` file, which `numpy.load` reads.

    Parameters
    ----------
    file : str, path or file
        A path gets the suffix ``.npz`` if it is missing.
    *args
        Tensors stored under the names ``arr_0``, ``arr_1``, and so on.
    allow_pickle : bool
        Accepted; has no effect, as in `save`.
    **kwds
        Tensors by name.

    Raises
    ------
    ValueError
        If a keyword is also the name of one of `args`.
    """
    _archive("savez", file, args, kwds)


def savez_compressed(file: Any, *args: Operand, allow_pickle: bool = True, **kwds: Operand) -> None:
    """Like `savez`, with compression."""
    _archive("savez_compressed", file, args, kwds)


def _archive(op: str, file: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
    from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

    numbered = {f"arr_{n}": x for n, x in enumerate(args)}
    for name in numbered.keys() & kwds.keys():
        raise ValueError(f"{op}: keyword {name} is also the name of a positional argument")
    tensors = {name: tensor_of(x, op) for name, x in (kwds | numbered).items()}
    method = ZIP_STORED if op == "savez" else ZIP_DEFLATED
    with _opened(file, "wb", ".npz") as opened, ZipFile(opened, "w", method) as archive:
        for name, x in tensors.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                _write(member, x)


def _write(file: Any, x: Tensor) -> None:
    """Write a tensor exactly as NumPy does."""
    flags = x.flags
    fortran = flags.f_contiguous and not flags.c_contiguous
    text = f"{{'descr': {x.dtype.str!r}, 'fortran_order': {fortran}, 'shape': {x.shape!r}, }}"
    if x.shape:
        text += " " * (LONGEST_NUMBER - len(str(x.shape[-1 if fortran else 0])))
    padding = ALIGNMENT - (len(MAGIC) + 4 + len(text) + 1) % ALIGNMENT  # 4: version and length
    header = text.encode("latin1") + b" " * padding + b"\n"
    file.write(MAGIC + bytes((1, 0)) + len(header).to_bytes(2, "little") + header)
    file.write(x.tobytes("F" if fortran else "C"))


# -- Reading ------------------------------------------------------------------------------------


def load(
    file: Any,
    mmap_mode: str | None = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: str = "ASCII",
    *,
    max_header_size: int = 10000,
    device: str | Device | None = None,
) -> Any:
    """Load a file that `save`, `savez` or NumPy wrote.

    Parameters
    ----------
    file : str, path or file
        A file object must be open in binary mode and seekable.
    mmap_mode : {"r", "c"}, optional
        Accepted; elements are always copied to the device.
    allow_pickle : bool
        Whether to load a pickle, such as one from ``x.dump``. Pickles can run code.
    fix_imports, encoding
        Accepted; have no effect: they are for pickles of Python 2.
    max_header_size : int
        The longest header that is accepted without `allow_pickle`.
    device : {"webgpu", "cpu"}, optional

    Returns
    -------
    Tensor or NpzFile
        For a `.npz` file a mapping that reads each tensor on access. Elements keep their dtype,
        except float64 and complex128 on a GPU: they become float32 and complex64.

    Raises
    ------
    ValueError
        If the file has a pickle or Python objects and `allow_pickle` is False; if the file is
        truncated or its header is damaged; or if `mmap_mode` is "r+" or "w+", which write to the
        file.
    DTypeError
        If the elements are not numbers or bools.
    """
    if mmap_mode not in (None, "r", "c"):
        words = "writes to the file, which is not supported; use None, 'r' or 'c', and pt.save"
        raise ValueError(f"load: mmap_mode {mmap_mode!r} {words}")
    options = allow_pickle, max_header_size, parse(device)
    must_close = isinstance(file, str | os.PathLike)
    opened: Any = open(file, "rb") if must_close else file  # noqa: SIM115 - an NpzFile keeps it open
    try:
        start = opened.read(len(MAGIC))
        if not start:
            raise EOFError("load: no data left in the file")
        opened.seek(-len(start), os.SEEK_CUR)
        if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            archive = NpzFile(opened, must_close, options)
            must_close = False  # the result closes the file
            return archive
        if start == MAGIC:
            return _read(opened, *options)
        if not allow_pickle:
            words = "neither .npy nor .npz; a pickle is loaded with allow_pickle=True"
            raise ValueError(f"load: the file is {words}")
        import pickle

        return pickle.load(opened)
    finally:
        if must_close:
            opened.close()


class NpzFile(Mapping[str, Any], AbstractContextManager["NpzFile"]):
    """The tensors of a `.npz` file by name; each is read on access.

    Attributes
    ----------
    files : list of str
        The names.
    f
        The same tensors as attributes.
    """

    def __init__(self, file: Any, must_close: bool, options: tuple[bool, int, Device]) -> None:
        from zipfile import ZipFile

        with _reading_archive():
            self.zip = ZipFile(file)
        members = self.zip.namelist()
        self.files = [name.removesuffix(".npy") for name in members]
        self.f = _Attributes(self)
        self._members = dict(zip(self.files, members, strict=True)) | dict.fromkeys(members)
        self._file = file
        self._own = must_close
        self._options = options

    def __getitem__(self, key: str, /) -> Any:
        if key not in self._members:
            raise KeyError(f"{key} is not a file in the archive")
        with _reading_archive(), self.zip.open(self._members[key] or key) as member:
            start = member.read(len(MAGIC))
            member.seek(0)
            return _read(member, *self._options) if start == MAGIC else member.read()

    def __contains__(self, key: object) -> bool:
        return key in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        name = getattr(self._file, "name", "object")
        dots = "..." if len(self.files) > 5 else ""
        return f"NpzFile {name!r} with keys: {', '.join(self.files[:5])}{dots}"

    def close(self) -> None:
        """Close the file."""
        self.zip.close()
        if self._own:
            self._file.close()

    def __exit__(self, *error: object) -> None:
        self.close()


@contextmanager
def _reading_archive() -> Generator[None]:
    """Raise errors of damaged, encrypted and unsupported archives as `load`'s."""
    from zipfile import BadZipFile
    from zlib import error

    try:
        yield
    except (BadZipFile, error, EOFError, NotImplementedError, RuntimeError) as failure:
        if isinstance(failure, DeviceError):
            raise
        raise ValueError(f"load: the archive cannot be read: {failure}") from None


class _Attributes:
    """The tensors of a file as attributes."""

    def __init__(self, file: NpzFile) -> None:
        self._of = file

    def __getattr__(self, name: str) -> Any:
        if name not in self._of:
            raise AttributeError(name)
        return self._of[name]

    def __dir__(self) -> list[str]:
        return self._of.files


def _read(file: Any, allow_pickle: bool, max_header_size: int, device: Device) -> Tensor:
    """Read a tensor from a file in the format `.npy`, starting at the magic string."""
    major, minor = _bytes(file, len(MAGIC) + 2, "the version")[len(MAGIC) :]
    if major not in _LENGTHS or minor:
        raise ValueError(f"load: the format version must be 1.0, 2.0 or 3.0, not {major}.{minor}")
    length_bytes, encoding = _LENGTHS[major]
    length = int.from_bytes(_bytes(file, length_bytes, "the header's length"), "little")
    if length > max_header_size and not allow_pickle:
        words = f"is longer than max_header_size, {max_header_size}"
        raise ValueError(f"load: a header of {length} bytes {words}")
    descr, fortran, shape = _parsed(_bytes(file, length, "the header"), encoding)
    if descr == "|O" and not allow_pickle:
        raise ValueError("load: the elements are pickled objects, but allow_pickle is False")
    dtype, swapped = _stored(descr)
    is_kept = device.uses_numpy or dtype.on_gpu
    target = dtype if is_kept else dtypes.complex64 if dtype.is_complex else dtypes.float32
    device.check("load", meta_of(shape, target, device))
    data = _bytes(file, size_of(shape) * dtype.itemsize, f"the elements of shape {shape}")
    data = _in_order(data, dtype, swapped)
    data = data if is_kept else packed("f", packed("d", data)).tobytes()
    x = from_bytes("load", data, shape[::-1] if fortran else shape, target, device)
    return x.T if fortran and x.ndim > 1 else x


def _parsed(header: bytes, encoding: str) -> tuple[Any, bool, Shape]:
    """Parse a header: the dtype's description, whether it is column-major, and the shape."""
    try:
        fields: dict[str, Any] = literal_eval(header.decode(encoding).strip())
        descr, fortran, shape = (fields[key] for key in ("descr", "fortran_order", "shape"))
        if type(fortran) is not bool or not isinstance(shape, tuple):
            raise TypeError
        sizes = parse_shape("load", cast("Shape", shape))
    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError):
        raise ValueError(f"load: the header is damaged: {reprlib.repr(header)}") from None
    return descr, fortran, sizes


def _bytes(file: Any, count: int, what: str) -> bytes:
    """Read exactly a number of bytes from a file."""
    data = _up_to("load", file, count)
    if len(data) < count:
        words = f"{count - len(data)} of {count} bytes are missing, {len(data)} are there"
        raise ValueError(f"load: the file ends in {what}: {words}")
    return data


def _up_to(op: str, file: Any, count: int) -> bytes:
    """Read a number of bytes, or those up to the end of the file; it may return fewer at a time."""
    chunks: list[bytes] = []
    left = count
    try:
        while left > 0 and (chunk := file.read(min(left, MAX_READ))):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks)
    except MemoryError:
        chunks.clear()
        raise MemoryError(f"{op}: the memory cannot hold {count} bytes of the file") from None


# -- Elements without a header ------------------------------------------------------------------


def frombuffer(
    buffer: Any,
    dtype: object = float,
    count: int = -1,
    offset: int = 0,
    *,
    like: Any = None,
    device: str | Device | None = None,
) -> Tensor:
    r"""Create a vector from a copy of the bytes of a buffer.

    Parameters
    ----------
    buffer
        Bytes, or any object that a memoryview accepts, with contiguous elements.
    dtype
        The dtype of the elements in the buffer; ``">f4"`` and similar are big-endian. The default
        is float32.
    count : int
        The number of elements; -1 for all.
    offset : int
        The offset of the first element in bytes.
    like
        Accepted; has no effect.
    device : {"webgpu", "cpu"}, optional

    Raises
    ------
    ValueError
        If the bytes are not a whole number of elements, there are fewer than `count` elements, or
        the offset is outside the buffer.
    DTypeError
        If the device does not support the dtype.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.frombuffer(b"\x00\x01\x00\x02", ">i2")
    tensor([1, 2], dtype=int16)
    """
    stored, swapped = _stored(dtype)
    data = memoryview(buffer).cast("B")
    if not 0 <= offset <= len(data):
        raise ValueError(f"frombuffer: offset {offset} is outside a buffer of {len(data)} bytes")
    n, rest = divmod(len(data) - offset, stored.itemsize)
    if count < 0 and rest:
        words = f"are not a multiple of the element size, {stored.itemsize}"
        raise ValueError(f"frombuffer: {len(data) - offset} bytes {words}")
    if count > n:
        raise ValueError(f"frombuffer: the buffer holds {n} elements, not {count}")
    n = n if count < 0 else count
    elements = _in_order(data[offset : offset + n * stored.itemsize].tobytes(), stored, swapped)
    return from_bytes("frombuffer", elements, (n,), stored, parse(device))


def fromfile(
    file: Any,
    dtype: object = float,
    count: int = -1,
    sep: str = "",
    offset: int = 0,
    *,
    like: Any = None,
    device: str | Device | None = None,
) -> Tensor:
    """Create a vector from a file without a header, as written by ``x.tofile``.

    Parameters
    ----------
    file : str, path or file
        A file object is read from its current position.
    dtype, count, like, device
        As in `frombuffer`. If there are fewer than `count` elements, the result has fewer.
    sep : str
        The separator between elements in a text file; if empty, the file is binary.
    offset : int
        Bytes to skip before the first element.

    Raises
    ------
    ValueError
        If text is not a number, `offset` is combined with `sep`, or the file cannot skip `offset`
        bytes.
    """
    if sep and offset:
        raise ValueError("fromfile: offset is for binary files, not for text")
    stored, swapped = _stored(dtype)
    with _opened(file, "rb") as opened:
        if sep:
            from py_tensor.adapters.texts import fromstring

            text = opened.read()
            text = text if isinstance(text, str) else text.decode("latin1")
            numbers = fromstring(text, stored, sep=sep, device=device)
            return numbers if count < 0 else numbers[:count]
        try:
            opened.seek(offset, os.SEEK_CUR)
        except (OSError, OverflowError, ValueError) as failure:
            raise ValueError(f"fromfile: cannot skip {offset} bytes: {failure}") from None
        data = opened.read() if count < 0 else _up_to("fromfile", opened, count * stored.itemsize)
    n = len(data) // stored.itemsize
    data = _in_order(data[: n * stored.itemsize], stored, swapped)
    return from_bytes("fromfile", data, (n,), stored, parse(device))


def imread(
    file: Any, mode: Literal["RGB", "RGBA"] = "RGB", *, device: str | Device | None = None
) -> Tensor:
    """Read the pixels of an image: PNG, JPEG, and other formats that the browser decodes.

    The image is decoded on the host, by the browser (``createImageBitmap``) or elsewhere by Pillow,
    and the pixels are then copied to the device.

    Parameters
    ----------
    file : str, path or file
        A file object must be open in binary mode and is read from its current position.
    mode : {"RGB", "RGBA"}
        Whether the result has an alpha channel.
    device : {"webgpu", "cpu"}, optional

    Returns
    -------
    Tensor
        uint8, of shape (height, width, 3) or (height, width, 4). Greyscale images have three equal
        channels; 16 bits per channel are reduced to 8. The EXIF orientation of a photograph is
        applied. Browsers round the colours of partly transparent pixels.

    Raises
    ------
    ValueError
        If the file is not an image, or the mode is unknown.
    ImportError
        Outside a browser, if Pillow is not installed.

    Examples
    --------
    >>> from io import BytesIO
    >>> import py_tensor as pt
    >>> gif = "47494638396101000100800000ff0000ffffff2c00000000010001000002024401003b"
    >>> pt.imread(BytesIO(bytes.fromhex(gif)))  # doctest: +SKIP
    tensor([[[255,   0,   0]]], dtype=uint8)
    """
    check_option("imread", "mode", mode, ("RGB", "RGBA"))
    target = parse(device)
    with _opened(file, "rb") as opened:
        data = opened.read()
    height, width, pixels = host.decode_image(data)
    x = from_bytes("imread", pixels, (height, width, 4), dtypes.uint8, target)
    return x if mode == "RGBA" else x[..., :3]


# -- Reading and writing ------------------------------------------------------------------------


def _opened(file: Any, mode: str, suffix: str = "") -> AbstractContextManager[Any]:
    """Open a file by name, with the suffix added; an open file stays open."""
    if not isinstance(file, str | os.PathLike):
        return nullcontext(file)
    name = os.fspath(cast("str", file))
    return open(name if name.endswith(suffix) else name + suffix, mode)


def _stored(spec: Any) -> tuple[dtypes.DType, bool]:
    """Return the dtype of elements in a file or a buffer, and whether their bytes are reversed."""
    text = spec if isinstance(spec, str) else getattr(spec, "str", None)
    if not isinstance(text, str):
        return dtypes.parse(spec), False
    if text.endswith("O"):
        raise DTypeError("elements are Python objects; tensors hold numbers and bools")
    return dtypes.parse(text.lstrip("<>=|!")), text[:1] in (">", "!")


def _in_order(data: bytes, dtype: dtypes.DType, is_swapped: bool) -> bytes:
    """Return elements with the bytes of each in the order of this machine."""
    word_bytes = dtype.itemsize // (2 if dtype.is_complex else 1)
    if not is_swapped or word_bytes == 1:
        return data
    words = packed({2: "H", 4: "I", 8: "Q"}[word_bytes], data)
    words.byteswap()
    return words.tobytes()
