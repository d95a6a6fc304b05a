// C++17, toolkits 11.8 to 13.
#include <cuda_runtime.h>

#include "cuda_kernel_bodies.hpp"
#include "cuda_kernels.h"

namespace ddpsim_kernels {

/// Nanoseconds since the GPU's epoch. The counter advances in steps (1 us on V100, 32 ns later),
/// which do not matter for a wait of tens of microseconds.
struct GpuClock {
  __device__ int64_t now() const {
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return static_cast<int64_t>(time);
  }
  __device__ void wait_until(int64_t instant) const {
    while (now() < instant) {
    }
  }
};

__device__ Lane own_lane() {
  return {static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
          static_cast<int64_t>(gridDim.x) * blockDim.x};
}

__global__ void spin(int64_t nanoseconds) {
  GpuClock clock;
  spin_body(clock, nanoseconds);
}

__global__ void work(int64_t rounds, float* scratch, int64_t elements) {
  work_body(own_lane(), rounds, scratch, elements);
}

template <typename T>
__global__ void scale(const T* from, T* to, int64_t elements, double factor) {
  scale_body(own_lane(), from, to, elements, factor);
}

template <typename T>
__global__ void add(const T* from, T* to, int64_t elements) {
  add_body(own_lane(), from, to, elements);
}

template <typename T>
__global__ void set(T* region, int64_t elements, double value) {
  set_body(own_lane(), region, elements, value);
}

template <typename From, typename To>
__global__ void cast(const From* from, To* to, int64_t elements) {
  cast_body(own_lane(), from, to, elements);
}

}  // namespace ddpsim_kernels

namespace {

using namespace ddpsim_kernels;

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 2048;  // larger arrays are processed by striding

int blocks_for(int64_t elements) {
  const int64_t blocks = (elements + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

cudaStream_t on(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

template <typename T>
int launch_scale(void* stream, const void* from, void* to, int64_t elements, double factor) {
  scale<T><<<blocks_for(elements), kThreads, 0, on(stream)>>>(
      static_cast<const T*>(from), static_cast<T*>(to), elements, factor);
  return cudaGetLastError();
}

template <typename T>
int launch_add(void* stream, const void* from, void* to, int64_t elements) {
  add<T><<<blocks_for(elements), kThreads, 0, on(stream)>>>(static_cast<const T*>(from),
                                                            static_cast<T*>(to), elements);
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

/// Loads kernels by reading their attributes, for which CUDA must load them. Returns the first
/// error.
template <typename... Kernels>
cudaError_t load(Kernels... kernels) {
  cudaFuncAttributes attributes;
  cudaError_t status = cudaSuccess;
  for (const void* kernel : {reinterpret_cast<const void*>(kernels)...})
    if (status == cudaSuccess) status = cudaFuncGetAttributes(&attributes, kernel);
  return status;
}

template <typename T>
cudaError_t load_of_type() {
  return load(scale<T>, add<T>, set<T>);
}

}  // namespace

extern "C" {

int ddpsim_load_kernels(void) {
  for (const cudaError_t status : {load(spin, work), load_of_type<float>(), load_of_type<double>(),
                                   load_of_type<__half>(), load_of_type<__nv_bfloat16>(),
                                   load(cast<float, __half>, cast<float, __nv_bfloat16>,
                                        cast<__half, float>, cast<__nv_bfloat16, float>)})
    if (status != cudaSuccess) return status;
  return cudaSuccess;
}

int ddpsim_spin(void* stream, int64_t nanoseconds) {
  if (nanoseconds <= 0) return cudaSuccess;
  spin<<<1, 1, 0, on(stream)>>>(nanoseconds);
  return cudaGetLastError();
}

int ddpsim_work(void* stream, int64_t rounds, float* scratch, int64_t elements, int blocks) {
  if (rounds <= 0) return cudaSuccess;
  work<<<blocks, kThreads, 0, on(stream)>>>(rounds, scratch, elements);
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

int ddpsim_add(void* stream, const void* from, void* to, int64_t elements, enum ddpsim_type type) {
  if (elements <= 0) return cudaSuccess;
  switch (type) {
    case DDPSIM_FLOAT32:
      return launch_add<float>(stream, from, to, elements);
    case DDPSIM_FLOAT64:
      return launch_add<double>(stream, from, to, elements);
    case DDPSIM_FLOAT16:
      return launch_add<__half>(stream, from, to, elements);
    case DDPSIM_BFLOAT16:
      return launch_add<__nv_bfloat16>(stream, from, to, elements);
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
