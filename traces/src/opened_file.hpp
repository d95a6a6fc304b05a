// A file opened for import: what its first bytes say it is, and all its bytes, inflated.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/sim/values/progress.hpp"
#include "ddpsim/traces/import.hpp"
#include "recognise.hpp"

namespace ddpsim {

struct OpenedFile {
  bool gzip = false;
  std::string head;  ///< inflated, the first 64 KiB at most
  Recognition recognised;
  ByteSource source;  ///< from the first byte on
};

/// Throws InputError where it cannot be read, or its gzip data are damaged at the front. `progress` is told of the MiB read.
OpenedFile open_file(const std::filesystem::path& path, Progress* progress = nullptr);

/// The same, to see what a file is.
OpenedFile glance_at(const std::filesystem::path& path);

/// The same of bytes in memory, which must outlive it; `file` names them.
OpenedFile open_bytes(std::string_view bytes, const std::string& file);

/// An opened file of any recognised format (import.cpp). Throws InputError.
Imported import_opened(const OpenedFile& opened, const std::filesystem::path& path,
                       const ImportOptions& options);

}  // namespace ddpsim
