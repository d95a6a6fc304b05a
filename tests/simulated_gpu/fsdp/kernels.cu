// C++17, CUDA toolkits 11.8 to 13.
#include <cuda_runtime.h>

#include "kernels.h"

namespace fsdp_kernels {

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

template <typename T>
__global__ void compute(int64_t nanoseconds, const T* from, T* to, int64_t elements,
                        double factor) {
  GpuClock clock;
  compute_body(own_lane(), clock, nanoseconds, from, to, elements, factor);
}

template <typename T>
__global__ void read_too(const T* from, T* to, int64_t elements) {
  read_too_body(own_lane(), from, to, elements);
}

template <typename T>
__global__ void copy_out(const T* from, T* to, const ParameterPlace* places, int64_t count,
                         int64_t shard, int64_t ranks) {
  copy_out_body(own_lane(), from, to, places, count, shard, ranks);
}

/// `from_elements` is for callers that run this without a GPU.
template <typename From, typename To>
__global__ void chunk_cat(const From* from, To* to, const ParameterPlace* places, int64_t count,
                          int64_t shard, int64_t ranks, int64_t /*from_elements*/) {
  chunk_cat_body(own_lane(), from, to, places, count, shard, ranks);
}

template <typename From, typename To>
__global__ void convert(const From* from, To* to, int64_t elements) {
  ddpsim_kernels::cast_body(own_lane(), from, to, elements);
}

}  // namespace fsdp_kernels

namespace {

using namespace fsdp_kernels;

constexpr int kThreads = 256;
/// One block, so that kernels that wait leave room for others.
constexpr int kBlocks = 1;

cudaStream_t on(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

/// Calls `act` with a value of the type; the value itself is unused.
template <typename Act>
int with_type(enum ddpsim_type type, const Act& act) {
  if (type == DDPSIM_FLOAT16) return act(__half());
  if (type == DDPSIM_BFLOAT16) return act(__nv_bfloat16());
  if (type == DDPSIM_FLOAT32) return act(float());
  return cudaErrorInvalidValue;
}

}  // namespace

extern "C" {

int fsdp_compute(void* stream, int64_t nanoseconds, const void* from, void* to, int64_t elements,
                 double factor, enum ddpsim_type type) {
  return with_type(type, [&](auto value) -> int {
    using T = decltype(value);
    compute<T><<<kBlocks, kThreads, 0, on(stream)>>>(nanoseconds, static_cast<const T*>(from),
                                                     static_cast<T*>(to), elements, factor);
    return cudaGetLastError();
  });
}

int fsdp_read_too(void* stream, const void* from, void* to, int64_t elements,
                  enum ddpsim_type type) {
  return with_type(type, [&](auto value) -> int {
    using T = decltype(value);
    read_too<T><<<kBlocks, kThreads, 0, on(stream)>>>(static_cast<const T*>(from),
                                                      static_cast<T*>(to), elements);
    return cudaGetLastError();
  });
}

int fsdp_copy_out(void* stream, const void* from, void* to, const ParameterPlace* places,
                  int64_t count, int64_t shard, int64_t ranks, enum ddpsim_type type) {
  return with_type(type, [&](auto value) -> int {
    using T = decltype(value);
    copy_out<T><<<kBlocks, kThreads, 0, on(stream)>>>(
        static_cast<const T*>(from), static_cast<T*>(to), places, count, shard, ranks);
    return cudaGetLastError();
  });
}

int fsdp_chunk_cat(void* stream, const void* from, int64_t from_elements,
                   enum ddpsim_type from_type, void* to, enum ddpsim_type to_type,
                   const ParameterPlace* places, int64_t count, int64_t shard, int64_t ranks) {
  return with_type(from_type, [&](auto from_value) -> int {
    return with_type(to_type, [&](auto to_value) -> int {
      using From = decltype(from_value);
      using To = decltype(to_value);
      chunk_cat<From, To><<<kBlocks, kThreads, 0, on(stream)>>>(static_cast<const From*>(from),
                                                                static_cast<To*>(to), places, count,
                                                                shard, ranks, from_elements);
      return cudaGetLastError();
    });
  });
}

int fsdp_cast(void* stream, const void* from, enum ddpsim_type from_type, void* to,
              enum ddpsim_type to_type, int64_t elements) {
  return with_type(from_type, [&](auto from_value) -> int {
    return with_type(to_type, [&](auto to_value) -> int {
      using From = decltype(from_value);
      using To = decltype(to_value);
      convert<From, To><<<kBlocks, kThreads, 0, on(stream)>>>(static_cast<const From*>(from),
                                                              static_cast<To*>(to), elements);
      return cudaGetLastError();
    });
  });
}

}  // extern "C"
