// Reading ddpsim.workload/1. Everything a simulation relies on is checked here, once: types,
// ranges, indices, order, and that every sum of bytes and times stays inside 63 bits.
//
// A bad field is reported before a missing one, wherever both stand: the first missing field is
// remembered and thrown only after everything present was found good.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/versions.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "rank_checks.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kSchema = "ddpsim.workload/1";
constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // a file is read whole
constexpr std::size_t kMostParameters = 1'000'000;
constexpr std::size_t kMostCollectives = 100'000;
constexpr std::int64_t kMostCollectiveBytes = std::int64_t{1} << 50;
constexpr std::size_t kMostSteps = 100'000;
constexpr std::int64_t kMostCount = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostMicroBatches = 100'000;  // as many as --accumulate takes
/// Eleven days: a step adds up to nine such times, which then stays inside 63 bits of picoseconds.
constexpr Duration kLongest = Duration::microseconds(1e12);

class WorkloadReader {
 public:
  Workload read(const Cursor& root);

 private:
  /// The field, or nothing and a note that it is missing.
  std::optional<Cursor> need(const Object& object, std::string_view key);
  Duration time(const Cursor& cursor, bool may_be_negative = false) const;
  std::optional<Duration> optional_time(const Object& object, std::string_view key) const;
  /// {"duration_us": T}
  std::optional<Duration> phase(const Object& root, std::string_view key);

  void check_schema(const Cursor& root) const;
  void read_parameters(const Cursor& list);
  Parameter read_parameter(const Cursor& entry);
  std::optional<std::vector<std::int64_t>> read_shape(const Cursor& shape) const;
  void read_recorded(const Object& object, Recorded& recorded);
  Backward read_backward(const Cursor& cursor);
  /// True when no entry lacks a field.
  bool read_ready(const Cursor& list, Backward& backward);
  void read_host(const Cursor& cursor, Recorded& recorded) const;
  void read_buffers(const Cursor& list);
  void read_recorded_with(const Cursor& cursor, RecordedWith& recorded);
  std::vector<RecordedCollective> read_collectives(const Cursor& list);
  void read_busy(const Cursor& cursor, Recorded& recorded);
  void read_steps(const Cursor& list, Recorded& recorded);
  static void check_iteration(const Cursor& steps, const Recorded& recorded);
  void read_ranks(const Cursor& list);
  void read_provenance(const Cursor& cursor);

  /// A check that involves two fields, made once both are known to be good by themselves.
  void check_ready(const Cursor& list, const Backward& backward) const;

  Workload workload_;
  std::optional<InputError> missing_;
};

std::optional<Cursor> WorkloadReader::need(const Object& object, std::string_view key) {
  try {
    return object.required(key);
  } catch (const InputError& error) {
    if (!missing_) missing_ = error;
    return std::nullopt;
  }
}

Duration WorkloadReader::time(const Cursor& cursor, bool may_be_negative) const {
  const Duration value = cursor.microseconds(may_be_negative);
  if (value > kLongest || value < -kLongest) {
    cursor.fail("this time is out of range", "Expected at most 1e12 microseconds (11 days)");
  }
  return value;
}

std::optional<Duration> WorkloadReader::optional_time(const Object& object,
                                                      std::string_view key) const {
  const auto cursor = object.optional(key);
  if (!cursor) return std::nullopt;
  return time(*cursor);
}

std::optional<Duration> WorkloadReader::phase(const Object& root, std::string_view key) {
  const auto cursor = root.optional(key);
  if (!cursor) return std::nullopt;
  const auto duration = need(cursor->object({"duration_us"}), "duration_us");
  if (!duration) return std::nullopt;
  return time(*duration);
}

Workload WorkloadReader::read(const Cursor& root) {
  check_schema(root);
  const Object object = root.object({"schema",     "name",           "gpu",
                                     "precision",  "batch_per_gpu",  "samples_per_step",
                                     "torch",      "torch_at_least", "parameter_order",
                                     "parameters", "forward",        "backward",
                                     "optimizer",  "iteration",      "host",
                                     "gpu_busy",   "buffers",        "recorded_with",
                                     "steps",      "ranks",          "provenance"});
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
  if (const auto torch = object.optional("torch")) workload_.torch = torch->string();
  if (const auto least = object.optional("torch_at_least")) {
    workload_.torch_at_least = parse_torch_version(least->string());
    if (!workload_.torch_at_least)
      least->fail(fmt::format("{} is not a version such as \"2.4\"", in_quotes(least->string())));
  }
  if (const auto order = object.optional("parameter_order")) {
    workload_.parameter_order = order->choice({"definition", "assumed"}) == "assumed"
                                    ? ParameterOrder::assumed
                                    : ParameterOrder::definition;
  }
  if (const auto parameters = need(object, "parameters")) read_parameters(*parameters);
  read_recorded(object, workload_);
  if (const auto buffers = object.optional("buffers")) read_buffers(*buffers);
  if (const auto ranks = object.optional("ranks")) read_ranks(*ranks);
  if (const auto provenance = object.optional("provenance")) read_provenance(*provenance);
  if (missing_) throw *missing_;
  return std::move(workload_);
}

void WorkloadReader::check_schema(const Cursor& root) const {
  const auto schema = root.free_object().optional("schema");
  if (!schema) return;
  const std::string text = schema->string();
  if (text == kSchema) return;
  const std::string hint = fmt::format("This version reads \"{}\"", kSchema);
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
  std::unordered_map<std::string, std::string> place_of_name;
  std::int64_t total = 0;
  workload_.parameters.reserve(entries.size());
  for (const Cursor& entry : entries) {
    Parameter parameter = read_parameter(entry);
    const auto [first, is_new] = place_of_name.emplace(parameter.name, entry.where());
    if (!is_new && !parameter.name.empty()) {
      entry.fail(fmt::format("{} is also the name of {}", in_quotes(parameter.name), first->second),
                 "Parameter names are unique");
    }
    if (parameter.shape) {
      const auto bytes = gradient_bytes(parameter);
      if (!bytes || __builtin_add_overflow(total, bytes->count(), &total)) {
        entry.fail("the gradients up to here need more than 2^63 - 1 bytes");
      }
    }
    workload_.parameters.push_back(std::move(parameter));
  }
}

Parameter WorkloadReader::read_parameter(const Cursor& entry) {
  const Object object =
      entry.object({"name", "shape", "dtype", "sparse_gradient", "device", "ignored"});
  Parameter parameter;
  if (const auto name = need(object, "name")) {
    parameter.name = name->string();
    if (parameter.name.empty()) name->fail("the name is empty");
  }
  if (const auto shape = need(object, "shape")) parameter.shape = read_shape(*shape);
  if (const auto dtype = need(object, "dtype")) {
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
  return parameter;
}

std::optional<std::vector<std::int64_t>> WorkloadReader::read_shape(const Cursor& shape) const {
  if (shape.is_null()) return std::nullopt;
  std::vector<std::int64_t> dimensions;
  for (const Cursor& dimension : shape.array()) {
    dimensions.push_back(dimension.integer(0, kMostCount));
  }
  return dimensions;
}

void WorkloadReader::read_recorded(const Object& object, Recorded& recorded) {
  recorded.forward = phase(object, "forward");
  if (const auto backward = object.optional("backward")) {
    recorded.backward = read_backward(*backward);
  }
  recorded.optimizer = phase(object, "optimizer");
  recorded.iteration = phase(object, "iteration");
  if (const auto host = object.optional("host")) read_host(*host, recorded);
  if (const auto busy = object.optional("gpu_busy")) read_busy(*busy, recorded);
  if (const auto with = object.optional("recorded_with")) {
    read_recorded_with(*with, recorded.recorded_with);
  }
  if (const auto steps = object.optional("steps")) {
    read_steps(*steps, recorded);
    check_iteration(*steps, recorded);
  }
}

void WorkloadReader::check_iteration(const Cursor& steps, const Recorded& recorded) {
  std::vector<Duration> periods;
  for (const StepSample& step : recorded.steps)
    if (step.iteration) periods.push_back(*step.iteration);
  if (periods.empty() || !recorded.iteration) return;
  const auto [least, most] = std::ranges::minmax(periods);
  if (*recorded.iteration < least || *recorded.iteration > most)
    steps.fail(fmt::format("take {} to {} us, and the iteration {} us", least.microseconds(),
                           most.microseconds(), recorded.iteration->microseconds()),
               "The iteration is one of these steps");
}

Backward WorkloadReader::read_backward(const Cursor& cursor) {
  const Object object = cursor.object({"duration_us", "ready"});
  Backward backward;
  const auto duration = need(object, "duration_us");
  if (duration) backward.duration = time(*duration);
  if (const auto ready = object.optional("ready")) {
    const bool whole = read_ready(*ready, backward);
    // Indices can only be checked against a list that was there, times against a duration.
    if (duration && whole && !workload_.parameters.empty()) check_ready(*ready, backward);
  }
  return backward;
}

bool WorkloadReader::read_ready(const Cursor& list, Backward& backward) {
  bool whole = true;
  for (const Cursor& entry : list.array()) {
    const Object object = entry.object({"parameter", "at_us", "copied_at_us"});
    ReadyEvent event;
    event.copied_at = optional_time(object, "copied_at_us");
    const auto parameter = need(object, "parameter");
    const auto at = need(object, "at_us");
    if (parameter) event.parameter = static_cast<std::size_t>(parameter->integer(0, kMostCount));
    if (at) event.at = time(*at);
    whole = whole && parameter && at;
    backward.ready.push_back(event);
  }
  return whole;
}

void WorkloadReader::check_ready(const Cursor& list, const Backward& backward) const {
  constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> first_place(workload_.parameters.size(), kNowhere);
  const std::vector<Cursor> entries = list.array();
  const auto place = [&](std::size_t k) { return fmt::format("{}/{}", list.where(), k); };
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const ReadyEvent& event = backward.ready[k];
    const Object object = entries[k].free_object();
    if (event.parameter >= first_place.size()) {
      object.required("parameter")
          .fail(fmt::format("there is no parameter {}", event.parameter),
                fmt::format("Expected an index from 0 to {} into /parameters",
                            first_place.size() - 1));
    }
    std::size_t& first = first_place[event.parameter];
    if (first != kNowhere) {
      object.required("parameter")
          .fail(fmt::format("parameter {} is already ready at {}", event.parameter, place(first)),
                "Each gradient becomes ready once");
    }
    first = k;
    const Cursor at = object.required("at_us");
    if (k > 0 && event.at < backward.ready[k - 1].at) {
      at.fail(fmt::format("{} us is before the {} us of {}", event.at.microseconds(),
                          backward.ready[k - 1].at.microseconds(), place(k - 1)),
              "The list is in execution order, so its times never decrease");
    }
    if (event.at > backward.duration) {
      at.fail(fmt::format("{} us is after the end of backward, {} us", event.at.microseconds(),
                          backward.duration.microseconds()),
              "Times count from the start of backward");
    }
    if (!event.copied_at) continue;
    if (*event.copied_at < event.at || *event.copied_at > backward.duration) {
      object.required("copied_at_us")
          .fail(fmt::format("{} us is not between the gradient's own time and the end of backward",
                            event.copied_at->microseconds()),
                fmt::format("Expected {} to {} us", event.at.microseconds(),
                            backward.duration.microseconds()));
    }
  }
}

void WorkloadReader::read_host(const Cursor& cursor, Recorded& recorded) const {
  const Object object = cursor.object({"ready_us"});
  const auto ready = object.optional("ready_us");
  if (!ready) return;
  for (const Cursor& entry : ready->array()) recorded.host_ready.push_back(time(entry, true));
  const std::size_t expected = recorded.backward ? recorded.backward->ready.size() : 0;
  if (recorded.host_ready.size() != expected) {
    ready->fail(fmt::format("{} times for {} entries of backward/ready", recorded.host_ready.size(),
                            expected),
                "Expected one host time per entry, in the same order");
  }
}

void WorkloadReader::read_busy(const Cursor& cursor, Recorded& recorded) {
  const Object object = cursor.object({"forward_us", "backward_us", "optimizer_us"});
  BusyWindows busy;
  const auto read = [&](std::string_view key, std::optional<Duration> window, Duration& time) {
    const auto field = need(object, key);
    if (!field) return;
    time = this->time(*field);
    if (time > window.value_or(Duration()))
      field->fail(fmt::format("busy for {} us of a window of {} us", time.microseconds(),
                              window.value_or(Duration()).microseconds()),
                  "Expected no more than the window of that name lasts");
  };
  read("forward_us", recorded.forward, busy.forward);
  read("backward_us", recorded.backward ? recorded.backward->duration : Duration(), busy.backward);
  read("optimizer_us", recorded.optimizer, busy.optimizer);
  recorded.busy = busy;
}

void WorkloadReader::read_steps(const Cursor& list, Recorded& recorded) {
  const std::vector<Cursor> entries = list.array();
  if (entries.size() > kMostSteps)
    list.fail(fmt::format("{} steps", entries.size()),
              fmt::format("At most {} are read", kMostSteps));
  for (const Cursor& entry : entries) {
    const Object object =
        entry.object({"name", "forward_us", "backward_us", "iteration_us", "collectives"});
    StepSample step;
    if (const auto name = object.optional("name")) step.name = name->string();
    step.forward = optional_time(object, "forward_us");
    step.backward = optional_time(object, "backward_us");
    step.iteration = optional_time(object, "iteration_us");
    if (step.iteration == Duration())
      object.required("iteration_us").fail("a step takes longer than no time");
    if (const auto all = object.optional("collectives")) step.collectives = read_collectives(*all);
    recorded.steps.push_back(std::move(step));
  }
}

void WorkloadReader::read_buffers(const Cursor& list) {
  std::int64_t total = 0;
  for (const Cursor& entry : list.array()) {
    const Object object = entry.object({"dtype", "bytes", "tensors"});
    BufferGroup group;
    if (const auto tensors = object.optional("tensors")) {
      group.tensors = tensors->integer(0, 1'000'000'000);
    }
    if (const auto dtype = need(object, "dtype")) {
      const auto known = dtype_from_name(dtype->string());
      if (!known) {
        dtype->fail(in_quotes(dtype->string()) + " is not a dtype",
                    "Expected PyTorch's name without \"torch.\", such as \"float32\"");
      }
      group.dtype = *known;
    }
    if (const auto bytes = need(object, "bytes")) {
      group.bytes = Bytes(bytes->integer(0, kMostCount));
      if (__builtin_add_overflow(total, group.bytes.count(), &total)) {
        bytes->fail("the buffers up to here hold more than 2^63 - 1 bytes");
      }
    }
    workload_.buffers.push_back(group);
  }
}

void WorkloadReader::read_recorded_with(const Cursor& cursor, RecordedWith& recorded) {
  const Object object =
      cursor.object({"ddp_hooks", "world_size", "nccl", "nccl_kernels", "exposed_us", "finalize_us",
                     "buffer_broadcast_us", "compiled_gradients", "wire_dtype", "reduced_by",
                     "accumulate", "collectives"});
  if (const auto hooks = object.optional("ddp_hooks")) recorded.ddp_hooks = hooks->boolean();
  if (const auto world = object.optional("world_size")) {
    recorded.world_size = static_cast<int>(world->integer(1, 1'000'000'000));
  }
  if (const auto nccl = object.optional("nccl")) {
    recorded.nccl = parse_nccl_version(nccl->string());
    if (!recorded.nccl)
      nccl->fail(fmt::format("{} is not a version such as \"2.21.5\"", in_quotes(nccl->string())));
  }
  if (const auto kernels = object.optional("nccl_kernels")) {
    recorded.nccl_kernels = kernels->integer(0, 1'000'000'000'000);
  }
  if (const auto compiled = object.optional("compiled_gradients")) {
    recorded.compiled_gradients = compiled->integer(0, kMostCount);
  }
  if (const auto wire = object.optional("wire_dtype"))
    recorded.wire = dtype_from_name(wire->choice({"float16", "bfloat16"}));
  if (const auto by = object.optional("reduced_by"))
    recorded.reduced_by =
        reduced_by_from_word(by->choice({"reducer", "compiled", "hooks", "script"}))
            .value_or(ReducedBy::reducer);
  if (const auto accumulate = object.optional("accumulate"))
    recorded.accumulate = static_cast<int>(accumulate->integer(1, kMostMicroBatches));
  recorded.exposed = optional_time(object, "exposed_us");
  recorded.finalize = optional_time(object, "finalize_us");
  recorded.buffer_broadcast = optional_time(object, "buffer_broadcast_us");
  if (const auto list = object.optional("collectives"))
    recorded.collectives = read_collectives(*list);
}

std::vector<RecordedCollective> WorkloadReader::read_collectives(const Cursor& list) {
  std::vector<RecordedCollective> collectives;
  Bytes total;
  Duration together;
  for (const Cursor& entry : list.array()) {
    if (collectives.size() == kMostCollectives)
      entry.fail(fmt::format("more than {} collectives in a step", kMostCollectives));
    const Object object =
        entry.object({"bytes", "launch_us", "start_us", "duration_us", "channels"});
    RecordedCollective collective;
    if (const auto bytes = need(object, "bytes")) {
      collective.bytes = Bytes(bytes->integer(0, kMostCollectiveBytes));
      total += collective.bytes;
      if (total > Bytes(kMostCollectiveBytes))
        bytes->fail("the collectives up to here carry more than 2^50 bytes");
    }
    // The host may enqueue, and the device begin, before the first backward kernel has started.
    if (const auto launch = need(object, "launch_us")) collective.launch = time(*launch, true);
    if (const auto start = need(object, "start_us")) collective.start = time(*start, true);
    if (const auto length = need(object, "duration_us")) {
      collective.duration = time(*length);
      together += collective.duration;
      if (together > kLongest)
        length->fail("the collectives up to here take longer than 11 days",
                     "Expected at most 1e12 microseconds together");
    }
    if (const auto channels = object.optional("channels"))
      collective.channels = static_cast<int>(channels->integer(0, 1024));
    collectives.push_back(collective);
  }
  return collectives;
}

void WorkloadReader::read_ranks(const Cursor& list) {
  const std::vector<Cursor> entries = list.array();
  if (entries.size() > kMostRanks) {
    list.fail(fmt::format("{} ranks", entries.size()),
              fmt::format("At most {} are read", kMostRanks));
  }
  bool whole = true;
  for (const Cursor& entry : entries) {
    const Object object = entry.object({"rank", "offset_us", "forward", "backward", "optimizer",
                                        "iteration", "host", "gpu_busy", "recorded_with", "steps"});
    RankRecording recording;
    const auto rank = need(object, "rank");
    if (rank) recording.rank = static_cast<int>(rank->integer(0, 1'000'000'000));
    if (const auto offset = object.optional("offset_us")) recording.offset = time(*offset, true);
    read_recorded(object, recording);
    need(object, "backward");
    whole = whole && rank && recording.backward;
    workload_.ranks.push_back(std::move(recording));
  }
  if (whole && !missing_) check_ranks(list, workload_);
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
