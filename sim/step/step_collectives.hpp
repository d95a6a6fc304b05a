// The collectives of a step, in the order in which they were planned, with their times and what
// they belong to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/engine/schedule.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// Position of a collective that is not in the recording.
inline constexpr std::size_t kUnrecorded = static_cast<std::size_t>(-1);

struct StepCollective {
  ScheduledCollective scheduled;
  std::optional<CollectiveChoice> choice;
  /// Copy before a collective that runs on the host.
  Duration to_host;
  /// Copy after a collective that runs on the host.
  Duration to_device;
  /// Module, bucket or parameter that it belongs to. May be empty.
  std::string unit{};
  StepPhase phase = StepPhase::backward;
};

/// Plans a collective among the ranks of a job or process group. `index` is its position among
/// collectives of its kind in the recording, or kUnrecorded.
StepCollective planned_collective(const Job& among, CollectiveKind kind, Bytes size,
                                  std::size_t index);

/// Plans collectives as planned_collective() does, and those of one kind and size once. Precondition:
/// `among` outlives it.
class CollectivePlanner {
 public:
  explicit CollectivePlanner(const Job& among)
      : among_(among), by_index_(std::holds_alternative<RecordedModel>(among.model())) {}
  StepCollective plan(CollectiveKind kind, Bytes size, std::size_t index) {
    if (by_index_) return planned_collective(among_, kind, size, index);
    const auto [known, is_new] = planned_.try_emplace({kind, size.count()});
    if (is_new) known->second = planned_collective(among_, kind, size, index);
    return known->second;
  }

 private:
  const Job& among_;
  const bool by_index_;  ///< a recording has a time for each
  std::map<std::pair<CollectiveKind, std::int64_t>, StepCollective> planned_;
};

/// Returns the collective with the given unit and phase.
inline StepCollective named(StepCollective collective, std::string unit, StepPhase phase) {
  collective.unit = std::move(unit);
  collective.phase = phase;
  return collective;
}

class StepCollectives {
 public:
  /// Returns the index of the added collective.
  std::uint32_t add(StepCollective collective) {
    all_.push_back(std::move(collective));
    return static_cast<std::uint32_t>(all_.size() - 1);
  }
  const StepCollective& operator[](std::uint32_t index) const { return all_[index]; }
  StepCollective& operator[](std::uint32_t index) { return all_[index]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(all_.size()); }
  std::vector<StepCollective> take() { return std::move(all_); }

 private:
  std::vector<StepCollective> all_;
};

}  // namespace ddpsim
