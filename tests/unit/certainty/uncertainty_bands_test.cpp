// The range that an all-reduce may take, by kind of machine and size, read from the table of
// evidence.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "scenario_bounds.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Cluster of_kind(IntraKind kind, int nodes = 1) {
  Cluster cluster = small::node(8);
  cluster.intra.kind = kind;
  cluster.nodes = nodes;
  if (nodes > 1)
    cluster.network = {.kind = NetworkKind::infiniband,
                       .nics_per_node = 1,
                       .per_nic = Bandwidth::gigabytes_per_second(25)};
  return cluster;
}

void check_band(const Cluster& cluster, Bytes size, double faster, double slower) {
  CAPTURE(cluster.nodes);
  CAPTURE(size.count());
  const Band band = duration_band(cluster, size);
  CHECK(band.faster == doctest::Approx(faster).epsilon(1e-9));
  CHECK(band.slower == doctest::Approx(slower).epsilon(1e-9));
}

struct Factors {
  ErrorSource source;
  double fixed;
  double bandwidth;
  bool operator==(const Factors&) const = default;
};

/// The scenarios of collectives, in order.
std::vector<Factors> factors(const Job& job) {
  std::vector<Factors> found;
  for (const small::Bound& world : small::bounds(job))
    if (world.source == ErrorSource::fixed_cost || world.source == ErrorSource::bandwidth ||
        world.source == ErrorSource::collective_times) {
      const CostFactors* scale = cost_factors_of(world.job.model());
      found.push_back({world.source, scale == nullptr ? 1 : scale->fixed,
                       scale == nullptr ? 1 : scale->bandwidth});
    }
  return found;
}

Workload two_mib() {
  return small::chain({{1 << 20, 40}, {1 << 20, 100}}, 50, 100);
}

std::vector<Factors> factors_of(const Cluster& cluster) {
  return factors(Job(two_mib(), cluster, {}, AnalyticModel{}));
}

/// One log without scatter is known to 1.28 standard deviations of 0.05, a factor of e^0.064.
Cluster calibrated(Cluster cluster, Bytes largest = 1_MiB * 1024) {
  Calibration calibration;
  calibration.constants = constants_of(cluster);
  calibration.shapes = {{.nodes = cluster.nodes,
                         .gpus_per_node = 8,
                         .smallest = Bytes(8),
                         .largest = largest,
                         .source = "log.txt",
                         .nccl = {}}};
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  return cluster;
}

}  // namespace

TEST_CASE("uncertainty: bands of a node with NVLink, of one with PCIe and of a network") {
  for (const IntraKind kind : {IntraKind::nvswitch, IntraKind::nvlink}) {
    const Cluster cluster = of_kind(kind);
    for (const Bytes size : {1_B, 64_KiB}) check_band(cluster, size, 0.69, 2.59);
    check_band(cluster, 256_KiB, 0.75, 2.22);
    for (const Bytes size : {1_MiB, 1024_MiB}) check_band(cluster, size, 0.92, 1.14);
  }
  check_band(small::node(2), 1_MiB, 0.92, 1.14);
  check_band(of_kind(IntraKind::pcie), 64_KiB, 0.58, 1.62);
  check_band(of_kind(IntraKind::pcie), 256_KiB, 0.56, 1.48);
  check_band(of_kind(IntraKind::pcie), 1_MiB, 0.55, 1.90);
  // Between nodes the network counts, whatever is inside.
  for (const IntraKind kind : {IntraKind::nvswitch, IntraKind::pcie}) {
    check_band(of_kind(kind, 2), 64_KiB, 0.64, 2.00);
    check_band(of_kind(kind, 2), 256_KiB, 0.54, 1.32);
    check_band(of_kind(kind, 2), 1_MiB, 0.85, 1.52);
  }
}

TEST_CASE(
    "uncertainty: unknown PCIe properties widen the band of large sizes at both ends, in "
    "quadrature") {
  Cluster said = of_kind(IntraKind::pcie);
  said.gpus_per_node = 8;
  said.intra.to_host = said.intra.per_gpu;
  Cluster unsaid = said;
  unsaid.intra.peers_assumed = true;
  unsaid.intra.roots_assumed = true;
  const auto together = [](double one, double other) {
    return std::exp(std::hypot(std::log(one), std::log(other)));
  };
  // From peer-to-peer under one root to eight GPUs at one root port.
  check_band(unsaid, 1_MiB, 1 / together(0.55, 0.80 / 0.46), together(1.90, 8));
  check_band(unsaid, 64_KiB, 0.58, 1.62);
  CHECK(duration_band(unsaid, 256_KiB).slower > duration_band(said, 256_KiB).slower);
  CHECK(duration_band(unsaid, 256_KiB).slower < duration_band(unsaid, 1_MiB).slower);
}

TEST_CASE("uncertainty: each kind of network has its own bands") {
  struct Kind {
    NetworkKind network;
    Band small, middle, large;
    double slower;  ///< most time per byte
  };
  const Kind kinds[] = {
      {NetworkKind::infiniband, {0.64, 2.00}, {0.54, 1.32}, {0.85, 1.52}, 1.34},
      {NetworkKind::roce, {0.64, 2.00}, {0.54, 1.32}, {0.85, 1.52}, 1.34},
      {NetworkKind::efa, {0.33, 3.83}, {0.33, 1.92}, {0.66, 2.47}, 1.34},
      {NetworkKind::slingshot, {0.55, 2.00}, {0.86, 9.48}, {0.67, 2.27}, 1.34},
      {NetworkKind::tcp, {0.70, 6.17}, {0.63, 4.80}, {0.76, 1.44}, 1.34},
  };
  for (const Kind& kind : kinds) {
    Cluster cluster = of_kind(IntraKind::nvswitch, 2);
    cluster.network.kind = kind.network;
    check_band(cluster, 64_KiB, kind.small.faster, kind.small.slower);
    check_band(cluster, 256_KiB, kind.middle.faster, kind.middle.slower);
    check_band(cluster, 1_MiB, kind.large.faster, kind.large.slower);
    CHECK(factors_of(cluster)[3].bandwidth == kind.slower);
    // No kind of network has logs of several AMD clusters.
    cluster.gpu.vendor = GpuVendor::amd;
    check_band(cluster, 1_MiB, 0.75, 1.61);
  }
}

TEST_CASE("uncertainty: bands are interpolated along the logarithm of the size") {
  const Cluster cluster = of_kind(IntraKind::nvswitch);
  check_band(cluster, 128_KiB, (0.69 + 0.75) / 2, (2.59 + 2.22) / 2);
  check_band(cluster, 512_KiB, (0.75 + 0.92) / 2, (2.22 + 1.14) / 2);
}

TEST_CASE("uncertainty: one rank sends nothing and has no uncertainty") {
  Cluster alone = small::node(1);
  check_band(alone, 1_MiB, 1, 1);
  check_band(calibrated(alone), 1_MiB, 1, 1);
  for (const Factors& factor : factors_of(alone)) {
    CHECK(factor.fixed == 1);
    CHECK(factor.bandwidth == 1);
  }
}

TEST_CASE("uncertainty: fixed cost and bandwidth err independently, by the kind of machine") {
  const auto expected = [](double fixed_low, double fixed_high, double low, double high) {
    return std::vector<Factors>{{ErrorSource::fixed_cost, fixed_low, 1},
                                {ErrorSource::fixed_cost, fixed_high, 1},
                                {ErrorSource::bandwidth, 1, low},
                                {ErrorSource::bandwidth, 1, high}};
  };
  CHECK(factors_of(of_kind(IntraKind::nvswitch)) == expected(0.63, 1.88, 0.94, 1.14));
  CHECK(factors_of(of_kind(IntraKind::nvlink)) == expected(0.63, 1.88, 0.94, 1.14));
  CHECK(factors_of(small::node(2)) == expected(0.63, 1.88, 0.94, 1.14));
  CHECK(factors_of(of_kind(IntraKind::pcie)) == expected(0.22, 10.6, 0.55, 1.90));
  CHECK(factors_of(of_kind(IntraKind::nvswitch, 2)) == expected(0.44, 4.07, 0.60, 1.34));
  CHECK(factors_of(of_kind(IntraKind::pcie, 2)) == expected(0.44, 4.07, 0.60, 1.34));
  Cluster lone = of_kind(IntraKind::none, 2);
  lone.gpus_per_node = 1;
  CHECK(factors_of(lone) == expected(0.44, 4.07, 0.60, 1.34));
  lone.network.gpudirect = false;
  CHECK(factors_of(lone) == expected(0.44, 4.07, 0.66, 1.83));  // through host memory
  lone.network.kind = NetworkKind::tcp;
  CHECK(factors_of(lone) == expected(0.44, 4.07, 0.60, 1.34));
}

TEST_CASE("uncertainty: factors multiply the scale that the model already has") {
  const AnalyticModel model{.tuning = {}, .factors = {.fixed = 2, .bandwidth = 3}};
  CHECK(factors(Job(two_mib(), of_kind(IntraKind::nvswitch, 2), {}, model)) ==
        std::vector<Factors>{{ErrorSource::fixed_cost, 2 * 0.44, 3},
                             {ErrorSource::fixed_cost, 2 * 4.07, 3},
                             {ErrorSource::bandwidth, 2, 3 * 0.60},
                             {ErrorSource::bandwidth, 2, 3 * 1.34}});
}

TEST_CASE("uncertainty: gloo's times err as a whole, whatever the cluster") {
  for (const Cluster& cluster : {small::node(2), of_kind(IntraKind::pcie, 4)})
    CHECK(factors(Job(two_mib(), cluster, {}, GlooModel{})) ==
          std::vector<Factors>{{ErrorSource::collective_times, 0.6, 0.6},
                               {ErrorSource::collective_times, 1.7, 1.7}});
}

TEST_CASE("uncertainty: gloo's logs narrow its band at their ranks and sizes") {
  GlooCalibration logs{.deviation = {0.5, 0.3, 0.1},
                       .other_ranks_deviation = SizeSpread{0.5, 0.4, 0.2},
                       .logs = {{.gpus_per_node = 2, .largest = Bytes(4 << 20)}}};
  const auto slower = [&](int ranks) {
    Cluster cluster = small::node(ranks);
    cluster.gloo = std::make_shared<const GlooCalibration>(logs);
    return factors(Job(two_mib(), cluster, {}, GlooModel{})).back().bandwidth;
  };
  CHECK(slower(2) == doctest::Approx(std::exp(k80PercentSigmas * 0.1)));
  CHECK(slower(4) == doctest::Approx(std::exp(k80PercentSigmas * 0.2)));
  CHECK(slower(5) == 1.7);  // more than twice the measured ranks
  logs.other_ranks_deviation.reset();
  CHECK(slower(4) == 1.7);  // as without logs
  logs.logs[0].largest = Bytes(64 << 10);
  CHECK(slower(2) == 1.7);
}

TEST_CASE("uncertainty: recorded and free collectives have no uncertainty") {
  for (const CollectiveModel& model :
       {CollectiveModel(RecordedModel{.durations = {1_ms}}), CollectiveModel(FreeModel{})})
    for (const Factors& factor : factors(Job(two_mib(), small::node(8), {}, model))) {
      CHECK(factor.fixed == 1);
      CHECK(factor.bandwidth == 1);
    }
}

TEST_CASE(
    "uncertainty: a calibration's band at 32 KiB is the fixed cost's, from 1 MiB the bandwidth's") {
  // Sizes up to 64 KiB scatter by 0.12, large ones do not. With the 0.05 of any log that is 0.13
  // and 0.05.
  Cluster cluster = calibrated(of_kind(IntraKind::pcie));
  Calibration calibration = *cluster.calibration;
  calibration.repeatability = {.small = 0.12, .middle = 0.5, .large = 0};
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  // Two gradients of 40 bytes do not make small sizes matter either.
  for (const std::int64_t bytes : {std::int64_t{1} << 20, std::int64_t{40}}) {
    const std::vector<Factors> found = factors(
        Job(small::chain({{bytes, 40}, {bytes, 100}}, 50, 100), cluster, {}, AnalyticModel{}));
    REQUIRE(found.size() == 4);
    CHECK(found[0].fixed == doctest::Approx(std::exp(-1.28 * 0.13)));
    CHECK(found[1].fixed == doctest::Approx(std::exp(1.28 * 0.13)));
    // 1 MiB is 2^20, between 2^18 and 2^21, so a third of the 0.5 remains, plus 0.05.
    const double at_1_mib = std::sqrt(0.05 * 0.05 + 0.5 * 0.5 / 9);
    CHECK(found[2].bandwidth == doctest::Approx(std::exp(-1.28 * at_1_mib)));
    CHECK(found[3].bandwidth == doctest::Approx(std::exp(1.28 * at_1_mib)));
  }
}

TEST_CASE("uncertainty: the largest bucket on the wire decides") {
  // A log up to 4 MiB; 0.03 more for each power of two beyond it.
  const Cluster cluster = calibrated(of_kind(IntraKind::nvswitch), 4_MiB);
  const Workload workload = small::chain({{1 << 20, 20}, {16 << 20, 40}, {1 << 20, 100}}, 50, 100);
  SimulationOptions options;
  const auto slower = [&] {
    return factors(Job(workload, cluster, options, AnalyticModel{}))[3].bandwidth;
  };
  const auto beyond = [](double octaves) {
    return doctest::Approx(std::exp(1.28 * std::sqrt(0.0025 + std::pow(0.03 * octaves, 2))));
  };
  options.ddp_to_set().bucket_cap_mb = 1;  // [1] [16] [1]
  CHECK(slower() == beyond(2));
  options.ddp_to_set().comm_hook = CommHook::fp16_compress;  // 8 MiB
  CHECK(slower() == beyond(1));
  options.buckets = steady_buckets(workload, {.bucket_cap_mb = 1}, {});
  options.buckets->erase(options.buckets->begin() + 1);  // partitions under study count too
  CHECK(slower() == beyond(0));
}

TEST_CASE("uncertainty: the basis of a band, in words") {
  CHECK(band_evidence(of_kind(IntraKind::nvlink)) ==
        "low to high is the middle 80 % of errors on 14 logs of NVLink nodes. Each cluster was "
        "predicted without its own");
  CHECK(band_evidence(of_kind(IntraKind::pcie)) ==
        "low to high is the middle 80 % of errors on 12 tables of 9 PCIe machines, an interval "
        "widened by half because they are few. Each cluster was predicted without its own");
  CHECK(band_evidence(of_kind(IntraKind::pcie, 2)) ==
        "low to high is the middle 80 % of errors on 5 logs over InfiniBand, an interval widened "
        "by half because they are few. Each cluster was predicted without its own");
  Cluster cluster = calibrated(of_kind(IntraKind::nvlink));
  CHECK(band_evidence(cluster) ==
        "low to high is the 80 % interval of measured times, from 1 log of this cluster");
  Calibration calibration = *cluster.calibration;
  calibration.shapes.push_back(calibration.shapes.front());
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  cluster.nodes = 4;
  CHECK(band_evidence(cluster) ==
        "low to high is the 80 % interval of measured times, from 2 logs of this cluster at other "
        "scales");
}

TEST_CASE(
    "uncertainty: two scenarios per source in this order, overhead and compute if uncertain") {
  SimulationOptions options;
  const auto sources = [&](const CollectiveModel& model) {
    std::vector<ErrorSource> names;
    for (const small::Bound& world : small::bounds(Job(two_mib(), small::node(8), options, model)))
      names.push_back(world.source);
    return names;
  };
  const CollectiveModel nccl = AnalyticModel{};
  const std::vector<ErrorSource> always = {ErrorSource::fixed_cost,   ErrorSource::fixed_cost,
                                           ErrorSource::bandwidth,    ErrorSource::bandwidth,
                                           ErrorSource::interference, ErrorSource::interference,
                                           ErrorSource::ddp_costs,    ErrorSource::ddp_costs};
  CHECK(sources(nccl) == always);
  options.compute_scale_range = {0.5, 2};
  std::vector<ErrorSource> more = always;
  more.insert(more.end(), {ErrorSource::compute_scale, ErrorSource::compute_scale});
  CHECK(sources(nccl) == more);
  options.rank_slowdown_range = {RankSlowdown{}, RankSlowdown{}};
  more = always;
  more.insert(more.end(), {ErrorSource::rank_slowdown, ErrorSource::rank_slowdown,
                           ErrorSource::compute_scale, ErrorSource::compute_scale});
  CHECK(sources(nccl) == more);
  // Certain values are not a source.
  options.rank_slowdown_range->second.gpu_spread = 0.02;
  more.insert(more.end() - 4, {ErrorSource::gpu_spread, ErrorSource::gpu_spread});
  CHECK(sources(nccl) == more);
  options.rank_slowdown_range->second.gpu_spread = 0;
  CHECK(sources(GlooModel{}) ==
        std::vector<ErrorSource>{ErrorSource::collective_times, ErrorSource::collective_times,
                                 ErrorSource::interference, ErrorSource::interference,
                                 ErrorSource::ddp_costs, ErrorSource::ddp_costs,
                                 ErrorSource::rank_slowdown, ErrorSource::rank_slowdown,
                                 ErrorSource::compute_scale, ErrorSource::compute_scale});
}

TEST_CASE("uncertainty: each scenario changes its own part of the options and no other") {
  SimulationOptions options;
  options.interference = {.sm_share = 0.5, .memory_share = 0.25, .communication_rate = 0.9};
  options.costs = {.copy_bandwidth_share = 0.6,
                   .copy_kernel = 10_us,
                   .kernel_gap = 20_us,
                   .host_hook = 30_us,
                   .host_launch = 40_us,
                   .host_comm_hook = 50_us,
                   .host_hook_kernel = 55_us,
                   .qr = 56_us,
                   .qr_column = 57_us,
                   .host_step = 58_us,
                   .host_step_kernel = 59_us,
                   .launch_latency = 60_us,
                   .event_latency = 70_us,
                   .host_search_per_parameter = 80_us,
                   .zero = {.hook = 81_us, .module_forward = 82_us, .shard_stepped = 84_us},
                   .host_unit_hook = 83_us};
  options.compute_scale = 3;
  options.compute_scale_range = {2.5, 3.5};
  options.rank_slowdown = {.gpu_spread = 0.01, .several_gpus = 0.03};
  const RankSlowdown least{.gpu_spread = 0.005, .several_gpus = 0.01};
  const RankSlowdown most{.gpu_spread = 0.02, .several_gpus = 0.1, .several_nodes = 0.05};
  options.rank_slowdown_range = {least, most};
  const std::vector<small::Bound> all =
      small::bounds(Job(two_mib(), small::node(8), options, FreeModel{}));
  REQUIRE(all.size() == 14);
  const auto interference = [&](std::size_t i) { return all[i].job.options().interference; };
  CHECK(interference(4).sm_share == 0.25);
  CHECK(interference(4).memory_share == 0.125);
  CHECK(interference(5).sm_share == 1);
  CHECK(interference(5).memory_share == 0.5);
  const auto slowdown_of = [&](std::size_t i) { return all[i].job.options().rank_slowdown; };
  CHECK(slowdown_of(8) == RankSlowdown{.gpu_spread = 0.005, .several_gpus = 0.03});
  CHECK(slowdown_of(9) == RankSlowdown{.gpu_spread = 0.02, .several_gpus = 0.03});
  CHECK(slowdown_of(10) == RankSlowdown{.gpu_spread = 0.01, .several_gpus = 0.01});
  CHECK(slowdown_of(11) ==
        RankSlowdown{.gpu_spread = 0.01, .several_gpus = 0.1, .several_nodes = 0.05});
  CHECK(all[12].job.options().compute_scale == 3.5);
  CHECK(all[13].job.options().compute_scale == 2.5);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    const SimulationOptions& world = all[i].job.options();
    if (i != 4 && i != 5) CHECK(world.interference.sm_share == 0.5);
    CHECK(world.interference.communication_rate == 0.9);
    if (i < 8 || i > 11) CHECK(world.rank_slowdown == options.rank_slowdown);
    if (i < 12) CHECK(world.compute_scale == 3);
    const double factor = i == 6 ? 0.7 : i == 7 ? 1.5 : 1;
    const DdpCosts& costs = world.costs;
    CHECK(costs.copy_bandwidth_share == doctest::Approx(0.6 / factor));
    CHECK(costs.copy_kernel == (10_us).scaled(factor));
    CHECK(costs.kernel_gap == (20_us).scaled(factor));
    CHECK(costs.host_hook == (30_us).scaled(factor));
    CHECK(costs.host_launch == (40_us).scaled(factor));
    CHECK(costs.host_comm_hook == (50_us).scaled(factor));
    CHECK(costs.host_hook_kernel == (55_us).scaled(factor));
    CHECK(costs.qr == (56_us).scaled(factor));
    CHECK(costs.qr_column == (57_us).scaled(factor));
    CHECK(costs.host_step == (58_us).scaled(factor));
    CHECK(costs.host_step_kernel == (59_us).scaled(factor));
    CHECK(costs.launch_latency == (60_us).scaled(factor));
    CHECK(costs.event_latency == (70_us).scaled(factor));
    CHECK(costs.zero.hook == (81_us).scaled(factor));
    CHECK(costs.zero.module_forward == (82_us).scaled(factor));
    CHECK(costs.zero.shard_stepped == (84_us).scaled(factor));
    CHECK(costs.host_unit_hook == (83_us).scaled(factor));
    CHECK(costs.host_search_per_parameter == (80_us).scaled(factor));
  }
  // Copies reach at most the peak of the memory.
  options.costs.copy_bandwidth_share = 0.8;
  CHECK(small::bounds(Job(two_mib(), small::node(8), options, FreeModel{}))[6]
            .job.options()
            .costs.copy_bandwidth_share == 1);
}

TEST_CASE(
    "uncertainty: the effect of a source reaches from zero to its further end, on either "
    "side") {
  const auto ends = [](Duration one, Duration other) {
    const Sensitivity found = sensitivity(ErrorSource::bandwidth, one, other);
    CHECK(found.width() == found.high - found.low);
    return std::pair(found.low, found.high);
  };
  CHECK(ends(-3_us, 2_us) == std::pair(-3_us, 2_us));
  CHECK(ends(2_us, -3_us) == std::pair(-3_us, 2_us));
  CHECK(ends(1_us, 2_us) == std::pair(0_us, 2_us));
  CHECK(ends(-2_us, -1_us) == std::pair(-2_us, 0_us));
  CHECK(measurement_noise(1000_us).low == -5_us);
  CHECK(measurement_noise(1000_us).high == 5_us);
}

TEST_CASE("uncertainty: independent sources add up as squares, separately in both directions") {
  const auto made = [](Duration low, Duration high) {
    return sensitivity(ErrorSource::bandwidth, low, high);
  };
  const Spread spread = combine({made(-3_us, 1_us), made(-4_us, 2_us), made(-12_us, 2_us)});
  CHECK(spread.low == -13_us);
  CHECK(spread.high == 3_us);
  // A source that only slows down leaves the low end unchanged. A source that occurs twice counts
  // twice.
  const Spread up = combine({made(0_us, 3_us), made(0_us, 4_us), made(0_us, 12_us)});
  CHECK(up.low == Duration());
  CHECK(up.high == 13_us);
  CHECK(combine({}).low == Duration());
  CHECK(combine({}).high == Duration());
}

TEST_CASE("uncertainty: a time has a fixed part and a part for bytes, each with its own factor") {
  CHECK(CostFactors{}.apply(100_us, 60_us) == 100_us);
  CHECK(CostFactors{.fixed = 2, .bandwidth = 3}.apply(100_us, 60_us) == 260_us);
  CHECK(CostFactors{.fixed = 0.5, .bandwidth = 1}.apply(100_us, 60_us) == 80_us);
  CHECK(CostFactors{.fixed = 1, .bandwidth = 0.5}.apply(100_us, 60_us) == 70_us);
}

TEST_CASE("uncertainty: a log of another job shape never makes an interval wider than no log") {
  Cluster cluster = calibrated(of_kind(IntraKind::nvswitch, 2));
  Calibration calibration = *cluster.calibration;
  calibration.residual_deviation = {.small = 1, .middle = 1, .large = 1};
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  // As wide as the data sheet's band, but with another centre. Beyond the most nodes it is half as
  // much wider towards slower.
  const double whole = std::log(1.52 / 0.85);
  cluster.nodes = 16;
  check_band(cluster, 1_MiB, std::exp(-whole / 2.5), std::exp(whole * 1.5 / 2.5));
  cluster.nodes = 2;  // as measured, with the log's own residual
  CHECK(duration_band(cluster, 1_MiB).slower == doctest::Approx(std::exp(1.28 * 0.05)));
}

TEST_CASE("uncertainty: with logs of several nodes only, one node has twice its data sheet band") {
  Cluster cluster = calibrated(of_kind(IntraKind::nvswitch, 2));
  Calibration calibration = *cluster.calibration;
  calibration.residual_deviation = {.small = 1, .middle = 1, .large = 1};
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  cluster.nodes = 1;
  check_band(cluster, 1_MiB, 0.92 / 1.14, 1.14 / 0.92);
  calibration.shapes.push_back(calibration.shapes.front());
  calibration.shapes.back().nodes = 1;
  calibration.shapes.back().gpus_per_node = 2;  // one node was measured, in part
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  const double half = std::log(1.14 / 0.92) / 2;
  check_band(cluster, 1_MiB, std::exp(-half), std::exp(half));
}

TEST_CASE(
    "uncertainty: published logs are no more certain about another job shape than their own") {
  Cluster cluster = calibrated(of_kind(IntraKind::nvswitch));
  Calibration calibration = *cluster.calibration;
  calibration.residual_deviation = {.small = 0.1, .middle = 0.1, .large = 0.1};
  calibration.shapes.front().published = true;
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  const Band measured = duration_band(cluster, 64_MiB);
  cluster.gpus_per_node = 4;
  const Band elsewhere = duration_band(cluster, 64_MiB);
  CHECK(measured.slower >
        // Machines of a kind differ by more than NVLink nodes leave open.
        1.14);
  CHECK(elsewhere.slower == doctest::Approx(measured.slower));
  CHECK(elsewhere.faster == doctest::Approx(measured.faster));
}

TEST_CASE("collective scenarios: no all-reduce is faster than its wires") {
  int held = 0;
  for (const char* text :
       {"dgxh100@4", "p4d:spec@64", "p4d@64",
        "node:8 gpu:8xA100 nvswitch:300GBps nic:4x200Gbps:ib oversubscription:4"}) {
    CAPTURE(text);
    const Cluster cluster = load_cluster({.text = text, .nodes = {}, .gpus_per_node = {}});
    const Job job(two_mib(), cluster, {}, AnalyticModel{{.nccl = NcclVersion{2, 21, 5}}});
    for (const small::Bound& world : small::bounds(job)) {
      const CostFactors& factors = *cost_factors_of(world.job.model());
      for (std::int64_t size = 1 << 16; size <= 1 << 29; size *= 4) {
        CAPTURE(size);
        const CollectivePlan known = plan(job, CollectiveKind::all_reduce, Bytes(size), 0);
        const CollectivePlan told = plan(world.job, CollectiveKind::all_reduce, Bytes(size), 0);
        const Duration least =
            least_time(CollectiveKind::all_reduce, *known.choice, Bytes(size), world.job.cluster());
        CHECK(told.transfer >= std::min(known.transfer, least));
        CHECK(told.volume <= told.transfer);
        if (factors.apply(known.transfer, known.volume) < least) ++held;
      }
    }
  }
  CHECK(held > 0);  // the band alone would exceed the wires somewhere
}

TEST_CASE("uncertainty: every cost of DDP is 0.7 to 1.5 times as assumed, all of them together") {
  const auto costs = [](const DdpCosts& of) {
    std::vector<Duration> all{of.copy_kernel,      of.kernel_gap,
                              of.host_copy,        of.host_hook,
                              of.host_launch,      of.host_comm_hook,
                              of.host_hook_kernel, of.qr,
                              of.qr_column,        of.host_step,
                              of.host_step_kernel, of.launch_latency,
                              of.event_latency,    of.host_search_per_parameter,
                              of.host_unit_hook};
    ZeroHost zero = of.zero;
    zero.for_each([&](Duration time) { all.push_back(time); });
    return all;
  };
  std::vector<Job> worlds;
  for (const small::Bound& world :
       small::bounds(Job(two_mib(), of_kind(IntraKind::nvswitch), {}, AnalyticModel{})))
    if (world.source == ErrorSource::ddp_costs) worlds.push_back(world.job);
  REQUIRE(worlds.size() == 2);
  const std::vector<Duration> assumed = costs(DdpCosts());
  for (const std::size_t w : {0U, 1U}) {
    const double factor = w == 0 ? 0.7 : 1.5;
    const DdpCosts& of_world = worlds[w].options().costs;
    const std::vector<Duration> scaled = costs(of_world);
    for (std::size_t i = 0; i < assumed.size(); ++i) {
      CAPTURE(i);
      CHECK(scaled[i] == assumed[i].scaled(factor));
    }
    CHECK(of_world.copy_bandwidth_share ==
          doctest::Approx(std::min(1.0, DdpCosts().copy_bandwidth_share / factor)));
    CHECK(of_world.host_kernel == DdpCosts().host_kernel);  // a separate source
  }
}

TEST_CASE(
    "uncertainty: interference is half or twice as assumed, NCCL between 0.6 and 1 beside "
    "compute") {
  SimulationOptions options;
  options.interference = {.sm_share = 0.5, .memory_share = 0.25, .communication_rate = {}};
  const auto worlds = [&](const Workload& workload) {
    std::vector<Interference> found;
    for (const small::Bound& world :
         small::bounds(Job(workload, of_kind(IntraKind::nvswitch), options, AnalyticModel{})))
      if (world.source == ErrorSource::interference)
        found.push_back(world.job.options().interference);
    return found;
  };
  const std::vector<Interference> found = worlds(two_mib());
  REQUIRE(found.size() == 2);
  CHECK(found[0].sm_share == 0.25);
  CHECK(found[0].memory_share == 0.125);
  CHECK(found[0].communication_rate == 1);
  CHECK(found[1].sm_share == 1);
  CHECK(found[1].memory_share == 0.5);
  CHECK(found[1].communication_rate == 0.6);
  options.interference.communication_rate = 0.9;  // stated
  for (const Interference& one : worlds(two_mib())) CHECK(one.communication_rate == 0.9);
}

TEST_CASE("uncertainty: nodes with few GPUs have their own band over RDMA through host memory") {
  Cluster staged = of_kind(IntraKind::nvswitch, 2);
  staged.network.gpudirect = false;
  staged.gpus_per_node = 2;
  check_band(staged, 64_KiB, 0.55, 1.73);
  check_band(staged, 256_KiB, 0.70, 3.02);
  check_band(staged, 1_MiB, 0.66, 1.83);
  staged.gpus_per_node = 3;
  check_band(staged, 1_MiB, 0.85, 1.52);
}

TEST_CASE("uncertainty: independent errors add up as squares on either side") {
  const Spread none = combine({});
  CHECK(none.low == Duration());
  CHECK(none.high == Duration());
  const Spread both =
      combine({{ErrorSource::bandwidth, -3_us, 5_us}, {ErrorSource::fixed_cost, -4_us, 12_us}});
  CHECK(both.low == -5_us);
  CHECK(both.high == 13_us);
  // A source that only lengthens a step shortens none.
  CHECK(sensitivity(ErrorSource::bandwidth, 3_us, 5_us).low == Duration());
  CHECK(sensitivity(ErrorSource::bandwidth, 3_us, 5_us).high == 5_us);
  CHECK(sensitivity(ErrorSource::bandwidth, -3_us, -5_us).low == -5_us);
  CHECK(sensitivity(ErrorSource::bandwidth, -3_us, -5_us).high == Duration());
  CHECK(sensitivity(ErrorSource::bandwidth, 5_us, -3_us).source == ErrorSource::bandwidth);
  CHECK(measurement_noise(1000_us).low == -5_us);
  CHECK(measurement_noise(1000_us).high == 5_us);
}
