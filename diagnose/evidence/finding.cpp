#include "ddpsim/diagnose/evidence/finding.hpp"

#include <array>

namespace ddpsim {
namespace {

/// In the order of the enumerators.
constexpr std::array<std::string_view, 64> kClassNames = {
    "socket_instead_of_ib",
    "plugin_missing",
    "gpudirect_one_side",
    "gpudirect_off",
    "fewer_nics",
    "other_nic",
    "pxn_changed",
    "peer_to_peer_off",
    "shared_memory_off",
    "acs_on",
    "channels_limited",
    "fewer_channels",
    "more_channels",
    "ring_where_tree",
    "other_algorithm",
    "algorithm_forced",
    "in_switch_off",
    "transport_changed",
    "topology_search_failed",
    "nccl_error",
    "nccl_setting",
    "find_unused_parameters",
    "static_graph_possible",
    "buffers_broadcast",
    "bucket_sizes",
    "bucket_views_off",
    "gradient_strides",
    "comm_hook",
    "no_sync_misplaced",
    "sync_batchnorm",
    "data_parallel_changed",
    "blocking_launches",
    "blocking_wait",
    "debug_level",
    "allocator_uncached",
    "device_connections",
    "tensor_cores_off",
    "host_threads",
    "environment_changed",
    "pcie_link_below_its_best",
    "nic_below_its_best",
    "nic_port_down",
    "clocks_held_down",
    "power_limit_lowered",
    "hardware_changed",
    "unequal_nodes",
    "mtu_unequal",
    "nvlink_lost",
    "ranks_changed",
    "version_changed",
    "unequal_versions",
    "network_slower",
    "data_loading",
    "host_overhead",
    "kernels_changed",
    "interference",
    "slow_rank",
    "slow_node",
    "uneven_data",
    "accumulation_changed",
    "batch_changed",
    "gpu_changed",
    "precision_changed",
    "unknown",
};

}  // namespace

std::string_view name_of(CauseClass what) {
  return kClassNames.at(static_cast<std::size_t>(what));
}

std::vector<CauseClass> cause_classes() {
  std::vector<CauseClass> all;
  for (std::size_t i = 0; i < kClassNames.size(); ++i) all.push_back(static_cast<CauseClass>(i));
  return all;
}

}  // namespace ddpsim
