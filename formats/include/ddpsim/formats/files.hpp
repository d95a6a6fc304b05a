// Whole files in, whole files out: nothing half-read, nothing half-written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ddpsim {

/// Reads a file of at most `limit` bytes; InputError when absent, a directory, unreadable or
/// larger.
std::string read_file(const std::filesystem::path& path, std::int64_t limit);

/// Writes all of a file, as OutputFile does (output_file.hpp).
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace ddpsim
