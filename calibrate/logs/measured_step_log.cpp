#include "measured_step_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "collective_records.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/traces/timeline_file.hpp"
#include "real_setup.hpp"

namespace ddpsim {
namespace {

constexpr double kSpanHalfUnit = 0.5e-6;  // written to a picosecond

[[noreturn]] void fail(const std::string& file, const char* where, std::string message, Hint hint) {
  throw InputError({file, where, std::move(message), std::move(hint)});
}

/// Sizes on the wire, in launch order.
std::vector<std::int64_t> sizes_of(const Timeline& timeline, const std::string& file) {
  const auto said = words_in(timeline.provenance);
  const auto text = said("bucket_bytes");
  if (!text)
    fail(file, "/provenance", "bucket_bytes is missing, the sizes of its all-reduces",
         "Give the bytes of its buckets in launch order, as ddpsim-real does");
  std::vector<std::int64_t> sizes;
  for (const std::string_view word : words_of(*text)) {
    const auto bytes = parse_number<std::int64_t>(word);
    if (!bytes || *bytes < 0 || *bytes > kMostNotedBytes)
      fail(file, "/provenance/bucket_bytes", fmt::format("{} is not a number of bytes", word),
           "Expected whole numbers, one per bucket");
    sizes.push_back(*bytes / wire_share(said));
  }
  return sizes;
}

/// By bucket, over the ranks that timed it.
std::map<std::size_t, NotedCollective> all_reduces_of(const Timeline& timeline,
                                                      const std::vector<std::int64_t>& sizes,
                                                      const std::string& file) {
  std::map<std::size_t, NotedCollective> found;
  for (const RankTimeline& rank : timeline.ranks) {
    for (const Span& span : rank.spans) {
      if (span.track != Track::communication || !span.bucket || span.end <= span.start) continue;
      if (*span.bucket >= sizes.size())
        fail(file, "/provenance/bucket_bytes",
             fmt::format("has {} buckets, but a span is of bucket {}", sizes.size(), *span.bucket),
             "Expected the bytes of every bucket, in launch order");
      const double us = (span.end - span.start).microseconds();
      NotedCollective& noted = found[*span.bucket];
      noted.bytes = sizes[*span.bucket];
      if (noted.ranks.empty() || us < noted.least_us) {
        noted.least_us = us;
        noted.arrival_us = span.start.since_start().microseconds();
      }
      noted.ranks.insert(rank.rank);
      noted.place = fmt::format("bucket {}", *span.bucket);
    }
  }
  std::erase_if(found, [](const auto& one) { return one.second.bytes == 0; });
  return found;
}

}  // namespace

bool is_timeline(std::string_view text) {
  constexpr std::size_t kBeginning = 4096;
  return text.substr(0, kBeginning).find("\"ddpsim.timeline/1\"") != std::string_view::npos;
}

RawLog scan_timeline(std::string_view text, const std::string& file) {
  const Timeline timeline = parse_timeline(text, file);
  if (timeline.clock.starts_with("simulated"))
    fail(file, "/clock", "is of a simulated step, which tells nothing about the cluster",
         "Give a measured step: ddpsim-real's timeline, a trace, or logs of all_reduce_perf");
  RawLog log;
  log.file = file;
  log.format = "a measured step (ddpsim.timeline/1)";
  std::vector<NotedCollective> collectives;
  for (auto& [bucket, one] : all_reduces_of(timeline, sizes_of(timeline, file), file))
    collectives.push_back(std::move(one));
  if (collectives.empty())
    fail(file, "/ranks", "it contains no all-reduce of a bucket",
         "Give a step of a job with several ranks");
  const auto said = words_in(timeline.provenance);
  const auto ranks = said("ranks");
  if (ranks) log.said.ranks = parse_number<int>(*ranks);
  const bool joined = log.said.ranks && std::ranges::all_of(collectives, [&](const auto& one) {
                        return static_cast<int>(one.ranks.size()) == *log.said.ranks;
                      });
  if (joined)
    log.recognised.push_back(
        fmt::format("{} all-reduces on all {} ranks: the shortest time of each is its transfer",
                    collectives.size(), *log.said.ranks));
  RawRun run = run_of(collectives, joined, kSpanHalfUnit);
  if (joined) {
    run.steps.emplace_back();
    for (const NotedCollective& one : collectives)
      run.steps.back().push_back({Bytes(one.bytes), one.arrival_us, one.least_us});
  }
  take_setup(said, run, log);
  log.warnings.emplace_back(kBesideCompute);
  log.runs.push_back(std::move(run));
  return log;
}

}  // namespace ddpsim
