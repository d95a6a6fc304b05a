// The files in a tar, read with libarchive: where a build has none, without_libarchive.cpp says so.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ddpsim {

/// What a job leaves behind at most. An archive that promises more is refused before any of it is stored.
inline constexpr std::size_t kMostMembers = 4096;                     // files and folders
inline constexpr std::size_t kMostInMember = std::size_t{256} << 20;  // bytes
inline constexpr std::size_t kMostInArchive = std::size_t{1} << 30;

/// What to do about an archive that is damaged, and about one that holds what ours never do.
inline constexpr const char* kPackAgain = "Copy it again, or pack it again with scripts/collect.sh";
inline constexpr const char* kUnpackBySelf =
    "Nothing of it was kept; if you trust it, unpack it and give the trace inside";

struct TarMember {
  std::string path;  ///< relative, without ".."
  std::string bytes;
};

/// Whether it begins with a header of a tar, compressed with gzip or not, or its name ends in .tar.gz or .tgz. Throws
/// nothing.
bool is_tar(const std::filesystem::path& path);

/// In the order of the tar, folders left out. Throws InputError.
std::vector<TarMember> read_tar(const std::filesystem::path& path);
std::vector<TarMember> read_tar(std::span<const unsigned char> bytes, const std::string& file);

/// Throws InputError unless `path` names a place below the folder an archive unpacks to.
void require_inside(const std::string& path, const std::string& file);

}  // namespace ddpsim
