#include "ddpsim/calibrate/logs/gloo_trace_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/gloo_trace.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

std::vector<GlooTrace> gloo_traces_in(const fs::path& path) {
  std::vector<GlooTrace> traces;
  std::vector<fs::path> files{path};
  std::error_code error;
  if (fs::is_directory(path, error)) {
    files.clear();
    fs::directory_iterator entry(path, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code unknown;
      if (entry->is_regular_file(unknown)) files.push_back(entry->path());
    }
    if (error) throw InputError({path.string(), "", "cannot be read: " + error.message(), ""});
    std::ranges::sort(files);
  }
  for (const fs::path& file : files)
    if (auto trace = read_gloo_trace(file)) traces.push_back(std::move(*trace));
  std::ranges::stable_sort(traces, {}, &GlooTrace::rank);
  return traces;
}

[[noreturn]] void fail_traces(const fs::path& path, std::string message, Hint hint) {
  throw InputError({path.filename().string(), "", std::move(message), std::move(hint)});
}

/// Requires traces of one job: each rank once, with the same number and sizes of all-reduces.
void require_one_job(const std::vector<GlooTrace>& traces, const fs::path& path) {
  std::set<std::int64_t> ranks;
  const GlooTrace& first = traces.front();
  for (const GlooTrace& trace : traces) {
    if (!ranks.insert(trace.rank).second)
      fail_traces(path, fmt::format("contains two traces of rank {}", trace.rank),
                  "Give the traces of one job, one per rank");
    const bool alike = trace.world_size == first.world_size &&
                       std::ranges::equal(trace.all_reduces, first.all_reduces, {},
                                          &GlooTrace::AllReduce::size, &GlooTrace::AllReduce::size);
    if (!alike)
      fail_traces(path,
                  fmt::format("the all-reduces of rank {} differ from those of rank {}", trace.rank,
                              first.rank),
                  "Give traces of the same steps of one job");
  }
}

}  // namespace

std::optional<MeasuredLog> gloo_trace_log(const fs::path& path) {
  std::vector<GlooTrace> traces = gloo_traces_in(path);
  if (traces.empty()) return std::nullopt;
  require_one_job(traces, path);
  const GlooTrace& first = traces.front();
  const bool joined =
      first.world_size > 1 && traces.size() == static_cast<std::size_t>(first.world_size);
  MeasuredLog log;
  log.source = path.string();
  log.ranks = first.world_size;
  log.gpu = first.gpu;
  log.backend = "gloo";
  log.timed_by = joined ? TimedBy::joined_ranks : TimedBy::one_rank;
  log.steps.emplace_back();
  for (std::size_t i = 0; i < first.all_reduces.size(); ++i) {
    const GlooTrace::AllReduce& one = first.all_reduces[i];
    double least = one.time_us;  // the last rank to arrive waits for nobody
    for (const GlooTrace& trace : traces) least = std::min(least, trace.all_reduces[i].time_us);
    log.steps.back().push_back({one.size, one.start_us + one.time_us - least, least});
    log.points.push_back(
        {.size = one.size, .time_us = least, .in_place_us = {}, .place = {}, .wrong_in_place = {}});
  }
  log.recognised.push_back(fmt::format("{} all-reduces in PyTorch traces of {} of {} ranks",
                                       log.points.size(), traces.size(), log.ranks));
  return log;
}

}  // namespace ddpsim
