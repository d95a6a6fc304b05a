// The bucketed reducer, for real: PyTorch's order of hooks, copies, launches and finalize
// (torch/csrc/distributed/c10d/reducer.cpp) over the buckets that `sim` assigns.
//
//   hook of a gradient     scaled by 1/ranks into its place in the bucket, on the compute stream
//   bucket complete        launched if it is next in line, and with it those behind it that are complete
//   finalize               per bucket in order: wait, then copy out (no copy with
// gradient_as_bucket_view)
//
// With a compression hook (default_hooks.py) a gradient is copied unscaled, and a bucket's launch
// casts it to 16 bits, divides there, and all-reduces that; the sums are cast back beside the
// compute stream.
//
// Gradients are written anew by each step (zero_grad(set_to_none=True), the default since
// PyTorch 2.0), so views too are filled by a copy.
//
// Parameters that a rank's backward leaves out are ready at its first hook, with zeros. With
// find_unused_parameters the map of those used is all-reduced behind the buckets, and a gradient that nobody has is left
// alone. Static graph: the first step's hooks only count; behind backward come the map, all copies, all launches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "communicator.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "device.hpp"
#include "host_clock.hpp"
#include "local_used_map.hpp"
#include "reducer_options.hpp"

namespace ddpsim {

/// What happened to one bucket in one step; events and works get times after Device::synchronise.
struct LaunchedBucket {
  std::vector<std::size_t> parameters;
  Bytes bytes;
  Event ready = 0;
  TimePoint launch_begin;
  TimePoint launch_end;
  WorkId work = 0;
  Event copy_out_begin = 0;
  Event copy_out_end = 0;
};

/// Why the reducer cannot run this workload with these options; absent when it can.
std::optional<std::string> cannot_reduce(const Workload& workload, const ReducerOptions& options,
                                         DtypeRule refuses);

class Reducer {
 public:
  /// Precondition: cannot_reduce(...) is absent. References must outlive the reducer.
  Reducer(Device& device, Communicator& communicator, HostClock clock, const Workload& workload,
          const ReducerOptions& options);

  /// Start of iteration `iteration`, from 1: rebuilds the buckets where PyTorch would, then
  /// broadcasts buffers.
  void prepare_for_forward(int iteration);
  /// The hook of a parameter whose gradient was written; under no_sync nobody calls it.
  void gradient_ready(std::size_t parameter);
  /// Waits for every bucket and copies out. What was launched in this step, in order.
  std::vector<LaunchedBucket> finalize();
  /// The all-reduce of the map of used parameters, in this step.
  std::optional<WorkId> map_all_reduce() const { return map_ ? map_->work() : std::nullopt; }

  /// Events around the wait for it, in the midst of finalize.
  std::optional<std::pair<Event, Event>> map_awaited() const {
    return map_ ? map_->awaited() : std::nullopt;
  }

  /// Where a backward writes the parameter's gradient.
  Region gradient(std::size_t parameter) const { return gradients_[parameter]; }
  /// Where in its bucket the averaged gradient is after finalize.
  Region averaged(std::size_t parameter) const;
  /// After finalize: whether any rank had one. What nobody used keeps its gradient.
  bool used_anywhere(std::size_t parameter);
  /// The bucket that the parameter is in, in order of launch.
  std::size_t bucket_of(std::size_t parameter) const { return now_->places[parameter].bucket; }
  /// What every forward's broadcast brings.
  const std::vector<Region>& buffers() const { return buffers_; }

 private:
  struct BucketBuffer {
    Region memory;
    Region compressed;  ///< of a compression hook
    std::size_t pending = 0;
    Event ready = 0;
  };
  struct Place {
    std::size_t bucket = 0;
    std::int64_t first = 0;  ///< element of the bucket
  };
  struct Assignment {
    std::vector<Bucket> buckets;
    std::vector<BucketBuffer> buffer;  ///< per bucket
    std::vector<Place> places;         ///< per parameter
  };
  Assignment assigned(std::vector<Bucket> buckets);
  bool delayed() const;
  void broadcast_buffers();
  void hooks_of_unused();
  void note_ready(BucketBuffer& bucket);
  void fill_place(std::size_t parameter);
  void launch_what_is_next();
  void launch_behind_backward();
  void launch(std::size_t bucket);
  void copy_out(LaunchedBucket& bucket);
  WorkId all_reduce(const BucketBuffer& bucket);

  Device& device_;
  Communicator& communicator_;
  HostClock clock_;
  const Workload& workload_;
  ReducerOptions options_;
  std::optional<int> rebuilt_from_;  ///< the iteration
  std::vector<Region> gradients_;    ///< per parameter
  std::vector<Region> buffers_;
  std::optional<LocalUsedMap> map_;  ///< where a backward may leave parameters out
  /// The buckets of the first iteration, and those after the rebuild where they differ. Their
  /// memory is there before any step: between ranks of one process an allocation may wait for a
  /// collective that waits for this rank.
  std::vector<Assignment> assignments_;
  Assignment* now_ = nullptr;
  int iteration_ = 1;
  bool first_hook_ = true;
  std::size_t next_ = 0;  ///< first bucket not launched
  std::vector<LaunchedBucket> launched_;
};

}  // namespace ddpsim
