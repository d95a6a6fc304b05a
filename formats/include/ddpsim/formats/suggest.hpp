// "Did you mean": the known words that were begun, else the nearest by edit distance, or nothing when
// none is near.
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

/// `Did you mean "ring"?`; of words that are only begun, `Did you mean "abci-a100" or
/// "abci-v100"?`; `otherwise` when no known word is near.
Hint did_you_mean(std::string_view word, std::span<const std::string> known,
                  std::string otherwise = "");
/// The same; where no known word is near, all of them: `Known GPUs: V100, A100`.
Hint did_you_mean_or_known(std::string_view word, std::span<const std::string> known,
                           std::string_view known_are = "Known");

/// At most `most` known words, nearest in spelling first; none of which half the letters differ. For names
/// that exist but are unknown here, where a slip of the finger is not what is likely.
std::vector<std::string> spelt_alike(std::string_view word, std::span<const std::string> known,
                                     std::size_t most);

/// `"rings" is not one of ring, tree`, `Did you mean "ring"?`
Complaint not_one_of(std::string_view word, std::span<const std::string> known);

}  // namespace ddpsim
