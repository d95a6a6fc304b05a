// Finds tables of nvidia-smi, rocm-smi and amd-smi anywhere in a text: after a prompt, under a
// heading, in a fence or a Markdown table. A host name may precede each line.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/words.hpp"

namespace ddpsim {

/// Text in front of every line of a table: a constant text ("node1:"), or a number of words that
/// vary (a time stamp).
struct LinePrefix {
  std::string_view text = {};
  std::size_t words = 0;
  bool operator==(const LinePrefix&) const = default;
};

/// Lines without escape sequences. Markdown's table signs become blanks.
class MatrixText {
 public:
  /// Throws InputError beyond 100,000 lines.
  MatrixText(std::string_view text, const std::string& file);
  MatrixText(const MatrixText&) = delete;
  MatrixText& operator=(const MatrixText&) = delete;

  std::size_t size() const { return lines_.size(); }
  std::string_view operator[](std::size_t line) const { return lines_[line]; }
  /// Words of the line after `prefix`. Absent if the line lacks the prefix (it is from another
  /// host), and for the rule below a table's heading.
  std::optional<Words> words(std::size_t line, LinePrefix prefix) const;
  /// The next line with the prefix, starting at `line`; size() if none of the next 1024 lines has
  /// it.
  std::size_t next(std::size_t line, LinePrefix prefix) const;

 private:
  std::string plain_;
  std::vector<std::string_view> lines_;
};

/// "GPU0"
bool names_gpu(std::string_view word);

/// Text in front of the first GPU name in the line, without trailing blanks. Absent if the line
/// names no GPU.
std::optional<std::string_view> text_before_gpu(std::string_view line);

/// GPU models named around a table, each once. They are in output of `nvidia-smi -L` and
/// collect_env ("GPU 0: NVIDIA H100 80GB HBM3"), in rows of nvidia-smi's table, or in rocm-smi's
/// "Card Series:".
std::set<std::string> gpus_named_beside(std::string_view text);

}  // namespace ddpsim
