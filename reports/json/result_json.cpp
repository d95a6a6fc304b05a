#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/values/launch_cost.hpp"
#include "described_difference.hpp"
#include "described_documents.hpp"
#include "described_elastic.hpp"
#include "described_job.hpp"
#include "described_recorded.hpp"
#include "described_step.hpp"
#include "described_trust.hpp"
#include "job_words.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

const Described<LaunchCost>& described_launch_cost() {
  static const auto described =
      Described<LaunchCost>("LaunchCost", "host time to launch one of the model's kernels",
                            Layout::line)
          .one_of(
              "from", [](const LaunchCost& of) { return word_of(of.from); },
              {"option", "recording", "default"},
              "the source of the times: an option (--launch-cost, --cuda-graph), the recording "
              "(including its profiler), or a default")
          .time(
              "forward_us", [](const LaunchCost& of) { return of.each.forward; },
              "host time to launch a kernel of forward")
          .time(
              "backward_us", [](const LaunchCost& of) { return of.each.backward; },
              "host time to launch a kernel of backward")
          .time(
              "optimizer_us", [](const LaunchCost& of) { return of.each.optimizer; },
              "host time to launch a kernel of the optimizer");
  return described;
}

std::optional<LaunchCost> launch_cost_of(const Job& job) {
  const std::optional<Launches>& launches = job.workload().launches;
  return launches ? std::optional(launch_cost(*launches, job.options())) : std::nullopt;
}

const Described<IterationStatistics>& described_statistics() {
  static const auto described =
      Described<IterationStatistics>("IterationStatistics", "mean and percentiles of several steps")
          .integer("first_iteration", &IterationStatistics::first,
                   "number of the first step that is counted")
          .integer("count", &IterationStatistics::count, "how many steps are counted")
          .time(
              "mean_us", [](const IterationStatistics& of) { return of.mean.iteration; },
              "the mean step")
          .time("p50_us", &IterationStatistics::p50, "the median step")
          .time("p95_us", &IterationStatistics::p95,
                "the 95th percentile of the steps; null with fewer than 20 steps")
          .time("p99_us", &IterationStatistics::p99,
                "the 99th percentile of the steps; null with fewer than 100 steps");
  return described;
}

const Described<RankWait>& described_rank_wait() {
  static const auto described =
      Described<RankWait>("RankWaits", "how long a rank waited, and the others for it",
                          Layout::line)
          .integer("rank", &RankWait::rank, "the rank")
          .time("wait_us", &RankWait::wait, "time that the rank waited for the last rank")
          .integer("times_last", &RankWait::times_last,
                   "number of collectives at which the others waited for the rank")
          .time("caused_wait_us", &RankWait::caused,
                "time that the others together waited for the rank");
  return described;
}

/// One of the steps of --iterations.
const Described<ShownStep>& described_iteration() {
  static const auto described =
      Described<ShownStep>("Iteration", "one of several steps")
          .integer(
              "iteration", [](const ShownStep& of) { return of.step.iteration; },
              "number of the step, from 1")
          .members_of(
              [](const ShownStep& of) -> const auto& { return of; }, described_step());
  return described;
}

std::optional<std::vector<ShownStep>> shown_iterations(const SimulateReport& report) {
  if (report.result.iterations.empty()) return std::nullopt;
  std::vector<ShownStep> shown;
  for (const StepResult& step : report.result.iterations)
    shown.push_back({step, asked_scheme(report.context)});
  return shown;
}

const Described<SimulateReport>& described_result() {
  using Report = SimulateReport;
  static const auto context = [](const Report& of) -> const ReportContext& { return of.context; };
  static const auto described =
      Described<Report>("SimulateResult",
                        "one step: its parts, its buckets and where the efficiency goes")
          .constant("schema", "ddpsim.result/1", "which document this is")
          .members_of(context, described_setting())
          .members_of(
              [](const Report& of) {
                return ShownStep{of.result.step, asked_scheme(of.context)};
              },
              described_step())
          .time(
              "alone_us", [](const Report& of) { return of.result.step.times.alone(); },
              "time of the step of one GPU without DDP: the step minus all of its losses")
          .members_of(
              [](const Report& of) {
                return training_speed(step_work(of.context.job), of.result.step.times);
              },
              described_speed())
          .object(
              "budget", [](const Report& of) -> const auto& { return of.step.budget; },
              described_budget(), "how the GPU spends the step, in parts that add up to it")
          .list(
              "loss",
              [](const Report& of) {
                return loss_rows(of.result.step.times.loss, of.context.trust.confidence);
              },
              described_loss(),
              "where the efficiency goes: time lost by cause, always in the same order; causes of "
              "averaging and of schemes only if they take time")
          .object(
              "launch_cost", [](const Report& of) { return launch_cost_of(of.context.job); },
              described_launch_cost(),
              "host time to launch one of the model's kernels. Only if the workload counts them",
              Absent::left_out)
          .object("memory", &Report::memory, described_memory(),
                  "peak memory of a rank; null if it was not counted")
          .object("elastic", &Report::elastic, described_elastic(),
                  "a long run whose nodes fail. Only with --nnodes", Absent::left_out)
          .object(
              "recorded",
              [](const Report& of) -> const auto& { return of.context.provenance.recorded; },
              described_recorded(),
              "the recorded job compared with its prediction; null if no all-reduce was recorded")
          .members_of(context, described_trust())
          .object("measured", &Report::measured, described_difference(),
                  "a measured step compared with this one. Only with --measured", Absent::left_out)
          .time("iteration_if_alike_us", &Report::iteration_if_alike,
                "time of the step if all ranks were equal. Only if ranks differ", Absent::left_out)
          .object(
              "iteration_statistics",
              [](const Report& of) -> const auto& { return of.result.statistics; },
              described_statistics(),
              "mean and percentiles of the steps after DDP has rebuilt its buckets. Only with "
              "--iterations",
              Absent::left_out)
          .list(
              "rank_waits",
              [](const Report& of) { return of.result.ranks.empty() ? nullptr : &of.result.ranks; },
              described_rank_wait(), "the waits of each rank, sorted by rank. Only if ranks differ",
              Absent::left_out)
          .list("iterations", &shown_iterations, described_iteration(),
                "every step; the top level of the document repeats the last one. Only with "
                "--iterations",
                Absent::left_out);
  return described;
}

}  // namespace

const ObjectType& result_document() {
  return described_result().type();
}

std::string result_json(const SimulateReport& report) {
  return described_result().text_of(report);
}

}  // namespace ddpsim
