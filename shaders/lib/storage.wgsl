// needs: convert.wgsl
// Conversion of elements between buffers and kernels: one pair of functions per dtype. Kernels access memory only
// through these (`codegen/codec.py`), so a new packed dtype needs a pair here but no new kernel.

// Packed: the first element is in the lowest bits of a word. `load` reads element `at` (modulo the elements of a word);
// `store` returns the bits of an element, for the lowest bits of a word.

// bool: 8 bits, 0 or 1; any nonzero byte reads as true.
fn load_bool(word: u32, at: u32) -> bool { return extractBits(word, 8u * (at & 3u), 8u) != 0u; }
fn store_bool(value: bool) -> u32 { return select(0u, 1u, value); }

fn load_int8(word: u32, at: u32) -> i32 { return extractBits(bitcast<i32>(word), 8u * (at & 3u), 8u); }
fn store_int8(value: i32) -> u32 { return bitcast<u32>(value) & 0xffu; }
fn load_uint8(word: u32, at: u32) -> i32 { return bitcast<i32>(extractBits(word, 8u * (at & 3u), 8u)); }
fn store_uint8(value: i32) -> u32 { return bitcast<u32>(value) & 0xffu; }
fn load_int16(word: u32, at: u32) -> i32 { return extractBits(bitcast<i32>(word), 16u * (at & 1u), 16u); }
fn store_int16(value: i32) -> u32 { return bitcast<u32>(value) & 0xffffu; }
fn load_uint16(word: u32, at: u32) -> i32 { return bitcast<i32>(extractBits(word, 16u * (at & 1u), 16u)); }
fn store_uint16(value: i32) -> u32 { return bitcast<u32>(value) & 0xffffu; }

// float16: computed in f32, which represents all its values.
fn load_float16(word: u32, at: u32) -> f32 { return f32_from_f16_bits(extractBits(word, 16u * (at & 1u), 16u)); }
fn store_float16(value: f32) -> u32 { return f16_bits_from_f32(value); }

// bfloat16: the upper half of an f32.
fn load_bfloat16(word: u32, at: u32) -> f32 { return bitcast<f32>(extractBits(word, 16u * (at & 1u), 16u) << 16u); }
fn store_bfloat16(value: f32) -> u32 { return bf16_bits_from_f32(value); }

// One word: int32, uint32, float32, unchanged.
fn load_int32(raw: i32) -> i32 { return raw; }
fn store_int32(value: i32) -> i32 { return value; }
fn load_uint32(raw: u32) -> u32 { return raw; }
fn store_uint32(value: u32) -> u32 { return value; }
fn load_float32(raw: f32) -> f32 { return raw; }
fn store_float32(value: f32) -> f32 { return value; }

// Two words: int64, uint64, complex64, unchanged.
fn load_int64(raw: vec2u) -> vec2u { return raw; }
fn store_int64(value: vec2u) -> vec2u { return value; }
fn load_uint64(raw: vec2u) -> vec2u { return raw; }
fn store_uint64(value: vec2u) -> vec2u { return value; }
fn load_complex64(raw: vec2f) -> vec2f { return raw; }
fn store_complex64(value: vec2f) -> vec2f { return value; }
