// Sources of bytes: a file, or a gzip stream around another source.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/progress.hpp"

namespace ddpsim {

/// Writes up to `capacity` of the next bytes into `buffer` and returns how many; 0 at the end.
using ByteSource = std::function<std::size_t(char* buffer, std::size_t capacity)>;

/// Why a file is opened: as an input, which no output may replace (file_identity.hpp), or only to
/// recognise its kind.
enum class Reading { input, glance };

/// The bytes of a file from its beginning. Throws InputError if it cannot be read.
ByteSource file_source(const std::filesystem::path& path, Reading reading = Reading::input);

/// A source of the bytes of `file` that tells `progress` how many MiB have been read. A pipe has no
/// size and reports no progress.
ByteSource watched(ByteSource file, const std::filesystem::path& path, Progress* progress);

/// The bytes of a text in memory, which must outlive the source.
ByteSource memory_source(std::string_view bytes);

/// The decompressed bytes of the gzip members of `compressed`. Throws InputError if they are
/// damaged, end early, or inflate to more than 250 times their size (beyond 32 MiB). `file` is the
/// name in messages.
ByteSource gzip_source(ByteSource compressed, std::string file);

struct Inflated {
  bool gzip = false;  ///< the bytes were compressed
  ByteSource source;
};
/// Decompresses `bytes` if they begin as gzip data do; otherwise returns them unchanged. Only one
/// layer is decompressed.
Inflated inflated(ByteSource bytes, const std::string& file);

/// First the bytes of `head`, then those of `rest`.
ByteSource with_head(std::string head, ByteSource rest);

/// Reads up to `limit` bytes.
std::string read_up_to(const ByteSource& source, std::size_t limit);

bool is_gzip(std::string_view head);

}  // namespace ddpsim
