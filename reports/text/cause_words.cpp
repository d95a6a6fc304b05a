#include "cause_words.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ddpsim {
namespace {

struct CauseWords {
  std::string_view what;
  std::string_view longer;            ///< of a step that got longer
  std::string_view shorter = longer;  ///< of one that got shorter
};

constexpr std::array kCauseWords = {
    CauseWords{"unknown", "Not known"},
    // What only rows tell.
    CauseWords{"network_slower", "The network is slower", "The network is faster"},
    CauseWords{"data_loading", "Batches come later", "Batches come sooner"},
    CauseWords{"host_overhead", "The host does more between its launches",
               "The host does less between its launches"},
    CauseWords{"kernels_changed", "Other kernels run"},
    CauseWords{"interference", "NCCL slows the kernels that run beside it",
               "NCCL slows the kernels that run beside it less"},
    CauseWords{"slow_rank", "One rank is slower than the others",
               "No rank is as much slower than the others"},
    CauseWords{"slow_node", "One node is slower than the others",
               "No node is as much slower than the others"},
    CauseWords{"uneven_data", "Ranks have uneven batches", "Ranks have more even batches"},
    // What is set otherwise.
    CauseWords{"accumulation_changed", "The number of micro-batches changed"},
    CauseWords{"batch_changed", "The batch changed"},
    CauseWords{"gpu_changed", "The GPU is another"},
    CauseWords{"precision_changed", "The precision changed"},
    // Findings, in the order of FindingClass.
    CauseWords{"socket_instead_of_ib", "NCCL uses sockets instead of InfiniBand"},
    CauseWords{"plugin_missing", "A network plugin of NCCL is missing"},
    CauseWords{"gpudirect_one_side", "GPUDirect RDMA works at one end only"},
    CauseWords{"gpudirect_off", "GPUDirect RDMA is off"},
    CauseWords{"fewer_nics", "NCCL uses fewer NICs"},
    CauseWords{"other_nic", "NCCL uses other NICs"},
    CauseWords{"pxn_changed", "PXN is set otherwise"},
    CauseWords{"peer_to_peer_off", "Peer-to-peer is off"},
    CauseWords{"shared_memory_off", "Shared memory between the GPUs of a node is off"},
    CauseWords{"acs_on", "PCIe access control sends peer-to-peer traffic to the root"},
    CauseWords{"channels_limited", "The number of NCCL's channels is limited"},
    CauseWords{"fewer_channels", "NCCL has fewer channels"},
    CauseWords{"more_channels", "NCCL has more channels"},
    CauseWords{"ring_where_tree", "NCCL takes a ring where it took a tree"},
    CauseWords{"other_algorithm", "NCCL takes another algorithm"},
    CauseWords{"algorithm_forced", "NCCL's algorithm is forced"},
    CauseWords{"in_switch_off", "Reductions in switches are off"},
    CauseWords{"transport_changed", "Another network is used"},
    CauseWords{"topology_search_failed", "NCCL's search for channels failed"},
    CauseWords{"nccl_error", "NCCL warns"},
    CauseWords{"nccl_setting", "A setting of NCCL costs time"},
    CauseWords{"find_unused_parameters", "DDP looks for unused parameters"},
    CauseWords{"static_graph_possible", "static_graph=True is possible"},
    CauseWords{"buffers_broadcast", "Buffers are broadcast before each forward"},
    CauseWords{"bucket_sizes", "Buckets have other sizes"},
    CauseWords{"bucket_views_off", "Gradients are no views of the buckets"},
    CauseWords{"gradient_strides", "Gradients lie otherwise in memory than their buckets"},
    CauseWords{"comm_hook", "The communication hook is another"},
    CauseWords{"no_sync_misplaced", "no_sync() does not cover forward"},
    CauseWords{"sync_batchnorm", "SyncBatchNorm waits for all ranks"},
    CauseWords{"data_parallel_changed", "DDP is set up otherwise"},
    CauseWords{"blocking_launches", "Each launch waits for the GPU"},
    CauseWords{"blocking_wait", "The host waits for each collective"},
    CauseWords{"debug_level", "A debug level costs time"},
    CauseWords{"allocator_uncached", "PyTorch's memory cache is off"},
    CauseWords{"device_connections", "All streams share one hardware queue"},
    CauseWords{"tensor_cores_off", "Tensor cores are off"},
    CauseWords{"host_threads", "Threads share the host's cores"},
    CauseWords{"environment_changed", "The environment changed"},
    CauseWords{"pcie_link_below_its_best", "A PCIe link is below its best"},
    CauseWords{"nic_below_its_best", "A NIC is below its best"},
    CauseWords{"nic_port_down", "A NIC's port is down"},
    CauseWords{"clocks_held_down", "A GPU's clocks are held down"},
    CauseWords{"power_limit_lowered", "A GPU's power limit is lower"},
    CauseWords{"hardware_changed", "The GPUs are others"},
    CauseWords{"unequal_nodes", "Nodes are unequal"},
    CauseWords{"mtu_unequal", "MTUs are unequal"},
    CauseWords{"nvlink_lost", "NVLinks are missing"},
    CauseWords{"ranks_changed", "The number of ranks changed"},
    CauseWords{"version_changed", "A version changed"},
    CauseWords{"unequal_versions", "Nodes have unequal versions"},
};

}  // namespace

std::string cause_words(std::string_view what, StepChange change) {
  const auto known = std::ranges::find(kCauseWords, what, &CauseWords::what);
  if (known != kCauseWords.end())
    return std::string(change == StepChange::longer ? known->longer : known->shorter);
  std::string words(what);
  std::ranges::replace(words, '_', ' ');
  return words;
}

}  // namespace ddpsim
