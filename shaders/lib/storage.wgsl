// Elements as buffers hold them, and as kernels compute with them: one pair of functions a dtype.
// Kernels touch memory through these alone, so that a packed dtype needs a pair here and no kernel.

// bool: one u32 an element, 0 or 1; whatever is not 0 reads as true.
fn load_bool(raw: u32) -> bool { return raw != 0u; }
fn store_bool(value: bool) -> u32 { return select(0u, 1u, value); }

// int8, int16, uint8, uint16: one i32 an element, in the range of the dtype.
fn load_int8(raw: i32) -> i32 { return raw; }
fn store_int8(value: i32) -> i32 { return value; }
fn load_int16(raw: i32) -> i32 { return raw; }
fn store_int16(value: i32) -> i32 { return value; }
fn load_uint8(raw: i32) -> i32 { return raw; }
fn store_uint8(value: i32) -> i32 { return value; }
fn load_uint16(raw: i32) -> i32 { return raw; }
fn store_uint16(value: i32) -> i32 { return value; }

// int32, uint32, float32: as they are.
fn load_int32(raw: i32) -> i32 { return raw; }
fn store_int32(value: i32) -> i32 { return value; }
fn load_uint32(raw: u32) -> u32 { return raw; }
fn store_uint32(value: u32) -> u32 { return value; }
fn load_float32(raw: f32) -> f32 { return raw; }
fn store_float32(value: f32) -> f32 { return value; }
