#include "ddpsim/formats/suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

/// Longer words are not typing errors. The limit also bounds the work on hostile input.
constexpr std::size_t kLongestWord = 128;

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Levenshtein distance without regard to case, computed one row of the table at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

/// Known words that begin with `word`, if there are few: "alps-gh200" for "alps". If
/// "bucket-cap-mb" and "bucket-cap-mb-list" both fit, returns only the shorter one, because nothing
/// typed so far asks for more.
std::vector<std::string> begun_by(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t kFewestLetters = 3;
  constexpr std::size_t kFew = 4;
  if (word.size() < kFewestLetters) return {};
  std::vector<std::string> found;
  for (const std::string& candidate : known)
    if (candidate.size() > word.size() &&
        std::equal(word.begin(), word.end(), candidate.begin(),
                   [](char a, char b) { return lower(a) == lower(b); }))
      found.push_back(candidate);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end(),
                          [](const std::string& shorter, const std::string& longer) {
                            return longer.starts_with(shorter);
                          }),
              found.end());
  if (found.size() > kFew) found.clear();
  return found;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestWord) continue;
    // A third of the letters may be wrong, and at least one. This covers typing errors but not wild
    // guesses.
    const std::size_t allowed =
        std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > allowed || distance >= std::max(word.size(), candidate.size())) continue;
    if (!best || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

Hint did_you_mean(std::string_view word, std::span<const std::string> known,
                  std::string otherwise) {
  // An unfinished word is more likely than a word with an additional letter.
  std::vector<std::string> meant = begun_by(word, known);
  if (meant.empty())
    if (auto near = nearest(word, known)) meant.push_back(std::move(*near));
  if (meant.empty()) return otherwise;
  std::string text = fmt::format("Did you mean \"{}\"", meant.front());
  for (std::size_t i = 1; i < meant.size(); ++i)
    text += fmt::format("{} \"{}\"", i + 1 == meant.size() ? " or" : ",", meant[i]);
  return {text + '?', std::move(meant)};
}

Hint did_you_mean_or_known(std::string_view word, std::span<const std::string> known,
                           std::string_view known_are) {
  return did_you_mean(word, known, fmt::format("{}: {}", known_are, fmt::join(known, ", ")));
}

std::vector<std::string> spelt_alike(std::string_view word, std::span<const std::string> known,
                                     std::size_t most) {
  struct Near {
    std::size_t distance;
    std::size_t longer;  ///< difference of their lengths
    const std::string* word;
  };
  std::vector<Near> near;
  if (word.size() <= kLongestWord)
    for (const std::string& candidate : known) {
      const std::size_t longer = std::max(word.size(), candidate.size());
      const std::size_t shorter = std::min(word.size(), candidate.size());
      const std::size_t distance = edit_distance(word, candidate);
      if (2 * distance < longer) near.push_back({distance, longer - shorter, &candidate});
    }
  std::stable_sort(near.begin(), near.end(), [](const Near& a, const Near& b) {
    return std::pair(a.distance, a.longer) < std::pair(b.distance, b.longer);
  });
  if (near.size() > most) near.resize(most);
  std::vector<std::string> words;
  for (const Near& one : near) words.push_back(*one.word);
  return words;
}

Complaint not_one_of(std::string_view word, std::span<const std::string> known) {
  return {fmt::format("{} is not one of {}", in_quotes(word), fmt::join(known, ", ")),
          did_you_mean(word, known)};
}

}  // namespace ddpsim
