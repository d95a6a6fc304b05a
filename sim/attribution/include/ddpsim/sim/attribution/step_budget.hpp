// What the GPU does during a step: it is busy, or it waits for one of four things. The parts add up
// to the step, exact to the picosecond.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ddpsim/sim/step/result.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

enum class BudgetPart : std::uint8_t {
  busy,  ///< computes or copies
  /// Waits for the host: launches, DDP's hooks, pauses between steps.
  host,
  input,          ///< waits for its batch
  communication,  ///< waits for a collective
  ranks,          ///< waits for slower GPUs
  /// Multi-GPU overhead: an allowance, or the rest of a measured step.
  overhead,
};
inline constexpr std::size_t kBudgetParts = 6;
constexpr std::array<BudgetPart, kBudgetParts> all_budget_parts() {
  std::array<BudgetPart, kBudgetParts> parts{};
  for (std::size_t i = 0; i < kBudgetParts; ++i) parts[i] = static_cast<BudgetPart>(i);
  return parts;
}
/// "busy", "host", "input", "communication", "ranks", "unexplained".
std::string_view name_of(BudgetPart part);

class StepBudget {
 public:
  Duration& operator[](BudgetPart part) { return times_[static_cast<std::size_t>(part)]; }
  Duration operator[](BudgetPart part) const { return times_[static_cast<std::size_t>(part)]; }
  /// The whole step.
  Duration step() const;
  /// What the GPU waits for longest. Absent if it never waits.
  std::optional<BudgetPart> largest_wait() const;
  bool operator==(const StepBudget&) const = default;

  /// Part of the wait for the host in which no launch is waited for.
  Duration between_steps;

 private:
  std::array<Duration, kBudgetParts> times_{};
};

/// How rank 0 spends a simulated step.
StepBudget budget_of(const StepTimes& times);

/// How the GPU spent the recorded step. Waits for launches are known if the recording shows the
/// host (Recorded::launch_waits). A wait in a collective counts as communication, although a single
/// recorded rank may in fact have waited for other ranks. Absent without a recorded iteration.
std::optional<StepBudget> budget_of(const Recorded& recorded);

}  // namespace ddpsim
