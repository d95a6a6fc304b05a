// Reads and writes whole files. A file is never left half read or half written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ddpsim {

/// Reads a file of at most `limit` bytes. Throws InputError if it is missing, a folder, unreadable
/// or larger.
std::string read_file(const std::filesystem::path& path, std::int64_t limit);

/// Writes a whole file, as OutputFile does (output_file.hpp).
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace ddpsim
