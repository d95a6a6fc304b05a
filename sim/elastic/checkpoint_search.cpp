#include "checkpoint_search.hpp"

#include <array>
#include <cmath>
#include <iterator>
#include <optional>

#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {
namespace {

/// The tried interval with the largest mean goodput. If several are equal, the longest.
std::int64_t best_tried(const ElasticRuns& runs) {
  std::int64_t best = 0;
  double most = -1;
  for (const auto& [steps, goodputs] : runs.tried())
    if (const double mean = mean_goodput(goodputs); mean >= most) {
      most = mean;
      best = steps;
    }
  return best;
}

/// Fits  loss = a / interval + b * interval + c  by least squares to the intervals tried within an
/// octave of `best`. Returns the interval with the smallest loss. This is Young's formula with the
/// failures and costs of these runs. A lucky draw for one interval hardly moves it. Absent if the
/// loss has no such minimum.
std::optional<double> least_loss(const ElasticRuns& runs, std::int64_t best) {
  // Normal equations of x = best / interval, 1 / x and 1.
  std::array<std::array<double, 4>, 3> rows{};
  for (const auto& [steps, goodputs] : runs.tried()) {
    const double x = static_cast<double>(best) / static_cast<double>(steps);
    if (x < 0.5 || x > 2) continue;
    const std::array<double, 4> terms = {x, 1 / x, 1, 1 - mean_goodput(goodputs)};
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::size_t k = 0; k < terms.size(); ++k) rows[row][k] += terms[row] * terms[k];
  }
  const auto determinant = [&](std::size_t a, std::size_t b, std::size_t c) {
    return rows[0][a] * (rows[1][b] * rows[2][c] - rows[1][c] * rows[2][b]) -
           rows[0][b] * (rows[1][a] * rows[2][c] - rows[1][c] * rows[2][a]) +
           rows[0][c] * (rows[1][a] * rows[2][b] - rows[1][b] * rows[2][a]);
  };
  // Cramer's rule. Both coefficients have the same positive denominator.
  const double checkpoints = determinant(3, 1, 2);
  const double lost_work = determinant(0, 3, 2);
  if (checkpoints <= 0 || lost_work <= 0) return std::nullopt;
  const double interval = std::sqrt(checkpoints / lost_work);
  if (interval < 0.5 || interval > 2) return std::nullopt;
  return interval * static_cast<double>(best) * runs.step_seconds();
}

}  // namespace

std::int64_t search_intervals(ElasticRuns& runs, double centre) {
  constexpr int kCoarse = 8;  // half octaves to each side
  for (int i = -kCoarse; i <= kCoarse; ++i)
    runs.goodputs(runs.steps_of(centre * elementary::exp2(i / 2.0)));
  constexpr int kRounds = 2;
  double octaves = 0.25;
  for (int round = 0; round < kRounds; ++round, octaves /= 4) {
    const double best = static_cast<double>(best_tried(runs)) * runs.step_seconds();
    for (const double i : {-1.5, -1.0, -0.5, 0.5, 1.0, 1.5})
      runs.goodputs(runs.steps_of(best * elementary::exp2(i * octaves)));
  }
  const std::int64_t best = best_tried(runs);
  const std::optional<double> smooth = least_loss(runs, best);
  return smooth ? runs.steps_of(*smooth) : best;
}

void set_plateau(const ElasticRuns& runs, std::int64_t best, ElasticAnswer& answer) {
  const std::vector<double>& most = runs.tried().at(best);
  const auto alike = [&](const std::vector<double>& other) {
    std::vector<double> behind;
    for (std::size_t i = 0; i < other.size(); ++i) behind.push_back(most[i] - other[i]);
    const Sampled difference = sampled(behind);
    return difference.mean <= difference.standard_error;
  };
  answer.best_low = answer.best_high = answer.best_interval;
  const auto found = runs.tried().find(best);
  for (auto next = std::next(found); next != runs.tried().end() && alike(next->second); ++next)
    answer.best_high = static_cast<double>(next->first) * runs.step_seconds();
  for (auto next = found; next != runs.tried().begin() && alike(std::prev(next)->second); --next)
    answer.best_low = static_cast<double>(std::prev(next)->first) * runs.step_seconds();
}

}  // namespace ddpsim
