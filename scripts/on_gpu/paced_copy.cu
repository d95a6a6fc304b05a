// Thread blocks that move memory at a set rate, as NCCL's kernels do while compute runs. C++17.
#include <cuda_runtime.h>
#include <stdint.h>

namespace {

// The threads and shared memory of NCCL's kernels. With this much, no block of a matrix product fits on the same multiprocessor.
constexpr int kThreads = 512;
constexpr int kSharedBytes = 80 << 10;
constexpr int kUnrolled = 8;  // loads in flight per thread

__device__ int64_t now() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return static_cast<int64_t>(time);
}

/// Each block copies `vectors` vectors of 16 bytes every `period_ns`, `rounds` times. It moves through its own region of `region`
/// vectors. A block that falls behind its pace copies without waiting.
__global__ void paced_copy(const float4* from, float4* to, int64_t region, int64_t vectors,
                           int64_t period_ns, int64_t rounds) {
  extern __shared__ char unused[];
  (void)unused;
  const int64_t first = blockIdx.x * region;
  const int64_t begin = now();
  int64_t at = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    for (int64_t i = threadIdx.x; i < vectors; i += kUnrolled * kThreads) {
      float4 held[kUnrolled];
#pragma unroll
      for (int k = 0; k < kUnrolled; ++k)
        if (i + k * kThreads < vectors) held[k] = from[first + at + i + k * kThreads];
#pragma unroll
      for (int k = 0; k < kUnrolled; ++k)
        if (i + k * kThreads < vectors) to[first + at + i + k * kThreads] = held[k];
    }
    at = at + 2 * vectors > region ? 0 : at + vectors;
    while (now() < begin + (round + 1) * period_ns) {
    }
  }
}

}  // namespace

/// Returns a cudaError_t; 0 means success. `from` and `to` have blocks * region vectors of 16 bytes, and vectors <= region.
extern "C" int ddpsim_paced_copy(void* stream, const void* from, void* to, int blocks,
                                 int64_t region, int64_t vectors, int64_t period_ns,
                                 int64_t rounds) {
  const cudaError_t status =
      cudaFuncSetAttribute(paced_copy, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (status != cudaSuccess) return status;
  paced_copy<<<blocks, kThreads, kSharedBytes, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const float4*>(from), static_cast<float4*>(to), region, vectors, period_ns,
      rounds);
  return cudaGetLastError();
}
