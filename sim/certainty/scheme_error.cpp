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

}  // namespace ddpsim
