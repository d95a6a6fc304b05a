#include "described_step.hpp"

#include <fmt/format.h>

#include "described_collectives.hpp"
#include "described_data.hpp"
#include "error_source.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// Keys that only some steps have are left out of the others.
const Described<StepTimes>& described_times() {
  static const auto if_host = [](auto time) {
    return [time](const StepTimes& times) {
      return times.host ? std::optional<Duration>(std::invoke(time, times)) : std::nullopt;
    };
  };
  static const auto described =
      Described<StepTimes>("StepTimes", "the parts of a step")
          .time("iteration_us", &StepTimes::iteration,
                "time of the step: the sum of forward_us, backward_us, sync_batchnorm_us, "
                "slowest_gpu_us, "
                "unexplained_us, exposed_communication_us, finalize_us, optimizer_us, "
                "model_averaging_us and stall_us")
          .time("forward_us", &StepTimes::forward,
                "time of the forward pass, including the buffer broadcast; if steps overlap, only "
                "the part after the end of the previous step")
          .time("buffer_broadcast_us", &StepTimes::buffer_broadcast,
                "the part of the forward pass that the buffer broadcast takes")
          .time("backward_us", &StepTimes::backward,
                "time of the backward pass, including copies into buckets and interference")
          .time("backward_compute_us", &StepTimes::backward_compute,
                "time of the backward pass without what DDP adds")
          .time("copies_in_us", &StepTimes::copies_in,
                "time to copy gradients into buckets, including a communication hook's kernels; "
                "part of backward_us")
          .time("interference_us", &StepTimes::interference,
                "how much longer backward takes because NCCL's kernels run at the same time")
          .time("communication_us", &StepTimes::communication,
                "time in which at least one collective transfers: from its last rank's arrival to "
                "its end")
          .time("wait_us", &StepTimes::wait,
                "time in which at least one collective waits for its last rank: from its start on "
                "this rank to the last arrival")
          .time("exposed_communication_us", &StepTimes::exposed_communication,
                "time in which compute waits for transfers or for other ranks: after backward; "
                "with powerSGD_hook also within backward; with another scheme in any phase")
          .time("blocking_communication_us", &StepTimes::blocking_communication,
                "time in which the compute stream stands still only for communication or another "
                "rank: the sum of exposed_communication_us, buffer_broadcast_us, sync_batchnorm_us "
                "and model_averaging_us")
          .ratio("overlap", &StepTimes::overlap,
                 "the share of communication_us that compute hides, 0 to 1; null without "
                 "communication")
          .time("finalize_us", &StepTimes::finalize,
                "time to copy gradients out of buckets, including host time; with shards on the "
                "host, also waits for copies between host and GPU")
          .time("optimizer_us", &StepTimes::optimizer,
                "time of the optimizer; with --apply-optimizer-in-backward part of it runs within "
                "backward or hides collectives")
          .time("stall_us", &StepTimes::stall,
                "time that belongs to no other part, such as pauses between steps and waiting for "
                "data")
          .time("slowest_gpu_us", &StepTimes::slowest_gpu,
                "wait for the slowest GPU (--gpu-spread): forward, backward and optimizer are "
                "those of a usual GPU, times of buckets those of the slowest")
          .time("unexplained_us", &StepTimes::unexplained,
                "multi-GPU overhead: what published jobs of several ranks lose beyond all named "
                "causes, or what --rank-slowdown states")
          .time("launch_bound_us", if_host(&StepTimes::launch_bound),
                "how long the GPU waits for the host to launch kernels; part of forward, backward "
                "and optimizer. Only if the workload counts its kernels",
                Absent::left_out)
          .time("host_us", &StepTimes::host,
                "host time to launch a step, including DDP's hooks and copies; the rest of the "
                "step is the host's slack. Only if the workload counts its kernels",
                Absent::left_out)
          .time("sync_batchnorm_us", if_positive(&StepTimes::sync_batchnorm),
                "wait for the collectives of SyncBatchNorm layers: an all-gather in forward, an "
                "all-reduce in backward. Only with --sync-batchnorm",
                Absent::left_out)
          .time("model_averaging_us", if_positive(&StepTimes::model_averaging),
                "a step's share of the time to average parameters, none of it hidden. Only if "
                "ranks train apart",
                Absent::left_out)
          .time("forward_ahead_us", if_positive(&StepTimes::forward_ahead),
                "how long before the end of the previous step the forward pass begins; times of "
                "buckets count from that beginning. Only if steps overlap",
                Absent::left_out);
  return described;
}

const Described<Scheme>& described_scheme() {
  static const auto described =
      Described<Scheme>("Scheme", "how a job is trained data-parallel")
          .text(
              "name", [](const Scheme& scheme) { return name_of(scheme); },
              "the scheme, as --scheme takes it")
          .texts_by_key("options", &options_of, "every option of the scheme with its value");
  return described;
}

/// Keys of a step that are present only with --scheme.
const Described<ShownStep>& described_scheme_step() {
  static const auto described =
      Described<ShownStep>("SchemeStep", "the keys of a step that only --scheme adds")
          .object(
              "scheme", [](const ShownStep& of) -> const Scheme& { return *of.scheme; },
              described_scheme(), "how the job is trained data-parallel. Only with --scheme")
          .time(
              "exposed_forward_us",
              [](const ShownStep& of) { return of.step.times.exposed_in_forward; },
              "the part of exposed_communication_us that waits for parameters of forward. Only "
              "with --scheme")
          .time(
              "exposed_backward_us",
              [](const ShownStep& of) { return of.step.times.exposed_backward(); },
              "the part of exposed_communication_us in backward and until gradients are reduced. "
              "Only with --scheme")
          .time(
              "exposed_optimizer_us",
              [](const ShownStep& of) { return of.step.times.exposed_in_optimizer; },
              "the part of exposed_communication_us after the optimizer. Only with --scheme")
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
                  "updates per second of all workers together");
  return described;
}

}  // namespace

const Described<ModelAveraging>& described_averaging() {
  static const auto described =
      Described<ModelAveraging>("ModelAveraging",
                                "how ranks that train apart average their parameters", Layout::line)
          .integer("period", &ModelAveraging::period, "steps from one averaging to the next")
          .integer("bytes", &ModelAveraging::bytes,
                   "bytes that one averaging all-reduces over all ranks")
          .time("whole_us", &ModelAveraging::whole,
                "time of one averaging, including flattening and dividing")
          .text("what", unless_empty(&ModelAveraging::what),
                "the ranks that average. Only with a scheme that averages", Absent::left_out)
          .ratio(
              "share_of_steps",
              [](const ModelAveraging& of) {
                return of.what.empty() ? std::nullopt : std::optional(of.share);
              },
              "the share of steps that average on this level; a step of a higher level counts only "
              "there. Only with a scheme that averages",
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
              "buckets in launch order; empty with a scheme that does not use DDP's reducer")
          .object(
              "model_averaging",
              [](const ShownStep& of) -> const auto& { return of.step.averaging; },
              described_averaging(),
              "how parameters are averaged; the step is the mean over a period. Only if ranks "
              "train apart",
              Absent::left_out)
          .list(
              "further_model_averaging",
              [](const ShownStep& of) {
                const auto& averaging = of.step.averaging;
                return averaging && !averaging->further.empty() ? &averaging->further : nullptr;
              },
              described_averaging(),
              "how parameters are averaged on further levels. Only with a hierarchy",
              Absent::left_out)
          .object(
              "staleness", [](const ShownStep& of) -> const auto& { return of.step.staleness; },
              described_staleness(),
              "updates by other workers between a worker's pull and its own update, which says "
              "nothing about convergence. Only with asynchronous parameter servers",
              Absent::left_out)
          .object(
              "data_loader", [](const ShownStep& of) -> const auto& { return of.step.data; },
              described_data(),
              "where batches come from, and how long the step waits for them. Only with "
              "--data-loader, or if the recording tells",
              Absent::left_out)
          .object(
              "epoch", [](const ShownStep& of) -> const auto& { return of.step.epoch; },
              described_epoch(),
              "what an epoch consists of and how long it takes. Only with --dataset-size",
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
          return "time in which the GPU computes or copies";
        case BudgetPart::host:
          return "time in which the GPU waits for the host: launches, DDP's hooks, pauses between "
                 "steps";
        case BudgetPart::input:
          return "time in which the GPU waits for its batch";
        case BudgetPart::communication:
          return "time in which the GPU waits for a collective";
        case BudgetPart::ranks:
          return "time in which the GPU waits for slower GPUs";
        case BudgetPart::overhead:
          break;
      }
      return "the allowance for multi-GPU overhead, or the unexplained rest of a measured step";
    };
    Described<StepBudget> budget("StepBudget", "how the GPU spends a step", Layout::line);
    budget.time("step_us", &StepBudget::step, "time of the step; the other keys add up to it");
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
                 "samples per second of all ranks together; null if the batch is not known")
          .ratio("tokens_per_second", &TrainingSpeed::tokens_per_second,
                 "tokens per second of all ranks together; null if the batch is not known or "
                 "samples are not sequences")
          .ratio("model_flops_utilization", &TrainingSpeed::model_flops_utilization,
                 "MFU: time of the step's model FLOPs at the GPU's data sheet rate, divided by the "
                 "step; null if model or precision is not known")
          .ratio("scaling_efficiency", &TrainingSpeed::scaling_efficiency,
                 "the step of one GPU without DDP and with its own DataLoader, divided by the "
                 "step; null if the step takes no time");
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
          .word("cause", &LossRow::cause, all_loss_causes(), "what the time is lost to")
          .time("us", &LossRow::time,
                "time that the cause adds to the step; below 0 if it saves time")
          .time(
              "low_us", [](const LossRow& of) { return of.interval.low; },
              "low end of the 80 % interval of us")
          .time(
              "high_us", [](const LossRow& of) { return of.interval.high; },
              "high end of the 80 % interval of us");
  return described;
}

}  // namespace ddpsim
