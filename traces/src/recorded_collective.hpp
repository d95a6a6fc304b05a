// Collectives in a trace: the kernels of NCCL or RCCL on the GPU, and on the host the calls that
// launched them, `nccl:all_reduce` with record_param_comms around it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "trace_event.hpp"

namespace ddpsim {

/// A collective, from a kernel or from a call.
struct Collective {
  /// "allreduce". For a kernel: from its call if there is one, otherwise from its name.
  std::string operation;
  std::optional<Bytes> bytes;  ///< absent if elements or dtype were not recorded
  std::optional<Dtype> dtype;  ///< absent if not recorded
  /// For kernels: whether the kernel's own name says all-reduce, whatever the call is named.
  bool all_reduces = false;
  /// Integers are never gradients. One example is DDP's map of used parameters.
  bool integers = false;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t launch_ns = 0;            ///< kernels only
  std::uint16_t thread = 0;              ///< kernels: the launching thread
  std::optional<std::int64_t> sequence;  ///< number in its group; absent if not recorded
  /// The group's description, otherwise its name; empty if not recorded.
  std::string group;
  std::int64_t group_size = 0;  ///< ranks; 0 if not recorded
  /// For kernels: thread blocks, one per channel; 0 if not recorded.
  std::int64_t channels = 0;
};

bool is_nccl_kernel(std::string_view name);

/// "nccl:all_reduce", which the profiler records as an annotation on the host.
bool is_nccl_call(std::string_view name);

/// Operation and bytes, as far as the event's arguments name them.
Collective collective_of_kernel(const TraceEvent& event);
Collective collective_of_call(const TraceEvent& event);

/// Merges a call into the call around it if both are the same collective. Returns false otherwise.
bool absorb(Collective& outer, const Collective& call);

/// Merges each pair of nested calls. Newer versions state the size on the outer call, older ones on
/// the inner. `calls` are in order of start.
std::deque<Collective> joined_calls(std::deque<Collective> calls);

/// Gives each kernel the operation of the call that launched it, and the size if the kernel has
/// none. A kernel's name may say nothing ("ncclDevKernel_Generic"), or name another operation than
/// the call.
void describe_kernels(std::deque<Collective>& kernels, const std::deque<Collective>& calls);

}  // namespace ddpsim
