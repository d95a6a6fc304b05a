// What simdjson's kernel for SSE 4.2 takes of x86's intrinsics, for WebAssembly: Emscripten has those up to SSE 4.2, but for the
// multiplication without carries.
#pragma once

#include <nmmintrin.h>

/// simdjson multiplies by all ones alone, which makes each bit the parity of those up to it.
static inline __m128i _mm_clmulepi64_si128(__m128i factor, __m128i /*all ones*/, int /*halves*/) {
  unsigned long long bits = static_cast<unsigned long long>(_mm_cvtsi128_si64(factor));
  for (int step = 1; step < 64; step *= 2) bits ^= bits << step;
  return _mm_set_epi64x(0, static_cast<long long>(bits));
}

static inline int _popcnt64(long long bits) {
  return __builtin_popcountll(static_cast<unsigned long long>(bits));
}
