#include "described_recording.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

template <typename Value>
auto recorded(Value Recorded::*value) {
  return [value](const ShownRecording& of) -> const auto& {
    return of.recorded.*value;
  };
}

const PartTimes* launch_waits(const ShownRecording& of) {
  return of.recorded.launch_waits != PartTimes() ? &of.recorded.launch_waits : nullptr;
}

const StatedCosts* host_costs_of(const ShownRecording& of) {
  return of.host_costs != nullptr && !of.host_costs->empty() ? of.host_costs : nullptr;
}

/// Null if nothing is known about the host.
const ShownRecording* host_of(const ShownRecording& of) {
  const bool told = !of.recorded.host_ready.empty() || of.recorded.launches ||
                    launch_waits(of) != nullptr || host_costs_of(of) != nullptr;
  return told ? &of : nullptr;
}

Described<StatedCosts> host_costs_described() {
  Described<StatedCosts> described("HostCosts", "what DDP's own work takes of a host, as measured",
                                   Layout::line);
  for (const CostField& field : host_costs()) {
    const auto stated = [&field](const StatedCosts& costs) {
      const auto found = std::ranges::find(costs, &field, &StatedCost::field);
      return found != costs.end() ? std::optional(found->value) : std::nullopt;
    };
    described.number(field.name, stated, field.says, Absent::left_out);
  }
  return described;
}

const Described<StatedCosts>& described_host_costs() {
  static const auto described = host_costs_described();
  return described;
}

}  // namespace

const Described<Duration>& described_work() {
  static const auto described =
      Described<Duration>("Work", "a part of a step, or the whole step", Layout::line)
          .time("duration_us", std::identity(), "how long it takes");
  return described;
}

const Described<ReadyEvent>& described_ready() {
  static const auto described =
      Described<ReadyEvent>("Ready", "a gradient that was written", Layout::line)
          .integer("parameter", &ReadyEvent::parameter,
                   "index into `parameters` of the parameter whose gradient it is")
          .time("at_us", &ReadyEvent::at,
                "when the gradient was written, from the start of backward on the compute stream; "
                "never decreases from one entry to the next")
          .time("copied_at_us", &ReadyEvent::copied_at,
                "end of the gradient's copy into its bucket, on the clock of `at_us`. Only where "
                "the recording had DDP's hooks",
                Absent::left_out);
  return described;
}

const Described<Backward>& described_backward() {
  static const auto described =
      Described<Backward>("Backward", "the backward pass")
          .time("duration_us", &Backward::duration, "from the first to the last kernel of backward")
          .list("ready", &Backward::ready, described_ready(), "gradients in execution order")
          .optional_when_read({"ready"});
  return described;
}

const Described<PartTimes>& described_host_times() {
  static const auto described =
      Described<PartTimes>("HostTimes", "a time of each part of a step", Layout::line)
          .time("forward_us", &PartTimes::forward, "the time of forward")
          .time("backward_us", &PartTimes::backward, "the time of backward")
          .time("optimizer_us", &PartTimes::optimizer, "the time of the optimizer");
  return described;
}

const Described<Launches>& described_launches() {
  static const auto described =
      Described<Launches>(
          "Launches",
          "how many launches of the model the host makes: kernels, or an estimate's "
          "operators with 0.35 for each further kernel")
          .integer("forward", &Launches::forward, "launches of forward; default: 0")
          .integers("backward", &Launches::backward,
                    "for each entry of `ready`: launches of backward since the entry before",
                    Absent::null, Layout::block)
          .integer("optimizer", &Launches::optimizer, "launches of the optimizer; default: 0")
          .optional_when_read({"forward", "optimizer"});
  return described;
}

const Described<ShownRecording>& described_host() {
  static const auto described =
      Described<ShownRecording>("Host", "what the host did in a step")
          .times("ready_us", unless_empty(recorded(&Recorded::host_ready)),
                 "when the host came to each entry of `ready`, on the clock of `ready`; negative "
                 "if the host was ahead. Default: a forward ahead of the GPU",
                 Absent::left_out)
          .times(
              "held_us", unless_empty(recorded(&Recorded::host_held)),
              "for each entry of `ready`: how long the GPU had held up the host since the step's "
              "first launch. It did so by a synchronisation or a full queue. Default: never",
              Absent::left_out)
          .object("launch_waits", &launch_waits, described_host_times(),
                  "for each part of the step: how long the GPU had nothing to do until the host "
                  "launched its next kernel; default: 0",
                  Absent::left_out)
          .object("launches", recorded(&Recorded::launches), described_launches(),
                  "how many launches of the model the host makes; a step is not shorter than "
                  "they take",
                  Absent::left_out)
          .object(
              "launch_cost",
              [](const ShownRecording& of) {
                const auto& launches = of.recorded.launches;
                return launches ? launches->cost : std::nullopt;
              },
              described_host_times(),
              "what the recorded host took to launch a kernel, with the profiler's share, without "
              "waits "
              "for the GPU; required with `ready_us`; default: that of --launch-cost",
              Absent::left_out)
          .integer(
              "steps_ahead",
              [](const ShownRecording& of) {
                const auto& launches = of.recorded.launches;
                return launches ? launches->steps_ahead : std::nullopt;
              },
              "steps that the host may be ahead of the GPU: 0 where the script reads its loss in "
              "each step; default: no limit. Only with `launches`, and not with `ready_us`",
              Absent::left_out)
          .object("costs", &host_costs_of, described_host_costs(),
                  "what DDP's own work takes of this host, as measured: intervals treat it as "
                  "exact. Only at the top of the document, not under `ranks`",
                  Absent::left_out);
  return described;
}

const Described<DataLoading>& described_data_loading() {
  static const auto described =
      Described<DataLoading>("DataLoading", "how long the trainer waited for its DataLoader",
                             Layout::line)
          .time("median_us", &DataLoading::median, "the median wait for a batch")
          .time("p90_us", &DataLoading::p90, "the 90th percentile of waits for a batch")
          .time("mean_us", &DataLoading::mean,
                "the mean wait for a batch, without the first; default: the median")
          .integer("count", &DataLoading::count, "waits that were recorded; default: 1")
          .one_of(
              "loads", [](const DataLoading& of) { return of.processes ? "workers" : "trainer"; },
              {"workers", "trainer"},
              "who loads batches: workers, or the thread that trains (num_workers=0); default: "
              "workers")
          .time("interval_us", &DataLoading::interval,
                "time in which workers gave a batch. Only where workers limited the recorded step",
                Absent::left_out)
          .optional_when_read({"mean_us", "count", "loads"});
  return described;
}

const Described<HostThreads>& described_threads() {
  static const auto described =
      Described<HostThreads>("HostThreads",
                             "how long threads of the recorded process ran and waited in a step, "
                             "as Linux's scheduler counts (/proc/PID/task/TID/schedstat)",
                             Layout::line)
          .integer("cores", &HostThreads::cores, "cores that the process may run on",
                   Absent::left_out)
          .time("running_us", &HostThreads::running,
                "for how long the threads that train ran: the script's and, in turn, autograd's")
          .time("waiting_us", &HostThreads::waiting,
                "how long the threads that train could have run but waited for a core, summed over "
                "them")
          .time("all_running_us", &HostThreads::all_running,
                "how long threads of the process ran, summed over all of them")
          .time("all_waiting_us", &HostThreads::all_waiting,
                "how long threads of the process could have run but waited for a core, summed over "
                "all");
  return described;
}

const Described<EarlierMicroBatches>& described_earlier() {
  static const auto described =
      Described<EarlierMicroBatches>(
          "EarlierMicroBatches", "micro-batches of a step before the recorded one", Layout::line)
          .integer("count", &EarlierMicroBatches::count, "micro-batches before the recorded one")
          .integer("all_reduced", &EarlierMicroBatches::all_reduced,
                   "how many of the earlier micro-batches all-reduced; 0 (default) under no_sync()")
          .time("compute_us", &EarlierMicroBatches::compute,
                "forward and backward of all earlier micro-batches together")
          .time(
              "exposed_us", &EarlierMicroBatches::exposed,
              "how long all earlier micro-batches together waited for all-reduces after backward; "
              "default: 0")
          .optional_when_read({"all_reduced", "exposed_us"});
  return described;
}

const Described<RecordedCollective>& described_collective() {
  static const auto described =
      Described<RecordedCollective>("RecordedCollective", "a recorded all-reduce of gradients",
                                    Layout::line)
          .integer("bytes", &RecordedCollective::bytes, "what the collective carried")
          .time("launch_us", &RecordedCollective::launch,
                "when the host launched the collective, from the start of backward")
          .time("start_us", &RecordedCollective::start,
                "when the collective's kernel started, from the start of backward")
          .time("duration_us", &RecordedCollective::duration,
                "how long the kernel ran, the wait for the last rank included")
          .integer("channels", if_positive(&RecordedCollective::channels),
                   "NCCL's channels: thread blocks of the kernel. Only where they were recorded",
                   Absent::left_out);
  return described;
}

const Described<StepSample>& described_recorded_step() {
  static const auto described =
      Described<StepSample>("RecordedStep", "a complete step of the recording")
          .on_one_line_if([](const StepSample& of) { return of.collectives.empty(); })
          .text("name", unless_empty(&StepSample::name), "what the profiler calls the step",
                Absent::left_out)
          .time("forward_us", &StepSample::forward, "the step's forward", Absent::left_out)
          .time("backward_us", &StepSample::backward, "the step's backward", Absent::left_out)
          .time("iteration_us", &StepSample::iteration, "from this step to the next",
                Absent::left_out)
          .list("collectives", unless_empty(&StepSample::collectives), described_collective(),
                "all-reduces of the step's gradients, in launch order", Absent::left_out);
  return described;
}

const Described<RecordedWith>& described_recorded_with() {
  static const auto described =
      Described<RecordedWith>("RecordedWith", "what the recording already contains")
          .boolean("ddp_hooks", &RecordedWith::ddp_hooks,
                   "whether copies into buckets are part of `ready` and of backward; default: "
                   "false")
          .integer("world_size", &RecordedWith::world_size,
                   "ranks of the recorded job; 0: not known, two or more; default: 1")
          .text(
              "nccl",
              [](const RecordedWith& of) {
                return of.nccl ? std::optional(to_string(*of.nccl)) : std::nullopt;
              },
              "the NCCL that the job ran with: \"2.21.5\"; --nccl goes before it; default: the one "
              "that PyTorch ships",
              Absent::left_out)
          .integer("nccl_kernels", &RecordedWith::nccl_kernels,
                   "NCCL's kernels in an iteration, buffer broadcasts included; default: 0")
          .time("exposed_us", &RecordedWith::exposed,
                "communication that was still running after backward's compute", Absent::left_out)
          .time("finalize_us", &RecordedWith::finalize, "copies out of the buckets",
                Absent::left_out)
          .time("buffer_broadcast_us", &RecordedWith::buffer_broadcast,
                "the time within forward that was spent on broadcasting buffers", Absent::left_out)
          .integer("compiled_gradients", if_positive(&RecordedWith::compiled_gradients),
                   "gradients of autograd nodes that torch.compile made; they are written at the "
                   "end of their node; default: 0",
                   Absent::left_out)
          .word("wire_dtype", &RecordedWith::wire, std::array{Dtype::float16, Dtype::bfloat16},
                "the dtype that all-reduces carried with a communication hook that casts; default: "
                "the "
                "gradients' dtype",
                Absent::left_out)
          .one_of(
              "reduced_by",
              [](const RecordedWith& of) {
                return of.reduced_by != ReducedBy::reducer ? std::optional(word_of(of.reduced_by))
                                                           : std::nullopt;
              },
              {"reducer", "compiled", "hooks", "script"},
              "who called the gradients' all-reduces: DDP's reducer (default), nodes of "
              "torch.compile, other hooks, or the script after backward. `tune` recommends a cap "
              "only for the reducer",
              Absent::left_out)
          .boolean("sync_batchnorm", if_true(&RecordedWith::sync_batchnorm),
                   "whether SyncBatchNorm ran; what it exchanged is part of forward and backward; "
                   "default: false",
                   Absent::left_out)
          .integer(
              "accumulate",
              [](const RecordedWith& of) {
                return of.accumulate > 1 ? std::optional(of.accumulate) : std::nullopt;
              },
              "micro-batches of a step, of which the last is recorded: the default of "
              "--accumulate; default: 1",
              Absent::left_out)
          .list("collectives", unless_empty(&RecordedWith::collectives), described_collective(),
                "all-reduces of the gradients, in launch order", Absent::left_out)
          .optional_when_read({"ddp_hooks", "world_size", "nccl_kernels"});
  return described;
}

const Described<ShownRecording>& described_recording() {
  static const auto described =
      Described<ShownRecording>("Recording", "what was recorded of a step")
          .object("forward", recorded(&Recorded::forward), described_work(),
                  "compute of forward; default: 0", Absent::left_out)
          .object("backward", recorded(&Recorded::backward), described_backward(),
                  "the backward pass, and when it wrote gradients", Absent::left_out)
          .object("optimizer", recorded(&Recorded::optimizer), described_work(),
                  "what follows backward until the step ends; default: 0", Absent::left_out)
          .object("iteration", recorded(&Recorded::iteration), described_work(),
                  "from one step to the next. What the parts of the step do not fill is stall; "
                  "where they are longer, the next forward begins before the step has ended",
                  Absent::left_out)
          .object("host", &host_of, described_host(),
                  "what the host did, which --compute-scale and --gpu leave as it is; default: the "
                  "host stays ahead of the GPU",
                  Absent::left_out)
          .object("gpu_busy", recorded(&Recorded::busy), described_host_times(),
                  "for each part of the step: how long anything ran on the GPU", Absent::left_out)
          .object("data_loading", recorded(&Recorded::data_loading), described_data_loading(),
                  "how long the trainer waited for its DataLoader", Absent::left_out)
          .object("threads", recorded(&Recorded::threads), described_threads(),
                  "how long threads of the recorded process ran, and waited for a core; nothing is "
                  "simulated from it",
                  Absent::left_out)
          .object(
              "earlier_micro_batches", recorded(&Recorded::earlier), described_earlier(),
              "micro-batches of the step before the recorded one, which `iteration` leaves out. "
              "Only of a step that accumulates gradients",
              Absent::left_out);
  return described;
}

const Described<Recorded>& described_circumstances() {
  static const auto described =
      Described<Recorded>("Circumstances", "what a recorded step already contains, and others")
          .object("recorded_with", &Recorded::recorded_with, described_recorded_with(),
                  "what the recording already contains; default: a job of one GPU")
          .list("steps", unless_empty(&Recorded::steps), described_recorded_step(),
                "all complete steps of the recording, this one among them: the interval reaches as "
                "far as they vary; default: this one alone",
                Absent::left_out)
          .optional_when_read({"recorded_with"});
  return described;
}

}  // namespace ddpsim
