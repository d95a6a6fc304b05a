#include "cpu_elements.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ddpsim {
namespace {

constexpr std::size_t kAtOnce = 8;  // floats of a vector

#if defined(__x86_64__)
// As fast as PyTorch's, whose casts to and from float16 use the same instructions: a scalar loop
// takes four times as long, and a bucket of 25 MiB would be launched 5 ms later. What is left over
// is the caller's.
__attribute__((target("avx,f16c"))) std::size_t compress_vectors(const float* from, Eigen::half* to,
                                                                 std::size_t count) {
  std::size_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}

__attribute__((target("avx,f16c"))) std::size_t decompress_vectors(const Eigen::half* from,
                                                                   float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce)
    _mm256_storeu_ps(to + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}

/// Whatever has AVX2 has F16C too, whose name clang 14 does not take here.
bool has_vectors() {
  return __builtin_cpu_supports("avx2") != 0;
}
#else
std::size_t compress_vectors(const float*, Eigen::half*, std::size_t) {
  return 0;
}
std::size_t decompress_vectors(const Eigen::half*, float*, std::size_t) {
  return 0;
}
bool has_vectors() {
  return false;
}
#endif

/// So many elements at the beginning are done.
std::size_t cast_vectors(Region from, Region to) {
  const auto count = static_cast<std::size_t>(from.elements);
  if (!has_vectors()) return 0;
  if (from.dtype == Dtype::float32 && to.dtype == Dtype::float16)
    return compress_vectors(reinterpret_cast<const float*>(from.data),
                            reinterpret_cast<Eigen::half*>(to.data), count);
  if (from.dtype == Dtype::float16 && to.dtype == Dtype::float32)
    return decompress_vectors(reinterpret_cast<const Eigen::half*>(from.data),
                              reinterpret_cast<float*>(to.data), count);
  return 0;
}

}  // namespace

void cast_elements(Region from, Region to) {
  DDPSIM_ASSERT(from.elements == to.elements, "a cast keeps the elements", from.elements,
                to.elements);
  const std::size_t done = cast_vectors(from, to);
  with_elements(from, [to, done](auto in) {
    with_elements(to, [in, done](auto out) {
      using To = typename decltype(out)::value_type;
      for (std::size_t i = done; i < in.size(); ++i)
        out[i] = static_cast<To>(static_cast<float>(in[i]));
    });
  });
}

}  // namespace ddpsim
