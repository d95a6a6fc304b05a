// What is kept of a trace: a few bytes per kernel launch, per autograd node and per step marker.
//
// Everything else is forgotten while the file streams by. A launch on the host and the activity it
// causes on the GPU carry the same correlation number; they are joined as soon as both were seen,
// usually one line apart, so the table of halves stays small. Times are kept in 48 bits of
// nanoseconds around the first one seen: three days.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ddpsim/sim/units.hpp"
#include "trace_event.hpp"

namespace ddpsim {

/// A GPU activity with the host call that launched it.
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
};

struct StepMarker {
  std::string name;  ///< "ProfilerStep#102"
  HostSpan span;
};

/// A collective as an NCCL kernel or as the host's record_param_comms shows it.
struct Collective {
  std::string operation;       ///< "allreduce"; from the kernel's name where it does not say
  std::optional<Bytes> bytes;  ///< absent where elements or dtype were not recorded
  bool integers = false;       ///< DDP's map of used parameters, for one, but never a gradient
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t launch_ns = 0;  ///< kernels only
  std::uint16_t thread = 0;    ///< kernels: the launching thread
  std::int64_t channels = 0;   ///< kernels: thread blocks, one a channel; 0 where not recorded
};

class TraceRecords {
 public:
  void add(const TraceEvent& event);

  /// Puts everything into order of time and joins what only now can be joined. Once, at the end.
  void finish();

  // In order of launch or start.
  Activity activity(std::size_t index) const;
  std::size_t activity_count() const { return activities_.size(); }
  const std::deque<StepMarker>& steps() const { return steps_; }
  const std::deque<Collective>& kernels() const { return kernels_; }  ///< NCCL only
  const std::deque<Collective>& calls() const { return calls_; }      ///< host: record_param_comms

  /// One of the lists of autograd nodes.
  enum class Node { any, gradient, gradient_with_hooks };
  std::vector<HostSpan> nodes(Node kind, std::int64_t from_ns, std::int64_t to_ns) const;
  std::size_t node_count(Node kind) const;
  bool is_autograd_thread(std::uint16_t thread) const { return autograd_threads_.at(thread); }

  std::int64_t unlaunched() const { return unlaunched_; }  ///< activities whose launch is not there
  bool ddp_hooks() const { return ddp_hooks_; }
  bool compiled() const { return compiled_; }
  std::int64_t devices() const { return static_cast<std::int64_t>(devices_.size()); }
  std::optional<std::int64_t> first_device() const;
  std::int64_t events() const { return events_; }
  std::int64_t gpu_activities() const { return gpu_activities_; }

 private:
  /// 20 bytes, without padding. A duration beyond 4.2 s is kept in microseconds.
  struct PackedActivity {
    std::uint32_t launch_low;
    std::uint32_t start_low;
    std::uint16_t launch_high;
    std::uint16_t start_high;
    std::uint32_t duration;
    std::uint16_t thread;
    std::uint16_t flags;
  };
  /// 12 bytes. The top bit of `thread` says that the duration is in microseconds.
  struct PackedNode {
    std::uint32_t start_low;
    std::uint16_t start_high;
    std::uint16_t thread;
    std::uint32_t duration;
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

  void add_host_operation(const TraceEvent& event);
  void add_launch(const TraceEvent& event);
  void add_gpu_activity(const TraceEvent& event);
  void join(const Launch& launch, const Orphan& gpu);
  std::uint16_t thread_index(std::string_view written);
  std::uint64_t packed(std::int64_t time_ns);
  std::int64_t unpacked(std::uint32_t low, std::uint16_t high) const;
  PackedNode pack_node(const TraceEvent& event);
  HostSpan unpack_node(const PackedNode& node) const;
  const std::deque<PackedNode>& list_of(Node kind) const;

  std::optional<std::int64_t> origin_ns_;
  std::deque<PackedActivity> activities_;
  std::deque<PackedNode> any_;
  std::deque<PackedNode> gradients_;
  std::deque<PackedNode> gradients_with_hooks_;
  std::deque<StepMarker> steps_;
  std::deque<Collective> kernels_;
  std::deque<Collective> calls_;
  std::unordered_map<std::int64_t, Launch> launches_;
  std::unordered_map<std::int64_t, Launch> graph_launches_;  ///< one launch, many activities
  std::unordered_multimap<std::int64_t, Orphan> orphans_;
  std::vector<std::string> threads_;
  std::vector<bool> autograd_threads_;
  std::uint16_t last_thread_ = 0;
  std::vector<std::int64_t> devices_;
  std::int64_t unlaunched_ = 0;
  std::int64_t events_ = 0;
  std::int64_t gpu_activities_ = 0;
  bool ddp_hooks_ = false;
  bool compiled_ = false;
};

}  // namespace ddpsim
