// The only way in which the program opens a file for writing.
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

/// What the user named: the file itself, or a folder in which the program chooses the name. In such
/// a folder only a regular file is replaced. The user did not ask to write to a symbolic link, a
/// device or a pipe there.
enum class Named { file, folder };

/// Throws OutputError if a file for a folder would replace anything other than a regular
/// file.
void require_regular_place(const std::filesystem::path& path);

/// A regular file is written next to its final path under a random name, and `finish` renames it. A
/// reader therefore sees either the complete file or the previous one. The file keeps the
/// permissions of the one it replaces; a new file gets those that the umask leaves. If the user
/// named the file, symbolic links are followed, even to a file that does not exist yet. A device, a
/// pipe and an open descriptor (/dev/stdout) are written directly.
///
/// Every failure is an OutputError and leaves nothing behind. Commands check
/// which files may be named before they open the first one (cli/arguments/own_outputs.hpp).
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path, Named named = Named::file);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view content);
  /// Puts the complete file in its place. Without this call, nothing is changed.
  void finish();

 private:
  void open_beside(unsigned permissions);
  [[noreturn]] void fail(int reason) const;

  const std::filesystem::path shown_;  ///< as the user named it
  std::filesystem::path target_;
  std::filesystem::path beside_;  ///< empty: written directly
  int file_ = -1;
};

/// Writes a whole file into a folder that the user named.
void write_into_folder(const std::filesystem::path& folder, const std::string& name,
                       std::string_view content);

/// The descriptor behind a name such as /dev/stdout or /dev/fd/3; -1 if it is no such name.
int descriptor_named(const std::filesystem::path& path);

}  // namespace ddpsim
