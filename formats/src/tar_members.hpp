// The files in a tar, read with libarchive: where a build has none, without_libarchive.cpp says so.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ddpsim {

/// What a job leaves behind at most: beyond it an archive is refused before it fills the memory.
inline constexpr std::size_t kMostMembers = 4096;
inline constexpr std::size_t kMostInMember = std::size_t{256} << 20;  // bytes
inline constexpr std::size_t kMostInArchive = std::size_t{1} << 30;

struct TarMember {
  std::string path;  ///< relative, without ".."
  std::string bytes;
};

/// Whether its first bytes are a tar's, compressed with gzip or not. Throws nothing.
bool is_tar(const std::filesystem::path& path);

/// In the order of the tar, folders left out. Throws InputError.
std::vector<TarMember> read_tar(const std::filesystem::path& path);
std::vector<TarMember> read_tar(std::span<const unsigned char> bytes, const std::string& file);

/// Throws InputError unless `path` names a place below the folder an archive unpacks to.
void require_inside(const std::string& path, const std::string& file);

}  // namespace ddpsim
