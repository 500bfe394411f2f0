"""A kernel that finds which faster implementations of functions are correct on a device.

WGSL guarantees little about floats, so the functions of `shaders/lib` compute the hard parts with
integers. This is correct everywhere, but several times slower than the hardware. The files of
`shaders/lib/implementations` have the same functions for devices that exceed the guarantees. A
device uses those that agree with the portable function at every sample of the trial: random bits,
values of ordinary size, and all pairs of special values. Subnormal operands and results are
ignored, because a device may flush them, and many do.

The faster functions are proven correct for devices that follow the rule named in their file. The
trial tests whether a device follows that rule; it does not search for rare errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from py_tensor.codegen.library import Implementations, renamed_function, used_by


@dataclass(frozen=True, slots=True)
class Trial:
    """An implementation of a function, and by how many ulp it may differ from the portable one."""

    function: str
    implementation: str
    operands: int
    ulp: int


# The first implementation of a function that passes is used.
CANDIDATES = (
    Trial("divide_f32", "native", 2, 0),
    Trial("divide_f32", "fused", 2, 0),
    Trial("sqrt_f32", "native", 1, 0),
    Trial("sqrt_f32", "fused", 1, 0),
    Trial("exp_f32", "floats", 1, 1),
)
# Zeros, ones, infinities, NaN, the smallest and largest numbers, and numbers near them.
SPECIALS = (
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001,
    0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800001, 0x3F7FFFFF, 0x40400000,
)  # fmt: skip

_SAMPLES = """
const SPECIALS = array<u32, 16>({specials});
@group(0) @binding(0) var<storage, read_write> wrong: array<atomic<u32>, {count}>;
fn mixed(x: u32) -> u32 {{
  let a = (x ^ (x >> 16u)) * 0x7feb352du;
  let b = (a ^ (a >> 15u)) * 0x846ca68bu;
  return b ^ (b >> 16u);
}}
// Sample `number` of kind: 0 any bits, 1 ordinary numbers, 2 from -104 to 104, 3 special values.
fn sample(number: u32, kind: u32, special: u32) -> f32 {{
  let random = mixed(number);
  let ordinary = (random & 0x8fffffffu) + 0x38000000u;
  let ranged = f32(i32(random)) * (104.0 * 0x1p-31f);
  let bits = select(select(random, ordinary, kind == 1u), SPECIALS[special % 16u], kind == 3u);
  return select(bitcast<f32>(bits), ranged, kind == 2u);
}}
fn is_subnormal(x: f32) -> bool {{ return ((bitcast<u32>(x) & 0x7fffffffu) - 1u) < 0x007fffffu; }}
// Whether a result is more than `ulp` units in the last place from the portable function's.
fn is_wrong(x: f32, portable: f32, ulp: u32) -> bool {{
  let a = bitcast<u32>(x);
  let b = bitcast<u32>(portable);
  if (is_nan(x) || is_nan(portable)) {{ return is_nan(x) != is_nan(portable); }}
  return max(a, b) - min(a, b) > ulp && !is_subnormal(portable);
}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {{
  for (var kind = 0u; kind < 4u; kind++) {{
    let x = sample(2u * id.x + 0x9e3779b9u * kind, kind, id.x);
    let y = sample(2u * id.x + 0x9e3779b9u * kind + 1u, kind, id.x / 16u);
    if (is_subnormal(x) || is_subnormal(y)) {{ continue; }}
{checks}
  }}
}}
"""


def source() -> str:
    """Return the WGSL of the trial, with entry point "main" and a buffer of one u32 per candidate.

    Each u32 counts the samples at which that candidate was wrong.
    """
    functions: list[str] = []
    checks: list[str] = []
    for n, candidate in enumerate(CANDIDATES):
        name = f"{candidate.function}_{candidate.implementation}"
        functions.append(renamed_function(candidate.function, candidate.implementation, name))
        # Also divide a value by itself, because compilers fold x / x to 1.
        for operands in ("x, y", "x, x") if candidate.operands == 2 else ("x",):
            results = f"{name}({operands}), {candidate.function}({operands}), {candidate.ulp}u"
            checks.append(f"    if (is_wrong({results})) {{ atomicAdd(&wrong[{n}], 1u); }}")
    specials = ", ".join(f"{bits:#x}u" for bits in SPECIALS)
    body = _SAMPLES.format(specials=specials, count=len(CANDIDATES), checks="\n".join(checks))
    text = "\n".join([*functions, body])
    return used_by(text) + "\n" + text


def passed(wrong: Sequence[int]) -> Implementations:
    """Return the implementations that passed, given the trial's counts of wrong samples."""
    # A failed trial has no counts.
    passing = [c for c, count in zip(CANDIDATES, wrong, strict=False) if count == 0]
    # The first one of a function is used.
    return tuple(sorted({c.function: c.implementation for c in reversed(passing)}.items()))


def described(implementations: Implementations) -> Mapping[str, str]:
    """Return the implementations in use of functions that have several, for `device_info`."""
    names = dict.fromkeys(candidate.function for candidate in CANDIDATES)
    return {name: dict(implementations).get(name, "portable") for name in names}
