// Writing ddpsim.workload/1: keys in the order of the schema, absent fields left out, one line per
// parameter and per ready gradient so that two files can be compared with diff.

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/traces/workload_file.hpp"
#include "json_text.hpp"

namespace ddpsim {
namespace {

/// Lines of one array or object, each indented alike, joined by commas.
std::string block(char open, const std::vector<std::string>& lines, char close,
                  const std::string& indent) {
  if (lines.empty()) return {open, close};
  std::string out(1, open);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += (i == 0 ? "\n" : ",\n") + indent + "  " + lines[i];
  }
  return out + "\n" + indent + close;
}

std::string field(std::string_view key, const std::string& value) {
  return json_string(key) + ": " + value;
}

std::string phase(Duration duration) {
  return "{" + field("duration_us", json_microseconds(duration)) + "}";
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

std::string parameter_text(const Parameter& parameter) {
  std::string shape = "null";
  if (parameter.shape) shape = fmt::format("[{}]", fmt::join(*parameter.shape, ", "));
  std::vector<std::string> fields = {field("name", json_string(parameter.name)),
                                     field("shape", shape),
                                     field("dtype", json_string(name_of(parameter.dtype)))};
  if (parameter.sparse_gradient) fields.push_back(field("sparse_gradient", "true"));
  if (!parameter.device.empty()) fields.push_back(field("device", json_string(parameter.device)));
  if (parameter.ignored) fields.push_back(field("ignored", "true"));
  return "{" + joined(fields) + "}";
}

std::string ready_text(const ReadyEvent& event) {
  std::string out = fmt::format("{{\"parameter\": {}, \"at_us\": {}", event.parameter,
                                json_microseconds(event.at));
  if (event.copied_at) {
    out += fmt::format(", \"copied_at_us\": {}", json_microseconds(*event.copied_at));
  }
  return out + "}";
}

std::string backward_text(const Backward& backward, const std::string& indent) {
  std::vector<std::string> ready;
  for (const ReadyEvent& event : backward.ready) ready.push_back(ready_text(event));
  return block('{',
               {field("duration_us", json_microseconds(backward.duration)),
                field("ready", block('[', ready, ']', indent + "  "))},
               '}', indent);
}

std::string host_text(const std::vector<Duration>& ready, const std::string& indent) {
  std::vector<std::string> times;
  for (const Duration at : ready) times.push_back(json_microseconds(at));
  return block('{', {field("ready_us", block('[', times, ']', indent + "  "))}, '}', indent);
}

std::string buffers_text(const std::vector<BufferGroup>& buffers) {
  std::vector<std::string> lines;
  for (const BufferGroup& group : buffers) {
    lines.push_back(fmt::format("{{\"dtype\": {}, \"bytes\": {}, \"tensors\": {}}}",
                                json_string(name_of(group.dtype)), group.bytes.count(),
                                group.tensors));
  }
  return block('[', lines, ']', "  ");
}

std::string collectives_text(const std::vector<RecordedCollective>& collectives,
                             const std::string& indent) {
  std::vector<std::string> lines;
  for (const RecordedCollective& one : collectives) {
    std::string line =
        fmt::format("{{\"bytes\": {}, \"launch_us\": {}, \"start_us\": {}, \"duration_us\": {}",
                    one.bytes.count(), json_microseconds(one.launch), json_microseconds(one.start),
                    json_microseconds(one.duration));
    if (one.channels > 0) line += fmt::format(", \"channels\": {}", one.channels);
    lines.push_back(line + "}");
  }
  return block('[', lines, ']', indent);
}

std::string recorded_with_text(const RecordedWith& recorded, const std::string& indent) {
  std::vector<std::string> fields = {
      field("ddp_hooks", recorded.ddp_hooks ? "true" : "false"),
      field("world_size", std::to_string(recorded.world_size)),
      field("nccl_kernels", std::to_string(recorded.nccl_kernels)),
  };
  const auto time = [&](std::string_view key, const std::optional<Duration>& value) {
    if (value) fields.push_back(field(key, json_microseconds(*value)));
  };
  time("exposed_us", recorded.exposed);
  time("finalize_us", recorded.finalize);
  time("buffer_broadcast_us", recorded.buffer_broadcast);
  if (recorded.compiled_gradients > 0) {
    fields.push_back(field("compiled_gradients", std::to_string(recorded.compiled_gradients)));
  }
  if (recorded.wire) fields.push_back(field("wire_dtype", json_string(name_of(*recorded.wire))));
  if (!recorded.collectives.empty()) {
    fields.push_back(field("collectives", collectives_text(recorded.collectives, indent + "  ")));
  }
  return block('{', fields, '}', indent);
}

/// Phases of a step, in the order of the schema; `recorded_with` follows where its place is.
void add_phases(const Recorded& recorded, const std::string& indent,
                std::vector<std::string>& fields) {
  if (recorded.forward) fields.push_back(field("forward", phase(*recorded.forward)));
  if (recorded.backward) {
    fields.push_back(field("backward", backward_text(*recorded.backward, indent)));
  }
  if (recorded.optimizer) fields.push_back(field("optimizer", phase(*recorded.optimizer)));
  if (recorded.iteration) fields.push_back(field("iteration", phase(*recorded.iteration)));
  if (!recorded.host_ready.empty()) {
    fields.push_back(field("host", host_text(recorded.host_ready, indent)));
  }
}

std::string ranks_text(const std::vector<RankRecording>& ranks) {
  const std::string indent = "    ";
  std::vector<std::string> entries;
  for (const RankRecording& one : ranks) {
    std::vector<std::string> fields = {field("rank", std::to_string(one.rank)),
                                       field("offset_us", json_microseconds(one.offset))};
    add_phases(one, indent + "  ", fields);
    fields.push_back(field("recorded_with", recorded_with_text(one.recorded_with, indent + "  ")));
    entries.push_back(block('{', fields, '}', indent));
  }
  return block('[', entries, ']', "  ");
}

std::string provenance_text(const Workload& workload) {
  std::vector<std::string> fields;
  for (const auto& [key, text] : workload.provenance) {
    fields.push_back(field(key, json_string(text)));
  }
  return block('{', fields, '}', "  ");
}

}  // namespace

std::string format_workload(const Workload& workload) {
  std::vector<std::string> fields = {field("schema", "\"ddpsim.workload/1\"")};
  const auto text = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) fields.push_back(field(key, json_string(value)));
  };
  text("name", workload.name);
  text("gpu", workload.gpu);
  text("precision", workload.precision);
  if (workload.batch_per_gpu) {
    fields.push_back(field("batch_per_gpu", std::to_string(*workload.batch_per_gpu)));
  }
  if (workload.samples_per_step) {
    fields.push_back(field("samples_per_step", fmt::format("{}", *workload.samples_per_step)));
  }
  text("torch", workload.torch);
  text("parameter_order",
       workload.parameter_order == ParameterOrder::assumed ? "assumed" : "definition");
  std::vector<std::string> parameters;
  for (const Parameter& parameter : workload.parameters) {
    parameters.push_back(parameter_text(parameter));
  }
  fields.push_back(field("parameters", block('[', parameters, ']', "  ")));
  add_phases(workload, "  ", fields);
  if (!workload.buffers.empty()) {
    fields.push_back(field("buffers", buffers_text(workload.buffers)));
  }
  fields.push_back(field("recorded_with", recorded_with_text(workload.recorded_with, "  ")));
  if (!workload.ranks.empty()) fields.push_back(field("ranks", ranks_text(workload.ranks)));
  if (!workload.provenance.empty()) {
    fields.push_back(field("provenance", provenance_text(workload)));
  }
  return block('{', fields, '}', "") + "\n";
}

}  // namespace ddpsim
