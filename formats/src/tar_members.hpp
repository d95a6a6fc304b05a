// Reads the files in a tar file with libarchive. In a build without it, without_libarchive.cpp
// reports that.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ddpsim {

/// Limits for what a job leaves behind. An archive that announces more is refused before any of it
/// is stored.
inline constexpr std::size_t kMostMembers = 4096;                     // files and folders
inline constexpr std::size_t kMostInMember = std::size_t{256} << 20;  // bytes
inline constexpr std::size_t kMostInArchive = std::size_t{1} << 30;

/// What to do about a damaged archive, and about one with contents that ours never have.
inline constexpr const char* kPackAgain = "Copy it again, or pack it again with scripts/collect.sh";
inline constexpr const char* kUnpackBySelf =
    "Nothing of it was kept; if you trust it, unpack it and give the trace inside";

struct TarMember {
  std::string path;  ///< relative, without ".."
  std::string bytes;
};

/// Whether a file begins with a tar header (with or without gzip), or its name ends in .tar.gz or
/// .tgz. Throws nothing.
bool is_tar(const std::filesystem::path& path);

/// The files in tar order, without folders. Throws InputError.
std::vector<TarMember> read_tar(const std::filesystem::path& path);
std::vector<TarMember> read_tar(std::span<const unsigned char> bytes, const std::string& file);

/// Throws InputError unless `path` is below the folder that an archive unpacks to.
void require_inside(const std::string& path, const std::string& file);

}  // namespace ddpsim
