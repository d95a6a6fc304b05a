// Where bytes come from: a file, and a gzip stream around another source.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/progress.hpp"

namespace ddpsim {

/// Supplies the next bytes into `buffer` (at most `capacity`) and returns how many; 0 at the end.
using ByteSource = std::function<std::size_t(char* buffer, std::size_t capacity)>;

/// Why a file is opened: as an input, which no output may replace (file_identity.hpp), or to see what it is.
enum class Reading { input, glance };

/// The file's bytes from its beginning. Throws InputError when it cannot be read.
ByteSource file_source(const std::filesystem::path& path, Reading reading = Reading::input);

/// The same bytes; `progress` is told how many MiB of the file have been read. A pipe has no size: nothing is told of it.
ByteSource watched(ByteSource file, const std::filesystem::path& path, Progress* progress);

/// The bytes of a text in memory, which must outlive the source.
ByteSource memory_source(std::string_view bytes);

/// What the gzip members of `compressed` inflate to. Throws InputError when they are damaged, end early, or inflate to
/// more than 250 times their size (beyond 32 MiB); `file` names them.
ByteSource gzip_source(ByteSource compressed, std::string file);

struct Inflated {
  bool gzip = false;  ///< they were compressed
  ByteSource source;
};
/// `bytes` inflated if they begin as gzip data do, else as they are. Only one layer is taken off.
Inflated inflated(ByteSource bytes, const std::string& file);

/// `head` first, then what `rest` still gives.
ByteSource with_head(std::string head, ByteSource rest);

/// Up to `limit` bytes.
std::string read_up_to(const ByteSource& source, std::size_t limit);

bool is_gzip(std::string_view head);

}  // namespace ddpsim
