// Collectives as a trace shows them: NCCL's or RCCL's kernels on the GPU, and on the host the calls
// that launched them, `nccl:all_reduce` and record_param_comms around it.
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

/// A collective as a kernel or as a call shows it.
struct Collective {
  std::string operation;       ///< "allreduce"; of a kernel: as its call says, else by its name
  std::optional<Bytes> bytes;  ///< absent where elements or dtype were not recorded
  std::optional<Dtype> dtype;  ///< absent where it was not recorded
  bool all_reduces = false;    ///< kernels: so says its own name, whatever the call is named
  bool integers = false;       ///< DDP's map of used parameters, for one, but never a gradient
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t launch_ns = 0;            ///< kernels only
  std::uint16_t thread = 0;              ///< kernels: the launching thread
  std::optional<std::int64_t> sequence;  ///< number in its group; absent where not recorded
  std::string group;            ///< its description, else its name; empty where not recorded
  std::int64_t group_size = 0;  ///< ranks; 0 where not recorded
  std::int64_t channels = 0;    ///< kernels: thread blocks, one a channel; 0 where not recorded
};

bool is_nccl_kernel(std::string_view name);

/// "nccl:all_reduce", of which the profiler makes an annotation on the host
bool is_nccl_call(std::string_view name);

/// Operation and bytes as far as the event's arguments say.
Collective collective_of_kernel(const TraceEvent& event);
Collective collective_of_call(const TraceEvent& event);

/// Takes a call into the one around it, when it is the same seen twice; false when it is not.
bool absorb(Collective& outer, const Collective& call);

/// Makes one of each pair of nested calls: newer versions tell the size on the outer, older ones on
/// the inner. `calls` are in order of start.
std::deque<Collective> joined_calls(std::deque<Collective> calls);

/// Gives each kernel the operation of the call it was launched in, and the size where it has none.
/// (A name may say nothing, "ncclDevKernel_Generic", or another operation than was called.)
void describe_kernels(std::deque<Collective>& kernels, const std::deque<Collective>& calls);

}  // namespace ddpsim
