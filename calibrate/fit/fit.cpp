#include "ddpsim/calibrate/fit/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "fit_parts.hpp"
#include "fitted_constants.hpp"
#include "kriging_fit.hpp"
#include "published_logs.hpp"
#include "selection_fit.hpp"

namespace ddpsim {
namespace {

constexpr double kLeastDeviation = 0.05;

/// Whether no log is from all_reduce_perf.
bool only_recorded(const std::vector<Part>& parts) {
  return std::ranges::all_of(
      parts, [](const Part& part) { return part.log->timed_by != TimedBy::all_reduce_perf; });
}

/// One standard deviation, from the middle two thirds, because a few sizes may be far off.
double deviation(std::vector<double> logarithms, double least) {
  if (logarithms.empty()) return 0;
  for (double& value : logarithms) value = std::abs(value);
  return std::max(least, quantile(std::move(logarithms), 0.68));
}

SizeSpread residual_deviation_of(const std::vector<FitResidual>& residuals, double least) {
  const auto within = [&](Bytes from, Bytes to) {
    std::vector<double> logarithms;
    for (const FitResidual& row : residuals)
      if (row.size >= from && row.size < to)
        logarithms.push_back(elementary::log(row.measured_us / row.modelled_us));
    return deviation(std::move(logarithms), least);
  };
  SizeSpread spread{within(Bytes(1), kMiddleFrom), within(kMiddleFrom, kLargeFrom),
                    within(kLargeFrom, Bytes::max())};
  // A class without measurements is assumed to be as wrong as the worst other class.
  const double worst = std::max({spread.small, spread.middle, spread.large});
  for (double* of : {&spread.small, &spread.middle, &spread.large})
    if (*of == 0) *of = worst;
  return spread;
}

/// Ranges of sizes in one log where the cost model is off by 25 % or more in one direction.
std::vector<std::string> breaks_of(const std::vector<FitResidual>& residuals,
                                   const std::vector<std::string>& sources) {
  constexpr double kQuarter = 0.223;  // log 1.25
  std::vector<std::string> out;
  const auto side = [&](const FitResidual& row) {
    const double miss = elementary::log(row.measured_us / row.modelled_us);
    return miss > kQuarter ? 1 : miss < -kQuarter ? -1 : 0;
  };
  for (std::size_t first = 0; first < residuals.size();) {
    std::size_t last = first;
    while (last + 1 < residuals.size() && residuals[last + 1].log == residuals[first].log &&
           side(residuals[last + 1]) == side(residuals[first]))
      ++last;
    if (side(residuals[first]) != 0) {
      double worst = 0;
      for (std::size_t i = first; i <= last; ++i) {
        const double miss = elementary::log(residuals[i].measured_us / residuals[i].modelled_us);
        if (std::abs(miss) > std::abs(worst)) worst = miss;
      }
      const std::string sizes = first == last ? size_text(residuals[first].size)
                                              : size_text(residuals[first].size) + " to " +
                                                    size_text(residuals[last].size);
      out.push_back(
          fmt::format("{} ({}x{}): at {} measured times are {} to {:.2f} of the cost model's",
                      sources[residuals[first].log], residuals[first].shape.nodes,
                      residuals[first].shape.gpus_per_node, sizes, worst < 0 ? "down" : "up",
                      elementary::exp(worst)));
    }
    first = last + 1;
  }
  return out;
}

std::vector<FittedConstant> constants_of_fit(const KrigingFit& solved, const PathConstants& prior) {
  std::vector<FittedConstant> out;
  for (std::size_t i = 0; i < fitted_constants().size(); ++i) {
    const CostConstant& constant = fitted_constants()[i];
    const ConstantPrior& expected = constant.prior;
    // A constant about which the logs say nothing keeps its expected value. That is the value of a
    // cost model for all clusters. Constants that only logs tell (per_channel_start_us, ring_ends)
    // have the middle of the known families.
    if (!(solved.deviation[i] > 0) || solved.deviation[i] > 0.9 * expected.deviation) continue;
    PathConstants before = prior;
    PathConstants after = solved.constants;
    const double value = constant.of(after);
    const double wide = k80PercentSigmas * solved.deviation[i];
    const double low = expected.additive ? value - wide : value * elementary::exp(-wide);
    const double high =
        expected.additive ? value + wide : std::min(value * elementary::exp(wide), expected.most);
    out.push_back({&constant, constant.of(before), value, low, high});
  }
  return out;
}

/// Measurements that others made on machines of this kind, as far as they are fitted together with
/// own logs.
struct Published {
  std::vector<MeasuredLog> logs;
  std::vector<CalibratedShape> shapes;
};

/// Removes the entries of `shapes` that `log` reproduces. Returns their sources.
std::vector<std::string> remove_shapes(const MeasuredLog& log,
                                       std::vector<CalibratedShape>& shapes) {
  std::vector<std::string> sources;
  std::erase_if(shapes, [&](const CalibratedShape& shape) {
    const bool same = log.shape() == JobShape{shape.nodes, shape.gpus_per_node} &&
                      (!log.nccl || log.nccl == shape.nccl);
    if (same) sources.push_back(shape.source);
    return same;
  });
  return sources;
}

/// All published logs except those that an own log repeats or replaces.
Published published_beside(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at,
                           const FitOptions& options, Fit& fit) {
  if (!options.published) return {};
  Published out{published_logs(*options.published, cluster_at), options.published->shapes};
  const std::vector<MeasuredLog>& all = options.own ? *options.own : logs;
  std::erase_if(out.logs, [&](const MeasuredLog& log) {
    const bool repeated = is_repeated(log, *options.published, all);
    if (!repeated && !is_outdone(log, all, options)) return false;
    std::vector<std::string>& left_out = repeated ? fit.repeated : fit.other_release;
    for (std::string& source : remove_shapes(log, out.shapes))
      left_out.push_back(std::move(source));
    return true;
  });
  return out;
}

}  // namespace

Fit fit_calibration(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at,
                    const FitOptions& options) {
  Fit fit;
  std::vector<Part> parts = parts_of(logs, cluster_at, options, fit);
  const std::size_t own = parts.size();
  const Published published = published_beside(logs, cluster_at, options, fit);
  Calibration& calibration = fit.calibration;
  for (const Part& part : parts)
    calibration.shapes.push_back(
        {part.shape.nodes, part.shape.gpus_per_node, part.points.front().size,
         part.points.back().size, part.log->source, part.faults.empty() ? "" : part.faults.front(),
         published.logs.empty() ? part.tuning.nccl : known_release(*part.log, options),
         part.log->timed_by, std::nullopt, false, digest_of(part.log->points)});
  for (const MeasuredLog& log : published.logs)
    parts.push_back(published_part(log, cluster_at, options));
  std::ranges::copy(published.shapes, std::back_inserter(calibration.shapes));
  check_size(parts);
  const Explained explained = explain(parts, calibration.shapes);
  const std::vector<CollectiveChoice>& choices = explained.choices;
  const PathConstants prior = constants_of(parts.front().cluster);
  const KrigingFit& solved = explained.solved;

  calibration.constants = solved.constants;
  calibration.selection = explained.selection;
  if (const std::string note = note_of(explained.selection); !note.empty())
    fit.notes.push_back(note);
  const std::vector<double> modelled = times_us(parts, choices, calibration);
  for (std::size_t i = 0; i < choices.size(); ++i)
    calibration.correction.push_back(
        {explained.operating_points[i], solved.weights[i], solved.within_shape[i]});
  const std::vector<double> calibrated = times_us(parts, choices, calibration);
  std::size_t row = 0;
  for (const Part& part : std::span(parts).first(own)) {
    for (const MeasuredPoint& point : part.points) {
      fit.residuals.push_back({fit.used.size(), part.shape, point.size, choices[row], point.time_us,
                               modelled[row], calibrated[row]});
      ++row;
    }
    fit.used.push_back(part.log->source);
  }
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(own), parts.end());
  // A training has each size only once per step, so their repeatability is taken from their noise.
  const bool recorded = only_recorded(parts);
  constexpr double kRepeats = kRecordedNoise * kCorrectionNoise;
  calibration.residual_deviation = residual_deviation_of(
      fit.residuals, recorded ? kRecordedNoise * kLeastDeviation : kLeastDeviation);
  calibration.repeatability =
      recorded ? SizeSpread{kRepeats, kRepeats, kRepeats} : repeatability_of(parts);
  fit.constants = constants_of_fit(solved, prior);
  fit.model_misses = breaks_of(fit.residuals, fit.used);
  return fit;
}

FitErrors errors_of(const std::vector<FitResidual>& residuals, Bytes from, bool model_alone) {
  std::vector<double> errors;
  for (const FitResidual& row : residuals)
    if (row.size >= from)
      errors.push_back(
          std::abs((model_alone ? row.modelled_us : row.calibrated_us) / row.measured_us - 1));
  if (errors.empty()) return {};
  return {median(errors), quantile(errors, 0.9), errors.size()};
}

}  // namespace ddpsim
