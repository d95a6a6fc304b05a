// The pipeline cost model's terms by hand: each kind, algorithm and protocol, on a cluster of round
// numbers.
//
// Unless a test says otherwise, there are two nodes of four GPUs and two channels. Payload is
// carried at 100 GB/s inside a node and at 40 GB/s between nodes. A start takes 10 us, 0.25 for the
// second thread block, and 1, 2 or 4 for LL, LL128 or Simple. A hop inside a node takes 1, 2 or 3
// us. A hop between nodes takes 10, 20 or 30 us, 0.5 for the second channel, and 40 for a message
// of 64 KiB or more on the wire.
#include <doctest/doctest.h>

#include <cmath>

#include "collective_words.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "pipeline_cost.hpp"
#include "pipeline_path.hpp"
#include "round_costs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

CollectiveChoice choice(Algorithm algorithm, Protocol protocol, int channels = 2) {
  return {.algorithm = algorithm, .protocol = protocol, .channels = channels};
}

PipelineTerms all_reduce(Algorithm algorithm, Protocol protocol, Bytes size,
                         const Cluster& cluster = round_costs::cluster(2, 4)) {
  return pipeline_terms(kAllReduce, choice(algorithm, protocol), size, cluster);
}

}  // namespace

TEST_CASE("cost model on paper: a ring of Simple inside a node") {
  // There are 6 hops of 3 us, and 2 * 3/4 * 8 MB at 100 GB/s. Each rank's megabyte per channel is
  // one chunk.
  const Cluster node = round_costs::cluster(1, 4);
  const PipelineTerms terms = all_reduce(Algorithm::ring, Protocol::simple, Bytes(8'000'000), node);
  round_costs::check(terms, {.start = 14.25, .latency = 18, .fill = 0, .transfer = 120});
  CHECK(terms.local_hop_us == 3);
  CHECK(terms.network_hop_us == 0);
  CHECK(terms.loops == 1);
  CHECK(terms.payload == 1);
  CHECK(cost(kAllReduce, choice(Algorithm::ring, Protocol::simple), Bytes(8'000'000), node) ==
        152.25_us);
  // A chunk is 2 MiB, half a buffer of 4 MiB. With one byte more, the ring is walked twice.
  const auto loops = [&](Bytes size) {
    return all_reduce(Algorithm::ring, Protocol::simple, size, node).loops;
  };
  CHECK(loops(16_MiB) == 1);
  CHECK(loops(16_MiB + 1_B) == 2);
}

TEST_CASE("cost model on paper: a ring's last copy counts with the share that a log shows") {
  // (2 * 3 + 1) / 4 * 8 MB at 100 GB/s, and half of the last copy.
  Cluster node = round_costs::cluster(1, 4);
  PathConstants constants = round_costs::constants();
  constants.ring_ends = 1;
  round_costs::set(node, constants);
  const Bytes size(8'000'000);
  CHECK(all_reduce(Algorithm::ring, Protocol::simple, size, node).transfer_us ==
        doctest::Approx(140));
  constants.ring_ends = 0.5;
  round_costs::set(node, constants);
  CHECK(all_reduce(Algorithm::ring, Protocol::simple, size, node).transfer_us ==
        doctest::Approx(130));
  // The NICs limit two nodes, and the copy does not pass them: 14/8 * 16 MB at 40 GB/s.
  Cluster two = round_costs::cluster(2, 4);
  round_costs::set(two, constants);
  CHECK(all_reduce(Algorithm::ring, Protocol::simple, Bytes(16'000'000), two).transfer_us ==
        doctest::Approx(700));
}

TEST_CASE("cost model on paper: a ring of Simple over two nodes") {
  // There are 12 hops of 3 us inside. Two between nodes take 30 + 0.5 + 40 us and store half a
  // chunk of 1 MB per channel: 1 MB at 40 GB/s. The transfer is 14/8 * 16 MB at 40 GB/s.
  const PipelineTerms terms = all_reduce(Algorithm::ring, Protocol::simple, Bytes(16'000'000));
  round_costs::check(terms,
                     {.start = 14.25, .latency = 36 + 2 * 70.5, .fill = 2 * 25, .transfer = 700});
  CHECK(terms.network_hop_us == 70.5);
  // With three nodes there are 22 hops in all, 4 of them between nodes, of 2/3 MB per channel.
  round_costs::check(
      all_reduce(Algorithm::ring, Protocol::simple, Bytes(16'000'000), round_costs::cluster(3, 4)),
      {.start = 14.25,
       .latency = 18 * 3 + 4 * 70.5,
       .fill = 4 * 1e6 * 2 / 3 / 40e3,
       .transfer = 22.0 / 12 * 16e6 / 40e3});
}

TEST_CASE(
    "cost model on paper: latencies between nodes hide behind the transfer as `overlap` says") {
  // A walk of 2 * (197 + 0.5 + 40 + 25) = 525 us and a transfer of 700 us are sides of a right
  // triangle, whose third side is 875. The 175 us beyond the transfer are divided like the walk.
  Cluster two = round_costs::cluster(2, 4);
  PathConstants constants = round_costs::constants();
  constants.overlap = 2;
  constants.hop_us[2] = 197;
  round_costs::set(two, constants);
  round_costs::check(
      all_reduce(Algorithm::ring, Protocol::simple, Bytes(16'000'000), two),
      {.start = 14.25, .latency = 36 + 2 * 237.5 / 3, .fill = 2 * 25.0 / 3, .transfer = 700});
}

TEST_CASE("cost model on paper: a ring of small buffers is walked again and again") {
  // A buffer of 256 KiB has chunks of 128 KiB. So there are 8 loops for 1 MiB per rank and channel,
  // each of 2 * (70.5 us + 128 KiB at 40 GB/s). Each loop begins after the one before. The time is
  // that of 7 loops and a last one, which is more than the transfer.
  CollectiveChoice small = choice(Algorithm::ring, Protocol::simple);
  small.buffer = 256_KiB;
  const PipelineTerms terms = pipeline_terms(kAllReduce, small, 16_MiB, round_costs::cluster(2, 4));
  const double walk = 2 * (70.5 + 131'072 / 40e3);
  CHECK(terms.loops == 8);
  CHECK(terms.total_us() == doctest::Approx(14.25 + 36 + 8 * walk));
  CHECK(terms.transfer_us == doctest::Approx(1.75 * 16'777'216 / 40e3));
}

TEST_CASE("cost model on paper: a ring of LL over two nodes") {
  // Two thread blocks carry 1 GB/s each, and a quarter of it between nodes: 0.5 GB/s, slower than
  // half the wire. A message is a chunk of 32 KiB, 64 on the wire.
  const PipelineTerms terms = all_reduce(Algorithm::ring, Protocol::ll, 1_MiB);
  round_costs::check(terms, {.start = 11.25,
                             .latency = 12 * 1 + 2 * 50.5,
                             .fill = 2 * 65'536 / 0.5e3,
                             .transfer = 1.75 * 1'048'576 / 0.5e3});
  CHECK(terms.payload == 0.5);
  CHECK(terms.loops == 1);
  CHECK(all_reduce(Algorithm::ring, Protocol::ll, 1024_MiB).loops == 1);  // LL walks once
  // Inside a node, the two blocks carry 2 GB/s.
  round_costs::check(all_reduce(Algorithm::ring, Protocol::ll, 1_MiB, round_costs::cluster(1, 4)),
                     {.start = 11.25, .latency = 6, .fill = 0, .transfer = 1.5 * 1'048'576 / 2e3});
}

TEST_CASE("cost model on paper: enough thread blocks of LL fill half of the links") {
  // 200 blocks carry 200 GB/s, and 50 between nodes. So the links of 100 and 40 GB/s are the limit,
  // with every second word a flag.
  const auto transfer = [](int nodes) {
    return pipeline_terms(kAllReduce, choice(Algorithm::ring, Protocol::ll, 200), 1_MiB,
                          round_costs::cluster(nodes, 4))
        .transfer_us;
  };
  CHECK(transfer(1) == doctest::Approx(1.5 * 1'048'576 / 50e3));
  CHECK(transfer(2) == doctest::Approx(1.75 * 1'048'576 / 20e3));
}

TEST_CASE("cost model on paper: a ring of LL128 over two nodes") {
  // Two thread blocks carry 4 GB/s each. A message is a chunk of 576,000 bytes.
  const PipelineTerms terms = all_reduce(Algorithm::ring, Protocol::ll128, Bytes(16'000'000));
  round_costs::check(terms, {.start = 12.25,
                             .latency = 12 * 2 + 2 * 60.5,
                             .fill = 2 * 2 * 576'000 / 8e3,
                             .transfer = 1.75 * 16e6 / 8e3});
  CHECK(terms.payload == 0.9375);
  // 16 blocks could carry 64 GB/s, the wire carries 15/16 of 40.
  CHECK(pipeline_terms(kAllReduce, choice(Algorithm::ring, Protocol::ll128, 16), 16_MiB,
                       round_costs::cluster(2, 4))
            .transfer_us == doctest::Approx(1.75 * 16'777'216 / 37.5e3));
}

TEST_CASE("cost model on paper: a tree of Simple over two nodes") {
  // Chunks of 512 KiB fill three hops inside at 100 GB/s, with both channels. They fill one NIC at
  // 40 GB/s with the half that its tree sends that way. This happens up, then down.
  const PipelineTerms terms = all_reduce(Algorithm::tree, Protocol::simple, Bytes(16'000'000));
  round_costs::check(terms, {.start = 14.25,
                             .latency = 2 * (3 * 3 + 70.5),
                             .fill = 2 * (3 * 1'048'576 / 100e3 + 524'288 / 40e3),
                             .transfer = 16e6 / 40e3});
  CHECK(terms.local_hop_us == 3);
  CHECK(terms.network_hop_us == 70.5);
}

TEST_CASE("cost model on paper: traffic of a tree's busiest NIC, by nodes") {
  // It is S, 3/2 S, 2 S and 2 S. From three nodes on, the rate is halved, as `tree_share` says. The
  // depth is log2 of the nodes, rounded up.
  const auto terms = [](int nodes) {
    return all_reduce(Algorithm::tree, Protocol::simple, Bytes(16'000'000),
                      round_costs::cluster(nodes, 4));
  };
  CHECK(terms(2).transfer_us == doctest::Approx(1.0 * 16e6 / 40e3));
  CHECK(terms(3).transfer_us == doctest::Approx(1.5 * 16e6 / 20e3));
  CHECK(terms(4).transfer_us == doctest::Approx(2.0 * 16e6 / 20e3));
  CHECK(terms(5).transfer_us == doctest::Approx(2.0 * 16e6 / 20e3));
  CHECK(terms(2).latency_us == doctest::Approx(2 * (9 + 1 * 70.5)));
  CHECK(terms(3).latency_us == doctest::Approx(2 * (9 + 2 * 70.5)));
  CHECK(terms(4).latency_us == doctest::Approx(2 * (9 + 2 * 70.5)));
  CHECK(terms(5).latency_us == doctest::Approx(2 * (9 + 3 * 70.5)));
  // A ring has no branches and keeps the rate.
  CHECK(all_reduce(Algorithm::ring, Protocol::simple, Bytes(16'000'000), round_costs::cluster(4, 4))
            .transfer_us == doctest::Approx(30.0 / 16 * 16e6 / 40e3));
}

TEST_CASE(
    "cost model on paper: a GPU in the middle of a chain passes twice as much as one at its end") {
  // All GPUs are in one node. With two GPUs, both are ends.
  const auto transfer = [](int gpus) {
    return all_reduce(Algorithm::tree, Protocol::simple, Bytes(10'000'000),
                      round_costs::cluster(1, gpus))
        .transfer_us;
  };
  CHECK(transfer(2) == doctest::Approx(100));
  CHECK(transfer(3) == doctest::Approx(200));
  CHECK(transfer(8) == doctest::Approx(200));
}

TEST_CASE(
    "cost model on paper: one GPU a node feeds half of its NICs, except over sockets, which the "
    "processor feeds") {
  // 16 MB at 20 GB/s, and no hop inside.
  Cluster lone = round_costs::cluster(2, 1);
  round_costs::check(
      all_reduce(Algorithm::tree, Protocol::simple, Bytes(16'000'000), lone),
      {.start = 14.25, .latency = 2 * 70.5, .fill = 2 * 524'288 / 20e3, .transfer = 16e6 / 20e3});
  lone.network.kind = NetworkKind::tcp;
  CHECK(all_reduce(Algorithm::tree, Protocol::simple, Bytes(16'000'000), lone).transfer_us ==
        doctest::Approx(400));
  lone.network.sockets = Sockets::gpudirect;
  CHECK(all_reduce(Algorithm::tree, Protocol::simple, Bytes(16'000'000), lone).transfer_us ==
        doctest::Approx(800));
}

TEST_CASE(
    "cost model on paper: before 2.20 the chunks of a tree are halved until enough fill its "
    "depth") {
  // A chunk of c bytes fills 2 * (3 * 2 c at 100 GB/s + c at 40 GB/s) = c * 0.17 ns. There are four
  // hops. A chunk is the smallest of three parts of the data per channel and hop. They are an
  // eighth but at least 128 KiB, a quarter but at least 64 KiB, and all of it but at least 32 KiB.
  // It is at most all the data.
  const auto chunk = [](NcclVersion nccl, std::int64_t per_channel) {
    CollectiveChoice tree = choice(Algorithm::tree, Protocol::simple);
    tree.nccl = nccl;
    const Bytes size(2 * per_channel);
    return pipeline_terms(kAllReduce, tree, size, round_costs::cluster(2, 4)).fill_us / 0.17e-3;
  };
  const NcclVersion halves{2, 19, 4};
  CHECK(chunk(halves, 80'000'000) == doctest::Approx(524'288));
  CHECK(chunk(halves, 8'000'000) == doctest::Approx(250'000));
  CHECK(chunk(halves, 2'400'000) == doctest::Approx(131'072));
  CHECK(chunk(halves, 1'600'000) == doctest::Approx(100'000));
  CHECK(chunk(halves, 800'000) == doctest::Approx(65'536));
  CHECK(chunk(halves, 160'000) == doctest::Approx(40'000));
  CHECK(chunk(halves, 80'000) == doctest::Approx(32'768));
  CHECK(chunk(halves, 20'000) == doctest::Approx(20'000));
  const NcclVersion whole{2, 20, 0};
  CHECK(chunk(whole, 800'000) == doctest::Approx(524'288));
  CHECK(chunk(whole, 80'000) == doctest::Approx(80'000));
}

TEST_CASE("cost model on paper: trees of LL and LL128 fill their NICs, not the hops inside") {
  round_costs::check(all_reduce(Algorithm::tree, Protocol::ll, 1_MiB),
                     {.start = 11.25,
                      .latency = 2 * (3 * 1 + 50.5),
                      .fill = 2 * 2 * 32'768 / 0.5e3,
                      .transfer = 1'048'576 / 0.5e3});
  // 8 MB per channel, with chunks of a sixteenth: four hops, a quarter each. The chain passes S
  // twice.
  round_costs::check(all_reduce(Algorithm::tree, Protocol::ll128, Bytes(16'000'000)),
                     {.start = 12.25,
                      .latency = 2 * (3 * 2 + 60.5),
                      .fill = 2 * 2 * 500'000 / 8e3,
                      .transfer = 2 * 16e6 / 8e3});
  const auto fill = [](Bytes size) {
    return all_reduce(Algorithm::tree, Protocol::ll128, size).fill_us;
  };
  CHECK(fill(Bytes(800'000)) == doctest::Approx(2 * 2 * 32'768 / 8e3));      // minimum
  CHECK(fill(Bytes(32'000'000)) == doctest::Approx(2 * 2 * 576'000 / 8e3));  // maximum
  CHECK(fill(Bytes(20'000)) == doctest::Approx(2 * 2 * 10'000 / 8e3));       // all the data
}

TEST_CASE("cost model on paper: a broadcast passes every rank except one") {
  // Six hops inside take 3 us each, and one between 70.5. Chunks of 512 KiB on two channels fill
  // the six hops inside at 100 GB/s, because a hop takes the time of its own links. Over three
  // nodes, the second hop between them adds its own.
  const auto broadcast = [](Protocol protocol, Bytes size, const Cluster& cluster) {
    return pipeline_terms(kBroadcast, choice(Algorithm::ring, protocol), size, cluster);
  };
  const Cluster two = round_costs::cluster(2, 4);
  round_costs::check(broadcast(Protocol::simple, Bytes(16'000'000), two),
                     {.start = 14.25,
                      .latency = 6 * 3 + 70.5,
                      .fill = 6 * 1'048'576 / 100e3,
                      .transfer = 16e6 / 40e3});
  CHECK(broadcast(Protocol::simple, Bytes(16'000'000), round_costs::cluster(3, 4)).fill_us ==
        doctest::Approx(9 * 1'048'576 / 100e3 + 1'048'576 / 40e3));
  // 50,000 bytes per channel go in one piece, less than 64 KiB. A hop takes 30.5 us plus
  // log2(50,000 / 8192) / 3 of the 40 us.
  CHECK(broadcast(Protocol::simple, Bytes(100'000), two).fill_us ==
        doctest::Approx(6 * 100'000 / 100e3));
  CHECK(broadcast(Protocol::simple, Bytes(100'000), two).network_hop_us ==
        doctest::Approx(30.5 + 40 * 2.60964 / 3));
  // EFA's hops were learned from all-reduces on rings of two nodes. A chain's hops take two thirds
  // of them.
  Cluster efa = two;
  efa.network.kind = NetworkKind::efa;
  CHECK(broadcast(Protocol::simple, Bytes(100'000), efa).network_hop_us ==
        doctest::Approx(0.65 * (30.5 + 40 * 2.60964 / 3)));
  round_costs::check(
      broadcast(Protocol::ll, 1_MiB, two),
      {.start = 11.25, .latency = 6 * 1 + 50.5, .fill = 0, .transfer = 1'048'576 / 0.5e3});
  round_costs::check(broadcast(Protocol::simple, Bytes(8'000'000), round_costs::cluster(1, 4)),
                     {.start = 14.25, .latency = 9, .fill = 2 * 1'048'576 / 100e3, .transfer = 80});
}

TEST_CASE("cost model on paper: no hop sends faster than its busiest link") {
  // NICs carry 40 GB/s, links inside 100. The usable shares are 0.8 of a NIC and everything after
  // it, 0.85 of PCIe, 0.5 of NVLink.
  Cluster two = round_costs::cluster(2, 4);
  const auto transfer = [&](Algorithm algorithm, const LinkLoad& ring, const LinkLoad& tree) {
    LinkLoads loads;
    loads.by_channels = {std::vector{LinkLoad{}, ring}, std::vector{LinkLoad{}, tree}};
    two.loads = std::make_shared<const LinkLoads>(loads);
    return all_reduce(algorithm, Protocol::simple, Bytes(16'000'000), two).transfer_us;
  };
  const auto at = [](LinkKind kind, double gbps) {
    SecondsPerByte load{};
    load[static_cast<std::size_t>(kind)] = 1 / (gbps * 1e9);
    return load;
  };
  CHECK(transfer(Algorithm::ring, {}, {}) == doctest::Approx(700));
  // Twice 7/8 of 16 MB at a trunk's 12.5 GB/s, of which 10 carry data.
  const LinkLoad trunk{.network = at(LinkKind::network, 12.5)};
  CHECK(transfer(Algorithm::ring, trunk, {}) == doctest::Approx(2800));
  CHECK(transfer(Algorithm::ring, {}, trunk) == doctest::Approx(700));
  // Every edge of a tree carries 16 MB. The model knows how often a node carries it, the load how
  // often the link does.
  CHECK(transfer(Algorithm::tree, {}, trunk) == doctest::Approx(1600));
  CHECK(transfer(Algorithm::tree, trunk, {}) == doctest::Approx(400));
  // A slot of 20 GB/s, of which 17 carry data, is on both kinds of hop.
  const LinkLoad slot{.local = at(LinkKind::pcie, 20), .network = at(LinkKind::pcie, 20)};
  CHECK(transfer(Algorithm::ring, slot, {}) == doctest::Approx(28'000 / 17.0));
  // Links that are wide enough change nothing.
  const LinkLoad wide{.local = at(LinkKind::nvlink, 400), .network = at(LinkKind::nic, 100)};
  CHECK(transfer(Algorithm::ring, wide, wide) == doctest::Approx(700));
  CHECK(transfer(Algorithm::tree, wide, wide) == doctest::Approx(400));
  // Only hops inside a node: 40 GB/s of NVLink, of which 20 carry data.
  const LinkLoad nvlink{.local = at(LinkKind::nvlink, 40)};
  CHECK(transfer(Algorithm::ring, nvlink, {}) == doctest::Approx(1400));
}

TEST_CASE("cost model on paper: a correction scales every part of an all-reduce") {
  // With one point at the requested size, it is e^(weight * covariance). The covariance of a place
  // with itself is 0.1^2 + 0.15^2.
  Cluster two = round_costs::cluster(2, 4);
  Calibration calibration = *two.calibration;
  const Bytes size(16'000'000);
  calibration.correction = {
      {{2, 4, size, Algorithm::ring, Protocol::simple}, 0.6931472 / 0.0325, 0}};
  two.calibration = std::make_shared<const Calibration>(calibration);
  const PipelineTerms twice = all_reduce(Algorithm::ring, Protocol::simple, size, two);
  round_costs::check(twice, {.start = 28.5, .latency = 354, .fill = 100, .transfer = 1400});
  CHECK(twice.local_hop_us == doctest::Approx(6));
  CHECK(twice.network_hop_us == doctest::Approx(141));
  // Logs are only of all-reduces.
  CHECK(pipeline_terms(kBroadcast, choice(Algorithm::ring, Protocol::simple), size, two)
            .transfer_us == doctest::Approx(400));
}

TEST_CASE("cost model on paper: a hop between nodes by the size of its message") {
  // From 8 KiB on the wire to 64 KiB, 40 us of rendezvous are added, a third per power of two.
  const Cluster two = round_costs::cluster(2, 4);
  const auto simple = [&](double message) {
    return network_hop_us(choice(Algorithm::ring, Protocol::simple), message, two);
  };
  CHECK(simple(0) == 30.5);
  CHECK(simple(8192) == 30.5);
  CHECK(simple(16'384) == doctest::Approx(30.5 + 40.0 / 3));
  CHECK(simple(65'536) == doctest::Approx(70.5));
  CHECK(simple(1e9) == doctest::Approx(70.5));
  // With LL, half of the bytes on the wire are flags.
  CHECK(network_hop_us(choice(Algorithm::ring, Protocol::ll), 8192, two) ==
        doctest::Approx(10.5 + 40.0 / 3));
  CHECK(network_hop_us(choice(Algorithm::ring, Protocol::ll128, 5), 7680, two) ==
        doctest::Approx(20 + 4 * 0.5));
}

TEST_CASE("cost model on paper: hops of LL and LL128 grow as a log says, those of Simple do not") {
  // They grow by e^0.1 from 1 to 4 KiB on the wire, by e^0.2 more to 16 KiB, and by e^0.4 more to
  // 64.
  Cluster two = round_costs::cluster(2, 4);
  PathConstants constants = round_costs::constants();
  constants.rendezvous_us = 0;
  constants.hop_growth = {0.1, 0.2, 0.4};
  round_costs::set(two, constants);
  const auto hop = [&](Protocol protocol, double on_wire) {
    const double payload = protocol == Protocol::ll      ? 0.5
                           : protocol == Protocol::ll128 ? 0.9375
                                                         : 1;
    return network_hop_us(choice(Algorithm::ring, protocol, 1), on_wire * payload, two);
  };
  CHECK(hop(Protocol::ll, 1024) == doctest::Approx(10));
  CHECK(hop(Protocol::ll, 2048) == doctest::Approx(10 * std::exp(0.05)));
  CHECK(hop(Protocol::ll, 4096) == doctest::Approx(10 * std::exp(0.1)));
  CHECK(hop(Protocol::ll, 16'384) == doctest::Approx(10 * std::exp(0.3)));
  CHECK(hop(Protocol::ll, 65'536) == doctest::Approx(10 * std::exp(0.7)));
  CHECK(hop(Protocol::ll, 1e6) == doctest::Approx(10 * std::exp(0.7)));
  CHECK(hop(Protocol::ll128, 65'536) == doctest::Approx(20 * std::exp(0.7)));
  CHECK(hop(Protocol::simple, 65'536) == 30);
}
