// A folder with the traces of one job, as torch.profiler leaves it behind.
//
//   host_pid.TIME.pt.trace.json[.gz]   tensorboard_trace_handler: one file per process and cycle
//   rank0_trace.json, rank1/trace.json the number of the rank in a name, of the file or its folder
//
// Files are told by content, in the folder and up to three folders below. Those whose names differ in
// the rank alone, and whose jobs have as many ranks, are one job; there must be one. Of a process that
// wrote several cycles the last counts. A rank is what the trace says (distributedInfo), else what its
// name says. No more than the head of a file is read before all of this is decided.
#pragma once

#include <filesystem>

#include "ddpsim/traces/import.hpp"

namespace ddpsim {

/// Whether any file of it looks like one, by its head. Throws nothing.
bool holds_traces(const std::filesystem::path& folder);
/// Imports the trace in it, or joins those of several ranks. Throws InputError.
Imported import_folder(const std::filesystem::path& folder, const ImportOptions& options);

}  // namespace ddpsim
