// The bucketed reducer on a real device. It follows PyTorch's order of hooks, copies, launches and
// finalize (torch/csrc/distributed/c10d/reducer.cpp), over the buckets that `sim` assigns.
//
// - Hook of a gradient: copies the gradient, scaled by 1/ranks, into its place in the bucket, on
//   the compute stream.
// - Bucket complete: launches it if it is next in line, together with the complete buckets after
//   it.
// - Finalize: for each bucket in order, waits and then copies out (no copy with
//   gradient_as_bucket_view).
//
// With a compression hook (default_hooks.py), a gradient is copied unscaled. A bucket's launch
// casts it to 16 bits, divides there, and all-reduces that. The sums are cast back concurrently
// with the compute stream.
//
// Each step writes new gradients (zero_grad(set_to_none=True), the default since PyTorch 2.0), so
// views too are filled by a copy.
//
// Parameters that a rank's backward leaves out become ready at its first hook, with zeros. With
// find_unused_parameters, the map of used parameters is all-reduced after the buckets, and a
// gradient that no rank has stays unchanged. With a static graph, the first step's hooks only
// count. The map, all copies and all launches follow after its backward.
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

/// What happened to one bucket in one step. Events and works have times after Device::synchronise.
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

/// Why the reducer cannot run this workload with these options; absent if it can.
std::optional<std::string> cannot_reduce(const Workload& workload, const ReducerOptions& options,
                                         DtypeRule refuses);

class Reducer {
 public:
  /// Precondition: cannot_reduce(...) is absent. References must outlive the reducer.
  Reducer(Device& device, Communicator& communicator, HostClock clock, const Workload& workload,
          const ReducerOptions& options);

  /// Starts iteration `iteration`, which counts from 1. Rebuilds the buckets when PyTorch would,
  /// then broadcasts buffers.
  void prepare_for_forward(int iteration);
  /// The hook of a parameter whose gradient was written. It is not called under no_sync.
  void gradient_ready(std::size_t parameter);
  /// Waits for every bucket and copies out. Returns the buckets of this step in launch order.
  std::vector<LaunchedBucket> finalize();
  /// The all-reduce of the map of used parameters in this step.
  std::optional<WorkId> map_all_reduce() const { return map_ ? map_->work() : std::nullopt; }

  /// Events before and after the wait for it, which is in the middle of finalize.
  std::optional<std::pair<Event, Event>> map_awaited() const {
    return map_ ? map_->awaited() : std::nullopt;
  }

  /// Memory in which backward writes the parameter's gradient.
  Region gradient(std::size_t parameter) const { return gradients_[parameter]; }
  /// Place of the averaged gradient in its bucket after finalize.
  Region averaged(std::size_t parameter) const;
  /// Whether any rank had a gradient, after finalize. A parameter that no rank used keeps its
  /// gradient.
  bool used_anywhere(std::size_t parameter);
  /// The parameter's bucket, in launch order.
  std::size_t bucket_of(std::size_t parameter) const { return now_->places[parameter].bucket; }
  /// The buffers that every forward broadcasts.
  const std::vector<Region>& buffers() const { return buffers_; }

 private:
  struct BucketBuffer {
    Region memory;
    Region compressed;  ///< for a compression hook
    std::size_t pending = 0;
    Event ready = 0;
  };
  struct Place {
    std::size_t bucket = 0;
    std::int64_t first = 0;  ///< index of its first element in the bucket
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
  std::optional<LocalUsedMap> map_;  ///< if backward may leave out parameters
  /// The buckets of the first iteration, and those after the rebuild if they differ. Their memory
  /// is allocated before the first step. Between ranks of one process, a later allocation may wait
  /// for a collective that waits for this rank.
  std::vector<Assignment> assignments_;
  Assignment* now_ = nullptr;
  int iteration_ = 1;
  bool first_hook_ = true;
  std::size_t next_ = 0;  ///< first bucket that is not launched
  std::vector<LaunchedBucket> launched_;
};

}  // namespace ddpsim
