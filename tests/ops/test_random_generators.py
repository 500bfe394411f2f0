"""Seeds, states, streams, orders, sizes, signatures and errors of generators, against NumPy's."""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.compare import IN_NUMPY, same

UPPER = 3.719  # normal numbers exceed this with a probability of 1e-4


def chi_square(counts: Any, shares: Any = None) -> float:
    """Chi-square relative to its 99.99 % quantile, by the Wilson-Hilferty transform."""
    counts = np.asarray(counts, np.float64)
    expected = counts.sum() * (1 / counts.size if shares is None else np.asarray(shares))
    k = counts.size - 1
    found = float(np.sum((counts - expected) ** 2 / expected)) / k
    return (found ** (1 / 3) - 1 + 2 / (9 * k)) / math.sqrt(2 / (9 * k)) / UPPER


# -- Seeds --------------------------------------------------------------------------------------

ENTROPIES = (0, 1, 2**31, 2**32, 2**64 - 1, 2**64, 2**200 + 17, [], [7], [1, 2**40], [*range(9)])


@pytest.mark.parametrize("entropy", ENTROPIES, ids=str)
def test_seed_sequences(entropy: Any) -> None:
    for key, pool in itertools.product(((), (3,), (0, 2**40)), (4, 5, 8)):
        theirs = np.random.SeedSequence(entropy, spawn_key=key, pool_size=pool)
        mine = pt.random.SeedSequence(entropy, spawn_key=key, pool_size=pool)
        assert list(mine.pool) == theirs.pool.tolist()
        assert mine.state == theirs.state
        for dtype in ("uint32", "uint64"):
            same(mine.generate_state(9, dtype), theirs.generate_state(9, dtype), dtype)
        assert mine.generate_state(0).shape == (0,)
        pairs = zip(mine.spawn(2) + mine.spawn(1), theirs.spawn(2) + theirs.spawn(1), strict=True)
        for a, b in pairs:
            assert (a.spawn_key, a.pool_size) == (b.spawn_key, b.pool_size)
            same(a.generate_state(3), b.generate_state(3), "of a child")
        assert mine.n_children_spawned == 3


def test_known_seed_sequence() -> None:
    """The values are from the paper's reference implementation, as in NumPy's own tests."""
    found = pt.random.SeedSequence([3735928559, 195939070, 229505742, 305419896]).generate_state(4)
    assert found.tolist() == [3914649087, 576849849, 3593928901, 2229911004]


@pytest.mark.computes
def test_forms_of_seeds(device: str) -> None:
    number: Any
    for number in (5, np.int64(5), np.uint8(5), np.array(5), pt.tensor(5)):
        assert pt.random.default_rng(number).bit_generator.key == 5
    for sequence in (pt.random.SeedSequence(5), np.random.SeedSequence(5)):
        assert pt.random.default_rng(sequence).bit_generator.key == 5
    several = [[1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), pt.tensor([1, 2, 3])]
    several += [pt.random.SeedSequence([1, 2, 3]), np.random.SeedSequence([1, 2, 3])]
    keys = {pt.random.default_rng(seed).bit_generator.key for seed in several}
    low, high = np.random.SeedSequence([1, 2, 3]).generate_state(2).tolist()
    assert keys == {low | high << 32}
    assert pt.random.default_rng().bit_generator.key != pt.random.default_rng().bit_generator.key
    generator = pt.random.default_rng(pt.random.Philox(7))
    assert pt.random.default_rng(generator) is generator
    assert isinstance(generator.bit_generator, pt.random.Philox)
    old = pt.random.RandomState(seed=7)
    assert not isinstance(old, pt.random.Generator)
    assert pt.random.default_rng(old).bit_generator is old.bit_generator
    assert pt.random.RandomState(generator.bit_generator).rand(3).tolist() == old.rand(3).tolist()
    wrong: Any
    for wrong, error in (
        (-1, ValueError),
        ([1, -1], ValueError),
        (1.5, TypeError),
        ("5", TypeError),
        ([1.5], TypeError),
        (np.random.PCG64(1), TypeError),
    ):
        with pytest.raises(error, match=r"^(Threefry|SeedSequence): "):
            pt.random.default_rng(wrong)
    with pytest.raises(ValueError, match=r"^SeedSequence: pool_size must be at least 4, not 3"):
        pt.random.SeedSequence(1, pool_size=3)
    with pytest.raises(ValueError, match=r"^generate_state: n_words .* -1"):
        pt.random.SeedSequence(1).generate_state(-1)
    with pytest.raises(ValueError, match=r"^generate_state: .* int32"):
        pt.random.SeedSequence(1).generate_state(2, "int32")


# -- States -------------------------------------------------------------------------------------

NAMES = ("Threefry", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


@pytest.mark.computes
@pytest.mark.parametrize("name", NAMES)
def test_states(name: str, device: str) -> None:
    generator = pt.random.Generator(getattr(pt.random, name)([1, 2]))
    generator.normal(size=5)
    before = generator.bit_generator.state
    first = [generator.gamma(2, size=4).tolist(), generator.random(3).tolist()]

    def again(other: Any) -> list[Any]:
        return [other.gamma(2, size=4).tolist(), other.random(3).tolist()]

    generator.bit_generator.state = before
    copies = (
        pickle.loads(pickle.dumps(generator)),
        copy.deepcopy(generator),
        copy.copy(generator),
        pt.random.Generator(pickle.loads(pickle.dumps(generator.bit_generator))),
    )
    for other in copies[:2]:
        assert type(other.bit_generator) is type(generator.bit_generator)
        children = (other.spawn(1)[0], pt.random.default_rng([1, 2]).spawn(1)[0])
        assert children[0].bit_generator.key == children[1].bit_generator.key
    assert again(copies[0]) == again(copies[1]) == again(copies[3]) == first
    assert again(copies[2]) == first
    assert again(generator) != first  # a shallow copy has the same bit generator
    with pytest.raises(ValueError, match=f"^{name}: the state belongs to 'other'"):
        generator.bit_generator.state = {"bit_generator": "other"}
    with pytest.raises(TypeError, match=f"^{name}: .*int"):
        generator.bit_generator.state = 3  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.computes
def test_states_of_the_module(device: str) -> None:
    pt.random.seed(3)
    pt.random.rand(4)
    for legacy in (True, False):
        state = pt.random.get_state(legacy)
        first = pt.random.standard_normal(5).tolist()
        pt.random.set_state(state)
        assert pt.random.standard_normal(5).tolist() == first
        other = pt.random.RandomState(99)
        other.set_state(pickle.loads(pickle.dumps(state)))
        assert other.standard_normal(5).tolist() == first
    theirs = np.random.RandomState(1).get_state()
    with pytest.raises(ValueError, match=r"^set_state: .*624 words.* MT19937"):
        pt.random.RandomState(1).set_state(theirs)
    for wrong in (3.0, 3.5, np.float32(3)):
        with pytest.raises(ValueError, match=r"^choice: a must be an int or have"):
            pt.random.choice(wrong)
    source = pt.random.Philox(8)
    before = pt.random.get_bit_generator()
    pt.random.set_bit_generator(source)
    assert pt.random.get_bit_generator() is source
    assert pt.random.rand(2).tolist() == pt.random.default_rng(8).random(2).tolist()
    pt.random.set_bit_generator(before)


@pytest.mark.computes
def test_raw_words(device: str) -> None:
    """Word n of a stream is Threefry's for counter n, wherever a draw begins."""
    generator = pt.random.Threefry(0)
    assert generator.random_raw() == 0x6B200159  # Random123's known answer for zeros
    same(generator.random_raw(0), np.zeros(0, np.uint64), "no words")
    whole = pt.random.Threefry(9).random_raw((2, 50)).numpy().reshape(-1)
    assert whole.dtype == np.uint64
    assert whole.max() < 2**32
    generator = pt.random.Threefry(9)
    assert generator.random_raw(30, output=False) is None
    assert np.array_equal(generator.random_raw(70).numpy(), whole[30:])
    assert generator.advance(-100).drawn == 0
    assert np.array_equal(generator.advance(60).random_raw(40).numpy(), whole[60:])
    far = pt.random.Threefry(9).advance(2**32 - 10)
    before = far.drawn
    far.random_raw(20)  # no draw crosses from one block of counters into the next
    assert (before, far.drawn) == (2**32 - 10, 2**32 + 20)
    assert not np.isin(far.random_raw(2000).numpy(), whole).any()
    apart = pt.random.Philox(key=9, counter=60).random_raw(40)
    assert np.array_equal(apart.numpy(), whole[60:])
    for wrong in ({"seed": 1, "key": 2}, {"key": 2**128}, {"key": -1}, {"counter": -1}):
        with pytest.raises(ValueError, match=r"^Philox: "):
            pt.random.Philox(**wrong)
    assert pt.random.Threefry(9).jumped().random_raw(5).tolist() != whole[:5].tolist()


@pytest.mark.computes
def test_bits_of_the_words(device: str) -> None:
    """Bits are balanced and independent of their neighbours; bytes are equally frequent."""
    n = 200_000
    words = pt.random.default_rng(123).bit_generator.random_raw(n).numpy().astype(np.uint32)
    bits = (words[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    limit = 4.6 / math.sqrt(n)  # 4.6 standard deviations: a probability of 1e-4 for all 32
    assert np.abs(2 * bits.mean(0) - 1).max() < limit
    signs = 2.0 * bits - 1
    assert np.abs((signs[1:] * signs[:-1]).mean(0)).max() < limit
    assert np.abs((signs[:, 1:] * signs[:, :-1]).mean(0)).max() < limit
    assert chi_square(np.bincount(words.view(np.uint8), minlength=256)) < 1


@pytest.mark.computes
def test_streams_are_independent(device: str) -> None:
    """Children, children of children, jumps, and seeds that differ by 1."""
    n = 20_000
    parent = pt.random.default_rng(77)
    children = parent.spawn(6)
    streams = [parent, *children, *children[0].spawn(3), *parent.spawn(2)]
    streams += [pt.random.default_rng(seed) for seed in (78, 79, 2**32 + 77)]
    streams += [pt.random.Generator(pt.random.Threefry(77).jumped(k)) for k in (1, 2)]
    assert len({stream.bit_generator.key for stream in streams}) == len(streams)
    drawn = np.stack([stream.random(n).numpy() for stream in streams]).astype(np.float64)
    off = np.corrcoef(drawn) - np.eye(len(streams))
    assert np.abs(off).max() < 4.9 / math.sqrt(n)  # 4.9 standard deviations, for about 100 pairs
    shifted = np.corrcoef(drawn[:, 1:], drawn[:, :-1])[: len(streams), len(streams) :]
    assert np.abs(shifted).max() < 5 / math.sqrt(n)
    cells = (drawn * 4).astype(int)
    for a, b in itertools.combinations(cells, 2):
        assert chi_square(np.bincount(a * 4 + b, minlength=16)) < 1.4  # for about 100 pairs
    again = pt.random.default_rng(77).spawn(6)
    assert np.array_equal(again[4].random(50).numpy(), drawn[5, :50].astype(np.float32))
    with pytest.raises(ValueError, match=r"^spawn: n_children .* -1"):
        parent.spawn(-1)


# -- Orders -------------------------------------------------------------------------------------


@pytest.mark.computes
def test_all_orders_are_as_likely(device: str) -> None:
    generator = pt.random.default_rng(5)
    n = 24_000
    lines = generator.permuted(pt.arange(4).reshape(1, 4) + pt.zeros((n, 1), pt.int32), axis=1)
    places = {order: k for k, order in enumerate(itertools.permutations(range(4)))}
    found = [places[tuple(line)] for line in lines.tolist()]
    assert chi_square(np.bincount(found, minlength=24)) < 1
    # In one long permutation: the position of each element, and the one after it.
    long = generator.permutation(50_000).numpy()
    assert np.array_equal(np.sort(long), np.arange(50_000))
    where = np.bincount(long // 5000 * 10 + np.arange(50_000) // 5000, minlength=100)
    assert chi_square(where) < 1
    assert abs(np.mean(long[1:] > long[:-1]) - 0.5) < 4 * math.sqrt(1 / 12 / 50_000)
    assert abs(np.corrcoef(long[1:], long[:-1])[0, 1]) < 4 / math.sqrt(50_000)


@pytest.mark.computes
def test_choices(device: str) -> None:
    generator = pt.random.default_rng(6)
    n = 40_000
    p = np.array([0.1, 0, 0.25, 0.15, 0.5])
    drawn = generator.choice(5, n, p=p).numpy()
    counts = np.bincount(drawn, minlength=5)
    assert counts[1] == 0
    assert chi_square(counts[p > 0], p[p > 0]) < 1
    assert chi_square(np.bincount(generator.choice(7, n).numpy(), minlength=7)) < 1
    # Without replacement: all ordered pairs, each drawn in proportion to the remaining weights.
    pairs = [(a, b) for a in range(5) for b in range(5) if a != b and p[a] * p[b]]
    shares = [p[a] * p[b] / (1 - p[a]) for a, b in pairs]
    found = [tuple(generator.choice(5, 2, replace=False, p=p).tolist()) for _ in range(1500)]
    assert chi_square([found.count(pair) for pair in pairs], shares) < 1
    alike = [tuple(generator.choice(4, 2, replace=False).tolist()) for _ in range(1200)]
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    assert chi_square([alike.count(pair) for pair in pairs]) < 1


@pytest.mark.computes
def test_shapes_of_choices_and_orders(device: str) -> None:
    mine, theirs = pt.random.default_rng(1), np.random.default_rng(1)
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    for axis, size, replace in itertools.product(
        (0, 1, -1), (None, (), 0, 2, (2,), (1, 2), (0, 3), np.int64(2), [1, 1]), (True, False)
    ):
        expected = theirs.choice(x, size, replace, axis=axis)
        for given in (x, pt.tensor(x)):
            found = mine.choice(given, size, replace, axis=axis)
            assert found.shape == expected.shape, (axis, size, replace)
            assert found.dtype is pt.float32
            assert np.isin(found.numpy(), x).all()
        lines = np.moveaxis(x, axis, 0).tolist()
        for line in np.moveaxis(mine.choice(x, 3, axis=axis).numpy(), axis, 0).tolist():
            assert line in lines
        permuted = mine.permutation(x, axis=axis).numpy()
        assert sorted(np.moveaxis(permuted, axis, 0).tolist()) == lines
        target = pt.tensor(x)
        mine.shuffle(target, axis=axis)
        assert sorted(np.moveaxis(target.numpy(), axis, 0).tolist()) == lines
        apart = mine.permuted(x, axis=axis).numpy()
        np.testing.assert_array_equal(np.sort(apart, axis), np.sort(x, axis))
    assert sorted(mine.permuted(x).numpy().ravel().tolist()) == list(range(60))
    out = pt.zeros((3, 4, 5))
    assert mine.permuted(pt.tensor(x), axis=1, out=out) is out
    np.testing.assert_array_equal(np.sort(out.numpy(), 1), x)
    for empty in (np.zeros((0, 3), np.float32), []):
        expected = np.asarray(empty)
        assert mine.permutation(empty).shape == mine.permuted(empty).shape == expected.shape
        assert mine.choice(empty, 0).shape == theirs.choice(empty, 0).shape
    assert mine.permutation(0).shape == (0,)
    items = list("abcdefgh")
    mine.shuffle(items)
    assert sorted(items) == list("abcdefgh")
    view = pt.arange(10)
    mine.shuffle(view[::2])
    assert view[1::2].tolist() == [1, 3, 5, 7, 9]
    assert sorted(view[::2].tolist()) == [0, 2, 4, 6, 8]


def test_bytes() -> None:
    mine = pt.random.default_rng(4)
    assert [len(mine.bytes(n)) for n in (0, 1, 4, 7)] == [0, 1, 4, 7]
    drawn = np.frombuffer(mine.bytes(100_003), np.uint8)
    assert chi_square(np.bincount(drawn, minlength=256)) < 1
    words = pt.random.default_rng(9).bit_generator.random_raw(2).tolist()
    packed = b"".join(int(word).to_bytes(4, "little") for word in words)
    assert pt.random.default_rng(9).bytes(7) == packed[:7]


# -- Sizes, dtypes, out -------------------------------------------------------------------------

METHODS: dict[str, tuple[Any, ...]] = {
    "beta": (1, 2),
    "binomial": (5, 0.5),
    "chisquare": (2,),
    "exponential": (),
    "f": (2, 3),
    "gamma": (2,),
    "geometric": (0.5,),
    "gumbel": (),
    "hypergeometric": (5, 6, 7),
    "integers": (5,),
    "laplace": (),
    "logistic": (),
    "lognormal": (),
    "logseries": (0.5,),
    "negative_binomial": (3, 0.5),
    "noncentral_chisquare": (2, 1),
    "noncentral_f": (2, 3, 1),
    "normal": (),
    "pareto": (2,),
    "poisson": (),
    "power": (2,),
    "random": (),
    "rayleigh": (),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (2,),
    "standard_normal": (),
    "standard_t": (3,),
    "triangular": (0, 1, 2),
    "uniform": (),
    "vonmises": (0, 1),
    "wald": (1, 2),
    "weibull": (2,),
    "zipf": (2,),
}


@pytest.mark.computes
@pytest.mark.parametrize("name", METHODS)
def test_sizes(name: str, device: str) -> None:
    mine, theirs = (getattr(m.default_rng(1), name) for m in (pt.random, np.random))
    for size in (None, (), 0, 3, (3,), (2, 3), (2, 0), [2, 1], np.int32(3), (np.int64(2), 2)):
        found = mine(*METHODS[name], size=size)
        assert isinstance(found, pt.Tensor)
        assert found.shape == np.shape(theirs(*METHODS[name], size=size)), size
        assert np.all(np.isfinite(found.numpy()))
        is_discrete = theirs(*METHODS[name], size=3).dtype.kind == "i"
        assert found.dtype is (pt.int32 if is_discrete else pt.float32)
    for size, error in (
        (-1, ValueError),
        ((2, -1), ValueError),
        (2.5, TypeError),
        ("3", TypeError),
    ):
        with pytest.raises(error, match=f"^{name}: "):
            mine(*METHODS[name], size=size)
    old = pt.random.RandomState(3)
    if name != "integers":  # NumPy's does not have it
        a, b = (getattr(x, name)(*METHODS[name], size=5) for x in (old, pt.random.default_rng(3)))
        assert a.tolist() == b.tolist()


@pytest.mark.computes
@pytest.mark.parametrize(
    "name", ["random", "standard_normal", "standard_exponential", "standard_gamma"]
)
def test_out(name: str, device: str) -> None:
    first = (2.5,) if name == "standard_gamma" else ()
    expected = getattr(pt.random.default_rng(1), name)(*first, size=(3, 4)).numpy()
    target = pt.zeros((3, 4))
    assert getattr(pt.random.default_rng(1), name)(*first, out=target) is target
    assert np.array_equal(target.numpy(), expected)
    other = pt.zeros((3, 8))
    draw = getattr(pt.random.default_rng(1), name)
    draw(*first, size=(3, 4), dtype=pt.float32, out=other[:, ::2])
    assert np.array_equal(other.numpy()[:, ::2], expected)
    assert not other.numpy()[:, 1::2].any()
    array = np.zeros((3, 4), np.float32)
    assert getattr(pt.random.default_rng(1), name)(*first, out=array) is array
    assert np.array_equal(array, expected)
    for options, error in (
        ({"size": 4, "out": pt.zeros(5)}, ValueError),
        ({"dtype": pt.int32}, TypeError),
        ({"dtype": "float16"}, TypeError),
        ({"out": pt.zeros(3, pt.int32)}, TypeError),
        ({"out": [0.0]}, TypeError),
    ):
        with pytest.raises(error, match=f"^{name}: "):
            draw(*first, **options)


def test_the_precision_of_probabilities(device: str) -> None:
    """Their sum may differ from 1 by the root of the eps of their dtype."""
    generator = pt.random.default_rng(2)
    for dtype in [name for name in ("float16", "bfloat16", "float32") if name in IN_NUMPY]:
        eps = pt.finfo(dtype).eps
        near, far = (np.array([0, 1 + share * eps**0.5]).astype(dtype) for share in (0.5, 2))
        assert generator.choice(2, 3, p=near).tolist() == [1, 1, 1]
        with pytest.raises(ValueError, match=r"^choice: the sum of p must be 1, not 1\."):
            generator.choice(2, 3, p=far)


@pytest.mark.computes
def test_integers_of_each_dtype(device: str) -> None:
    generator = pt.random.default_rng(2)
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"):
        least, most = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        whole = generator.integers(least, most, 2000, dtype, endpoint=True)
        assert str(whole.dtype) == dtype
        values = whole.numpy().astype(np.float64)
        middle, width = (int(least) + int(most)) / 2, int(most) - int(least) + 1
        assert abs(values.mean() - middle) < 4 * width / math.sqrt(12 * 2000)
        ends = generator.integers([most, least], [most, least], (9, 2), dtype, endpoint=True)
        assert np.array_equal(ends.numpy(), np.array([[most, least]] * 9, dtype)), dtype
        for low, high in ((least, int(most) + 2), (int(least) - 1, most)):
            with pytest.raises(ValueError, match=f"^integers: .* range of {dtype}"):
                generator.integers(low, high, dtype=dtype)
    assert generator.integers(4, 5.0, dtype=int).item() == 4
    assert set(generator.integers(np.array([-3.0, 2.0]), 3, (50, 2)).numpy()[:, 1]) == {2}
    negative = generator.integers(pt.tensor([-3.0]), -1, 200).numpy()
    assert set(negative.tolist()) == {-3, -2}
    values = pt.random.RandomState(1).random_integers(3, size=200).numpy()
    assert set(values.tolist()) == {1, 2, 3}
    down = pt.random.RandomState(1).uniform(5, 1, 500).numpy()
    assert 1 < down.min() < 1.1 < 4.9 < down.max() <= 5


# -- Errors -------------------------------------------------------------------------------------

ERRORS = """
normal(0, -1) | normal(0, [-1, 1]) | lognormal(0, -1) | laplace(0, -1) | logistic(0, -1)
gumbel(0, -1) | rayleigh(-1) | exponential(-1) | gamma(-1) | gamma(1, -1) | standard_gamma(-1)
uniform(5, 1) | uniform([5, 1], [1, 5]) | uniform(np.array([5, 1]), 3) | uniform(0, inf)
uniform(0, nan) | beta(0, 1) | beta(1, -1) | chisquare(0) | f(0, 1) | f(1, 0) | standard_t(0)
noncentral_chisquare(0, 1) | noncentral_chisquare(1, -1) | noncentral_f(1, 1, -1) | pareto(0)
power(0) | weibull(-1) | wald(0, 1) | wald(1, 0) | vonmises(0, -1) | triangular(1, 0, 2)
triangular(0, 3, 2) | triangular(1, 1, 1) | triangular([0, 1], [1, 1], [2, 1])
triangular(0, [1, 5], np.array([[2], [3]])) | poisson(-1) | poisson(nan) | poisson([1, -1])
binomial(-1, 0.5) | binomial(3, 1.5) | binomial(3, -0.1) | binomial(3, nan) | binomial(3, [0.5, 2])
negative_binomial(0, 0.5) | negative_binomial(-1, 0.5) | negative_binomial(1, 0)
negative_binomial(1, 1.1) | geometric(0) | geometric(1.1) | hypergeometric(-1, 1, 1)
hypergeometric(1, 1, 3) | hypergeometric(10, 10, -1) | hypergeometric([1, 2], 1, [3, 3])
logseries(1) | logseries(-0.1) | zipf(1) | zipf(nan) | zipf(0.5) | integers(5, 5) | integers(5, 4)
integers(0) | integers(0, 300, dtype="uint8") | integers(-1, 5, dtype="uint8")
integers(5, dtype=float) | integers(3, dtype=bool) | integers([1, 5], [5, 1])
integers([[1], [5]], [5, 6, 7]) | integers([1, 5], [300, 7], dtype="uint8")
integers(np.array([1, 5]), np.array([5, 1])) | choice(0) | choice(-1) | choice([])
choice(5, 6, replace=False) | choice(5, 3, p=[0.5, 0.5]) | choice(2, 3, p=[0.5, 0.6])
choice(2, 3, p=[0.5, 0.500001]) | choice(2, 3, p=[-0.5, 1.5]) | choice(2, 3, p=[nan, 1.0])
choice(3, 3, p=[0.5, 0.5, 0], replace=False) | choice(np.zeros((2, 3)), 4, axis=2)
permutation(np.zeros((3, 2)), axis=2) | permuted(np.zeros((3, 2)), axis=2) | shuffle([1, 2], 1)
permuted([1, 2], axis=0, out=np.zeros(3)) | dirichlet([1, -1]) | dirichlet([1, nan])
multinomial(5, [0.7, 0.6, 0.1]) | multinomial(-1, [0.5, 0.5]) | multinomial(5, [-0.1, 1.1])
multinomial(5, []) | multinomial(5, [0.5, 0.5, 0.1], ()) | multinomial([5, 6], [0.5, 0.5], 3)
multinomial(5, [nan, 0.5]) | multivariate_normal([0, 0], [[1, 0]])
multivariate_normal([[0, 0]], [[1, 0], [0, 1]]) | multivariate_normal(0, [[1]])
multivariate_normal([0, 0], [[1, 2], [2, 1]], check_valid="raise")
multivariate_normal([0, 0], [[1, 0], [0, 1]], method="x")
multivariate_normal([0, 0], [[1, 0], [0, 1]], check_valid="x")
multivariate_hypergeometric([1, 2], 4) | multivariate_hypergeometric([1, -2], 2)
multivariate_hypergeometric([1, 2], -2) | multivariate_hypergeometric([1, 2], 2, method="x")
multivariate_hypergeometric([1.5, 2], 2) | normal(1j) | normal([1, 2], size=3)
"""


@pytest.mark.parametrize("call", ERRORS.replace("\n", "|").strip("| ").split("|"))
def test_errors(call: str, device: str) -> None:
    """Errors have NumPy's class and begin with the function's name; valid calls pass."""
    call = call.strip()
    names = {"np": np, "inf": math.inf, "nan": math.nan}
    try:
        eval(call, {**names, **vars(Calls(np.random.default_rng(0)))})
    except Exception as error:
        kind = next(k for k in (*KINDS, type(error)) if isinstance(error, k))
        with pytest.raises(kind, match=f"^{call.split('(')[0]}: "):
            eval(call, {**names, **vars(Calls(pt.random.default_rng(0)))})
    else:
        eval(call, {**names, **vars(Calls(pt.random.default_rng(0)))})


def test_the_error_of_a_color() -> None:
    expected = r"^multivariate_hypergeometric: each color must be an int from 0 .*, not -2$"
    with pytest.raises(ValueError, match=expected):
        pt.random.default_rng(0).multivariate_hypergeometric([1, -2], 2)


def test_errors_of_a_covariance() -> None:
    """Separate: NumPy's Cholesky finds no error on platforms without floating-point flags."""
    generator = pt.random.default_rng(0)
    cov = [[1, 2], [2, 1]]
    with pytest.raises(pt.linalg.LinAlgError, match=r"^multivariate_normal: .* positive definite"):
        generator.multivariate_normal([0, 0], cov, method="cholesky")
    with pytest.warns(RuntimeWarning, match=r"^multivariate_normal: "):
        generator.multivariate_normal([0, 0], cov)


KINDS = (OverflowError, NotImplementedError, IndexError, ValueError, TypeError)


class Calls:
    """The methods of a generator, by name."""

    def __init__(self, generator: Any) -> None:
        for name in dir(generator):
            if not name.startswith("_"):
                setattr(self, name, getattr(generator, name))


# -- Signatures ---------------------------------------------------------------------------------

ONLY_NUMPYS = {"capsule", "cffi", "ctypes", "lock"}  # for C, and for thread locks


def pairs() -> list[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    found: list[tuple[str, Any, Any]] = [
        (name, getattr(np.random, name), getattr(pt.random, name))
        for name in (*np.random.__all__, "get_bit_generator", "set_bit_generator")
    ]
    for kind in ("Generator", "RandomState", "SeedSequence", "BitGenerator", "PCG64", "MT19937"):
        theirs, mine = getattr(np.random, kind), getattr(pt.random, kind)
        made = mine(1)
        for name in dir(theirs):
            if not name.startswith("_") and name not in ONLY_NUMPYS:
                assert hasattr(made, name), f"{kind}.{name}"
                if callable(getattr(theirs, name)):
                    pair = getattr(theirs, name), getattr(mine, name)
                    found.append((f"{kind}.{name}", *pair))
    return found


PAIRS = pairs()


@pytest.mark.parametrize(("name", "theirs", "mine"), PAIRS, ids=[name for name, *_ in PAIRS])
def test_signatures(name: str, theirs: Callable[..., Any], mine: Callable[..., Any]) -> None:
    """NumPy's parameters, in order, with kind and default; ours may have more after them."""
    assert inspect.getdoc(mine)
    try:
        expected = [*inspect.signature(theirs).parameters.values()]
    except (TypeError, ValueError):  # written in C
        return
    if name in ("ranf", "sample"):  # aliases of `random_sample`, with any arguments in NumPy
        expected = [*inspect.signature(np.random.random_sample).parameters.values()]
    given = [*inspect.signature(mine).parameters.values()]
    for a, b in zip(expected, given, strict=False):
        assert b.kind is a.kind, a.name
        if a.kind is a.VAR_POSITIONAL:
            continue
        assert b.name == a.name
        if a.name == "dtype":  # NumPy's have 64 bits
            assert a.default in (int, float, np.int64, np.float64, np.uint32)
            assert b.default in (None, "uint32")
        elif name != "Generator":  # it creates a bit generator from a seed, or without one
            assert b.default == a.default, a.name
    assert len(given) >= len(expected)
    assert all(p.default is not p.empty for p in given[len(expected) :])
