#include "ddpsim/sim/confidence.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/sim/correction.hpp"
#include "measure_next.hpp"
#include "measured_sizes.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// A source that moves the step by less is not worth a reader's time.
constexpr double kWorthNaming = 0.001;
/// The pace depends on the nodes as well.
std::string ranks_of(const Cluster& cluster) {
  return cluster.nodes == 1 ? fmt::format("{} ranks", cluster.ranks())
                            : fmt::format("{} rank{} on each of {} nodes", cluster.gpus_per_node,
                                          cluster.gpus_per_node == 1 ? "" : "s", cluster.nodes);
}

}  // namespace

std::string_view name_of(Grade grade) {
  switch (grade) {
    case Grade::a:
      return "A";
    case Grade::b:
      return "B";
    case Grade::c:
      return "C";
  }
  return "";
}

Grade grade_of(const Cluster& cluster, bool step_reproduced) {
  if (!cluster.calibration) return Grade::c;
  const bool within =
      beyond_calibration(*cluster.calibration, cluster.nodes, cluster.gpus_per_node).empty();
  return step_reproduced && within ? Grade::a : Grade::b;
}

std::string calibration_of(const Cluster& cluster) {
  if (!cluster.calibration)
    return "the cluster is not calibrated: collective times come from its specification";
  const Calibration& calibration = *cluster.calibration;
  const std::string beyond = beyond_calibration(calibration, cluster.nodes, cluster.gpus_per_node);
  const std::size_t logs = calibration.scales.size();
  return fmt::format("the cluster is calibrated with {} log{} of it{}", logs, logs == 1 ? "" : "s",
                     beyond.empty() ? "" : ", but " + beyond);
}

Confidence assess(const Job& given, Duration predicted, const std::optional<Replay>& replay) {
  SimulationOptions options = given.options();
  // How fast the GPUs of this very job are, alone and together, is in today's step, and so in the
  // residual.
  if (replay) {
    options.pace_range.reset();
    options.compute_scale_range.reset();
  }
  const Job job = given.with(options);
  const Cluster& cluster = job.cluster();
  const std::vector<Scenario> worlds = scenarios(job);
  std::vector<Deviation> deviations;
  for (const Scenario& world : worlds)
    deviations.push_back({world.source, simulate_times(world.job).iteration - predicted});

  Confidence confidence;
  Cluster basis = cluster;
  if (chooser_of(job.model()) == nullptr)
    basis.calibration.reset();  // NCCL's logs say nothing of gloo
  const bool gloo = std::holds_alternative<GlooModel>(job.model());
  confidence.grade = grade_of(basis, replay && replay->reproduced());
  if (basis.calibration)
    confidence.beyond =
        beyond_calibration(*basis.calibration, cluster.nodes, cluster.gpus_per_node);
  if (!gloo) confidence.because.push_back(calibration_of(basis));
  if (gloo && cluster.ranks() > 1)
    confidence.because.emplace_back(
        "gloo's times come from its law and the constants of --gloo, not from this cluster");
  if (!confidence.because.empty()) confidence.basis = confidence.because.front();
  for (std::size_t i = 0; i + 1 < worlds.size(); i += 2) {
    const double low = std::min({deviations[i].by, deviations[i + 1].by, Duration()}) / predicted;
    const double high = std::max({deviations[i].by, deviations[i + 1].by, Duration()}) / predicted;
    if (high - low < kWorthNaming) continue;
    confidence.because.push_back(fmt::format("{} may move the step by {:+.1f} % to {:+.1f} %",
                                             worlds[i].source, 100 * low, 100 * high));
    confidence.sources.push_back({worlds[i].source, 100 * low, 100 * high});
  }
  if (options.pace_range && cluster.ranks() > 1)
    confidence.because.push_back(
        fmt::format("compute is taken {:.1f} % slower on {} than on one GPU alone, as "
                    "published steps show (--rank-slowdown)",
                    100 * (slowdown(options.pace, cluster) - 1), ranks_of(cluster)));
  confidence.because.push_back(fmt::format("measurement noise: {:.1f} %", 100 * kMeasurementNoise));
  if (replay) {
    deviations.push_back({kReplayResidual, replay->residual()});
    confidence.because.push_back(
        fmt::format("today's step was replayed with {:+.1f} % left unexplained",
                    100 * (replay->residual() / replay->measured)));
    const double percent = 100 * (replay->residual() / predicted);
    confidence.sources.push_back({kReplayResidual, std::min(percent, 0.0), std::max(percent, 0.0)});
  }
  std::stable_sort(confidence.sources.begin(), confidence.sources.end(),
                   [](const Uncertainty& a, const Uncertainty& b) {
                     return a.high_percent - a.low_percent > b.high_percent - b.low_percent;
                   });

  const std::vector<Duration> noise = {predicted.scaled(-kMeasurementNoise),
                                       predicted.scaled(kMeasurementNoise)};
  const Spread spread = combine(deviations, noise);
  confidence.low_percent = 100 * (spread.low / predicted);
  confidence.high_percent = 100 * (spread.high / predicted);
  confidence.measure_next = measure_next(deviations, noise, predicted, job);
  grade_by_sizes(confidence, all_reduce_sizes(job), "buckets", basis);
  return confidence;
}

}  // namespace ddpsim
