// Which parameters took part in a backward: PyTorch's local_used_map_ of the ranks, summed over all of them.
//
// It is all-reduced behind the buckets. The host asks for the sums only when it comes to a parameter that this rank did not
// use, since what is used here is used somewhere; it then waits for the device.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "communicator.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "device.hpp"

namespace ddpsim {

class LocalUsedMap {
 public:
  /// `recorded`: what this rank replays, the same in every step.
  LocalUsedMap(Device& device, Communicator& communicator, const Workload& workload,
               const Recorded& recorded);

  /// Parameters of DDP that this rank's backward leaves out.
  const std::vector<std::size_t>& unused_here() const { return unused_; }

  bool used_here(std::size_t parameter) const { return element(here_, parameter) != 0; }

  /// Of a step that has none: what the last one says, holds on.
  void begin_step() {
    work_.reset();
    awaited_.reset();
  }
  void all_reduce();
  /// In this step; absent: not all-reduced.
  std::optional<WorkId> work() const { return work_; }
  /// Waits for the sums where this rank cannot tell by itself.
  bool used_anywhere(std::size_t parameter);
  /// Events in front of the wait for the sums and behind it, in this step; absent: nobody waited.
  const std::optional<std::pair<Event, Event>>& awaited() const { return awaited_; }
  /// The compute stream goes on behind the all-reduce, if nobody has waited for it.
  void finish();

 private:
  std::int32_t& element(Region region, std::size_t parameter) const;

  Device& device_;
  Communicator& communicator_;
  std::vector<std::size_t> place_;  ///< by parameter
  std::vector<std::size_t> unused_;
  Region here_;  ///< on the host, as PyTorch's pinned copy
  Region map_;
  Region sums_;  ///< on the host
  std::optional<WorkId> work_;
  std::optional<std::pair<Event, Event>> awaited_;
  bool waits_ = false;  ///< the sums are on their way
};

}  // namespace ddpsim
