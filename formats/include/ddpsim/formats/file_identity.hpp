// Identifies the file behind a path. Hard links, symbolic links and other spellings of a path all
// lead to one file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>

namespace ddpsim {

/// Device and inode of a regular file. For a file that does not exist yet: those of its folder, and
/// its name there.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::string name;  ///< empty: the file exists

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  // libc++ of the WebAssembly build has no three-way comparison of strings.
  friend bool operator<(const FileIdentity& one, const FileIdentity& other) {
    return std::tie(one.device, one.inode, one.name) <
           std::tie(other.device, other.inode, other.name);
  }
};

/// The folder of a path; "." for a name without a folder.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// The path that symbolic links lead to, followed one after another, even if the last one leads to
/// nothing. Throws std::runtime_error if links form a circle, or if another user owns the link and
/// everyone may write to its folder.
std::filesystem::path behind_links(std::filesystem::path path);

/// Absent for paths without an identity here: devices, pipes, folders, a file whose folder does not
/// exist.
std::optional<FileIdentity> identity_of(const std::filesystem::path& path);
/// The identity of an open descriptor.
std::optional<FileIdentity> identity_of(int descriptor);

/// Records that the program reads `path`, or was told to. Every function that opens a file for
/// reading calls this. It is safe to call from any thread.
void note_input(const std::filesystem::path& path);

/// The name under which the file was read; absent if it was not read.
std::optional<std::string> input_named(const FileIdentity& file);

}  // namespace ddpsim
