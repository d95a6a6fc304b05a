// Constants of the pipeline cost model for clusters that are not calibrated: one set for all of them, each
// with a physical meaning. `constants_of` picks those of a cluster.
//
// Learned by tests/accuracy/fit_cost_model.py from the open all_reduce_perf logs named beside
// them; no constant belongs to one log or one cluster.
#pragma once

#include <array>
#include <limits>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/fabric.hpp"

namespace ddpsim {

/// By GPU generation: before sm_80, sm_80 to sm_89, sm_90 and later.
using GenerationRate = std::array<double, 3>;

/// How long one kind of network takes from GPU to GPU, in microseconds.
struct NetworkLatency {
  ProtocolLatency hop_us{};  ///< proxy threads, NIC and wire, by protocol
  double rendezvous_us = 0;  ///< more for messages from 64 KiB on, which the provider negotiates
  /// Of the above, what one hop of a chain takes. A ring's all-reduces hide part of theirs, and the longest way of
  /// several GPUs a node crosses 2 N times where the fit counts 2 (N - 1).
  double unhidden = 1;
  double wire_us = 0;  ///< of the above the wire and its switches, one way: what a cluster's
                       ///< stated latency replaces
};

struct PipelineConstants {
  /// us. Kernel launch and rendezvous of all ranks. All logs of one process per GPU; V100, GH200.
  double launch_us = 7.0;
  /// us by protocol, beside the launch: first round of buffer handshakes. NVLink logs, 2 to 8 GPUs.
  ProtocolLatency start_us{0, 36, 38};
  /// The same of NVLS, and us per wave of chunks through the switch. DGX H100 and an H200 node.
  double nvls_start_us = 31;
  double nvls_wave_us = 2.3;
  /// What NVLS keeps of its rate for each doubling of the GPUs a switch adds up, beyond eight: one rack of 72.
  double nvls_fan_in = 0.935;
  /// us per hop between two GPUs of a node by NVLink. V100 and A100 logs.
  ProtocolLatency nvlink_us{0.84, 2.2, 4.0};
  /// The same through PCIe (LL128 does not run there). RTX 4090 and A100 PCIe logs.
  ProtocolLatency pcie_us{4.0, 3.9, 3.9};
  /// Factor on start and local hops since sm_90: faster fences and polling. H100, GH200, H800 logs.
  double hopper_latency = 0.43;
  /// InfiniBand and RoCE: ABCI, DGX A100, a B200 pair, GKE.
  NetworkLatency rdma{.hop_us = {5.3, 13.5, 30}, .rendezvous_us = 0, .wire_us = 1.5};
  /// EFA on p3dn, p4d and p5. One hop of LL: 22 us on two p3dn of one GPU, 33 by what 4 and 8 nodes take longer than 2;
  /// of Simple there 50 us in messages of 32 to 64 KiB, 83 of 128 KiB, beside their bytes.
  NetworkLatency efa{.hop_us = {47, 45, 45}, .rendezvous_us = 88, .unhidden = 0.65, .wire_us = 2.5};
  /// Slingshot on three sites.
  NetworkLatency slingshot{.hop_us = {11.7, 82, 82}, .rendezvous_us = 0, .wire_us = 2.5};
  /// Sockets: p3dn, Polaris and a 10 Gb/s log.
  NetworkLatency socket{.hop_us = {21, 131, 131}, .rendezvous_us = 0, .wire_us = 15};
  /// How latencies between nodes hide behind the transfer: 1 adds them up, infinity hides the
  /// shorter wholly. Proxies work beside the kernel, but every chunk waits for the one before.
  /// Between 2 and 3 for every cluster measured at several numbers of nodes.
  double overlap = 2.5;
  /// us per hop between nodes and channel beside the first: one proxy thread serves them all.
  /// 1.0 on Slingshot, 0.35 to 0.6 over InfiniBand.
  double channel_us = 0.3;
  /// Share of NVLink's nominal rate that carries payload, by generation: headers, credits, switch.
  /// V100 (DGX-1, ABCI), A100 (six logs), H100, GH200 and H800.
  GenerationRate nvlink_share{0.90, 0.76, 0.82};
  /// The same of AMD's xGMI. Not learned: RCCL counts on 48 of an MI300X link's 64 GB/s (graph/topo.h; 36
  /// of 50 of an MI250X's).
  double xgmi_share = 0.75;
  /// The same with every stream through the switch's reduction: Hopper, Blackwell.
  std::array<double, 2> nvls_share{0.707, 0.615};
  /// The same of PCIe on the way through host memory, by which NCCL leaves a root (graph/paths.cc: peer to peer up
  /// to one bridge): one kernel writes there, another reads, and every byte crosses each slot once. 0.47 by the logs of
  /// RTX 2080 Ti, RTX 4090 and A100; 0.45 the geometric mean over eight machines of PCIe 3, 4 and 5 (0.24 to 0.67).
  /// To and from NICs that do not reach GPU memory it is the same way: over networks a V100 whose NCCL was told to send
  /// nothing has 0.41 (PCIe 3), an A100 with its NIC on the other socket 0.29 (PCIe 4).
  double host_share = 0.46;
  /// The same peer to peer under one root. Four RTX 4090 of one socket, by a driver that allows it.
  double one_root_share = 0.80;
  /// GB/s that one thread block writes to and reads from host memory with Simple: none moves less than a log carried.
  /// 14.9 on eight A100 of two sockets, for which NCCL's search finds two channels, whatever the processors.
  double host_block_gbps = 7.4;
  /// Share of a NIC's nominal rate that carries payload. DGX A100 and ABCI; p4d and p5; three
  /// Slingshot sites; sockets: a 10 Gb/s log.
  double rdma_share = 0.94;
  double efa_share = 0.82;
  double slingshot_share = 0.94;
  double socket_share = 0.71;
  /// GB/s of one NIC at most through sockets: the processor copies. p3dn and Polaris.
  double socket_gbps = 4.6;
  /// GB/s of one channel's connection: NCCL opens one socket per channel, driven by one thread (on
  /// Amazon's NICs sixteen, by two threads; net_socket.cc). p3dn and Polaris, two channels per NIC.
  double connection_gbps = 2.3;
  /// The same through a NIC that the hypervisor emulates: 5 Gb/s of frames, what Amazon's
  /// documentation allows a single flow between any two instances. A log over virtual NICs carried 0.41
  /// per connection, p3dn 1.15 per thread.
  double virtual_connection_gbps = 0.60;
  /// us that a message of Simple keeps its connection beside its bytes, presumably while GPU and
  /// proxy hand it over. p3dn and Polaris, from 256 KiB up: root mean square of log(modelled / measured)
  /// 0.21 without, 0.11 with it; 20 to 26 do as well.
  double message_us = 22;
  /// GB/s of one NIC at most where GPUs on PCIe 4 reach it through the processor. Polaris.
  double host_bridge_gbps = 18.5;
  /// Factor on EFA beside Volta, the first generation: its provider moves data in software, in a thread of the
  /// process. p3dn with eight GPUs a node, 5.4 to 5.7 of 12.5 GB/s.
  double first_efa = 0.50;
  /// Factor on that where one process both sends and receives: its thread does both. p3dn with one GPU a node: 2.55.
  double first_efa_both_ways = 0.5;
  /// GB/s of payload one thread block moves with LL, with LL128, by generation. (With Simple the
  /// links bind first, but in Blackwell's trees.) V100, A100, H100 and GH200 logs below 32 MiB. A block has as many
  /// threads on two channels as on 24, so none moves less than a log of any number of channels carried: V100 6.0
  /// (8 MiB, launch and all), A100 9.7 (rings of a DGX A100 pair, what 8 to 64 MiB differ by; its links bind at 11).
  /// On H100 links bind in every log (14.4), and no log of Blackwell has LL128 rings. What NCCL expects of a channel of two
  /// blocks (perChMaxRingLL128Bws in graph/tuning.cc) is 20 on A100, as the logs say; 36.7 on Hopper, and half of it stands
  /// here; on Blackwell 34.6 between two nodes (2.28) and 40 (2.30), where 2.27 had twice Hopper's.
  GenerationRate ll_gbps{2.9, 1.53, 5.6};
  GenerationRate ll128_gbps{6.5, 9.5, 18.3};
  /// The same over NVLink with Simple, Blackwell's by itself. In no log does it bind, as NCCL has channels enough for the links; it is
  /// for whoever asks for fewer (NCCL_MAX_NCHANNELS). What NCCL expects of a channel with LL128.
  GenerationRate simple_gbps{20, 20, 36.7};
  double blackwell_simple_gbps = 73.4;
  /// GB/s of data that one process sends through a NIC with LL: its proxy looks at the flags of every line before it
  /// sends them (transport/net.cc), whatever the GPU. Two tables of two L40S, 3.1 to 3.3 at 256 and 512 KiB; between no
  /// two machines of one GPU a node does LL carry more.
  double ll_proxy_gbps = 3.3;
  /// Trees between nodes. Of a protocol's start that its hops do not hide: on borders from LL to LL128 the logs of
  /// ABCI, p4d, p5 and a3mega grow by 1.05 to 1.56 per doubling.
  double tree_start = 0.3;
  /// Of a ring's hop of Simple on Slingshot. Alps and Polaris at 8 to 128 nodes below 8 MiB: 57 us less than 82, each.
  double slingshot_tree_hop = 0.3;
  /// Of a ring's rate through a NIC: two nodes whose NICs serve several GPUs each (p4d 0.57, ABCI V100 0.5, Polaris by
  /// sockets 0.7; with a NIC for every GPU Alps, Lambda and a3mega reach all of it), and any three nodes or more (Alps,
  /// Polaris, Kestrel), but those of Blackwell with a NIC for every GPU (GB200: three domains of 8 and of 4 reach 95 %
  /// of what their NICs carry).
  double tree_shared_nics = 0.55;
  double tree_branches = 0.7;
  /// GB/s that a whole thread block reads and writes in a tree on Blackwell (`tree_touches`). 8 to 512 B200 by algorithm,
  /// on 32 channels in one node and 16 between nodes, with Simple: 74 (where links nearly bind), 85 with two nodes, 76
  /// with more. NVLSTree moves the same bytes over the same NICs twice as fast, so no wire is what binds there. NCCL's own
  /// caps of its LL128 trees (graph/tuning.cc, 2.28) are 84 with two nodes and with more.
  double blackwell_block_gbps = 79;
};

/// What trees between nodes do unlike rings, for clusters that are not calibrated: a log that was taught had trees of
/// its own.
struct TreeFactors {
  double start = 1;       ///< on the protocol's start
  double simple_hop = 1;  ///< on a hop of Simple between nodes
  double network = 1;     ///< on the rate of the NICs
  /// Of data that a channel reduces with LL128, with Simple.
  double ll128_gbps = std::numeric_limits<double>::infinity();
  double simple_gbps = std::numeric_limits<double>::infinity();
};

TreeFactors tree_factors(const Cluster& cluster);

/// The terms of the cost model for one operation; `cost` is their sum, and the flow network runs a
/// pipeline of the same start, hops and pace. Microseconds.
struct PipelineTerms {
  double start_us = 0;        ///< launch and first handshakes: no byte moves
  double latency_us = 0;      ///< of all hops on the longest way, every loop
  double fill_us = 0;         ///< until the last hop of the pipeline has something to do
  double transfer_us = 0;     ///< traffic at the rate of the slowest part
  double local_hop_us = 0;    ///< latency of one hop inside a node
  double network_hop_us = 0;  ///< latency of one hop between nodes
  double loops = 1;           ///< a ring walks its hops so many times
  double payload = 1;         ///< share of the bytes on the wire that are data

  double total_us() const { return start_us + latency_us + fill_us + transfer_us; }
};

/// Precondition: more than one rank.
PipelineTerms pipeline_terms(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
                             const Cluster& cluster);

/// Bytes per second that the TCP connections of so many channels carry at most, in messages of so
/// many bytes; infinite where NCCL opens none.
double connections_rate(int channels, const Cluster& cluster,
                        double message = std::numeric_limits<double>::infinity());

/// Bytes per second that so many thread blocks move through host memory; infinite where no hop inside a node passes it.
double host_blocks_rate(int channels, const Cluster& cluster);
/// Bytes per second that thread blocks move with Simple over NVLink, where channels are limited (CollectiveChoice::channel_limit);
/// infinite where they are not.
double nvlink_blocks_rate(int limit, const Cluster& cluster);

/// Share of NVLink's (AMD: xGMI's) nominal rate that carries payload, whatever NCCL uses between the
/// GPUs.
double nvlink_share(const Cluster& cluster);

/// Share of a link's nominal rate that traffic of any kind can fill: headers and credits excluded.
/// What one GPU reaches through it may be less, and is the cost model's business.
double wire_share(LinkKind kind, const Cluster& cluster);

/// Bytes of data per second that the proxies of a node's processes send with LL.
double ll_proxies_rate(int channels, const Cluster& cluster);

/// Of a hop between nodes as all-reduces on rings show it, what one hop of a chain takes.
double unhidden_hop_share(const Cluster& cluster);

/// PCIe sends 128 to 256 bytes behind 24 to 28 of headers. (GPU to GPU it reaches far less.)
inline constexpr double kPciePackets = 0.85;

/// Share of a GPU's slot that carries payload between it and the network: less where all passes host memory.
double slot_share_to_nics(const Cluster& cluster);

/// How much faster than its cost model alone a calibrated all-reduce of 64 KiB and more is at most on this
/// cluster; at least 1.
double fastest_correction(const Cluster& cluster);

}  // namespace ddpsim
