// "Did you mean": the nearest known word by edit distance, or nothing when none is near.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddpsim {

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

}  // namespace ddpsim
