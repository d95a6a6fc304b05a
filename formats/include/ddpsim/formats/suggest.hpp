// Suggests known words for an unknown one: those that begin with it, otherwise the nearest by edit
// distance. Suggests nothing if no word is near.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/hint.hpp"

namespace ddpsim {

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

/// `Did you mean "ring"?`. For the beginning of several words: `Did you mean "abci-a100" or
/// "abci-v100"?`. Returns `otherwise` if no known word is near.
Hint did_you_mean(std::string_view word, std::span<const std::string> known,
                  std::string otherwise = "");
/// Suggests the nearest known word like did_you_mean. If no known word is near, lists all of them:
/// `Known GPUs: V100, A100`.
Hint did_you_mean_or_known(std::string_view word, std::span<const std::string> known,
                           std::string_view known_are = "Known");

/// At most `most` known words, nearest in spelling first. More than half of a word's letters must
/// match. This is for names that exist but are unknown here, so that a typing error is unlikely.
std::vector<std::string> spelt_alike(std::string_view word, std::span<const std::string> known,
                                     std::size_t most);

/// `"rings" is not one of ring, tree`, `Did you mean "ring"?`
Complaint not_one_of(std::string_view word, std::span<const std::string> known);

}  // namespace ddpsim
