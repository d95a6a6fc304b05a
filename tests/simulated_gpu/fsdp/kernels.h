// Functions that launch the driver's kernels. They are used with those of the real reducer
// (cuda_kernels.h) and share its types and conventions. A nonzero result is a cudaError_t.
#pragma once

#include "cuda_kernels.h"
#include "kernel_bodies.hpp"

extern "C" {

/// Computes to = from * factor and takes `nanoseconds`.
int fsdp_compute(void* stream, int64_t nanoseconds, const void* from, void* to, int64_t elements,
                 double factor, enum ddpsim_type type);
/// Computes to = to + from in no time.
int fsdp_read_too(void* stream, const void* from, void* to, int64_t elements,
                  enum ddpsim_type type);
/// `places` is in the device's memory; `elements` counts those of `to`.
int fsdp_copy_out(void* stream, const void* from, void* to,
                  const fsdp_kernels::ParameterPlace* places, int64_t count, int64_t shard,
                  int64_t ranks, enum ddpsim_type type);
int fsdp_chunk_cat(void* stream, const void* from, int64_t from_elements,
                   enum ddpsim_type from_type, void* to, enum ddpsim_type to_type,
                   const fsdp_kernels::ParameterPlace* places, int64_t count, int64_t shard,
                   int64_t ranks);
/// Converts between 16-bit types and float32. Equal types are copied.
int fsdp_cast(void* stream, const void* from, enum ddpsim_type from_type, void* to,
              enum ddpsim_type to_type, int64_t elements);
}
