#include "scheme_error.hpp"

#include <variant>

namespace ddpsim {
namespace {

/// How far a step under one scheme, compared with a step under another, lies from its prediction.
/// For PyTorch's own schemes, nine published pairs on machines with stated links were missed by 0 to
/// 4.0 % (median 2.2 %; tests/accuracy/schemes.py). On links that nobody states the factors are
/// larger, and the bandwidth interval covers them. For DeepSpeed, one of ten pairs was missed by 2
/// %; nine, all of one small machine, by factors of 1.3 to 4. No pair is published for
/// Megatron-Core.
constexpr double kOfPyTorch = 0.05;
constexpr double kOfLibraries = 0.5;

StepTimes with_unexplained(StepTimes times, Duration more) {
  times.iteration += more;
  times.unexplained += more;
  times.loss[LossCause::unexplained] += more;
  return times;
}

}  // namespace

std::optional<Bounds> scheme_bounds(const Job& job, const StepTimes& predicted) {
  const Scheme& scheme = job.options().scheme;
  if (std::holds_alternative<Ddp>(scheme)) return std::nullopt;
  const Duration unknown =
      predicted.iteration.scaled(facts_of(scheme).ranked_closely ? kOfPyTorch : kOfLibraries);
  return Bounds{ErrorSource::schemes, with_unexplained(predicted, Duration() - unknown),
                with_unexplained(predicted, unknown)};
}

}  // namespace ddpsim
