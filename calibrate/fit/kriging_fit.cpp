#include "kriging_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "fitted_constants.hpp"

namespace ddpsim {
namespace {

constexpr double kNoiseWithinShape = 0.03;  ///< like kCorrectionNoise, within one shape
constexpr double kFreedom = 4;              ///< degrees of Student's t
constexpr double kStep = 1e-3;              ///< of a logarithm, for slopes
constexpr int kRounds = 25;
constexpr int kTries = 6;

Eigen::VectorXd vector_of(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

std::vector<double> values_of(const Eigen::VectorXd& vector) {
  return {vector.data(), vector.data() + vector.size()};
}

struct Solver {
  const KrigingProblem& problem;
  Eigen::Index rows = static_cast<Eigen::Index>(problem.operating_points.size());
  Eigen::Index columns = static_cast<Eigen::Index>(fitted_constants().size());
  Eigen::VectorXd measured = vector_of(problem.log_measured);
  Eigen::VectorXd noise = vector_of(problem.noise);
  Eigen::VectorXd prior_deviation = Eigen::VectorXd(columns);
  /// How much more its correction varies than that of published logs; 0 in their rows.
  Eigen::VectorXd own_machine = Eigen::VectorXd(rows);
  Eigen::MatrixXd covariance = Eigen::MatrixXd(rows, rows);

  explicit Solver(const KrigingProblem& of) : problem(of) {
    for (Eigen::Index i = 0; i < columns; ++i)
      prior_deviation[i] = fitted_constants()[static_cast<std::size_t>(i)].prior.deviation;
    const bool beside = std::ranges::find(problem.published, true) != problem.published.end();
    for (Eigen::Index i = 0; i < rows; ++i)
      own_machine[i] = published(i) ? 0 : beside ? 1 + kOtherMachine : 1;
    for (Eigen::Index i = 0; i < rows; ++i)
      for (Eigen::Index j = 0; j <= i; ++j)
        covariance(i, j) = covariance(j, i) =
            correction_covariance(place(i), place(j)) *
            (own_machine[i] > 0 && own_machine[j] > 0 ? own_machine[i] : 1);
  }

  const OperatingPoint& place(Eigen::Index row) const {
    return problem.operating_points[static_cast<std::size_t>(row)];
  }
  bool published(Eigen::Index row) const {
    return problem.published[static_cast<std::size_t>(row)];
  }
  /// Whether this machine was measured at the published row's shape. Its own measurements then tell
  /// more about that shape.
  bool outdone(Eigen::Index row) const {
    for (Eigen::Index i = 0; published(row) && i < rows; ++i)
      if (!published(i) && place(i).nodes == place(row).nodes &&
          place(i).gpus_per_node == place(row).gpus_per_node)
        return true;
    return false;
  }

  Eigen::VectorXd log_modelled(const Eigen::VectorXd& steps) const {
    return vector_of(problem.log_modelled(constants_at(problem.prior, values_of(steps))));
  }

  /// Slopes of the cost model by each constant. At a constant's limit, the slope is taken from the
  /// other side.
  Eigen::MatrixXd slopes(const Eigen::VectorXd& steps, const Eigen::VectorXd& at) const {
    Eigen::MatrixXd out(rows, columns);
    for (Eigen::Index i = 0; i < columns; ++i) {
      Eigen::VectorXd there = steps;
      there[i] += kStep;
      out.col(i) = (log_modelled(there) - at) / kStep;
      if (!out.col(i).isZero(0)) continue;
      there[i] -= 2 * kStep;
      out.col(i) = (at - log_modelled(there)) / kStep;
    }
    return out;
  }

  Eigen::LLT<Eigen::MatrixXd> factor(const Eigen::VectorXd& precision) const {
    Eigen::MatrixXd all = covariance;
    all.diagonal() +=
        kCorrectionNoise * kCorrectionNoise * noise.cwiseAbs2().cwiseQuotient(precision);
    return all.llt();
  }

  /// Weights of the process within one shape.
  Eigen::VectorXd within_shape(Eigen::VectorXd left) const {
    Eigen::MatrixXd all(rows, rows);
    for (Eigen::Index i = 0; i < rows; ++i)
      for (Eigen::Index j = 0; j < rows; ++j)
        all(i, j) = within_shape_covariance(place(i), place(j));
    for (Eigen::Index i = 0; i < rows; ++i) {
      if (!outdone(i)) continue;
      left[i] = 0;
      all.row(i).setZero();
      all.col(i).setZero();
    }
    all.diagonal() += kNoiseWithinShape * kNoiseWithinShape * noise.cwiseAbs2();
    return all.llt().solve(left);
  }

  double objective(const Eigen::LLT<Eigen::MatrixXd>& factored, const Eigen::VectorXd& steps,
                   const Eigen::VectorXd& at) const {
    const Eigen::VectorXd left = factored.matrixL().solve(measured - at);
    return left.squaredNorm() + steps.cwiseQuotient(prior_deviation).squaredNorm();
  }

  /// `normal` is the curvature of the objective in the steps.
  double evidence(const Eigen::VectorXd& steps, const Eigen::VectorXd& at,
                  const Eigen::VectorXd& precision, const Eigen::MatrixXd& normal) const {
    const auto factored = factor(precision);
    const Eigen::VectorXd diagonal = factored.matrixLLT().diagonal();
    const double volume = 2 * diagonal.array().unaryExpr(&elementary::log).sum() +
                          normal.ldlt().vectorD().array().unaryExpr(&elementary::log).sum() +
                          2 * prior_deviation.array().unaryExpr(&elementary::log).sum();
    // Student's t equals normal noise of unknown precision with the prior Gamma(2, 2).
    const double heavy_tails =
        2 * (precision.array().unaryExpr(&elementary::log) - precision.array() + 1).sum();
    return heavy_tails - (objective(factored, steps, at) + volume) / 2;
  }
};

}  // namespace

KrigingFit solve(const KrigingProblem& problem) {
  const Solver solver(problem);
  Eigen::VectorXd steps = Eigen::VectorXd::Zero(solver.columns);
  Eigen::VectorXd precision = Eigen::VectorXd::Ones(solver.rows);
  Eigen::VectorXd at = solver.log_modelled(steps);
  const Eigen::VectorXd prior_precision = solver.prior_deviation.cwiseAbs2().cwiseInverse();
  Eigen::MatrixXd normal;
  Eigen::MatrixXd slopes;
  double damping = 1e-3;
  for (int round = 0; round < kRounds; ++round) {
    const auto factored = solver.factor(precision);
    slopes = solver.slopes(steps, at);
    const Eigen::MatrixXd whitened = factored.matrixL().solve(slopes);
    const Eigen::VectorXd left = factored.matrixL().solve(solver.measured - at);
    normal = whitened.transpose() * whitened;
    normal.diagonal() += prior_precision;
    const Eigen::VectorXd downhill =
        whitened.transpose() * left - prior_precision.cwiseProduct(steps);
    const double before = solver.objective(factored, steps, at);
    double gained = 0;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() *= 1 + damping;
      const Eigen::VectorXd there = steps + damped.ldlt().solve(downhill);
      const Eigen::VectorXd modelled = solver.log_modelled(there);
      const double after = solver.objective(factored, there, modelled);
      if (after < before) {
        gained = before - after;
        steps = there;
        at = modelled;
        damping = std::max(damping / 5, 1e-6);
        break;
      }
      damping *= 5;
    }
    // The part of the residual that is noise: its share of the variance, by the weights of the
    // process.
    const Eigen::VectorXd weights = factored.solve(solver.measured - at);
    const Eigen::VectorXd left_over =
        kCorrectionNoise * weights.cwiseProduct(solver.noise).cwiseQuotient(precision);
    const Eigen::VectorXd reweighted =
        (kFreedom + 1) * (left_over.array().square() + kFreedom).inverse().matrix();
    const double change = (reweighted - precision).cwiseAbs().maxCoeff();
    precision = reweighted;
    if (gained < 1e-4 && change < 0.02) break;
  }

  KrigingFit fit;
  fit.constants = constants_at(problem.prior, values_of(steps));
  const Eigen::VectorXd weights = solver.factor(precision).solve(solver.measured - at);
  fit.weights = values_of(weights.cwiseProduct(solver.own_machine.cwiseMax(1)));
  fit.evidence = solver.evidence(steps, at, precision, normal);
  fit.within_shape =
      values_of(solver.within_shape(solver.measured - at - solver.covariance * weights));
  const Eigen::MatrixXd posterior =
      normal.ldlt().solve(Eigen::MatrixXd::Identity(solver.columns, solver.columns));
  for (Eigen::Index i = 0; i < solver.columns; ++i)
    fit.deviation.push_back(slopes.col(i).isZero(0) ? 0 : std::sqrt(posterior(i, i)));
  return fit;
}

}  // namespace ddpsim
