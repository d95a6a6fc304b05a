#include "uncertainty.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace ddpsim {
namespace {

/// Measured over predicted time of uncalibrated all-reduces: the middle 80 % over all open nccl-tests
/// logs, each family of clusters predicted by constants learned from the others
/// (tests/accuracy/fit_pipeline_law.py --leave-one-out). Sizes below `kSmall` are latency, from
/// `kLarge` on what gradients are made of.
struct Evidence {
  Band small;
  Band large;
  const char* logs;
};
constexpr Evidence kOneNvlinkNode{{0.64, 2.62}, {0.90, 1.19}, "14 logs of NVLink nodes"};
constexpr Evidence kOnePcieNode{{0.75, 1.82}, {0.74, 1.93}, "3 logs of PCIe nodes"};
constexpr Evidence kNetwork{{0.43, 1.81}, {0.68, 1.67}, "22 logs over networks"};
constexpr Bytes kSmall{64 * 1024};
constexpr Bytes kLarge{1'048'576};

const Evidence& evidence_for(const Cluster& cluster) {
  if (cluster.nodes > 1) return kNetwork;
  return cluster.intra.kind == IntraKind::pcie ? kOnePcieNode : kOneNvlinkNode;
}

Band band_for(const CollectiveModel& model) {
  const AnalyticModel* analytic = chooser_of(model);
  return analytic == nullptr ? Band{} : duration_band(analytic->cluster, kLarge);
}

/// No SM lost at all, or twice the share (memory traffic on top of thread blocks).
constexpr double kNoInterference = 0;
constexpr double kStrongInterference = 2;
/// Copy kernels and host costs of DDP.
constexpr double kCostsLow = 0.7;
constexpr double kCostsHigh = 1.5;

CollectiveModel scaled_collectives(CollectiveModel model, double factor) {
  if (AnalyticModel* analytic = chooser_of(model)) analytic->duration_scale *= factor;
  return model;
}

SimulationOptions with_interference(SimulationOptions options, double factor) {
  options.interference.sm_share *= factor;
  return options;
}

SimulationOptions with_compute(SimulationOptions options, double scale) {
  options.compute_scale = scale;
  return options;
}

SimulationOptions with_costs(SimulationOptions options, double factor) {
  DdpCosts& costs = options.costs;
  costs.copy_bandwidth_share = std::min(1.0, costs.copy_bandwidth_share / factor);
  for (Duration* cost :
       {&costs.copy_kernel, &costs.kernel_gap, &costs.host_hook, &costs.host_launch,
        &costs.launch_latency, &costs.event_latency, &costs.host_search_per_parameter})
    *cost = cost->scaled(factor);
  return options;
}

}  // namespace

Band duration_band(const Cluster& cluster, Bytes size) {
  if (cluster.ranks() <= 1) return {};
  const Evidence& evidence = evidence_for(cluster);
  const auto bytes = static_cast<double>(std::clamp(size, kSmall, kLarge).count());
  const auto small = static_cast<double>(kSmall.count());
  const double share =
      std::log2(bytes / small) / std::log2(static_cast<double>(kLarge.count()) / small);
  const auto between = [&](double a, double b) { return a + (b - a) * share; };
  return {between(evidence.small.faster, evidence.large.faster),
          between(evidence.small.slower, evidence.large.slower)};
}

std::string band_evidence(const Cluster& cluster) {
  return fmt::format(
      "low and high are what the middle 80 % of {} left, each cluster predicted without "
      "its own",
      evidence_for(cluster).logs);
}

std::vector<Scenario> scenarios(const SimulationOptions& options, const CollectiveModel& model) {
  const Band band = band_for(model);
  std::vector<Scenario> worlds = {
      {kCollectiveTimes, options, scaled_collectives(model, band.faster)},
      {kCollectiveTimes, options, scaled_collectives(model, band.slower)},
      {"interference", with_interference(options, kNoInterference), model},
      {"interference", with_interference(options, kStrongInterference), model},
      {"copies and host costs", with_costs(options, kCostsLow), model},
      {"copies and host costs", with_costs(options, kCostsHigh), model},
  };
  if (options.compute_scale_range) {
    const auto [slowest, fastest] = *options.compute_scale_range;
    worlds.push_back({kComputeScale, with_compute(options, fastest), model});
    worlds.push_back({kComputeScale, with_compute(options, slowest), model});
  }
  return worlds;
}

Spread combine(const std::vector<Deviation>& deviations, const std::vector<Duration>& extra) {
  std::map<std::string, Spread> worst;
  for (const Deviation& deviation : deviations) {
    Spread& spread = worst[deviation.source];
    spread.low = std::min(spread.low, deviation.by);
    spread.high = std::max(spread.high, deviation.by);
  }
  double low = 0;
  double high = 0;
  const auto add = [](double& sum, Duration deviation) {
    sum += deviation.microseconds() * deviation.microseconds();
  };
  for (const auto& [source, spread] : worst) {
    add(low, spread.low);
    add(high, spread.high);
  }
  for (const Duration deviation : extra) add(deviation < Duration() ? low : high, deviation);
  return {-Duration::microseconds(std::sqrt(low)), Duration::microseconds(std::sqrt(high))};
}

}  // namespace ddpsim
