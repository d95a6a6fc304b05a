// C++17, toolkits 11.8 to 13.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "cuda_kernels.h"

namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 2048;  // the rest is done by striding

int blocks_for(int64_t elements) {
  const int64_t blocks = (elements + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

cudaStream_t on(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

/// Nanoseconds since the GPU's epoch. The counter moves in steps (1 us on V100, 32 ns later), which a wait of
/// tens of microseconds does not notice.
__device__ unsigned long long now_ns() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void spin(long long nanoseconds) {
  const unsigned long long begin = now_ns();
  while (now_ns() - begin < static_cast<unsigned long long>(nanoseconds)) {
  }
}

__global__ void spin_busy(long long nanoseconds, float* scratch, long long elements) {
  const unsigned long long begin = now_ns();
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  while (now_ns() - begin < static_cast<unsigned long long>(nanoseconds)) {
    if (elements <= 0) continue;
    for (int i = 0; i < 16; ++i) {
      at %= elements;
      scratch[at] = scratch[at] * 0.999F + 1.0F;
      at += step;
    }
  }
}

// Arithmetic in float for the 16-bit types, as PyTorch does.
template <typename T>
struct Arithmetic {
  using Type = float;
};
template <>
struct Arithmetic<double> {
  using Type = double;
};

__device__ float wide(__half value) {
  return __half2float(value);
}
__device__ float wide(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ float wide(float value) {
  return value;
}
__device__ double wide(double value) {
  return value;
}
template <typename T, typename V>
__device__ T cast_to(V value);
template <>
__device__ __half cast_to<__half, float>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ __nv_bfloat16 cast_to<__nv_bfloat16, float>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ float cast_to<float, float>(float value) {
  return value;
}
template <>
__device__ double cast_to<double, double>(double value) {
  return value;
}

template <typename T>
__global__ void scale(const T* from, T* to, long long elements, double factor) {
  using V = typename Arithmetic<T>::Type;
  const V by = static_cast<V>(factor);
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += step)
    to[i] = cast_to<T, V>(wide(from[i]) * by);
}

template <typename T>
__global__ void set(T* region, long long elements, double value) {
  using V = typename Arithmetic<T>::Type;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += step)
    region[i] = cast_to<T, V>(static_cast<V>(value));
}

template <typename From, typename To>
__global__ void cast(const From* from, To* to, long long elements) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += step)
    to[i] = cast_to<To, float>(wide(from[i]));
}

template <typename T>
int launch_scale(void* stream, const void* from, void* to, int64_t elements, double factor) {
  scale<T><<<blocks_for(elements), kThreads, 0, on(stream)>>>(
      static_cast<const T*>(from), static_cast<T*>(to), elements, factor);
  return cudaGetLastError();
}

template <typename T>
int launch_set(void* stream, void* region, int64_t elements, double value) {
  set<T>
      <<<blocks_for(elements), kThreads, 0, on(stream)>>>(static_cast<T*>(region), elements, value);
  return cudaGetLastError();
}

template <typename From, typename To>
int launch_cast(void* stream, const void* from, void* to, int64_t elements) {
  cast<From, To><<<blocks_for(elements), kThreads, 0, on(stream)>>>(static_cast<const From*>(from),
                                                                    static_cast<To*>(to), elements);
  return cudaGetLastError();
}

}  // namespace

extern "C" {

int ddpsim_spin(void* stream, int64_t nanoseconds) {
  if (nanoseconds <= 0) return cudaSuccess;
  spin<<<1, 1, 0, on(stream)>>>(nanoseconds);
  return cudaGetLastError();
}

int ddpsim_spin_busy(void* stream, int64_t nanoseconds, float* scratch, int64_t elements,
                     int blocks) {
  if (nanoseconds <= 0) return cudaSuccess;
  spin_busy<<<blocks, kThreads, 0, on(stream)>>>(nanoseconds, scratch, elements);
  return cudaGetLastError();
}

int ddpsim_scale_copy(void* stream, const void* from, void* to, int64_t elements, double factor,
                      enum ddpsim_type type) {
  if (elements <= 0) return cudaSuccess;
  switch (type) {
    case DDPSIM_FLOAT32:
      return launch_scale<float>(stream, from, to, elements, factor);
    case DDPSIM_FLOAT64:
      return launch_scale<double>(stream, from, to, elements, factor);
    case DDPSIM_FLOAT16:
      return launch_scale<__half>(stream, from, to, elements, factor);
    case DDPSIM_BFLOAT16:
      return launch_scale<__nv_bfloat16>(stream, from, to, elements, factor);
  }
  return cudaErrorInvalidValue;
}

int ddpsim_fill(void* stream, void* region, int64_t elements, double value, enum ddpsim_type type) {
  if (elements <= 0) return cudaSuccess;
  switch (type) {
    case DDPSIM_FLOAT32:
      return launch_set<float>(stream, region, elements, value);
    case DDPSIM_FLOAT64:
      return launch_set<double>(stream, region, elements, value);
    case DDPSIM_FLOAT16:
      return launch_set<__half>(stream, region, elements, value);
    case DDPSIM_BFLOAT16:
      return launch_set<__nv_bfloat16>(stream, region, elements, value);
  }
  return cudaErrorInvalidValue;
}

int ddpsim_compress(void* stream, const float* from, void* to, int64_t elements,
                    enum ddpsim_type to_type) {
  if (elements <= 0) return cudaSuccess;
  if (to_type == DDPSIM_FLOAT16) return launch_cast<float, __half>(stream, from, to, elements);
  if (to_type == DDPSIM_BFLOAT16)
    return launch_cast<float, __nv_bfloat16>(stream, from, to, elements);
  return cudaErrorInvalidValue;
}

int ddpsim_decompress(void* stream, const void* from, float* to, int64_t elements,
                      enum ddpsim_type from_type) {
  if (elements <= 0) return cudaSuccess;
  if (from_type == DDPSIM_FLOAT16) return launch_cast<__half, float>(stream, from, to, elements);
  if (from_type == DDPSIM_BFLOAT16)
    return launch_cast<__nv_bfloat16, float>(stream, from, to, elements);
  return cudaErrorInvalidValue;
}

}  // extern "C"
