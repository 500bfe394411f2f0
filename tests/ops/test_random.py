"""Random numbers: known answers of Threefry, the same bits on both devices, moments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.compare import same, ulps_off

MASK = 0xFFFFFFFF
# Random123's kat_vectors: threefry2x32, 20 rounds: (counter, key, answer).
KNOWN = (
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
)


def threefry(counter: tuple[int, int], key: tuple[int, int]) -> tuple[int, int]:
    """Threefry2x32 with 20 rounds, written from Salmon et al. (2011), in Python's integers."""
    extended = (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    x, y = (counter[0] + key[0]) & MASK, (counter[1] + key[1]) & MASK
    rotations = (13, 15, 26, 6, 17, 29, 16, 24)
    for r in range(20):
        x = (x + y) & MASK
        y = ((y << rotations[r % 8]) | (y >> (32 - rotations[r % 8]))) & MASK
        y ^= x
        if r % 4 == 3:
            s = r // 4 + 1
            x = (x + extended[s % 3]) & MASK
            y = (y + extended[(s + 1) % 3] + s) & MASK
    return x, y


def words(seed: int, start: int, count: int) -> list[int]:
    """Return the words that a generator draws: word 0 for the counters start, start + 1, ..."""
    key = (seed & MASK, seed >> 32)
    return [
        threefry((n & MASK, 0), (key[0], key[1] ^ (n >> 32)))[0]
        for n in range(start, start + count)
    ]


def uniforms(drawn: list[int]) -> Any:
    return np.array([(w >> 8) * 2.0**-24 for w in drawn], np.float32)


def test_the_reference_knows_the_known_answers() -> None:
    for counter, key, answer in KNOWN:
        assert threefry(counter, key) == answer


@pytest.mark.computes
def test_rand_draws_the_words(device: str) -> None:
    for seed in (0, 1, 2**32 - 1, 2**32, 0x1319_8A2E_0370_7344, 2**64 - 1):
        generator = pt.Generator(seed)
        same(generator.rand(5, device=device), uniforms(words(seed, 0, 5)), f"rand, seed {seed}")
        same(
            generator.rand(2, 3, device=device),
            uniforms(words(seed, 5, 6)).reshape(2, 3),
            f"rand again, seed {seed}",
        )
        same(
            generator.rand((), device=device),
            uniforms(words(seed, 11, 1))[0],
            f"rand 0-d, seed {seed}",
        )
    x = pt.Generator(3).rand(1031, device=device)
    same(x, uniforms(words(3, 0, 1031)), "rand of 1031")
    same(
        pt.Generator(3).rand(1031, device=device)[::-2],
        uniforms(words(3, 0, 1031))[::-2],
        "a view of it",
    )


@pytest.mark.computes
def test_randint_draws_the_words(device: str) -> None:
    for low, high in (
        (0, 10),
        (-5, 5),
        (0, 1),
        (-(2**31), 2**31 - 1),
        (0, 2**31),
        (100, 101),
        (-(2**31), 2**31 - 2),
        (-(2**31), 2**31),
    ):
        expected = [low + (w * (high - low) >> 32) for w in words(9, 0, 300)]
        got = pt.Generator(9).randint(low, high, 300, device=device)
        same(got, np.array(expected, np.int32), f"randint({low}, {high})")
    expected = [w * 6 >> 32 for w in words(1, 0, 6)]
    same(
        pt.Generator(1).randint(6, size=(2, 3), device=device),
        np.array(expected, np.int32).reshape(2, 3),
        "randint(6)",
    )
    for low, high in ((5, 5), (6, 5), (0, 2**31 + 1), (-(2**31) - 1, 0)):
        with pytest.raises(ValueError, match=rf"^randint: .*{low}, {high}"):
            pt.randint(low, high, 3, device=device)
    wrong: tuple[Any, ...]
    for wrong in ((10, (3,)), (1.5,), ((3,),)):
        with pytest.raises(TypeError, match=r"^randint: low and high must be ints, not .* size="):
            pt.randint(*wrong, device=device)


@pytest.mark.computes
def test_randn_is_box_muller(device: str) -> None:
    """Errors are at most 4 ulp of the radius, in float64, from both words of each counter."""
    n = 1031
    pairs = [threefry((k, 0), (5, 0)) for k in range(n)]
    u = np.array([(w + 0.5) * 2.0**-32 for w, _ in pairs], np.float32).astype(np.float64)
    v = np.array([(w >> 8) * 2.0**-24 for _, w in pairs])
    radius = np.sqrt(-2 * np.log(u))
    expected = radius * np.cos(2 * np.pi * v)
    got = pt.Generator(5).randn(n, device=device).numpy()
    assert got.dtype == np.float32
    off = np.abs(got - expected) / np.spacing(np.maximum(radius, 1e-3).astype(np.float32))
    assert off.max() <= 4, (
        f"randn: element {off.argmax()} is {got[off.argmax()]}, not {expected[off.argmax()]}"
    )
    several = pt.Generator(5)
    parts = [several.randn(shape, device=device).numpy().ravel() for shape in ((), 30, (10, 100))]
    assert np.array_equal(np.concatenate(parts), got)


@pytest.mark.computes
def test_both_devices_draw_the_same(device: str) -> None:
    for shape in ((1000,), (7, 11), (3, 1, 5)):
        ours, theirs = pt.Generator(77), pt.Generator(77)
        same(
            ours.rand(shape, device=device),
            theirs.rand(shape, device="cpu").numpy(),
            f"rand {shape}",
        )
        same(
            ours.randint(-9, 9, shape, device=device),
            theirs.randint(-9, 9, shape, device="cpu").numpy(),
            f"randint {shape}",
        )
        a, b = ours.randn(shape, device=device).numpy(), theirs.randn(shape, device="cpu").numpy()
        assert np.max(np.abs(a - b)) < 4e-6, f"randn {shape}"
        assert np.median(ulps_off(a, b, "float32")) <= 4, f"randn {shape}"


@pytest.mark.computes
def test_numbers_are_fixed_when_they_are_drawn(device: str) -> None:
    """Neither the order of reads nor whether they are read changes them."""
    generator = pt.Generator(4)
    a, b, c = (generator.rand(50, device=device) for _ in range(3))
    drawn = uniforms(words(4, 0, 150))
    same(c, drawn[100:], "the third, read first")
    same(a + 0, drawn[:50], "the first")
    del b
    same(
        generator.rand(3, device=device),
        uniforms(words(4, 150, 3)),
        "after one that was never read",
    )
    x = generator.rand(20, device=device)
    same(x - x, np.zeros(20, np.float32), "used twice, it is the same")


@pytest.mark.computes
def test_the_default_generator(device: str) -> None:
    pt.manual_seed(12)
    same(
        pt.rand(2, 2, device=device),
        uniforms(words(12, 0, 4)).reshape(2, 2),
        "rand after manual_seed",
    )
    first = pt.randn(3, device=device).numpy()
    again = pt.manual_seed(12)
    _ = pt.rand(4, device=device), again
    assert np.array_equal(pt.randn(3, device=device).numpy(), first)
    assert pt.Generator().bit_generator.key != pt.Generator().bit_generator.key
    with pytest.raises(ValueError, match="-1"):
        pt.Generator(-1)
    with pytest.raises(TypeError, match=r"1\.5"):
        pt.Generator(1.5)
    assert pt.rand(0, 3, device=device).shape == (0, 3)


def _uniform_distance(sample: Any) -> float:
    """The Kolmogorov-Smirnov distance of a sample from the uniform distribution over [0, 1)."""
    ordered = np.sort(sample.astype(np.float64))
    steps = np.arange(1, ordered.size + 1) / ordered.size
    return float(max(np.max(steps - ordered), np.max(ordered - steps + 1 / ordered.size)))


@pytest.mark.computes
def test_moments_and_distribution(device: str) -> None:
    n = 1_000_000
    generator = pt.Generator(2024)  # a fixed seed: the test must not fail at random
    limit = 1.95 / math.sqrt(n)  # KS at 0.1 %
    u = generator.rand(n, device=device).numpy()
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean(dtype=float) - 0.5) < 4 / math.sqrt(12 * n)
    assert abs(u.astype(float).var() - 1 / 12) < 4 * math.sqrt(1 / 180 / n)
    assert _uniform_distance(u) < limit
    z = generator.randn(n, device=device).numpy().astype(float)
    assert np.all(np.isfinite(z))
    assert abs(z.mean()) < 4 / math.sqrt(n)
    assert abs(z.var() - 1) < 4 * math.sqrt(2 / n)
    assert abs((z**3).mean()) < 4 * math.sqrt(15 / n)
    assert abs((z**4).mean() - 3) < 4 * math.sqrt(96 / n)
    sample = z[::10]
    cumulative = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in sample])
    assert _uniform_distance(cumulative) < 1.95 / math.sqrt(sample.size)
    k = generator.randint(-3, 4, n, device=device).numpy()
    counts = np.bincount(k + 3, minlength=7)
    assert counts.size == 7
    assert float(((counts - n / 7) ** 2 / (n / 7)).sum()) < 22.46  # chi-square, 6 degrees, 0.1 %
    pairs = np.corrcoef(u[:-1], u[1:])[0, 1]
    assert abs(pairs) < 4 / math.sqrt(n)


# -- NumPy's names ------------------------------------------------------------------------------


@pytest.mark.computes
def test_distributions(device: str) -> None:
    """Shape, range, mean and standard deviation of what each function draws."""
    before = pt.default_device()
    pt.set_default_device(device)
    try:
        n, drawn = 40_000, pt.random.Generator(int(np.random.default_rng().integers(2**32)))
        for name, got, mean, deviation in (
            ("random", drawn.random(n), 0.5, 12**-0.5),
            ("uniform", drawn.uniform(-2, 4, n), 1, 6 * 12**-0.5),
            ("normal", drawn.normal(3, 2, n), 3, 2),
            ("standard_normal", drawn.standard_normal((n // 4, 4)), 0, 1),
            ("exponential", drawn.exponential(2, n), 2, 2),
            ("lognormal", drawn.lognormal(0, 0.5, n), np.exp(0.125), 0.604),
            ("binomial", drawn.binomial(10, 0.3, n), 3, 2.1**0.5),
            ("binomial of many", drawn.binomial(10**8, 0.75, n), 7.5e7, 18.75e6**0.5),
            ("binomial of a tensor", drawn.binomial(2000, pt.full(n, 0.3)), 600, 420**0.5),
            ("integers", drawn.integers(1, 6, n, endpoint=True), 3.5, (35 / 12) ** 0.5),
            ("choice", drawn.choice([1.0, 2.0], n, p=[0.25, 0.75]), 1.75, 0.1875**0.5),
        ):
            values = got.numpy().astype(np.float64)
            assert values.size == n, name
            assert abs(values.mean() - mean) < 6 * deviation / n**0.5, name
            assert values.std() == pytest.approx(deviation, rel=0.05), name
        assert drawn.normal(pt.zeros((2, 1)), pt.ones(3)).shape == (2, 3)
        assert drawn.uniform().shape == ()
        assert drawn.integers(5, dtype=pt.uint8).dtype is pt.uint8
    finally:
        pt.set_default_device(before)


@pytest.mark.computes
def test_binomials_have_their_probabilities(device: str) -> None:
    """Trials are few and events rare; with p = 0 or 1 all trials fail or succeed."""
    before = pt.default_device()
    pt.set_default_device(device)
    try:
        n, drawn = 100_000, pt.random.Generator(2025)
        for trials, p in ((1, 0.5), (5, 0.2), (40, 0.9), (10**6, 2e-6)):
            counts = np.bincount(drawn.binomial(trials, p, n).numpy(), minlength=trials + 1)[:50]
            for k, count in enumerate(counts):
                share = math.comb(trials, k) * p**k * (1 - p) ** (trials - k)
                assert abs(count / n - share) < 6 * math.sqrt(share / n) + 1e-6, (trials, p, k)
        assert drawn.binomial(7, 0, 99).numpy().max() == 0
        assert drawn.binomial(7, 1, 99).numpy().min() == 7
        assert drawn.binomial(0, 0.5, (2, 3)).numpy().tolist() == [[0] * 3] * 2
        for trials, p, words in (
            (-1, 0.5, "n .* -1"),
            (3, 1.5, r"p .* 1\.5"),
            (3, math.nan, "p .* nan"),
        ):
            with pytest.raises(ValueError, match=f"^binomial: {words}$"):
                drawn.binomial(trials, p)
    finally:
        pt.set_default_device(before)


@pytest.mark.computes
def test_values_that_are_never_drawn(device: str, rng: np.random.Generator) -> None:
    """The upper end of a range and values of probability 0 are never drawn."""
    before = pt.default_device()
    pt.set_default_device(device)
    try:
        drawn = pt.random.Generator(int(rng.integers(2**32)))
        low, high = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
        assert set(drawn.uniform(1, float(high), 1000).tolist()) == {1}
        ends = drawn.uniform(pt.full(1000, float(low)), pt.full(1000, float(high))).numpy()
        assert set(ends.tolist()) == {1}
        p = rng.random(3000).astype(np.float32) * (rng.random(3000) < 0.3)
        p[[0, -1]] = 0
        p /= p.sum()
        found = drawn.choice(3000, 20_000, p=p).numpy()
        assert np.all(p[found] > 0)
        assert abs(np.mean(p[found]) - (p @ p) / p.sum()) < 0.01
        some = int(np.count_nonzero(p))
        assert sorted(drawn.choice(3000, some, False, p).tolist()) == np.nonzero(p)[0].tolist()
        with pytest.raises(ValueError, match=f"^choice: cannot draw {some + 1} of {some}"):
            drawn.choice(3000, some + 1, False, p)
        number: Any = np.int64(2)
        assert drawn.choice(number, number).shape == (2,)
        assert drawn.permutation(np.uint8(3)).shape == (3,)
    finally:
        pt.set_default_device(before)


@pytest.mark.computes
def test_orders(device: str, rng: np.random.Generator) -> None:
    """Permutations, shuffles and choices contain each element the expected number of times."""
    before = pt.default_device()
    pt.set_default_device(device)
    try:
        drawn = pt.random.default_rng(int(rng.integers(2**32)))
        assert pt.random.default_rng(drawn) is drawn
        numbers = drawn.permutation(1000).numpy()
        assert sorted(numbers) == list(range(1000))
        assert list(numbers) != list(range(1000))
        x = pt.arange(12).reshape(6, 2)
        drawn.shuffle(x)
        assert sorted(map(tuple, x.tolist())) == [(2 * i, 2 * i + 1) for i in range(6)]
        for axis, shape in ((0, (50, 2)), (1, (2, 50))):
            array = np.arange(100).reshape(shape)
            drawn.shuffle(array, axis)
            lines = np.moveaxis(array, axis, 0).tolist()
            unchanged = np.moveaxis(np.arange(100).reshape(shape), axis, 0).tolist()
            assert sorted(lines) == unchanged
            assert lines != unchanged
        items = ["a", "b", "c", "d"]
        drawn.shuffle(items)
        assert sorted(items) == ["a", "b", "c", "d"]
        assert sorted(drawn.choice(10, 10, replace=False).tolist()) == list(range(10))
        assert sorted(drawn.choice(4, 2, False, [0.5, 0, 0.5, 0]).tolist()) == [0, 2]
        assert drawn.choice(x, 3, axis=1).shape == (6, 3)
        assert set(drawn.choice([3, 5], (4, 4)).numpy().ravel()) <= {3, 5}
        firsts = [drawn.permutation(3)[0].item() for _ in range(300)]
        assert min(firsts.count(i) for i in range(3)) > 50
        for call in (
            lambda: drawn.choice(3, 4, replace=False),
            lambda: drawn.choice([], 1),
            lambda: drawn.choice(3, 1, p=[1.0]),
        ):
            with pytest.raises(ValueError, match=r"^choice: "):
                call()
    finally:
        pt.set_default_device(before)


@pytest.mark.computes
def test_functions_of_the_module(device: str) -> None:
    before = pt.default_device()
    pt.set_default_device(device)
    try:
        pt.random.seed(7)
        first = pt.random.normal(size=5).tolist(), pt.random.choice(9, 4).tolist()
        pt.random.seed(7)
        assert (pt.random.normal(size=5).tolist(), pt.random.choice(9, 4).tolist()) == first
        other = pt.random.RandomState(7)
        assert other.normal(size=5).tolist() == first[0]
        assert pt.random.random((2, 3)).shape == pt.random.uniform(0, 1, (2, 3)).shape == (2, 3)
        assert pt.random.permutation(4).shape == (4,)
    finally:
        pt.set_default_device(before)


@pytest.mark.computes
def test_integers_of_64_bits(device: str) -> None:
    """The product of two words of the stream and the span, shifted right by 64 bits."""
    for dtype, low, high in (
        ("int64", -(2**63), 2**63),
        ("int64", -(2**40), 2**40 + 7),
        ("int64", 0, 2**31 + 1),
        ("uint64", 0, 2**64),
        ("uint64", 2**63, 2**63 + 3),
        ("uint32", 0, 2**32),
    ):
        drawn = pt.Generator(5).randint(low, high, 300, dtype, device=device)
        words = pt.Generator(5)
        above, below = (
            words.randint(-(2**31), 2**31, 300, device="cpu").numpy().view(np.uint32).tolist()
            for _ in range(2)
        )
        above, below = ([(w + 2**31) % 2**32 for w in part] for part in (above, below))
        bits = [a << 32 | b for a, b in zip(above, below, strict=True)]
        expected = [low + (b * (high - low) >> 64) for b in bits]
        same(drawn, np.array(expected, dtype), f"{dtype} from {low} up to {high}")
    generator = pt.Generator(1)
    assert generator.integers(2**40, size=(0, 3), dtype="int64").shape == (0, 3)
    assert 0 <= int(generator.integers(2**40, dtype="int64")) < 2**40
    for dtype, low, high in (("int32", 0, 2**40), ("uint64", -1, 5), ("int64", 0, 2**64)):
        with pytest.raises(ValueError, match=rf"^randint: .*{dtype}"):
            pt.randint(low, high, 3, dtype, device=device)
    with pytest.raises(ValueError, match=r"^randint: \[0, 1099511627776\) .* the range of int32"):
        pt.randint(0, 2**40, 3, device=device)
    for wrong in ("float32", "complex64"):
        with pytest.raises(TypeError, match=f"^randint: dtype .*, not {wrong}"):
            pt.randint(0, 5, 3, wrong, device=device)
