"""User-defined kernels."""

from __future__ import annotations

import doctest
import re
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.compare import same

Array = np.ndarray[Any, Any]

BLUR = """
let n = i32(x_shape[0]);
var sum = 0.0;
for (var d = -radius; d <= radius; d++) {
  sum += x[clamp(i32(index) + d, 0, n - 1)];
}
y[index] = sum / f32(2 * radius + 1);
"""
COLLATZ = """
var n = x[index];
var count = 0;
while (n > 1u) {
  n = select(n / 2u, 3u * n + 1u, n % 2u == 1u);
  count++;
}
steps[index] = count;
"""


def blurred(x: Array, radius: int) -> Array:
    n = len(x)
    at = np.clip(np.arange(n)[:, None] + np.arange(-radius, radius + 1), 0, n - 1)
    return x.astype(np.float64)[at].mean(1).astype(x.dtype)


def collatz(x: Array) -> Array:
    steps = np.zeros(x.shape, np.int32)
    n = x.astype(np.int64)
    while (n > 1).any():
        steps += n > 1
        n = np.where(n > 1, np.where(n % 2 == 1, 3 * n + 1, n // 2), n)
    return steps


blur = pt.kernel(
    "blur", BLUR, inputs=("x",), outputs={"y": "x"}, params={"radius": pt.int32},
    numpy=lambda np, x, radius: blurred(x, radius),
)  # fmt: skip
steps_of = pt.kernel(
    "collatz", COLLATZ, inputs={"x": pt.uint32}, outputs={"steps": ("x", pt.int32)},
    numpy=lambda np, x: collatz(x),
)  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 5000])
@pytest.mark.computes
def test_blur(device: str, rng: np.random.Generator, n: int) -> None:
    array = rng.integers(-99, 99, n).astype(np.float32)
    x = pt.tensor(array, device=device)
    for radius in (0, 1, 5):
        got = blur(x, radius=radius).numpy()
        assert np.allclose(got, blurred(array, radius), rtol=1e-6, atol=1e-5), (n, radius)


@pytest.mark.computes
def test_steps(device: str, rng: np.random.Generator) -> None:
    array = rng.integers(0, 9999, (7, 30)).astype(np.uint32)
    same(steps_of(pt.tensor(array, device=device)), collatz(array), "collatz")


@pytest.mark.computes
def test_between_other_ops(device: str, rng: np.random.Generator) -> None:
    """Pending operands are stored, views made contiguous; later ops read the result."""
    array = rng.integers(0, 99, (20, 30)).astype(np.uint32)
    x = pt.tensor(array, device=device)
    got = (steps_of((x + 1).T) * 2 + steps_of(x).T).sum(0)
    expected = collatz(array.T + 1) * 2 + collatz(array).T
    same(got, expected.sum(0).astype(np.int32), "collatz of sums")
    twice = blur(blur(x[3].astype("float32"), radius=1) * 3, radius=2)
    assert np.allclose(
        twice.numpy(), blurred(blurred(array[3].astype(np.float32), 1) * 3, 2), rtol=1e-5, atol=1e-4
    )
    filled = blur(pt.full((5,), 2.0, device=device), radius=1)
    same(filled, np.full(5, 2.0, np.float32), "blur of a constant")


@pytest.mark.computes
def test_several_tensors_and_another_count(device: str, rng: np.random.Generator) -> None:
    """Row sums and row maxima of two inputs' difference: one invocation for each row."""
    both = pt.kernel(
        "row_sums",
        """
        var sum = 0;
        var most = a[index * a_shape[1]] - b[index * b_shape[1]];
        for (var j = 0u; j < a_shape[1]; j++) {
          let d = a[index * a_shape[1] + j] - b[index * b_shape[1] + j];
          sum += d;
          most = max(most, d);
        }
        total[index] = sum;
        largest[index] = most + i32(shift);
        """,
        inputs=("a", "b"),
        outputs={"total": (lambda a, b: a[:1], "a"), "largest": (lambda a, b: a[:1], pt.int32)},
        params=("shift",),
        dispatch=lambda a, b: a[0],
        workgroup_size=32,
        numpy=lambda np, a, b, shift: ((a - b).sum(1), (a - b).max(1) + int(shift)),
    )
    a, b = (rng.integers(-99, 99, (45, 11)).astype(np.int32) for _ in range(2))
    total, largest = both(pt.tensor(a, device=device), pt.tensor(b, device=device), shift=4)
    same(total, (a - b).sum(1).astype(np.int32), "total")
    same(largest, (a - b).max(1) + 4, "largest")


def test_errors(device: str) -> None:
    x = pt.ones((4,), device=device)
    with pytest.raises(TypeError, match=r"^blur: takes x, not 2 tensors$"):
        blur(x, x, radius=1)
    with pytest.raises(TypeError, match=r"^blur: takes the numbers \(radius\), not \[\]$"):
        blur(x)
    with pytest.raises(pt.DTypeError, match=r"^collatz: x must be uint32, not float32$"):
        steps_of(x)
    with pytest.raises(pt.ShapeError, match=r"^blur: x of shape \(0,\) has no elements$"):
        blur(x[:0], radius=1)
    bare = pt.kernel("bare", "y[index] = x[index];", inputs=("x",), outputs={"y": "x"})
    if device == "cpu":
        with pytest.raises(pt.DeviceError, match=r"^bare: runs on webgpu"):
            bare(x)
    for given, message in (
        ({"inputs": ("index",)}, "'index' is not a unique, valid"),
        ({"inputs": ("y",)}, "'y' is not a unique, valid"),
        ({"outputs": {"y": "z"}}, "an output refers to 'z', but the inputs are ['x']"),
        ({"inputs": ()}, "needs inputs and outputs"),
        ({"workgroup_size": 0}, "workgroup_size must be from 1 to 256, not 0"),
        ({"workgroup_size": 64.0}, "workgroup_size must be from 1 to 256, not 64.0"),
    ):
        options: Any = {"inputs": ("x",), "outputs": {"y": "x"}} | given
        with pytest.raises(ValueError, match="^wrong: .*" + re.escape(message)):
            pt.kernel("wrong", "", **options)
    with pytest.raises(pt.DTypeError, match=r"^unknown dtype 'z'"):
        pt.kernel("wrong", "", inputs={"x": "z"}, outputs={"y": "x"})
    with pytest.raises(pt.DTypeError, match=r"^blur: radius must be int32, not 1\.5$"):
        blur(x, radius=1.5)


@pytest.mark.computes
def test_a_number_of_indices_that_no_device_runs(device: str) -> None:
    x = pt.ones((4,), device=device)

    def copied(count: Any, workgroup_size: int = 64) -> Any:
        function = pt.kernel(
            "copied", "y[index] = x[index];", inputs=("x",), outputs={"y": "x"},
            dispatch=lambda shape: count, numpy=lambda np, x: x, workgroup_size=workgroup_size,
        )  # fmt: skip
        return function(x)

    for count in (0, -1, 2**32, 2**40, 10**30):
        with pytest.raises(ValueError, match=rf"^copied: dispatch must return from 1 .* {count}$"):
            copied(count)
    with pytest.raises(ValueError, match=r"^copied: dispatch must return from 1 to 4294836225 "):
        copied(2**32 - 1, workgroup_size=1)
    for wrong in (4.0, True, None, "4", (4, 1, 1)):
        with pytest.raises(TypeError, match=r"^copied: dispatch must return an int, not "):
            copied(wrong)
    same(copied(np.int64(4)), np.ones(4, np.float32), "an integer of NumPy")


def test_text_that_is_not_wgsl() -> None:
    options: Any = {"inputs": ("x",), "outputs": {"y": "x"}}
    for text in ("y[index] = 1.0; // \ud800", "\0", "a\udfffb"):
        with pytest.raises(ValueError, match=r"^kernel 'bad': character \d+ of the WGSL is '\\"):
            pt.kernel("bad", text, **options)
        with pytest.raises(ValueError, match=r"^kernel '.*': character \d+ of the name is '\\"):
            pt.kernel(text, "y[index] = 1.0;", **options)
    wrong: Any
    for wrong in (None, b"y[index] = 1.0;", 3):
        with pytest.raises(TypeError, match=r"^kernel 'bad': the WGSL must be a str, not "):
            pt.kernel("bad", wrong, **options)
        with pytest.raises(TypeError, match="the name must be a str, not "):
            pt.kernel(wrong, "", **options)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "float16"])
def test_small_dtypes(dtype: str, device: str, rng: np.random.Generator) -> None:
    """The body works on words; results are converted to the dtype."""
    kind = {"bool": "u32", "float16": "f32"}.get(dtype, "i32")
    moved = pt.kernel(
        "moved",
        f"y[index] = x[x_shape[0] - 1u - index] + {kind}(1);",
        inputs=("x",),
        outputs={"y": "x"},
        numpy=lambda np, x: x[::-1] + x.dtype.type(1),
    )
    for size in (1, 5, 64, 131):
        a = rng.integers(0, 2 if dtype == "bool" else 120, size).astype(dtype)
        same(moved(pt.tensor(a, device=device)), a[::-1] + a.dtype.type(1), f"{dtype}, {size}")


@pytest.mark.computes
def test_dtypes_by_any_name(device: str) -> None:
    scaled = pt.kernel(
        "scaled", "y[index] = i32(x[index]) * n;", inputs={"x": np.float32},
        outputs={"y": ("x", "int32")}, params={"n": "i4"},
        numpy=lambda np, x, n: x.astype(np.int32) * n,
    )  # fmt: skip
    same(scaled(pt.arange(3.0, device=device), n=np.int64(2)), np.arange(3, dtype="i4") * 2, "")


def test_arrays_of_others_stay() -> None:
    """NumPy functions never write to an array of the caller."""
    added = pt.kernel(
        "added", "y[index] = x[index] + 1.0;", inputs=("x",), outputs={"y": "x"},
        numpy=lambda np, x: np.add(x, 1, out=x),
    )  # fmt: skip
    x = pt.ones((3,), device="cpu").realize()
    with pytest.raises(ValueError, match="read-only"):
        added(x).numpy()
    assert x.tolist() == [1, 1, 1]


@pytest.mark.computes
def test_wgsl_that_does_not_compile(device: str) -> None:
    if device == "cpu":
        pytest.skip("no WGSL is compiled")
    broken = pt.kernel(
        "broken", "y[index] = nothing_of_the_kind;", inputs=("x",), outputs={"y": "x"}
    )
    y = broken(pt.ones((4,)).realize())
    with pytest.raises(pt.GPUError, match=r"(?s)^broken: .*WGSL line \d+: y.index. = nothing_of"):
        y.numpy()


@pytest.mark.computes
def test_it_is_explained_and_timed(device: str) -> None:
    if device == "cpu":
        pytest.skip("no kernel runs")
    x = pt.ones((100,)).realize()
    y = blur(x + 1, radius=2) + 1
    kernels = pt.explain(y).kernels
    assert [(k.name, k.family) for k in kernels] == [
        ("add", "map"), ("blur", "custom"), ("add", "map"),
    ]  # fmt: skip
    y.realize()
    with pt.profile() as p:
        for n in (3, 4):
            blur(x, radius=n).realize()
    assert [(d.kernel, d.variant) for d in p.dispatches] == [("blur", "as written")] * 2
    assert p.compiles == 0, "another value of a parameter is no other program"
    assert p.planned <= 1


@pytest.mark.computes
def test_the_documented_examples(device: str) -> None:
    if device == "cpu":
        pytest.skip("they have no meaning in NumPy")
    text = (pt.kernel.__doc__ or "").replace("# doctest: +SKIP", "")
    names: dict[str, Any] = {}
    shown: list[str] = []
    for example in doctest.DocTestParser().get_examples(text):
        if example.want:
            shown.append(example.want)
            assert repr(eval(example.source, names)) + "\n" == example.want
        else:
            exec(example.source, names)
    assert len(shown) == 2
