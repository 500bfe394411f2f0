"""shaders/lib on a real WebGPU device, against NumPy: every function, over its whole range.

Each run draws new samples; a failure names the seed, and SHADER_LIB_SEED repeats it. `pytest -rP`
prints each function's largest error and compile time. CHROMIUM and CHROMIUM_GPU_FLAGS select the
browser, and so the device.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import pytest
from playwright.sync_api import Browser

from tests.browser import shader_lib_source as lib
from tests.browser.shader_lib_gpu import Gpu, kernel_source, open_gpu

SEED = int(os.environ.get("SHADER_LIB_SEED", int.from_bytes(os.urandom(4), "little")))
SAMPLES = 65536
DTYPE = {
    "f32": np.float32,
    "i32": np.int32,
    "u32": np.uint32,
    "bool": np.uint32,
    "vec2u": np.uint32,
}
EXACT = 0.0
TINY = float(np.finfo(np.float32).tiny)

Array = np.ndarray
Sampler = Callable[[np.random.Generator, int], Array]


# ---------------------------------------------------------------- samples

F32_SPECIALS = np.array(
    [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 25, 100, 144, 0.5, 1.5, 2.5, 3.5, 0.25, 0.1, 1 / 3, 1e-3,
     1e-45, 1e-40, 1.1754942e-38, 1.17549435e-38, 2.3509887e-38, 1e-30, 1e30, 3.4028235e38,
     1.7014118e38, 8.507059e37, 8388607.5, 8388608, 16777215, 16777216, 16777217, 2147483520,
     2147483648, 4294967040, 4294967296, 9.2233720e18, 1e19, 0.9999999, 1.0000001, 0.70710677,
     1.4142135, 0.7853982, 1.5707964, 3.1415927, 6.2831855, 88.72283, 88.72284, 103.97, 127.5,
     128, 149, 150, np.inf, np.nan]
).astype(np.float32)  # fmt: skip
NAN_PAYLOADS = np.array([0x7F800001, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF], np.uint32).view(
    np.float32
)
F32_SPECIALS = np.concatenate([F32_SPECIALS, -F32_SPECIALS, NAN_PAYLOADS])
I32_SPECIALS = np.array(
    [0, 1, 2, 3, 5, 7, 31, 32, 33, 255, 256, 65535, 65536, 65537, 2**24 - 1, 2**24, 2**24 + 1,
     2**24 + 3, 2**25 + 2, 2**25 + 6, 2**31 - 1, 2**31 - 64, 2**31 - 65, 2**31 - 63, 1234567]
)  # fmt: skip
I32_SPECIALS = np.concatenate([I32_SPECIALS, -I32_SPECIALS, [-(2**31)]]).astype(np.int32)
SPECIALS = {
    "f32": F32_SPECIALS,
    "i32": I32_SPECIALS,
    "u32": np.concatenate(
        [I32_SPECIALS.view(np.uint32), np.array([2**32 - 129, 2**32 - 128, 2**32 - 127], np.uint32)]
    ),
    "bool": np.array([0, 1], np.uint32),
}


def bits(rng: np.random.Generator, n: int) -> Array:
    """Draw f32 by random bits: log-uniform, with subnormals and NaN of all payloads."""
    return rng.integers(0, 2**32, n, dtype=np.uint32).view(np.float32)


def between(low: float, high: float) -> Sampler:
    return lambda rng, n: rng.uniform(low, high, n).astype(np.float32)


def spread(low: float, high: float) -> Sampler:
    """Draw log-uniform magnitudes of either sign."""
    a, b = math.log(low), math.log(high)
    return lambda rng, n: (np.exp(rng.uniform(a, b, n)) * rng.choice([-1.0, 1.0], n)).astype(
        np.float32
    )


def integers(low: int, high: int) -> Sampler:
    return lambda rng, n: rng.integers(low, high + 1, n).astype(np.float32)


def halves(rng: np.random.Generator, n: int) -> Array:
    return (rng.integers(-(2**23), 2**23, n) * 0.5).astype(np.float32)


def words(rng: np.random.Generator, n: int) -> Array:
    """32-bit integers: half uniform, half of a random width."""
    x = rng.integers(0, 2**32, n, dtype=np.uint32)
    narrow = x >> rng.integers(0, 32, n, dtype=np.uint32)
    signed = np.where(rng.integers(0, 2, n) == 1, narrow, np.uint32(0) - narrow)
    return np.where(np.arange(n) % 2 == 0, x, signed.astype(np.uint32)).astype(np.uint32)


def draw(
    rng: np.random.Generator, types: tuple[str, ...], domains: list[tuple[Sampler, ...]]
) -> list[Array]:
    """Draw samples from each domain in turn, then all combinations of special values.

    From three arguments on, random combinations of them.
    """
    specials = [SPECIALS[t] for t in types]
    if len(types) < 3:
        tails = [grid.ravel() for grid in np.meshgrid(*specials, indexing="ij")]
    else:
        tails = [rng.choice(s, 8192) for s in specials]
    columns: list[Array] = []
    for i, kind in enumerate(types):
        parts = [domain[i % len(domain)](rng, SAMPLES // len(domains) + 1) for domain in domains]
        columns.append(np.concatenate([part.view(DTYPE[kind]) for part in parts] + [tails[i]]))
    if types == ("bool",):
        columns[0] = columns[0] & 1
    return columns


# ---------------------------------------------------------------- comparison


def flushed(x: Array) -> Array:
    """x with subnormals replaced by zeros of their sign, as WGSL allows any device to do."""
    if x.dtype != np.float32:
        return x
    return np.where(np.abs(x) < TINY, np.copysign(np.float32(0), x), x)


def errors(got: Array, want: Array) -> Array:
    """Return the error of each f32 in ulp of the expected value.

    It is inf where NaN, infinity, or the sign of a zero is wrong.

    If the expected value is subnormal, a zero of its sign is right.
    """
    with np.errstate(all="ignore"):  # a signalling NaN warns even on conversion
        g = got.astype(np.float64)
        w = want.astype(np.float64)
        # Beyond the largest f32, infinity stands for 2^128.
        magnitude = np.minimum(np.abs(w), 2.0**128)
        g_clipped = np.clip(g, -(2.0**128), 2.0**128)
        w_clipped = np.copysign(magnitude, w)
        _, exponent = np.frexp(np.minimum(magnitude, 2.0**127.5))
        ulp = np.ldexp(1.0, np.maximum(exponent - 24, -149))
        error = np.abs(g_clipped - w_clipped) / ulp
    subnormal = magnitude < TINY
    to_zero = subnormal & (g == 0)
    error = np.where(to_zero & (np.signbit(g) == np.signbit(w)), 0.0, error)
    error = np.where((w == 0) & (g == 0) & (np.signbit(g) != np.signbit(w)), np.inf, error)
    error = np.where(np.isinf(w) & (g != w), np.inf, error)
    error = np.where(np.isnan(w) != np.isnan(g), np.inf, error)
    return np.where(np.isnan(w) & np.isnan(g), 0.0, error)


def mismatches(got: Array, want: Array) -> Array:
    """Return the error of each integer: 0 where equal, inf elsewhere."""
    return np.where(got.astype(np.int64) == want.astype(np.int64), 0.0, np.inf)


@dataclass(frozen=True)
class Case:
    """The guarantees of one function.

    `reference` takes the arguments (float64 copies of f32 ones, unless `native`) and returns the
    expected values; `ulp` is the largest allowed error, EXACT for none, and one above 4 needs a
    `reason`; `subnormal_ulp` is the error of a subnormal result, in units of 2^-149, if it is
    larger.
    """

    reference: Callable[..., Array]
    ulp: float = EXACT
    domains: list[tuple[Sampler, ...]] = field(default_factory=lambda: [(bits,)])
    native: bool = False
    reason: str = ""
    subnormal_ulp: float = 0.0

    def error(self, got: Array, inputs: list[Array]) -> Array:
        found = self._error(got, inputs)
        if got.dtype == np.float32 and any(x.dtype == np.float32 for x in inputs):
            return np.minimum(found, self._error(got, [flushed(x) for x in inputs]))
        return found

    def _error(self, got: Array, inputs: list[Array]) -> Array:
        with np.errstate(all="ignore"):
            wide = [
                x if self.native or x.dtype != np.float32 else x.astype(np.float64) for x in inputs
            ]
            want = np.broadcast_to(np.asarray(self.reference(*wide)), got.shape)
        if got.dtype != np.float32:
            return mismatches(got, want)
        found = errors(got, want)
        return np.where((np.abs(want) < TINY) & (found <= self.subnormal_ulp), 0.0, found)


# ---------------------------------------------------------------- references NumPy does not have


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def bessel(x: Array) -> Array:
    return np.where(np.isinf(x), np.inf, np.i0(x))


def exponents(rng: np.random.Generator, n: int) -> Array:
    return rng.integers(-400, 400, n).astype(np.int32)


def first_of_equal(f: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """NumPy does not define which of -0 and +0 is the maximum; ours is the first."""
    return lambda x, y: np.where(x == y, x, f(x, y))


def integer_power(x: Array, y: Array) -> Array:
    def one(base: int, exponent: int) -> int:
        if exponent < 0:
            return {1: 1, -1: 1 - 2 * (exponent % 2)}.get(base, 0)
        return (
            (pow(base, exponent, 2**32) + 2**31) % 2**32 - 2**31
            if x.dtype == np.int32
            else pow(base, exponent, 2**32)
        )

    return np.array([one(int(a), int(b)) for a, b in zip(x, y, strict=True)], np.int64)


def truncate_i32(x: Array) -> Array:
    fits = (x > -(2.0**31) - 1) & (x < 2.0**31)
    return np.where(fits, np.trunc(np.where(fits, x, 0)), -(2.0**31)).astype(np.int64)


def half_bits(x: Array) -> Array:
    """Return the bits of the nearest halves; one NaN of each sign."""
    found = x.astype(np.float16).view(np.uint16).astype(np.int64)
    return np.where(np.isnan(x), found & 0x8000 | 0x7E00, found)


def upper_halves(x: Array) -> Array:
    """Return the bits of the nearest bfloat16; one NaN of each sign."""
    found = x.astype(ml_dtypes.bfloat16).view(np.uint16).astype(np.int64)
    return np.where(np.isnan(x), found & 0x8000 | 0x7FC0, found)


def truncate_u32(x: Array) -> Array:
    fits = np.abs(x) < 2.0**63
    return np.where(fits, x, 0).astype(np.int64) & 0xFFFFFFFF


def threefry(counter0: Array, counter1: Array, key0: Array, key1: Array) -> tuple[Array, Array]:
    """Threefry-2x32-20 as in the paper: a loop, a rotation table, a key schedule."""
    rotations = (13, 15, 26, 6, 17, 29, 16, 24)
    schedule = (key0, key1, np.uint32(0x1BD11BDA) ^ key0 ^ key1)
    x0, x1 = counter0 + key0, counter1 + key1
    for r in range(20):
        x0 = x0 + x1
        x1 = (x1 << np.uint32(rotations[r % 8])) | (x1 >> np.uint32(32 - rotations[r % 8]))
        x1 = x1 ^ x0
        if r % 4 == 3:
            d = r // 4 + 1
            x0 = x0 + schedule[d % 3]
            x1 = x1 + schedule[(d + 1) % 3] + np.uint32(d)
    return x0, x1


def random_bits(index: Array, key0: Array, key1: Array) -> Array:
    return threefry(index, np.zeros_like(index), key0, key1)[0]


def normal(a: Array, b: Array) -> Array:
    u = ((a + 0.5) / 2**32).astype(np.float32).astype(np.float64)
    turn = (b >> 8).astype(np.int64)
    quarter = (turn + 2**21) // 2**22
    r = (turn - quarter * 2**22) * (2 * math.pi / 2**24)
    cos = np.choose(quarter % 4, [np.cos(r), -np.sin(r), -np.cos(r), np.sin(r)])
    return np.sqrt(-2 * np.log(u)) * cos


def mulhi(a: Array, b: Array) -> Array:
    return (a.astype(np.uint64) * b.astype(np.uint64)) >> np.uint64(32)


def randint(bits: Array, low: Array, span: Array) -> Array:
    return (low.astype(np.int64) + mulhi(bits, span).astype(np.int64) + 2**31) % 2**32 - 2**31


# ---------------------------------------------------------------- the table of guarantees

NEAR_ONE = (between(0.5, 2),)
ANGLES: list[tuple[Sampler, ...]] = [
    (bits,),
    (between(-7, 7),),
    (spread(1, 6e3),),
    (spread(6e3, 3e38),),
]
ANGLES += [(lambda rng, n: (rng.integers(-(10**4), 10**4, n) * (math.pi / 2)).astype(np.float32),)]
PAIRS: list[tuple[Sampler, ...]] = [
    (bits,), (spread(1e-3, 1e3),), (integers(-50, 50),), (spread(1e-8, 1e8), integers(-9, 9)),
    (between(-1e6, 1e6), between(-10, 10)), (spread(1e-40, 1e-30),),
]  # fmt: skip
POWERS: list[tuple[Sampler, ...]] = [
    (bits,),
    (spread(1e-3, 1e3), between(-20, 20)),
    (between(0.9, 1.1), spread(1, 1e4)),
    (between(0.999, 1.001), spread(1, 1e5)),
    (between(0.5, 2), spread(1, 150)),
    (spread(1e-38, 1e38), between(-3, 3)),
    (spread(1e-45, 1e-38), between(-1, 1)),
    (integers(-30, 30), integers(-9, 12)),
]
WORDS: list[tuple[Sampler, ...]] = [(words,)]
SHIFTS: list[tuple[Sampler, ...]] = [
    (words,),
    (words, lambda rng, n: rng.integers(0, 40, n, dtype=np.uint32)),
]
WITH_EQUALS: list[tuple[Sampler, ...]] = [
    (bits,),
    (integers(-9, 9),),
    (between(-1, 1),),
    (spread(1e-45, 1e-44),),
]

CASES: dict[str, Case] = {
    # bits.wgsl
    "is_nan": Case(np.isnan),
    "is_inf": Case(np.isinf),
    "is_finite": Case(np.isfinite),
    "sign_bit": Case(np.signbit),
    "f32_inf": Case(lambda: np.asarray(np.inf)),
    "f32_nan": Case(lambda: np.asarray(np.nan)),
    "copysign_f32": Case(np.copysign, native=True),
    "nextafter_f32": Case(np.nextafter, native=True),
    "mulhi_u32": Case(mulhi, domains=WORDS),
    "frexp_fraction_f32": Case(lambda x: np.frexp(x)[0]),
    "frexp_exponent_f32": Case(lambda x: np.where(np.isfinite(x), np.frexp(x)[1], 0)),
    "spacing_f32": Case(np.spacing, native=True),
    "ldexp_f32": Case(
        np.ldexp, native=True, domains=[(bits, exponents), (spread(1e-3, 1e3), exponents)]
    ),
    # arithmetic.wgsl
    "neg_f32": Case(np.negative),
    "abs_f32": Case(np.abs),
    "square_f32": Case(np.square, native=True),
    "relu_f32": Case(lambda x: np.where(np.isnan(x), x, np.where(x > 0, x, 0.0))),
    "sign_f32": Case(np.sign),
    "maximum_f32": Case(first_of_equal(np.maximum), domains=WITH_EQUALS),
    "minimum_f32": Case(first_of_equal(np.minimum), domains=WITH_EQUALS),
    "eq_f32": Case(np.equal, domains=WITH_EQUALS),
    "ne_f32": Case(np.not_equal, domains=WITH_EQUALS),
    "lt_f32": Case(np.less, domains=WITH_EQUALS),
    "le_f32": Case(np.less_equal, domains=WITH_EQUALS),
    "floor_f32": Case(np.floor, domains=[(bits,), (halves,), (between(-9, 9),)]),
    "ceil_f32": Case(np.ceil, domains=[(bits,), (halves,), (between(-9, 9),)]),
    "trunc_f32": Case(np.trunc, domains=[(bits,), (halves,), (between(-9, 9),)]),
    "round_f32": Case(np.round, domains=[(bits,), (halves,), (between(-9, 9),)]),
    "sqrt_f32": Case(
        np.sqrt,
        native=True,
        domains=[(bits,), (between(0, 4),), (integers(0, 2**24),), (spread(1e-45, 1e-38),)],
    ),
    "subtract_f32": Case(np.subtract, native=True, domains=PAIRS),
    # A subnormal quotient is rounded twice: to 24 bits, then to those that its exponent leaves.
    "divide_f32": Case(np.divide, native=True, domains=PAIRS, subnormal_ulp=1),
    "reciprocal_f32": Case(
        np.reciprocal,
        native=True,
        domains=[(bits,), (between(-2, 2),), (integers(-(2**24), 2**24),)],
        subnormal_ulp=1,
    ),
    "floor_divide_f32": Case(np.floor_divide, native=True, domains=PAIRS),
    "remainder_f32": Case(np.remainder, native=True, domains=PAIRS),
    # math.wgsl
    "exp_f32": Case(np.exp, 2, [(bits,), (between(-110, 95),), (between(-1, 1),)]),
    "expm1_f32": Case(np.expm1, 3, [(bits,), (between(-20, 90),), (spread(1e-10, 3),)]),
    "log_f32": Case(
        np.log, 1, [(bits,), NEAR_ONE, (between(0.99, 1.01),), (spread(1e-45, 1e-37),)]
    ),
    "log1p_f32": Case(
        np.log1p, 3, [(bits,), (between(-1, 2),), (spread(1e-10, 0.99),), (spread(0.5, 1e6),)]
    ),
    "sigmoid_f32": Case(sigmoid, 3, [(bits,), (between(-90, 90),), (between(-4, 4),)]),
    "tanh_f32": Case(np.tanh, 2, [(bits,), (between(-10, 10),), (spread(1e-6, 2),)]),
    "sinh_f32": Case(np.sinh, 3, [(bits,), (between(-95, 95),), (spread(1e-6, 3),)]),
    "cosh_f32": Case(np.cosh, 3, [(bits,), (between(-95, 95),), (spread(1e-6, 3),)]),
    "sin_f32": Case(np.sin, 2, ANGLES),
    "cos_f32": Case(np.cos, 2, ANGLES),
    "tan_f32": Case(np.tan, 4, ANGLES),
    "asin_f32": Case(np.arcsin, 3, [(bits,), (between(-1, 1),), (spread(1e-6, 1),)]),
    "acos_f32": Case(np.arccos, 3, [(bits,), (between(-1, 1),), (between(0.99, 1),)]),
    "atan_f32": Case(np.arctan, 4, [(bits,), (between(-4, 4),), (spread(1e-6, 1e9),)]),
    "asinh_f32": Case(np.arcsinh, 4, [(bits,), (between(-4, 4),), (spread(1e-6, 1e12),)]),
    "acosh_f32": Case(np.arccosh, 4, [(bits,), (between(1, 4),), (spread(1, 1e12),)]),
    "atanh_f32": Case(np.arctanh, 4, [(bits,), (between(-1, 1),), (spread(1e-6, 1),)]),
    "atan2_f32": Case(np.arctan2, 4, PAIRS),
    "hypot_f32": Case(np.hypot, 3, PAIRS),
    "erf_f32": Case(
        np.vectorize(math.erf, otypes=[float]),
        3,
        [(bits,), (between(-4.5, 4.5),), (spread(1e-8, 2),)],
    ),
    "cbrt_f32": Case(np.cbrt, 2, [(bits,), (between(-9, 9),), (spread(1e-45, 1e-37),)]),
    "i0_f32": Case(bessel, 4, [(bits,), (between(-95, 95),), (between(-6, 6),)]),
    # pow.wgsl
    "log2_f32": Case(
        np.log2, 1, [(bits,), NEAR_ONE, (between(0.99, 1.01),), (spread(1e-45, 1e-37),)]
    ),
    "log10_f32": Case(
        np.log10, 1, [(bits,), NEAR_ONE, (between(0.99, 1.01),), (spread(1e-45, 1e-37),)]
    ),
    "exp2_f32": Case(np.exp2, 2, [(bits,), (between(-155, 135),), (between(-1, 1),)]),
    "pow_f32": Case(np.power, 3, POWERS),
    # int.wgsl
    "floor_divide_i32": Case(np.floor_divide, domains=WORDS),
    "floor_divide_u32": Case(np.floor_divide, domains=WORDS),
    "remainder_i32": Case(np.remainder, domains=WORDS),
    "remainder_u32": Case(np.remainder, domains=WORDS),
    "pow_i32": Case(integer_power, domains=WORDS),
    "pow_u32": Case(integer_power, domains=WORDS),
    "left_shift_i32": Case(np.left_shift, domains=SHIFTS),
    "left_shift_u32": Case(np.left_shift, domains=SHIFTS),
    "right_shift_i32": Case(np.right_shift, domains=SHIFTS),
    "right_shift_u32": Case(np.right_shift, domains=SHIFTS),
    "reciprocal_i32": Case(lambda x: x * (np.abs(x) == 1), domains=WORDS),
    "reciprocal_u32": Case(lambda x: x * (x == 1), domains=WORDS),
    "sign_i32": Case(np.sign, domains=WORDS),
    "sign_u32": Case(np.sign, domains=WORDS),
    "abs_i32": Case(np.abs, domains=WORDS),
    "gcd_i32": Case(np.gcd, domains=WORDS),
    "gcd_u32": Case(np.gcd, domains=WORDS),
    "lcm_i32": Case(np.lcm, domains=WORDS),
    "lcm_u32": Case(np.lcm, domains=WORDS),
    "count_bits_i32": Case(np.bitwise_count, domains=WORDS),
    "count_bits_u32": Case(np.bitwise_count, domains=WORDS),
    # convert.wgsl
    "bool_from_i32": Case(lambda x: x.astype(bool), domains=WORDS),
    "bool_from_u32": Case(lambda x: x.astype(bool), domains=WORDS),
    "bool_from_f32": Case(lambda x: x.astype(bool)),
    "i32_from_bool": Case(lambda x: x, domains=WORDS),
    "i32_from_u32": Case(lambda x: x.astype(np.int32), domains=WORDS),
    "i32_from_f32": Case(truncate_i32, domains=[(bits,), (between(-2.2e9, 2.2e9),), (halves,)]),
    "u32_from_bool": Case(lambda x: x, domains=WORDS),
    "u32_from_i32": Case(lambda x: x.astype(np.uint32), domains=WORDS),
    "u32_from_f32": Case(
        truncate_u32, domains=[(bits,), (between(-2.2e9, 4.4e9),), (halves,), (spread(1e9, 1e20),)]
    ),
    "f32_from_bool": Case(lambda x: x.astype(np.float32), domains=WORDS),
    "f32_from_i32": Case(lambda x: x.astype(np.float32), domains=WORDS),
    "f32_from_u32": Case(lambda x: x.astype(np.float32), domains=WORDS),
    "wrap_int8": Case(lambda x: x.astype(np.int8).astype(np.int32), domains=WORDS),
    "wrap_int16": Case(lambda x: x.astype(np.int16).astype(np.int32), domains=WORDS),
    "wrap_uint8": Case(lambda x: x.astype(np.uint8).astype(np.int32), domains=WORDS),
    "wrap_uint16": Case(lambda x: x.astype(np.uint16).astype(np.int32), domains=WORDS),
    "f32_from_f16_bits": Case(
        lambda b: b.astype(np.uint16).view(np.float16).astype(np.float32), domains=WORDS
    ),
    "f16_bits_from_f32": Case(half_bits, domains=[(bits,), (halves,), (spread(1e-9, 1e6),)]),
    "wrap_float16": Case(
        lambda x: x.astype(np.float16).astype(np.float32), domains=[(bits,), (spread(1e-9, 1e6),)]
    ),
    "bf16_bits_from_f32": Case(upper_halves, domains=[(bits,), (halves,), (spread(1e-9, 1e6),)]),
    "wrap_bfloat16": Case(
        lambda x: (upper_halves(x) << 16).astype(np.uint32).view(np.float32),
        domains=[(bits,), (spread(1e-9, 1e6),)],
    ),
    # rng.wgsl
    "random_bits": Case(random_bits, domains=WORDS),
    "uniform_from_bits": Case(lambda b: (b >> 8).astype(np.float64) / 2**24, domains=WORDS),
    "normal_from_bits": Case(normal, 4, WORDS),
    "random_normal": Case(lambda i, a, b: normal(*threefry(i, 0 * i, a, b)), 4, WORDS),
    "fraction_from_bits": Case(lambda b: (b + 0.5) / 2**32, 0.5, WORDS),
    "centered_from_bits": Case(lambda b: (b.view(np.int32) + 0.5) / 2**32, 0.5, WORDS),
    "open_from_bits": Case(lambda b: ((b >> 9) + 0.5) / 2**23, domains=WORDS),
    "exponential_from_bits": Case(lambda b: -np.log1p(-(b + 0.5) / 2**32), 4, WORDS),
    "randint_from_bits": Case(randint, domains=WORDS),
}
ORDER_KEYS = [
    f"order_key_{kind}{dtype}" for kind in ("", "min_") for dtype in ("f32", "i32", "u32")
]
RANKS = ["rank_f32", "rank_min_f32"]
TESTED_APART = [*ORDER_KEYS, *RANKS, "f32_from_rank", "threefry2x32"]

ITEMS = lib.library()
OF_KERNELS = (  # tested by tests/ops
    *("complex64.wgsl", "distributions.wgsl", "float64.wgsl", "fourier.wgsl", "int64.wgsl"),
    *("ramp.wgsl", "storage.wgsl"),
)
SCALAR = {name for name, item in ITEMS.items() if item.file not in OF_KERNELS}


# ---------------------------------------------------------------- tests


@pytest.fixture(scope="module")
def gpu(browser: Browser) -> Iterator[Gpu]:
    with open_gpu(browser) as opened:
        yield opened


def rng_for(name: str) -> np.random.Generator:
    return np.random.default_rng([SEED, zlib.crc32(name.encode())])


def evaluate(gpu: Gpu, name: str, inputs: list[Array], wrap: str = "{}") -> tuple[Array, float]:
    """Return the function `name` on the device, element by element, and the compile time in ms."""
    types, result = ITEMS[name].signature
    call = f"{name}({', '.join(f'x{i}' for i in range(len(types)))})"
    raw, ms = gpu.run(lib.source(ITEMS, name), wrap.format(call), types, result, inputs)
    return raw.view(DTYPE[result]), ms


def describe(name: str, inputs: list[Array], got: Array, error: Array) -> str:
    worst = np.argsort(-error)[:8]
    rows = [
        f"  {name}({', '.join(repr(x[i]) for x in inputs)}) = {got[i]!r}: {error[i]:.3g} ulp"
        for i in worst
    ]
    return "\n".join([f"SHADER_LIB_SEED={SEED}, worst of {len(got)}:", *rows])


@pytest.mark.parametrize("name", CASES)
def test_function(gpu: Gpu, name: str) -> None:
    case = CASES[name]
    inputs = (
        draw(rng_for(name), ITEMS[name].signature[0], case.domains)
        if ITEMS[name].signature[0]
        else []
    )
    got, ms = evaluate(gpu, name, inputs)
    error = case.error(got, inputs)
    print(
        f"{gpu.adapter}: {name}: worst {error.max():.3f} ulp of {len(got)}, compiled in {ms:.1f} ms"
    )
    assert error.max() <= case.ulp, describe(name, inputs, got, error)


@pytest.mark.parametrize("name", ORDER_KEYS)
def test_order_keys_sort_like_values(gpu: Gpu, name: str) -> None:
    types = ITEMS[name].signature[0]
    domain = [(bits,), (integers(-9, 9),)] if types == ("f32",) else WORDS
    (x,) = draw(rng_for(name), types, domain)
    key, _ = evaluate(gpu, name, [x])
    nan = np.isnan(x)
    assert (key[nan] == 0xFFFFFFFF).all()
    order = np.argsort(x[~nan], kind="stable")[:: -1 if "min" in name else 1]
    values, keys = x[~nan][order], key[~nan][order].astype(np.int64)
    assert (np.sign(np.diff(keys)) == (np.diff(values.astype(np.float64)) != 0)).all(), (
        f"SHADER_LIB_SEED={SEED}"
    )
    assert not nan.any() or keys.max() < 0xFFFFFFFF


@pytest.mark.parametrize("name", RANKS)
def test_ranks_sort_like_values_and_lead_back(gpu: Gpu, name: str) -> None:
    (x,) = draw(rng_for(name), ("f32",), [(bits,), (integers(-9, 9),)])
    rank, _ = evaluate(gpu, name, [x])
    nan = np.isnan(x)
    finite = ~nan
    beyond = rank[nan] < rank[finite].min() if "min" in name else rank[nan] > rank[finite].max()
    assert beyond.all(), f"SHADER_LIB_SEED={SEED}"
    order = np.lexsort((~np.signbit(x[finite]), x[finite]))  # -0 before +0
    values, ranks = x[finite][order], rank[finite][order].astype(np.int64)
    different = np.diff(values.view(np.int32).astype(np.int64)) != 0
    assert (np.sign(np.diff(ranks)) == different).all(), f"SHADER_LIB_SEED={SEED}"
    back, _ = evaluate(gpu, "f32_from_rank", [rank])
    assert np.isnan(back[nan]).all()
    assert (back[finite].view(np.uint32) == x[finite].view(np.uint32)).all()


# Random123's kat_vectors: counter, key, result.
THREEFRY_KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


def test_threefry(gpu: Gpu) -> None:
    known = np.array(THREEFRY_KNOWN, np.uint32)
    fresh = rng_for("threefry2x32").integers(0, 2**32, (SAMPLES, 2, 2), dtype=np.uint32)
    pairs = np.concatenate([known[:, :2], fresh])
    got, _ = evaluate(gpu, "threefry2x32", [pairs[:, 0], pairs[:, 1]])
    got = got.reshape(-1, 2)
    assert np.array_equal(got[: len(known)], known[:, 2])
    want = threefry(pairs[:, 0, 0], pairs[:, 0, 1], pairs[:, 1, 0], pairs[:, 1, 1])
    assert np.array_equal(np.stack(want, axis=1), np.concatenate([known[:, 2], got[len(known) :]]))


@pytest.mark.parametrize("factor", ["0.9999997", "1.0000003"])
@pytest.mark.parametrize(
    ("name", "estimate"), [("sqrt_f32", "= sqrt("), ("divide_f32", "= 1.0 / f32(")]
)
def test_a_poor_estimate_is_corrected(gpu: Gpu, name: str, estimate: str, factor: str) -> None:
    """Devices may have an error of some ulp where SwiftShader is exact."""
    source = lib.source(ITEMS, name)
    assert estimate in source
    poor = source.replace(estimate, estimate.replace("= ", f"= {factor} * "))
    types, result = ITEMS[name].signature
    inputs = draw(rng_for(name), types, CASES[name].domains)
    call = f"{name}({', '.join(f'x{i}' for i in range(len(types)))})"
    raw, _ = gpu.run(poor, call, types, result, inputs)
    got = raw.view(np.float32)
    error = CASES[name].error(got, inputs)
    assert error.max() <= CASES[name].ulp, describe(name, inputs, got, error)


def test_small_integer_powers_are_exact(gpu: Gpu) -> None:
    base, exponent = (grid.ravel() for grid in np.meshgrid(np.arange(-64, 65), np.arange(0, 25)))
    whole = np.abs(base.astype(np.float64)) ** exponent < 2**24
    inputs = [base[whole].astype(np.float32), exponent[whole].astype(np.float32)]
    got, _ = evaluate(gpu, "pow_f32", inputs)
    assert np.array_equal(got, inputs[0].astype(np.float64) ** inputs[1])


@pytest.mark.parametrize("name", lib.files())
def test_file_compiles_after_what_it_needs(gpu: Gpu, name: str) -> None:
    files = lib.files()
    text = "\n".join([*(files[needed] for needed in lib.needs(files[name])), files[name]])
    error, ms = gpu.compile(text + "\n@compute @workgroup_size(1) fn main() {}")
    print(f"{name}: {ms:.1f} ms")
    assert error is None, error


@pytest.mark.parametrize("name", sorted(SCALAR))
def test_item_keeps_the_format(name: str) -> None:
    item = ITEMS[name]
    assert item.comment, f"{name} has no comment directly above it"
    available = {item.file, *lib.needs(lib.files()[item.file])}
    strangers = {ITEMS[n].file for n in lib.closure(ITEMS, name)} - available
    assert not strangers, f"{item.file} must say `// needs:` {strangers}"


def test_every_function_is_tested() -> None:
    reached = set(lib.closure(ITEMS, *CASES, *TESTED_APART))
    assert reached >= SCALAR, SCALAR - reached
    assert all(case.ulp <= 4 or case.reason for case in CASES.values())


# ---------------------------------------------------------------- the tests can fail


@pytest.mark.parametrize(
    ("name", "wrap"),
    [
        ("exp_f32", "({} * 1.0000006)"),
        ("divide_f32", "({} * 1.0000001)"),
        ("sin_f32", "select({}, 0.0, x0 == 0.0)"),  # loses -0
        ("maximum_f32", "max(x0, x1) + 0.0 * {}"),
        ("round_f32", "select({}, floor(x0 + 0.5), abs(x0) < 8.0)"),
        ("i32_from_f32", "select({}, 0, x0 > 2e9)"),
        ("pow_i32", "select({}, 1, x1 < 0)"),
        ("random_bits", "({} ^ 1u)"),
        ("is_nan", "({} && x0 == 0.0)"),
    ],
)
def test_a_wrong_function_is_caught(gpu: Gpu, name: str, wrap: str) -> None:
    case = CASES[name]
    inputs = draw(rng_for(name), ITEMS[name].signature[0], case.domains)
    got, _ = evaluate(gpu, name, inputs, wrap)
    assert case.error(got, inputs).max() > case.ulp


@pytest.mark.parametrize(
    ("got", "want", "error"),
    [
        (1.0, 1.0, 0), (1.0000001, 1.0, 1), (np.nan, np.nan, 0), (np.nan, 1, np.inf),
        (np.inf, np.nan, np.inf),
        (-0.0, 0.0, np.inf), (0.0, -0.0, np.inf), (np.inf, -np.inf, np.inf),
        (np.inf, float(np.finfo(np.float32).max), 1),
        (0.0, 1e-40, 0), (-0.0, 1e-40, 71362), (0.0, 1.2e-38, 2**23),
        (3.4028235e38, np.inf, np.inf),
    ],
)  # fmt: skip
def test_the_measure_of_error(got: float, want: float, error: float) -> None:
    found = errors(np.array([got], np.float32), np.array([want]))[0]
    assert found == error if error in (0, np.inf) else found == pytest.approx(error, rel=0.05)


def test_a_kernel_that_does_not_compile_is_reported(gpu: Gpu) -> None:
    error, _ = gpu.compile(kernel_source("", "missing(x0)", ("f32",), "f32"))
    assert error
    assert "missing" in error
