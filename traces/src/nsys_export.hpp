// Nsight Systems' SQLite export (nsys export --type sqlite) of PyTorch run under emit_nvtx.
//
// Tables and columns as the Nsight Systems User Guide has them ("SQLite Schema Reference"); times are
// nanoseconds since the session began:
//
//   StringIds (id, value)                            texts, named elsewhere by their id
//   CUPTI_ACTIVITY_KIND_RUNTIME (start, globalTid, correlationId, nameId, …)      host calls
//   CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, correlationId, globalPid, demangledName, gridX, …)
//   CUPTI_ACTIVITY_KIND_MEMCPY, …_MEMSET (start, end, deviceId, correlationId, globalPid, …)
//   NVTX_EVENTS (start, end, eventType, text or textId, globalTid, …)   59: pushed and popped
//   TARGET_INFO_GPU (id, name, …), META_DATA_EXPORT (name, value)
//
// A globalTid without its lowest 24 bits is the globalPid of its process. Correlation numbers are a
// process's own. Every process that ran autograd nodes is a rank, numbered by GPU: one session is one
// host, and its processes share a clock.
//
// When gradients are ready follows from autograd's nodes, which only torch.autograd.profiler.emit_nvtx
// writes: "torch::autograd::AccumulateGrad, op_id = 7, sizes = [[64, 3, 7, 7]]". Types are not in it.
// NCCL's own ranges carry their sizes as a binary payload whose layout the guide leaves to NCCL: not read.
#pragma once

#include <string>

#include "ddpsim/traces/import.hpp"
#include "sqlite_file.hpp"

namespace ddpsim {

/// Throws InputError, with what the export lacks and how to record it.
Imported import_nsys_export(const SqliteFile& database, const ImportOptions& options);

}  // namespace ddpsim
