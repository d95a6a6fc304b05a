// The machine, sealed: everything the simulator needs about GPUs, links and NCCL's view of them, as
// plain numbers. `topologies` builds it from files and one-line forms; the simulator only reads it.
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
  /// The model, never form factor or memory size: "V100". Jobs and calibrations are compared by it.
  std::string name;
  /// The product whose figures these are: "V100-16GB". Empty where nobody said (tests).
  std::string variant;
  bool variant_open = false;  ///< the name fits several variants; the first of them was taken
  bool card = false;          ///< a PCIe card: NVLink only over bridges
  GpuVendor vendor = GpuVendor::nvidia;
  /// 70 for sm_70. AMD: of the NVIDIA generation whose rows of NCCL's tables stand in for RCCL's.
  int compute_capability = 0;
  int sms = 0;                 ///< AMD: compute units
  Bandwidth memory_bandwidth;  ///< peak, read plus write
  double fp32_tflops = 0;      ///< whole fp32 products: outside the tensor cores, AMD's within
  double tf32_tflops = 0;      ///< tensor cores, dense; 0: has no TensorFloat-32
  double half_tflops = 0;      ///< fp16 products summed in fp32, dense; bfloat16 as well from sm_80
  Bytes memory;
  std::optional<int> links;  ///< NVLinks, or AMD's xGMI, to other GPUs; 0: PCIe alone

  /// "V100-16GB", or "V100" where the variant is not known.
  const std::string& product() const { return variant.empty() ? name : variant; }
  /// "V100-16GB" where somebody said so; empty where the variant is open, or the model has one alone.
  std::string known_variant() const { return variant_open || variant == name ? "" : variant; }
  /// Another model, or another variant where both are known.
  bool is_another(const GpuModel& other) const {
    return name != other.name ||
           (!variant_open && !other.variant_open && product() != other.product());
  }
  /// As somebody named it: the model alone where that left the variant open.
  const std::string& stated() const { return variant_open ? name : product(); }
};

/// How GPUs of one node reach each other.
enum class IntraKind {
  none,      ///< one GPU per node
  nvswitch,  ///< every pair at full bandwidth
  nvlink,    ///< direct links: NVLink, between AMD's GPUs xGMI (one kind of link in RCCL as well)
  pcie,      ///< through PCIe switches or the host
};

enum class NetworkKind { none, infiniband, roce, tcp, efa, slingshot };

/// 1448 bytes of payload in 1514 of an Ethernet frame: what several sockets carry together.
inline constexpr double kFramePayload = 0.956;

/// What lies between NCCL's sockets and the wire (NetworkKind::tcp).
enum class Sockets {
  host,         ///< a NIC of the host's own, or a virtual function of one (SR-IOV, ENA)
  virtual_nic,  ///< one that the hypervisor emulates (netvsc, virtio): its switch copies every packet
  gpudirect,    ///< a plugin with which the NIC reaches GPU memory (GPUDirect-TCPX, -TCPXO)
};

/// NCCL's path classes as its tuning model tells them apart (graph/topo.h).
enum class PathKind { nvlink, pcie, network };

/// Result of NCCL's channel search for one algorithm: channels before doubling and bandwidth per
/// channel (NCCL's own derated figures, not nominal rates).
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
  sockets,  ///< peer to peer under each root; from root to root data pass the processor, at host memory's rate
  host,  ///< through host memory: the driver forbids peer to peer, or the machine cannot
};

struct Interconnect {
  IntraKind kind = IntraKind::none;
  Bandwidth per_gpu;  ///< nominal, one direction, all links of a GPU that a ring can use
  int links_per_gpu = 0;
  PeerAccess peers = PeerAccess::sockets;  ///< pcie
  bool peers_assumed = false;              ///< nobody said so: by the GPU
  Bandwidth
      to_host;  ///< pcie: nominal, of one GPU's way to host memory while all use theirs; 0: per_gpu
  bool roots_assumed = false;  ///< pcie: nobody said how many GPUs share a root port
};

struct Network {
  NetworkKind kind = NetworkKind::none;
  Sockets sockets = Sockets::host;
  int nics_per_node = 0;
  Bandwidth per_nic;                    ///< nominal, one direction
  std::optional<Duration> latency;      ///< one way, only when stated; otherwise the kind's default
  std::optional<Bandwidth> connection;  ///< what one TCP connection carries, only when stated
  double oversubscription = 1;     ///< R: of what a switch takes from below, 1/R goes on upwards
  bool gpudirect = true;           ///< NICs reach GPU memory themselves; never so with tcp
  bool gpudirect_assumed = false;  ///< InfiniBand and RoCE: nobody said so
  bool collnet = false;            ///< switches reduce (SHARP): CollNet and NVLS between nodes
};

/// So few GPUs a node, each at work on a NIC of its own, feel whether NICs reach GPU memory more than anything else.
inline constexpr int kFewGpus = 2;

/// Whether the processor copies what NCCL sends into TCP connections. Without it a plugin drives the
/// NICs, whatever protocol they speak.
constexpr bool through_sockets(const Network& network) {
  return network.kind == NetworkKind::tcp && network.sockets != Sockets::gpudirect;
}

/// Where NVLink joins the GPUs of several machines (a rack), NCCL takes the whole NVLink domain for one node (mnnvl.cc):
/// `nodes` then counts domains, `gpus_per_node` the GPUs of one, and `hosts_per_node` its machines. What users launch
/// and pay for, and whatever is one machine's (its processes, CPUs, memory), goes by hosts.
struct NearCluster;

struct Cluster {
  std::string name;
  int nodes = 1;
  int gpus_per_node = 1;
  int hosts_per_node = 1;  ///< divides gpus_per_node
  GpuModel gpu;
  StatedCosts gpu_costs;  ///< what DDP's kernels take on it, as measured
  Interconnect intra;
  Network network;
  CpuVendor cpu = CpuVendor::unknown;
  SearchGraph ring;
  SearchGraph tree;
  /// All edges of a tree between nodes end at one GPU of each node (NCCL_TOPO_PATTERN_TREE): no two GPUs are equally
  /// near a NIC, or a node has no second one. Otherwise two GPUs share them (BALANCED_TREE).
  bool tree_at_one_gpu = false;
  SearchGraph nvls{.channels = 0};  ///< one channel for each head in a node; 0: no NVLink SHARP
  int nvls_channels = 0;            ///< thread blocks of an NVLS operation; 0: no NVLink SHARP
  int degraded_links = 0;           ///< links below their rate
  /// What the channels ask of the wires, which the cost model obeys; absent: of one rank, or of a cluster that is no
  /// more than its figures. Shared by copies.
  std::shared_ptr<const LinkLoads> loads;
  /// The same with all nodes under one leaf, where nobody said which share leaves and the network
  /// above is narrow: `loads` then has a leaf for every node.
  std::shared_ptr<const LinkLoads> loads_under_one_leaf;
  /// The same with each node's neighbours in rank order under other leaves, where the leaves are known, the network above
  /// them is narrow, and nobody said in which order ranks lie on them: `loads` then has them in order.
  std::shared_ptr<const LinkLoads> loads_scattered;
  bool verified = false;  ///< a log stands behind the figures
  std::vector<std::string> sources;
  /// What the files it was read from leave open or show as faulty, a sentence each: every answer says them.
  std::vector<std::string> doubts;
  std::vector<Price> prices;  ///< latest first; empty where none is known
  /// Absent where no log of this cluster was fitted. Shared by copies, at every number of nodes.
  std::shared_ptr<const Calibration> calibration;
  /// The same of gloo's.
  std::shared_ptr<const GlooCalibration> gloo;
  /// Some of its nodes, or of their GPUs, for process groups that hold no more: one entry per size asked for. None where
  /// nodes differ.
  std::vector<std::shared_ptr<const Cluster>> groups;
  /// Clusters that differ from this one by less than anyone should build an advice on; empty unless asked for.
  std::vector<NearCluster> near;

  int ranks() const { return nodes * gpus_per_node; }
  int hosts() const { return nodes * hosts_per_node; }
  int gpus_per_host() const { return gpus_per_node / hosts_per_node; }
};

/// A cluster with one node more or less, or slightly other NICs.
struct NearCluster {
  std::string difference;  ///< behind a job: "on 33 nodes", "with NICs 5 % slower"
  std::shared_ptr<const Cluster> cluster;
};

}  // namespace ddpsim
