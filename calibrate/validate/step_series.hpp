// What the values of a series of step times show: steps of two kinds, or a time that only grows.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace ddpsim {

/// Steps of two kinds, such as training and evaluation, or two settings. Each kind is steady, and
/// they lie far apart.
struct TwoKindsOfSteps {
  std::size_t first = 0, other = 0;  ///< number of steps of each kind
  double first_s = 0, other_s = 0;   ///< their medians
  bool in_turn = false;              ///< the first kind comes back
};

/// Absent if the values are of one kind, or alternate (every fourth step takes longer).
std::optional<TwoKindsOfSteps> two_kinds_of_steps(const std::vector<double>& seconds);

/// Calls the first `front` values one kind of steps and the rest the other. Absent unless all of
/// the first took longer than the rest. A true warm-up is short, or its steps get shorter.
std::optional<TwoKindsOfSteps> two_kinds_of_steps(const std::vector<double>& seconds,
                                                  std::size_t front);

/// Whether the values grow like the time since the start: by similar amounts from line to line, and
/// from zero after a resume.
bool grows_as_elapsed(const std::vector<double>& values);

}  // namespace ddpsim
