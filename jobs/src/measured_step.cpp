#include "ddpsim/jobs/measured_step.hpp"

#include <fmt/format.h>

#include "ddpsim/calibrate/validate/step_argument.hpp"
#include "ddpsim/calibrate/validate/step_times.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/sim/certainty/step_spread.hpp"
#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

MeasuredStep median_of(const MeasuredSteps& measured) {
  MeasuredStep step{
      .median = quantile(measured.steps, 0.5), .spread = {}, .source = measured.source};
  if (const auto spread = step_spread(measured.steps))
    step.spread =
        MeasuredSpread{.steps = spread->steps, .low = spread->next_low, .high = spread->next_high};
  return step;
}

}  // namespace

StepSamples samples_of_step(const Job& job) {
  return {step_work(job).samples, job.cluster().ranks()};
}

MeasuredStep read_measured_step(const MeasuredStepRequest& request, const StepSamples& samples,
                                Warnings& warnings) {
  if (const Duration* time = std::get_if<Duration>(&request)) return {.median = *time};
  const StepFile& file = std::get<StepFile>(request);
  StepTimesAsked asked = file.asked;
  if (samples.all) asked.samples_per_gpu = *samples.all / samples.gpus;
  asked.gpus = samples.gpus;
  const MeasuredSteps measured = read_step_times(file.name, asked);
  warnings.add(measured.warnings);
  return median_of(measured);
}

void require_possible(const MeasuredStep& measured, const Job& job, const std::string& workload) {
  const Duration stream = longest_stream(job);
  if (measured.median >= stream.scaled(kFastestGpu)) return;
  throw InputError(
      {.file = workload,
       .where = "",
       .message = fmt::format(
           "--measured-step {:.6g} ms is too short. Forward, backward and optimizer of "
           "the {} step take {:.6g} ms, and at least {:.6g} ms on a GPU of the same kind",
           measured.median.milliseconds(), is_estimate(job.workload()) ? "estimated" : "recorded",
           stream.milliseconds(), stream.scaled(kFastestGpu).milliseconds()),
       .hint =
           "Check the unit and whether it is this job's step. If the GPU waited for its host in "
           "the recording, pass --timing compacted to remove the gaps"});
}

std::string contradiction(const Replay& replay) {
  return fmt::format(
      "--measured-step {:.6g} ms, but {:.6g} ms are predicted. Is it another job, or another unit?",
      replay.measured.milliseconds(), replay.predicted.milliseconds());
}

}  // namespace ddpsim
