// "Did you mean": the known words that were begun, else the nearest by edit distance, or nothing when
// none is near.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddpsim {

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

/// `Did you mean "ring"?`; of words that are only begun, `Did you mean "abci-a100" or
/// "abci-v100"?`; `otherwise` when no known word is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> known,
                         std::string otherwise = "");
/// The same; where no known word is near, all of them: `Known GPUs: V100, A100`.
std::string did_you_mean_or_known(std::string_view word, std::span<const std::string> known,
                                  std::string_view known_are = "Known");

/// `"rings" is not one of ring, tree. Did you mean "ring"?`
std::string not_one_of(std::string_view word, std::span<const std::string> known);

}  // namespace ddpsim
