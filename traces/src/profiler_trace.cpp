#include "ddpsim/traces/profiler_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "event_reader.hpp"
#include "gradient_ready.hpp"
#include "json_splitter.hpp"
#include "model_fit.hpp"
#include "trace_header.hpp"
#include "trace_limits.hpp"
#include "trace_records.hpp"

namespace ddpsim {
namespace {

Duration span(std::int64_t from_ns, std::int64_t to_ns) {
  return Duration::picoseconds((to_ns - from_ns) * 1000);
}

/// A complete step: all gradients, and its backward on the GPU.
struct Candidate {
  std::size_t step = 0;
  std::string name;
  std::int64_t backward_ns = 0;
  std::size_t gradients = 0;
};

class TraceImport {
 public:
  TraceImport(std::string file, const ImportOptions& options)
      : file_(std::move(file)), options_(options) {}

  Imported run(const ByteSource& source);

 private:
  [[noreturn]] void refuse(std::string message, std::string hint) const {
    throw InputError({file_, "", std::move(message), std::move(hint)});
  }
  void check_structure() const;
  std::vector<Candidate> complete_steps();
  Candidate choose(std::vector<Candidate> candidates);
  void describe(const TraceHeader& header);
  void assign_parameters(const RecordedStep& step);
  void fill_times(const RecordedStep& step, std::size_t index);
  void fill_after_backward(const RecordedStep& step);
  void fill_collectives(const RecordedStep& step);
  void note_rank_trace(const RecordedStep& step, const TraceHeader& header);

  std::string file_;
  const ImportOptions& options_;
  TraceRecords records_;
  Imported result_;
};

Imported TraceImport::run(const ByteSource& source) {
  JsonSplitter splitter(source, file_);
  EventReader reader(splitter);
  try {
    for (EventBatch batch = splitter.next(); !batch.text.empty(); batch = splitter.next()) {
      reader.read(batch, [&](const TraceEvent& event) { records_.add(event); });
    }
  } catch (const TraceLimit& limit) {
    refuse(fmt::format("this trace cannot be imported: {}", limit.what()),
           "Record fewer steps, of one process");
  }
  records_.finish();
  check_structure();

  const Candidate chosen = choose(complete_steps());
  const RecordedStep step = recorded_step(records_, chosen.step).value();
  const TraceHeader header = read_trace_header(splitter, records_.first_device());
  describe(header);
  result_.workload.provenance.emplace_back("step", step.name);
  assign_parameters(step);
  fill_times(step, chosen.step);
  fill_after_backward(step);
  fill_collectives(step);
  note_rank_trace(step, header);
  return std::move(result_);
}

void TraceImport::note_rank_trace(const RecordedStep& step, const TraceHeader& header) {
  RankTrace trace{.rank = header.rank,
                  .world_size = header.world_size,
                  .step = step.name,
                  .forward_start_ns = step.first_ns,
                  .collectives = {}};
  for (const Collective& one : step.collectives)
    trace.collectives.push_back({one.operation, one.bytes, one.start_ns, one.end_ns});
  result_.rank_trace = std::move(trace);
}

void TraceImport::check_structure() const {
  using Node = TraceRecords::Node;
  if (records_.events() == 0) {
    refuse("there is no event of a PyTorch profiler in it",
           "Expected events with \"ph\": \"X\" and categories such as cpu_op and kernel");
  }
  if (records_.gpu_activities() == 0) {
    refuse("no GPU activity: the profiler recorded the host only",
           "Record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]");
  }
  if (records_.activity_count() == 0) {
    refuse("no launch belongs to any GPU activity (cuda_runtime events with correlation numbers)",
           "Record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]");
  }
  if (records_.steps().empty()) {
    refuse("no ProfilerStep markers, which say where a training step begins",
           "Call prof.step() after each step while recording");
  }
  if (records_.compiled()) {
    refuse(
        "compiled backward: one autograd node computes many layers, so that their gradients appear "
        "together at its end and none of their own times is known",
        "Record the model without torch.compile");
  }
  if (records_.node_count(Node::gradient) == 0) {
    if (records_.node_count(Node::any) == 0) {
      refuse("no autograd::engine::evaluate_function events, by which backward is recognised",
             "Record training steps, with ProfilerActivity.CPU, under PyTorch 1.9 or later");
    }
    refuse("no AccumulateGrad events, so no gradient is known to be ready",
           "Record steps that run loss.backward() on leaf parameters");
  }
}

std::vector<Candidate> TraceImport::complete_steps() {
  std::vector<Candidate> candidates;
  std::size_t most = 0;
  for (std::size_t i = 0; i < records_.steps().size(); ++i) {
    const auto step = recorded_step(records_, i);
    if (!step) continue;
    candidates.push_back(
        {i, step->name, step->backward_end_ns - step->backward_start_ns, step->gradients.size()});
    most = std::max(most, step->gradients.size());
  }
  const auto cut = std::remove_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& one) { return one.gradients < most; });
  candidates.erase(cut, candidates.end());
  if (candidates.empty()) {
    refuse("no complete step: none holds both AccumulateGrad events and the GPU work they launched",
           "Record at least one whole step between two calls of prof.step()");
  }
  if (candidates.size() < records_.steps().size()) {
    result_.warnings.push_back(fmt::format("{} of {} steps are not complete and were left out",
                                           records_.steps().size() - candidates.size(),
                                           records_.steps().size()));
  }
  return candidates;
}

Candidate TraceImport::choose(std::vector<Candidate> candidates) {
  const std::size_t count = candidates.size();
  const std::string names =
      count == 1 ? candidates.front().name
                 : fmt::format("{} to {}", candidates.front().name, candidates.back().name);
  if (!options_.step.empty()) {
    const auto named =
        std::find_if(candidates.begin(), candidates.end(),
                     [&](const Candidate& one) { return one.name == options_.step; });
    if (named == candidates.end()) {
      refuse(fmt::format("there is no complete {} in it; there are {}", options_.step, names),
             "Give traces of the same steps");
    }
    result_.recognised.push_back(fmt::format("took {}", named->name));
    return *named;
  }
  if (options_.iteration) {
    const std::int64_t wanted = *options_.iteration;
    if (wanted < 0 || static_cast<std::uint64_t>(wanted) >= count) {
      refuse(fmt::format("there is no iteration {}; {} complete: {}", wanted, count, names),
             fmt::format("Expected --iteration 0 to {}", count - 1));
    }
    Candidate chosen = candidates[static_cast<std::size_t>(wanted)];
    result_.recognised.push_back(
        fmt::format("iteration {} of {} ({}): {}", wanted, count, names, chosen.name));
    return chosen;
  }
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.backward_ns < b.backward_ns; });
  Candidate chosen = candidates[(count - 1) / 2];
  result_.recognised.push_back(fmt::format(
      "{} complete iterations ({}); took {}, the lower median by backward window ({:.3f} ms)",
      count, names, chosen.name, static_cast<double>(chosen.backward_ns) / 1e6));
  return chosen;
}

void TraceImport::describe(const TraceHeader& header) {
  Workload& workload = result_.workload;
  const std::string base = std::filesystem::path(file_).filename().string();
  workload.name = base.substr(0, base.find(".json"));
  workload.provenance.emplace_back("source", base);
  workload.provenance.emplace_back("kind", "PyTorch profiler trace");
  workload.gpu = options_.gpu;
  if (!header.gpu_full_name.empty()) {
    const std::string model = gpu_model_token(header.gpu_full_name);
    if (workload.gpu.empty()) workload.gpu = model;
    workload.provenance.emplace_back("gpu_name", header.gpu_full_name);
    result_.recognised.push_back(fmt::format("recorded on {}", header.gpu_full_name));
  } else if (workload.gpu.empty()) {
    result_.warnings.push_back("the GPU is not recorded; name it with --gpu");
  }
  if (!header.nccl_version.empty()) {
    workload.provenance.emplace_back("nccl", header.nccl_version);
  }
  if (header.rank) workload.provenance.emplace_back("rank", std::to_string(*header.rank));
  workload.recorded_with.ddp_hooks = records_.ddp_hooks();
  if (header.world_size) workload.recorded_with.world_size = *header.world_size;
  result_.recognised.push_back(records_.ddp_hooks()
                                   ? fmt::format("DDP hooks are in the recording, world size {}{}",
                                                 workload.recorded_with.world_size,
                                                 header.world_size ? "" : " (assumed)")
                                   : "no DDP hooks are in the recording");
  if (records_.devices() > 1) {
    result_.warnings.push_back(
        fmt::format("activities on {} GPUs; a DDP rank uses one, so times may mix several",
                    records_.devices()));
  }
  if (records_.unlaunched() > 0) {
    result_.warnings.push_back(
        fmt::format("{} of {} GPU activities have no recorded launch and were left out",
                    records_.unlaunched(), records_.gpu_activities()));
  }
}

void TraceImport::assign_parameters(const RecordedStep& step) {
  Workload& workload = result_.workload;
  const std::size_t count = step.gradients.size();
  Bytes total;
  std::string sizes;
  for (const Bytes bytes : step.bucket_bytes) {
    total += bytes;
    sizes += (sizes.empty() ? "" : " ") + std::to_string(bytes.count());
  }
  result_.bucket_bytes = step.bucket_bytes;
  if (!sizes.empty()) {
    workload.provenance.emplace_back("bucket_bytes", sizes);
    result_.recognised.push_back(fmt::format("{} buckets recorded: {} bytes, {} in all",
                                             step.bucket_bytes.size(), sizes, total.count()));
  }

  std::optional<Model> model;
  std::vector<std::string> fitting;
  if (!options_.model.empty()) {
    model = named_model(options_.model, count, file_);
    result_.recognised.push_back(fmt::format("shapes of {}, as asked", model->name));
    if (!step.bucket_bytes.empty() && !buckets_fit(*model, step.bucket_bytes)) {
      result_.warnings.push_back(
          fmt::format("the recorded bucket bytes do not fit {} in ready order; its shapes may be "
                      "wrong for this recording",
                      model->name));
    }
  } else {
    fitting = fitting_models(count, step.bucket_bytes);
    if (fitting.size() == 1) {
      model = find_model(fitting.front());
      result_.recognised.push_back(fmt::format(
          "shapes are not recorded; took those of {}: it has {} gradients{}", model->name, count,
          step.bucket_bytes.empty() ? " (no bucket bytes are recorded to check it by)"
                                    : ", and the recorded buckets end exactly at them"));
    }
  }

  std::vector<std::size_t> order;
  if (model) {
    workload.provenance.emplace_back("shapes", "bundled model " + model->name);
    workload.parameters = std::move(model->parameters);
    workload.buffers = std::move(model->buffers);
    order = std::move(model->ready_order);
  } else {
    // Which gradient is which parameter is unknown: definition order is taken to be the reverse.
    workload.parameter_order = ParameterOrder::assumed;
    workload.parameters.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      order.push_back(count - 1 - k);
      workload.parameters[k].name = fmt::format("parameter_{}", k);
    }
    result_.warnings.push_back(
        fitting.empty()
            ? fmt::format("shapes are not recorded, and no bundled model fits {} gradients{}; they "
                          "stay unknown: name the model with --model",
                          count, sizes.empty() ? "" : " and these buckets")
            : fmt::format("shapes are not recorded and stay unknown, since {} all have {} "
                          "gradients: name the one recorded with --model",
                          fmt::join(fitting, ", "), count));
  }
  workload.backward.emplace();
  for (std::size_t k = 0; k < count; ++k) {
    const RecordedGradient& gradient = step.gradients[k];
    ReadyEvent event;
    event.parameter = order[k];
    event.at = span(step.backward_start_ns, gradient.ready_ns);
    if (records_.ddp_hooks() && gradient.copied_ns) {
      event.copied_at = span(step.backward_start_ns, *gradient.copied_ns);
    }
    workload.backward->ready.push_back(event);
    workload.host_ready.push_back(span(step.backward_start_ns, gradient.host_ns));
  }
}

void TraceImport::fill_times(const RecordedStep& step, std::size_t index) {
  Workload& workload = result_.workload;
  workload.forward = span(step.first_ns, step.backward_start_ns);
  workload.backward->duration = span(step.backward_start_ns, step.backward_end_ns);
  if (index + 1 < records_.steps().size()) {
    if (const auto next = first_activity(records_, index + 1); next && *next > step.first_ns) {
      workload.iteration = span(step.first_ns, *next);
    }
  }
  if (!workload.iteration) {
    result_.warnings.push_back(
        fmt::format("no step begins after {}, so the time between steps is not known", step.name));
  }
}

void TraceImport::fill_after_backward(const RecordedStep& step) {
  RecordedWith& recorded = result_.workload.recorded_with;
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
    // Without copies out (gradients that are views into the buckets) nothing separates the tail
    // from the optimizer: what follows backward holds both, and the tail must not be counted twice.
    optimizer_ns = std::max<std::int64_t>(0, optimizer_ns + finalize_ns);
    finalize_ns = 0;
    result_.warnings.push_back(
        "no copies out of the buckets follow the last all-reduce; the optimizer is counted from "
        "its "
        "end");
  }
  if (records_.ddp_hooks() || finalize_ns > 0) {
    recorded.finalize = Duration::picoseconds(finalize_ns * 1000);
  }
  result_.workload.optimizer = Duration::picoseconds(optimizer_ns * 1000);
}

void TraceImport::fill_collectives(const RecordedStep& step) {
  RecordedWith& recorded = result_.workload.recorded_with;
  recorded.nccl_kernels = step.nccl_kernels;
  if (!step.broadcasts.empty()) {
    std::int64_t from_ns = step.broadcasts.front().start_ns;
    std::int64_t to_ns = step.broadcasts.front().end_ns;
    for (const Collective& one : step.broadcasts) {
      from_ns = std::min(from_ns, one.start_ns);
      to_ns = std::max(to_ns, one.end_ns);
    }
    recorded.buffer_broadcast = span(from_ns, to_ns);
  }
  const bool all_sized = std::all_of(step.reducer.begin(), step.reducer.end(),
                                     [](const Collective& one) { return one.bytes.has_value(); });
  if (!all_sized) {
    result_.warnings.push_back(
        "the all-reduces carry no sizes, so their recorded times are left out");
    return;
  }
  for (const Collective& one : step.reducer) {
    recorded.collectives.push_back({.bytes = *one.bytes,
                                    .launch = span(step.backward_start_ns, one.launch_ns),
                                    .start = span(step.backward_start_ns, one.start_ns),
                                    .duration = span(one.start_ns, one.end_ns),
                                    .channels = static_cast<int>(one.channels)});
  }
  result_.recognised.push_back(
      step.nccl_kernels == 0
          ? std::string("no NCCL kernel ran")
          : fmt::format("{} NCCL kernels in the step, {} of them the reducer's all-reduces",
                        step.nccl_kernels, step.reducer.size()));
}

}  // namespace

Imported import_profiler_trace(const ByteSource& source, const std::string& file,
                               const ImportOptions& options) {
  return TraceImport(file, options).run(source);
}

}  // namespace ddpsim
