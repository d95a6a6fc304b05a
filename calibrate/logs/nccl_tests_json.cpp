// The JSON of nccl-tests:
//
//   {"version": 2, "args": ["all_reduce_perf", "-b", …], "env": ["NCCL_ALGO=RING", …],
//    "nccl_version": 22602,
//    "config": {"nthreads": 1, "ngpus": 1, …,
//               "devices": [{"rank", "hostname", "device", "device_info": "NVIDIA X"}, …]},
//
//    "results": [{"size", "count", "type", "redop", "root": "-1",
//                 "out_of_place": {"time", "alg_bw", "bus_bw", "nwrong"}, "in_place": {…}}, …]}
//
// With -C 1, "cpu_time" replaces "time". Every process lists only the first of its GPUs. A time
// that is no number is written as "nan". A run that was killed leaves the document incomplete.
#include "nccl_tests_json.hpp"

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/number.hpp"
#include "nccl_debug.hpp"

namespace ddpsim {
namespace {

/// Reads a number that is written with six decimals.
Figure figure_at(const Cursor& cursor) {
  constexpr double kHalfPicosecond = 0.5e-6;
  if (cursor.is_string()) {
    const auto figure = figure_of(cursor.string());
    if (!figure) cursor.fail("is not a number", "Expected a number");
    return *figure;
  }
  return {cursor.number(-1e18, 1e18), kHalfPicosecond};
}

void take_settings(const Object& root, RawLog& log) {
  const auto env = root.optional("env");
  if (!env) return;
  for (const Cursor& entry : env->array()) {
    if (!entry.is_string()) continue;
    const std::string text = entry.string();
    const std::size_t equals = text.find('=');
    if (!text.starts_with("NCCL_") || equals == std::string::npos) continue;
    const std::string_view view = text;
    add_setting(log, view.substr(0, equals), view.substr(equals + 1));
  }
}

void take_devices(const Object& config, RawRun& run) {
  const auto count = [&](std::string_view key) {
    const auto value = config.optional(key);
    return value ? static_cast<int>(value->integer(1, 4096)) : 1;
  };
  const int per_process = count("nthreads") * count("ngpus");
  run.gpus_per_process = per_process;
  const auto devices = config.optional("devices");
  if (!devices) return;
  for (const Cursor& entry : devices->array()) {
    const Object device = entry.free_object();
    const int rank = static_cast<int>(device.required("rank").integer(0, 10'000'000));
    const auto info = device.optional("device_info");
    const std::string gpu = info ? info->string() : "";
    const std::string host = device.required("hostname").string();
    const auto index = device.optional("device");
    const std::optional<int> first =
        index ? std::optional(static_cast<int>(index->integer(0, 4095))) : std::nullopt;
    for (int gpu_of_process = 0; gpu_of_process < per_process; ++gpu_of_process) {
      run.devices.push_back({.rank = rank + gpu_of_process,
                             .host = host,
                             .gpu = gpu,
                             .index = first ? std::optional(*first + gpu_of_process) : first});
    }
  }
}

/// Reads one place of a result. Absent if it was not run.
void take_place(const Object& result, std::string_view key, RawRow& row, RawRun& run) {
  const auto place = result.optional(key);
  if (!place) return;
  const Object figures = place->free_object();
  const auto time = figures.optional("time");
  run.host_times = run.host_times || (!time && figures.has("cpu_time"));
  if (time) (key == "in_place" ? row.in_place_us : row.time_us) = figure_at(*time);
  if (const auto wrong = figures.optional("nwrong")) {
    (key == "in_place" ? row.wrong_in_place : row.wrong) = figure_at(*wrong).value;
  }
  if (key == "in_place") return;
  if (const auto algbw = figures.optional("alg_bw")) row.algbw_gbps = figure_at(*algbw);
  if (const auto busbw = figures.optional("bus_bw")) row.busbw_gbps = figure_at(*busbw);
}

}  // namespace

RawLog scan_nccl_tests_json(std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  const Object root = document.root().free_object();
  if (!root.has("results")) {
    document.root().fail("is not the -J output of nccl-tests: \"results\" is missing",
                         "Give the text that all_reduce_perf prints, or its -J file after a "
                         "complete run");
  }
  RawLog log;
  log.file = file;
  log.format = "nccl-tests JSON";
  RawRun run;
  run.place = "/results";
  if (const auto args = root.optional("args")) {
    const std::vector<Cursor> words = args->array();
    if (!words.empty() && words.front().is_string()) run.program = words.front().string();
  }
  if (const auto version = root.optional("nccl_version")) {
    log.nccl = nccl_version_of_code(version->integer(0, 1'000'000));
  }
  take_settings(root, log);
  if (const auto config = root.optional("config")) take_devices(config->free_object(), run);
  for (const Cursor& entry : root.required("results").array()) {
    const Object result = entry.free_object();
    RawRow row;
    row.place = entry.where();
    row.size = result.required("size").integer(0, 1LL << 50);
    if (const auto type = result.optional("type")) row.type = type->string();
    if (const auto redop = result.optional("redop")) row.redop = redop->string();
    if (const auto root_rank = result.optional("root")) {
      const std::string text_of_root = root_rank->is_string() ? root_rank->string() : "";
      const Words words = words_of(text_of_root);
      if (words.size() == 1) row.root = parse_number<std::int64_t>(words.front());
    }
    take_place(result, "out_of_place", row, run);
    take_place(result, "in_place", row, run);
    if (row.size > 0 && !row.time_us && !run.host_times) {
      entry.fail("has no out-of-place time", "Expected \"out_of_place\": {\"time\": …}");
    }
    run.rows.push_back(std::move(row));
  }
  log.runs.push_back(std::move(run));
  return log;
}

}  // namespace ddpsim
