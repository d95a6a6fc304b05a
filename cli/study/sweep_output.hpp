// The output of a sweep. Lines are written in order, each as soon as all lines before it are known, to standard output or to a file that
// an earlier run may have begun. A table of all lines is written at the end.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/formats/output_file.hpp"
#include "ddpsim/formats/sweep_file.hpp"
#include "ddpsim/reports/sweep_report.hpp"

namespace ddpsim {

/// A file that is appended to, or standard output. Failures throw std::runtime_error.
class AppendedFile {
 public:
  /// Without `file`, writes to standard output. `file` may also name an open descriptor, such as /dev/stdout.
  explicit AppendedFile(const std::optional<std::string>& file);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;
  void write(std::string_view text) const;
  /// Locks a regular file and returns its content, or only the beginning if that is not a sweep. Throws InputError if another process
  /// has locked the file, or if it has more than kMostOfASweep bytes.
  std::string take_over() const;
  /// Truncates a regular file to `bytes` and continues there.
  void cut(std::size_t bytes) const;

 private:
  [[noreturn]] void fail() const;
  std::string name_;
  int opened_ = -1;
  bool regular_ = false;  ///< whether it is a regular file
};

class SweepOutput {
 public:
  /// Writes to `file`, or to standard output without one. Lines of this sweep in the file are kept, except an incomplete last one.
  /// Throws InputError, without changing the file, if it belongs to another sweep or is being written. `curves` gets every line; it
  /// may be null.
  SweepOutput(const SweepHeader& header, const std::optional<std::string>& file,
              const std::optional<std::string>& csv, SweepCurves* curves);
  ~SweepOutput();

  std::size_t kept() const { return kept_; }      ///< lines of an earlier run
  std::size_t written() const { return next_; }   ///< lines in total
  std::size_t failed() const { return failed_; }  ///< lines with an error
  /// Writes the k-th line, which ends with a newline. Only one thread may call it at a time.
  void put(std::size_t k, std::string line);
  /// Ends the output and puts the table in its place.
  void finish();

 private:
  /// Adds a line to the table and the curves.
  void derive(std::string_view line) const;

  const CsvTable columns_;
  SweepCurves* const curves_;
  std::unique_ptr<AppendedFile> lines_;
  std::unique_ptr<OutputFile> table_;
  /// Lines that wait for an earlier one.
  std::map<std::size_t, std::string> early_;
  std::size_t kept_ = 0;
  std::size_t next_ = 0;
  std::size_t failed_ = 0;
};

}  // namespace ddpsim
