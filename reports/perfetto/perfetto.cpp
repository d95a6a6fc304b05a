// Writes a Perfetto trace packet by packet. https://ui.perfetto.dev opens it; nothing else is
// needed.
//
// Processes and their tracks:
//
//   rank N            One process per rank of the timeline. It is called "simulated rank N" if
//                     there is a second timeline. If GPUs of one model differ in speed, two ranks
//                     are drawn: "(slowest GPU)", which the buckets belong to, and "(usual GPU)",
//                     which waits for it.
//
//   measured rank N   The same for the second timeline, which is measured or recorded.
//
//     host            Work of the CPU thread, and launches.
//
//     compute         Forward, backward, copies, optimizer, and waits for launches and other ranks.
//                     A mark shows when a bucket is ready.
//
//     communication   NCCL kernels, including their wait for the last rank.
//
//     counters        (rank 0) Buckets waiting, bytes in flight, bus bandwidth, and load of the
//                     busiest link of each kind (step_counters.hpp). Memory allocated
//                     (memory_over_time.hpp).
//
//     buckets         (rank 0) One track per bucket: waits for launch, queued, waits for ranks, and
//                     all_reduce. Arguments are the size, NCCL's choice and names of parameters.
//
// Arrows follow each bucket from ready through launch and start to done. Slices on one track must
// nest, so a slice that does not goes to another track of the same name. Timestamps are
// nanoseconds. Track and flow ids are counters, so the same timeline gives the same bytes.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/attribution/step_counters.hpp"
#include "ddpsim/sim/memory/memory_over_time.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "perfetto_writer.hpp"
#include "text_layout.hpp"
#include "topo_words.hpp"

namespace ddpsim {
namespace {

std::int64_t nanoseconds(TimePoint instant) {
  constexpr std::int64_t kHalf = 500;
  const std::int64_t ps = instant.since_start().picoseconds();
  const std::int64_t whole = ps / 1000;
  const std::int64_t rest = ps % 1000;
  if (rest >= kHalf) return whole + 1;
  return rest < -kHalf ? whole - 1 : whole;
}

void add_names(const std::optional<SpanParameters>& parameters, std::vector<Argument>& arguments) {
  if (!parameters) return;
  arguments.push_back({"first_parameter", parameters->first, std::nullopt});
  arguments.push_back({"last_parameter", parameters->last, std::nullopt});
}

/// "fc.bias, fc.weight, … and 12 more". The list is cut, because a bucket may hold thousands of
/// parameters.
std::string names_in(const Bucket& bucket, const Workload& workload) {
  constexpr std::size_t kMostNames = 32;
  const std::size_t named = std::min(bucket.parameters.size(), kMostNames);
  std::string names;
  for (std::size_t k = 0; k < named; ++k)
    names += (k == 0 ? "" : ", ") + workload.parameters[bucket.parameters[k]].name;
  if (named < bucket.parameters.size())
    names += fmt::format(", … and {} more", bucket.parameters.size() - named);
  return names;
}

std::vector<Argument> bucket_arguments(const BucketResult& bucket) {
  std::vector<Argument> arguments = {
      {"bytes", "", bucket.bucket.bytes.count()},
      {"tensors", "", static_cast<std::int64_t>(bucket.bucket.parameters.size())},
      {"closed_by", std::string(name_of(bucket.bucket.closed_by)), std::nullopt},
      {"last_rank", "", bucket.last_rank},
  };
  if (bucket.choice) {
    arguments.push_back(
        {"algorithm", std::string(name_of(bucket.choice->algorithm)), std::nullopt});
    arguments.push_back({"protocol", std::string(name_of(bucket.choice->protocol)), std::nullopt});
    arguments.push_back({"channels", "", bucket.choice->channels});
  }
  if (!bucket.exposed_because.empty()) {
    arguments.push_back({"exposed_because", bucket.exposed_because, std::nullopt});
  }
  return arguments;
}

Drawn mark_at(TimePoint instant, std::string name, std::uint64_t flow) {
  const std::int64_t time = nanoseconds(instant);
  return {.name = std::move(name), .start = time, .end = time, .mark = true, .flow = flow};
}

constexpr std::array kTracks = {Track::host, Track::compute, Track::communication};

/// The slices on the tracks of one rank, before arrows are added.
struct RankDrawing {
  std::array<std::vector<Drawn>, kTracks.size()> tracks;
  std::array<std::vector<std::optional<std::size_t>>, kTracks.size()> buckets_of;

  explicit RankDrawing(const RankTimeline& timeline) {
    for (const Span& span : timeline.spans) {
      const auto track = static_cast<std::size_t>(span.track);
      std::vector<Argument> arguments;
      if (span.bucket) {
        arguments.push_back({"bucket", "", static_cast<std::int64_t>(*span.bucket)});
      }
      if (span.parameters) arguments.push_back({"tensors", "", span.parameters->count});
      add_names(span.parameters, arguments);
      tracks[track].push_back({.name = span.name,
                               .start = nanoseconds(span.start),
                               .end = std::max(nanoseconds(span.start), nanoseconds(span.end)),
                               .arguments = std::move(arguments)});
      buckets_of[track].push_back(span.bucket);
    }
  }

  std::vector<Drawn>& on(Track track) { return tracks[static_cast<std::size_t>(track)]; }

  /// Adds the bucket's span on this track to the arrow. Returns false if the track has none.
  bool join(Track track, std::size_t bucket, std::uint64_t flow) {
    const auto& buckets = buckets_of[static_cast<std::size_t>(track)];
    const auto found = std::find(buckets.begin(), buckets.end(), std::optional(bucket));
    if (found == buckets.end()) return false;
    on(track)[static_cast<std::size_t>(found - buckets.begin())].flow = flow;
    return true;
  }
};

void add_arrows(RankDrawing& rank, std::size_t index, const BucketResult& bucket,
                std::uint64_t flow) {
  const bool launched = rank.join(Track::host, index, flow);
  const bool started = rank.join(Track::communication, index, flow);
  const auto name = [index](const char* what) { return fmt::format("bucket {} {}", index, what); };
  rank.on(Track::compute).push_back(mark_at(bucket.ready, name("ready"), flow));
  if (!launched) rank.on(Track::host).push_back(mark_at(bucket.launch, name("launch"), flow));
  auto& communication = rank.on(Track::communication);
  if (!started) communication.push_back(mark_at(bucket.start, name("start"), flow));
  communication.push_back(mark_at(bucket.end, name("done"), flow));
  communication.back().flow_ends = true;
}

/// The phases of a bucket. The host may enqueue it before or after its gradients are written.
std::vector<Drawn> bucket_slices(std::size_t index, const BucketResult& bucket,
                                 const std::optional<SpanParameters>& parameters, const Job* job) {
  const TimePoint first = std::min(bucket.ready, bucket.launch);
  const TimePoint both = std::max(bucket.ready, bucket.launch);
  std::vector<Drawn> slices;
  const auto add = [&slices](const std::string& name, TimePoint from, TimePoint to) {
    if (from < to) {
      slices.push_back({.name = name, .start = nanoseconds(from), .end = nanoseconds(to)});
    }
  };
  add(fmt::format("bucket {}", index), first, std::max(both, bucket.end));
  if (!slices.empty()) {
    slices.back().arguments = bucket_arguments(bucket);
    add_names(parameters, slices.back().arguments);
    if (job != nullptr)
      slices.back().arguments.push_back(
          {"parameters", names_in(bucket.bucket, job->workload()), std::nullopt});
  }
  add(bucket.ready <= bucket.launch ? "ready, waits for launch" : "launched, waits for gradients",
      first, both);
  add("queued", both, bucket.start);
  add("waits for ranks", bucket.start, bucket.last_arrival);
  add("all_reduce", bucket.last_arrival, bucket.end);
  return slices;
}

std::optional<SpanParameters> parameters_of(std::size_t bucket, const RankTimeline& timeline) {
  for (const Span& span : timeline.spans)
    if (span.track == Track::communication && span.bucket == bucket) return span.parameters;
  return std::nullopt;
}

/// The processes of one timeline.
struct Processes {
  std::string called;  ///< "measured ", in front of the rank
  int first_pid = 1;
  std::string description;
};

std::uint64_t add_rank(TraceWriter& trace, const Processes& processes, const RankTimeline& timeline,
                       const std::vector<BucketResult>& buckets) {
  RankDrawing drawing(timeline);
  for (std::size_t i = 0; i < buckets.size(); ++i) add_arrows(drawing, i, buckets[i], i + 1);
  const std::string name =
      fmt::format("{}rank {}{}", processes.called, timeline.rank,
                  timeline.gpu.empty() ? "" : fmt::format(" ({} GPU)", timeline.gpu));
  const std::uint64_t process =
      trace.add_process(processes.first_pid + timeline.rank, name, processes.description);
  for (const Track track : kTracks) {
    trace.add_lanes(process, std::string(name_of(track)), std::move(drawing.on(track)));
  }
  return process;
}

void add_counter(TraceWriter& trace, std::uint64_t process, const std::string& name,
                 const CounterUnit& unit, const CounterLevels& levels, double scale = 1) {
  if (levels.empty()) return;
  std::vector<CounterValue> values;
  for (const CounterLevel& level : levels)
    values.push_back({nanoseconds(level.from), static_cast<double>(level.value) / scale});
  trace.add_counter(process, name, unit, values);
}

void add_counters(TraceWriter& trace, std::uint64_t process, const StepCounters& counters,
                  GpuVendor vendor) {
  using Known = CounterUnit::Known;
  add_counter(trace, process, "buckets waiting", {.known = Known::count}, counters.buckets_waiting);
  add_counter(trace, process, "bytes in flight", {.known = Known::bytes}, counters.bytes_in_flight);
  add_counter(trace, process, "bus bandwidth", {.name = "GB/s"}, counters.bus_bandwidth, 1e9);
  constexpr double kTenths = 10;
  for (std::size_t kind = 0; kind < kLinkKinds; ++kind)
    add_counter(trace, process,
                fmt::format("busiest {} link", kind_word(static_cast<LinkKind>(kind), vendor)),
                {.name = "%"}, counters.link_load[kind], kTenths);
}

void add_counters(TraceWriter& trace, std::uint64_t process, const RankTimeline& timeline,
                  const std::vector<BucketResult>& buckets, const PerfettoBeside& beside) {
  if (beside.job == nullptr) return;
  add_counters(trace, process, step_counters(buckets, *beside.job),
               beside.job->cluster().gpu.vendor);
  if (beside.memory != nullptr)
    add_counter(trace, process, "memory allocated", {.known = CounterUnit::Known::bytes},
                memory_over_time(*beside.memory, beside.job->workload(), timeline));
}

void add_buckets(TraceWriter& trace, std::uint64_t process, const RankTimeline& timeline,
                 const std::vector<BucketResult>& buckets, const Job* job) {
  if (buckets.empty()) return;
  const std::uint64_t group = trace.add_track(process, "buckets");
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    trace.add_lanes(group, fmt::format("bucket {} ({} MiB)", i, mebibytes(buckets[i].bucket.bytes)),
                    bucket_slices(i, buckets[i], parameters_of(i, timeline), job));
  }
}

std::int64_t origin(const Timeline& timeline, const std::vector<BucketResult>& buckets) {
  TimePoint first;
  for (const RankTimeline& rank : timeline.ranks) {
    for (const Span& span : rank.spans) first = std::min(first, span.start);
  }
  for (const BucketResult& bucket : buckets) {
    first = std::min({first, bucket.ready, bucket.launch, bucket.start});
  }
  return nanoseconds(first);
}

std::string description(const Timeline& timeline) {
  std::string text = timeline.clock.empty() ? "" : fmt::format("Time zero: {}.", timeline.clock);
  for (const auto& [key, value] : timeline.provenance) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", key, value);
  }
  return text;
}

}  // namespace

std::string perfetto(const Timeline& timeline, const std::vector<BucketResult>& buckets,
                     const PerfettoBeside& beside) {
  constexpr int kReportedRank = 0;         // owner of the buckets
  constexpr int kFirstBeside = 1'000'001;  // first pid of the second timeline
  const std::int64_t first = origin(timeline, buckets);
  TraceWriter trace(beside.other == nullptr ? first : std::min(first, origin(*beside.other, {})));
  const Processes own{.called = beside.other == nullptr ? "" : "simulated ",
                      .description = description(timeline)};
  bool reported = false;
  const auto add = [&](const RankTimeline& rank) {
    const bool here = rank.rank == kReportedRank && !reported;
    const std::uint64_t process =
        add_rank(trace, own, rank, here ? buckets : std::vector<BucketResult>{});
    if (!here) return;
    add_counters(trace, process, rank, buckets, beside);
    add_buckets(trace, process, rank, buckets, beside.job);
    reported = true;
  };
  for (const RankTimeline& rank : timeline.ranks) add(rank);
  if (!reported && !buckets.empty()) add({.rank = kReportedRank, .spans = {}});
  if (beside.other == nullptr) return std::move(trace).finish();
  const Processes others{.called = std::string(beside.other_is) + ' ',
                         .first_pid = kFirstBeside,
                         .description = description(*beside.other)};
  for (const RankTimeline& rank : beside.other->ranks) add_rank(trace, others, rank, {});
  return std::move(trace).finish();
}

}  // namespace ddpsim
