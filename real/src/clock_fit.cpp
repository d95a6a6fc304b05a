#include "clock_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddpsim {
namespace {
constexpr double kMillion = 1e6;
}

ClockSample sample_clock(const std::function<std::int64_t()>& own,
                         const std::function<std::int64_t()>& theirs, int exchanges) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  ClockSample best;
  for (int i = 0; i < exchanges; ++i) {
    const std::int64_t asked = own();
    const std::int64_t answer = theirs();
    const std::int64_t heard = own();
    if (heard - asked >= shortest) continue;
    shortest = heard - asked;
    const std::int64_t middle = asked + shortest / 2;
    best = {.own_ns = middle, .offset_ns = answer - middle, .error_ns = (shortest + 1) / 2};
  }
  return best;
}

/// Never 0, so that two samples at the same time have no drift.
double ClockLine::over_ns() const {
  return static_cast<double>(std::max<std::int64_t>(1, after_.own_ns - before_.own_ns));
}

std::int64_t ClockLine::offset_ns(std::int64_t own_ns) const {
  const std::int64_t at =
      std::clamp(own_ns, before_.own_ns, std::max(before_.own_ns, after_.own_ns));
  const double share = static_cast<double>(at - before_.own_ns) / over_ns();
  const auto change = static_cast<double>(after_.offset_ns - before_.offset_ns);
  return before_.offset_ns + std::llround(share * change);
}

std::int64_t ClockLine::error_ns() const {
  return std::max(before_.error_ns, after_.error_ns);
}

double ClockLine::drift_ppm() const {
  return static_cast<double>(after_.offset_ns - before_.offset_ns) / over_ns() * kMillion;
}

double ClockLine::drift_error_ppm() const {
  return static_cast<double>(before_.error_ns + after_.error_ns) / over_ns() * kMillion;
}

}  // namespace ddpsim
