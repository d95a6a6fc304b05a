// Constants of the pipeline cost model for clusters that are not calibrated. There is one set for
// all of them, and each constant has a physical meaning. `constants_of` picks those of a cluster.
//
// tests/accuracy/fit_cost_model.py learned them from the open all_reduce_perf logs named with each
// constant. No constant belongs to one log or one cluster.
#pragma once

#include <array>
#include <limits>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/fabric.hpp"

namespace ddpsim {

/// By GPU generation: before sm_80, sm_80 to sm_89, sm_90 and later.
using GenerationRate = std::array<double, 3>;

/// Latency of one kind of network from GPU to GPU, in microseconds.
struct NetworkLatency {
  ProtocolLatency hop_us{};  ///< proxy threads, NIC and wire, by protocol
  /// Additional time for messages of 64 KiB and more, which the provider negotiates.
  double rendezvous_us = 0;
  /// Share of hop_us that one hop of a chain takes. A ring's all-reduce hides part of its hops:
  /// with several GPUs a node, the longest way crosses 2 N where the fit counts 2 (N - 1).
  double unhidden = 1;
  /// Part of hop_us spent in the wire and its switches, one way. A cluster's stated latency
  /// replaces it.
  double wire_us = 0;
};

struct PipelineConstants {
  /// us. Kernel launch and rendezvous of all ranks. Source: all logs with one process per GPU;
  /// V100, GH200.
  double launch_us = 7.0;
  /// us by protocol, in addition to the launch: first round of buffer handshakes. NVLink logs, 2 to
  /// 8 GPUs.
  ProtocolLatency start_us{0, 36, 38};
  /// us of the start of NVLS in addition to the launch, and us per wave of chunks through the
  /// switch. DGX H100 and an H200 node.
  double nvls_start_us = 31;
  double nvls_wave_us = 2.3;
  /// Factor on NVLS's rate for each doubling of the GPUs a switch adds up, beyond eight. Source:
  /// one rack of 72.
  double nvls_fan_in = 0.935;
  /// us per NVLink hop between two GPUs of a node. V100 and A100 logs.
  ProtocolLatency nvlink_us{0.84, 2.2, 4.0};
  /// us per PCIe hop between two GPUs of a node. LL128 does not run over PCIe. RTX 4090 and A100
  /// PCIe logs.
  ProtocolLatency pcie_us{4.0, 3.9, 3.9};
  /// Factor on start and local hops since sm_90: faster fences and polling. H100, GH200, H800 logs.
  double hopper_latency = 0.43;
  /// InfiniBand and RoCE: ABCI, DGX A100, a B200 pair, GKE.
  NetworkLatency rdma{.hop_us = {5.3, 13.5, 30}, .rendezvous_us = 0, .wire_us = 1.5};
  /// EFA on p3dn, p4d and p5. One hop of LL takes 22 us on two p3dn with one GPU each, and 33 us
  /// judging by how much longer 4 and 8 nodes take than 2. One hop of Simple there takes 50 us for
  /// messages of 32 to 64 KiB and 83 us for 128 KiB, besides the bytes.
  NetworkLatency efa{.hop_us = {47, 45, 45}, .rendezvous_us = 88, .unhidden = 0.65, .wire_us = 2.5};
  /// Slingshot at three sites.
  NetworkLatency slingshot{.hop_us = {11.7, 82, 82}, .rendezvous_us = 0, .wire_us = 2.5};
  /// Sockets: p3dn, Polaris and a 10 Gb/s log.
  NetworkLatency socket{.hop_us = {21, 131, 131}, .rendezvous_us = 0, .wire_us = 15};
  /// Exponent q that says how much the latencies between nodes hide behind the transfer: the two
  /// take (latencies^q + transfer^q)^(1/q). With q = 1 they add up. With q = infinity, the shorter
  /// of the two hides completely. Proxies work in parallel with the kernel, but every chunk waits
  /// for the chunk before it. The exponent is between 2 and 3 for every cluster that was measured at
  /// several numbers of nodes.
  double overlap = 2.5;
  /// us per hop between nodes for each channel after the first: one proxy thread serves all
  /// channels. 1.0 on Slingshot, 0.35 to 0.6 over InfiniBand.
  double channel_us = 0.3;
  /// Share of NVLink's nominal rate that carries payload, by generation: headers, credits, switch.
  /// V100 (DGX-1, ABCI), A100 (six logs), H100, GH200 and H800.
  GenerationRate nvlink_share{0.90, 0.76, 0.82};
  /// Share of xGMI's nominal rate that carries payload. Not learned: RCCL assumes 48 of an MI300X
  /// link's 64 GB/s, and 36 of an MI250X link's 50 (graph/topo.h).
  double xgmi_share = 0.75;
  /// Share of NVLink's nominal rate that carries payload if every stream goes through the switch's
  /// reduction: Hopper, Blackwell.
  std::array<double, 2> nvls_share{0.707, 0.615};
  /// Share of PCIe's nominal rate that carries payload if data goes through host memory. NCCL does
  /// that between root ports (graph/paths.cc allows peer to peer up to one bridge). One kernel
  /// writes to host memory, another reads, and every byte crosses each slot once.
  ///
  /// Logs of RTX 2080 Ti, RTX 4090 and A100 give 0.47. Eight machines of PCIe 3, 4 and 5 have 0.24
  /// to 0.67, with a geometric mean of 0.45.
  ///
  /// NICs that do not reach GPU memory use the same way. A V100 whose NCCL was modified to send
  /// nothing over the network has 0.41 (PCIe 3). An A100 with its NIC on the other socket has 0.29
  /// (PCIe 4).
  double host_share = 0.46;
  /// Share of PCIe's nominal rate that carries payload peer to peer under one root port. Four RTX
  /// 4090 of one socket, with a driver that allows it.
  double one_root_share = 0.80;
  /// GB/s that one thread block writes to and reads from host memory with Simple. No log shows a
  /// lower rate. Eight A100 of two sockets carried 14.9 with the two channels that NCCL's search
  /// finds, on every kind of processor.
  double host_block_gbps = 7.4;
  /// Share of a NIC's nominal rate that carries payload. DGX A100 and ABCI; p4d and p5; three
  /// Slingshot sites; for sockets a 10 Gb/s log.
  double rdma_share = 0.94;
  double efa_share = 0.82;
  double slingshot_share = 0.94;
  double socket_share = 0.71;
  /// Most GB/s of one NIC through sockets, because the processor copies. p3dn and Polaris.
  double socket_gbps = 4.6;
  /// GB/s of one channel's connection. NCCL opens one socket per channel, driven by one thread; on
  /// Amazon's NICs it is sixteen sockets and two threads (net_socket.cc). p3dn and Polaris, two
  /// channels per NIC.
  double connection_gbps = 2.3;
  /// GB/s of one channel's connection through a NIC that the hypervisor emulates: 5 Gb/s of frames,
  /// which Amazon's documentation gives as the limit of a single flow between two instances. A log
  /// over virtual NICs carried 0.41 per connection, p3dn 1.15 per thread.
  double virtual_connection_gbps = 0.60;
  /// us that a message of Simple occupies its connection besides its bytes, presumably while GPU
  /// and proxy hand it over. Source: p3dn and Polaris, from 256 KiB up. With it, the root mean
  /// square of log(modelled / measured) is 0.11; without it, 0.21. Values from 20 to 26 fit equally
  /// well.
  double message_us = 22;
  /// Most GB/s of one NIC if GPUs on PCIe 4 reach it through the processor. Polaris.
  double host_bridge_gbps = 18.5;
  /// Factor on EFA of the first generation, with Volta. Its provider moves data in software, in a
  /// thread of the process. p3dn with eight GPUs a node reaches 5.4 to 5.7 of 12.5 GB/s.
  double first_efa = 0.50;
  /// Further factor if one process both sends and receives, because its thread does both. p3dn with
  /// one GPU a node reaches 2.55.
  double first_efa_both_ways = 0.5;
  /// GB/s of payload that one thread block moves with LL and with LL128, by generation. (With
  /// Simple the links limit first, except in Blackwell's trees.) Source: V100, A100, H100 and GH200
  /// logs below 32 MiB.
  ///
  /// A block has as many threads on two channels as on 24. So a block moves at least what any log
  /// carried per channel. V100 carried 6.0 (8 MiB, including the launch). A100 carried 9.7: rings
  /// of a DGX A100 pair, from the difference between 8 and 64 MiB; its links limit at 11. On H100
  /// the links limit in every log (14.4). No log of Blackwell has LL128 rings.
  ///
  /// NCCL expects for a channel of two blocks (perChMaxRingLL128Bws in graph/tuning.cc) 20 on A100,
  /// as the logs say, and 36.7 on Hopper. Half of the latter is used here. On Blackwell it expects
  /// 34.6 between two nodes (2.28) and 40 (2.30); 2.27 had twice Hopper's.
  GenerationRate ll_gbps{2.9, 1.53, 5.6};
  GenerationRate ll128_gbps{6.5, 9.5, 18.3};
  /// GB/s of one channel over NVLink with Simple, with a separate value for Blackwell. It limits no
  /// log, because NCCL uses enough channels for the links. It matters if fewer are set
  /// (NCCL_MAX_NCHANNELS). The values are what NCCL expects of a channel with LL128.
  GenerationRate simple_gbps{20, 20, 36.7};
  double blackwell_simple_gbps = 73.4;
  /// GB/s of data that one process sends through a NIC with LL on any GPU: its proxy checks the
  /// flags of every line before it sends them (transport/net.cc). Two tables of two L40S show 3.1
  /// to 3.3 at 256 and 512 KiB. LL carries no more between any two machines with one GPU a node.
  double ll_proxy_gbps = 3.3;
  /// For trees between nodes: share of a protocol's start that its hops do not hide. At the change
  /// from LL to LL128, the logs of ABCI, p4d, p5 and a3mega grow by 1.05 to 1.56 per doubling.
  double tree_start = 0.3;
  /// Factor on a ring's hop of Simple over Slingshot. Alps and Polaris, 8 to 128 nodes below 8 MiB:
  /// each hop takes 57 us less than 82.
  double slingshot_tree_hop = 0.3;
  /// Factors on a ring's rate through a NIC.
  ///
  /// The first is for two nodes whose NICs serve several GPUs each: p4d 0.57, ABCI V100 0.5,
  /// Polaris by sockets 0.7. With a NIC for every GPU, Alps, Lambda and a3mega reach the full rate.
  ///
  /// The second is for three nodes or more (Alps, Polaris, Kestrel). Blackwell with a NIC for every
  /// GPU is an exception: on GB200, three domains of 8 and of 4 reach 95 % of what their NICs
  /// carry.
  double tree_shared_nics = 0.55;
  double tree_branches = 0.7;
  /// GB/s that all threads of a block together read and write in a tree on Blackwell
  /// (`tree_touches`).
  ///
  /// Source: logs of 8 to 512 B200 that give the time of each algorithm with Simple. They used 32
  /// channels in one node and 16 between nodes. The rate is 74 in one node, where NVLink is almost
  /// the limit. It is 85 with two nodes and 76 with more. The NICs are not the limit, because
  /// NVLSTree moves the same bytes over them twice as fast. NCCL itself caps its LL128 trees at 84
  /// on two nodes or more (graph/tuning.cc, 2.28).
  double blackwell_block_gbps = 79;
};

/// How trees between nodes differ from rings, for clusters that are not calibrated. The logs of a
/// calibrated cluster contain its own trees.
struct TreeFactors {
  double start = 1;       ///< on the protocol's start
  double simple_hop = 1;  ///< on a hop of Simple between nodes
  double network = 1;     ///< on the rate of the NICs
  /// GB/s of data that a channel reduces, with LL128 and with Simple.
  double ll128_gbps = std::numeric_limits<double>::infinity();
  double simple_gbps = std::numeric_limits<double>::infinity();
};

TreeFactors tree_factors(const Cluster& cluster);

/// The terms of the cost model for one operation; `cost` is their sum, and the flow network runs a
/// pipeline of the same start, hops and pace. Microseconds.
struct PipelineTerms {
  double start_us = 0;        ///< launch and first handshakes: no byte moves
  double latency_us = 0;      ///< all hops on the longest way, all loops
  double fill_us = 0;         ///< until the pipeline's last hop is busy
  double transfer_us = 0;     ///< traffic at the rate of the slowest part
  double local_hop_us = 0;    ///< latency of one hop inside a node
  double network_hop_us = 0;  ///< latency of one hop between nodes
  double loops = 1;           ///< times a ring walks its hops
  double payload = 1;         ///< data share of the bytes sent

  double total_us() const { return start_us + latency_us + fill_us + transfer_us; }
};

/// Precondition: more than one rank.
PipelineTerms pipeline_terms(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
                             const Cluster& cluster);

/// Highest rate, in bytes per second, of the TCP connections of `channels` channels. They send
/// messages of `message` bytes. Infinite if NCCL opens no connections.
double connections_rate(int channels, const Cluster& cluster,
                        double message = std::numeric_limits<double>::infinity());

/// Bytes per second that the thread blocks of `channels` channels move through host memory.
/// Infinite if no hop inside a node goes through host memory.
double host_blocks_rate(int channels, const Cluster& cluster);
/// Bytes per second that thread blocks move with Simple over NVLink if channels are limited
/// (CollectiveChoice::channel_limit). Infinite if they are not.
double nvlink_blocks_rate(int limit, const Cluster& cluster);

/// Share of the nominal rate of NVLink (AMD: xGMI) that carries payload, whatever NCCL uses between
/// the GPUs.
double nvlink_share(const Cluster& cluster);

/// Share of a link's nominal rate that traffic of any kind can fill, without headers and credits.
/// One GPU may reach less; that is up to the cost model.
double wire_share(LinkKind kind, const Cluster& cluster);

/// Bytes of data per second that the proxies of a node's processes send with LL.
double ll_proxies_rate(int channels, const Cluster& cluster);

/// Share of a hop between nodes, as measured in all-reduces on rings, that one hop of a chain
/// takes.
double unhidden_hop_share(const Cluster& cluster);

/// PCIe sends 128 to 256 bytes after 24 to 28 bytes of headers. (GPU to GPU it reaches far less.)
inline constexpr double kPciePackets = 0.85;

/// Share of a GPU's slot that carries payload between it and the network. It is less if everything
/// goes through host memory.
double slot_share_to_nics(const Cluster& cluster);

/// Largest factor by which a calibrated all-reduce of 64 KiB or more is faster than the cost model
/// alone on this cluster; at least 1.
double fastest_correction(const Cluster& cluster);

}  // namespace ddpsim
