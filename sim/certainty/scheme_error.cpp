#include "scheme_error.hpp"

namespace ddpsim {
namespace {

StepTimes with_unexplained(StepTimes times, Duration more) {
  times.iteration += more;
  times.unexplained += more;
  times.loss[LossCause::unexplained] += more;
  return times;
}

}  // namespace

std::optional<Bounds> scheme_bounds(const Job& job, const StepTimes& predicted) {
  const double share = facts_of(job.options().scheme).unknown;
  if (share == 0) return std::nullopt;
  const Duration unknown = predicted.iteration.scaled(share);
  return Bounds{ErrorSource::schemes, with_unexplained(predicted, Duration() - unknown),
                with_unexplained(predicted, unknown)};
}

std::vector<Bounds> bounds_of_prediction(const Job& job, const StepTimes& predicted, int threads) {
  std::vector<Bounds> bounds = simulate_scenarios(job, threads);
  if (const auto scheme = scheme_bounds(job, predicted)) bounds.push_back(*scheme);
  return bounds;
}

}  // namespace ddpsim
