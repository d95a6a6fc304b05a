// Data kept of a trace: a few bytes per kernel launch, autograd node and step marker.
//
// Everything else is dropped while the file streams by. A launch on the host and its activity on
// the GPU carry the same correlation number. They are joined as soon as both were seen, usually one
// line apart, so the table of unmatched halves stays small. Times are kept in 48 bits of
// nanoseconds relative to the first time seen: three days.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allocations.hpp"
#include "model_input.hpp"
#include "recorded_collective.hpp"
#include "recorded_tensor.hpp"
#include "scheme_names.hpp"
#include "several_processes.hpp"
#include "trace_event.hpp"

namespace ddpsim {

/// A call that puts work on the GPU and takes this long is waiting for the GPU: its queue is full,
/// or the copy is synchronous. Twelve open traces whose hosts were not held up by full queues have
/// 38,000 kernel launches. Two of those took 50 us or longer.
inline constexpr std::int64_t kHeld_ns = 50'000;

/// A GPU activity, with the host call that launched it.
struct Activity {
  std::int64_t launch_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint16_t thread = 0;  ///< host thread that launched it
  bool nccl = false;
};

/// A span on a host thread.
struct HostSpan {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint16_t thread = 0;
  std::uint16_t shape = ShapeTable::kNotRecorded;  ///< gradient's shape, for AccumulateGrad
};

struct StepMarker {
  /// "ProfilerStep#102", or "ProfilerStep#102 (2 of 3)" if the step holds three passes.
  std::string name;
  HostSpan span;
  std::size_t parts = 1;  ///< backward passes of the original step
};

class TraceRecords {
 public:
  void add(const TraceEvent& event);

  /// Sorts everything by time, and joins what can only be joined at the end. Call this once.
  void finish();

  // The following are in order of launch or start.
  Activity activity(std::size_t index) const;
  std::size_t activity_count() const { return activities_.size(); }
  std::size_t first_launched_at(std::int64_t time_ns) const;  ///< first one at `time_ns` or later
  std::vector<Activity> launched_within(const HostSpan& span) const;
  const Allocations& allocations() const { return allocations_; }
  const std::deque<StepMarker>& steps() const { return steps_; }
  const std::deque<Collective>& kernels() const { return kernels_; }  ///< NCCL only
  const std::deque<Collective>& calls() const { return calls_; }

  /// Source of the steps: markers; without them, from the end of one Optimizer.step to the end of
  /// the next. With at most one Optimizer.step, the whole trace is one step.
  enum class StepSource { markers, optimizer, whole };
  StepSource step_source() const { return step_source_; }

  /// Selects a list of spans. Autograd nodes: AccumulateGrad, AccumulateGrad with the hooks after
  /// it, nodes made by torch.compile, or every node but AccumulateGrad. Host calls: those in which
  /// the GPU held up the host, or those that fetched a batch.
  enum class Node { any, compiled, gradient, gradient_with_hooks, held, loading };
  std::vector<HostSpan> nodes(Node kind, std::int64_t from_ns, std::int64_t to_ns) const;
  std::size_t node_count(Node kind) const;
  /// Threads that run backward's GPU work. The thread that calls backward() runs the nodes of CPU
  /// tensors; it counts only if no other thread runs nodes.
  bool is_autograd_thread(std::uint16_t thread) const { return autograd_threads_.at(thread); }
  /// Threads that ran a step marker or the optimizer.
  bool is_calling_thread(std::uint16_t thread) const { return calling_threads_.at(thread); }
  /// End of the last Optimizer.step that began in this interval; absent if none did.
  std::optional<std::int64_t> optimizer_end(std::int64_t from_ns, std::int64_t to_ns) const;
  bool optimizers_seen() const { return !optimizers_.empty(); }
  /// The event that names a scheme other than DDP; empty if there is none.
  const std::string& named(NamedScheme scheme) const {
    return named_[static_cast<std::size_t>(scheme)];
  }
  /// Null if the gradient's shape was not recorded.
  const RecordedTensor* shape(const HostSpan& gradient) const {
    return shapes_.find(gradient.shape);
  }

  /// Operators in this interval that show the model's input, outside the DataLoader's calls.
  std::vector<InputOperator> input_operators(std::int64_t from_ns, std::int64_t to_ns) const;

  std::int64_t host_operations() const { return host_operations_; }
  std::int64_t unlaunched() const {
    return unlaunched_;
  }                                              ///< activities whose launch was not recorded
  std::int64_t early() const { return early_; }  ///< activities that start before their launch
  bool ddp_hooks() const { return ddp_hooks_; }
  bool loads_in_workers() const { return loads_in_workers_; }
  std::int64_t devices() const { return static_cast<std::int64_t>(devices_.size()); }
  std::optional<std::int64_t> first_device() const;
  /// The sign of several processes in the trace, in words; empty if there is none.
  const std::string& several_processes() const { return processes_.found(); }
  /// Names of the device and the profiler, if they are not PyTorch's profiler on an NVIDIA or AMD
  /// GPU; otherwise empty.
  std::string_view device_name() const { return device_name_; }
  std::string_view profiler_name() const { return profiler_name_; }
  std::int64_t events() const { return events_; }
  std::int64_t legacy_events() const { return legacy_events_; }
  std::int64_t other_device() const { return other_device_; }  ///< events of MTIA, HPU, Glow
  std::int64_t launches() const { return launches_seen_; }     ///< calls that put work on a GPU
  bool graph_launches() const { return graph_launched_; }
  std::int64_t gpu_activities() const { return gpu_activities_; }

 private:
  /// 16 bytes, without padding. Durations beyond 4.2 s are kept in microseconds, and so are starts
  /// more than 2.1 s away from their launch.
  struct PackedActivity {
    std::uint32_t launch_low;
    std::uint32_t duration;
    std::int32_t delay;  ///< from launch to start
    std::uint16_t launch_high;
    std::uint16_t thread_and_flags;
  };
  static constexpr std::uint16_t kThreadBits = 0x1fff;  ///< the bits above are flags
  static constexpr std::uint16_t kNodeInMicroseconds = 0x8000;
  /// 12 bytes. The top bit of `thread` means that the duration is in microseconds.
  struct PackedNode {
    std::uint32_t start_low;
    std::uint16_t start_high;
    std::uint16_t thread;
    std::uint32_t duration;
  };
  /// 16 bytes.
  struct PackedGradient : PackedNode {
    std::uint16_t shape;
  };
  struct Launch {
    std::int64_t start_ns = 0;
    std::uint16_t thread = 0;
  };
  struct Orphan {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::optional<std::size_t> kernel;  ///< index into kernels_
  };

  void note_name(std::string_view name);
  void note_process(const TraceEvent& event);
  void add_host_operation(const TraceEvent& event);
  void note_held(const TraceEvent& event);
  void add_launch(const TraceEvent& event);
  void add_gpu_activity(const TraceEvent& event);
  void join(const Launch& launch, const Orphan& gpu);
  std::uint16_t thread_index(std::string_view written);
  std::uint64_t packed(std::int64_t time_ns);
  std::int64_t unpacked(std::uint32_t low, std::uint16_t high) const;
  PackedActivity pack_activity(const Launch& launch, const Orphan& gpu);
  PackedNode pack_node(const TraceEvent& event);
  HostSpan unpack_node(const PackedNode& node) const;
  HostSpan unpack_node(const PackedGradient& node) const;
  template <typename Visit>
  auto visit(Node kind, Visit visit_list) const;
  void note_node(const TraceEvent& event, std::string_view node);
  void find_autograd_threads();
  void find_steps();
  void divide_steps();

  Allocations allocations_;
  std::optional<std::int64_t> origin_ns_;
  std::deque<PackedActivity> activities_;
  std::deque<PackedNode> any_;
  std::deque<PackedNode> compiled_;
  std::deque<PackedGradient> gradients_;
  std::deque<PackedNode> gradients_with_hooks_;
  std::deque<PackedNode> held_;
  std::deque<PackedNode> loading_;
  std::deque<InputOperator> inputs_;
  bool loads_in_workers_ = false;
  std::deque<StepMarker> steps_;
  std::deque<HostSpan> optimizers_;
  StepSource step_source_ = StepSource::markers;
  ShapeTable shapes_;
  std::deque<Collective> kernels_;
  std::deque<Collective> calls_;
  std::unordered_map<std::int64_t, Launch> launches_;
  std::unordered_map<std::int64_t, Launch>
      graph_launches_;  ///< for one launch with many activities
  std::unordered_multimap<std::int64_t, Orphan> orphans_;
  std::vector<std::string> threads_;
  std::vector<bool> autograd_threads_;
  std::vector<bool> calling_threads_;  ///< ran a step marker or the optimizer
  std::uint16_t last_thread_ = 0;
  std::vector<std::int64_t> devices_;
  std::int64_t unlaunched_ = 0;
  std::int64_t events_ = 0;
  std::int64_t gpu_activities_ = 0;
  std::int64_t legacy_events_ = 0;
  std::int64_t other_device_ = 0;
  std::int64_t launches_seen_ = 0;
  std::int64_t early_ = 0;
  std::int64_t first_ns_ = INT64_MAX;
  std::int64_t last_ns_ = INT64_MIN;
  std::array<std::string, kNamedSchemes> named_;
  std::int64_t host_operations_ = 0;
  bool evaluate_seen_ = false;
  bool graph_launched_ = false;
  bool ddp_hooks_ = false;
  SeveralProcesses processes_;
  std::string_view device_name_, profiler_name_;  ///< literals
};

}  // namespace ddpsim
