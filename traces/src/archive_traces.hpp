// What was collected of a job (ddpsim.collect/1) -> workload: the traces of its ranks, joined, or where there are none
// its DDP logging data.
#pragma once

#include <filesystem>

#include "ddpsim/formats/archive.hpp"
#include "ddpsim/traces/import.hpp"
#include "opened_file.hpp"

namespace ddpsim {

/// Throws InputError.
Imported import_archive(const Archive& archive, const ImportOptions& options);

/// An opened file of any recognised format (import.cpp). Throws InputError.
Imported import_opened(const OpenedFile& opened, const std::filesystem::path& path,
                       const ImportOptions& options);

}  // namespace ddpsim
