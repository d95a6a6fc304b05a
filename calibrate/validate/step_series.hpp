// What a series of step times is by its values alone: steps of two kinds, or a time that only grows.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace ddpsim {

/// Steps of a training beside those of an evaluation, or of two settings: both steady, and far apart.
struct TwoKindsOfSteps {
  std::size_t first = 0, other = 0;  ///< how many
  double first_s = 0, other_s = 0;   ///< their medians
  bool in_turn = false;              ///< the first kind comes back
};

/// Absent where the values are of one kind, or change from one to the next (every fourth step takes longer).
std::optional<TwoKindsOfSteps> two_kinds_of_steps(const std::vector<double>& seconds);

/// The same of the first `front` values, which all took longer than the rest. A true warm-up is short, or falls.
std::optional<TwoKindsOfSteps> two_kinds_of_steps(const std::vector<double>& seconds,
                                                  std::size_t front);

/// Whether it grows as the time since the beginning does: by about as much from line to line, anew behind a resume.
bool grows_as_elapsed(const std::vector<double>& values);

}  // namespace ddpsim
