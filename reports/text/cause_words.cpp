#include "cause_words.hpp"

#include <algorithm>
#include <array>

namespace ddpsim {
namespace {

struct CauseWords {
  CauseClass what;
  std::string_view longer;            ///< the step got longer
  std::string_view shorter = longer;  ///< the step got shorter
};

constexpr std::array kCauseWords = {
    CauseWords{CauseClass::unknown, "Not known"},
    // Causes that only the rows of the difference tell.
    CauseWords{CauseClass::network_slower, "The network is slower", "The network is faster"},
    CauseWords{CauseClass::data_loading, "Batches come later", "Batches come sooner"},
    CauseWords{CauseClass::host_overhead, "The host does more between its launches",
               "The host does less between its launches"},
    CauseWords{CauseClass::kernels_changed, "The kernels changed"},
    CauseWords{CauseClass::interference, "NCCL slows the kernels that run at the same time",
               "NCCL slows kernels that run at the same time less"},
    CauseWords{CauseClass::slow_rank, "One rank is slower than the others",
               "The others wait less for the slowest rank"},
    CauseWords{CauseClass::slow_node, "One node is slower than the others",
               "The others wait less for the slowest node"},
    CauseWords{CauseClass::uneven_data, "Ranks have uneven batches",
               "Ranks have more even batches"},
    // Causes from settings that changed.
    CauseWords{CauseClass::accumulation_changed, "The number of micro-batches changed"},
    CauseWords{CauseClass::batch_changed, "The batch changed"},
    CauseWords{CauseClass::gpu_changed, "The GPU model changed"},
    CauseWords{CauseClass::precision_changed, "The precision changed"},
    // Findings, in the order of CauseClass.
    CauseWords{CauseClass::socket_instead_of_ib, "NCCL uses sockets instead of InfiniBand"},
    CauseWords{CauseClass::plugin_missing, "A network plugin of NCCL is missing"},
    CauseWords{CauseClass::gpudirect_one_side, "GPUDirect RDMA works at one end only"},
    CauseWords{CauseClass::gpudirect_off, "GPUDirect RDMA is off"},
    CauseWords{CauseClass::fewer_nics, "NCCL uses fewer NICs"},
    CauseWords{CauseClass::other_nic, "NCCL uses other NICs"},
    CauseWords{CauseClass::pxn_changed, "PXN is set differently"},
    CauseWords{CauseClass::peer_to_peer_off, "Peer-to-peer is off"},
    CauseWords{CauseClass::shared_memory_off, "Shared memory between the GPUs of a node is off"},
    CauseWords{CauseClass::acs_on, "PCIe access control sends peer-to-peer traffic to the root"},
    CauseWords{CauseClass::channels_limited, "The number of NCCL's channels is limited"},
    CauseWords{CauseClass::fewer_channels, "NCCL has fewer channels"},
    CauseWords{CauseClass::more_channels, "NCCL has more channels"},
    CauseWords{CauseClass::ring_where_tree, "NCCL takes a ring where it took a tree"},
    CauseWords{CauseClass::other_algorithm, "NCCL takes another algorithm"},
    CauseWords{CauseClass::algorithm_forced, "NCCL's algorithm is forced"},
    CauseWords{CauseClass::in_switch_off, "Reductions in switches are off"},
    CauseWords{CauseClass::transport_changed, "Another network is used"},
    CauseWords{CauseClass::topology_search_failed, "NCCL's search for channels failed"},
    CauseWords{CauseClass::nccl_error, "NCCL warns"},
    CauseWords{CauseClass::nccl_setting, "A setting of NCCL costs time"},
    CauseWords{CauseClass::find_unused_parameters, "DDP looks for unused parameters"},
    CauseWords{CauseClass::static_graph_possible, "static_graph=True is possible"},
    CauseWords{CauseClass::buffers_broadcast, "Buffers are broadcast before each forward"},
    CauseWords{CauseClass::bucket_sizes, "Buckets have other sizes"},
    CauseWords{CauseClass::bucket_views_off, "Gradients are not views of the buckets"},
    CauseWords{CauseClass::gradient_strides, "Gradients have other strides than their buckets"},
    CauseWords{CauseClass::comm_hook, "The communication hook changed"},
    CauseWords{CauseClass::no_sync_misplaced, "no_sync() does not cover forward"},
    CauseWords{CauseClass::sync_batchnorm, "SyncBatchNorm waits for all ranks"},
    CauseWords{CauseClass::data_parallel_changed, "DDP is set up differently"},
    CauseWords{CauseClass::blocking_launches, "Each launch waits for the GPU"},
    CauseWords{CauseClass::blocking_wait, "The host waits for each collective"},
    CauseWords{CauseClass::debug_level, "A debug level costs time"},
    CauseWords{CauseClass::allocator_uncached, "PyTorch's memory cache is off"},
    CauseWords{CauseClass::device_connections, "All streams share one hardware queue"},
    CauseWords{CauseClass::tensor_cores_off, "Tensor cores are off"},
    CauseWords{CauseClass::host_threads, "Threads share the host's cores"},
    CauseWords{CauseClass::environment_changed, "The environment changed"},
    CauseWords{CauseClass::pcie_link_below_its_best, "A PCIe link is below its best"},
    CauseWords{CauseClass::nic_below_its_best, "A NIC is below its best"},
    CauseWords{CauseClass::nic_port_down, "A NIC's port is down"},
    CauseWords{CauseClass::clocks_held_down, "A GPU's clocks are held down"},
    CauseWords{CauseClass::power_limit_lowered, "A GPU's power limit is lower"},
    CauseWords{CauseClass::hardware_changed, "The GPUs are different ones"},
    CauseWords{CauseClass::unequal_nodes, "Nodes are unequal"},
    CauseWords{CauseClass::mtu_unequal, "MTUs are unequal"},
    CauseWords{CauseClass::nvlink_lost, "NVLinks are missing"},
    CauseWords{CauseClass::ranks_changed, "The number of ranks changed"},
    CauseWords{CauseClass::version_changed, "A version changed"},
    CauseWords{CauseClass::unequal_versions, "Nodes have unequal versions"},
};

}  // namespace

std::string cause_words(CauseClass what, StepChange change) {
  const auto known = std::ranges::find(kCauseWords, what, &CauseWords::what);
  return std::string(change == StepChange::longer ? known->longer : known->shorter);
}

}  // namespace ddpsim
