// Which file a name stands for, whatever the name: hard links, symbolic links and other spellings of a path are one file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>

namespace ddpsim {

/// Device and inode of a regular file. A file that is not there yet has those of its folder, and its name in it.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::string name;  ///< empty: the file is there

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  // libc++ of the WebAssembly build has no three-way comparison of strings.
  friend bool operator<(const FileIdentity& one, const FileIdentity& other) {
    return std::tie(one.device, one.inode, one.name) <
           std::tie(other.device, other.inode, other.name);
  }
};

/// "." for a name alone.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Where symbolic links lead, one after the other, also where the last of them leads to nothing. Throws std::runtime_error where
/// links go round in circles, and where somebody else has put the link into a folder that everyone may write to.
std::filesystem::path behind_links(std::filesystem::path path);

/// Absent for what has no identity here: devices, pipes, folders, a file whose folder does not exist.
std::optional<FileIdentity> identity_of(const std::filesystem::path& path);
/// The same of an open descriptor.
std::optional<FileIdentity> identity_of(int descriptor);

/// Remembers that the program reads `path`, or was told to. Every function that opens a file to read it calls this; any thread
/// may.
void note_input(const std::filesystem::path& path);

/// The name by which the file was read; absent: it was not.
std::optional<std::string> input_named(const FileIdentity& file);

}  // namespace ddpsim
