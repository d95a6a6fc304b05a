// Where the lines of a sweep go, in order and each as soon as all before it are there: a file, which goes on where it
// ended, or standard output; and a table of the same lines.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ddpsim/formats/sweep_file.hpp"
#include "ddpsim/reports/sweep_report.hpp"

namespace ddpsim {

/// What is written to is open as long as this lives. Whatever fails is a std::runtime_error.
class OpenFile {
 public:
  OpenFile(std::string name, int opened) : name_(std::move(name)), opened_(opened) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  void write(std::string_view text) const;
  /// What a plain file holds, nobody else writing to it from now on. Throws InputError where somebody does.
  std::string take_over() const;
  /// Writes on behind so many bytes of a plain file; what is beyond is lost.
  void cut(std::size_t bytes) const;

 private:
  [[noreturn]] void fail() const;
  const std::string name_;
  const int opened_;
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

 private:
  /// What is derived from lines.
  void derive(std::string_view line) const;

  const SweepHeader header_;
  SweepCurves* const curves_;
  std::unique_ptr<OpenFile> lines_;
  std::unique_ptr<OpenFile> table_;
  std::map<std::size_t, std::string> early_;  ///< those whose turn has not come
  std::size_t kept_ = 0;
  std::size_t next_ = 0;
  std::size_t failed_ = 0;
};

}  // namespace ddpsim
