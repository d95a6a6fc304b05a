// Where the lines of a sweep go, in order and each as soon as all before it are there: a file, which goes on where it
// ended, or standard output; and a table of the same lines, which is there when all are.
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

/// A file that is appended to, or standard output. Whatever fails is a std::runtime_error.
class AppendedFile {
 public:
  /// Absent: standard output. So is a name of an open descriptor, such as /dev/stdout.
  explicit AppendedFile(const std::optional<std::string>& file);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;
  void write(std::string_view text) const;
  /// What a regular file holds, nobody else writing to it from now on. Of a file that does not begin as a sweep, only the
  /// beginning. Throws InputError where somebody else writes, and for more than kMostOfASweep bytes.
  std::string take_over() const;
  /// Writes on behind so many bytes of a regular file; what is beyond is lost.
  void cut(std::size_t bytes) const;

 private:
  [[noreturn]] void fail() const;
  std::string name_;
  int opened_ = -1;
  bool regular_ = false;  ///< a file of its own, with a beginning and an end
};

class SweepOutput {
 public:
  /// `file`: absent: standard output. What a file of this very sweep holds is kept, all but a line cut off. Throws
  /// InputError where it is another's, or is being written; it is then untouched.
  /// `curves`: also given every line, may be null.
  SweepOutput(const SweepHeader& header, const std::optional<std::string>& file,
              const std::optional<std::string>& csv, SweepCurves* curves);
  ~SweepOutput();

  std::size_t kept() const { return kept_; }      ///< lines that were there already
  std::size_t written() const { return next_; }   ///< lines that are there
  std::size_t failed() const { return failed_; }  ///< of them, those with an error
  /// The k-th line, with its newline; by one thread at a time.
  void put(std::size_t k, std::string line);
  /// Nothing more comes: puts the table in its place.
  void finish();

 private:
  /// What is derived from lines.
  void derive(std::string_view line) const;

  const CsvTable columns_;
  SweepCurves* const curves_;
  std::unique_ptr<AppendedFile> lines_;
  std::unique_ptr<OutputFile> table_;
  std::map<std::size_t, std::string> early_;  ///< those whose turn has not come
  std::size_t kept_ = 0;
  std::size_t next_ = 0;
  std::size_t failed_ = 0;
};

}  // namespace ddpsim
