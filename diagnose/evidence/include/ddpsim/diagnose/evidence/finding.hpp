// A finding says in plain words what a line of evidence shows: something went wrong, or differs
// from before. Evidence is NCCL's debug lines, DDP's logging data, an environment, or what a
// machine says about itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

/// Classes of what makes a step longer. `find_problems` (one side) and `find_changes` (two sides)
/// decide the class of a finding.
enum class CauseClass {
  // NCCL between nodes
  /// TCP sockets, although an RDMA network is named or was used before.
  socket_instead_of_ib,
  /// A network plugin was requested, or found before, and is missing.
  plugin_missing,
  /// One end of a channel sends from GPU memory; the other receives through host memory.
  gpudirect_one_side,
  /// No channel over the network bypasses host memory, although that was requested or so before.
  gpudirect_off,
  /// Channels use fewer NICs than before, or than NCCL lists.
  fewer_nics,
  other_nic,  ///< the same number of NICs, but others
  /// Whether GPUs reach other GPUs' NICs over NVLink (PXN).
  pxn_changed,
  // NCCL inside a node
  peer_to_peer_off,   ///< no direct access between GPUs of a node
  shared_memory_off,  ///< GPUs of a node share no host memory
  /// PCIe access control sends peer-to-peer traffic through the root complex.
  acs_on,
  // NCCL's choice
  channels_limited,  ///< the environment limits the number of channels
  fewer_channels,    ///< than before
  /// More channels than before; each takes a multiprocessor from compute.
  more_channels,
  ring_where_tree,  ///< rings, where trees were chosen before
  other_algorithm,  ///< any other algorithm or protocol than before
  /// The environment forces or forbids an algorithm or protocol.
  algorithm_forced,
  /// NVLS or SHARP were used before, or the environment switches them off.
  in_switch_off,
  /// Between the same GPUs: peer-to-peer, shared memory, another network.
  transport_changed,
  /// NCCL's search found no channels, so it used a fallback.
  topology_search_failed,
  nccl_error,    ///< NCCL warns of an error
  nccl_setting,  ///< any other setting of NCCL that costs
  // PyTorch
  /// DDP searches its graph in every step although every parameter is used.
  find_unused_parameters,
  static_graph_possible,  ///< DDP itself says that the graph never changes
  buffers_broadcast,      ///< broadcast before each forward
  bucket_sizes,           ///< very small or large, or other than before
  /// Each gradient is copied into its bucket and back.
  bucket_views_off,
  /// Gradients have another memory layout than their buckets, so each is copied.
  gradient_strides,
  comm_hook,              ///< another communication hook than before
  no_sync_misplaced,      ///< micro-batches all-reduce without need
  sync_batchnorm,         ///< layers wait for the statistics of all ranks
  data_parallel_changed,  ///< another option of DDP than before
  // Environment
  blocking_launches,   ///< CUDA_LAUNCH_BLOCKING
  blocking_wait,       ///< the host waits for each collective
  debug_level,         ///< of NCCL or torch.distributed; costs time
  allocator_uncached,  ///< each tensor asks the driver for memory
  device_connections,  ///< CUDA_DEVICE_MAX_CONNECTIONS
  tensor_cores_off,    ///< TF32 switched off
  /// The threads of all ranks of a node exceed its cores.
  host_threads,
  environment_changed,  ///< any other variable of the list than before
  // Hardware
  /// A GPU's link is slower or narrower than card and slot allow.
  pcie_link_below_its_best,
  /// A NIC's port or PCIe link is slower or narrower than it could be.
  nic_below_its_best,
  nic_port_down,
  clocks_held_down,     ///< by heat, power or a setting
  power_limit_lowered,  ///< below the board's default
  hardware_changed,     ///< other GPUs, or another number, than before
  /// Nodes differ in GPU model, count, driver, clocks, power limits, MTU or NICs.
  unequal_nodes,
  mtu_unequal,  ///< between nodes, or compared with before
  /// Lost between GPUs that had NVLink, or missing where other GPUs of the node have it.
  nvlink_lost,
  // Job
  ranks_changed,  ///< another number of ranks or nodes than before
  // Versions
  version_changed,   ///< of NCCL, CUDA, driver, PyTorch, plugin
  unequal_versions,  ///< between ranks of one job
  // Told by rows of a difference, not by a line of evidence
  network_slower,   ///< between the same nodes, from logs or rows
  data_loading,     ///< batches come later
  host_overhead,    ///< the host does more between its launches
  kernels_changed,  ///< other kernels run
  interference,     ///< NCCL slows kernels down more
  slow_rank,        ///< one rank is late, and the others wait
  slow_node,        ///< one node is late, and the others wait
  uneven_data,      ///< ranks have batches of other sizes
  // Settings of two recordings
  accumulation_changed,  ///< another number of micro-batches
  batch_changed,
  gpu_changed,
  precision_changed,
  unknown,  ///< no evidence decides
};

/// Returns the name of the enumerator, which is also the word in JSON.
std::string_view name_of(CauseClass what);
/// Returns all classes in the order of the enumeration.
std::vector<CauseClass> cause_classes();

/// What a change does to a step.
enum class FindingEffect {
  either,   ///< unknown
  costs,    ///< it cannot make a step shorter
  relieves  ///< it cannot make a step longer
};

struct Finding {
  CauseClass what = CauseClass::nccl_error;
  /// What was found, what it costs and what to do.
  std::string says;
  /// "nccl.log:12", or the name of the variable; never empty.
  std::string place;
  FindingEffect effect = FindingEffect::either;
  bool doubtful = false;  ///< may be harmless, as `says` explains
  bool operator==(const Finding&) const = default;
};

}  // namespace ddpsim
