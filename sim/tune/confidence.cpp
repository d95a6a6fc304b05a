#include "ddpsim/sim/confidence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ddpsim/sim/correction.hpp"
#include "measure_next.hpp"
#include "measured_sizes.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// The slowdown depends on the nodes as well.
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
  const auto by = [&](TimedBy timed_by) {
    return std::ranges::any_of(cluster.calibration->shapes, [&](const CalibratedShape& shape) {
      return shape.timed_by == timed_by;
    });
  };
  if (!by(TimedBy::all_reduce_perf)) return by(TimedBy::joined_ranks) ? Grade::b : Grade::c;
  const bool within =
      beyond_calibration(*cluster.calibration, cluster.nodes, cluster.gpus_per_node).empty();
  return step_reproduced && within ? Grade::a : Grade::b;
}

std::string calibration_of(const Cluster& cluster) {
  if (!cluster.calibration)
    return "the cluster is not calibrated: collective times come from its specification";
  const Calibration& calibration = *cluster.calibration;
  const std::string beyond = beyond_calibration(calibration, cluster.nodes, cluster.gpus_per_node);
  const auto joined =
      std::ranges::count(calibration.shapes, TimedBy::joined_ranks, &CalibratedShape::timed_by);
  const auto alone =
      std::ranges::count(calibration.shapes, TimedBy::one_rank, &CalibratedShape::timed_by);
  const auto logs = static_cast<std::ptrdiff_t>(calibration.shapes.size()) - joined - alone;
  std::vector<std::string> with;
  if (logs > 0) with.push_back(fmt::format("{} log{} of it", logs, logs == 1 ? "" : "s"));
  if (joined > 0) with.emplace_back("the recorded all-reduces of joined ranks");
  if (alone > 0) with.emplace_back("the shortest recorded all-reduces of one rank");
  return fmt::format("the cluster is calibrated with {}{}", fmt::join(with, " and "),
                     beyond.empty() ? "" : ", but " + beyond);
}

Confidence assess(const Job& given, Duration predicted, const std::optional<Replay>& replay) {
  SimulationOptions options = given.options();
  // How fast the GPUs of this very job are, alone and together, is in today's step, and so in the
  // residual.
  if (replay) {
    options.rank_slowdown_range.reset();
    options.compute_scale_range.reset();
  }
  const Job job = given.with(options);
  const Cluster& cluster = job.cluster();
  Confidence confidence;
  confidence.predicted = predicted;
  std::vector<Sensitivity>& sensitivities = confidence.sensitivities;
  for (const Scenario& scenario : scenarios(job))
    sensitivities.push_back(sensitivity(scenario.source,
                                        simulate_times(scenario.at_one).iteration - predicted,
                                        simulate_times(scenario.at_other).iteration - predicted));
  sensitivities.push_back(measurement_noise(predicted));
  if (const auto spread = recorded_spread(job.workload(), predicted))
    sensitivities.push_back(*spread);
  if (replay)
    sensitivities.push_back(
        sensitivity(ErrorSource::replay_residual, replay->residual(), replay->residual()));

  Cluster basis = cluster;
  if (nccl_of(job.model()) == nullptr)
    basis.calibration.reset();  // NCCL's logs say nothing of gloo
  const bool gloo = std::holds_alternative<GlooModel>(job.model());
  confidence.grade =
      replay && replay->contradicted() ? Grade::c : grade_of(basis, replay && replay->reproduced());
  if (basis.calibration)
    confidence.beyond =
        beyond_calibration(*basis.calibration, cluster.nodes, cluster.gpus_per_node);
  if (!gloo) confidence.because.push_back(calibration_of(basis));
  if (gloo && cluster.ranks() > 1)
    confidence.because.emplace_back(
        "gloo's times come from its cost model and the constants of --gloo, not from this cluster");
  if (!confidence.because.empty()) confidence.basis = confidence.because.front();
  if (options.rank_slowdown_range && cluster.ranks() > 1)
    confidence.because.push_back(
        fmt::format("compute is taken {:.1f} % slower on {} than on one GPU alone, as "
                    "published steps show (--rank-slowdown)",
                    100 * (slowdown(options.rank_slowdown, cluster) - 1), ranks_of(cluster)));
  confidence.because.push_back(fmt::format("measurement noise: {:.1f} %", 100 * kMeasurementNoise));
  if (replay)
    confidence.because.push_back(
        fmt::format("today's step was replayed with {:+.1f} % left unexplained",
                    100 * (replay->residual() / replay->measured)));

  const Spread spread = combine(sensitivities);
  confidence.low_percent = 100 * (spread.low / predicted);
  confidence.high_percent = 100 * (spread.high / predicted);
  confidence.measure_next = measure_next(sensitivities, predicted, job);
  std::stable_sort(
      sensitivities.begin(), sensitivities.end(),
      [](const Sensitivity& a, const Sensitivity& b) { return a.width() > b.width(); });
  grade_by_sizes(confidence, all_reduce_sizes(job), "buckets", basis);
  return confidence;
}

}  // namespace ddpsim
