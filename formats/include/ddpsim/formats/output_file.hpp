// The one way in which the program opens a file to write it.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {

/// A file could not be written (exit code 1).
class OutputError : public std::runtime_error {
 public:
  /// `file`: as the user named it. `problem`: "cannot be written: No such file or directory".
  OutputError(const std::string& file, std::string problem, Hint hint = {})
      : OutputError(Diagnostic{
            .file = file, .where = "", .message = std::move(problem), .hint = std::move(hint)}) {}
  explicit OutputError(Diagnostic diagnostic)
      : std::runtime_error(to_string(diagnostic)), diagnostic_(std::move(diagnostic)) {}
  const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  Diagnostic diagnostic_;
};

/// Throws OutputError: "FILE: cannot be written: " and the system's words for `error_number`.
[[noreturn]] void fail_to_write(const std::string& file, int error_number);

/// What the user named: the file itself, or the folder that it goes into under a name of the program's. In such a folder only a
/// regular file is replaced: nobody asked for what stands behind a symbolic link, a device or a pipe there.
enum class Named { file, folder };

/// Throws OutputError where something else than a regular file stands in the place of a file that goes into a folder.
void require_regular_place(const std::filesystem::path& path);

/// A regular file is written beside its place under a random name and renamed by `finish`: a reader sees all of it or what was
/// there before. It keeps the permissions of the file it replaces; a new one has those that the umask leaves. Symbolic links are
/// followed, also one that leads to nothing yet, where the user named the file. A device, a pipe and an open descriptor (/dev/stdout) are written directly.
///
/// Whatever fails is an OutputError and leaves nothing behind. Which files may be named at all, commands ask
/// before they open the first (cli/arguments/own_outputs.hpp).
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path, Named named = Named::file);
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

/// Writes all of a file of a folder that the user named.
void write_into_folder(const std::filesystem::path& folder, const std::string& name,
                       std::string_view content);

/// The descriptor that a name such as /dev/stdout or /dev/fd/3 stands for; -1: none.
int descriptor_named(const std::filesystem::path& path);

}  // namespace ddpsim
