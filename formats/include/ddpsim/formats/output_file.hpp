// The one way in which the program opens a file to write it.
#pragma once

#include <filesystem>
#include <string_view>

namespace ddpsim {

/// A regular file is written beside its place under a random name and renamed by `finish`: a reader sees all of it or what was
/// there before. It keeps the permissions of the file it replaces; a new one has those that the umask leaves. Symbolic links are
/// followed, also one that leads to nothing yet. A device, a pipe and an open descriptor (/dev/stdout) are written directly.
///
/// Whatever fails is a std::runtime_error (exit code 1) and leaves nothing behind. Which files may be named at all, commands ask
/// before they open the first (cli/arguments/own_outputs.hpp).
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view content);
  /// All has been written: puts the file in its place. Without it nothing was.
  void finish();

 private:
  void open_beside(unsigned permissions);
  [[noreturn]] void fail(int reason) const;

  const std::filesystem::path shown_;  ///< as the user named it
  std::filesystem::path target_;
  std::filesystem::path beside_;  ///< empty: written directly
  int file_ = -1;
};

/// The descriptor that a name such as /dev/stdout or /dev/fd/3 stands for; -1: none.
int descriptor_named(const std::filesystem::path& path);

}  // namespace ddpsim
