// Where bytes come from: a file, and a gzip stream around another source.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ddpsim/sim/progress.hpp"
#include "ddpsim/traces/profiler_trace.hpp"

namespace ddpsim {

/// The file's bytes from its beginning. Throws InputError when it cannot be read.
ByteSource file_source(const std::filesystem::path& path);

/// The same bytes; `progress` is told how many MiB of the file have been read. A pipe has no size: nothing is told of it.
ByteSource watched(ByteSource file, const std::filesystem::path& path, Progress* progress);

/// What the gzip members of `compressed` inflate to. Throws InputError when they are damaged or end
/// early; `file` names them.
ByteSource gzip_source(ByteSource compressed, std::string file);

/// `head` first, then what `rest` still gives.
ByteSource with_head(std::string head, ByteSource rest);

/// Up to `limit` bytes.
std::string read_up_to(const ByteSource& source, std::size_t limit);

bool is_gzip(std::string_view head);

}  // namespace ddpsim
