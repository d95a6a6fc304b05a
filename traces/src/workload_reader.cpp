// Reads ddpsim.workload/1. Everything that a simulation relies on is checked here, once: types,
// ranges, indices and order. Every sum of bytes and times must fit in 63 bits.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/values/versions.hpp"
#include "ddpsim/traces/described_kept_by.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "described_workload.hpp"
#include "rank_checks.hpp"
#include "recording_reader.hpp"
#include "workload_fields.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // a file is read whole
constexpr std::size_t kMostParameters = 1'000'000;

class WorkloadReader {
 public:
  Workload read(const Cursor& root);

 private:
  void check_schema(const Cursor& root) const;
  static SampleWork read_sample(const Cursor& cursor);
  void read_what_ran(const Object& object);
  void read_parameters(const Cursor& list);
  void refuse_a_name_twice(std::span<const Cursor> entries) const;
  void refuse_frozen_gradients(const Cursor& backward, const Recorded& recorded) const;
  Parameter read_parameter(const Cursor& entry);
  static void read_module_time(const Object& object, Parameter& parameter);
  static std::pair<double, double> read_shares(const Cursor& shares);
  std::optional<std::vector<std::int64_t>> read_shape(const Cursor& shape) const;
  void read_buffers(const Cursor& list);
  std::optional<Activations> read_activations(const Object& object, const char* key);
  void read_ranks(const Cursor& list);
  void read_provenance(const Cursor& cursor);

  Workload workload_;
  WorkloadFields fields_;
};

SampleWork WorkloadReader::read_sample(const Cursor& cursor) {
  constexpr double kMostFlops = 1e24;
  const Object object = cursor.object(described_sample().type());
  SampleWork sample;
  if (const auto tokens = object.optional("tokens")) sample.tokens = tokens->integer(1, INT32_MAX);
  if (const auto flops = object.optional("model_flops"))
    sample.flops = flops->number(0, kMostFlops);
  if (const auto part = object.optional("convolution_flops"))
    sample.convolution_flops = part->number(0, sample.flops);
  return sample;
}

/// Reads what ran, where, and with how many samples, from the fields that state it.
void WorkloadReader::read_what_ran(const Object& object) {
  if (const auto name = object.optional("name")) workload_.name = name->string();
  if (const auto gpu = object.optional("gpu")) workload_.gpu = gpu->string();
  if (const auto precision = object.optional("precision"))
    workload_.precision = precision->string();
  if (const auto batch = object.optional("batch_per_gpu")) {
    workload_.batch_per_gpu = batch->integer(1, 1'000'000'000);
  }
  if (const auto samples = object.optional("samples_per_step")) {
    workload_.samples_per_step = samples->number(0, 1e15);
  }
  if (const auto sample = object.optional("sample")) workload_.sample = read_sample(*sample);
  if (const auto torch = object.optional("torch")) workload_.torch = torch->string();
  if (const auto least = object.optional("torch_at_least")) {
    workload_.torch_at_least = parse_torch_version(least->string());
    if (!workload_.torch_at_least)
      least->fail(fmt::format("{} is not a version such as \"2.4\"", in_quotes(least->string())));
  }
}

Workload WorkloadReader::read(const Cursor& root) {
  check_schema(root);
  const Object object = root.object(workload_document());
  read_what_ran(object);
  if (const auto order = object.optional("parameter_order")) {
    workload_.parameter_order = order->choice({"definition", "assumed"}) == "assumed"
                                    ? ParameterOrder::assumed
                                    : ParameterOrder::definition;
  }
  if (const auto parameters = fields_.need(object, "parameters")) read_parameters(*parameters);
  read_recorded(object, workload_.parameters.size(), fields_, workload_, &workload_.host_costs);
  if (const auto backward = object.optional("backward"))
    refuse_frozen_gradients(*backward, workload_);
  if (const auto buffers = object.optional("buffers")) read_buffers(*buffers);
  workload_.activations = read_activations(object, "activations");
  workload_.activations_in_half = read_activations(object, "activations_in_half");
  if (const auto ranks = object.optional("ranks")) read_ranks(*ranks);
  if (const auto provenance = object.optional("provenance")) read_provenance(*provenance);
  if (fields_.missing()) throw *fields_.missing();
  return std::move(workload_);
}

void WorkloadReader::check_schema(const Cursor& root) const {
  const auto schema = root.free_object().optional("schema");
  if (!schema) return;
  const std::string text = schema->string();
  if (text == kWorkloadSchema) return;
  const std::string hint = fmt::format("This version reads \"{}\"", kWorkloadSchema);
  if (text.rfind("ddpsim.workload/", 0) == 0) {
    schema->fail(fmt::format("{} is another version of the workload file", in_quotes(text)),
                 hint + "; import the source again, or use the ddpsim that wrote it");
  }
  schema->fail(fmt::format("{} is not a workload file", in_quotes(text)), hint);
}

void WorkloadReader::read_parameters(const Cursor& list) {
  const std::vector<Cursor> entries = list.array();
  if (entries.empty()) {
    list.fail("there are no parameters", "DDP needs at least one parameter with a gradient");
  }
  if (entries.size() > kMostParameters) {
    list.fail(fmt::format("{} parameters", entries.size()),
              fmt::format("At most {} are read", kMostParameters));
  }
  std::int64_t total = 0;
  workload_.parameters.reserve(entries.size());
  for (const Cursor& entry : entries) {
    const Parameter& parameter = workload_.parameters.emplace_back(read_parameter(entry));
    if (parameter.shape) {
      const auto bytes = gradient_bytes(parameter);
      if (!bytes || __builtin_add_overflow(total, bytes->count(), &total)) {
        entry.fail("the gradients up to here need more than 2^63 - 1 bytes");
      }
    }
  }
  refuse_a_name_twice(entries);
}

/// Names are unique if their hashes are. Only otherwise are the names compared.
void WorkloadReader::refuse_a_name_twice(std::span<const Cursor> entries) const {
  const std::vector<Parameter>& parameters = workload_.parameters;
  std::vector<std::size_t> hashes;
  hashes.reserve(parameters.size());
  for (const Parameter& parameter : parameters)
    if (!parameter.name.empty()) hashes.push_back(std::hash<std::string>{}(parameter.name));
  std::ranges::sort(hashes);
  if (std::ranges::adjacent_find(hashes) == hashes.end()) return;
  std::unordered_map<std::string_view, std::size_t> named;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto [first, is_new] = named.emplace(parameters[i].name, i);
    if (is_new || parameters[i].name.empty()) continue;
    entries[i].fail(fmt::format("{} is also the name of {}", in_quotes(parameters[i].name),
                                entries[first->second].where()),
                    "Parameter names are unique");
  }
}

void WorkloadReader::refuse_frozen_gradients(const Cursor& backward,
                                             const Recorded& recorded) const {
  if (!recorded.backward) return;
  for (const ReadyEvent& event : recorded.backward->ready) {
    if (event.parameter >= workload_.parameters.size()) return;  // reported elsewhere
    const Parameter& parameter = workload_.parameters[event.parameter];
    if (parameter.frozen)
      backward.fail(
          fmt::format("{} is frozen, and \"ready\" has its gradient", in_quotes(parameter.name)),
          "A frozen parameter gets no gradient: leave one of the two out");
  }
}

Parameter WorkloadReader::read_parameter(const Cursor& entry) {
  const Object object = entry.object(described_parameter().type());
  Parameter parameter;
  if (const auto name = fields_.need(object, "name")) {
    parameter.name = name->string();
    if (parameter.name.empty()) name->fail("the name is empty");
  }
  if (const auto shape = fields_.need(object, "shape")) parameter.shape = read_shape(*shape);
  if (const auto dtype = fields_.need(object, "dtype")) {
    const std::string name =
        dtype->choice({"float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16",
                       "int32", "int64", "bool", "complex64", "complex128"});
    const auto known = dtype_from_name(name);
    if (!known) dtype->fail(in_quotes(name) + " is not known");
    parameter.dtype = *known;
  }
  if (const auto device = object.optional("device")) parameter.device = device->string();
  if (const auto sparse = object.optional("sparse_gradient")) {
    parameter.sparse_gradient = sparse->boolean();
  }
  if (const auto ignored = object.optional("ignored")) parameter.ignored = ignored->boolean();
  if (const auto norm = object.optional("batch_norm")) parameter.batch_norm = norm->boolean();
  if (const auto frozen = object.optional("frozen")) parameter.frozen = frozen->boolean();
  read_module_time(object, parameter);
  return parameter;
}

void WorkloadReader::read_module_time(const Object& object, Parameter& parameter) {
  const auto backward = object.optional("backward");
  if (const auto forward = object.optional("forward")) {
    const auto [begin, end] = read_shares(*forward);
    parameter.module_time = ModuleTime{.forward_begin = begin, .forward_end = end, .backward = {}};
    if (backward) parameter.module_time->backward = read_shares(*backward);
  } else if (backward) {
    backward->fail("is given without \"forward\"",
                   "State when forward runs the parameter's module, too");
  }
}

/// Reads begin and end, as shares of a time.
std::pair<double, double> WorkloadReader::read_shares(const Cursor& shares) {
  const std::vector<Cursor> both = shares.array();
  if (both.size() != 2)
    shares.fail(fmt::format("{} numbers", both.size()),
                "Expected begin and end, as shares of the time: [0.25, 0.5]");
  const double begin = both.front().number(0, 1);
  const double end = both.back().number(0, 1);
  if (end < begin) shares.fail(fmt::format("ends at {:g}, before it begins at {:g}", end, begin));
  return {begin, end};
}

std::optional<std::vector<std::int64_t>> WorkloadReader::read_shape(const Cursor& shape) const {
  if (shape.is_null()) return std::nullopt;
  std::vector<std::int64_t> dimensions;
  for (const Cursor& dimension : shape.array()) {
    dimensions.push_back(dimension.integer(0, kMostCount));
  }
  return dimensions;
}

void WorkloadReader::read_buffers(const Cursor& list) {
  std::int64_t total = 0;
  for (const Cursor& entry : list.array()) {
    const Object object = entry.object(described_buffer().type());
    BufferGroup group;
    if (const auto tensors = object.optional("tensors")) {
      group.tensors = tensors->integer(0, 1'000'000'000);
    }
    if (const auto dtype = fields_.need(object, "dtype")) {
      const auto known = dtype_from_name(dtype->string());
      if (!known) {
        dtype->fail(in_quotes(dtype->string()) + " is not a dtype",
                    "Expected PyTorch's name without \"torch.\", such as \"float32\"");
      }
      group.dtype = *known;
    }
    if (const auto bytes = fields_.need(object, "bytes")) {
      group.bytes = Bytes(bytes->integer(0, kMostCount));
      if (__builtin_add_overflow(total, group.bytes.count(), &total)) {
        bytes->fail("the buffers up to here hold more than 2^63 - 1 bytes");
      }
    }
    workload_.buffers.push_back(group);
  }
}

std::optional<Activations> WorkloadReader::read_activations(const Object& workload,
                                                            const char* key) {
  const auto cursor = workload.optional(key);
  if (!cursor) return std::nullopt;
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  const Object object = cursor->object(described_activations().type());
  Activations activations;
  if (const auto bytes = fields_.need(object, "bytes"))
    activations.bytes = Bytes(bytes->integer(0, kMost));
  if (const auto from = fields_.need(object, "from"))
    activations.recorded = from->choice({"recording", "layers"}) == "recording";
  if (const auto held = object.optional("held_bytes")) {
    const std::vector<Cursor> entries = held->array();
    const std::size_t gradients = workload_.backward ? workload_.backward->ready.size() : 0;
    if (entries.size() != gradients + 2)
      held->fail(
          fmt::format("{} entries", entries.size()),
          fmt::format("Expected one for each of the {} of backward.ready, one after the last, "
                      "and one for what is left",
                      gradients));
    for (const Cursor& entry : entries) activations.held.emplace_back(entry.integer(0, kMost));
  }
  if (const auto by = object.optional("by"))
    for (const Cursor& entry : by->array()) {
      const Object one = entry.object(described_kept_by().type());
      activations.by.push_back({.name = one.required("name").string(),
                                .bytes = Bytes(one.required("bytes").integer(0, kMost))});
    }
  return activations;
}

void WorkloadReader::read_ranks(const Cursor& list) {
  const std::vector<Cursor> entries = list.array();
  if (entries.size() > kMostRecordedRanks) {
    list.fail(fmt::format("{} ranks", entries.size()),
              fmt::format("At most {} are read", kMostRecordedRanks));
  }
  bool whole = true;
  for (const Cursor& entry : entries) {
    const Object object = entry.object(described_rank().type());
    RankRecording recording;
    const auto rank = fields_.need(object, "rank");
    if (rank) recording.rank = static_cast<int>(rank->integer(0, 1'000'000'000));
    if (const auto offset = object.optional("offset_us"))
      recording.offset = fields_.time(*offset, true);
    read_recorded(object, workload_.parameters.size(), fields_, recording);
    if (const auto backward = object.optional("backward"))
      refuse_frozen_gradients(*backward, recording);
    fields_.need(object, "backward");
    whole = whole && rank && recording.backward;
    workload_.ranks.push_back(std::move(recording));
  }
  if (whole && !fields_.missing()) check_ranks(list, workload_);
}

void WorkloadReader::read_provenance(const Cursor& cursor) {
  for (const auto& [key, value] : cursor.free_object().items()) {
    workload_.provenance.emplace_back(key, value.string());
  }
}

}  // namespace

Workload parse_workload(std::string_view text, const std::string& file) {
  if (text.size() > kMostBytes) {
    throw InputError({file, "", fmt::format("is larger than {} MiB", kMostBytes >> 20),
                      "A workload file lists each parameter once"});
  }
  return WorkloadReader().read(Document::parse(text, file).root());
}

}  // namespace ddpsim
