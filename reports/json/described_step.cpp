#include "described_step.hpp"

#include <fmt/format.h>

#include "described_collectives.hpp"
#include "described_data.hpp"
#include "error_source.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// What only some steps have is left out where it is not.
const Described<StepTimes>& described_times() {
  static const auto if_host = [](auto time) {
    return [time](const StepTimes& times) {
      return times.host ? std::optional<Duration>(std::invoke(time, times)) : std::nullopt;
    };
  };
  static const auto described =
      Described<StepTimes>("StepTimes", "the parts of a step")
          .time("iteration_us", &StepTimes::iteration,
                "the step, the sum of forward_us, backward_us, sync_batchnorm_us, slowest_gpu_us, "
                "unexplained_us, exposed_communication_us, finalize_us, optimizer_us, "
                "model_averaging_us and stall_us")
          .time("forward_us", &StepTimes::forward,
                "the forward pass, buffer broadcast included; where steps overlap, only what "
                "follows the end of the previous step")
          .time("buffer_broadcast_us", &StepTimes::buffer_broadcast,
                "the part of the forward pass that the buffer broadcast takes")
          .time("backward_us", &StepTimes::backward,
                "the backward pass, copies into buckets and interference included")
          .time("backward_compute_us", &StepTimes::backward_compute,
                "the backward pass without what DDP adds")
          .time("copies_in_us", &StepTimes::copies_in,
                "copies of gradients into buckets, and a communication hook's kernels; part of "
                "backward_us")
          .time("interference_us", &StepTimes::interference,
                "how much longer backward takes while NCCL's kernels run")
          .time("communication_us", &StepTimes::communication,
                "time in which at least one collective transfers: from its last rank's arrival to "
                "its end")
          .time("wait_us", &StepTimes::wait,
                "time in which at least one collective waits for its last rank: from its start on "
                "this rank to the last arrival")
          .time(
              "exposed_communication_us", &StepTimes::exposed_communication,
              "transfers, and waits for other ranks, that compute waits for: after backward; with "
              "powerSGD_hook also within backward; under a scheme other than DDP in any phase")
          .time("blocking_communication_us", &StepTimes::blocking_communication,
                "time in which the compute stream stands still only for communication or another "
                "rank: the sum of exposed_communication_us, buffer_broadcast_us, sync_batchnorm_us "
                "and model_averaging_us")
          .ratio("overlap", &StepTimes::overlap,
                 "the share of communication_us that is hidden, 0 to 1; null without communication")
          .time("finalize_us", &StepTimes::finalize,
                "copies out of buckets and what they cost the host; under a scheme that keeps "
                "shards on the host, also waits for copies between host and GPU")
          .time("optimizer_us", &StepTimes::optimizer,
                "the optimizer; with --apply-optimizer-in-backward part of it runs within backward "
                "or beside collectives, which it hides")
          .time("stall_us", &StepTimes::stall,
                "time that belongs to no other part, such as pauses between steps and waiting for "
                "data")
          .time("slowest_gpu_us", &StepTimes::slowest_gpu,
                "waiting for the slowest GPU to compute (--gpu-spread): forward, backward and "
                "optimizer are those of a usual GPU, instants of buckets those of the slowest")
          .time("unexplained_us", &StepTimes::unexplained,
                "multi-GPU overhead: what published jobs of several ranks lose beyond all named "
                "causes, or what --rank-slowdown says")
          .time("launch_bound_us", if_host(&StepTimes::launch_bound),
                "how long the GPU waits for the host to launch kernels, as recorded or because the "
                "host is slower; part of forward, backward and optimizer. Only where the workload "
                "counts its kernels",
                Absent::left_out)
          .time("host_us", &StepTimes::host,
                "what the host takes to launch a step, DDP's hooks and copies included; the rest "
                "of the step is the host's slack. Only where the workload counts its kernels",
                Absent::left_out)
          .time("sync_batchnorm_us", if_positive(&StepTimes::sync_batchnorm),
                "waiting for what SyncBatchNorm's layers exchange: an all-gather in forward, an "
                "all-reduce in backward. Only with --sync-batchnorm",
                Absent::left_out)
          .time("model_averaging_us", if_positive(&StepTimes::model_averaging),
                "a step's share of averaging the parameters, none of which is hidden. Only where "
                "ranks train apart",
                Absent::left_out)
          .time("forward_ahead_us", if_positive(&StepTimes::forward_ahead),
                "how long before the end of the previous step the forward pass begins; forward_us "
                "is the rest of it, and instants of buckets count from its beginning. Only where "
                "steps overlap",
                Absent::left_out);
  return described;
}

const Described<Scheme>& described_scheme() {
  static const auto described =
      Described<Scheme>("Scheme", "how a job is trained data-parallel")
          .text(
              "name", [](const Scheme& scheme) { return name_of(scheme); },
              "the scheme, as --scheme takes it")
          .texts_by_key("options", &options_of,
                        "every option of the scheme with the value in force");
  return described;
}

/// Of a step under a scheme that was asked for.
const Described<ShownStep>& described_scheme_step() {
  static const auto described =
      Described<ShownStep>("SchemeStep", "what a step tells of its scheme")
          .object(
              "scheme", [](const ShownStep& of) -> const Scheme& { return *of.scheme; },
              described_scheme(), "how the job is trained data-parallel. Only with --scheme")
          .time(
              "exposed_forward_us",
              [](const ShownStep& of) { return of.step.times.exposed_in_forward; },
              "the part of exposed_communication_us that waits for what forward reads. Only with "
              "--scheme")
          .time(
              "exposed_backward_us",
              [](const ShownStep& of) { return of.step.times.exposed_backward(); },
              "the part of exposed_communication_us in backward and until gradients are reduced. "
              "Only with --scheme")
          .time(
              "exposed_optimizer_us",
              [](const ShownStep& of) { return of.step.times.exposed_in_optimizer; },
              "the part of exposed_communication_us behind the optimizer. Only with --scheme")
          .list(
              "collectives", [](const ShownStep& of) -> const auto& { return of.step.collectives; },
              described_step_collective(),
              "collectives of the step, in the order in which rank 0's host launches them. Only "
              "with --scheme");
  return described;
}

const Described<Staleness>& described_staleness() {
  static const auto described =
      Described<Staleness>("Staleness", "how old the parameters of asynchronous workers are")
          .integer("workers", &Staleness::workers, "workers of the job")
          .integer("updates", &Staleness::updates, "updates that were simulated, over 16 seeds")
          .number("mean", &Staleness::mean,
                  "updates by other workers between a worker's pull and its own update, on average")
          .integer(
              "p50", &Staleness::p50,
              "updates by other workers between a worker's pull and its own update, the median")
          .integer("p95", &Staleness::p95,
                   "updates by other workers between a worker's pull and its own update, the 95th "
                   "percentile")
          .integer("max", &Staleness::max,
                   "updates by other workers between a worker's pull and its own update, at most")
          .number("updates_per_second", &Staleness::updates_per_second,
                  "updates of all workers together");
  return described;
}

}  // namespace

const Described<ModelAveraging>& described_averaging() {
  static const auto described =
      Described<ModelAveraging>("ModelAveraging",
                                "how ranks that train apart average their parameters", Layout::line)
          .integer("period", &ModelAveraging::period, "steps from one averaging to the next")
          .integer("bytes", &ModelAveraging::bytes, "what one averaging all-reduces over all ranks")
          .time("whole_us", &ModelAveraging::whole,
                "one averaging, flattening and dividing included")
          .text("what", unless_empty(&ModelAveraging::what),
                "the ranks that average. Only of a scheme", Absent::left_out)
          .ratio(
              "share_of_steps",
              [](const ModelAveraging& of) {
                return of.what.empty() ? std::nullopt : std::optional(of.share);
              },
              "the share of the steps in which ranks average on this level; a step of a higher "
              "level counts there alone. Only of a scheme",
              Absent::left_out);
  return described;
}

const Described<ShownStep>& described_step() {
  static const auto described =
      Described<ShownStep>("Step", "a simulated step")
          .members_of([](const ShownStep& of) -> const StepTimes& { return of.step.times; },
                      described_times())
          .members_of([](const ShownStep& of) { return of.scheme != nullptr ? &of : nullptr; },
                      described_scheme_step())
          .list(
              "buckets", [](const ShownStep& of) { return numbered(of.step.buckets); },
              described_step_bucket(),
              "buckets in launch order; none under a scheme without DDP's reducer")
          .object(
              "model_averaging",
              [](const ShownStep& of) -> const auto& { return of.step.averaging; },
              described_averaging(),
              "how parameters are averaged. Only where ranks train apart: the step is then "
              "the mean of a period",
              Absent::left_out)
          .list(
              "further_model_averaging",
              [](const ShownStep& of) {
                const auto& averaging = of.step.averaging;
                return averaging && !averaging->further.empty() ? &averaging->further : nullptr;
              },
              described_averaging(),
              "how parameters are averaged on further levels. Only of a hierarchy",
              Absent::left_out)
          .object(
              "staleness", [](const ShownStep& of) -> const auto& { return of.step.staleness; },
              described_staleness(),
              "updates by other workers between what a worker pulled and its own update, "
              "which says nothing of convergence. Only of asynchronous parameter servers",
              Absent::left_out)
          .object(
              "data_loader", [](const ShownStep& of) -> const auto& { return of.step.data; },
              described_data(),
              "where batches come from, and what the step waits for them. Only with --data-loader, "
              "or of a recording that tells",
              Absent::left_out)
          .object(
              "epoch", [](const ShownStep& of) -> const auto& { return of.step.epoch; },
              described_epoch(), "what an epoch is made of and takes. Only with --dataset-size",
              Absent::left_out)
          .object(
              "join", [](const ShownStep& of) -> const auto& { return of.step.joined; },
              described_join(),
              "an epoch of ranks with different numbers of batches. Only with --uneven-inputs",
              Absent::left_out)
          .integer(
              "events", [](const ShownStep& of) { return of.step.events; },
              "how many events the simulator processed");
  return described;
}

const Described<StepBudget>& described_budget() {
  static const auto described = [] {
    const auto meaning = [](BudgetPart part) {
      switch (part) {
        case BudgetPart::busy:
          return "the GPU computes or copies";
        case BudgetPart::host:
          return "the GPU waits for the host: launches, DDP's hooks, pauses between steps";
        case BudgetPart::input:
          return "the GPU waits for its batch";
        case BudgetPart::communication:
          return "the GPU waits for a collective";
        case BudgetPart::ranks:
          return "the GPU waits for slower GPUs";
        case BudgetPart::overhead:
          break;
      }
      return "the allowance for multi-GPU overhead, or what a measured step leaves over";
    };
    Described<StepBudget> budget("StepBudget", "what the GPU does with a step", Layout::line);
    budget.time("step_us", &StepBudget::step, "the step, which the parts add up to");
    for (const BudgetPart part : all_budget_parts())
      budget.time(
          fmt::format("{}_us", name_of(part)), [part](const StepBudget& of) { return of[part]; },
          meaning(part));
    return budget;
  }();
  return described;
}

const Described<TrainingSpeed>& described_speed() {
  static const auto described =
      Described<TrainingSpeed>("TrainingSpeed", "what a job gets done")
          .ratio("samples_per_second", &TrainingSpeed::samples_per_second,
                 "samples of all ranks in a second; null where the batch is not known")
          .ratio("tokens_per_second", &TrainingSpeed::tokens_per_second,
                 "samples_per_second times the tokens of a sample; null where the batch is not "
                 "known or samples are no sequences")
          .ratio("model_flops_utilization", &TrainingSpeed::model_flops_utilization,
                 "MFU: the time that the step's model FLOPs take at the GPU's data-sheet rate, "
                 "over the step; null where the model or its precision is not known")
          .ratio("scaling_efficiency", &TrainingSpeed::scaling_efficiency,
                 "the step of one GPU alone, without DDP and with a DataLoader of its own, over "
                 "the step; null where the step takes no time");
  return described;
}

std::vector<LossRow> loss_rows(const Loss& loss, const Confidence& confidence) {
  std::vector<LossRow> rows;
  for (const LossCause cause : all_loss_causes()) {
    const bool may_be_absent = cause == LossCause::model_averaging || of_schemes(cause);
    if (may_be_absent && loss[cause] == Duration()) continue;
    rows.push_back({cause, loss[cause], loss_interval(cause, loss, confidence)});
  }
  return rows;
}

const Described<LossRow>& described_loss() {
  static const auto described =
      Described<LossRow>("Loss", "a cause of lost efficiency", Layout::line)
          .word("cause", &LossRow::cause, all_loss_causes(), "what the time is lost by")
          .time("us", &LossRow::time,
                "the time that the cause adds to the step; less than 0 where it saves time")
          .time(
              "low_us", [](const LossRow& of) { return of.interval.low; },
              "low end of the 80 % interval of us")
          .time(
              "high_us", [](const LossRow& of) { return of.interval.high; },
              "high end of the 80 % interval of us");
  return described;
}

}  // namespace ddpsim
