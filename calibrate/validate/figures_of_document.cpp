// Reads the values of ddpsim's own documents. Their names are those of the fields, without the
// unit.
#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "figure_sources.hpp"

namespace ddpsim {
namespace {

constexpr double kLongestFigure_us = 9.2e12;
constexpr double kLargestCap = 9e15;

double microseconds_at(const Cursor& cursor) {
  return cursor.number(-kLongestFigure_us, kLongestFigure_us);
}

NamedFigure figure(std::string name, const Cursor& at) {
  return {.name = std::move(name),
          .us = microseconds_at(at),
          .low_us = {},
          .high_us = {},
          .place = at.where()};
}

/// The interval of every prediction in the document, in percent.
struct IntervalPercent {
  double low, high;
};

std::optional<IntervalPercent> interval_of(const Object& root) {
  const auto confidence = root.optional("confidence");
  if (!confidence) return std::nullopt;
  const auto interval = confidence->free_object().optional("interval_percent");
  if (!interval) return std::nullopt;
  const std::vector<Cursor> ends = interval->array();
  if (ends.size() != 2) interval->fail("is not a pair", "Expected [low, high]");
  return IntervalPercent{ends[0].number(-100, 1e6), ends[1].number(-100, 1e6)};
}

void add_interval(NamedFigure& row, const std::optional<IntervalPercent>& interval) {
  if (!interval) return;
  row.low_us = row.us * (1 + interval->low / 100);
  row.high_us = row.us * (1 + interval->high / 100);
}

void read_calibrated_by(const Object& root, Figures& figures) {
  if (const auto logs = root.optional("calibrated_by"))
    for (const Cursor& log : logs->array())
      figures.calibrated_by.push_back(log.free_object().required("digest").string());
}

void read_ranks(const Object& root, Figures& figures) {
  if (const auto ranks = root.optional("ranks"); ranks && ranks->is_number()) {
    figures.ranks = static_cast<int>(ranks->integer(1, 100'000'000));
  }
}

void read_result(const Object& root, Figures& figures) {
  figures.kind = "a simulated step (ddpsim.result/1)";
  read_ranks(root, figures);
  const auto interval = interval_of(root);
  for (const std::string_view name :
       {"iteration", "forward", "backward", "backward_compute", "communication", "wait",
        "exposed_communication", "finalize", "optimizer", "stall"}) {
    const auto at = root.optional(fmt::format("{}_us", name));
    if (!at) continue;
    figures.rows.push_back(figure(std::string(name), *at));
    if (name == "iteration") add_interval(figures.rows.back(), interval);
    if (name != "forward") continue;
    // If steps overlap, a recorded forward is complete.
    if (const auto ahead = root.optional("forward_ahead_us"))
      figures.rows.back().us += microseconds_at(*ahead);
  }
  if (const auto buckets = root.optional("buckets")) {
    std::size_t index = 0;
    for (const Cursor& entry : buckets->array()) {
      const Object bucket = entry.free_object();
      for (const std::string_view key : {"wire_bytes", "bytes"})
        if (const auto bytes = bucket.optional(key)) {
          figures.bucket_bytes.emplace_back(bytes->integer(0, 1LL << 50));
          break;
        }
      const double start = microseconds_at(bucket.required("start_us"));
      const double end = microseconds_at(bucket.required("end_us"));
      figures.rows.push_back({.name = fmt::format("bucket {} all_reduce", index++),
                              .us = end - start,
                              .low_us = {},
                              .high_us = {},
                              .place = entry.where()});
    }
  }
}

Bytes bytes_of_cap(double mb) {
  return Bytes(static_cast<std::int64_t>(std::min(mb * 1048576, 9.2e18)));
}

CapFigure cap_at(const Cursor& at) {
  const Object point = at.free_object();
  CapFigure cap;
  if (const auto mb = point.optional("bucket_cap_mb")) cap.cap_mb = mb->number(0, kLargestCap);
  double first = 0;
  if (const auto mb = point.optional("first_bucket_mb")) first = mb->number(0, kLargestCap);
  cap.first = bytes_of_cap(first);
  cap.first_as_cap = cap.cap_mb && bytes_of_cap(*cap.cap_mb) == cap.first;
  const std::vector<Cursor> range = point.required("cap_range_mb").array();
  if (range.size() != 2) at.fail("cap_range_mb is not a pair", "Expected [low, high]");
  cap.low = bytes_of_cap(range[0].number(0, kLargestCap));
  cap.high = bytes_of_cap(range[1].number(0, kLargestCap));
  const std::string name = cap.cap_mb ? fmt::format("bucket_cap_mb={:.6g}", *cap.cap_mb)
                                      : std::string("bucket_cap_mb default");
  cap.figure = figure(name, point.required("iteration_us"));
  return cap;
}

CapFigure advised_cap(const Object& setting, const Object& root) {
  TorchVersion torch;
  if (const auto version = root.optional("torch"))
    torch = parse_torch_version(version->string()).value_or(torch);
  const auto number = [&](std::string_view key) {
    const auto at = setting.optional(key);
    return at ? std::optional(at->number(0, kLargestCap)) : std::nullopt;
  };
  return cap_figure(number("bucket_cap_mb"), number("first_bucket_mb"), torch);
}

void read_tune(const Object& root, Figures& figures) {
  figures.kind = "a tuning curve (ddpsim.tune/1)";
  read_ranks(root, figures);
  const auto interval = interval_of(root);
  figures.caps.push_back(cap_at(root.required("default")));
  for (const Cursor& entry : root.required("curve").array()) {
    const Object point = entry.free_object();
    if (const auto reachable = point.optional("reachable"); reachable && !reachable->boolean()) {
      continue;
    }
    CapFigure cap = cap_at(entry);
    const bool is_default = !cap.cap_mb && cap.first == figures.caps.front().first;
    if (!is_default) figures.caps.push_back(std::move(cap));
  }
  for (CapFigure& cap : figures.caps) add_interval(cap.figure, interval);
  const Object recommended = root.required("recommended").free_object();
  const std::string action = recommended.required("action").string();
  if (action == "keep default") figures.advised = figures.caps.front();
  if (action == "set") figures.advised = advised_cap(recommended, root);
  if (action == "keep today") {
    const Object current = root.required("today").free_object();
    // Recorded buckets may have come without a passed cap.
    if (current.optional("bucket_cap_mb")) figures.advised = advised_cap(current, root);
  }
}

void read_allreduce(const Object& root, Figures& figures) {
  figures.kind = "an all-reduce table (ddpsim.allreduce/1)";
  read_ranks(root, figures);
  constexpr int kMost = 100'000'000;
  if (const auto nodes = root.optional("nodes"))
    figures.nodes = static_cast<int>(nodes->integer(1, kMost));
  if (const auto gpus = root.optional("gpus_per_node"))
    figures.gpus_per_node = static_cast<int>(gpus->integer(1, kMost));
  if (const auto gpu = root.optional("gpu")) figures.gpu = gpu->string();
  std::string name = "all_reduce";
  if (const auto collective = root.optional("collective"))
    name = collective->choice({"broadcast", "reduce-scatter", "all-gather", "reduce", "send-recv"});
  for (const Cursor& entry : root.required("rows").array()) {
    const Object row = entry.free_object();
    const std::int64_t size = row.required("size_bytes").integer(0, 1LL << 50);
    NamedFigure read = figure(fmt::format("{} {} B", name, size), row.required("time_us"));
    if (const auto low = row.optional("low_us")) read.low_us = microseconds_at(*low);
    if (const auto high = row.optional("high_us")) read.high_us = microseconds_at(*high);
    figures.rows.push_back(std::move(read));
  }
}

struct SpanTimes {
  double start, end;
};

/// The spans of one rank's GPU that form the parts of the step.
struct DrawnStep {
  std::optional<SpanTimes> gpu;
  std::optional<SpanTimes> backward;
  std::optional<double> optimizer_start;
  double optimizer = 0;
  std::vector<SpanTimes> transfers;
};

void widen(std::optional<SpanTimes>& all, const SpanTimes& span) {
  if (!all) all = span;
  all->start = std::min(all->start, span.start);
  all->end = std::max(all->end, span.end);
}

/// Reads a span; the all-reduce of a bucket is a value of its own.
void read_span(const Cursor& entry, DrawnStep& step, Figures& figures) {
  const Object fields = entry.free_object();
  const std::string track = fields.required("track").choice({"host", "compute", "communication"});
  const std::string name = fields.required("name").string();
  const SpanTimes span{microseconds_at(fields.required("start_us")),
                       microseconds_at(fields.required("end_us"))};
  if (span.end < span.start) entry.fail("ends before it starts", "Expected end_us >= start_us");
  if (track == "host") return;
  widen(step.gpu, span);
  if (name == "backward" || name == "copy into bucket") widen(step.backward, span);
  if (name == "optimizer") {
    step.optimizer += span.end - span.start;
    step.optimizer_start = std::min(step.optimizer_start.value_or(span.start), span.start);
  }
  const auto bucket = fields.optional("bucket");
  if (name != "all_reduce" || !bucket) return;
  step.transfers.push_back(span);
  figures.rows.push_back({.name = fmt::format("bucket {} all_reduce", bucket->integer(0, 1 << 30)),
                          .us = span.end - span.start,
                          .low_us = {},
                          .high_us = {},
                          .place = entry.where()});
}

/// Time between the end of backward and the optimizer during which an all-reduce ran.
double exposed(DrawnStep step) {
  std::sort(step.transfers.begin(), step.transfers.end(),
            [](const SpanTimes& a, const SpanTimes& b) { return a.start < b.start; });
  double total = 0;
  double until = step.backward->end;
  for (const SpanTimes& span : step.transfers) {
    const double from = std::max(span.start, until);
    const double to = std::min(span.end, *step.optimizer_start);
    if (to > from) total += to - from;
    until = std::max(until, span.end);
  }
  return total;
}

/// Reads rank 0 of a timeline. It does not tell where a step ends, because gaps after the optimizer
/// are no span.
void read_timeline(const Object& root, Figures& figures) {
  figures.kind = "a timeline (ddpsim.timeline/1)";
  const std::vector<Cursor> ranks = root.required("ranks").array();
  if (ranks.empty()) root.required("ranks").fail("has no rank", "Expected at least one");
  DrawnStep step;
  for (const Cursor& entry : ranks.front().free_object().required("spans").array())
    read_span(entry, step, figures);
  const auto add = [&](std::string name, double us) {
    figures.rows.push_back({.name = std::move(name),
                            .us = us,
                            .low_us = {},
                            .high_us = {},
                            .place = ranks.front().where()});
  };
  if (step.gpu) add("gpu_span", step.gpu->end - step.gpu->start);
  if (step.gpu && step.backward) add("forward", step.backward->start - step.gpu->start);
  if (step.backward) add("backward", step.backward->end - step.backward->start);
  if (step.optimizer_start) add("optimizer", step.optimizer);
  if (step.backward && step.optimizer_start) add("exposed_communication", exposed(step));
}

double median_us(const Object& object, std::string_view key) {
  return microseconds_at(object.required(key).free_object().required("median"));
}

/// The parts of the only configuration, with the names they have in a simulated step.
void read_parts(const Object& configuration, Figures& figures) {
  for (const std::string_view name : {"iteration", "forward", "backward", "communication",
                                      "exposed_communication", "finalize", "optimizer"}) {
    const std::string key = fmt::format("{}_us", name);
    if (!configuration.has(key)) continue;
    figures.rows.push_back({.name = std::string(name),
                            .us = median_us(configuration, key),
                            .low_us = {},
                            .high_us = {},
                            .place = configuration.required(key).where()});
  }
  const auto buckets = configuration.optional("buckets");
  if (!buckets) return;
  std::size_t index = 0;
  for (const Cursor& entry : buckets->array()) {
    const Object bucket = entry.free_object();
    figures.rows.push_back({.name = fmt::format("bucket {} all_reduce", index++),
                            .us = median_us(bucket, "end_us") - median_us(bucket, "start_us"),
                            .low_us = {},
                            .high_us = {},
                            .place = entry.where()});
  }
}

/// Reads the medians over the steps of every configuration. Those with gradient_as_bucket_view
/// represent their cap only if no other does.
void read_measurement(const Object& root, Figures& figures) {
  figures.kind = "a measurement (ddpsim.measurement/1)";
  read_ranks(root, figures);
  TorchVersion torch;
  if (const auto setup = root.optional("setup")) {
    if (const auto rules = setup->free_object().optional("torch_rules")) {
      torch = parse_torch_version(rules->string()).value_or(torch);
    }
  }
  const std::vector<Cursor> configurations = root.required("configurations").array();
  const auto views = [](const Object& one) {
    const auto flag = one.optional("gradient_as_bucket_view");
    return flag && flag->boolean();
  };
  const bool any_plain =
      std::any_of(configurations.begin(), configurations.end(),
                  [&](const Cursor& entry) { return !views(entry.free_object()); });
  for (const Cursor& entry : configurations) {
    const Object one = entry.free_object();
    if (any_plain && views(one)) continue;
    const auto mb = one.optional("bucket_cap_mb");
    CapFigure cap = cap_figure(mb ? std::optional(mb->number(0, kLargestCap)) : std::nullopt,
                               std::nullopt, torch);
    cap.figure.us = median_us(one, "iteration_us");
    cap.figure.place = entry.where();
    figures.caps.push_back(std::move(cap));
  }
  if (configurations.size() == 1) read_parts(configurations.front().free_object(), figures);
  if (const auto table = root.optional("all_reduces")) {
    for (const Cursor& entry : table->array()) {
      const Object row = entry.free_object();
      const std::int64_t size = row.required("size_bytes").integer(0, 1LL << 50);
      figures.rows.push_back({.name = fmt::format("all_reduce {} B", size),
                              .us = median_us(row, "time_us"),
                              .low_us = {},
                              .high_us = {},
                              .place = entry.where()});
    }
  }
}

}  // namespace

Figures figures_of_document(std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  const Object root = document.root().free_object();
  const std::string schema = root.required("schema").choice(
      {"ddpsim.result/1", "ddpsim.tune/1", "ddpsim.allreduce/1", "ddpsim.timeline/1",
       "ddpsim.measurement/1", "ddpsim.workload/1"});
  Figures figures;
  figures.source = file;
  read_calibrated_by(root, figures);
  if (schema == "ddpsim.result/1") read_result(root, figures);
  if (schema == "ddpsim.tune/1") read_tune(root, figures);
  if (schema == "ddpsim.allreduce/1") read_allreduce(root, figures);
  if (schema == "ddpsim.timeline/1") read_timeline(root, figures);
  if (schema == "ddpsim.measurement/1") read_measurement(root, figures);
  return figures;
}

}  // namespace ddpsim
