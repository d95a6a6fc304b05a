#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/ddp/all_reduce_sizes.hpp"
#include "ddpsim/sim/values/launch_cost.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "ddpsim/sim/nccl/correction.hpp"
#include "gloo_evidence.hpp"
#include "measure_next.hpp"
#include "measured_sizes.hpp"
#include "scheme_error.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// The multi-GPU overhead depends on the number of nodes as well.
std::string ranks_of(const Cluster& cluster) {
  const int each = cluster.gpus_per_host();
  return cluster.hosts() == 1 ? fmt::format("{} ranks", cluster.ranks())
                              : fmt::format("{} rank{} on each of {} nodes", each,
                                            each == 1 ? "" : "s", cluster.hosts());
}

/// For a step that was not measured, or whose measurement contradicts the replay.
std::vector<Sensitivity> predicted_sensitivities(const std::vector<Bounds>& scenarios,
                                                 Duration predicted) {
  std::vector<Sensitivity> sensitivities;
  for (const Bounds& bounds : scenarios)
    sensitivities.push_back(sensitivity(bounds.source, bounds.at_one.iteration - predicted,
                                        bounds.at_other.iteration - predicted));
  sensitivities.push_back(measurement_noise(predicted));
  return sensitivities;
}

std::array<Spread, kLossCauses> loss_spreads(const std::vector<Bounds>& scenarios,
                                             const Loss& predicted) {
  std::array<Spread, kLossCauses> spreads{};
  for (const LossCause cause : all_loss_causes()) {
    std::vector<Sensitivity> sensitivities;
    for (const Bounds& bounds : scenarios)
      sensitivities.push_back(sensitivity(bounds.source,
                                          bounds.at_one.loss[cause] - predicted[cause],
                                          bounds.at_other.loss[cause] - predicted[cause]));
    spreads[static_cast<std::size_t>(cause)] = combine(sensitivities);
  }
  return spreads;
}

/// For a measured step: a source that made it longer would only change what explains it.
std::vector<Sensitivity> measured_sensitivities(Duration corrected, const Replay& replay) {
  const Duration left = replay.measured - corrected;
  return {sensitivity(ErrorSource::replay_residual, left, left), measurement_noise(replay)};
}

/// Widens the spread to the measured step when that belongs to another job: nobody knows which of
/// the two steps it will be.
Spread reaching(Spread spread, const Replay& replay, Duration predicted) {
  const Sensitivity noise = measurement_noise(replay);
  return {std::min(spread.low, replay.measured + noise.low - predicted),
          std::max(spread.high, replay.measured + noise.high - predicted)};
}

std::string read_from(const Replay& replay) {
  return replay.source.empty() ? "" : fmt::format(" ({})", replay.source);
}

std::string launch_cost_of(const Job& job) {
  const auto& launches = job.workload().launches;
  if (!launches) return "";
  const auto& [each, from] = launch_cost(*launches, job.options());
  if (from == LaunchCostFrom::option) return "";
  if (from == LaunchCostFrom::assumed)
    return fmt::format(
        "the host is assumed to need {:.0f} us to launch each kernel of the model (--launch-cost)",
        each.forward.microseconds());
  return fmt::format(
      "the host launches a model kernel in {:.0f} us in forward, {:.0f} in "
      "backward and {:.0f} in the optimizer, recorded with the profiler (--launch-cost)",
      each.forward.microseconds(), each.backward.microseconds(), each.optimizer.microseconds());
}

/// Names the costs that a file states, and the file.
std::string stated_costs_of(const SimulationOptions& options) {
  const auto of = [&](std::span<const CostField> fields, std::string_view place) {
    std::string text;
    for (const auto& [field, value] : options.stated_costs)
      if (field >= fields.data() && field < fields.data() + fields.size())
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", field->name, value);
    return text.empty() ? text : fmt::format("{} ({})", text, place);
  };
  const std::string host = of(host_costs(), "host/costs of the workload");
  const std::string gpu = of(gpu_costs(), "gpu_costs of the cluster");
  if (host.empty() && gpu.empty()) return "";
  return fmt::format("DDP costs as stated: {}{}{}", host, host.empty() || gpu.empty() ? "" : "; ",
                     gpu);
}

void explain_grade(Confidence& confidence, const Job& job, const Cluster& basis,
                   const std::optional<Replay>& replay) {
  const SimulationOptions& options = job.options();
  const Cluster& cluster = job.cluster();
  const bool gloo = std::holds_alternative<GlooModel>(job.model());
  std::vector<std::string>& because = confidence.because;
  if (!gloo) because.push_back(calibration_of(basis));
  if (std::string errors = left_out_errors(basis); !errors.empty())
    because.push_back(std::move(errors));
  if (gloo && cluster.ranks() > 1) because.push_back(gloo_calibration_of(job));
  if (!because.empty()) confidence.basis = because.front();
  if (options.rank_slowdown_range && cluster.ranks() > 1 && !replay) {
    const SlowdownShares shares =
        slowdown_shares(options.rank_slowdown, cluster, options.accumulate);
    const auto unexplained = [&](const RankSlowdown& terms) {
      return 100 * slowdown_shares(terms, cluster, options.accumulate).unexplained;
    };
    const auto& [least, most] = *options.rank_slowdown_range;
    because.push_back(fmt::format(
        "on {} compute takes {:.1f} % longer than on one GPU: {:.1f} % for the slowest GPU "
        "(--gpu-spread), {:.1f} % multi-GPU overhead. By stack it is {:.1f} to {:.1f} % "
        "(--rank-slowdown)",
        ranks_of(cluster), 100 * (shares.slowdown() - 1), 100 * shares.slowest_gpu,
        100 * shares.unexplained, unexplained(least), unexplained(most)));
  }
  if (std::string launching = launch_cost_of(job); !launching.empty())
    because.push_back(std::move(launching));
  if (std::string stated = stated_costs_of(options); !stated.empty())
    because.push_back(std::move(stated));
  if (!options.interference.communication_rate && cluster.ranks() > 1 &&
      !is_timed_beside_compute(job))
    because.push_back(fmt::format(
        "NCCL is assumed to run at {} of its rate during compute (--interference nccl:RATE)",
        kNcclBesideCompute));
  if (replay && replay->spread)
    because.push_back(fmt::format(
        "{} steps were measured; the 80 % interval of a further one is {:+.1f} to {:+.1f} % from "
        "the median{}",
        replay->spread->steps, 100 * (replay->spread->low / replay->measured - 1),
        100 * (replay->spread->high / replay->measured - 1), read_from(*replay)));
  else
    because.push_back(fmt::format("measurement noise: {:.1f} %{}", 100 * kMeasurementNoise,
                                  replay ? read_from(*replay) : ""));
  if (replay)
    because.push_back(fmt::format("the current step was replayed with {:+.1f} % left unexplained",
                                  100 * (replay->residual() / replay->measured)));
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
  const auto covered = [&](const Calibration& logs) {
    return !logs.shapes.empty() &&
           beyond_calibration(logs, cluster.nodes, cluster.gpus_per_node).empty();
  };
  const Calibration own = logs_alone(*cluster.calibration, false);
  if (covered(own)) return step_reproduced ? Grade::a : Grade::b;
  if (covered(logs_alone(*cluster.calibration, true))) return Grade::b;
  return is_far_beyond(own, cluster.nodes) ? Grade::c : Grade::b;
}

std::string calibration_of(const Cluster& cluster) {
  if (!cluster.calibration)
    return "the cluster is not calibrated: collective times come from data sheets";
  const Calibration& calibration = *cluster.calibration;
  const std::string beyond = beyond_calibration(calibration, cluster.nodes, cluster.gpus_per_node);
  const auto joined =
      std::ranges::count(calibration.shapes, TimedBy::joined_ranks, &CalibratedShape::timed_by);
  const auto alone =
      std::ranges::count(calibration.shapes, TimedBy::one_rank, &CalibratedShape::timed_by);
  const auto published = std::ranges::count(calibration.shapes, true, &CalibratedShape::published);
  const auto logs =
      static_cast<std::ptrdiff_t>(calibration.shapes.size()) - joined - alone - published;
  std::vector<std::string> with;
  if (logs > 0) with.push_back(fmt::format("{} log{} of it", logs, logs == 1 ? "" : "s"));
  if (joined > 0) with.emplace_back("the recorded all-reduces of joined ranks");
  if (alone > 0) with.emplace_back("the shortest recorded all-reduces of one rank");
  if (published > 0)
    with.push_back(
        fmt::format("{} published log{} of such machines", published, published == 1 ? "" : "s"));
  std::string text = fmt::format("the cluster is calibrated with {}{}", fmt::join(with, " and "),
                                 beyond.empty() ? "" : ", but " + beyond);
  const CalibratedShape* log =
      published_log(calibration, cluster.nodes, cluster.gpus_per_node, kLargeFrom);
  if (log != nullptr && !is_published(calibration))
    text += fmt::format(". One published log has this job shape ({}, {} node{} of {} GPU{})",
                        log->source, log->nodes, log->nodes == 1 ? "" : "s", log->gpus_per_node,
                        log->gpus_per_node == 1 ? "" : "s");
  return text;
}

std::string_view provenance_of(const Cluster& cluster, Grade grade) {
  if (!cluster.calibration) return "not calibrated: data sheets";
  if (grade == Grade::a) return "measured on this cluster";
  if (grade == Grade::c) return "calibrated far from this job";
  const auto any = [&](auto counts) {
    return std::ranges::any_of(cluster.calibration->shapes, counts);
  };
  if (any([](const CalibratedShape& shape) {
        return shape.timed_by == TimedBy::all_reduce_perf && !shape.published;
      }))
    return "calibrated by logs of this cluster";
  return any([](const CalibratedShape& shape) { return shape.published; })
             ? "calibrated by published logs"
             : "calibrated by recorded all-reduces";
}

LossInterval loss_interval(LossCause cause, const Loss& loss, const Confidence& confidence) {
  const Duration time = loss[cause];
  const Spread& spread = confidence.loss[static_cast<std::size_t>(cause)];
  const Duration low = time + spread.low;
  return {may_gain(cause) ? low : std::max(low, std::min(time, Duration())), time + spread.high};
}

double most_apart(const Job& job, const StepTimes& predicted) {
  const std::optional<Launches>& launches = job.workload().launches;
  const bool assumed =
      launches && launch_cost(*launches, job.options()).from == LaunchCostFrom::assumed;
  const bool host_matters = predicted.host && predicted.host->scaled(2) > predicted.iteration;
  return assumed && host_matters ? kAnotherJob * kHostKernelRange.second : kAnotherJob;
}

Confidence assess(const Job& job, const StepTimes& predicted, const std::optional<Replay>& replay,
                  const std::optional<StepTimes>& otherwise, int threads) {
  std::optional<Bounds> beside;
  if (otherwise) beside = Bounds{ErrorSource::replay_residual, predicted, *otherwise};
  const bool measured = replay && !replay->contradicted();
  const std::vector<Bounds> bounds =
      measured ? simulate_scenarios(job, threads) : bounds_of_prediction(job, predicted, threads);
  return assess(job, predicted, bounds, replay, beside);
}

Confidence assess(const Job& job, const StepTimes& times, const std::vector<Bounds>& scenarios,
                  const std::optional<Replay>& replay, const std::optional<Bounds>& beside) {
  const Duration predicted = times.iteration;
  const bool contradicted = replay && replay->contradicted();
  const Cluster& cluster = job.cluster();
  Confidence confidence;
  confidence.predicted = predicted;
  std::vector<Sensitivity>& sensitivities = confidence.sensitivities;
  sensitivities = replay && !contradicted ? measured_sensitivities(predicted, *replay)
                                          : predicted_sensitivities(scenarios, predicted);
  std::vector<Bounds> of_causes = scenarios;
  if (beside) {
    of_causes.push_back(*beside);
    if (!replay || contradicted)
      sensitivities.push_back(sensitivity(beside->source, beside->at_one.iteration - predicted,
                                          beside->at_other.iteration - predicted));
  }
  confidence.loss = loss_spreads(of_causes, times.loss);
  if (!(replay && replay->spread))
    if (const auto spread = recorded_spread(job.workload(), predicted))
      sensitivities.push_back(*spread);

  Cluster basis = cluster;
  if (nccl_of(job.model()) == nullptr)
    basis.calibration.reset();  // NCCL's logs tell nothing about gloo
  const bool reproduced = replay && replay->reproduced();
  confidence.grade = contradicted                                     ? Grade::c
                     : std::holds_alternative<GlooModel>(job.model()) ? gloo_grade(job, reproduced)
                                                                      : grade_of(basis, reproduced);
  if (basis.calibration)
    confidence.beyond =
        beyond_calibration(*basis.calibration, cluster.nodes, cluster.gpus_per_node);
  explain_grade(confidence, job, basis, replay);

  Spread spread = combine(sensitivities);
  if (contradicted) {
    spread = reaching(spread, *replay, predicted);
    sensitivities.push_back(
        sensitivity(ErrorSource::replay_residual, replay->residual(), replay->residual()));
  }
  // The step cannot be shorter than zero, however many sources add up.
  confidence.low_percent = std::max(-100.0, 100 * (spread.low / predicted));
  confidence.high_percent = 100 * (spread.high / predicted);
  confidence.measure_next =
      replay ? measure_cause(*replay, job.workload()) : measure_next(sensitivities, predicted, job);
  std::stable_sort(
      sensitivities.begin(), sensitivities.end(),
      [](const Sensitivity& a, const Sensitivity& b) { return a.width() > b.width(); });
  grade_by_sizes(confidence, all_reduce_sizes(job), "buckets", basis);
  if (is_estimate(job.workload())) confidence.provenance = "compute estimated, collectives ";
  confidence.provenance += contradicted ? "contradicted by the measured step"
                           : std::holds_alternative<GlooModel>(job.model())
                               ? gloo_provenance(job, confidence.grade)
                               : provenance_of(basis, confidence.grade);
  return confidence;
}

}  // namespace ddpsim
