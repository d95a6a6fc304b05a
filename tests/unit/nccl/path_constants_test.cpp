// Which constants of the pipeline cost model hold for a cluster without a fitted log: by GPU, by
// path inside the node, by network. The numbers are those with each constant in pipeline_cost.hpp.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "pipeline_cost.hpp"
#include "pipeline_path.hpp"
#include "round_costs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

Cluster cluster(int capability, NetworkKind kind = NetworkKind::infiniband,
                Bandwidth nic = 100_Gbps) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 8;
  cluster.gpu.compute_capability = capability;
  cluster.intra = {.kind = IntraKind::nvswitch, .per_gpu = 300_GBps};
  cluster.network = {.kind = kind, .nics_per_node = 1, .per_nic = nic};
  return cluster;
}

void check_latency(const ProtocolLatency& found, const ProtocolLatency& expected) {
  for (std::size_t p = 0; p < expected.size(); ++p) {
    CAPTURE(p);
    CHECK(found[p] == doctest::Approx(expected[p]));
  }
}

}  // namespace

TEST_CASE("a tree sends nothing inside one node, one copy between two, two at a fork") {
  CHECK(tree_traffic(1) == 0);
  CHECK(tree_traffic(2) == 1);
  CHECK(tree_traffic(3) == 1.5);
  CHECK(tree_traffic(4) == 2);
}

TEST_CASE("path constants: a generation of GPUs begins with sm_80, the next with sm_90") {
  struct Expected {
    int capability;
    double nvlink_share, ll_gbps, ll128_gbps, pace;
  };
  for (const Expected& gpu : {Expected{70, 0.90, 2.9, 6.5, 1}, Expected{79, 0.90, 2.9, 6.5, 1},
                              Expected{80, 0.76, 1.53, 9.5, 1}, Expected{89, 0.76, 1.53, 9.5, 1},
                              Expected{90, 0.82, 5.6, 18.3, 0.43}}) {
    CAPTURE(gpu.capability);
    const PathConstants constants = constants_of(cluster(gpu.capability));
    CHECK(constants.local_share == gpu.nvlink_share);
    CHECK(constants.ll_gbps == gpu.ll_gbps);
    CHECK(constants.ll128_gbps == gpu.ll128_gbps);
    CHECK(constants.launch_us == 7);
    check_latency(constants.start_us, {0, 36 * gpu.pace, 38 * gpu.pace});
    check_latency(constants.local_us, {0.84 * gpu.pace, 2.2 * gpu.pace, 4.0 * gpu.pace});
    check_latency(constants.hop_us, {5.3, 13.5, 30});  // the same NIC
    CHECK(constants.channel_us == 0.3);
    CHECK(constants.single_gpu_per_node == 1);
    CHECK(constants.overlap == 2.5);
    CHECK(constants.nvls_start_us == 31);
    CHECK(constants.nvls_wave_us == 2.3);
    // Constants that only logs give are left out.
    CHECK(constants.per_channel_start_us == 0);
    CHECK(constants.ring_ends == 0);
    CHECK(constants.tree_share == 1);
    CHECK(constants.ll_share == 1);
    CHECK(constants.hop_growth == std::array<double, 3>{});
  }
  CHECK(constants_of(cluster(90)).nvls_share == 0.707);
  CHECK(constants_of(cluster(99)).nvls_share == 0.707);
  CHECK(constants_of(cluster(100)).nvls_share == 0.615);
  Cluster rack = cluster(100);
  rack.gpus_per_node = 32;  // two doublings of eight
  CHECK(constants_of(rack).nvls_share == doctest::Approx(0.615 * 0.935 * 0.935));
}

TEST_CASE("path constants: PCIe has its own hops and share, for any GPU") {
  for (const int capability : {70, 80, 90}) {
    Cluster pcie = cluster(capability);
    pcie.intra.kind = IntraKind::pcie;
    const PathConstants constants = constants_of(pcie);
    check_latency(constants.local_us, {4.0, 3.9, 3.9});
    CHECK(constants.local_share == 0.46);
    // Two GPUs share the way to host memory.
    pcie.intra.peers = PeerAccess::host;
    pcie.intra.to_host = pcie.intra.per_gpu / 2;
    CHECK(constants_of(pcie).local_share == 0.23);
    // Direct NVLinks count as NVLink too.
    pcie.intra.kind = IntraKind::nvlink;
    CHECK(constants_of(pcie).local_share == nvlink_share(pcie));
  }
}

TEST_CASE("path constants: each network has its hops, its rendezvous and its share of a NIC") {
  struct Expected {
    NetworkKind kind;
    Sockets sockets;
    ProtocolLatency hop_us;
    double rendezvous_us, share;
  };
  for (const Expected& network :
       {Expected{NetworkKind::infiniband, Sockets::host, {5.3, 13.5, 30}, 0, 0.94},
        Expected{NetworkKind::roce, Sockets::host, {5.3, 13.5, 30}, 0, 0.94},
        Expected{NetworkKind::efa, Sockets::host, {47, 45, 45}, 88, 0.82},
        Expected{NetworkKind::slingshot, Sockets::host, {11.7, 82, 82}, 0, 0.94},
        // The processor copies 4.6 GB/s of 12.5.
        Expected{NetworkKind::tcp, Sockets::host, {21, 131, 131}, 0, 0.368},
        Expected{NetworkKind::tcp, Sockets::virtual_nic, {21, 131, 131}, 0, 0.368},
        // A plugin drives the NICs, as over EFA.
        Expected{NetworkKind::tcp, Sockets::gpudirect, {47, 45, 45}, 88, 0.82}}) {
    CAPTURE(static_cast<int>(network.kind));
    CAPTURE(static_cast<int>(network.sockets));
    Cluster over = cluster(80, network.kind);
    over.network.sockets = network.sockets;
    const PathConstants constants = constants_of(over);
    check_latency(constants.hop_us, network.hop_us);
    CHECK(constants.rendezvous_us == network.rendezvous_us);
    CHECK(constants.nic_share == doctest::Approx(network.share));
  }
}

TEST_CASE("path constants: the first EFA moves data in software, with one thread both ways") {
  const auto constants = [](int capability, bool gpudirect) {
    Cluster over = cluster(capability, NetworkKind::efa);
    over.network.gpudirect = gpudirect;
    return constants_of(over);
  };
  // With Volta, the GPUDirect setting does not matter.
  for (const bool gpudirect : {true, false}) {
    CHECK(constants(70, gpudirect).nic_share == doctest::Approx(0.41));
    CHECK(constants(79, gpudirect).single_gpu_per_node == 0.5);
    CHECK(constants(80, gpudirect).nic_share == doctest::Approx(0.82));
    CHECK(constants(80, gpudirect).single_gpu_per_node == 1);
  }
}

TEST_CASE("path constants: without GPUDirect, slots carry to NICs as much as through host memory") {
  const auto share = [](int capability, NetworkKind kind, bool gpudirect) {
    Cluster over = cluster(capability, kind);
    over.network.gpudirect = gpudirect;
    return slot_share_to_nics(over);
  };
  for (const NetworkKind kind : {NetworkKind::infiniband, NetworkKind::roce, NetworkKind::efa}) {
    CHECK(share(80, kind, true) == kPciePackets);
    CHECK(share(80, kind, false) == 0.46);
  }
  // The first EFA's constants already contain it. Slingshot's NICs are at the processor, and so is
  // the work of sockets.
  CHECK(share(70, NetworkKind::efa, false) == kPciePackets);
  CHECK(share(80, NetworkKind::slingshot, false) == kPciePackets);
  CHECK(share(80, NetworkKind::tcp, false) == kPciePackets);
  // The constants of a log already contain it too.
  Cluster fitted = cluster(80);
  fitted.network.gpudirect = false;
  round_costs::set(fitted, round_costs::constants());
  CHECK(slot_share_to_nics(fitted) == kPciePackets);
}

TEST_CASE("path constants: a GPU's slot, direct or staged, limits what its NICs take from it") {
  // Two NICs of 50 GB/s use a slot of 63 GB/s: 0.85 of it, or 0.46 through host memory. A NIC of
  // 3.1 GB/s reaches neither limit.
  const auto rate = [](const char* nics, bool gpudirect) {
    Cluster lone = cluster(90);
    lone.gpus_per_node = 1;
    lone.network.nics_per_node = nics[0] - '0';
    lone.network.per_nic = nics[0] == '2' ? 50_GBps : 3.125_GBps;
    lone.network.gpudirect = gpudirect;
    LinkLoad ring;
    ring.network[static_cast<std::size_t>(LinkKind::pcie)] = 1 / 63e9;
    LinkLoads loads;
    loads.by_channels[static_cast<std::size_t>(ChannelShape::ring)] = {ring};
    loads.by_channels[static_cast<std::size_t>(ChannelShape::tree)] = {ring};
    lone.loads = std::make_shared<const LinkLoads>(loads);
    return path_of(CollectiveKind::all_reduce, {.algorithm = Algorithm::ring}, lone).network_rate;
  };
  CHECK(rate("2", true) == doctest::Approx(0.85 * 63e9));
  CHECK(rate("2", false) == doctest::Approx(0.46 * 63e9));
  CHECK(rate("1", true) == doctest::Approx(0.94 * 3.125e9));
  CHECK(rate("1", false) == doctest::Approx(0.94 * 3.125e9));
}

TEST_CASE("path constants: a processor that copies, or a host bridge, limits only fast NICs") {
  const auto share = [](int capability, NetworkKind kind, Bandwidth nic) {
    return constants_of(cluster(capability, kind, nic)).nic_share;
  };
  CHECK(share(80, NetworkKind::tcp, 10_Gbps) == doctest::Approx(0.71));
  CHECK(share(80, NetworkKind::tcp, 50_Gbps) == doctest::Approx(0.71));  // 4.4 of 4.6 GB/s
  CHECK(share(80, NetworkKind::tcp, 200_Gbps) == doctest::Approx(4.6 / 25));
  CHECK(share(80, NetworkKind::tcp, Bandwidth()) == doctest::Approx(0.71));
  // Slingshot with PCIe 4 gets 18.5 GB/s of 25.
  CHECK(share(80, NetworkKind::slingshot, 200_Gbps) == doctest::Approx(0.74));
  CHECK(share(80, NetworkKind::slingshot, 100_Gbps) == doctest::Approx(0.94));
  CHECK(share(70, NetworkKind::slingshot, 200_Gbps) == doctest::Approx(0.94));
  CHECK(share(90, NetworkKind::slingshot, 200_Gbps) == doctest::Approx(0.94));
}

TEST_CASE("path constants: a stated latency replaces the wire's share of every hop") {
  const auto hop = [](NetworkKind kind, Sockets sockets, std::size_t protocol) {
    Cluster over = cluster(80, kind);
    over.network.sockets = sockets;
    over.network.latency = 20_us;
    return constants_of(over).hop_us[protocol];
  };
  for (const std::size_t p : {0U, 1U, 2U}) {
    CAPTURE(p);
    const auto of = [&](std::initializer_list<double> usual, double wire) {
      return doctest::Approx(usual.begin()[p] + 20 - wire);
    };
    CHECK(hop(NetworkKind::infiniband, Sockets::host, p) == of({5.3, 13.5, 30}, 1.5));
    CHECK(hop(NetworkKind::efa, Sockets::host, p) == of({47, 45, 45}, 2.5));
    CHECK(hop(NetworkKind::slingshot, Sockets::host, p) == of({11.7, 82, 82}, 2.5));
    CHECK(hop(NetworkKind::tcp, Sockets::host, p) == of({21, 131, 131}, 15));
  }
}

TEST_CASE("path constants: each TCP connection has a rate, which is lower for short messages") {
  Cluster tcp = cluster(80, NetworkKind::tcp);
  CHECK(connections_rate(3, tcp) == doctest::Approx(6.9e9));
  // In the 22 us for which a message occupies its connection, 50,600 bytes could pass. A message of
  // that size gets half the rate.
  CHECK(connections_rate(3, tcp, 50'600) == doctest::Approx(3.45e9));
  CHECK(connections_rate(3, tcp, 3 * 50'600) == doctest::Approx(6.9e9 * 3 / 4));
  CHECK(connections_rate(3, tcp, 0) == doctest::Approx(6.9e9));
  tcp.network.sockets = Sockets::virtual_nic;
  CHECK(connections_rate(3, tcp) == doctest::Approx(1.8e9));
  tcp.network.connection = 2_GBps;
  CHECK(connections_rate(3, tcp) == doctest::Approx(6e9));
  CHECK(connections_rate(3, tcp, 44'000) == doctest::Approx(3e9));
  tcp.network.sockets = Sockets::gpudirect;
  CHECK(connections_rate(3, tcp) == kNoLimit);
  CHECK(connections_rate(3, cluster(80, NetworkKind::efa)) == kNoLimit);
  // A log already contains the connections of its channels.
  Cluster fitted = cluster(80, NetworkKind::tcp);
  round_costs::set(fitted, round_costs::constants());
  CHECK(connections_rate(3, fitted) == kNoLimit);
}

TEST_CASE("path constants: message size reduces the rate of connections for Simple only") {
  Cluster tcp = cluster(80, NetworkKind::tcp);
  tcp.network.connection = 1_GBps;
  const auto rate = [&](Protocol protocol, double message, double busy) {
    const CollectiveChoice choice{
        .algorithm = Algorithm::tree, .protocol = protocol, .channels = 4};
    const Path path{.payload = 0.5, .network_rate = 5e9};
    return rate_of_messages(path, choice, message, tcp, busy);
  };
  CHECK(rate(Protocol::simple, 22'000, 1) == doctest::Approx(1e9));  // half of 4, half payload
  CHECK(rate(Protocol::ll, 22'000, 1) == doctest::Approx(2e9));
  CHECK(rate(Protocol::simple, 22'000, 0.5) == doctest::Approx(0.5e9));
  tcp.network.connection = 100_GBps;
  CHECK(rate(Protocol::ll, 22'000, 1) == 5e9);  // the wire is the limit
  tcp.nodes = 1;
  tcp.network.connection = 1_GBps;
  CHECK(rate(Protocol::simple, 22'000, 1) == 5e9);
}

TEST_CASE("path constants: LL goes through a proxy per sending process, 3.3 GB/s of data each") {
  Cluster two = cluster(90);  // eight GPUs and one NIC each
  CHECK(ll_proxies_rate(16, two) == doctest::Approx(3.3e9));
  two.network.nics_per_node = 4;
  CHECK(ll_proxies_rate(16, two) == doctest::Approx(4 * 3.3e9));
  CHECK(ll_proxies_rate(2, two) == doctest::Approx(2 * 3.3e9));
  two.gpus_per_node = 1;
  CHECK(ll_proxies_rate(16, two) == doctest::Approx(3.3e9));
  const auto rate = [&](Protocol protocol) {
    return path_of(CollectiveKind::all_reduce,
                   {.algorithm = Algorithm::ring, .protocol = protocol, .channels = 4}, two)
        .network_rate;
  };
  CHECK(rate(Protocol::ll) == doctest::Approx(3.3e9));
  CHECK(rate(Protocol::ll128) > 10e9);
  // A log already contains its proxies.
  round_costs::set(two, round_costs::constants());
  CHECK(ll_proxies_rate(16, two) == kNoLimit);
}

TEST_CASE("path constants: the share of a link that traffic of any kind can fill") {
  Cluster two = cluster(80);
  CHECK(wire_share(LinkKind::nvlink, two) == 0.76);
  CHECK(wire_share(LinkKind::pcie, two) == 0.85);
  CHECK(wire_share(LinkKind::socket, two) == 1);
  CHECK(wire_share(LinkKind::nic, two) == doctest::Approx(0.94));
  CHECK(wire_share(LinkKind::network, two) == doctest::Approx(0.94));
  two.gpus_per_node = 1;
  CHECK(wire_share(LinkKind::nic, two) == doctest::Approx(0.94));
  Cluster first_efa = two;
  first_efa.network.kind = NetworkKind::efa;
  first_efa.gpu.compute_capability = 70;
  CHECK(wire_share(LinkKind::nic, first_efa) == doctest::Approx(0.41 * 0.5));
  // If NCCL uses PCIe, its share does not apply to NVLink.
  two.intra.kind = IntraKind::pcie;
  CHECK(wire_share(LinkKind::nvlink, two) == 0.76);
}

TEST_CASE("path constants: corrections to faster widen the links, to slower they do not") {
  // At 1 MiB the logarithm of measured over modelled time is at least -ln 2. Between sizes there is
  // a margin of 2 %.
  Cluster two = round_costs::cluster(2, 4);
  CHECK(fastest_correction(two) == 1);
  const auto with = [&](double weight) {
    Calibration calibration = *two.calibration;
    const OperatingPoint place{2, 4, 1_MiB, Algorithm::ring, Protocol::simple};
    calibration.correction = {{place, weight / 0.0325, 0}};
    Cluster corrected = two;
    corrected.calibration = std::make_shared<const Calibration>(calibration);
    return fastest_correction(corrected);
  };
  CHECK(with(0.5) == 1);
  CHECK(with(-0.6931472) == doctest::Approx(2 * 1.02).epsilon(0.01));
}

TEST_CASE(
    "path constants: unknown PCIe properties range from peer to peer to four GPUs at one root "
    "port") {
  Cluster node = cluster(80);
  node.nodes = 1;
  CHECK(peer_ends(node).fastest == 1);
  CHECK(peer_ends(node).slowest == 1);
  node.intra = {.kind = IntraKind::pcie, .per_gpu = 32_GBps, .to_host = 16_GBps};
  const auto ends = [&](PeerAccess peers, bool peers_assumed, bool roots_assumed) {
    Cluster one = node;
    one.intra.peers = peers;
    one.intra.peers_assumed = peers_assumed;
    one.intra.roots_assumed = roots_assumed;
    const PeerEnds both = peer_ends(one);
    CHECK(both.fastest <= 1);
    CHECK(both.slowest >= 1);
    return std::pair(both.fastest, both.slowest);
  };
  const auto near = [](std::pair<double, double> found, double fastest, double slowest) {
    CHECK(found.first == doctest::Approx(fastest));
    CHECK(found.second == doctest::Approx(slowest));
  };
  for (const PeerAccess peers : {PeerAccess::one_root, PeerAccess::sockets}) {
    near(ends(peers, false, true), 1, 1);
    near(ends(peers, false, false), 1, 1);
  }
  near(ends(PeerAccess::host, false, false), 1, 1);
  // Drawn with two GPUs at a root port; it could be one GPU, or eight.
  near(ends(PeerAccess::host, false, true), 0.5, 4);
  near(ends(PeerAccess::host, true, true), 0.23 / 0.80, 4);
  near(ends(PeerAccess::sockets, true, true), 0.46 / 0.80, 8);
  // A file shows the root ports.
  near(ends(PeerAccess::sockets, true, false), 0.46 / 0.80, 2);
  near(ends(PeerAccess::one_root, true, false), 1, 0.80 / 0.23);
  node.gpus_per_node = 2;
  near(ends(PeerAccess::sockets, true, true), 0.46 / 0.80, 2);

  // Between nodes, it counts only as far as the network does not limit.
  node.gpus_per_node = 8;
  node.nodes = 2;
  near(ends(PeerAccess::sockets, true, true), 1, 11.75 / 1.84);
  node.calibration = std::make_shared<const Calibration>();
  near(ends(PeerAccess::sockets, true, true), 1, 1);
}

TEST_CASE(
    "path constants: a thread block has a rate through host memory, and a higher one peer to "
    "peer") {
  Cluster node = cluster(100);
  node.intra = {.kind = IntraKind::pcie, .per_gpu = 63_GBps, .peers = PeerAccess::host};
  CHECK(host_blocks_rate(2, node) == 14.8e9);
  node.intra.peers = PeerAccess::sockets;
  CHECK(host_blocks_rate(8, node) == doctest::Approx(59.2e9));
  node.intra.peers = PeerAccess::one_root;
  CHECK(host_blocks_rate(2, node) == kNoLimit);
  node.intra = {.kind = IntraKind::nvswitch, .per_gpu = 300_GBps};
  CHECK(host_blocks_rate(2, node) == kNoLimit);
}

TEST_CASE("path constants: fewer channels than NCCL would use limit NVLink") {
  Cluster node = cluster(80);
  node.intra = {.kind = IntraKind::nvswitch, .per_gpu = 300_GBps};
  CHECK(nvlink_blocks_rate(0, node) == kNoLimit);
  CHECK(nvlink_blocks_rate(2, node) == doctest::Approx(40e9));
  const auto rate = [&](int limit) {
    return path_of(CollectiveKind::all_reduce, {.channels = 2, .channel_limit = limit}, node)
        .local_rate;
  };
  CHECK(rate(2) == doctest::Approx(40e9));
  CHECK(rate(0) > 100e9);
  node.gpu.compute_capability = 100;
  CHECK(nvlink_blocks_rate(2, node) == doctest::Approx(146.8e9));
  node.intra.kind = IntraKind::pcie;
  CHECK(nvlink_blocks_rate(2, node) == kNoLimit);
}
