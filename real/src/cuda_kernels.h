/* Kernels of the CUDA backend behind a C header. So they build as C++17 with toolkits from 11.8 to 13. The host
 * compiler of 11.8, which is needed for sm_70, does not support this project's C++20. Streams are cudaStream_t, and
 * memory is the device's. Every function returns a cudaError_t as an int: 0 is success. */
#ifndef DDPSIM_REAL_CUDA_KERNELS_H
#define DDPSIM_REAL_CUDA_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ddpsim_type {
  DDPSIM_FLOAT32 = 0,
  DDPSIM_FLOAT64 = 1,
  DDPSIM_FLOAT16 = 2,
  DDPSIM_BFLOAT16 = 3
};

/* Loads every kernel onto the current GPU. Otherwise CUDA loads a kernel at its first launch, which may wait for
 * everything that runs on the GPU. A collective there may itself wait for the rank of that launch. */
int ddpsim_load_kernels(void);
/* Keeps the stream busy for this long, by the GPU's own nanosecond clock. One thread block leaves room for others. */
int ddpsim_spin(void* stream, int64_t nanoseconds);
/* A fixed amount of work on `blocks` thread blocks. Each thread reads and writes `rounds` elements of `scratch`, which
 * holds `elements` floats. Concurrent work slows it down, and the other way round. */
int ddpsim_work(void* stream, int64_t rounds, float* scratch, int64_t elements, int blocks);
/* to = from * factor, like PyTorch's mul_out into a bucket view. */
int ddpsim_scale_copy(void* stream, const void* from, void* to, int64_t elements, double factor,
                      enum ddpsim_type type);
/* to = to + from, like autograd adds to an existing gradient. */
int ddpsim_add(void* stream, const void* from, void* to, int64_t elements, enum ddpsim_type type);
/* region = value */
int ddpsim_fill(void* stream, void* region, int64_t elements, double value, enum ddpsim_type type);
/* Casts float32 to 16 bits and back, like the compression hooks. `to_type` or `from_type` is a 16-bit type. */
int ddpsim_compress(void* stream, const float* from, void* to, int64_t elements,
                    enum ddpsim_type to_type);
int ddpsim_decompress(void* stream, const void* from, float* to, int64_t elements,
                      enum ddpsim_type from_type);

#ifdef __cplusplus
}
#endif
#endif
