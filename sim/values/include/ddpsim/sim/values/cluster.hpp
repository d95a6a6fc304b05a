// The machine as plain numbers: everything the simulator needs to know about GPUs, links and NCCL's
// view of them. `topologies` builds it from files and one-line forms; the simulator only reads it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/calibration.hpp"
#include "ddpsim/sim/values/ddp_costs.hpp"
#include "ddpsim/sim/values/gloo_calibration.hpp"
#include "ddpsim/sim/values/link_loads.hpp"
#include "ddpsim/sim/values/price.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

enum class GpuVendor { nvidia, amd };

/// One row of the GPU catalogue.
struct GpuModel {
  /// The model without form factor or memory size: "V100". Jobs and calibrations are compared by
  /// it.
  std::string name;
  /// The product that the numbers below describe: "V100-16GB". Empty if unknown (tests).
  std::string variant;
  /// The name fits several variants, and the first of them was taken.
  bool variant_open = false;
  bool card = false;  ///< a PCIe card: NVLink only over bridges
  GpuVendor vendor = GpuVendor::nvidia;
  /// 70 for sm_70. For AMD: that of the NVIDIA generation whose rows of NCCL's tables stand in for
  /// RCCL's.
  int compute_capability = 0;
  int sms = 0;                 ///< AMD: compute units
  Bandwidth memory_bandwidth;  ///< peak, read plus write
  /// Products with full fp32 inputs: outside the tensor cores on NVIDIA GPUs, in the matrix cores
  /// on AMD GPUs.
  double fp32_tflops = 0;
  double tf32_tflops = 0;  ///< tensor cores, dense; 0: no TensorFloat-32
  /// Products of fp16 summed in fp32, dense. The same number holds for bfloat16 from sm_80 on.
  double half_tflops = 0;
  Bytes memory;
  /// NVLinks, or xGMI links of AMD, to other GPUs. 0: only PCIe.
  std::optional<int> links;

  /// "V100-16GB", or "V100" if the variant is not known.
  const std::string& product() const { return variant.empty() ? name : variant; }
  /// "V100-16GB" if the variant was stated; empty if it is open, or if the model has only one
  /// variant.
  std::string known_variant() const { return variant_open || variant == name ? "" : variant; }
  /// Whether `other` is another model, or another variant where both variants are known.
  bool is_another(const GpuModel& other) const {
    return name != other.name ||
           (!variant_open && !other.variant_open && product() != other.product());
  }
  /// The name as it was stated: only the model if the variant was left open.
  const std::string& stated() const { return variant_open ? name : product(); }
};

/// How GPUs of one node reach each other.
enum class IntraKind {
  none,      ///< one GPU per node
  nvswitch,  ///< every pair at full bandwidth
  nvlink,    ///< direct links: NVLink, or xGMI on AMD (RCCL)
  pcie,      ///< through PCIe switches or the host
};

enum class NetworkKind { none, infiniband, roce, tcp, efa, slingshot };

/// Share of payload in an Ethernet frame: 1448 of 1514 bytes. Several sockets together reach this
/// share of the wire.
inline constexpr double kFramePayload = 0.956;

/// What lies between NCCL's sockets and the wire (only for NetworkKind::tcp).
enum class Sockets {
  /// A NIC of the host itself, or a virtual function of one (SR-IOV, ENA).
  host,
  /// A NIC that the hypervisor emulates (netvsc, virtio): its switch copies every packet.
  virtual_nic,
  /// A plugin that lets the NIC reach GPU memory (GPUDirect-TCPX, -TCPXO).
  gpudirect,
};

/// NCCL's path classes as its tuning model distinguishes them (graph/topo.h).
enum class PathKind { nvlink, pcie, network };

/// Result of NCCL's channel search for one algorithm: the channels before doubling, and the
/// bandwidth per channel. The bandwidths are NCCL's own derated values, not nominal rates.
struct SearchGraph {
  int channels = 1;
  Bandwidth intra;  ///< per channel inside a node
  Bandwidth inter;  ///< per channel between nodes
  PathKind intra_path = PathKind::nvlink;
};

enum class CpuVendor { intel, amd, arm, power, unknown };

/// How GPUs reach each other over PCIe.
enum class PeerAccess {
  one_root,  ///< peer to peer under one root
  /// Peer to peer under each root. Data from one root to another pass through the processor, at the
  /// rate of host memory.
  sockets,
  /// Through host memory, because the driver forbids peer to peer or the machine cannot do it.
  host,
};

struct Interconnect {
  IntraKind kind = IntraKind::none;
  /// Nominal, in one direction, over all links of a GPU that a ring can use.
  Bandwidth per_gpu;
  int links_per_gpu = 0;
  /// Only for IntraKind::pcie.
  PeerAccess peers = PeerAccess::sockets;
  /// Nobody stated `peers`, so it follows from the GPU.
  bool peers_assumed = false;
  /// Only for IntraKind::pcie: nominal rate between one GPU and host memory while all GPUs use
  /// theirs. 0: per_gpu.
  Bandwidth to_host;
  /// Only for IntraKind::pcie: nobody stated how many GPUs share a root port.
  bool roots_assumed = false;
};

struct Network {
  NetworkKind kind = NetworkKind::none;
  Sockets sockets = Sockets::host;
  int nics_per_node = 0;
  Bandwidth per_nic;  ///< nominal, one direction
  /// One way. Absent unless stated; the default of `kind` then holds.
  std::optional<Duration> latency;
  /// What one TCP connection carries. Absent unless stated.
  std::optional<Bandwidth> connection;
  /// R: a switch passes upwards 1/R of the bandwidth that it has downwards.
  double oversubscription = 1;
  /// NICs reach GPU memory themselves. Never true with tcp.
  bool gpudirect = true;
  /// InfiniBand and RoCE: nobody stated `gpudirect`.
  bool gpudirect_assumed = false;
  /// Switches reduce (SHARP): CollNet, and NVLS between nodes.
  bool collnet = false;
};

/// Up to this many GPUs per node, each with a NIC of its own, GPUDirect matters more than anything
/// else about the network.
inline constexpr int kFewGpus = 2;

/// Whether the processor copies what NCCL sends into TCP connections. If false, a plugin drives the
/// NICs, whatever protocol they speak.
constexpr bool through_sockets(const Network& network) {
  return network.kind == NetworkKind::tcp && network.sockets != Sockets::gpudirect;
}

struct NearCluster;

/// A cluster of equal nodes.
///
/// If NVLink joins the GPUs of several machines (a rack), NCCL treats the whole NVLink domain as
/// one node (mnnvl.cc). Then `nodes` counts domains, `gpus_per_node` is the GPUs of one domain, and
/// `hosts_per_node` is its machines. Hosts are what users launch and pay for, and what has
/// processes, CPUs and memory.
struct Cluster {
  std::string name;
  int nodes = 1;
  int gpus_per_node = 1;
  int hosts_per_node = 1;  ///< divides gpus_per_node
  GpuModel gpu;
  /// Measured costs of DDP's kernels on this GPU.
  StatedCosts gpu_costs;
  Interconnect intra;
  Network network;
  CpuVendor cpu = CpuVendor::unknown;
  SearchGraph ring;
  SearchGraph tree;
  /// All edges of a tree between nodes end at one GPU of each node (NCCL_TOPO_PATTERN_TREE). This
  /// happens if no two GPUs are equally near a NIC, or if a node has no second GPU. Otherwise two
  /// GPUs share the edges (BALANCED_TREE).
  bool tree_at_one_gpu = false;
  /// One channel for each head in a node. 0: no NVLink SHARP.
  SearchGraph nvls{.channels = 0};
  int nvls_channels = 0;   ///< thread blocks of an NVLS operation; 0: none
  int degraded_links = 0;  ///< links below their nominal rate
  /// Load that the channels put on the links; the cost model never exceeds what the links carry.
  /// Absent for one rank, or if the cluster is only described by its numbers. Copies share it.
  std::shared_ptr<const LinkLoads> loads;
  /// Load of the links if all nodes were under one leaf switch: the best case. Present only if the
  /// cluster does not say which nodes share a leaf, and the links above leaves are oversubscribed.
  /// `loads` then assumes a leaf switch for each node: the worst case.
  std::shared_ptr<const LinkLoads> loads_under_one_leaf;
  /// Load of the links if nodes that follow each other in rank order were under different leaf
  /// switches: the worst case. Present only if the leaf switches are known, the links above them
  /// are oversubscribed, and the cluster does not say how ranks are placed. `loads` then assumes
  /// that such neighbours share a leaf switch: the best case.
  std::shared_ptr<const LinkLoads> loads_scattered;
  /// Whether a log confirms the numbers.
  bool verified = false;
  std::vector<std::string> sources;
  /// What the cluster's files leave open or show as faulty, one sentence each. Every answer prints
  /// them.
  std::vector<std::string> doubts;
  std::vector<Price> prices;  ///< latest first; empty if unknown
  /// Absent if no log of this cluster was fitted. Copies share it, whatever their number of nodes.
  std::shared_ptr<const Calibration> calibration;
  /// Absent if no gloo log of this cluster was fitted.
  std::shared_ptr<const GlooCalibration> gloo;
  /// Smaller clusters made of some of its nodes or GPUs, for process groups of fewer ranks. One
  /// entry per size asked for; empty if nodes differ.
  std::vector<std::shared_ptr<const Cluster>> groups;
  /// Clusters so close to this one that no recommendation should depend on the difference. Empty
  /// unless asked for.
  std::vector<NearCluster> near;

  int ranks() const { return nodes * gpus_per_node; }
  int hosts() const { return nodes * hosts_per_node; }
  int gpus_per_host() const { return gpus_per_node / hosts_per_node; }
};

/// A cluster with one node more or less, or with slightly different NICs.
struct NearCluster {
  /// Text that follows the name of a job: "on 33 nodes", "with NICs 5 % slower".
  std::string difference;
  std::shared_ptr<const Cluster> cluster;
};

}  // namespace ddpsim
