#include "row_causes.hpp"

#include <array>

namespace ddpsim {
namespace {

constexpr std::array<PossibleCause, 4> kOfKernels = {{
    {CauseClass::clocks_held_down,
     "clocks, power limit and temperature of that GPU under load, before and now (nvidia-smi -q "
     "-d CLOCK,POWER,PERFORMANCE). If they differ, it is the GPU; if not, other kernels run"},
    {CauseClass::kernels_changed,
     "names and counts of the kernels in both traces: other kernels run if a version, a dtype or "
     "a layout changed"},
    {CauseClass::interference,
     "one step of both under no_sync(): if kernels then take the same time, NCCL slows them down"},
    {CauseClass::host_threads,
     "the same step with OMP_NUM_THREADS=1, and nothing else on the cores"},
}};
constexpr std::array<PossibleCause, 4> kOfKernelsOnHost = {{
    {CauseClass::host_threads,
     "the load of each core in training (top, then 1), and the same step with fewer threads per "
     "rank. If both steps then take the same time, shared cores are the cause"},
    {CauseClass::kernels_changed,
     "the operators' own times of both (torch.profiler, CPU): did all change, or only some"},
    {CauseClass::host_overhead,
     "py-spy or torch.profiler's CPU side of both: do operators take longer, or the time between "
     "them"},
    {CauseClass::clocks_held_down, "the cores' clocks under load"},
}};
constexpr std::array<PossibleCause, 4> kOfLaunches = {{
    {CauseClass::host_threads,
     "the same step with OMP_NUM_THREADS=1 and with fewer loader workers: if both then take the "
     "same time, shared cores of the host are the cause"},
    {CauseClass::host_overhead,
     "py-spy or torch.profiler's CPU side of both: find the call between two launches that takes "
     "longer"},
    {CauseClass::blocking_launches,
     "the environment (CUDA_LAUNCH_BLOCKING), and .item() or print in the step"},
    {CauseClass::version_changed, "the old version on the new machine"},
}};
constexpr std::array<PossibleCause, 2> kOfWaits = {{
    {CauseClass::slow_rank,
     "the late rank's process on another GPU or core. If the lateness moves along, its data or "
     "process is the cause; otherwise the GPU, the core or the node"},
    {CauseClass::uneven_data,
     "the same step with one batch for all ranks: without waits, the data is uneven"},
}};
constexpr std::array<PossibleCause, 5> kOfTransfer = {{
    {CauseClass::network_slower,
     "all_reduce_perf on the same nodes at the buckets' sizes, before and now. If its times "
     "differ, it is the network; if not, it is the job"},
    {CauseClass::other_algorithm, "NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING of both"},
    {CauseClass::version_changed, "the old NCCL on the new machine"},
    {CauseClass::pcie_link_below_its_best,
     "generation and width of each GPU's and NIC's PCIe link under load (nvidia-smi -q, lspci "
     "-vv)"},
    {CauseClass::slow_rank,
     "traces of all ranks: they separate the transfer from the wait for the last rank"},
}};
constexpr std::array<PossibleCause, 3> kOfTailAlone = {{
    {CauseClass::network_slower,
     "traces of all ranks: they separate the wait for the last rank from the transfer, which a "
     "slower network lengthens"},
    {CauseClass::slow_rank, "traces of all ranks: they show which rank the others wait for"},
    {CauseClass::other_algorithm, "NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING of both"},
}};
constexpr std::array<PossibleCause, 3> kOfCopies = {{
    {CauseClass::bucket_views_off,
     "gradient_as_bucket_view=True: if the copies out vanish, the views were off"},
    {CauseClass::comm_hook, "the communication hook registered now and before"},
    {CauseClass::bucket_sizes, "the buckets of both (_get_ddp_logging_data, or ddpsim buckets)"},
}};
constexpr std::array<PossibleCause, 3> kOfHooks = {{
    {CauseClass::find_unused_parameters,
     "find_unused_parameters=False, where every parameter is used"},
    {CauseClass::bucket_sizes, "the number of buckets of both (_get_ddp_logging_data)"},
    {CauseClass::host_threads, "the same step with OMP_NUM_THREADS=1"},
}};
constexpr std::array<PossibleCause, 2> kOfBroadcast = {{
    {CauseClass::buffers_broadcast, "broadcast_buffers=False: what remains has another cause"},
    {CauseClass::slow_rank, "traces of all ranks: a broadcast waits for rank 0"},
}};
constexpr std::array<PossibleCause, 3> kOfInput = {{
    {CauseClass::data_loading,
     "one batch over and over (next(iter(loader)) once) in both: if they then take the same time, "
     "it is the loader"},
    {CauseClass::host_threads, "the same loader with fewer workers or OMP_NUM_THREADS=1"},
    {CauseClass::host_overhead,
     "what the script does between steps: logging, .item(), checkpoints"},
}};
constexpr std::array<PossibleCause, 1> kOfUsedMap = {{
    {CauseClass::find_unused_parameters,
     "find_unused_parameters=False, where every parameter is used"},
}};
constexpr std::array<PossibleCause, 2> kOfSyncBatchNorm = {{
    {CauseClass::host_overhead,
     "a trace: does the GPU wait for the exchange, or for the host after it"},
    {CauseClass::slow_rank, "traces of all ranks"},
}};
/// Used if no row is known: everything that can change the length of a step.
constexpr std::array<PossibleCause, 8> kOfAnything = {{
    {CauseClass::host_overhead, kTraces},
    {CauseClass::data_loading, kTraces},
    {CauseClass::host_threads, kTraces},
    {CauseClass::network_slower, kTraces},
    {CauseClass::data_parallel_changed, kTraces},
    {CauseClass::kernels_changed, kTraces},
    {CauseClass::clocks_held_down, kTraces},
    {CauseClass::slow_rank, kTraces},
}};

}  // namespace

std::span<const PossibleCause> causes_of_row(StepPart part, bool on_cpu, bool tail_alone) {
  if (part == kKernels)
    return on_cpu ? std::span<const PossibleCause>(kOfKernelsOnHost) : kOfKernels;
  if (part == kTransfer)
    return tail_alone ? std::span<const PossibleCause>(kOfTailAlone) : kOfTransfer;
  if (part == kLaunches) return kOfLaunches;
  if (part == kWaits) return kOfWaits;
  if (part == kCopies) return kOfCopies;
  if (part == kHooks) return kOfHooks;
  if (part == kBroadcast) return kOfBroadcast;
  if (part == kInput) return kOfInput;
  if (part == kUsedMap) return kOfUsedMap;
  if (part == kSyncBatchNorm) return kOfSyncBatchNorm;
  return kOfAnything;
}

std::span<const PossibleCause> causes_of_waits() {
  return kOfWaits;
}

std::vector<StepPart> lengthened_by(CauseClass what) {
  using enum CauseClass;
  switch (what) {
    case find_unused_parameters:
    case static_graph_possible:
      return {kHooks, kUsedMap, kTransfer, kCopies, kKernels};
    case buffers_broadcast:
      return {kBroadcast};
    // Buckets change the all-reduces after backward first; the host launches each one.
    case bucket_sizes:
      return {kTransfer, kWaits, kHooks, kCopies};
    case bucket_views_off:
    case gradient_strides:
      return {kCopies};
    case tensor_cores_off:
    case more_channels:
      return {kKernels};
    case comm_hook:
      return {kCopies, kTransfer, kHooks};
    case no_sync_misplaced:
      return {kTransfer, kWaits, kCopies, kHooks, kBroadcast};
    // Without a GPU's busy times, the exchange is counted in the part that contains it.
    case sync_batchnorm:
      return {kSyncBatchNorm, kKernels, kLaunches};
    case data_parallel_changed:
      return {kCopies, kTransfer, kHooks, kBroadcast, kUsedMap};
    case blocking_launches:
    case device_connections:
      return {kLaunches, kKernels, kHooks};
    case blocking_wait:
      return {kHooks, kLaunches, kTransfer};
    case debug_level:
      return {kHooks, kLaunches, kTransfer};
    case allocator_uncached:
      return {kLaunches, kKernels};
    case host_threads:
      return {kLaunches, kInput, kHooks, kKernels, kCopies};
    case clocks_held_down:
    case power_limit_lowered:
      return {kKernels, kWaits};
    case unequal_nodes:
      return {kWaits, kTransfer};
    case pcie_link_below_its_best:
      return {kTransfer, kWaits, kInput, kCopies};
    case environment_changed:
    case ranks_changed:
    case hardware_changed:
    case version_changed:
    case unequal_versions:
      return {};
    // Paths and choices of NCCL, and the network.
    default:
      return {kTransfer, kWaits, kBroadcast, kSyncBatchNorm};
  }
}

}  // namespace ddpsim
