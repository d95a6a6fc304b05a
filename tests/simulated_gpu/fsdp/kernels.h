// The driver's kernels behind functions, beside those of the real reducer (cuda_kernels.h, whose types and conventions they
// have). A nonzero answer is a cudaError_t.
#pragma once

#include "cuda_kernels.h"
#include "kernel_bodies.hpp"

extern "C" {

/// Takes `nanoseconds`; to = from * factor.
int fsdp_compute(void* stream, int64_t nanoseconds, const void* from, void* to, int64_t elements,
                 double factor, enum ddpsim_type type);
/// to = to + from, taking no time.
int fsdp_read_too(void* stream, const void* from, void* to, int64_t elements,
                  enum ddpsim_type type);
/// `places` lie in the device's memory; `elements` are those of `to`.
int fsdp_copy_out(void* stream, const void* from, void* to,
                  const fsdp_kernels::ParameterPlace* places, int64_t count, int64_t shard,
                  int64_t ranks, enum ddpsim_type type);
int fsdp_chunk_cat(void* stream, const void* from, int64_t from_elements,
                   enum ddpsim_type from_type, void* to, enum ddpsim_type to_type,
                   const fsdp_kernels::ParameterPlace* places, int64_t count, int64_t shard,
                   int64_t ranks);
/// One 16-bit type or float32 into another; two alike are copied.
int fsdp_cast(void* stream, const void* from, enum ddpsim_type from_type, void* to,
              enum ddpsim_type to_type, int64_t elements);
}
