#include "collective_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "row_checks.hpp"

namespace ddpsim {
namespace {

bool mentions_both(std::string_view text, std::string_view one, std::string_view other) {
  constexpr std::size_t kBeginning = 4096;
  const std::string_view head = text.substr(0, kBeginning);
  return head.find(one) != std::string_view::npos && head.find(other) != std::string_view::npos;
}

class InspectorScan {
 public:
  explicit InspectorScan(const std::string& file) {
    log_.file = file;
    log_.format = "NCCL inspector";
  }

  RawLog run(std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::string_view line = trimmed(take_line(text));
      if (!line.empty()) take(line, fmt::format("line {}", number));
    }
    for (const auto& [shape, collectives] : jobs_) add_run(shape, collectives);
    if (log_.runs.empty())
      throw InputError({log_.file, "", "it contains no all-reduce that took time",
                        "Give the inspector's files of a job that trains"});
    log_.warnings.emplace_back(kBesideCompute);
    if (others_ > 0)
      log_.recognised.push_back(fmt::format("left out: {} records of other collectives", others_));
    return std::move(log_);
  }

 private:
  struct Shape {
    std::int64_t ranks = 0, nodes = 0;
    auto operator<=>(const Shape&) const = default;
  };
  using Key = std::tuple<std::string, std::int64_t, std::int64_t>;  ///< communicator, number, bytes

  void take(std::string_view line, const std::string& place);
  void add_run(const Shape& shape, const std::map<Key, NotedCollective>& collectives);

  RawLog log_;
  std::map<Shape, std::map<Key, NotedCollective>> jobs_;
  std::size_t others_ = 0;
};

void InspectorScan::take(std::string_view line, const std::string& place) {
  const Document document = Document::parse(line, log_.file + ":" + place);
  const Object root = document.root().free_object();
  const Object header = root.required("header").free_object();
  const Object perf = root.required("coll_perf").free_object();
  if (perf.required("coll").string() != "AllReduce") {
    ++others_;
    return;
  }
  RawRow row;
  row.place = place;
  row.size = perf.required("coll_msg_size_bytes").integer(0, kMostNotedBytes);
  row.time_us = Figure{perf.required("coll_exec_time_us").number(0, 1e12), 0.5};
  if (const auto algbw = perf.optional("coll_algobw_gbs"))
    row.algbw_gbps = Figure{algbw->number(0, 1e9), 0.5e-6};
  check_algbw(row, log_.file);
  const Shape shape{header.required("n_ranks").integer(1, 10'000'000),
                    header.required("nnodes").integer(1, 1'000'000)};
  const std::string communicator = header.required("id").string();
  const Key key{communicator, perf.required("coll_sn").integer(0, INT64_MAX), row.size};
  NotedCollective& noted = jobs_[shape][key];
  const double us = row.time_us->value;
  noted.least_us = noted.ranks.empty() ? us : std::min(noted.least_us, us);
  noted.ranks.insert(header.required("rank").integer(0, shape.ranks - 1));
  noted.bytes = row.size;
  noted.place = place;
}

void InspectorScan::add_run(const Shape& shape, const std::map<Key, NotedCollective>& collectives) {
  std::vector<NotedCollective> all;
  std::vector<NotedCollective> whole;
  for (const auto& [key, one] : collectives) {
    if (one.bytes <= 0 || !(one.least_us > 0)) continue;
    all.push_back(one);
    if (static_cast<std::int64_t>(one.ranks.size()) == shape.ranks) whole.push_back(one);
  }
  if (all.empty()) return;
  const bool joined = !whole.empty();
  if (joined)
    log_.recognised.push_back(fmt::format(
        "{} all-reduces on all {} ranks: the shortest time of each is its transfer{}", whole.size(),
        shape.ranks,
        whole.size() < all.size()
            ? fmt::format("; {} more lack some ranks and were left out", all.size() - whole.size())
            : ""));
  RawRun run = run_of(joined ? whole : all, joined, 0.5);
  if (shape.ranks % shape.nodes == 0)
    run.shape =
        JobShape{static_cast<int>(shape.nodes), static_cast<int>(shape.ranks / shape.nodes)};
  log_.said.ranks = static_cast<int>(shape.ranks);
  log_.runs.push_back(std::move(run));
}

/// Names of types in c10.
std::optional<std::int64_t> bytes_of_type(std::string_view name) {
  constexpr std::pair<std::string_view, std::int64_t> kTypes[] = {
      {"Float", 4}, {"Half", 2}, {"BFloat16", 2}, {"Double", 8}, {"Int", 4},
      {"Long", 8},  {"Byte", 1}, {"Char", 1},     {"Short", 2},  {"Bool", 1}};
  for (const auto& [known, bytes] : kTypes)
    if (known == name) return bytes;
  return std::nullopt;
}

/// Absent if there is no tensor, or if its type is not known.
std::optional<std::int64_t> bytes_of_inputs(const Object& entry) {
  const std::vector<Cursor> sizes = entry.required("input_sizes").array();
  const std::vector<Cursor> types = entry.required("input_dtypes").array();
  std::int64_t total = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i >= types.size()) return std::nullopt;
    const auto element = bytes_of_type(types[i].string());
    if (!element) return std::nullopt;
    std::int64_t bytes = *element;
    for (const Cursor& length : sizes[i].array())
      if (__builtin_mul_overflow(bytes, length.integer(0, kMostNotedBytes), &bytes) ||
          bytes > kMostNotedBytes)
        return std::nullopt;
    if (__builtin_add_overflow(total, bytes, &total)) return std::nullopt;
  }
  return total > 0 && total <= kMostNotedBytes ? std::optional(total) : std::nullopt;
}

/// Number of ranks in "[0, 1, 2, 3]", given as text or as a list.
std::int64_t ranks_in(const Cursor& ranks) {
  if (ranks.is_array()) return static_cast<std::int64_t>(ranks.array().size());
  const std::string list = ranks.string();
  return list.size() <= 2 ? 0 : 1 + std::ranges::count(list, ',');
}

/// The group in `process_group`: the name under which pg_config lists its ranks.
std::string group_of(const Object& entry) {
  const auto group = entry.optional("process_group");
  if (!group) return "";
  if (group->is_string()) return group->string();
  const std::vector<Cursor> names = group->array();
  return names.empty() ? "" : names.front().string();
}

}  // namespace

RawRun run_of(const std::vector<NotedCollective>& collectives, bool whole, double half_unit_us) {
  std::map<std::int64_t, std::vector<double>> by_size;
  std::map<std::int64_t, std::string> places;
  for (const NotedCollective& one : collectives) {
    by_size[one.bytes].push_back(one.least_us);
    places.emplace(one.bytes, one.place);
  }
  RawRun run;
  run.place = collectives.front().place;
  run.timed_by = whole ? TimedBy::joined_ranks : TimedBy::one_rank;
  for (auto& [bytes, times] : by_size) {
    RawRow row;
    row.place = places[bytes];
    row.size = bytes;
    const double us = whole ? median(std::move(times)) : *std::ranges::min_element(times);
    row.time_us = Figure{us, half_unit_us};
    run.rows.push_back(std::move(row));
  }
  return run;
}

bool is_inspector_log(std::string_view text) {
  return mentions_both(text, "\"coll_perf\"", "\"header\"");
}

RawLog scan_inspector_log(std::string_view text, const std::string& file) {
  return InspectorScan(file).run(text);
}

bool is_flight_recording(std::string_view text) {
  return mentions_both(text, "\"entries\"", "\"profiling_name\"") ||
         mentions_both(text, "\"entries\"", "\"pg_config\"");
}

RawLog scan_flight_recording(std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  const Object root = document.root().free_object();
  RawLog log;
  log.file = file;
  log.format = "PyTorch's flight recorder";
  if (const auto version = root.optional("nccl_version"))
    log.nccl = parse_nccl_version(version->string());
  std::map<std::string, std::vector<NotedCollective>> groups;
  std::size_t untimed = 0;
  for (const Cursor& cursor : root.required("entries").array()) {
    const Object entry = cursor.free_object();
    if (entry.required("profiling_name").string() != "nccl:all_reduce") continue;
    const auto took = entry.optional("duration_ms");
    if (!took) {
      ++untimed;
      continue;
    }
    const double us = took->number(0, 1e9) * 1e3;
    const auto bytes = bytes_of_inputs(entry);
    if (bytes && us > 0)
      groups[group_of(entry)].push_back(
          {.bytes = *bytes, .least_us = us, .ranks = {}, .place = cursor.where()});
  }
  if (groups.empty())
    throw InputError({file, "/entries",
                      untimed > 0 ? fmt::format("{} all-reduces, none with duration_ms", untimed)
                                  : "it contains no all-reduce",
                      "Run with TORCH_NCCL_ENABLE_TIMING=1 and dump after some steps"});
  const auto most =
      std::ranges::max_element(groups, {}, [](const auto& one) { return one.second.size(); });
  for (const auto& [name, collectives] : groups)
    if (name != most->first)
      log.recognised.push_back(fmt::format("left out: {} all-reduces of process group {}",
                                           collectives.size(), in_quotes(name)));
  constexpr double kHalfNanosecond = 0.5e-3;
  log.runs.push_back(run_of(most->second, false, kHalfNanosecond));
  log.warnings.emplace_back(kBesideCompute);
  if (const auto config = root.optional("pg_config"))
    if (const auto group = config->free_object().optional(most->first))
      if (const auto ranks = group->free_object().optional("ranks"))
        if (const std::int64_t count = ranks_in(*ranks); count >= 1 && count <= 10'000'000)
          log.said.ranks = static_cast<int>(count);
  return log;
}

}  // namespace ddpsim
