// [LOW..HIGH] in a CLUSTER, a price or a compute scale: a range that is searched instead of written out, in steps of the last typed
// digit. It has the same value everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candidates.hpp"

namespace ddpsim {

struct SearchedRange {
  std::string text;      ///< "[1..64]", "[1.50..4]"
  std::int64_t low = 0;  ///< in units of the last digit
  std::int64_t high = 0;
  int decimals = 0;

  std::size_t places() const { return static_cast<std::size_t>(high - low) + 1; }
  std::string value(std::size_t place) const;
  double number(std::size_t place) const;
  /// Returns `words` with a value in place of the range.
  std::string put_into(std::string words, const std::string& value) const;
  std::vector<std::string> put_into(std::vector<std::string> words, const std::string& value) const;
  /// Puts values into clusters and prices, but not into labels.
  std::vector<CandidateRequest> put_into(std::vector<CandidateRequest> requests,
                                         const std::string& clusters,
                                         const std::string& prices) const;
  bool stands_in(const std::string& words) const { return words.find(text) != words.npos; }
  /// Returns the places at which a search begins: all places of a small range, otherwise evenly spaced ones. Spacing is by ratio if
  /// HIGH is several times LOW.
  std::vector<std::size_t> first_places() const;
};

/// Returns the range in these words, if any. Throws UsageError if two ranges differ, or if one ends below its start.
std::optional<SearchedRange> searched_range(const std::vector<std::string>& words);

}  // namespace ddpsim
