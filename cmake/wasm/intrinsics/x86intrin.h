// The intrinsics that simdjson's SSE 4.2 kernel needs, for WebAssembly. Emscripten has all of them except the
// carry-less multiplication.
#pragma once

#include <nmmintrin.h>

/// simdjson only multiplies by all ones. Each bit of the product is then the parity of all bits up to it.
static inline __m128i _mm_clmulepi64_si128(__m128i factor, __m128i /*all ones*/, int /*halves*/) {
  unsigned long long bits = static_cast<unsigned long long>(_mm_cvtsi128_si64(factor));
  for (int step = 1; step < 64; step *= 2) bits ^= bits << step;
  return _mm_set_epi64x(0, static_cast<long long>(bits));
}

static inline int _popcnt64(long long bits) {
  return __builtin_popcountll(static_cast<unsigned long long>(bits));
}
