// What the GPU does in a step: it is busy, or it waits, for one of four things. The parts add up to the step, to the picosecond.
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
  busy,           ///< computes or copies
  host,           ///< waits for the host: launches, DDP's hooks, pauses between steps
  input,          ///< waits for its batch
  communication,  ///< waits for a collective
  ranks,          ///< waits for slower GPUs
  overhead,       ///< multi-GPU overhead: an allowance, or what a measured step leaves over
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
  /// What the GPU waits for longest; absent where it waits for nothing.
  std::optional<BudgetPart> largest_wait() const;
  bool operator==(const StepBudget&) const = default;

  Duration between_steps;  ///< of the wait for the host: where no launch is waited for

 private:
  std::array<Duration, kBudgetParts> times_{};
};

/// Of rank 0 in a simulated step.
StepBudget budget_of(const StepTimes& times);

/// Of the recorded step. Launches are known to be waited for where the recording shows the host (Recorded::launch_waits). What
/// a single rank waited in a collective may be waiting for other ranks; it counts as communication. Absent without a recorded
/// iteration.
std::optional<StepBudget> budget_of(const Recorded& recorded);

}  // namespace ddpsim
