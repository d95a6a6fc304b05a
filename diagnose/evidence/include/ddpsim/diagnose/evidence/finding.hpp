// What a line of evidence says went wrong, or was otherwise before, in plain words: of NCCL's debug lines, DDP's
// logging data, an environment, or what a machine says of itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

/// Classes of what makes a step longer. What tells a finding's stands in `find_problems` (one side) and `find_changes` (two).
enum class CauseClass {
  // NCCL between nodes
  socket_instead_of_ib,  ///< TCP sockets where an RDMA network is named, or was used before
  plugin_missing,        ///< a network plugin was asked for, or found before, and is not there
  gpudirect_one_side,  ///< one end of a channel sends from GPU memory, the other receives through the host's
  gpudirect_off,  ///< no channel over the network passes host memory by, though asked for or so before
  fewer_nics,     ///< channels use fewer NICs than before, or than NCCL lists
  other_nic,      ///< as many NICs as before, but others
  pxn_changed,  ///< whether GPUs reach NICs of others over NVLink (PXN)
  // NCCL inside a node
  peer_to_peer_off,   ///< GPUs of a node do not read each other's memory
  shared_memory_off,  ///< GPUs of a node do not even share host memory
  acs_on,             ///< PCIe access control sends peer-to-peer traffic over the root complex
  // NCCL's choice
  channels_limited,   ///< the environment bounds the number of channels
  fewer_channels,     ///< than before
  more_channels,      ///< than before: each takes a multiprocessor from compute
  ring_where_tree,    ///< rings where trees were chosen before
  other_algorithm,    ///< any other algorithm or protocol than before
  algorithm_forced,   ///< the environment forces or forbids an algorithm or protocol
  in_switch_off,      ///< NVLS or SHARP were in use before, or are switched off by the environment
  transport_changed,  ///< between the same GPUs: peer-to-peer, shared memory, another network
  topology_search_failed,  ///< NCCL found no channels by its search and fell back
  nccl_error,              ///< NCCL warns of an error
  nccl_setting,            ///< any other setting of NCCL that costs
  // PyTorch
  find_unused_parameters,  ///< DDP walks its graph every step though every parameter is used
  static_graph_possible,   ///< DDP itself says that the graph never changes
  buffers_broadcast,       ///< broadcast before each forward
  bucket_sizes,            ///< buckets that are very small, very large or otherwise than before
  bucket_views_off,        ///< each gradient is copied into its bucket and back
  gradient_strides,        ///< gradients lie otherwise than their buckets: each is copied
  comm_hook,               ///< another communication hook than before
  no_sync_misplaced,       ///< micro-batches all-reduce that need not
  sync_batchnorm,          ///< layers wait for the statistics of all ranks
  data_parallel_changed,   ///< another option of DDP than before
  // Environment
  blocking_launches,    ///< CUDA_LAUNCH_BLOCKING
  blocking_wait,        ///< the host waits for each collective
  debug_level,          ///< of NCCL or torch.distributed, at which it costs time
  allocator_uncached,   ///< each tensor asks the driver for memory
  device_connections,   ///< CUDA_DEVICE_MAX_CONNECTIONS
  tensor_cores_off,     ///< TF32 switched off
  host_threads,         ///< of all ranks of a node beside its cores
  environment_changed,  ///< any other variable of the list than before
  // Hardware
  pcie_link_below_its_best,  ///< a GPU's link is slower or narrower than card and slot allow
  nic_below_its_best,        ///< a NIC's port, or its PCIe link, is
  nic_port_down,
  clocks_held_down,     ///< by heat, power or a setting
  power_limit_lowered,  ///< below the board's default
  hardware_changed,     ///< other GPUs, or another number of them, than before
  unequal_nodes,  ///< GPU model, count, driver, clocks, power limits, MTU or NICs differ between nodes
  mtu_unequal,  ///< between nodes, or another than before
  nvlink_lost,  ///< between GPUs that had NVLink, or whose neighbours have it
  // Job
  ranks_changed,  ///< another number of ranks or nodes than before
  // Versions
  version_changed,   ///< of NCCL, CUDA, driver, PyTorch, plugin
  unequal_versions,  ///< between ranks of one job
  // What rows of a difference tell, and no line of evidence
  network_slower,   ///< between the same nodes, by logs or by rows
  data_loading,     ///< batches come later
  host_overhead,    ///< the host does more between its launches
  kernels_changed,  ///< other kernels run
  interference,     ///< kernels run slower beside NCCL
  slow_rank,        ///< one rank is late, and the others wait
  slow_node,        ///< likewise a node
  uneven_data,      ///< ranks have batches of other sizes
  // Settings of two recordings
  accumulation_changed,  ///< another number of micro-batches
  batch_changed,
  gpu_changed,
  precision_changed,
  unknown,  ///< no evidence decides
};

/// As in JSON: the enumerator's own spelling.
std::string_view name_of(CauseClass what);
/// All of them, in the order above.
std::vector<CauseClass> cause_classes();

/// What it does to a step, of a change against before.
enum class FindingEffect {
  either,   ///< nothing tells
  costs,    ///< it makes no step shorter
  relieves  ///< it makes no step longer
};

struct Finding {
  CauseClass what = CauseClass::nccl_error;
  std::string says;   ///< one sentence: what is so, what it costs, what to do
  std::string place;  ///< "nccl.log:12", or the variable's name; never empty
  FindingEffect effect = FindingEffect::either;
  bool doubtful = false;  ///< it may be harmless, as its sentence says
  bool operator==(const Finding&) const = default;
};

}  // namespace ddpsim
