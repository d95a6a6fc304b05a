// Imports a folder with the traces of one job, as torch.profiler writes it.
//
//   host_pid.TIME.pt.trace.json[.gz]   tensorboard_trace_handler: one file per process and cycle
//   rank0_trace.json, rank1/trace.json the rank is in the name of the file or its folder
//
// Files are recognised by content, in the folder and up to three levels below. Files are from one
// job if their names differ only in the rank and their jobs have the same number of ranks. The
// folder must hold exactly one job. If a process wrote several cycles, the last one is used. The
// rank comes from the trace (distributedInfo), otherwise from the name. Until all of this is
// decided, only the head of each file is read.
#pragma once

#include <filesystem>

#include "ddpsim/traces/import.hpp"

namespace ddpsim {

/// Whether any file in the folder looks like a trace, judged by its head. Throws nothing.
bool holds_traces(const std::filesystem::path& folder);
/// Imports the folder's trace, or joins those of several ranks. Throws InputError.
Imported import_folder(const std::filesystem::path& folder, const ImportOptions& options);

}  // namespace ddpsim
