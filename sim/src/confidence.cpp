#include "ddpsim/sim/confidence.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/sim/tune.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// A source that moves the step by less is not worth a reader's time.
constexpr double kWorthNaming = 0.001;

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
  return step_reproduced ? Grade::a : Grade::b;
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

Confidence assess(const Workload& workload, const Cluster& cluster,
                  const SimulationOptions& options, const CollectiveModel& model,
                  Duration predicted, const std::optional<Replay>& replay) {
  const std::vector<Scenario> worlds = scenarios(options, model);
  std::vector<Deviation> deviations;
  for (const Scenario& world : worlds)
    deviations.push_back(
        {world.source,
         simulate_times(workload, cluster, world.options, world.model).iteration - predicted});
  std::vector<Duration> extra = {predicted.scaled(-kMeasurementNoise),
                                 predicted.scaled(kMeasurementNoise)};
  extra.push_back(replay ? replay->residual() : predicted.scaled(kUnexplained));
  const Spread spread = combine(deviations, extra);

  Confidence confidence;
  confidence.grade = grade_of(cluster, replay.has_value());
  confidence.low_percent = 100 * (spread.low / predicted);
  confidence.high_percent = 100 * (spread.high / predicted);
  confidence.because.push_back(calibration_of(cluster));
  for (std::size_t i = 0; i + 1 < worlds.size(); i += 2) {
    const double low = std::min({deviations[i].by, deviations[i + 1].by, Duration()}) / predicted;
    const double high = std::max({deviations[i].by, deviations[i + 1].by, Duration()}) / predicted;
    if (high - low >= kWorthNaming)
      confidence.because.push_back(fmt::format("{} may move the step by {:+.1f} % to {:+.1f} %",
                                               worlds[i].source, 100 * low, 100 * high));
  }
  confidence.because.push_back(fmt::format("measurement noise: {:.1f} %", 100 * kMeasurementNoise));
  if (replay)
    confidence.because.push_back(
        fmt::format("today's step was replayed with {:+.1f} % left unexplained",
                    100 * (replay->residual() / replay->measured)));
  else
    confidence.because.push_back(
        fmt::format("published DDP steps took up to {:.0f} % longer than predicted, for reasons "
                    "not known; give "
                    "today's step to check this one (--measured-step)",
                    100 * kUnexplained));
  return confidence;
}

}  // namespace ddpsim
