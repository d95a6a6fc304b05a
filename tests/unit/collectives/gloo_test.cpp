#include "ddpsim/sim/values/gloo.hpp"
#include "collective_words.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "ddpsim/sim/collectives/collective_model.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

constexpr Bytes kAmple{1'000'000'000'000};

Cluster nodes(int count, int gpus, Bandwidth nic = 100_Gbps) {
  Cluster cluster = small::node(gpus);
  cluster.nodes = count;
  cluster.network = {.kind = NetworkKind::tcp, .nics_per_node = 1, .per_nic = nic};
  return cluster;
}

Job gloo(const Cluster& cluster, GlooLinks links = {}) {
  return small::on(cluster, GlooModel{.links = links});
}

double volume_us(double ranks, double bytes, double gigabytes_per_second) {
  return 2 * (ranks - 1) / ranks * bytes / gigabytes_per_second / 1e3;
}

}  // namespace

TEST_CASE("gloo: large all-reduces follow the volume model at the rate of a process") {
  const GlooLinks links{.host = 100_GBps, .cache = kAmple, .step = {}, .start = {}};
  for (const int ranks : {2, 3, 7, 8}) {
    const CollectivePlan planned = plan(gloo(nodes(1, ranks), links), kAllReduce, 25_MiB);
    const double expected = volume_us(ranks, 25 * 1048576, links.process.gigabytes_per_second());
    CHECK(planned.transfer.microseconds() == doctest::Approx(expected).epsilon(1e-6));
    CHECK(planned.volume.microseconds() == doctest::Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("gloo: processes of a host share it, and a slow NIC limits all") {
  const GlooLinks links{
      .process = 2_GBps, .host = 4_GBps, .cache = kAmple, .step = {}, .start = {}};
  const auto time = [&](const Cluster& cluster) {
    return plan(gloo(cluster, links), kAllReduce, 100_MiB).transfer.microseconds();
  };
  const double bytes = 100.0 * 1048576;
  CHECK(time(nodes(1, 2)) == doctest::Approx(volume_us(2, bytes, 2)));
  CHECK(time(nodes(1, 8)) == doctest::Approx(volume_us(8, bytes, 0.5)));
  CHECK(time(nodes(2, 8)) == doctest::Approx(volume_us(16, bytes, 0.5)));
  // 1 Gbit/s without Ethernet's frames: the lab's volume model.
  CHECK(time(nodes(2, 1, 1_Gbps)) == doctest::Approx(volume_us(2, bytes, 0.956 / 8)));
}

TEST_CASE("gloo: data that does not fit into the cache moves at half the rate") {
  // Two processes touch two buffers twice. At 8 MiB they fit; at 16 MiB half comes from memory, and
  // so on.
  const GlooLinks links{
      .process = 2.3_GBps, .host = 100_GBps, .cache = 32_MiB, .step = {}, .start = {}};
  const auto rate = [&](Bytes size) {
    const Duration time = plan(gloo(nodes(1, 2), links), kAllReduce, size).transfer;
    return static_cast<double>(size.count()) / time.seconds() / 1e9;
  };
  CHECK(rate(8_MiB) == doctest::Approx(2.3).epsilon(0.02));
  CHECK(rate(16_MiB) == doctest::Approx(2.3 / 1.5).epsilon(0.02));
  CHECK(rate(32_MiB) == doctest::Approx(2.3 / 1.75).epsilon(0.02));
  CHECK(rate(64_MiB) == doctest::Approx(2.3 / 1.875).epsilon(0.02));
}

TEST_CASE("gloo: a small all-reduce takes its steps, not its bytes") {
  // With 16 ranks there are 32 segments, 2 of them a rank's own, so 2 * 30 steps.
  const GlooLinks links{.host = 100_GBps, .step = 20_us, .start = 60_us};
  const auto time = [&](Bytes size, int ranks) {
    return plan(gloo(nodes(1, ranks), links), kAllReduce, size).transfer;
  };
  CHECK(time(0_B, 16).microseconds() == doctest::Approx(60 + 60 * 20));
  CHECK(time(0_B, 2).microseconds() == doctest::Approx(60 + 4 * 20));
  CHECK(time(1024_B, 16) / time(0_B, 16) < 1.001);
  // If a step's bytes take as long as its latency, half of one hides behind the other.
  const Bytes even =
      Bytes(static_cast<std::int64_t>(20e-6 * links.process.bytes_per_second()) * 32);
  CHECK(time(even, 16).microseconds() == doctest::Approx(60 + 60 * 20 * 1.587).epsilon(0.01));
  Duration before;
  for (std::int64_t bytes = 1; bytes < (std::int64_t{1} << 31); bytes *= 4) {
    CHECK(time(Bytes(bytes), 16) >= before);
    before = time(Bytes(bytes), 16);
  }
}

TEST_CASE("gloo: segments are at most a MiB, and every rank has equally many, at least two") {
  // Links are too fast to matter: 60 us, and 20 us for each of 2 (s - s/n) steps.
  const GlooLinks links{.process = 1'000'000_GBps,
                        .host = 16'000'000_GBps,
                        .cache = kAmple,
                        .step = 20_us,
                        .start = 60_us};
  const auto steps = [&](Bytes size, int ranks) {
    const Duration time = plan(gloo(nodes(1, ranks), links), kAllReduce, size).transfer;
    return (time - 60_us) / 20_us;
  };
  CHECK(steps(1_MiB, 2) == doctest::Approx(2 * (4 - 2)).epsilon(1e-3));
  CHECK(steps(4_MiB, 2) == doctest::Approx(2 * (4 - 2)).epsilon(1e-3));
  CHECK(steps(4_MiB + 1_B, 2) == doctest::Approx(2 * (6 - 3)).epsilon(1e-3));  // 5, rounded up
  CHECK(steps(25_MiB, 3) == doctest::Approx(2 * (27 - 9)).epsilon(1e-3));
  CHECK(steps(64_MiB, 16) == doctest::Approx(2 * (64 - 4)).epsilon(1e-3));
}

TEST_CASE("gloo: a broadcast is passed on in rounds, and each round doubles the ranks") {
  // 2 MB at 2 GB/s take 1000 us, and a step 30. There are ceil(log2 n) rounds of both.
  const GlooLinks links{
      .process = 2_GBps, .host = 100_GBps, .cache = kAmple, .step = 30_us, .start = 60_us};
  const auto planned = [&](int ranks) {
    return plan(gloo(nodes(1, ranks), links), CollectiveKind::broadcast, Bytes(2'000'000));
  };
  for (const auto& [ranks, rounds] : {std::pair(2, 1), {3, 2}, {4, 2}, {5, 3}, {8, 3}}) {
    // A capture must not name a structured binding (clang 14).
    const int gpus = ranks;
    CAPTURE(gpus);
    CHECK(planned(ranks).transfer == 60_us + rounds * 1030_us);
    CHECK(planned(ranks).volume == rounds * 1000_us);
  }
}

TEST_CASE("gloo: between nodes a step has the wire's latency, and the NIC the fabric's rate") {
  // Two nodes of one process make 4 steps. 1 Gbit/s carries 0.956 of payload, and a quarter of it
  // through the fabric.
  const GlooLinks links{.cache = kAmple, .step = 30_us, .start = {}};
  const auto us = [&](const Cluster& cluster, Bytes size) {
    return plan(gloo(cluster, links), kAllReduce, size).transfer.microseconds();
  };
  Cluster two = nodes(2, 1, 1_Gbps);
  CHECK(us(two, 0_B) == doctest::Approx(4 * 30));
  two.network.latency = 12_us;
  CHECK(us(two, 0_B) == doctest::Approx(4 * 42));
  Cluster one = nodes(1, 2, 1_Gbps);
  one.network.latency = 12_us;
  CHECK(us(one, 0_B) == doctest::Approx(4 * 30));
  const auto volume = [&](double oversubscription) {
    LinkLoad load;
    load.network[static_cast<std::size_t>(LinkKind::network)] = oversubscription / 125e6;
    LinkLoads loads;
    loads.by_channels[0] = {load};
    two.loads = std::make_shared<const LinkLoads>(loads);
    return plan(gloo(two, links), kAllReduce, Bytes(8'000'000)).volume.microseconds();
  };
  CHECK(volume(1) == doctest::Approx(volume_us(2, 8e6, 0.956 / 8)));
  CHECK(volume(4) == doctest::Approx(volume_us(2, 8e6, 0.956 / 32)));
  CHECK(volume(0.5) == doctest::Approx(volume_us(2, 8e6, 0.956 / 8)));
}

TEST_CASE("gloo: every process of a host uses its part of the cache") {
  // 8 processes touch 8 buffers of 1 MB twice. Of these 16 MB, 8 fit, so half comes from memory.
  const GlooLinks links{
      .process = 1.5_GBps, .host = 100_GBps, .cache = Bytes(8'000'000), .step = {}, .start = {}};
  const CollectivePlan planned = plan(gloo(nodes(1, 8), links), kAllReduce, Bytes(1'000'000));
  CHECK(planned.volume.microseconds() == doctest::Approx(volume_us(8, 1e6, 1.0)));
}

TEST_CASE("gloo: cost factors scale latencies and bytes separately") {
  const GlooLinks links{
      .process = 2_GBps, .host = 100_GBps, .cache = kAmple, .step = 30_us, .start = 60_us};
  const CollectivePlan plain =
      plan(gloo(nodes(1, 2), links), CollectiveKind::broadcast, Bytes(2'000'000));
  const GlooModel model{.links = links, .factors = {.fixed = 2, .bandwidth = 3}};
  const CollectivePlan scaled =
      plan(small::on(nodes(1, 2), model), CollectiveKind::broadcast, Bytes(2'000'000));
  CHECK(plain.transfer == 1090_us);
  CHECK(scaled.transfer == 2 * 90_us + 3 * 1000_us);
  CHECK(scaled.volume == 3000_us);
  CollectiveModel any = model;
  REQUIRE(cost_factors_of(any) != nullptr);
  CHECK(cost_factors_of(any)->bandwidth == 3);
}

TEST_CASE("gloo: there are as many collectives at a time as threads") {
  CHECK(collectives_at_a_time(gloo(nodes(1, 2), {.threads = 3})) == 3);
  CHECK(collectives_at_a_time(small::on(nodes(1, 2), FreeModel{})) == 1);
  CHECK(collectives_at_a_time(small::on(nodes(1, 2), AnalyticModel{})) == 1);
  CHECK(collectives_to_fill(gloo(nodes(1, 2), {.to_fill = 0.5})) == 1);
  CHECK(collectives_to_fill(small::on(nodes(1, 2), FreeModel{})) == 1);
  CHECK(name_of(Backend::gloo) == "gloo");
  CHECK(name_of(Backend::nccl) == "nccl");
}

TEST_CASE("gloo: tensors of a GPU pass through the host, tensors of the host stay there") {
  const CollectivePlan device = plan(gloo(nodes(1, 4)), kAllReduce, 11_MiB);
  CHECK(device.to_host == 11_MiB / GlooLinks{}.copy);
  CHECK(device.to_device == device.to_host);
  CHECK(device.channels == 0);
  const CollectivePlan host = plan(gloo(nodes(1, 4), {.host_tensors = true}), kAllReduce, 11_MiB);
  CHECK(host.to_host == Duration());
  CHECK(host.to_device == Duration());
  CHECK(host.transfer == device.transfer);
}

TEST_CASE("gloo: gradients on the host are copied at its rate, regardless of the GPU's memory") {
  const Workload workload = small::chain({{11'000'000, 10}}, 0, 10);
  SimulationOptions options = small::bare();
  options.costs.host_copy = 2_us;
  const auto times = [&](const GlooLinks& links, const SimulationOptions& asked) {
    return simulate(Job(workload, small::node(2), asked, GlooModel{.links = links})).step.times;
  };
  const GlooLinks links{.copy = 11_GBps, .host_tensors = true};
  CHECK(times(links, options).copies_in == 1002_us);
  CHECK(times(links, options).finalize == 1002_us);
  CHECK(times({.copy = 22_GBps, .host_tensors = true}, options).finalize == 502_us);
  // A GPU's copies depend on its own memory.
  CHECK(times({.copy = 11_GBps}, options).finalize == Duration());
  options.ddp_to_set().gradient_as_bucket_view = true;
  CHECK(times(links, options).finalize == Duration());
}

TEST_CASE("gloo: one rank moves nothing") {
  const CollectivePlan planned = plan(gloo(nodes(1, 1)), kAllReduce, 11_MiB);
  CHECK(planned.transfer == Duration());
}

TEST_CASE("gloo: a step holds two all-reduces in flight, and no kernel slows compute") {
  // Two gradients of 8 MB are ready together at 10 us. Each takes about 5.7 ms of the links.
  const Workload workload = small::chain({{8'000'000, 10}, {8'000'000, 10}}, 0, 10);
  SimulationOptions options = small::bare();
  options.ddp_to_set().bucket_cap_mb = 1;
  options.interference = {};
  const auto run = [&](int threads) {
    const GlooLinks links{.to_fill = 1,
                          .host = 100_GBps,
                          .copy = 1'000'000'000_GBps,
                          .threads = threads,
                          .host_tensors = true};
    return simulate(Job(workload, small::node(2), options, GlooModel{.links = links})).step;
  };
  const StepResult two = run(2);
  CHECK(two.times.interference == Duration());
  CHECK(two.buckets[1].start < two.buckets[0].end);
  const StepResult one = run(1);
  CHECK(one.buckets[1].start == one.buckets[0].end);
  // The links need the same time for the bytes. Only latencies may hide.
  CHECK(two.times.iteration <= one.times.iteration);
  CHECK(two.times.iteration.microseconds() ==
        doctest::Approx(one.times.iteration.microseconds()).epsilon(0.03));
}

TEST_CASE("process groups: NCCL's all-reduces run in parallel, and each holds SMs") {
  const Workload workload = small::chain({{8'000'000, 10}, {8'000'000, 10}}, 0, 10'000);
  SimulationOptions options = small::bare();
  options.torch = {1, 13};
  options.ddp_to_set().bucket_cap_mb = 1;
  options.interference = {.sm_share = 1, .memory_share = 0};
  const CollectiveModel model = AnalyticModel{};
  const StepResult one = simulate(Job(workload, small::node(4), options, model)).step;
  options.ddp_to_set().process_groups = 2;
  const StepResult two = simulate(Job(workload, small::node(4), options, model)).step;
  CHECK(one.buckets[1].start >= one.buckets[0].end);
  CHECK(two.buckets[1].start < two.buckets[0].end);
  CHECK(two.buckets[1].end <= one.buckets[1].end);
}

TEST_CASE("process groups: over sockets one communicator does not fill the link") {
  const auto fill = [](NetworkKind kind, Bandwidth nic) {
    Cluster cluster = nodes(2, 8, nic);
    cluster.network.kind = kind;
    return collectives_to_fill(small::on(cluster, AnalyticModel{}));
  };
  CHECK(fill(NetworkKind::infiniband, 100_Gbps) == 1);
  CHECK(fill(NetworkKind::tcp, 10_Gbps) == doctest::Approx(0.956 / 0.71));
  CHECK(fill(NetworkKind::tcp, 100_Gbps) > 2);
  Cluster emulated = nodes(2, 8, 25_Gbps);
  emulated.network.sockets = Sockets::virtual_nic;
  emulated.ring.channels = 1;
  CHECK(collectives_to_fill(small::on(emulated, AnalyticModel{})) ==
        doctest::Approx(0.956 * 3.125 / 1.2));
  // A process carries 1 GB/s and the host twelve. With eight processes, two collectives in flight
  // gain the rest of the host.
  const GlooLinks links{.process = 1_GBps, .to_fill = 1.6, .host = 12_GBps};
  CHECK(collectives_to_fill(gloo(nodes(2, 2), links)) == doctest::Approx(1.6));
  CHECK(collectives_to_fill(gloo(nodes(2, 8), links)) == doctest::Approx(1.5));
  CHECK(collectives_to_fill(gloo(nodes(2, 2, 1_Gbps), links)) == 1);
}

TEST_CASE("process groups: PyTorch 2.0 does not have them") {
  const DdpOptions options{.process_groups = 3};
  CHECK_FALSE(unsupported(options, {1, 13}));
  CHECK(unsupported(options, {2, 0}));
}
