#include "event_reader.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>
#include <cstddef>
#include <string>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "model_input.hpp"
#include "other_recorders.hpp"
#include "recorded_collective.hpp"
#include "scheme_names.hpp"
#include "trace_names.hpp"

namespace ddpsim {

std::optional<std::int64_t> nanoseconds_from_microseconds(std::string_view number) {
  constexpr std::int64_t kMostMicroseconds = INT64_MAX / 1000 - 1;
  std::string_view rest = number;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  if (rest.starts_with('-')) return std::nullopt;
  const auto whole = take_number<std::int64_t>(rest);
  if (!whole || *whole > kMostMicroseconds) return std::nullopt;
  std::int64_t thousandths = 0;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    std::int64_t digit_value = 100;
    for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; digit_value /= 10) {
      thousandths += digit_value * (rest.front() - '0');  // cuts off below a nanosecond
      rest.remove_prefix(1);
    }
  }
  // An exponent is rare, so a double's precision is enough.
  if (!rest.empty()) {
    const auto value = parse_number<double>(number);
    if (!value || !(std::fabs(*value) < static_cast<double>(kMostMicroseconds))) return {};
    return std::llround(*value * 1000);
  }
  const std::int64_t nanoseconds = *whole * 1000 + thousandths;
  return negative ? -nanoseconds : nanoseconds;
}

namespace {

namespace ondemand = simdjson::ondemand;
static_assert(JsonSplitter::kPadding >= simdjson::SIMDJSON_PADDING);

/// A scalar as written, without quotes.
std::string_view written(ondemand::value value) {
  std::string_view token = value.raw_json_token();
  while (!token.empty() && (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' ||
                            token.back() == '\t')) {
    token.remove_suffix(1);
  }
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') {
    token = token.substr(1, token.size() - 2);
  }
  return token;
}

/// First element of an array of numbers; absent for anything else.
std::optional<std::int64_t> first_number(ondemand::value value) {
  if (value.type() != ondemand::json_type::array) return std::nullopt;
  for (auto element : value.get_array())
    return parse_number<std::int64_t>(written(element.value()));
  return std::nullopt;
}

/// Category names of 2021 (Kineto's first year, with capitals) and later (libkineto's
/// ActivityType.cpp). GPUs of other vendors have runtimes of their own.
EventKind kind_of(std::string_view category) {
  if (category == "cpu_op" || category == "Operator") return EventKind::cpu_op;
  if (category == "kernel" || category == "Kernel") return EventKind::kernel;
  if (!device_of_category(category).empty()) return EventKind::other_device;
  if (category == "Runtime" || category.ends_with("_runtime") || category.ends_with("_driver")) {
    return EventKind::runtime;
  }
  if (category == "gpu_memcpy" || category == "gpu_memset" || category == "Memcpy" ||
      category == "Memset") {
    return EventKind::memory;
  }
  if (category == "cpu_instant_event") return EventKind::allocation;
  if (category == "user_annotation") return EventKind::annotation;
  if (category == "python_function") return EventKind::python;
  return EventKind::other;
}

/// A list as written; empty for anything else.
std::string_view written_list(ondemand::value value) {
  if (value.type() != ondemand::json_type::array) return {};
  ondemand::array list = value.get_array();
  return list.raw_json();
}

/// Whether `key` is the wanted key. The parser has checked that a key ends in a quote.
bool is(const ondemand::raw_json_string& key, std::string_view wanted) {
  return key.unsafe_is_equal(wanted);
}

void read_arguments(ondemand::object arguments, TraceEvent& event) {
  for (auto field : arguments) {
    const ondemand::raw_json_string key = field.key();
    switch (*key.raw()) {
      case 'c':
        if (is(key, "correlation"))
          event.correlation = parse_number<std::int64_t>(written(field.value()));
        break;
      case 'B':
        if (is(key, "Bytes")) event.bytes = parse_number<std::int64_t>(written(field.value()));
        break;
      case 'D':
        if (is(key, "Device Type"))
          event.device_type = parse_number<std::int64_t>(written(field.value()));
        if (is(key, "Device Id")) event.device = parse_number<std::int64_t>(written(field.value()));
        break;
      case 'd':
        if (is(key, "device")) event.device = parse_number<std::int64_t>(written(field.value()));
        if (is(key, "dtype")) event.dtype = written(field.value());
        break;
      case 'C':
        if (is(key, "Collective name")) event.collective = written(field.value());
        break;
      case 'n':
        if (is(key, "name")) event.label = written(field.value());
        break;
      case 'l':
        if (is(key, "labels")) event.label = written(field.value());
        break;
      case 'S':
        if (is(key, "Seq")) event.sequence = parse_number<std::int64_t>(written(field.value()));
        break;
      case 'g':
        if (is(key, "grid")) event.blocks = first_number(field.value());
        break;
      case 'G':
        if (is(key, "Group size"))
          event.group_size = parse_number<std::int64_t>(written(field.value()));
        break;
      case 'P':
        if (is(key, "Process Group Description") ||
            (is(key, "Process Group Name") && event.group.empty()))
          event.group = written(field.value());
        break;
      case 'I':
        if (is(key, "In msg nelems"))
          event.elements = parse_number<std::int64_t>(written(field.value()));
        if (is(key, "Input Dims")) event.dims = written_list(field.value());
        if (is(key, "Input type")) event.types = written_list(field.value());
        break;
      default:
        break;
    }
  }
}

/// Arguments of other events are skipped unread. They are most of a trace's bytes.
bool has_wanted_arguments(const TraceEvent& event) {
  switch (event.kind) {
    case EventKind::runtime:
    case EventKind::kernel:
    case EventKind::memory:
    case EventKind::allocation:
      return true;
    case EventKind::cpu_op:
    case EventKind::annotation:
      return event.name == kCommsOperation || event.name == kAccumulateGrad ||
             event.name == kGlooAllReduce || is_nccl_call(event.name) || input_operator(event.name);
    default:
      return false;
  }
}

/// Fields of one event. `where` is its start, for messages.
struct Fields {
  TraceEvent event;
  std::string_view phase;
  std::string_view start;
  std::string_view duration;
};

Fields read_fields(ondemand::object object) {
  Fields fields;
  bool kind_known = false;
  for (auto field : object) {
    const ondemand::raw_json_string key = field.key();
    switch (*key.raw()) {
      case 'p':
        if (is(key, "ph")) fields.phase = written(field.value());
        if (is(key, "pid")) fields.event.process = written(field.value());
        break;
      case 'c':
        if (is(key, "cat")) {
          const std::string_view category = written(field.value());
          fields.event.kind = kind_of(category);
          fields.event.device_name = device_of_category(category);
          kind_known = true;
        }
        break;
      case 'n':
        if (is(key, "name")) fields.event.name = written(field.value());
        break;
      case 't':
        if (is(key, "ts")) fields.start = written(field.value());
        if (is(key, "tid")) fields.event.thread = written(field.value());
        break;
      case 'd':
        if (is(key, "dur")) fields.duration = written(field.value());
        break;
      case 'a': {
        if (!is(key, "args")) break;
        if (kind_known && !has_wanted_arguments(fields.event)) break;
        ondemand::value value = field.value();
        if (value.type() == ondemand::json_type::object) {
          read_arguments(value.get_object(), fields.event);
        }
        break;
      }
      default:
        break;
    }
  }
  if (fields.event.name == kAllocation)
    fields.event.kind = EventKind::allocation;  // written in 2021 without a category
  else if (fields.event.kind == EventKind::allocation)
    fields.event.kind = EventKind::other;
  const std::string_view process = fields.event.process;
  if (!kind_known && (process == "CPU functions" || process == "CUDA functions")) {
    fields.event.kind = EventKind::legacy;
  }
  if (fields.phase == "M")
    fields.event.kind = fields.event.name == "process_name" || fields.event.name == "process_labels"
                            ? EventKind::process
                            : EventKind::other;
  return fields;
}

}  // namespace

struct EventReader::Parser {
  ondemand::parser parser;
};

EventReader::EventReader(JsonSplitter& splitter)
    : splitter_(splitter), parser_(std::make_unique<Parser>()) {}

EventReader::~EventReader() = default;

void EventReader::read(const EventBatch& batch,
                       const std::function<void(const TraceEvent&)>& accept) {
  const char* event_at = batch.text.data();
  const auto offset = [&] {
    return batch.offset + static_cast<std::uint64_t>(event_at - batch.text.data());
  };
  try {
    const auto iterate = [&] {
      return parser_->parser.iterate(batch.text.data(), batch.text.size(),
                                     batch.text.size() + JsonSplitter::kPadding);
    };
    auto begun = iterate();
    if (begun.error() == simdjson::UTF8_ERROR || begun.error() == simdjson::UNESCAPED_CHARS) {
      splitter_.mend(batch);
      begun = iterate();
    }
    ondemand::document document = std::move(begun).take_value();
    for (auto element : document.get_array()) {
      ondemand::object object = element.get_object();
      event_at = document.current_location();
      Fields fields = read_fields(object);
      if (fields.event.kind == EventKind::process) {
        accept(fields.event);
        continue;
      }
      const bool instant = fields.event.kind == EventKind::allocation;
      if (fields.phase != (instant ? "i" : "X") || fields.event.kind == EventKind::other) continue;
      if (fields.event.kind == EventKind::python && !named_scheme(fields.event.name)) continue;
      const auto start = nanoseconds_from_microseconds(fields.start);
      const auto duration =
          instant ? std::optional<std::int64_t>(0) : nanoseconds_from_microseconds(fields.duration);
      if (!start) {
        splitter_.fail(offset(),
                       fmt::format("the event {} has no usable \"ts\" ({})",
                                   in_quotes(fields.event.name), in_quotes(fields.start)),
                       "Expected microseconds, a number");
      }
      if (!duration || *duration < 0) {
        splitter_.fail(offset(),
                       fmt::format("the event {} has no usable \"dur\" ({})",
                                   in_quotes(fields.event.name), in_quotes(fields.duration)),
                       "Expected microseconds, a number that is not negative");
      }
      if (__builtin_add_overflow(*start, *duration, &fields.event.start_ns)) {
        splitter_.fail(offset(), fmt::format("the event {} ends beyond 63 bits of nanoseconds",
                                             in_quotes(fields.event.name)));
      }
      fields.event.start_ns = *start;
      fields.event.duration_ns = *duration;
      accept(fields.event);
    }
  } catch (const simdjson::simdjson_error& error) {
    splitter_.fail(offset(), fmt::format("broken JSON near here: {}", error.what()),
                   "The file is damaged, or the PyTorch profiler did not write it");
  }
}

}  // namespace ddpsim
