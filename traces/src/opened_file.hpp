// A file opened for import: its kind, recognised by its first bytes, and all its bytes,
// decompressed.
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
  std::string head;  ///< decompressed, at most the first 64 KiB
  Recognition recognised;
  ByteSource source;  ///< from the first byte on
};

/// Throws InputError if the file cannot be read, or if its gzip data is damaged at the beginning.
/// `progress` is told how many MiB were read.
OpenedFile open_file(const std::filesystem::path& path, Progress* progress = nullptr);

/// Opens a file only to find out what it is.
OpenedFile glance_at(const std::filesystem::path& path);

/// Opens bytes in memory, which must outlive the result. `file` is their name in messages.
OpenedFile open_bytes(std::string_view bytes, const std::string& file);

/// Imports an opened file of any recognised format (import.cpp). Throws InputError.
Imported import_opened(const OpenedFile& opened, const std::filesystem::path& path,
                       const ImportOptions& options);

}  // namespace ddpsim
