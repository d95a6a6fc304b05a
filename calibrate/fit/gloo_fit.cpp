#include "ddpsim/calibrate/fit/gloo_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "gloo_points.hpp"

namespace ddpsim {
namespace {

/// One standard deviation of a logarithm: hosts differ by a factor of two (GlooLinks).
constexpr double kHostsApart = 0.693;
/// As a share of kHostsApart: the deviation below which the logs determine a constant.
constexpr double kTold = 0.6;
/// Smallest standard deviation that is assumed for the logarithm of a measured time. When a job
/// with the same all-reduces is started again, their times differ by up to this much (tests/lab: 90
/// % of them within 5 %).
constexpr double kGlooNoise = 0.05;
constexpr double kGlooFreedom = 4;  ///< degrees of Student's t
constexpr double kGlooStep = 1e-3;
/// Farthest logarithm from the assumed value; no host lies beyond.
constexpr double kFarthest = 5;
constexpr int kGlooRounds = 30;
constexpr int kGlooTries = 6;
constexpr std::size_t kMostFolds = 24;

using Which = std::vector<bool>;  ///< by gloo_constants(): those that are fitted

struct GlooSolution {
  GlooLinks links;
  /// Standard deviation of the logarithm of each constant, in the order of gloo_constants().
  /// kHostsApart if the points say nothing about it.
  std::vector<double> deviation;
};

class GlooSolver {
 public:
  GlooSolver(std::vector<GlooPoint> points, const ClusterAt& cluster_at)
      : points_(std::move(points)) {
    for (const GlooPoint& point : points_) {
      const auto same = std::ranges::find(shapes_, point.shape);
      job_of_.push_back(static_cast<std::size_t>(same - shapes_.begin()));
      if (same != shapes_.end()) continue;
      shapes_.push_back(point.shape);
      jobs_.emplace_back(Workload{}, cluster_at(point.shape), SimulationOptions{},
                         CollectiveModel(GlooModel{}));
    }
  }
  const std::vector<GlooPoint>& points() const { return points_; }
  double predicted(std::size_t i, const GlooLinks& links) const {
    return predicted_us(jobs_[job_of_[i]], links, points_[i]);
  }
  /// Uses the points that are `in`, and starts at `from`.
  GlooSolution solve(const Which& fitted, const std::vector<bool>& in, const GlooLinks& from) const;
  /// Fits only the constants that the points determine, and sets `told` for them. Uses the points
  /// that are `in`.
  GlooSolution solve_told(const std::vector<bool>& in, Which& told) const;

 private:
  static GlooLinks links_at(const Eigen::VectorXd& steps);
  Eigen::VectorXd left(const Eigen::VectorXd& steps, const std::vector<bool>& in) const;
  Eigen::MatrixXd slopes(const Eigen::VectorXd& steps, const Which& fitted,
                         const std::vector<bool>& in, const Eigen::VectorXd& at) const;

  std::vector<GlooPoint> points_;
  std::vector<JobShape> shapes_;
  std::vector<Job> jobs_;
  std::vector<std::size_t> job_of_;
};

GlooLinks GlooSolver::links_at(const Eigen::VectorXd& steps) {
  GlooLinks links;
  Eigen::Index i = 0;
  for (const GlooConstant& constant : gloo_constants()) {
    const double value = constant.of(links) * elementary::exp(steps[i]);
    if (steps[i] != 0) constant.set(links, std::clamp(value, constant.least, constant.most));
    ++i;
  }
  return links;
}

/// Residuals of the logarithms; 0 for a point that takes no part.
Eigen::VectorXd GlooSolver::left(const Eigen::VectorXd& steps, const std::vector<bool>& in) const {
  const GlooLinks links = links_at(steps);
  Eigen::VectorXd out = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(points_.size()));
  for (std::size_t i = 0; i < points_.size(); ++i)
    if (in[i])
      out[static_cast<Eigen::Index>(i)] = elementary::log(points_[i].time_us / predicted(i, links));
  return out;
}

/// Slopes by each constant. If another constant's limit binds at this point, the slope is taken
/// from the other side.
Eigen::MatrixXd GlooSolver::slopes(const Eigen::VectorXd& steps, const Which& fitted,
                                   const std::vector<bool>& in, const Eigen::VectorXd& at) const {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(at.size(), steps.size());
  for (Eigen::Index c = 0; c < steps.size(); ++c) {
    if (!fitted[static_cast<std::size_t>(c)]) continue;
    for (const double step : {kGlooStep, -kGlooStep}) {
      Eigen::VectorXd there = steps;
      there[c] += step;
      out.col(c) = (at - left(there, in)) / step;
      if (!out.col(c).isZero(1e-6)) break;
    }
  }
  return out;
}

/// One standard deviation of times, from the middle two thirds.
double noise_of(const Eigen::VectorXd& left, const std::vector<bool>& in) {
  std::vector<double> apart;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i]) apart.push_back(std::abs(left[static_cast<Eigen::Index>(i)]));
  return apart.empty() ? kGlooNoise : std::max(kGlooNoise, quantile(std::move(apart), 0.68));
}

GlooSolution GlooSolver::solve(const Which& fitted, const std::vector<bool>& in,
                               const GlooLinks& from) const {
  const auto columns = static_cast<Eigen::Index>(gloo_constants().size());
  Eigen::VectorXd steps = Eigen::VectorXd::Zero(columns);
  const GlooLinks plain;
  for (Eigen::Index c = 0; c < columns; ++c) {
    const GlooConstant& constant = gloo_constants()[static_cast<std::size_t>(c)];
    if (fitted[static_cast<std::size_t>(c)])
      steps[c] = elementary::log(constant.of(from) / constant.of(plain));
  }
  Eigen::VectorXd at = left(steps, in);
  const double prior = 1 / (kHostsApart * kHostsApart);
  double noise = kGlooNoise;
  const auto objective = [&](const Eigen::VectorXd& where, const Eigen::VectorXd& of) {
    const double apart =
        (1 + (of / noise).array().square() / kGlooFreedom).unaryExpr(&elementary::log).sum();
    return (kGlooFreedom + 1) * apart + prior * where.squaredNorm();
  };
  Eigen::MatrixXd normal;
  double damping = 1e-3;
  for (int round = 0; round < kGlooRounds; ++round) {
    const Eigen::MatrixXd slope = slopes(steps, fitted, in, at);
    noise = noise_of(at, in);
    const Eigen::VectorXd weight =
        (kGlooFreedom + 1) / (kGlooFreedom + (at / noise).array().square()) / (noise * noise);
    normal = slope.transpose() * weight.asDiagonal() * slope;
    normal.diagonal().array() += prior;
    const Eigen::VectorXd downhill = slope.transpose() * weight.cwiseProduct(at) - prior * steps;
    const double before = objective(steps, at);
    double gained = 0;
    for (int attempt = 0; attempt < kGlooTries && gained <= 0; ++attempt) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() *= 1 + damping;
      const Eigen::VectorXd there =
          (steps + damped.ldlt().solve(downhill)).cwiseMax(-kFarthest).cwiseMin(kFarthest);
      const Eigen::VectorXd then = left(there, in);
      gained = before - objective(there, then);
      damping = gained > 0 ? std::max(damping / 5, 1e-6) : damping * 5;
      if (gained <= 0) continue;
      steps = there;
      at = then;
    }
    if (gained < 1e-4) break;
  }
  GlooSolution out{.links = links_at(steps), .deviation = {}};
  const Eigen::MatrixXd posterior =
      normal.ldlt().solve(Eigen::MatrixXd::Identity(columns, columns));
  for (Eigen::Index c = 0; c < columns; ++c) out.deviation.push_back(std::sqrt(posterior(c, c)));
  return out;
}

GlooSolution GlooSolver::solve_told(const std::vector<bool>& in, Which& told) const {
  told.assign(gloo_constants().size(), true);
  const GlooSolution all = solve(told, in, GlooLinks{});
  for (std::size_t c = 0; c < told.size(); ++c) told[c] = all.deviation[c] < kTold * kHostsApart;
  return solve(told, in, all.links);
}

/// The error of one time.
struct Miss {
  Bytes size;
  double logarithm = 0;
};

/// One standard deviation, from the middle two thirds. A class without measurements is assumed to
/// be as wrong as the worst other class.
SizeSpread spread_of(const std::vector<Miss>& misses) {
  const auto within = [&](Bytes from, Bytes to) {
    std::vector<double> apart;
    for (const Miss& miss : misses)
      if (miss.size >= from && miss.size < to) apart.push_back(std::abs(miss.logarithm));
    return apart.empty() ? 0 : std::max(kGlooNoise, quantile(std::move(apart), 0.68));
  };
  SizeSpread spread{within(Bytes(1), kMiddleFrom), within(kMiddleFrom, kLargeFrom),
                    within(kLargeFrom, Bytes::max())};
  double worst = std::max({spread.small, spread.middle, spread.large});
  if (worst == 0) worst = kHostsApart;
  for (double* of : {&spread.small, &spread.middle, &spread.large})
    if (*of == 0) *of = worst;
  return spread;
}

bool some(const std::vector<bool>& in) {
  return std::ranges::find(in, true) != in.end();
}

/// Predicts each size from the others. With more than kMostFolds sizes, several are left out
/// together.
void leave_sizes_out(const GlooSolver& solver, GlooFit& fit) {
  const std::vector<GlooPoint>& points = solver.points();
  std::vector<Miss> misses;
  std::vector<Bytes> sizes;
  for (const GlooPoint& point : points) sizes.push_back(point.size);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const std::size_t folds = std::min(sizes.size(), kMostFolds);
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<bool> in;
    for (const GlooPoint& point : points) {
      const auto at = std::ranges::lower_bound(sizes, point.size) - sizes.begin();
      in.push_back(static_cast<std::size_t>(at) % folds != fold);
    }
    if (!some(in)) continue;
    Which told;
    const GlooLinks links = solver.solve_told(in, told).links;
    for (std::size_t k = 0; k < points.size(); ++k)
      if (!in[k]) fit.residuals[k].left_out_us = solver.predicted(k, links);
  }
  for (const GlooResidual& row : fit.residuals)
    if (row.left_out_us > 0)
      misses.push_back({row.size, elementary::log(row.measured_us / row.left_out_us)});
  fit.calibration.deviation = spread_of(misses);
}

/// Predicts each number of ranks from the others.
void leave_shapes_out_of_gloo(const GlooSolver& solver, GlooFit& fit) {
  std::vector<Miss> misses;
  std::vector<JobShape> done;
  for (const GlooPoint& one : solver.points()) {
    if (std::ranges::find(done, one.shape) != done.end()) continue;
    done.push_back(one.shape);
    std::vector<bool> in;
    for (const GlooPoint& point : solver.points()) in.push_back(!(point.shape == one.shape));
    if (!some(in)) return;
    Which told;
    const GlooLinks links = solver.solve_told(in, told).links;
    std::vector<GlooResidual> rows;
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (in[k]) continue;
      rows.push_back(fit.residuals[k]);
      rows.back().calibrated_us = solver.predicted(k, links);
      misses.push_back(
          {rows.back().size, elementary::log(rows.back().measured_us / rows.back().calibrated_us)});
    }
    fit.ranks_left_out.push_back({one.shape, errors_of(rows)});
  }
  fit.calibration.other_ranks_deviation = spread_of(misses);
}

}  // namespace

GlooFit fit_gloo(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at) {
  GlooFit fit;
  const GlooSolver solver(gloo_points(logs, cluster_at, fit), cluster_at);
  const std::vector<bool> all(solver.points().size(), true);
  Which told;
  const GlooSolution found = solver.solve_told(all, told);
  const GlooLinks plain;
  fit.calibration.links = found.links;
  for (std::size_t c = 0; c < told.size(); ++c) {
    const GlooConstant& constant = gloo_constants()[c];
    const double value = constant.of(found.links);
    const double wide = elementary::exp(k80PercentSigmas * found.deviation[c]);
    if (told[c]) fit.calibration.fitted.push_back(&constant);
    fit.constants.push_back(
        {&constant, constant.of(plain), value, value / wide, value * wide, told[c]});
  }
  for (std::size_t i = 0; i < solver.points().size(); ++i) {
    const GlooPoint& point = solver.points()[i];
    fit.residuals.push_back({.log = point.log,
                             .shape = point.shape,
                             .size = point.size,
                             .together = point.together.size(),
                             .measured_us = point.time_us,
                             .assumed_us = solver.predicted(i, plain),
                             .calibrated_us = solver.predicted(i, found.links)});
  }
  leave_sizes_out(solver, fit);
  leave_shapes_out_of_gloo(solver, fit);
  return fit;
}

FitErrors errors_of(const std::vector<GlooResidual>& residuals, double GlooResidual::*predicted) {
  std::vector<double> errors;
  for (const GlooResidual& row : residuals)
    if (row.*predicted > 0) errors.push_back(std::abs(row.*predicted / row.measured_us - 1));
  if (errors.empty()) return {};
  return {median(errors), quantile(errors, 0.9), errors.size()};
}

}  // namespace ddpsim
