// The times of collectives other than all-reduces, by hand, on the cluster of round numbers: two
// nodes of four GPUs, two channels (nccl/cost_model_paper_test.cpp has the numbers).
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "collective_words.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "pipeline_cost.hpp"
#include "round_costs.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

PipelineTerms terms(CollectiveKind kind, Protocol protocol, Bytes size,
                    const Cluster& cluster = round_costs::cluster(2, 4), int channels = 2) {
  const CollectiveChoice choice{
      .algorithm = Algorithm::ring, .protocol = protocol, .channels = channels};
  return pipeline_terms(kind, choice, size, cluster);
}

}  // namespace

TEST_CASE("collectives on paper: a reduce-scatter or all-gather walks its ring once") {
  for (const CollectiveKind kind : {kReduceScatter, kAllGather}) {
    CAPTURE(name_of(kind));
    // Six hops of 3 us inside, and one between of 70.5 us that stores 1 MB. 7/8 of 16 MB at 40
    // GB/s.
    round_costs::check(terms(kind, Protocol::simple, Bytes(16'000'000)),
                       {.start = 14.25, .latency = 6 * 3 + 70.5, .fill = 25, .transfer = 350});
    // Two blocks of LL carry 0.5 GB/s between nodes. A message is 64 KiB for both channels.
    round_costs::check(terms(kind, Protocol::ll, 1_MiB), {.start = 11.25,
                                                          .latency = 6 * 1 + 50.5,
                                                          .fill = 65'536 / 0.5e3,
                                                          .transfer = .875 * 1'048'576 / 0.5e3});
    // In one node there are three hops, and 3/4 of 8 MB at 100 GB/s.
    round_costs::check(terms(kind, Protocol::simple, Bytes(8'000'000), round_costs::cluster(1, 4)),
                       {.start = 14.25, .latency = 9, .fill = 0, .transfer = 60});
    // With three nodes there are 11 hops, two of them between nodes, of 2/3 MB per channel.
    round_costs::check(terms(kind, Protocol::simple, Bytes(16'000'000), round_costs::cluster(3, 4)),
                       {.start = 14.25,
                        .latency = 9 * 3 + 2 * 70.5,
                        .fill = 2 * 1e6 * 2 / 3 / 40e3,
                        .transfer = 11.0 / 12 * 16e6 / 40e3});
  }
}

TEST_CASE("collectives: a reduce-scatter and an all-gather are an all-reduce that starts twice") {
  for (const auto& [nodes, gpus] : {std::pair(1, 2), {1, 8}, {2, 1}, {2, 8}, {5, 3}, {64, 8}}) {
    Cluster cluster = round_costs::cluster(nodes, gpus);
    cluster.calibration = nullptr;
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
      for (const Bytes size : {0_B, 4099_B, 1_MiB, 25_MiB, 4096_MiB}) {
        CAPTURE(cluster.nodes);
        CAPTURE(cluster.gpus_per_node);
        CAPTURE(name_of(protocol));
        CAPTURE(size.count());
        const PipelineTerms whole = terms(kAllReduce, protocol, size, cluster, 8);
        const double parts = terms(kReduceScatter, protocol, size, cluster, 8).total_us() +
                             terms(kAllGather, protocol, size, cluster, 8).total_us();
        CHECK(parts - whole.start_us == doctest::Approx(whole.total_us()).epsilon(1e-9));
      }
  }
}

TEST_CASE("collectives on paper: a reduce is a broadcast in reverse") {
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
    for (const Bytes size : {4099_B, 16_MiB}) {
      const PipelineTerms broadcast = terms(kBroadcast, protocol, size);
      round_costs::check(terms(kReduce, protocol, size), {.start = broadcast.start_us,
                                                          .latency = broadcast.latency_us,
                                                          .fill = broadcast.fill_us,
                                                          .transfer = broadcast.transfer_us});
    }
  // Six hops take 3 us and one 70.5. Slices of 512 KiB on both channels fill every hop except the
  // slowest.
  round_costs::check(
      terms(kReduce, Protocol::simple, Bytes(16'000'000)),
      {.start = 14.25, .latency = 88.5, .fill = 6 * 1'048'576 / 100e3, .transfer = 400});
}

TEST_CASE("collectives on paper: a pair has one hop, and one NIC between nodes") {
  // One of two NICs carries 20 GB/s of payload.
  round_costs::check(terms(kSendRecv, Protocol::simple, Bytes(16'000'000)),
                     {.start = 14.25, .latency = 70.5, .fill = 0, .transfer = 800});
  // With one GPU a node, it carries half of that.
  round_costs::check(
      terms(kSendRecv, Protocol::simple, Bytes(16'000'000), round_costs::cluster(2, 1)),
      {.start = 14.25, .latency = 70.5, .fill = 0, .transfer = 1600});
  round_costs::check(
      terms(kSendRecv, Protocol::simple, Bytes(8'000'000), round_costs::cluster(1, 4)),
      {.start = 14.25, .latency = 3, .fill = 0, .transfer = 80});
  // With LL, one block carries 1 GB/s, and a quarter of it between nodes. 4 KB are a slice of 2 KB,
  // 4 on the wire.
  round_costs::check(terms(kSendRecv, Protocol::ll, Bytes(4'000), round_costs::cluster(2, 4), 1),
                     {.start = 11, .latency = 10, .fill = 0, .transfer = 4'000 / 0.25e3});
}

TEST_CASE(
    "collectives on paper: the links of one ring limit a pair, however many channels it has") {
  Cluster two = round_costs::cluster(2, 4);
  LinkLoads loads;
  LinkLoad one;
  one.network[static_cast<std::size_t>(LinkKind::nic)] = 1 / 10e9;
  loads.by_channels = {std::vector{one, LinkLoad{}}, std::vector{LinkLoad{}, LinkLoad{}}, {}};
  two.loads = std::make_shared<const LinkLoads>(loads);
  CHECK(terms(kSendRecv, Protocol::simple, Bytes(16'000'000), two).transfer_us ==
        doctest::Approx(2000));
  CHECK(terms(kAllGather, Protocol::simple, Bytes(16'000'000), two).transfer_us ==
        doctest::Approx(350));
  // Slower links inside a node are the limit.
  one.network = {};
  one.local[static_cast<std::size_t>(LinkKind::nvlink)] = 1 / 10e9;
  loads.by_channels[0][0] = one;
  two.loads = std::make_shared<const LinkLoads>(loads);
  CHECK(terms(kSendRecv, Protocol::simple, Bytes(16'000'000), two).transfer_us ==
        doctest::Approx(3200));
}

TEST_CASE("collectives on paper: in a switch S passes the busier direction once") {
  // There are 16 waves of 2 us, and 32 MiB at 0.6 of 200 GB/s.
  for (const CollectiveKind kind : {kReduceScatter, kAllGather}) {
    const CollectiveChoice nvls{.algorithm = Algorithm::nvls, .channels = 16};
    round_costs::check(pipeline_terms(kind, nvls, 32_MiB, round_costs::cluster(1, 4)),
                       {.start = 40,
                        .latency = 16 * 2,
                        .fill = 2'097'152 / 120e3,
                        .transfer = 33'554'432 / 120e3});
  }
}

TEST_CASE("collectives: they use an all-reduce's constants, but not its correction") {
  Cluster two = round_costs::cluster(2, 4);
  Calibration calibration = *two.calibration;
  const Bytes size(16'000'000);
  calibration.correction = {{{2, 4, size, Algorithm::ring, Protocol::simple}, 20, 0}};
  two.calibration = std::make_shared<const Calibration>(calibration);
  for (const CollectiveKind kind : {kReduceScatter, kAllGather, kReduce, kSendRecv})
    CHECK(terms(kind, Protocol::simple, size, two).total_us() ==
          terms(kind, Protocol::simple, size).total_us());
}

TEST_CASE("collectives: a larger size is never faster with the same choice") {
  for (const Cluster& cluster :
       {round_costs::cluster(1, 2), round_costs::cluster(1, 8), round_costs::cluster(2, 1),
        round_costs::cluster(3, 7), round_costs::cluster(64, 8)})
    for (const CollectiveKind kind : {kReduceScatter, kAllGather, kReduce, kSendRecv})
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
        for (const bool calibrated : {true, false}) {
          Cluster asked = cluster;
          if (!calibrated) asked.calibration = nullptr;
          Duration before;
          for (std::int64_t size = 0; size < std::int64_t{1} << 36; size += size / 9 + 1) {
            const CollectiveChoice choice{
                .algorithm = Algorithm::ring, .protocol = protocol, .channels = 8};
            const Duration now = cost(kind, choice, Bytes(size), asked);
            REQUIRE(now >= before);
            before = now;
          }
        }
}

TEST_CASE("collectives of gloo: phases of its rings") {
  // 8 MB over four ranks at 2 GB/s, which is 1 MB in 500 us. There are eight segments of 1 MB, and
  // a step takes 30 us.
  Cluster four;
  four.gpus_per_node = 4;
  const GlooModel gloo{.links = {.process = 2_GBps,
                                 .host = 100_GBps,
                                 .cache = Bytes(1LL << 40),
                                 .step = {},
                                 .start = 60_us}};
  const auto planned = [&](CollectiveKind kind) {
    return plan(small::on(four, gloo), kind, Bytes(8'000'000));
  };
  CHECK(planned(kAllReduce).transfer == 60_us + 6000_us);
  CHECK(planned(kReduceScatter).transfer == planned(kAllReduce).transfer);
  CHECK(planned(kAllGather).transfer == 60_us + 3000_us);
  CHECK(planned(kAllGather).volume == 3000_us);
  // Three quarters go to their ranks, then three quarters to the root.
  CHECK(planned(kReduce).transfer == 60_us + 6000_us);
  CHECK(planned(kSendRecv).transfer == 60_us + 4000_us);
  GlooModel slow = gloo;
  slow.links.step = 30_us;
  // There are 6 steps of half a rank's megabyte. With h = 1.5, the result is between the sum and
  // the larger.
  CHECK(plan(small::on(four, slow), kAllGather, 0_B).transfer == 60_us + 6 * 30_us);
  CHECK(plan(small::on(four, slow), kReduce, 0_B).transfer == 60_us + 6 * 30_us + 30_us);
  CHECK(plan(small::on(four, slow), kSendRecv, 0_B).transfer == 90_us);
}
