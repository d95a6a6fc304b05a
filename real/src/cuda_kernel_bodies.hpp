// Body of each kernel, for nvcc and for a host compiler. So tests can run the same bodies without a
// GPU. C++17, toolkits 11.8 to 13. A body receives its clock and its elements as arguments.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#ifdef __CUDACC__
#define DDPSIM_ON_BOTH __host__ __device__
#else
#define DDPSIM_ON_BOTH
#endif

namespace ddpsim_kernels {

/// The elements of one thread: every `step`-th, starting at `first`.
struct Lane {
  int64_t first;
  int64_t step;
};

// The 16-bit types are computed in float, as in PyTorch.
template <typename T>
struct Arithmetic {
  using Type = float;
};
template <>
struct Arithmetic<double> {
  using Type = double;
};

DDPSIM_ON_BOTH inline float wide(__half value) {
  return __half2float(value);
}
DDPSIM_ON_BOTH inline float wide(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
DDPSIM_ON_BOTH inline float wide(float value) {
  return value;
}
DDPSIM_ON_BOTH inline double wide(double value) {
  return value;
}

template <typename T, typename V>
struct Cast {
  DDPSIM_ON_BOTH static T of(V value) { return static_cast<T>(value); }
};
template <>
struct Cast<__half, float> {
  DDPSIM_ON_BOTH static __half of(float value) { return __float2half_rn(value); }
};
template <>
struct Cast<__nv_bfloat16, float> {
  DDPSIM_ON_BOTH static __nv_bfloat16 of(float value) { return __float2bfloat16_rn(value); }
};

// A GPU's clock can only be read on the device.
#ifdef __CUDACC__
#pragma nv_exec_check_disable
#endif
template <typename Clock>
DDPSIM_ON_BOTH void spin_body(Clock& clock, int64_t nanoseconds) {
  clock.wait_until(clock.now() + nanoseconds);
}

/// A fixed amount of work: each thread reads, changes and writes the same number of elements. It
/// may take any time.
DDPSIM_ON_BOTH inline void work_body(Lane lane, int64_t rounds, float* scratch, int64_t elements) {
  int64_t at = lane.first;
  for (int64_t i = 0; i < rounds; ++i) {
    at %= elements;
    scratch[at] = scratch[at] * 0.999F + 1.0F;
    at += lane.step;
  }
}

template <typename T>
DDPSIM_ON_BOTH void scale_body(Lane lane, const T* from, T* to, int64_t elements, double factor) {
  using V = typename Arithmetic<T>::Type;
  const V by = static_cast<V>(factor);
  for (int64_t i = lane.first; i < elements; i += lane.step)
    to[i] = Cast<T, V>::of(wide(from[i]) * by);
}

template <typename T>
DDPSIM_ON_BOTH void add_body(Lane lane, const T* from, T* to, int64_t elements) {
  using V = typename Arithmetic<T>::Type;
  for (int64_t i = lane.first; i < elements; i += lane.step)
    to[i] = Cast<T, V>::of(wide(to[i]) + wide(from[i]));
}

template <typename T>
DDPSIM_ON_BOTH void set_body(Lane lane, T* region, int64_t elements, double value) {
  using V = typename Arithmetic<T>::Type;
  for (int64_t i = lane.first; i < elements; i += lane.step)
    region[i] = Cast<T, V>::of(static_cast<V>(value));
}

template <typename From, typename To>
DDPSIM_ON_BOTH void cast_body(Lane lane, const From* from, To* to, int64_t elements) {
  for (int64_t i = lane.first; i < elements; i += lane.step)
    to[i] = Cast<To, float>::of(wide(from[i]));
}

}  // namespace ddpsim_kernels
