// What all ranks of a step send, in the order it was planned: collectives with what they take, and whose they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/engine/schedule.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// A position in its recording that no collective has.
inline constexpr std::size_t kUnrecorded = static_cast<std::size_t>(-1);

struct StepCollective {
  ScheduledCollective scheduled;
  std::optional<CollectiveChoice> choice;
  Duration to_host;    ///< copy in front of one that runs on the host …
  Duration to_device;  ///< … and behind it
  std::string unit{};  ///< of which module, bucket or parameter; may be empty
  StepPhase phase = StepPhase::backward;
};

/// Of the `index`-th of its kind that the recording may hold, among the ranks of that job or process group.
StepCollective planned_collective(const Job& among, CollectiveKind kind, Bytes size,
                                  std::size_t index);

/// The same, of that unit, in that phase.
inline StepCollective named(StepCollective collective, std::string unit, StepPhase phase) {
  collective.unit = std::move(unit);
  collective.phase = phase;
  return collective;
}

class StepCollectives {
 public:
  /// Its index.
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
