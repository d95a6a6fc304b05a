// Nsight Systems' SQLite export (nsys export --type sqlite) of PyTorch run under emit_nvtx.
//
// Tables and columns are those of the Nsight Systems User Guide ("SQLite Schema Reference"). Times
// are nanoseconds since the session began:
//
// - StringIds (id, value): texts; other tables refer to them by id.
// - CUPTI_ACTIVITY_KIND_RUNTIME: host calls (start, globalTid, correlationId, nameId, …).
// - CUPTI_ACTIVITY_KIND_KERNEL: (start, end, deviceId, correlationId, globalPid, demangledName,
//   gridX, …).
// - CUPTI_ACTIVITY_KIND_MEMCPY, …_MEMSET: (start, end, deviceId, correlationId, globalPid, …).
// - NVTX_EVENTS: (start, end, eventType, text or textId, globalTid, …); type 59 is pushed and
//   popped.
// - TARGET_INFO_GPU (id, name, …), META_DATA_EXPORT (name, value).
//
// A globalTid without its lowest 24 bits is the globalPid of its process. Correlation numbers are
// unique only within a process. Every process that ran autograd nodes is a rank, numbered by GPU.
// One session is one host, and its processes share a clock.
//
// Autograd's nodes show when gradients are ready. Only torch.autograd.profiler.emit_nvtx writes
// them: "torch::autograd::AccumulateGrad, op_id = 7, sizes = [[64, 3, 7, 7]]". They do not name
// types. NCCL's own ranges carry their sizes as a binary payload. The guide does not document its
// layout, so it is not read.
#pragma once

#include <string>

#include "ddpsim/traces/import.hpp"
#include "sqlite_file.hpp"

namespace ddpsim {

/// Throws InputError that says what the export lacks and how to record it.
Imported import_nsys_export(const SqliteFile& database, const ImportOptions& options);

}  // namespace ddpsim
