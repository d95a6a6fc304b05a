// A Perfetto trace event by event, with times in nanoseconds.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/sim/values/link_loads.hpp"
#include "perfetto_trace.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::perfetto_trace;
using sample::at;

namespace {

using Lines = std::vector<std::string>;

/// An event as text: time, track, what happens, its arguments, and the arrow that it is on (">1")
/// or ends ("|1"). Examples: "21000 rank 0/host: begin launch bucket=0 >1"; for a counter, "26000
/// rank 0/bytes in flight: 3145728".
Lines transcript(const Decoded& decoded) {
  Lines lines;
  for (const Event& event : decoded.events) {
    const std::string kTypes[] = {"?", "begin", "end", "mark", fmt::format("{:g}", event.value)};
    std::string line =
        std::to_string(event.time) + ' ' + decoded.path(event.track) + ": " + kTypes[event.type];
    if (!event.name.empty()) line += ' ' + event.name;
    for (const auto& [name, value] : event.arguments) line += ' ' + name + '=' + value;
    for (const std::uint64_t flow : event.flows) line += " >" + std::to_string(flow);
    for (const std::uint64_t flow : event.flow_ends) line += " |" + std::to_string(flow);
    lines.push_back(line);
  }
  return lines;
}

Lines transcript(const Timeline& timeline, const std::vector<BucketResult>& buckets,
                 const Timeline* measured = nullptr) {
  const Decoded decoded = decode(perfetto(timeline, buckets, {.other = measured}));
  check_nesting(decoded);
  return transcript(decoded);
}

Timeline of_rank(int rank, std::vector<Span> spans) {
  Timeline timeline;
  timeline.ranks.push_back({.rank = rank, .spans = std::move(spans)});
  return timeline;
}

Span span(Track track, const char* name, Duration start, Duration end,
          std::optional<std::size_t> bucket = std::nullopt) {
  return {track, name, bucket, at(start), at(end)};
}

/// A bucket that is ready at 20 us, launched at 22 and started at 24. The last rank arrives at 26
/// and it is done at 40.
BucketResult bucket() {
  BucketResult one;
  one.bucket = {.parameters = {2, 1}, .bytes = 3_MiB, .limit = 1_MiB, .closed_by = ClosedBy::limit};
  one.bytes = 3_MiB;
  one.ready = at(20_us);
  one.launch = at(22_us);
  one.start = at(24_us);
  one.last_arrival = at(26_us);
  one.last_rank = 5;
  one.end = at(40_us);
  one.choice = CollectiveChoice{Algorithm::tree, Protocol::ll128, 12};
  one.exposed_because = "late";
  return one;
}

Timeline step() {
  return of_rank(0, {span(Track::compute, "forward", 0_us, 10_us),
                     span(Track::compute, "backward", 10_us, 30_us),
                     span(Track::host, "launch", 21_us, 22_us, 0),
                     span(Track::communication, "all_reduce", 24_us, 40_us, 0)});
}

}  // namespace

TEST_CASE("perfetto events: a step of one bucket") {
  const std::string track = " rank 0/buckets/bucket 0 (3.00 MiB): ";
  CHECK(transcript(step(), {bucket()}) ==
        Lines{"0 rank 0/compute: begin forward",
              "10000 rank 0/compute: end",
              "10000 rank 0/compute: begin backward",
              "20000 rank 0/compute: mark bucket 0 ready >1",
              "20000" + track +
                  "begin bucket 0 algorithm=tree bytes=3145728 channels=12 closed_by=limit "
                  "exposed_because=late "
                  "last_rank=5 protocol=LL128 tensors=2",
              "20000" + track + "begin ready, waits for launch",
              "21000 rank 0/host: begin launch bucket=0 >1",
              "22000 rank 0/host: end",
              "22000" + track + "end",
              "22000" + track + "begin queued",
              "24000 rank 0/communication: begin all_reduce bucket=0 >1",
              "24000" + track + "end",
              "24000" + track + "begin waits for ranks",
              "26000" + track + "end",
              "26000" + track + "begin all_reduce",
              "30000 rank 0/compute: end",
              "40000 rank 0/communication: end",
              "40000 rank 0/communication: mark bucket 0 done |1",
              "40000" + track + "end",
              "40000" + track + "end"});
}

TEST_CASE("perfetto events: slices name the parameters they hold") {
  Timeline timeline = step();
  timeline.ranks[0].spans[1].parameters = SpanParameters{"fc.bias", "conv1.weight", 3};
  timeline.ranks[0].spans[3].parameters = SpanParameters{"fc.bias", "fc.weight", 2};
  const Lines lines = transcript(timeline, {bucket()});
  const auto holds = [&](const std::string& line) {
    return std::ranges::find(lines, line) != lines.end();
  };
  CHECK(holds(
      "10000 rank 0/compute: begin backward first_parameter=fc.bias last_parameter=conv1.weight "
      "tensors=3"));
  CHECK(
      holds("24000 rank 0/communication: begin all_reduce bucket=0 first_parameter=fc.bias "
            "last_parameter=fc.weight tensors=2 >1"));
  CHECK(
      holds("20000 rank 0/buckets/bucket 0 (3.00 MiB): begin bucket 0 algorithm=tree bytes=3145728 "
            "channels=12 closed_by=limit exposed_because=late first_parameter=fc.bias "
            "last_parameter=fc.weight last_rank=5 protocol=LL128 tensors=2"));
}

TEST_CASE(
    "perfetto events: what the timeline does not show gets marks; what nobody chose has no "
    "arguments") {
  BucketResult one = bucket();
  one.choice.reset();
  one.exposed_because.clear();
  one.launch = at(18_us);  // before the gradients
  one.start = at(20_us);
  one.last_arrival = at(20_us);
  const std::string track = " rank 0/buckets/bucket 0 (3.00 MiB): ";
  CHECK(
      transcript({}, {one}) ==
      Lines{"18000 rank 0/host: mark bucket 0 launch >1",
            "18000" + track + "begin bucket 0 bytes=3145728 closed_by=limit last_rank=5 tensors=2",
            "18000" + track + "begin launched, waits for gradients",
            "20000 rank 0/compute: mark bucket 0 ready >1",
            "20000 rank 0/communication: mark bucket 0 start >1", "20000" + track + "end",
            "20000" + track + "begin all_reduce",
            "40000 rank 0/communication: mark bucket 0 done |1", "40000" + track + "end",
            "40000" + track + "end"});
}

TEST_CASE(
    "perfetto events: picoseconds are rounded to the nearest nanosecond, before zero as well") {
  const auto ps = [](std::int64_t count) { return Duration::picoseconds(count); };
  const Timeline timeline = of_rank(0, {span(Track::host, "a", ps(-10'000), ps(-1'501)),
                                        span(Track::compute, "b", ps(-1'500), ps(1'499)),
                                        span(Track::communication, "c", ps(1'500), ps(2'000))});
  // Times begin at -10 ns. Rounded, -1.501 is -2, -1.5 is -1, 1.499 is 1 and 1.5 is 2.
  CHECK(transcript(timeline, {}) == Lines{"0 rank 0/host: begin a", "8 rank 0/host: end",
                                          "9 rank 0/compute: begin b", "11 rank 0/compute: end",
                                          "12 rank 0/communication: begin c",
                                          "12 rank 0/communication: end"});
}

TEST_CASE(
    "perfetto events: the earliest of spans, gradients, launches and starts becomes time zero") {
  const auto first = [](Duration ready, Duration launch, Duration start) {
    BucketResult one = bucket();
    one.ready = at(ready);
    one.launch = at(launch);
    one.start = at(start);
    return transcript(of_rank(1, {span(Track::host, "x", 0_us, 1_us)}), {one}).front();
  };
  const Duration early = -Duration::microseconds(3);
  CHECK(first(early, 1_us, 2_us).starts_with("0 rank 0/compute: mark bucket 0 ready"));
  CHECK(first(1_us, early, 2_us).starts_with("0 rank 0/host: mark bucket 0 launch"));
  CHECK(first(1_us, 2_us, early).starts_with("0 rank 0/communication: mark bucket 0 start"));
}

TEST_CASE("perfetto events: buckets belong to rank 0 only, wherever it is in the list") {
  Timeline timeline = of_rank(1, {span(Track::host, "x", 0_us, 1_us)});
  timeline.ranks.push_back({.rank = 0, .spans = {}});
  timeline.ranks.push_back({.rank = 2, .spans = {}});
  const Decoded decoded = decode(perfetto(timeline, {bucket()}));
  std::vector<std::string> paths;
  for (const auto& [uuid, info] : decoded.tracks) paths.push_back(decoded.path(uuid));
  CHECK(paths == Lines{"rank 1", "rank 1/host", "rank 1/compute", "rank 1/communication", "rank 0",
                       "rank 0/host", "rank 0/compute", "rank 0/communication", "rank 0/buckets",
                       "rank 0/buckets/bucket 0 (3.00 MiB)", "rank 2", "rank 2/host",
                       "rank 2/compute", "rank 2/communication"});
}

TEST_CASE(
    "perfetto events: processes are numbered from one, tracks stand in their order, time zero is "
    "explained") {
  Timeline timeline = of_rank(4, {span(Track::host, "x", 0_us, 1_us)});
  timeline.clock = "start of forward";
  timeline.provenance = {{"made by", "hand"}, {"on", "paper"}};
  const Decoded decoded = decode(perfetto(timeline, {}));
  REQUIRE(decoded.tracks.size() == 4);
  const TrackInfo& process = decoded.tracks.at(1);
  CHECK(process.process == "rank 4");
  CHECK(process.pid == 5);
  CHECK(process.child_order == 3);  // explicit order
  CHECK(process.description == "Time zero: start of forward.\nmade by: hand\non: paper");
  for (std::uint64_t uuid = 2; uuid <= 4; ++uuid) {
    CHECK(decoded.tracks.at(uuid).place == static_cast<int>(uuid));
    CHECK(decoded.tracks.at(uuid).parent == 1);
    CHECK(decoded.tracks.at(uuid).child_order == 3);
  }
  timeline.clock.clear();
  CHECK(decode(perfetto(timeline, {})).tracks.at(1).description == "made by: hand\non: paper");
}

TEST_CASE("perfetto events: a measured timeline has its own processes and its own start") {
  Timeline measured =
      of_rank(0, {span(Track::compute, "forward", -Duration::microseconds(2), 7_us)});
  measured.clock = "measured";
  const Decoded decoded = decode(perfetto(
      of_rank(0, {span(Track::compute, "forward", 0_us, 10_us)}), {}, {.other = &measured}));
  CHECK(transcript(decoded) == Lines{"0 measured rank 0/compute: begin forward",
                                     "2000 simulated rank 0/compute: begin forward",
                                     "9000 measured rank 0/compute: end",
                                     "12000 simulated rank 0/compute: end"});
  const TrackInfo& process = decoded.tracks.at(5);
  CHECK(process.process == "measured rank 0");
  CHECK(process.pid == 1'000'001);
  CHECK(process.description == "Time zero: measured.");
  // A measured timeline that begins later does not move time zero.
  measured.ranks[0].spans[0].start = at(3_us);
  CHECK(transcript(of_rank(0, {span(Track::compute, "forward", 0_us, 10_us)}), {}, &measured)
            .front() == "0 simulated rank 0/compute: begin forward");
  const Decoded recorded =
      decode(perfetto(step(), {}, {.other = &measured, .other_is = "recorded"}));
  CHECK(std::ranges::count_if(recorded.tracks, [](const auto& track) {
          return track.second.process == "recorded rank 0";
        }) == 1);
}

TEST_CASE("perfetto events: slices nest with the longest outside, or else go to another lane") {
  const auto lanes = [](std::vector<Span> spans) {
    const Decoded decoded = decode(perfetto(of_rank(0, std::move(spans)), {}));
    check_nesting(decoded);
    Lines lines;
    for (const Event& event : decoded.events)
      if (event.type == 1) lines.push_back(event.name + std::to_string(event.track));
    return lines;
  };
  // Track 2 is the host's. Track 3 is another lane of it, if one is needed.
  CHECK(lanes({span(Track::host, "in", 0_us, 4_us), span(Track::host, "out", 0_us, 9_us)}) ==
        Lines{"out2", "in2"});
  CHECK(lanes({span(Track::host, "a", 0_us, 4_us), span(Track::host, "b", 4_us, 9_us)}) ==
        Lines{"a2", "b2"});
  CHECK(lanes({span(Track::host, "a", 0_us, 4_us), span(Track::host, "b", 1_us, 4_us)}) ==
        Lines{"a2", "b2"});
  CHECK(lanes({span(Track::host, "a", 0_us, 4_us), span(Track::host, "b", 3_us, 5_us)}) ==
        Lines{"a2", "b3"});
  CHECK(lanes({span(Track::host, "a", 0_us, 4_us), span(Track::host, "b", 3_us, 5_us),
               span(Track::host, "c", 4_us, 6_us)}) == Lines{"a2", "b3", "c2"});
}

TEST_CASE(
    "perfetto events: a span that ends before it starts has no length; nor has a bucket without "
    "any") {
  CHECK(transcript(of_rank(0, {span(Track::host, "x", 5_us, 3_us)}), {}) ==
        Lines{"5000 rank 0/host: begin x", "5000 rank 0/host: end"});
  BucketResult one = bucket();
  one.ready = one.launch = one.start = one.last_arrival = one.end;
  CHECK(transcript({}, {one}) == Lines{"40000 rank 0/host: mark bucket 0 launch >1",
                                       "40000 rank 0/compute: mark bucket 0 ready >1",
                                       "40000 rank 0/communication: mark bucket 0 start >1",
                                       "40000 rank 0/communication: mark bucket 0 done |1"});
}

TEST_CASE("perfetto events: each bucket has its own arrow through its own spans") {
  Timeline timeline = step();
  timeline.ranks[0].spans.push_back(span(Track::host, "launch", 23_us, 24_us, 1));
  BucketResult second = bucket();
  second.launch = at(24_us);
  const Lines lines = transcript(timeline, {bucket(), second});
  for (const char* line : {"21000 rank 0/host: begin launch bucket=0 >1",
                           "23000 rank 0/host: begin launch bucket=1 >2",
                           "20000 rank 0/compute: mark bucket 1 ready >2",
                           "24000 rank 0/communication: mark bucket 1 start >2",
                           "40000 rank 0/communication: mark bucket 1 done |2"})
    CHECK(std::count(lines.begin(), lines.end(), line) == 1);
}

TEST_CASE("perfetto events: with a job there are counters, and buckets list their parameters") {
  Cluster cluster = small::node(4);
  LinkLoad ring;
  ring.local[static_cast<std::size_t>(LinkKind::nvlink)] = 1e-12;
  cluster.loads =
      std::make_shared<const LinkLoads>(LinkLoads{.by_channels = {std::vector{ring}, {}}});
  const Job job(sample::workload(), cluster, {}, AnalyticModel{});
  BucketResult one = bucket();
  one.choice->algorithm = Algorithm::ring;
  const Decoded decoded = decode(perfetto({}, {one}, {.job = &job}));
  check_nesting(decoded);
  const Lines lines = transcript(decoded);
  // 1.5 * 3 MiB in 14 us are 337 GB/s. The load counts one picosecond for each byte.
  for (const char* line :
       {"20000 rank 0/buckets waiting: 1", "24000 rank 0/buckets waiting: 0",
        "26000 rank 0/bytes in flight: 3.14573e+06", "40000 rank 0/bytes in flight: 0",
        "26000 rank 0/bus bandwidth: 337.042", "40000 rank 0/bus bandwidth: 0",
        "26000 rank 0/busiest nvlink link: 33.7", "40000 rank 0/busiest nvlink link: 0"})
    CHECK_MESSAGE(std::count(lines.begin(), lines.end(), line) == 1, line);
  std::map<std::string, std::string> units;
  for (const auto& [uuid, info] : decoded.tracks)
    if (info.counts) units[info.name] = *info.counts;
  CHECK(units == std::map<std::string, std::string>{{"buckets waiting", "2"},
                                                    {"bytes in flight", "3"},
                                                    {"bus bandwidth", "GB/s"},
                                                    {"busiest nvlink link", "%"}});
  CHECK(named(decoded, "rank 0/buckets/bucket 0 (3.00 MiB)", "bucket 0")[0].arguments.at(
            "parameters") == "fc.weight, conv.bias");
}

TEST_CASE("perfetto events: allocated memory is a counter, also without buckets") {
  const Job job(small::chain({{100, 10}, {100, 20}}, 10, 20), small::node(4), {}, AnalyticModel{});
  PeakMemory memory;
  memory.activations = Activations{.bytes = Bytes(0), .held = {}, .by = {}};
  memory.by_gradient = {Bytes(1000), Bytes(1500)};
  const SpanParameters all{"fc.weight", "conv.bias", 2};
  Span backward{.name = "backward", .bucket = {}, .start = {}, .end = TimePoint() + 10_us};
  backward.parameters = all;
  const Timeline timeline{
      .ranks = {{.rank = 0, .spans = {backward}}}, .clock = "", .provenance = {}};
  const Lines lines = transcript(decode(perfetto(timeline, {}, {.job = &job, .memory = &memory})));
  CHECK(std::count(lines.begin(), lines.end(), "0 rank 0/memory allocated: 1000") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "5000 rank 0/memory allocated: 1500") == 1);
}

TEST_CASE("perfetto events: only the first of thousands of parameters are named") {
  Workload workload;
  BucketResult one = bucket();
  one.bucket.parameters.clear();
  for (std::size_t k = 0; k < 5000; ++k) {
    workload.parameters.push_back({.name = fmt::format("p{}", k)});
    one.bucket.parameters.push_back(k);
  }
  const Job job(workload, small::node(4), {}, AnalyticModel{});
  const auto named_in = [&] {
    const Decoded decoded = decode(perfetto({}, {one}, {.job = &job}));
    return named(decoded, "rank 0/buckets/bucket 0 (3.00 MiB)", "bucket 0")[0].arguments.at(
        "parameters");
  };
  CHECK(named_in().ends_with("p30, p31, … and 4968 more"));
  one.bucket.parameters.resize(32);
  CHECK(named_in().ends_with("p30, p31"));
}
