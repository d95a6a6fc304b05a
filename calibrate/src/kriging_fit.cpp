#include "kriging_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "cost_parameters.hpp"
#include "ddpsim/sim/correction.hpp"

namespace ddpsim {
namespace {

constexpr double kOwnNoise = 0.03;  ///< as kCorrectionNoise, within one log
constexpr double kFreedom = 4;      ///< degrees, of Student's t
constexpr double kStep = 1e-3;      ///< of a logarithm, for slopes
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
  Eigen::Index rows = static_cast<Eigen::Index>(problem.places.size());
  Eigen::Index columns = static_cast<Eigen::Index>(cost_parameters().size());
  Eigen::VectorXd measured = vector_of(problem.log_measured);
  Eigen::VectorXd doubt = Eigen::VectorXd(columns);
  Eigen::MatrixXd covariance = Eigen::MatrixXd(rows, rows);

  explicit Solver(const KrigingProblem& of) : problem(of) {
    for (Eigen::Index i = 0; i < columns; ++i)
      doubt[i] = cost_parameters()[static_cast<std::size_t>(i)].doubt;
    for (Eigen::Index i = 0; i < rows; ++i)
      for (Eigen::Index j = 0; j <= i; ++j)
        covariance(i, j) = covariance(j, i) =
            correction_covariance(problem.places[static_cast<std::size_t>(i)],
                                  problem.places[static_cast<std::size_t>(j)]);
  }

  Eigen::VectorXd law(const Eigen::VectorXd& steps) const {
    return vector_of(problem.law(moved(problem.prior, values_of(steps))));
  }

  /// Of the cost model by each constant. One that stands at its limit is looked at from the other side.
  Eigen::MatrixXd slopes(const Eigen::VectorXd& steps, const Eigen::VectorXd& at) const {
    Eigen::MatrixXd out(rows, columns);
    for (Eigen::Index i = 0; i < columns; ++i) {
      Eigen::VectorXd there = steps;
      there[i] += kStep;
      out.col(i) = (law(there) - at) / kStep;
      if (!out.col(i).isZero(0)) continue;
      there[i] -= 2 * kStep;
      out.col(i) = (at - law(there)) / kStep;
    }
    return out;
  }

  Eigen::LLT<Eigen::MatrixXd> factor(const Eigen::VectorXd& trust) const {
    Eigen::MatrixXd all = covariance;
    all.diagonal() += kCorrectionNoise * kCorrectionNoise * trust.cwiseInverse();
    return all.llt();
  }

  /// Weights of what one scale keeps to itself.
  Eigen::VectorXd own(const Eigen::VectorXd& left) const {
    Eigen::MatrixXd all(rows, rows);
    for (Eigen::Index i = 0; i < rows; ++i)
      for (Eigen::Index j = 0; j < rows; ++j)
        all(i, j) = own_covariance(problem.places[static_cast<std::size_t>(i)],
                                   problem.places[static_cast<std::size_t>(j)]);
    all.diagonal().array() += kOwnNoise * kOwnNoise;
    return all.llt().solve(left);
  }

  double misfit(const Eigen::LLT<Eigen::MatrixXd>& factored, const Eigen::VectorXd& steps,
                const Eigen::VectorXd& at) const {
    const Eigen::VectorXd left = factored.matrixL().solve(measured - at);
    return left.squaredNorm() + steps.cwiseQuotient(doubt).squaredNorm();
  }

  /// `normal`: curvature of the misfit in the steps.
  double evidence(const Eigen::VectorXd& steps, const Eigen::VectorXd& at,
                  const Eigen::VectorXd& trust, const Eigen::MatrixXd& normal) const {
    const auto factored = factor(trust);
    const Eigen::VectorXd diagonal = factored.matrixLLT().diagonal();
    const double volume = 2 * diagonal.array().log().sum() +
                          normal.ldlt().vectorD().array().log().sum() +
                          2 * doubt.array().log().sum();
    // Student's t as normal noise of unknown trust: Gamma(2, 2), a priori.
    const double doubted = 2 * (trust.array().log() - trust.array() + 1).sum();
    return doubted - (misfit(factored, steps, at) + volume) / 2;
  }
};

}  // namespace

KrigingFit solve(const KrigingProblem& problem) {
  const Solver solver(problem);
  Eigen::VectorXd steps = Eigen::VectorXd::Zero(solver.columns);
  Eigen::VectorXd trust = Eigen::VectorXd::Ones(solver.rows);
  Eigen::VectorXd at = solver.law(steps);
  const Eigen::VectorXd certainty = solver.doubt.cwiseAbs2().cwiseInverse();
  Eigen::MatrixXd normal;
  Eigen::MatrixXd slopes;
  double damping = 1e-3;
  for (int round = 0; round < kRounds; ++round) {
    const auto factored = solver.factor(trust);
    slopes = solver.slopes(steps, at);
    const Eigen::MatrixXd whitened = factored.matrixL().solve(slopes);
    const Eigen::VectorXd left = factored.matrixL().solve(solver.measured - at);
    normal = whitened.transpose() * whitened;
    normal.diagonal() += certainty;
    const Eigen::VectorXd downhill = whitened.transpose() * left - certainty.cwiseProduct(steps);
    const double before = solver.misfit(factored, steps, at);
    double gained = 0;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() *= 1 + damping;
      const Eigen::VectorXd there = steps + damped.ldlt().solve(downhill);
      const Eigen::VectorXd law = solver.law(there);
      const double after = solver.misfit(factored, there, law);
      if (after < before) {
        gained = before - after;
        steps = there;
        at = law;
        damping = std::max(damping / 5, 1e-6);
        break;
      }
      damping *= 5;
    }
    // What of the rest is noise: its share of the variance, by the weights of the process.
    const Eigen::VectorXd weights = factored.solve(solver.measured - at);
    const Eigen::VectorXd noise = kCorrectionNoise * weights.cwiseQuotient(trust);
    const Eigen::VectorXd believed =
        (kFreedom + 1) * (noise.array().square() + kFreedom).inverse().matrix();
    const double change = (believed - trust).cwiseAbs().maxCoeff();
    trust = believed;
    if (gained < 1e-4 && change < 0.02) break;
  }

  KrigingFit fit;
  fit.constants = moved(problem.prior, values_of(steps));
  const Eigen::VectorXd weights = solver.factor(trust).solve(solver.measured - at);
  fit.weights = values_of(weights);
  fit.evidence = solver.evidence(steps, at, trust, normal);
  fit.own = values_of(solver.own(solver.measured - at - solver.covariance * weights));
  const Eigen::MatrixXd posterior =
      normal.ldlt().solve(Eigen::MatrixXd::Identity(solver.columns, solver.columns));
  for (Eigen::Index i = 0; i < solver.columns; ++i)
    fit.deviation.push_back(slopes.col(i).isZero(0) ? 0 : std::sqrt(posterior(i, i)));
  return fit;
}

}  // namespace ddpsim
