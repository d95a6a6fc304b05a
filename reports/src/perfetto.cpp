// A Perfetto trace, packet by packet (https://ui.perfetto.dev opens it; nothing else is needed).
//
//   rank N            one process per rank of the timeline
//                     "(slowest GPU)", whose instants the buckets are, and "(usual GPU)", which waits for it, where
//                     GPUs of one model differ in speed alone
//   measured rank N   the same of a measured timeline laid beside
//     host            what the CPU thread does; launches
//     compute         forward, backward, copies, optimizer, waits for launches and other ranks; a mark where a bucket
//                     becomes ready
//     communication   NCCL kernels, their wait for the last rank included
//     buckets         (rank 0) one track per bucket: waits for launch, queued, waits for ranks,
//                     all_reduce, with size and NCCL's choice as arguments
//
// Slices of backward and of buckets name the first and the last parameter whose gradients they hold.
//
// Arrows follow each bucket from ready through launch and start to done. Slices on one track must
// nest; one that would not goes to a further track of the same name. Timestamps are nanoseconds;
// track and flow ids are counters, so the same timeline gives the same bytes.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "ddpsim/reports/reports.hpp"
#include "perfetto_writer.hpp"
#include "text_layout.hpp"

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

/// What stands on the tracks of one rank, before arrows are added.
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

  /// The span of this bucket joins the arrow; false when the track holds none.
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

/// The life of a bucket. The host may enqueue before the gradients are written or after.
std::vector<Drawn> bucket_slices(std::size_t index, const BucketResult& bucket,
                                 const std::optional<SpanParameters>& parameters) {
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

void add_rank(TraceWriter& trace, const std::string& description, const RankTimeline& timeline,
              const std::vector<BucketResult>& buckets, bool measured = false) {
  RankDrawing drawing(timeline);
  for (std::size_t i = 0; i < buckets.size(); ++i) add_arrows(drawing, i, buckets[i], i + 1);
  const std::uint64_t process =
      trace.add_process(timeline.rank, timeline.gpu, description, measured);
  for (const Track track : kTracks) {
    trace.add_lanes(process, std::string(name_of(track)), std::move(drawing.on(track)));
  }
  if (buckets.empty()) return;
  const std::uint64_t group = trace.add_track(process, "buckets");
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    trace.add_lanes(group, fmt::format("bucket {} ({} MiB)", i, mebibytes(buckets[i].bucket.bytes)),
                    bucket_slices(i, buckets[i], parameters_of(i, timeline)));
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
                     const Timeline* measured) {
  constexpr int kReportedRank = 0;  // the buckets of a result are rank 0's
  const std::int64_t first = origin(timeline, buckets);
  TraceWriter trace(measured == nullptr ? first : std::min(first, origin(*measured, {})));
  const std::string about = description(timeline);
  bool buckets_drawn = buckets.empty();
  for (const RankTimeline& rank : timeline.ranks) {
    const bool here = rank.rank == kReportedRank && !buckets_drawn;
    add_rank(trace, about, rank, here ? buckets : std::vector<BucketResult>{});
    buckets_drawn = buckets_drawn || here;
  }
  if (!buckets_drawn) add_rank(trace, about, {.rank = kReportedRank, .spans = {}}, buckets);
  if (measured != nullptr) {
    for (const RankTimeline& rank : measured->ranks)
      add_rank(trace, description(*measured), rank, {}, true);
  }
  return std::move(trace).finish();
}

}  // namespace ddpsim
