// Tables of nvidia-smi, rocm-smi and amd-smi, wherever they stand in a text: behind a prompt, a heading, in a
// fence or a Markdown table, with the name of the host in front of each line.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/words.hpp"

namespace ddpsim {

/// What stands in front of every line of a table: a text ("node1:"), or so many words that differ (a time stamp).
struct LinePrefix {
  std::string_view text = {};
  std::size_t words = 0;
  bool operator==(const LinePrefix&) const = default;
};

/// Lines without escape sequences; Markdown's signs are blanks.
class MatrixText {
 public:
  /// Throws InputError beyond 100,000 lines.
  MatrixText(std::string_view text, const std::string& file);
  MatrixText(const MatrixText&) = delete;
  MatrixText& operator=(const MatrixText&) = delete;

  std::size_t size() const { return lines_.size(); }
  std::string_view operator[](std::size_t line) const { return lines_[line]; }
  /// Words of the line behind `prefix`; absent where that does not stand in front (another host's line), and for a
  /// rule below the heading of a table.
  std::optional<Words> words(std::size_t line, LinePrefix prefix) const;
  /// The next line from `line` on that has the prefix; size() where there is none among the next 1024.
  std::size_t next(std::size_t line, LinePrefix prefix) const;

 private:
  std::string plain_;
  std::vector<std::string_view> lines_;
};

/// "GPU0"
bool names_gpu(std::string_view word);

/// Text in front of the first GPU's name in the line, without blanks at its end; absent where none is named.
std::optional<std::string_view> text_before_gpu(std::string_view line);

/// The models that the text around a table names, each once: "GPU 0: NVIDIA H100 80GB HBM3", as `nvidia-smi -L` and
/// collect_env print it, rows of nvidia-smi's table, or rocm-smi's "Card Series:".
std::set<std::string> gpus_named_beside(std::string_view text);

}  // namespace ddpsim
