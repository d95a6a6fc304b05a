// A document of ddpsim-real:
//
//   {"schema": "ddpsim.measurement/1", "ranks": 4, "setup": {"hosts": "a a b b", "backend": "nccl", …},
//    "configurations": [{"name", "bucket_cap_mb", "iteration_us": {"median", "p10", "p90"}, …,
//                        "buckets": [{"bytes", "last_arrival_us": {…}, "end_us": {…}, …}]}],
//    "all_reduces": [{"size_bytes", "time_us": {"median", …}}]}
#include "measurement_json.hpp"

#include "ddpsim/formats/decoder.hpp"
#include "real_setup.hpp"

namespace ddpsim {
namespace {

constexpr double kHalfUnit = 0.5e-3;  // written to a nanosecond
constexpr double kLongest = 9.2e12;

double median_at(const Object& object, std::string_view key) {
  return object.required(key).free_object().required("median").number(-kLongest, kLongest);
}

/// Takes only the transfer, from the last rank's arrival on.
void take_buckets(const Object& configuration, std::int64_t share, bool as_rows, RawRun& run) {
  std::vector<NotedTransfer> step;
  for (const Cursor& entry : configuration.required("buckets").array()) {
    const Object bucket = entry.free_object();
    const double arrival = median_at(bucket, "last_arrival_us");
    const double us = median_at(bucket, "end_us") - arrival;
    RawRow row;
    row.place = entry.where();
    row.size = bucket.required("bytes").integer(0, 1LL << 50) / share;
    row.time_us = Figure{us, kHalfUnit};
    step.push_back({Bytes(row.size), arrival, us});
    if (as_rows) run.rows.push_back(std::move(row));
  }
  run.steps.push_back(std::move(step));
}

}  // namespace

bool is_measurement(std::string_view text) {
  constexpr std::size_t kBeginning = 4096;
  return text.substr(0, kBeginning).find("\"ddpsim.measurement/1\"") != std::string_view::npos;
}

RawLog scan_measurement_json(std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  const Object root = document.root().free_object();
  RawLog log;
  log.file = file;
  log.format = "a measurement of ddpsim-real";
  RawRun run;
  run.place = "/all_reduces";
  const Said said = [setup = root.optional("setup")](std::string_view key) {
    const auto value = setup ? setup->free_object().optional(key) : std::nullopt;
    return value && value->is_string() ? std::optional(value->string()) : std::nullopt;
  };
  take_setup(said, run, log);
  if (const auto table = root.optional("all_reduces")) {
    for (const Cursor& entry : table->array()) {
      const Object object = entry.free_object();
      RawRow row;
      row.place = entry.where();
      row.size = object.required("size_bytes").integer(0, 1LL << 50);
      row.time_us = Figure{median_at(object, "time_us"), kHalfUnit};
      run.rows.push_back(std::move(row));
    }
  }
  const bool alone = !run.rows.empty();
  if (!alone || (!log.backend.empty() && root.has("configurations")))
    for (const Cursor& entry : root.required("configurations").array())
      take_buckets(entry.free_object(), wire_share(said), !alone, run);
  if (!alone) {
    // Over gloo several are in flight, so the time that each takes alone is unknown.
    if (!log.backend.empty()) run.timed_by = TimedBy::joined_ranks;
    log.warnings.push_back(
        "no all-reduces were measured separately, so these are the buckets' own, during compute");
  }
  log.said.ranks = static_cast<int>(root.required("ranks").integer(1, 10'000'000));
  log.runs.push_back(std::move(run));
  return log;
}

}  // namespace ddpsim
