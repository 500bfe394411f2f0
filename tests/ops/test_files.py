"""Saving and loading tensors: NumPy's formats, bytes without a header, and text."""

# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import bz2
import gzip
import io
import pickle
import sys
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base import dtypes
from tests.ops.compare import IN_NUMPY, same

SHAPES = ((), (1,), (0,), (7,), (2, 3), (3, 0, 2), (4, 1, 5), (1,) * 20 + (3,))
EVERYWHERE = [d.name for d in dtypes.ALL if d.on_gpu and d.name in IN_NUMPY]
NUMPYS = [name for name in EVERYWHERE if name != "bfloat16"]


def of(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    made = rng.standard_normal(shape) * 50
    made = made + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else made
    return np.asarray(np.abs(made) if dtype.startswith("u") else made).astype(dtype)


def file_of(array: Any) -> io.BytesIO:
    file = io.BytesIO()
    np.save(file, array)
    return io.BytesIO(file.getvalue())


@pytest.mark.computes
@pytest.mark.parametrize("dtype", EVERYWHERE)
def test_npy(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Our file equals NumPy's byte for byte, and each library reads the other's."""
    for shape in SHAPES:
        a = of(rng, shape, dtype)
        for make in (lambda v: v, lambda v: v.T, lambda v: v[::-1] if v.ndim else v):
            array, x = make(a), make(pt.tensor(a, dtype=dtype, device=device))
            ours, theirs = io.BytesIO(), io.BytesIO()
            pt.save(ours, x)
            np.save(theirs, array)
            assert ours.getvalue() == theirs.getvalue(), shape
            ours.seek(0)
            theirs.seek(0)
            back = pt.load(theirs, device=device)
            same(back, array, f"load, {shape}")
            read = np.load(ours)
            read = read.view(dtype) if dtype == "bfloat16" else read  # an array of bytes
            assert read.dtype == array.dtype
            assert back.flags.f_contiguous == read.flags.f_contiguous
            assert np.array_equal(read, array, equal_nan=dtype[0] in "bfc")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_64_bits(dtype: str, device: str, rng: np.random.Generator) -> None:
    """The cpu device keeps them; a GPU converts them to 32 bits."""
    a = of(rng, (3, 4), dtype)
    kept = a if device == "cpu" else a.astype("float32" if dtype == "float64" else "complex64")
    same(pt.load(file_of(a), device=device), kept, "load")
    same(pt.load(file_of(a.astype(f">{a.dtype.str[1:]}")), device=device), kept, "big-endian")


@pytest.mark.parametrize("dtype", NUMPYS)
def test_big_endian(dtype: str, device: str, rng: np.random.Generator) -> None:
    a = of(rng, (3, 4), dtype)
    swapped = a.astype(a.dtype.newbyteorder(">"))
    same(pt.load(file_of(swapped), device=device), a, "load")
    same(pt.load(file_of(np.asfortranarray(swapped)), device=device), a, "in columns")
    code = swapped.dtype.str
    for given in (code, swapped.dtype):
        same(pt.frombuffer(swapped.tobytes(), given, device=device), a.reshape(-1), "frombuffer")


def test_names(tmp_path: Path, device: str) -> None:
    """A suffix is added; paths work like names; open files stay open."""
    x = pt.arange(5, device=device)
    pt.save(str(tmp_path / "a"), x)
    pt.save(tmp_path / "b.npy", x)
    for name in ("a.npy", "b.npy"):
        same(pt.load(tmp_path / name, device=device), x.numpy(), name)
    with open(tmp_path / "two", "wb") as file:
        pt.save(file, x)
        pt.save(file, x + 1)
    with open(tmp_path / "two", "rb") as file:
        same(pt.load(file, device=device), x.numpy(), "the first")
        same(pt.load(file, device=device), x.numpy() + 1, "the second")
        with pytest.raises(EOFError, match=r"^load: "):
            pt.load(file)


@pytest.mark.parametrize("save", ["savez", "savez_compressed"])
def test_npz(save: str, tmp_path: Path, device: str, rng: np.random.Generator) -> None:
    a, b = of(rng, (3, 4), "float32"), of(rng, (), "int64")
    x, y = (pt.tensor(v, dtype=v.dtype, device=device) for v in (a, b))
    getattr(pt, save)(tmp_path / "ours", x, file_=y, w=[1, 2])
    getattr(np, save)(tmp_path / "theirs", a, file_=b, w=np.array([1, 2], np.int32))
    with np.load(tmp_path / "ours.npz") as read:
        assert sorted(read.files) == ["arr_0", "file_", "w"]
        assert np.array_equal(read["arr_0"], a)
        assert read["file_"] == b
    with pt.load(tmp_path / "theirs.npz", device=device) as read:
        assert read.files == ["file_", "w", "arr_0"] == [*read]
        assert len(read) == 3
        assert "w" in read
        assert "w.npy" in read
        assert "v" not in read
        assert dir(read.f) == ["arr_0", "file_", "w"]
        assert repr(read).endswith("theirs.npz' with keys: file_, w, arr_0")
        for key, value in read.items():
            assert value.device is x.device
            same(value, {"arr_0": a, "file_": b, "w": np.array([1, 2], np.int32)}[key], key)
        same(read.f.arr_0, a, "an attribute")
        same(read["w.npy"], np.array([1, 2], np.int32), "with its suffix")
        with pytest.raises(KeyError, match="nothing is not a file"):
            read["nothing"]
    with pytest.raises(ValueError, match=f"^{save}: keyword arr_0 "):
        getattr(pt, save)(io.BytesIO(), x, arr_0=x)
    with zipfile.ZipFile(tmp_path / "ours.npz") as archive:
        kind = zipfile.ZIP_DEFLATED if save == "savez_compressed" else zipfile.ZIP_STORED
        assert {member.compress_type for member in archive.infolist()} == {kind}


def test_a_member_that_is_no_tensor(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("note.txt", "text")
    assert pt.load(tmp_path / "a.npz")["note.txt"] == b"text"


def test_headers_of_other_versions(device: str) -> None:
    a = np.arange(6, dtype=np.int32).reshape(2, 3)
    for version in ((1, 0), (2, 0), (3, 0)):
        file = io.BytesIO()
        np.lib.format.write_array(file, a, version)
        same(pt.load(io.BytesIO(file.getvalue()), device=device), a, f"version {version}")


def damaged(old: bytes, new: bytes) -> io.BytesIO:
    data = file_of(np.ones((2, 3), np.float32)).getvalue()
    assert old in data
    return io.BytesIO(data.replace(old, new))


def claiming(shape: str) -> io.BytesIO:
    """Return a file of 40 bytes of elements whose header claims another shape."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    length = len(header).to_bytes(2, "little")
    return io.BytesIO(b"\x93NUMPY\1\0" + length + header + bytes(40))


@pytest.mark.parametrize(
    ("file", "error", "words"),
    [
        (lambda: file_of(np.array([1, None])), ValueError, "pickled objects"),
        (lambda: file_of(np.array([(1, 2.0)], "i4, f4")), pt.DTypeError, "no fields"),
        (lambda: file_of(np.array(["a"])), pt.DTypeError, "U1"),
        (lambda: io.BytesIO(pickle.dumps([1])), ValueError, "neither .npy nor .npz"),
        (lambda: io.BytesIO(file_of(np.ones(9)).getvalue()[:-8]), ValueError, "8 of 72 bytes"),
        (lambda: io.BytesIO(file_of(np.ones(9)).getvalue()[:30]), ValueError, "the header"),
        (lambda: io.BytesIO(file_of(np.ones(9)).getvalue()[:7]), ValueError, "the version"),
        (lambda: damaged(b"NUMPY\x01\x00", b"NUMPY\x09\x00"), ValueError, "not 9.0"),
        (lambda: damaged(b"(2, 3)", b"(2,-3)"), ValueError, "header is damaged"),
        (lambda: damaged(b"'descr'", b"'drscr'"), ValueError, "header is damaged"),
        (lambda: damaged(b"False", b"Fa'se"), ValueError, "header is damaged"),
        (lambda: damaged(b"(2, 3)", b"open()"), ValueError, "header is damaged"),
        (lambda: claiming("(1000000000000,)"), ValueError, "of 4000000000000 bytes .* 40 are"),
        (lambda: claiming(f"({2**32}, {2**32}, 4)"), ValueError, "are missing, 40 are there"),
        (lambda: claiming("(" * 3000 + ")" * 3000), ValueError, "header is damaged"),
        (lambda: claiming("-" * 9000 + "1"), ValueError, "header is damaged"),
        (lambda: claiming("(1.5,)"), ValueError, "header is damaged"),
    ],
)
def test_bad_files(file: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pt.load(file(), device="cpu")


def test_bad_files_on_disk(tmp_path: Path) -> None:
    """A file on disk allocates what is asked for before it reads."""
    (tmp_path / "a.npy").write_bytes(claiming("(1000000000000,)").getvalue())
    with pytest.raises(ValueError, match=r"^load: the file ends in .* 40 are there$"):
        pt.load(tmp_path / "a.npy", device="cpu")
    (tmp_path / "a.bin").write_bytes(bytes(12))
    assert pt.fromfile(tmp_path / "a.bin", "f4", 10**15, device="cpu").tolist() == [0, 0, 0]
    for offset in (-1, 2**63, 2**70):
        with pytest.raises(ValueError, match=rf"^fromfile: cannot skip {offset} bytes: "):
            pt.fromfile(tmp_path / "a.bin", "f4", offset=offset, device="cpu")
    with suppress(ValueError):  # some file systems have files of this size
        assert pt.fromfile(tmp_path / "a.bin", "f4", offset=10**15, device="cpu").shape == (0,)


def test_bad_archives() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", claiming("(1000000000000,)").getvalue())
        archive.writestr("b.npy", file_of(np.ones(9)).getvalue())
    data = file.getvalue()
    with pytest.raises(ValueError, match=r"^load: the file ends in the elements"):
        pt.load(io.BytesIO(data), device="cpu")["a"]
    at = data.index(np.ones(9).tobytes())
    flipped = io.BytesIO(data[:at] + b"?" + data[at + 1 :])
    with pytest.raises(ValueError, match=r"^load: the archive cannot be read: Bad CRC"):
        pt.load(flipped, device="cpu")["b"]
    for cut in (5, 60, len(data) - 30):
        with pytest.raises(ValueError, match=r"^load: the archive cannot be read"):
            pt.load(io.BytesIO(data[:cut]), device="cpu")


def test_options_of_load(tmp_path: Path) -> None:
    x = pt.arange(3.0, device="cpu")
    pt.save(tmp_path / "a.npy", x)
    for mode in (None, "r", "c"):
        same(pt.load(tmp_path / "a.npy", mode, device="cpu"), x.numpy(), f"{mode}")
    for mode in ("r+", "w+"):
        with pytest.raises(ValueError, match=r"^load: mmap_mode"):
            pt.load(tmp_path / "a.npy", mmap_mode=mode)
    with pytest.raises(ValueError, match="max_header_size"):
        pt.load(tmp_path / "a.npy", max_header_size=20)
    same(pt.load(tmp_path / "a.npy", None, True, max_header_size=20, device="cpu"), x.numpy(), "")
    x.dump(tmp_path / "a.pickle")
    assert pt.load(tmp_path / "a.pickle", allow_pickle=True).tolist() == [0, 1, 2]


# -- Without a header ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", EVERYWHERE)
def test_bytes_and_files_without_a_header(
    dtype: str, tmp_path: Path, device: str, rng: np.random.Generator
) -> None:
    a = of(rng, (11,), dtype)
    data, size = a.tobytes(), a.itemsize
    for count, offset in ((-1, 0), (4, 0), (3, 2 * size), (-1, 5 * size), (0, 0)):
        expected = np.frombuffer(data, dtype, count, offset)
        for buffer in (data, bytearray(data), memoryview(data), a.view("u1")):
            same(pt.frombuffer(buffer, dtype, count, offset, device=device), expected, "frombuffer")
        a.tofile(tmp_path / "a")
        same(pt.fromfile(tmp_path / "a", dtype, count, "", offset, device=device), expected, "file")
    pt.tensor(a, dtype=dtype, device=device).tofile(tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == data
    with open(tmp_path / "a", "rb") as file:
        file.read(size)
        same(pt.fromfile(file, dtype, 2, device=device), a[1:3], "from a file's place on")
        same(pt.fromfile(file, dtype, 99, device=device), a[3:], "what there is")


def test_default_dtypes() -> None:
    """`float` is float32, as everywhere."""
    a = np.arange(4, dtype=np.float32)
    same(pt.frombuffer(a.tobytes(), device="cpu"), a, "frombuffer")
    same(pt.fromstring("1, 2,3", sep=",", device="cpu"), np.array([1, 2, 3], np.float32), "string")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pt.imread(io.BytesIO(b""), "L"), "imread: mode must be 'RGB' or 'RGBA', not 'L'"),  # type: ignore[arg-type]
        (lambda: pt.frombuffer(b"12345", "i4"), "5 bytes are not a multiple of .* 4"),
        (lambda: pt.frombuffer(b"1234", "i4", 2), "1 elements, not 2"),
        (lambda: pt.frombuffer(b"1234", "i4", offset=5), "offset 5 is outside a buffer of 4"),
        (lambda: pt.frombuffer(b"1234", "i4", offset=-1), "offset -1"),
        (lambda: pt.fromfile("a", "i4", sep=" ", offset=1), "offset is for binary files"),
        (lambda: pt.fromstring("1 2", sep=""), "frombuffer"),
        (lambda: pt.fromstring("1 2", count=3, sep=" "), "2 numbers, not 3"),
        (lambda: pt.fromstring("1 two", sep=" "), "^fromstring: .*'two'"),
        (lambda: pt.fromstring("1.5", int, sep=" "), "^fromstring: .*'1.5'"),
    ],
)
def test_bad_bytes_and_text(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_imread_needs_pillow_outside_of_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    if sys.platform == "emscripten":
        with pytest.raises(ValueError, match="imread: the browser cannot decode"):
            pt.imread(io.BytesIO(b"no picture"))
    else:
        with pytest.raises(ImportError, match=r"imread: .* `pip install pillow`"):
            pt.imread(io.BytesIO(b"no picture"))


def test_text_without_lines(tmp_path: Path, device: str) -> None:
    for text, sep in (("1 2  3\n4", " "), ("1,2, 3,", ","), ("", " "), ("-1.5e3;inf;nan", ";")):
        expected = np.array([float(t) for t in text.split(sep.strip() or None) if t], np.float32)
        same(pt.fromstring(text, sep=sep, device=device), expected, text)
    x = pt.arange(5, device=device) * 3
    for sep, form in ((" ", "%s"), (", ", "%d"), ("\n", "%.3f")):
        x.tofile(tmp_path / "ours", sep, form)
        x.numpy().tofile(tmp_path / "theirs", sep, form)
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
        got = pt.fromfile(tmp_path / "ours", "float32", sep=sep, device=device)
        same(got, x.numpy().astype(np.float32), "back")


# -- Rows of text -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64"])
def test_savetxt(dtype: str, tmp_path: Path, device: str, rng: np.random.Generator) -> None:
    form = "%d" if dtype in ("int32", "bool") else "%.5f"
    for shape in ((4, 3), (5,), (0, 2), (1, 1)):
        a = of(rng, shape, dtype)
        x = pt.tensor(a, dtype=dtype, device=device)
        options: list[dict[str, Any]] = [
            {},
            {"fmt": form, "delimiter": ", "},
            {"fmt": form, "header": "one\ntwo", "footer": "end", "newline": "\r\n"},
            {"fmt": form, "header": "one", "comments": "% "},
        ]
        if shape == (4, 3) and dtype != "complex64":
            options += [{"fmt": [form] * 3}, {"fmt": " | ".join([form] * 3)}]
        for given in options:
            pt.savetxt(tmp_path / "ours", x, **given)
            np.savetxt(tmp_path / "theirs", a, **given)
            assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes(), given
            ours = io.StringIO()
            pt.savetxt(ours, x, **given)
            data = io.BytesIO()
            pt.savetxt(data, x, **given)
            assert ours.getvalue().encode() == data.getvalue()


def test_bad_savetxt() -> None:
    with pytest.raises(ValueError, match=r"^savetxt: .*3D"):
        pt.savetxt(io.StringIO(), pt.ones((2, 2, 2), device="cpu"))
    for form in (["%d"], "%d %d %d"):
        with pytest.raises((AttributeError, ValueError), match=r"^savetxt: "):
            pt.savetxt(io.StringIO(), pt.ones((2, 2), device="cpu"), form)


TEXT = "# title\n1 2.5 3\n\n4 5 6 # the last but one\n-7e2 inf nan\n"
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"usecols": 1},
    {"usecols": (2, 0)},
    {"usecols": -1},
    {"skiprows": 2},
    {"max_rows": 2},
    {"max_rows": 1},
    {"max_rows": 1, "usecols": 0},
    {"max_rows": 1, "usecols": 0, "ndmin": 1},
    {"max_rows": 1, "usecols": 0, "ndmin": 2},
    {"max_rows": 1, "ndmin": 2},
    {"usecols": 1, "ndmin": 2},
    {"unpack": True},
    {"unpack": True, "usecols": (0, 1)},
    {"converters": {1: lambda t: float(t) + 1}},
    {"converters": {-1: lambda t: 8.5}},
    {"converters": lambda t: float(t) * 2},
)


@pytest.mark.filterwarnings("ignore:Input line 1 contained no data")
@pytest.mark.parametrize("options", OPTIONS)
def test_loadtxt(options: dict[str, Any], tmp_path: Path, device: str) -> None:
    (tmp_path / "a").write_text(TEXT)
    expected = np.loadtxt(tmp_path / "a", np.float32, **options)
    sources: tuple[Any, ...] = (
        tmp_path / "a", str(tmp_path / "a"), io.StringIO(TEXT), TEXT.splitlines(),
        io.BytesIO(TEXT.encode()),
    )  # fmt: skip
    for source in sources:
        same(pt.loadtxt(source, device=device, **options), expected, f"{options}")


def test_loadtxt_of_other_texts(tmp_path: Path, device: str) -> None:
    cases: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("1,2\n3,4", "int32", {"delimiter": ","}),
        ("1;0\n0;2", "bool", {"delimiter": ";"}),
        ("% a\n1 2 ; b\n", "float32", {"comments": ("%", ";")}),
        ("1 2\n", "int64", {"comments": None}),
        ("(1+2j) 3\n4j (5-1j)", "complex64", {}),
        (" 1\t2 \n", "uint8", {}),
        ("-1", "int16", {}),
    )
    for text, dtype, options in cases:
        expected = np.loadtxt(io.StringIO(text), dtype, **options)
        got = pt.loadtxt(io.StringIO(text), dtype, device=device, **options)
        same(got, expected, text)
    for suffix, module in ((".gz", gzip), (".bz2", bz2)):
        x = pt.ones((2, 3), device=device)
        pt.savetxt(tmp_path / f"a{suffix}", x)
        with module.open(tmp_path / f"a{suffix}", "rt") as file:
            assert len(file.readlines()) == 2
        same(pt.loadtxt(tmp_path / f"a{suffix}", device=device), x.numpy(), suffix)
    quoted = pt.loadtxt(['"1","2"'], delimiter=",", quotechar='"', device=device)
    assert quoted.tolist() == [1, 2]
    with pytest.warns(UserWarning, match="no data"):
        assert pt.loadtxt(io.StringIO("# nothing"), device=device).shape == (0,)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("1 2\n3", {}, "^loadtxt: the number of columns changed"),
        ("1 b", {}, "^loadtxt: .*'b' to float32"),
        ("1 2", {"usecols": 2}, "^loadtxt: invalid column index 2"),
        ("1 2", {"ndmin": 3}, "^loadtxt: .*ndmin"),
        ("1 2", {"comments": ""}, "comment"),
    ],
)
def test_bad_loadtxt(text: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pt.loadtxt(io.StringIO(text), device="cpu", **options)


def test_numbers_that_do_not_fit() -> None:
    with pytest.raises(OverflowError, match=r"^loadtxt: .*300"):
        pt.loadtxt(io.StringIO("300"), "uint8", device="cpu")


MISSING = "a,b,c\n1,,3\n4,x,6  # note\n\n7,8,9\n"
GENFROMTXT: tuple[dict[str, Any], ...] = (
    {},
    {"filling_values": 5},
    {"filling_values": [1, 2, 3]},
    {"filling_values": {1: 7}},
    {"skip_footer": 1},
    {"max_rows": 2},
    {"usecols": (2, 1)},
    {"usecols": 1},
    {"usecols": -2},
    {"unpack": True},
    {"max_rows": 1, "ndmin": 2},
)


@pytest.mark.parametrize("options", GENFROMTXT)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_genfromtxt(dtype: str, options: dict[str, Any], device: str) -> None:
    given = {"delimiter": ",", "skip_header": 1, "dtype": dtype} | options
    expected = np.genfromtxt(io.StringIO(MISSING), **given)
    same(pt.genfromtxt(io.StringIO(MISSING), device=device, **given), expected, f"{options}")


def test_genfromtxt_of_other_texts(device: str) -> None:
    for text, options in (
        ("1 2 3\n4 5 6", {}),
        ("  1  2\n 34  5", {"delimiter": 3}),
        ("12345\n67890", {"delimiter": (2, 3)}),
        ("1 2 3\n4 5\n6 7 8", {"invalid_raise": False}),
        ("5", {}),
    ):
        with warnings.catch_warnings(action="ignore"):
            expected = np.genfromtxt(io.StringIO(text), np.float32, **options)
            got = pt.genfromtxt(io.StringIO(text), device=device, **options)
        same(got, expected, text)
    for text, dtype in (("1 2", "int32"), ("1 2.5", "float32"), ("1 2j", "complex64")):
        assert str(pt.genfromtxt(io.StringIO(text), None, device=device).dtype) == dtype
    for text in ("1,2.5\n,3", "1,,3.5", "1,,3", "1 2.5", "1 2.5\n3 4j"):  # some is missing
        comma = "," if "," in text else None
        wide: Any = np.complex64 if "j" in text else np.float32 if "." in text else np.int32
        for options in ({}, {"ndmin": 2}, {"unpack": True}):
            got = pt.genfromtxt(io.StringIO(text), None, delimiter=comma, device=device, **options)
            expected = np.genfromtxt(io.StringIO(text), wide, delimiter=comma, **options)
            same(got, expected, f"{text} {options}")
    with pytest.warns(UserWarning, match="Empty input"):
        assert pt.genfromtxt([], None, device=device).shape == (0,)
    tripled = {0: lambda text: float(text) * 3}
    got = pt.genfromtxt(["1 2", "3 4"], converters=tripled, device=device)
    assert got.tolist() == [[3, 2], [9, 4]]
    got = pt.genfromtxt(
        io.StringIO("1,N/A,-9"), delimiter=",", missing_values="N/A", loose=False, device=device
    )
    assert got.isnan().tolist() == [False, True, False]


def test_errors_keep_their_causes(tmp_path: Path) -> None:
    def fails(text: str) -> float:
        raise KeyError(text)

    with pytest.raises(ValueError, match=r"^loadtxt: ") as caught:
        pt.loadtxt(["1 2"], converters=fails, device="cpu")
    assert isinstance(caught.value.__cause__, KeyError)
    (tmp_path / "a").write_bytes(b"1 \xff2\n")
    with pytest.raises(UnicodeDecodeError):
        pt.loadtxt(tmp_path / "a", encoding="utf-8", device="cpu")
    with pytest.raises(TypeError, match=r"^genfromtxt: "):
        pt.genfromtxt(["1 2"], None, usecols=1.5, device="cpu")  # type: ignore[arg-type]


def test_bad_genfromtxt() -> None:
    for options, error in (
        ({"names": True}, pt.DTypeError),
        ({"usemask": True}, pt.DTypeError),
        ({"dtype": None}, pt.DTypeError),
        ({"loose": False}, ValueError),
        ({"skip_footer": 1, "max_rows": 1}, ValueError),
        ({"comments": ""}, ValueError),
        ({"ndmin": 3}, ValueError),
    ):
        with pytest.raises(error, match=r"^genfromtxt: "):
            pt.genfromtxt(io.StringIO("1 2\n3 b"), device="cpu", **options)
    with pytest.raises(ValueError, match=r"^genfromtxt: (?s:.*)got 1 columns"):
        pt.genfromtxt(io.StringIO("1 2\n3"), device="cpu")
