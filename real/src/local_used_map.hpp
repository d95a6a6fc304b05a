// Which parameters took part in a backward: PyTorch's local_used_map_ of each rank, summed over all
// ranks.
//
// It is all-reduced after the buckets. Parameters used on this rank are known to be used. So the
// host asks for the sums only when it reaches a parameter that this rank did not use, and then
// waits for the device.
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
  /// `recorded` is the recording that this rank replays in every step.
  LocalUsedMap(Device& device, Communicator& communicator, const Workload& workload,
               const Recorded& recorded);

  /// DDP's parameters that this rank's backward leaves out.
  const std::vector<std::size_t>& unused_here() const { return unused_; }

  bool used_here(std::size_t parameter) const { return element(here_, parameter) != 0; }

  /// Starts a step. Until its map is all-reduced, the map of the last step remains valid.
  void begin_step() {
    work_.reset();
    awaited_.reset();
  }
  void all_reduce();
  /// The all-reduce in this step; absent if the map was not all-reduced.
  std::optional<WorkId> work() const { return work_; }
  /// Waits for the sums if this rank cannot decide alone.
  bool used_anywhere(std::size_t parameter);
  /// Events before and after the wait for the sums in this step; absent if nothing waited.
  const std::optional<std::pair<Event, Event>>& awaited() const { return awaited_; }
  /// Makes the compute stream wait for the all-reduce, unless that has happened already.
  void finish();

 private:
  std::int32_t& element(Region region, std::size_t parameter) const;

  Device& device_;
  Communicator& communicator_;
  std::vector<std::size_t> place_;  ///< by parameter
  std::vector<std::size_t> unused_;
  Region here_;  ///< on the host, like PyTorch's pinned copy
  Region map_;
  Region sums_;  ///< on the host
  std::optional<WorkId> work_;
  std::optional<std::pair<Event, Event>> awaited_;
  bool waits_ = false;  ///< the sums are being copied
};

}  // namespace ddpsim
