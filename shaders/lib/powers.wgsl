// needs: bits.wgsl arithmetic.wgsl int64.wgsl
// Powers of one base at evenly spaced exponents, rounded once: `py_tensor/ops/float64_bits.py` finds the arguments.

// 2^(k / 64) * 2^63, for k from 0 to 63.
const EXP2_TABLE = array<vec2u, 64>(
  vec2u(0x00000000u, 0x80000000u), vec2u(0xbc030773u, 0x8164d1f3u), vec2u(0xac2ba1d7u, 0x82cd8698u),
  vec2u(0xacde4046u, 0x843a28c3u), vec2u(0xcc487b15u, 0x85aac367u), vec2u(0x9e8d1010u, 0x871f6196u),
  vec2u(0x92da8527u, 0x88980e80u), vec2u(0x496efd9au, 0x8a14d575u), vec2u(0xea8bd6e7u, 0x8b95c1e3u),
  vec2u(0x7e5ba9e6u, 0x8d1adf5bu), vec2u(0x45cd53c0u, 0x8ea4398bu), vec2u(0x1466b1dcu, 0x9031dc43u),
  vec2u(0xab11c336u, 0x91c3d373u), vec2u(0x13e6e92cu, 0x935a2b2fu), vec2u(0xfef70961u, 0x94f4efa8u),
  vec2u(0x20185a00u, 0x96942d37u), vec2u(0x8db8a96fu, 0x9837f051u), vec2u(0x20b7fa65u, 0x99e04593u),
  vec2u(0xd54e5539u, 0x9b8d39b9u), vec2u(0x2cffb751u, 0x9d3ed9a7u), vec2u(0x91a111aeu, 0x9ef53260u),
  vec2u(0xb9714fc2u, 0xa0b0510fu), vec2u(0x0c496819u, 0xa2704303u), vec2u(0x09e6809eu, 0xa43515aeu),
  vec2u(0xb15138eau, 0xa5fed6a9u), vec2u(0xe965356au, 0xa7cd93b4u), vec2u(0xea7c0ef8u, 0xa9a15ab4u),
  vec2u(0xa93ed337u, 0xab7a39b5u), vec2u(0x42a14ac6u, 0xad583eeau), vec2u(0x690a4375u, 0xaf3b78adu),
  vec2u(0xd2ac2590u, 0xb123f581u), vec2u(0xa9112489u, 0xb311c412u), vec2u(0xf9de6484u, 0xb504f333u),
  vec2u(0x28d17791u, 0xb6fd91e3u), vec2u(0x62fb9ee9u, 0xb8fbaf47u), vec2u(0x133e45fbu, 0xbaff5ab2u),
  vec2u(0x580c36bfu, 0xbd08a39fu), vec2u(0x7a731083u, 0xbf1799b6u), vec2u(0x66709456u, 0xc12c4ccau),
  vec2u(0x24976407u, 0xc346ccdau), vec2u(0x5506daddu, 0xc5672a11u), vec2u(0xabb9b15du, 0xc78d74c8u),
  vec2u(0x6e2f27a3u, 0xc9b9bd86u), vec2u(0xf2727c5du, 0xcbec14feu), vec2u(0x1f8480e4u, 0xce248c15u),
  vec2u(0xef2b2595u, 0xd06333dau), vec2u(0xf12ae45au, 0xd2a81d91u), vec2u(0xcfedfa1fu, 0xd4f35aabu),
  vec2u(0xd69d6af4u, 0xd744fccau), vec2u(0x78afd7b6u, 0xd99d15c2u), vec2u(0xdaf23755u, 0xdbfbb797u),
  vec2u(0x5e0e9124u, 0xde60f482u), vec2u(0x2a94e111u, 0xe0ccdeecu), vec2u(0xbe8a5a51u, 0xe33f8972u),
  vec2u(0x7c8348a8u, 0xe5b906e7u), vec2u(0x3c4bdc68u, 0xe8396a50u), vec2u(0xdd24392fu, 0xeac0c6e7u),
  vec2u(0xd9942b84u, 0xed4f301eu), vec2u(0xdcdaf5cbu, 0xefe4b99bu), vec2u(0x59ffb13au, 0xf281773cu),
  vec2u(0x2486cc2cu, 0xf5257d15u), vec2u(0x0ad13bb9u, 0xf7d0df73u), vec2u(0x722a033au, 0xfa83b2dbu),
  vec2u(0xf486c175u, 0xfd3e0c0cu),
);

// The upper 64 bits of x * y.
fn mulhi_64(x: vec2u, y: vec2u) -> vec2u {
  let first = add_64(vec2u(x.x * y.y, mulhi_u32(x.x, y.y)), vec2u(mulhi_u32(x.x, y.x), 0u));
  let second = add_64(vec2u(x.y * y.x, mulhi_u32(x.y, y.x)), vec2u(first.x, 0u));
  return add_64(add_64(vec2u(x.y * y.y, mulhi_u32(x.y, y.y)), vec2u(first.y, 0u)), vec2u(second.y, 0u));
}

// The f32 nearest to 2^(start + i * step), with a relative error of 2^-43 before it is rounded. `start` is in units of
// 2^-48, and `step`, with the upper word `top`, in units of 2^-80. From a table with 6 bits of the exponent and a series
// for the rest z: 1 + z + z^2 / 2 in integers, and smaller terms in floats.
fn power_ramp_f32(i: i32, start: vec2u, step: vec2u, top: u32) -> f32 {
  let n = u32(i);
  let low = add_64(vec2u(start.x, 0u), vec2u(mulhi_u32(n, step.x), 0u));
  let middle = add_64(low, vec2u(n * step.y, mulhi_u32(n, step.y)));
  let upper = middle.y + start.y + n * top;
  let r = vec2u(middle.x << 22u, (upper << 22u) | (middle.x >> 10u));  // the fraction without those 6 bits
  let z = mulhi_64(r, vec2u(0xd1cf79acu, 0xb17217f7u));  // in 2^-70
  let square = mulhi_64(z, z);
  let size = f32(i32(z.y >> 8u)) * 0x1p-30f;
  let cubic = 0.16666667 + size * (0.041666668 + size * 0.008333334);
  let rest = u32(i32(size * size * size * cubic * 0x1p53f));
  let half = vec2u((square.x >> 7u) | (square.y << 25u), square.y >> 7u);
  let series = add_64(add_64(z, half), vec2u(rest << 17u, rest >> 15u));
  let entry = EXP2_TABLE[(upper >> 10u) % 64u];
  let product = mulhi_64(entry, series);
  let power = add_64(entry, vec2u((product.x >> 6u) | (product.y << 26u), product.y >> 6u));
  let dropped = ((power.y & 0xffu) << 1u) | select(0u, 1u, power.x != 0u);
  let up = (dropped + ((power.y >> 8u) & 1u) + 0xffu) >> 9u;
  return scale_pow2_f32(bitcast<f32>(0x3f000000u + (power.y >> 8u) + up), bitcast<i32>(upper) >> 16u);
}
