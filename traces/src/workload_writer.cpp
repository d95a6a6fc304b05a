// Writing ddpsim.workload/1: keys in the order of the schema, absent fields left out, one line per
// parameter and per ready gradient so that two files can be compared with diff.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/cost_file.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/traces/workload_file.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

void write_text(JsonWriter& json, std::string_view key, std::string_view text) {
  if (!text.empty()) json.key(key).string(text);
}

void write_time(JsonWriter& json, std::string_view key, const std::optional<Duration>& time) {
  if (time) json.key(key).time(*time);
}

void write_phase(JsonWriter& json, std::string_view key, const std::optional<Duration>& duration) {
  if (!duration) return;
  json.key(key).begin_object(Layout::line);
  json.key("duration_us").time(*duration);
  json.end_object();
}

void write_shares(JsonWriter& json, const char* key, const std::pair<double, double>& shares) {
  json.key(key).begin_array();
  json.number(shares.first);
  json.number(shares.second);
  json.end_array();
}

void write_parameter(JsonWriter& json, const Parameter& parameter) {
  json.begin_object(Layout::line);
  json.key("name").string(parameter.name);
  json.key("shape");
  if (parameter.shape) {
    json.begin_array();
    for (const std::int64_t length : *parameter.shape) json.integer(length);
    json.end_array();
  } else {
    json.null();
  }
  json.key("dtype").string(name_of(parameter.dtype));
  if (parameter.sparse_gradient) json.key("sparse_gradient").boolean(true);
  write_text(json, "device", parameter.device);
  if (parameter.ignored) json.key("ignored").boolean(true);
  if (parameter.batch_norm) json.key("batch_norm").boolean(true);
  if (parameter.frozen) json.key("frozen").boolean(true);
  if (parameter.module_time) {
    const ModuleTime& time = *parameter.module_time;
    write_shares(json, "forward", {time.forward_begin, time.forward_end});
    if (time.backward) write_shares(json, "backward", *time.backward);
  }
  json.end_object();
}

void write_backward(JsonWriter& json, const Backward& backward) {
  json.key("backward").begin_object();
  json.key("duration_us").time(backward.duration);
  json.key("ready").begin_array();
  for (const ReadyEvent& event : backward.ready) {
    json.begin_object(Layout::line);
    json.key("parameter").count(event.parameter);
    json.key("at_us").time(event.at);
    write_time(json, "copied_at_us", event.copied_at);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_times(JsonWriter& json, std::string_view key, const std::vector<Duration>& times) {
  if (times.empty()) return;
  json.key(key).begin_array();
  for (const Duration time : times) json.time(time);
  json.end_array();
}

void write_parts(JsonWriter& json, std::string_view key, const PartTimes& times) {
  json.key(key).begin_object(Layout::line);
  json.key("forward_us").time(times.forward);
  json.key("backward_us").time(times.backward);
  json.key("optimizer_us").time(times.optimizer);
  json.end_object();
}

void write_host(JsonWriter& json, const Recorded& recorded, const StatedCosts& costs) {
  const bool waited = recorded.launch_waits != PartTimes();
  if (recorded.host_ready.empty() && !recorded.launches && !waited && costs.empty()) return;
  json.key("host").begin_object();
  write_times(json, "ready_us", recorded.host_ready);
  write_times(json, "held_us", recorded.host_held);
  if (waited) write_parts(json, "launch_waits", recorded.launch_waits);
  if (const auto& launches = recorded.launches) {
    json.key("launches").begin_object();
    json.key("forward").integer(launches->forward);
    json.key("backward").begin_array();
    for (const std::int64_t kernels : launches->backward) json.integer(kernels);
    json.end_array();
    json.key("optimizer").integer(launches->optimizer);
    json.end_object();
    if (launches->cost) write_parts(json, "launch_cost", *launches->cost);
    if (launches->steps_ahead) json.key("steps_ahead").integer(*launches->steps_ahead);
  }
  if (!costs.empty()) write_costs(json, "costs", costs);
  json.end_object();
}

void write_buffers(JsonWriter& json, const std::vector<BufferGroup>& buffers) {
  json.key("buffers").begin_array();
  for (const BufferGroup& group : buffers) {
    json.begin_object(Layout::line);
    json.key("dtype").string(name_of(group.dtype));
    json.key("bytes").integer(group.bytes.count());
    json.key("tensors").integer(group.tensors);
    json.end_object();
  }
  json.end_array();
}

void write_activations(JsonWriter& json, const Activations& activations) {
  json.key("activations").begin_object(Layout::line);
  json.key("bytes").integer(activations.bytes.count());
  json.key("from").string(activations.recorded ? "recording" : "layers");
  if (!activations.held.empty()) {
    json.key("held_bytes").begin_array();
    for (const Bytes held : activations.held) json.integer(held.count());
    json.end_array();
  }
  json.end_object();
}

void write_collectives(JsonWriter& json, const std::vector<RecordedCollective>& collectives) {
  json.key("collectives").begin_array();
  for (const RecordedCollective& one : collectives) {
    json.begin_object(Layout::line);
    json.key("bytes").integer(one.bytes.count());
    json.key("launch_us").time(one.launch);
    json.key("start_us").time(one.start);
    json.key("duration_us").time(one.duration);
    if (one.channels > 0) json.key("channels").integer(one.channels);
    json.end_object();
  }
  json.end_array();
}

void write_recorded_with(JsonWriter& json, const RecordedWith& recorded) {
  json.key("recorded_with").begin_object();
  json.key("ddp_hooks").boolean(recorded.ddp_hooks);
  json.key("world_size").integer(recorded.world_size);
  if (recorded.nccl) json.key("nccl").string(to_string(*recorded.nccl));
  json.key("nccl_kernels").integer(recorded.nccl_kernels);
  write_time(json, "exposed_us", recorded.exposed);
  write_time(json, "finalize_us", recorded.finalize);
  write_time(json, "buffer_broadcast_us", recorded.buffer_broadcast);
  if (recorded.compiled_gradients > 0)
    json.key("compiled_gradients").integer(recorded.compiled_gradients);
  if (recorded.wire) json.key("wire_dtype").string(name_of(*recorded.wire));
  if (recorded.reduced_by != ReducedBy::reducer)
    json.key("reduced_by").string(word_of(recorded.reduced_by));
  if (recorded.sync_batchnorm) json.key("sync_batchnorm").boolean(true);
  if (recorded.accumulate > 1) json.key("accumulate").integer(recorded.accumulate);
  if (!recorded.collectives.empty()) write_collectives(json, recorded.collectives);
  json.end_object();
}

void write_steps(JsonWriter& json, const std::vector<StepSample>& steps) {
  if (steps.empty()) return;
  json.key("steps").begin_array();
  for (const StepSample& step : steps) {
    json.begin_object(step.collectives.empty() ? Layout::line : Layout::block);
    write_text(json, "name", step.name);
    write_time(json, "forward_us", step.forward);
    write_time(json, "backward_us", step.backward);
    write_time(json, "iteration_us", step.iteration);
    if (!step.collectives.empty()) write_collectives(json, step.collectives);
    json.end_object();
  }
  json.end_array();
}

/// Phases of a step, in the order of the schema; `recorded_with` follows where its place is.
void write_phases(JsonWriter& json, const Recorded& recorded, const StatedCosts& costs = {}) {
  write_phase(json, "forward", recorded.forward);
  if (recorded.backward) write_backward(json, *recorded.backward);
  write_phase(json, "optimizer", recorded.optimizer);
  write_phase(json, "iteration", recorded.iteration);
  write_host(json, recorded, costs);
  if (recorded.busy) write_parts(json, "gpu_busy", *recorded.busy);
  if (const auto& loading = recorded.data_loading) {
    json.key("data_loading").begin_object(Layout::line);
    json.key("median_us").time(loading->median);
    json.key("p90_us").time(loading->p90);
    json.key("mean_us").time(loading->mean);
    json.key("count").integer(loading->count);
    json.key("loads").string(loading->processes ? "workers" : "trainer");
    write_time(json, "interval_us", loading->interval);
    json.end_object();
  }
  if (const auto& threads = recorded.threads) {
    json.key("threads").begin_object(Layout::line);
    if (threads->cores) json.key("cores").integer(*threads->cores);
    json.key("running_us").time(threads->running);
    json.key("waiting_us").time(threads->waiting);
    json.key("all_running_us").time(threads->all_running);
    json.key("all_waiting_us").time(threads->all_waiting);
    json.end_object();
  }
  if (const auto& earlier = recorded.earlier) {
    json.key("earlier_micro_batches").begin_object(Layout::line);
    json.key("count").integer(earlier->count);
    json.key("all_reduced").integer(earlier->all_reduced);
    json.key("compute_us").time(earlier->compute);
    json.key("exposed_us").time(earlier->exposed);
    json.end_object();
  }
}

void write_ranks(JsonWriter& json, const std::vector<RankRecording>& ranks) {
  json.key("ranks").begin_array();
  for (const RankRecording& one : ranks) {
    json.begin_object();
    json.key("rank").integer(one.rank);
    json.key("offset_us").time(one.offset);
    write_phases(json, one);
    write_recorded_with(json, one.recorded_with);
    write_steps(json, one.steps);
    json.end_object();
  }
  json.end_array();
}

void write_sample(JsonWriter& json, const SampleWork& sample) {
  json.key("sample").begin_object(JsonWriter::Layout::line);
  if (sample.tokens > 0) json.key("tokens").integer(sample.tokens);
  if (sample.flops > 0) json.key("model_flops").number(sample.flops);
  if (sample.convolution_flops > 0) json.key("convolution_flops").number(sample.convolution_flops);
  json.end_object();
}

void write_provenance(JsonWriter& json, const Workload& workload) {
  json.key("provenance").begin_object();
  for (const auto& [key, text] : workload.provenance) json.key(key).string(text);
  json.end_object();
}

}  // namespace

std::string format_workload(const Workload& workload) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.workload/1");
  write_text(json, "name", workload.name);
  write_text(json, "gpu", workload.gpu_variant.empty() ? workload.gpu : workload.gpu_variant);
  write_text(json, "precision", workload.precision);
  if (workload.batch_per_gpu) json.key("batch_per_gpu").integer(*workload.batch_per_gpu);
  if (workload.samples_per_step) json.key("samples_per_step").number(*workload.samples_per_step);
  if (workload.sample) write_sample(json, *workload.sample);
  write_text(json, "torch", workload.torch);
  if (workload.torch_at_least)
    json.key("torch_at_least").string(to_string(*workload.torch_at_least));
  json.key("parameter_order")
      .string(workload.parameter_order == ParameterOrder::assumed ? "assumed" : "definition");
  json.key("parameters").begin_array();
  for (const Parameter& parameter : workload.parameters) write_parameter(json, parameter);
  json.end_array();
  write_phases(json, workload, workload.host_costs);
  if (!workload.buffers.empty()) write_buffers(json, workload.buffers);
  if (workload.activations) write_activations(json, *workload.activations);
  write_recorded_with(json, workload.recorded_with);
  write_steps(json, workload.steps);
  if (!workload.ranks.empty()) write_ranks(json, workload.ranks);
  if (!workload.provenance.empty()) write_provenance(json, workload);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
