// What a scheme does that is not simulated, as a source of error of its step.
#include "scheme_error.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/compare/compare.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;

namespace {

Job job_under(Scheme scheme, int ranks = 2) {
  SimulationOptions options = small::bare();
  options.scheme = std::move(scheme);
  return {small::chain({{small::kMiB, 1000}, {small::kMiB, 2000}}, 1000, 2000), small::node(ranks),
          std::move(options), AnalyticModel{}};
}

bool has_scheme_error(const std::vector<Sensitivity>& sensitivities) {
  return std::ranges::any_of(
      sensitivities, [](const Sensitivity& one) { return one.source == ErrorSource::schemes; });
}

}  // namespace

TEST_CASE("scheme error: a share of the step by scheme, none for DDP") {
  const auto share = [](Scheme scheme) {
    const Job job = job_under(std::move(scheme));
    const StepTimes step = simulate_times(job);
    const auto bounds = scheme_bounds(job, step);
    if (!bounds) return 0.0;
    CHECK(bounds->at_one.iteration < step.iteration);
    CHECK(bounds->at_other.alone() == step.alone());
    return bounds->at_other.iteration / step.iteration - 1;
  };
  CHECK(share(Ddp{}) == 0);
  CHECK(share(Fsdp2{}) == doctest::Approx(0.035));
  CHECK(share(Zero{.stage = 2}) == doctest::Approx(0.18));
  CHECK(share(Zero{.stage = 3}) == doctest::Approx(0.5));
}

TEST_CASE("scheme error: a predicted step has it, a measured one does not") {
  const Job job = job_under(Zero{.stage = 3});
  const StepTimes step = simulate_times(job);
  const Confidence predicted = assess(job, step, std::nullopt);
  CHECK(has_scheme_error(predicted.sensitivities));
  Replay replay;
  replay.measured = step.iteration;
  replay.predicted = step.iteration;
  const Confidence measured = assess(job, step, replay);
  CHECK_FALSE(has_scheme_error(measured.sensitivities));
  const auto unexplained = static_cast<std::size_t>(LossCause::unexplained);
  CHECK(measured.loss[unexplained].high < predicted.loss[unexplained].high);
}

TEST_CASE("scheme error: one scheme on two clusters shares it, two schemes do not") {
  const auto found = [](const Job& one, const Job& other) {
    const Comparison comparison = compare({one, other}, {.threads = 1});
    const ComparedJob& slower = comparison.jobs[comparison.by_speed.back()];
    return std::ranges::any_of(slower.behind.sources, [](const SpeedupSource& source) {
      return source.source == ErrorSource::schemes;
    });
  };
  CHECK_FALSE(found(job_under(Fsdp2{}, 2), job_under(Fsdp2{}, 4)));
  CHECK(found(job_under(Fsdp2{}), job_under(Ddp{})));
}
