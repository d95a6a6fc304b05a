#include "ddpsim/traces/profiler_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/models/transfer.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "event_reader.hpp"
#include "gradient_ready.hpp"
#include "host_recording.hpp"
#include "how_reduced.hpp"
#include "json_splitter.hpp"
#include "kernel_sums.hpp"
#include "model_input.hpp"
#include "other_schemes.hpp"
#include "recorded_data_loading.hpp"
#include "recorded_parameters.hpp"
#include "records_import.hpp"
#include "step_choice.hpp"
#include "step_sample.hpp"
#include "trace_header.hpp"
#include "trace_limits.hpp"
#include "trace_origin.hpp"
#include "trace_records.hpp"
#include "usable_trace.hpp"

namespace ddpsim {
namespace {

class TraceImport {
 public:
  TraceImport(std::string file, const ImportOptions& options)
      : file_(std::move(file)), options_(options) {}

  Imported run(const ByteSource& source);
  Imported interpret(TraceRecords records, const TraceHeader& header);

 private:
  bool compacted() const { return options_.timing == Timing::compacted; }
  /// Duration of a window of the step, with the requested timing.
  Duration window(const RecordedStep& step, std::int64_t from_ns, std::int64_t to_ns) const {
    return compacted() ? span(0, step.busy.between(from_ns, to_ns)) : span(from_ns, to_ns);
  }
  Imported interpret(TraceHeader header, bool mended);
  [[noreturn]] void refuse(std::string message, Hint hint) const {
    throw InputError({file_, "", std::move(message), std::move(hint)});
  }
  bool only_micro_batches(const TraceHeader& header) const;
  void assign_parameters(const RecordedStep& step);
  void fill_gradients(const RecordedStep& step, const std::vector<std::size_t>& parameters);
  void fill_input(const RecordedStep& step, std::size_t index);
  void note_idle(const RecordedStep& step);
  void fill_times(const RecordedStep& step, std::size_t index);
  void fill_activations(const RecordedStep& step, std::size_t index);
  void fill_after_backward(const RecordedStep& step);
  void fill_collectives(const RecordedStep& step);
  void fill_variation(const RecordedStep& step, const std::vector<StepSample>& complete);
  void fill_host(const RecordedStep& step, std::size_t index);
  void note_rank_trace(const RecordedStep& step, const TraceHeader& header);

  std::string file_;
  const ImportOptions& options_;
  TraceRecords records_;
  bool world_of_group_ = false;  ///< the trace states no world size
  Imported result_;
};

Imported TraceImport::run(const ByteSource& source) {
  JsonSplitter splitter(source, file_);
  EventReader reader(splitter);
  KernelSums kernels;
  try {
    for (EventBatch batch = splitter.next(); !batch.text.empty(); batch = splitter.next()) {
      reader.read(batch, [&](const TraceEvent& event) {
        records_.add(event);
        if (options_.kernel_times) kernels.add(event);
      });
    }
  } catch (const TraceLimit& limit) {
    refuse(fmt::format("this trace cannot be imported: {}", limit.what()),
           "Record fewer steps, of one process");
  }
  result_.kernel_times = kernels.by_step();
  records_.finish();
  require_usable(records_, file_);
  if (splitter.members("distributedInfo") > 1)
    refuse_several_processes(file_, "\"distributedInfo\" appears in it twice");
  return interpret(read_trace_header(splitter, records_.first_device()), splitter.mended());
}

Imported TraceImport::interpret(TraceRecords records, const TraceHeader& header) {
  records_ = std::move(records);
  return interpret(header, false);
}

Imported TraceImport::interpret(TraceHeader header, bool mended) {
  if (!header.world_size) {
    header.world_size = ranks_of_largest_group(records_);
    world_of_group_ = header.world_size.has_value();
  }
  ChosenStep chosen = choose_step(records_, options_, file_);
  const RecordedStep& step = chosen.step;
  if (const std::string scheme = other_scheme(records_, step, header); !scheme.empty())
    refuse(fmt::format("{}: {}; ddpsim simulates DistributedDataParallel", step.name, scheme),
           "Record this model under DDP or on one GPU, and simulate DDP from that");
  if (only_micro_batches(header))
    refuse(fmt::format("{}: DDP ran on {} ranks, but no step launches an all-reduce: all are "
                       "micro-batches under no_sync()",
                       step.name, *header.world_size),
           "Record until a micro-batch all-reduces, and the step after it");
  result_.recognised = std::move(chosen.recognised);
  result_.warnings = std::move(chosen.warnings);
  result_.workload.recorded_with.accumulate = chosen.accumulate;
  result_.workload.earlier = chosen.earlier;
  describe_origin({records_, header, file_, options_.gpu, world_of_group_}, result_);
  if (mended) {
    result_.warnings.push_back(
        "some texts in it are not valid JSON strings (raw control characters, or not UTF-8); they "
        "were read with those characters replaced");
  }
  result_.workload.provenance.emplace_back("step", step.name);
  assign_parameters(step);
  fill_input(step, chosen.index);
  note_idle(step);
  fill_times(step, chosen.index);
  fill_activations(step, chosen.index);
  fill_after_backward(step);
  fill_collectives(step);
  fill_variation(step, chosen.complete);
  fill_host(step, chosen.index);
  describe_data_loading(records_, chosen, compacted(), result_);
  note_rank_trace(step, header);
  return std::move(result_);
}

void TraceImport::note_rank_trace(const RecordedStep& step, const TraceHeader& header) {
  RankTrace trace{.rank = header.rank,
                  .world_size = header.world_size,
                  .step = step.name,
                  .forward_start_ns = step.first_ns,
                  .collectives = {},
                  .world_at_least = world_of_group_};
  for (const Collective& one : step.collectives)
    trace.collectives.push_back({.operation = one.operation,
                                 .bytes = one.bytes,
                                 .start_ns = one.start_ns,
                                 .end_ns = one.end_ns,
                                 .group = one.group,
                                 .sequence = one.sequence});
  result_.rank_trace = std::move(trace);
}

/// NCCL's kernels would be in the trace, whoever called them.
bool TraceImport::only_micro_batches(const TraceHeader& header) const {
  const auto reduces = [](const Collective& one) { return one.operation == "allreduce"; };
  return records_.ddp_hooks() && header.world_size > 1 && header.backend == "nccl" &&
         std::ranges::none_of(records_.calls(), reduces) &&
         std::ranges::none_of(records_.kernels(), [&](const Collective& one) {
           return reduces(one) || records_.is_autograd_thread(one.thread);
         });
}

void TraceImport::assign_parameters(const RecordedStep& step) {
  Workload& workload = result_.workload;
  result_.bucket_bytes = step.bucket_bytes;
  if (!step.bucket_bytes.empty()) {
    Bytes total;
    std::string sizes;
    for (const Bytes bytes : step.bucket_bytes) {
      total += bytes;
      sizes += (sizes.empty() ? "" : " ") + std::to_string(bytes.count());
    }
    workload.provenance.emplace_back("bucket_bytes", sizes);
    result_.recognised.push_back(
        fmt::format("{} bucket{} recorded: {} bytes, {} in all", step.bucket_bytes.size(),
                    step.bucket_bytes.size() == 1 ? "" : "s", sizes, total.count()));
  }
  RecordedParameters parameters = recorded_parameters(step, options_.model, file_);
  if (!parameters.shapes_from.empty()) {
    workload.provenance.emplace_back("shapes", std::move(parameters.shapes_from));
  }
  workload.parameter_order = parameters.order;
  workload.parameters = std::move(parameters.parameters);
  workload.buffers = std::move(parameters.buffers);
  for (std::string& one : parameters.recognised) result_.recognised.push_back(std::move(one));
  for (std::string& one : parameters.warnings) result_.warnings.push_back(std::move(one));
  fill_gradients(step, parameters.ready_order);
}

void TraceImport::fill_gradients(const RecordedStep& step,
                                 const std::vector<std::size_t>& parameters) {
  Workload& workload = result_.workload;
  workload.backward.emplace();
  for (std::size_t k = 0; k < step.gradients.size(); ++k) {
    const RecordedGradient& gradient = step.gradients[k];
    ReadyEvent event;
    event.parameter = parameters[k];
    event.at = window(step, step.backward_start_ns, gradient.ready_ns);
    if (records_.ddp_hooks() && gradient.copied_ns) {
      event.copied_at = window(step, step.backward_start_ns, *gradient.copied_ns);
    }
    workload.backward->ready.push_back(event);
    if (!compacted()) {
      workload.host_ready.push_back(span(step.backward_start_ns, gradient.host_ns));
    }
  }
}

void TraceImport::fill_input(const RecordedStep& step, std::size_t index) {
  const std::optional<ModelInput> input = model_input(
      records_.input_operators(records_.steps()[index].span.start_ns, step.backward_called_ns));
  if (!input) return;
  Workload& workload = result_.workload;
  workload.batch_per_gpu = input->batch;
  std::string sentence = fmt::format(
      "the batch per GPU is {}, judged by the shape of the model's input", input->batch);
  if (input->tokens > 0) sentence += fmt::format(": sequences of {} tokens", input->tokens);
  if (input->pixels > 0) sentence += fmt::format(": images of {} pixels a side", input->pixels);
  result_.recognised.push_back(std::move(sentence));
  if (input->tokens > 0) workload.sample = SampleWork{.tokens = input->tokens};
  if (const auto model = recognised_model(workload, std::max(input->tokens, input->pixels)))
    workload.sample = sample_work(*model);
}

void TraceImport::note_idle(const RecordedStep& step) {
  const auto idle = [&](std::int64_t from_ns, std::int64_t to_ns) {
    if (to_ns <= from_ns) return 0.0;
    const auto busy = static_cast<double>(step.busy.between(from_ns, to_ns));
    return 1 - busy / static_cast<double>(to_ns - from_ns);
  };
  const double forward = idle(step.first_ns, step.backward_start_ns);
  const double backward = idle(step.backward_start_ns, step.backward_end_ns);
  result_.recognised.push_back(
      fmt::format("the GPU was idle in {:.1f} % of forward and {:.1f} % of backward{}",
                  100 * forward, 100 * backward, compacted() ? "; these gaps are left out" : ""));
  if (compacted()) {
    result_.workload.provenance.emplace_back("timing", "compacted");
  } else if (backward > kLaunchBound) {
    result_.recognised.push_back(
        "launch-bound: for much of backward the GPU waited for the host (small kernels, or the "
        "profiler's own cost); --timing compacted takes the gaps out");
  }
}

void TraceImport::fill_times(const RecordedStep& step, std::size_t index) {
  Workload& workload = result_.workload;
  workload.forward = window(step, step.first_ns, step.backward_start_ns);
  workload.backward->duration = window(step, step.backward_start_ns, step.backward_end_ns);
  if (compacted()) return;
  workload.iteration = sample_of(records_, index, step).iteration;
  if (!workload.iteration) {
    result_.warnings.push_back(
        fmt::format("no step begins after {}, so the time between steps is unknown", step.name));
  }
}

void TraceImport::fill_activations(const RecordedStep& step, std::size_t index) {
  const std::optional<Bytes> kept =
      records_.allocations().grown(records_.steps()[index].span.start_ns, step.backward_called_ns);
  if (!kept) return;
  result_.workload.activations = Activations{.bytes = *kept, .recorded = true};
  result_.recognised.push_back(
      fmt::format("forward keeps {} for backward (profile_memory)", rounded_size_text(*kept)));
}

void TraceImport::fill_after_backward(const RecordedStep& step) {
  RecordedWith& recorded = result_.workload.recorded_with;
  if (compacted()) {
    const Duration copies = window(step, step.backward_end_ns, step.copies_end_ns);
    if (records_.ddp_hooks()) recorded.finalize = copies;
    result_.workload.optimizer = window(step, step.copies_end_ns, step.last_ns);
    return;
  }
  std::int64_t tail_ns = 0;
  if (!step.reducer.empty()) {
    std::int64_t end_ns = step.reducer.front().end_ns;
    for (const Collective& one : step.reducer) end_ns = std::max(end_ns, one.end_ns);
    tail_ns = std::max<std::int64_t>(0, end_ns - step.backward_end_ns);
    recorded.exposed = Duration::picoseconds(tail_ns * 1000);
  }
  std::int64_t finalize_ns = step.copies_end_ns - step.backward_end_ns - tail_ns;
  std::int64_t optimizer_ns = step.last_ns - step.copies_end_ns;
  if (finalize_ns < 0) {
    // Without copies out (gradients that are views into the buckets), nothing separates the tail
    // from the optimizer. The time after backward holds both, and the tail must not be counted
    // twice.
    optimizer_ns = std::max<std::int64_t>(0, optimizer_ns + finalize_ns);
    finalize_ns = 0;
    result_.warnings.push_back(
        "no copies out of the buckets follow the last all-reduce; the optimizer is counted from "
        "its end");
  }
  if (records_.ddp_hooks() || finalize_ns > 0) {
    recorded.finalize = Duration::picoseconds(finalize_ns * 1000);
  }
  result_.workload.optimizer = Duration::picoseconds(optimizer_ns * 1000);
}

void TraceImport::fill_collectives(const RecordedStep& step) {
  RecordedWith& recorded = result_.workload.recorded_with;
  recorded.nccl_kernels = step.nccl_kernels;
  note_reduction(step, result_);
  if (compacted()) return;
  if (!step.broadcasts.empty()) {
    std::int64_t from_ns = step.broadcasts.front().start_ns;
    std::int64_t to_ns = step.broadcasts.front().end_ns;
    for (const Collective& one : step.broadcasts) {
      from_ns = std::min(from_ns, one.start_ns);
      to_ns = std::max(to_ns, one.end_ns);
    }
    recorded.buffer_broadcast = span(from_ns, to_ns);
  }
  recorded.collectives = recorded_collectives(step);
  if (recorded.collectives.size() < step.reducer.size()) {
    result_.warnings.push_back(
        "the all-reduces carry no sizes, so their recorded times are left out");
    return;
  }
  result_.recognised.push_back(step.nccl_kernels == 0
                                   ? std::string("no NCCL kernel ran")
                                   : fmt::format("{} NCCL kernels in the step, {} of them {}",
                                                 step.nccl_kernels, step.reducer.size(),
                                                 step.reduced_by == ReducedBy::reducer
                                                     ? "the reducer's all-reduces"
                                                     : "all-reduces of gradients"));
  if (recorded.several_ranks() && !recorded.collectives.empty()) {
    result_.alone =
        "one rank's recording: the duration of a collective includes the wait for the "
        "slowest rank and is an upper bound of the transfer. Traces of all ranks separate the two";
  }
}

void TraceImport::fill_variation(const RecordedStep& step,
                                 const std::vector<StepSample>& complete) {
  if (compacted()) return;
  Workload& workload = result_.workload;
  const std::int64_t end_ns = step.last_ns;
  const std::int64_t optimizer_ns =
      end_ns - workload.optimizer.value_or(Duration()).picoseconds() / 1000;
  const auto busy = [&](std::int64_t from_ns, std::int64_t to_ns) {
    return span(0, step.busy.between(from_ns, to_ns));
  };
  workload.busy = {.forward = busy(step.first_ns, step.backward_start_ns),
                   .backward = busy(step.backward_start_ns, step.backward_end_ns),
                   .optimizer = busy(optimizer_ns, end_ns)};
  if (complete.size() > 1) workload.steps = complete;
}

void TraceImport::fill_host(const RecordedStep& step, std::size_t index) {
  Workload& workload = result_.workload;
  const std::int64_t optimizer_ns =
      step.last_ns - workload.optimizer.value_or(Duration()).picoseconds() / 1000;
  HostRecording host = host_recording(records_, records_.steps()[index].span, step, optimizer_ns);
  result_.recognised.push_back(words_for(host, compacted()));
  workload.launches = std::move(host.launches);
  // Without its waits, the step resembles one on a host without a profiler. The launch cost of such
  // a host was not recorded.
  if (compacted()) {
    workload.launches->cost.reset();
    return;
  }
  workload.launch_waits = host.launch_waits;
  workload.host_held = std::move(host.held);
}

}  // namespace

Imported import_profiler_trace(const ByteSource& source, const std::string& file,
                               const ImportOptions& options) {
  return TraceImport(file, options).run(source);
}

Imported import_records(TraceRecords records, const TraceHeader& header, const std::string& file,
                        const ImportOptions& options) {
  return TraceImport(file, options).interpret(std::move(records), header);
}

}  // namespace ddpsim
