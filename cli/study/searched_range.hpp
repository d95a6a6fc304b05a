// [LOW..HIGH] in a CLUSTER, a price or a compute scale: a range whose values are not written out but searched, in steps of the last
// digit typed. It stands for one and the same value wherever it stands.
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
  /// `words` with a value in its place.
  std::string put_into(std::string words, const std::string& value) const;
  std::vector<std::string> put_into(std::vector<std::string> words, const std::string& value) const;
  /// Labels stay as they are.
  std::vector<CandidateRequest> put_into(std::vector<CandidateRequest> requests,
                                         const std::string& clusters,
                                         const std::string& prices) const;
  bool stands_in(const std::string& words) const { return words.find(text) != words.npos; }
  /// From where a search begins: all of few, else spread evenly, by ratio where it spans several times its low end.
  std::vector<std::size_t> first_places() const;
};

/// Of all these words; absent where none has one. Throws UsageError where two differ, or one ends below its start.
std::optional<SearchedRange> searched_range(const std::vector<std::string>& words);

}  // namespace ddpsim
