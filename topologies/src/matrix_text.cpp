#include "matrix_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {
namespace {

std::string without_escapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      const bool markdown = text[i] == '|' || text[i] == '*' || text[i] == '`';
      out += markdown ? ' ' : text[i];
      continue;
    }
    while (i + 1 < text.size() && text[i] != 'm') ++i;
  }
  return out;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Position of a GPU's name in nvidia-smi's table: "|   0  NVIDIA GeForce RTX 4090        Off |
/// 00000000:01:00.0 Off |".
std::size_t name_in_table(std::string_view line) {
  if (!line.starts_with('|')) return line.npos;
  std::size_t at = line.find_first_not_of(' ', 1);
  if (at == line.npos || !is_digit(line[at])) return line.npos;
  at = line.find_first_not_of("0123456789", at);
  if (at == line.npos || !line.substr(at).starts_with("  ")) return line.npos;
  return line.find_first_not_of(' ', at);
}

}  // namespace

MatrixText::MatrixText(std::string_view text, const std::string& file)
    : plain_(without_escapes(text)) {
  constexpr std::size_t kMostLines = 100'000;
  for (std::string_view rest = plain_; !rest.empty();) {
    if (lines_.size() == kMostLines)
      throw InputError({file, "", fmt::format("more than {} lines", kMostLines),
                        "Expected the output of `nvidia-smi topo -m`"});
    lines_.push_back(take_line(rest));
  }
}

std::optional<Words> MatrixText::words(std::size_t line, LinePrefix prefix) const {
  std::string_view text = lines_[line];
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
  if (!text.starts_with(prefix.text)) return std::nullopt;
  Words words = words_of(text.substr(prefix.text.size()));
  words.erase(words.begin(),
              words.begin() + static_cast<std::ptrdiff_t>(std::min(prefix.words, words.size())));
  const bool rule = !words.empty() && std::ranges::all_of(words, [](std::string_view word) {
    return word.find_first_not_of("-:") == word.npos;
  });
  if (rule) return std::nullopt;
  return words;
}

std::size_t MatrixText::next(std::size_t line, LinePrefix prefix) const {
  constexpr std::size_t kMostHosts = 1024;  // their lines may be interleaved
  for (std::size_t last = line + kMostHosts; line < lines_.size() && line < last; ++line)
    if (words(line, prefix)) return line;
  return lines_.size();
}

bool names_gpu(std::string_view word) {
  return word.size() > 3 && word.starts_with("GPU") &&
         word.find_first_not_of("0123456789", 3) == word.npos;
}

std::optional<std::string_view> text_before_gpu(std::string_view line) {
  for (std::size_t at = line.find("GPU"); at != line.npos; at = line.find("GPU", at + 1)) {
    if (at > 0 && is_word_char(line[at - 1])) continue;
    std::size_t end = at + 3;
    while (end < line.size() && is_digit(line[end])) ++end;
    if (end == at + 3 || (end < line.size() && line.find_first_of(" \t\r", end) != end)) continue;
    std::string_view before = trimmed(line.substr(0, at));
    return before;
  }
  return std::nullopt;
}

std::set<std::string> gpus_named_beside(std::string_view text) {
  std::set<std::string> models;
  while (!text.empty()) {
    std::string_view line = trimmed(take_line(text));
    std::size_t name = line.npos;
    for (const std::string_view key : {"Card Series:", "Card series:", "MARKET_NAME:"}) {
      const std::size_t at = line.find(key);
      if (at != line.npos) name = at + key.size();
    }
    const std::size_t listed = line.find("GPU ");
    if (name == line.npos && listed != line.npos && listed + 4 < line.size() &&
        is_digit(line[listed + 4])) {
      const std::size_t colon = line.find(": ", listed);
      if (colon != line.npos &&
          line.substr(listed + 4, colon - listed - 4).find_first_not_of("0123456789") == line.npos)
        name = colon + 2;
    }
    if (name == line.npos) name = name_in_table(line);
    if (name == line.npos) continue;
    const std::string_view written = line.substr(name, line.find('(', name) - name);
    if (const auto gpu = find_gpu(written)) models.insert(gpu->stated());
  }
  // "A100" on one line may be the "A100-40GB" of another.
  std::erase_if(models, [&](const std::string& name) {
    return std::ranges::any_of(models, [&](const std::string& other) {
      return other != name && gpu_model_name(other) == name;
    });
  });
  return models;
}

}  // namespace ddpsim
