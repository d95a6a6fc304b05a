/* Kernels of the CUDA backend behind a C header, so that they build as C++17 with toolkits from 11.8 (sm_70, whose host
 * compiler is older than this project's C++20) to 13. Streams are cudaStream_t, memory is the device's. Every function
 * returns a cudaError_t as an int: 0 is success. */
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

/* Loads every kernel onto the current GPU. CUDA otherwise loads a kernel at its first launch, which may wait for all that
 * runs on the GPU: a collective there may itself wait for that launch's rank. */
int ddpsim_load_kernels(void);
/* The stream is busy for this long, by the GPU's own nanosecond clock; one thread block, so nothing else is kept out. */
int ddpsim_spin(void* stream, int64_t nanoseconds);
/* A fixed amount of work on `blocks` thread blocks, each of whose threads reads and writes so many elements of `scratch`
 * (floats): what runs beside it slows down, and it. */
int ddpsim_work(void* stream, int64_t rounds, float* scratch, int64_t elements, int blocks);
/* to = from * factor, as PyTorch's mul_out into a bucket view. */
int ddpsim_scale_copy(void* stream, const void* from, void* to, int64_t elements, double factor,
                      enum ddpsim_type type);
/* to = to + from, as autograd adds to a gradient that is there. */
int ddpsim_add(void* stream, const void* from, void* to, int64_t elements, enum ddpsim_type type);
/* region = value */
int ddpsim_fill(void* stream, void* region, int64_t elements, double value, enum ddpsim_type type);
/* float32 to 16 bits and back, as the compression hooks do; `to_type` or `from_type` is a 16-bit type. */
int ddpsim_compress(void* stream, const float* from, void* to, int64_t elements,
                    enum ddpsim_type to_type);
int ddpsim_decompress(void* stream, const void* from, float* to, int64_t elements,
                      enum ddpsim_type from_type);

#ifdef __cplusplus
}
#endif
#endif
