// From operations with times to parts of the step, reasons and spans: every rule on either side, on executions
// written down by hand.
#include "summary.hpp"

#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using paper::differences;
using paper::drawn;

namespace {

/// A collective of the reducer: [start, last arrival] waits, [last arrival, end] transfers.
struct Wire {
  Duration start;
  Duration last_arrival;
  Duration end;
};

/// What rank 0 did, and what was planned for it.
struct ByHand {
  ReducerSchedule planned;
  Execution execution;

  ByHand() {
    planned.schedule.ranks.resize(1);
    execution.ranks.resize(1);
  }
  static void add(Program& program, std::vector<OperationTime>& times, const Operation& operation,
                  Duration start, Duration end) {
    program.push_back(operation);
    times.push_back({TimePoint(start), TimePoint(end)});
  }
  /// `work` at full speed; absent: it took as long as it says.
  void compute(Purpose purpose, Duration start, Duration end, std::optional<Duration> work = {},
               Action action = Action::work) {
    add(planned.schedule.ranks[0].compute, execution.ranks[0].compute,
        {.action = action, .purpose = purpose, .duration = work.value_or(end - start)}, start, end);
  }
  void wire(const Wire& wire) {
    const auto index = static_cast<std::uint32_t>(execution.collectives.size());
    planned.bucket_collectives.push_back(index);
    planned.choices.emplace_back();
    planned.schedule.collectives.push_back({.size = Bytes(1000 + index)});
    execution.collectives.push_back({.starts = {TimePoint(wire.start)},
                                     .last_arrival = TimePoint(wire.last_arrival),
                                     .end = TimePoint(wire.end)});
  }
  StepTimes times(const SimulationOptions& options = worlds::bare()) const {
    return book_times(planned, execution, Workload{}, worlds::node(2), options);
  }
};

/// Forward to 20, backward to 100, the optimizer from `optimizer` for 10 us.
ByHand step_with(const std::vector<Wire>& wires, Duration optimizer = 200_us) {
  ByHand step;
  step.compute(Purpose::forward, 0_us, 20_us);
  step.compute(Purpose::backward, 20_us, 100_us);
  step.compute(Purpose::all_reduce, 100_us, optimizer, 0_us, Action::wait);
  step.compute(Purpose::optimizer, optimizer, optimizer + 10_us);
  for (const Wire& wire : wires) step.wire(wire);
  return step;
}

/// A bucket's instants; backward ends at 100.
struct Instants {
  Duration ready;
  Duration launch;
  Duration start;
  Duration last_arrival;
  Duration end;
};

std::vector<BucketResult> described(const std::vector<Instants>& buckets) {
  ByHand step;
  std::vector<Bucket> members;
  std::vector<RankPrograms>& ranks = step.planned.schedule.ranks;
  ranks.resize(2);
  ranks[0].rank = 3;
  ranks[1].rank = 7;
  for (const Instants& bucket : buckets) {
    step.planned.ready_operation.push_back(ranks[0].compute.size());
    step.compute(Purpose::backward, 0_us, bucket.ready);
    step.planned.launch_operation.push_back(ranks[0].host.size());
    ByHand::add(ranks[0].host, step.execution.ranks[0].host, {.purpose = Purpose::launch}, 0_us,
                bucket.launch);
    step.wire({bucket.start, bucket.last_arrival, bucket.end});
    step.execution.collectives.back().last = 1;
    members.push_back({.parameters = {members.size()}});
  }
  step.compute(Purpose::backward, 0_us, 100_us);
  step.compute(Purpose::optimizer, 500_us, 900_us);
  return describe_buckets(step.planned, step.execution, members);
}

/// Why the last of the buckets is exposed.
std::string reason(const std::vector<Instants>& buckets) {
  return described(buckets).back().exposed_because;
}

/// Why the first is, with nothing in front of it and another bucket ready at `last_ready`.
std::string reason_alone(const Instants& bucket, Duration last_ready = 99_us) {
  return described({bucket, {last_ready, 0_us, 800_us, 800_us, 800_us}}).front().exposed_because;
}

const std::string kWaited = "waited for rank 7";

}  // namespace

TEST_CASE("summary: transfers beside each other count once, however they lie") {
  const auto communication = [](const std::vector<Wire>& wires) {
    return step_with(wires).times().communication;
  };
  const auto from_to = [](Duration start, Duration end) { return Wire{start, start, end}; };
  CHECK(communication({}) == Duration());
  CHECK(communication({from_to(30_us, 40_us)}) == 10_us);
  CHECK(communication({from_to(30_us, 40_us), from_to(50_us, 60_us)}) == 20_us);  // apart
  CHECK(communication({from_to(30_us, 40_us), from_to(40_us, 60_us)}) == 30_us);  // touching
  CHECK(communication({from_to(30_us, 50_us), from_to(40_us, 60_us)}) == 30_us);  // overlapping
  CHECK(communication({from_to(30_us, 60_us), from_to(40_us, 50_us)}) == 30_us);  // nested
  CHECK(communication({from_to(30_us, 60_us), from_to(40_us, 50_us), from_to(55_us, 70_us)}) ==
        40_us);
  CHECK(communication({from_to(40_us, 60_us), from_to(30_us, 50_us)}) == 30_us);  // out of order
  CHECK(communication({from_to(30_us, 40_us), from_to(35_us, 35_us), from_to(70_us, 70_us)}) ==
        10_us);  // empty
}

TEST_CASE("summary: waiting and transferring are told apart, and both are exposed after backward") {
  // Waits 60 to 90 and 85 to 130, transfers 90 to 110 and 130 to 150.
  const ByHand step = step_with({{60_us, 90_us, 110_us}, {85_us, 130_us, 150_us}});
  CHECK(differences(step.times(), {.iteration = 210_us,
                                   .forward = 20_us,
                                   .backward = 80_us,
                                   .backward_compute = 80_us,
                                   .communication = 40_us,
                                   .wait = 70_us,
                                   .exposed_communication = 50_us,
                                   .overlap = 1 - 30 / 40.0,
                                   .optimizer = 10_us,
                                   .stall = 50_us}) == "");
}

TEST_CASE("summary: overlap is of transfers alone, and absent without any") {
  CHECK(step_with({{30_us, 40_us, 100_us}}).times().overlap == 1);
  CHECK(step_with({{30_us, 100_us, 140_us}}).times().overlap == 0);
  CHECK(step_with({{30_us, 80_us, 160_us}}).times().overlap == 0.25);
  CHECK_FALSE(step_with({{30_us, 60_us, 60_us}}).times().overlap);
  CHECK_FALSE(step_with({}).times().overlap);
}

TEST_CASE("summary: the map of used parameters is communication, buffer broadcasts are not") {
  ByHand step = step_with({{30_us, 30_us, 40_us}, {50_us, 60_us, 80_us}});
  step.planned.bucket_collectives.pop_back();
  CHECK(step.times().communication == 10_us);
  CHECK(step.times().wait == Duration());
  step.planned.local_used_map = 1;
  CHECK(step.times().communication == 30_us);
  CHECK(step.times().wait == 10_us);
}

TEST_CASE("summary: what is exposed ends where the optimizer begins") {
  // Gradients of the last bucket are used before its end only in a schedule of another kind.
  const StepTimes times = step_with({{90_us, 90_us, 190_us}}, 150_us).times();
  CHECK(times.exposed_communication == 50_us);
  CHECK(times.optimizer == 10_us);
  CHECK(times.iteration == 160_us);
}

TEST_CASE("summary: a copy out costs what of it no communication hides") {
  // The wire is busy to 130 and from 150 to 170. Copies 110 to 140 (10 beyond), 140 to 160 (10), 165 to 175 (5),
  // then an event to 180.
  ByHand step;
  step.compute(Purpose::forward, 0_us, 20_us);
  step.compute(Purpose::backward, 20_us, 100_us);
  step.compute(Purpose::all_reduce, 100_us, 110_us, 0_us, Action::wait);
  step.compute(Purpose::copy_out, 110_us, 140_us);
  step.compute(Purpose::copy_out, 140_us, 160_us);
  step.compute(Purpose::all_reduce, 160_us, 165_us, 0_us, Action::wait);
  step.compute(Purpose::copy_out, 165_us, 175_us);
  step.compute(Purpose::local_used_map, 175_us, 180_us, 0_us, Action::wait);
  step.compute(Purpose::optimizer, 180_us, 183_us);
  step.wire({90_us, 95_us, 130_us});
  step.wire({150_us, 160_us, 170_us});
  CHECK(differences(step.times(), {.iteration = 183_us,
                                   .forward = 20_us,
                                   .backward = 80_us,
                                   .backward_compute = 80_us,
                                   .communication = 45_us,
                                   .wait = 15_us,
                                   .exposed_communication = 50_us,
                                   .overlap = 1 - 40 / 45.0,
                                   .finalize = 25_us,
                                   .optimizer = 3_us,
                                   .stall = 5_us}) == "");
}

TEST_CASE("summary: each purpose is booked to its part, waiting in front of it included") {
  // Buffer copies 5, their broadcast and its way back 12, copies 3; rebuilding 30; forward to 90.
  // Backward: 20 of work in 25 (slowed), 2 us of waiting for a host before a cast, a copy of 4 in 6.
  ByHand step;
  step.compute(Purpose::buffer_copy, 0_us, 5_us);
  step.compute(Purpose::buffer_broadcast, 5_us, 5_us, 0_us, Action::record);
  step.compute(Purpose::buffer_broadcast, 5_us, 17_us, 0_us, Action::wait);
  step.compute(Purpose::buffer_copy, 17_us, 20_us);
  step.compute(Purpose::rebuild, 20_us, 50_us, 0_us, Action::wait);
  step.compute(Purpose::forward, 50_us, 90_us);
  step.compute(Purpose::backward, 90_us, 115_us, 20_us);
  step.compute(Purpose::copy_in, 115_us, 117_us, 12_us, Action::wait);
  step.compute(Purpose::copy_in, 117_us, 123_us, 4_us);
  step.compute(Purpose::copy_in, 123_us, 123_us, 0_us, Action::record);
  step.compute(Purpose::optimizer, 123_us, 130_us, 6_us);
  CHECK(differences(step.times(), {.iteration = 130_us,
                                   .forward = 90_us,
                                   .buffer_broadcast = 20_us,
                                   .backward = 33_us,
                                   .backward_compute = 22_us,
                                   .copies_in = 4_us,
                                   .interference = 7_us,
                                   .optimizer = 7_us}) == "");
}

TEST_CASE("summary: a recorded buffer broadcast is a part of forward at the speed of this GPU") {
  const ByHand step = step_with({});
  Workload workload;
  workload.recorded_with.buffer_broadcast = 12_us;
  SimulationOptions options = worlds::bare();
  options.compute_scale = 4;
  const auto broadcast = [&] {
    return book_times(step.planned, step.execution, workload, worlds::node(2), options)
        .buffer_broadcast;
  };
  CHECK(broadcast() == 3_us);
  options.ddp.broadcast_buffers = false;
  CHECK(broadcast() == Duration());
}

TEST_CASE(
    "summary: a bucket's instants, its last rank and what it carries, each from its own place") {
  const std::vector<BucketResult> buckets =
      described({{10_us, 11_us, 12_us, 13_us, 14_us}, {20_us, 25_us, 30_us, 40_us, 60_us}});
  REQUIRE(buckets.size() == 2);
  CHECK(differences(buckets, {{10_us, 11_us, 12_us, 13_us, 14_us, 1000_B, "", 7},
                              {20_us, 25_us, 30_us, 40_us, 60_us, 1001_B, "", 7}}) == "");
  CHECK(buckets[0].bucket.parameters == std::vector<std::size_t>{0});
  CHECK(buckets[1].bucket.parameters == std::vector<std::size_t>{1});
}

TEST_CASE("summary: a bucket that ends with backward, or takes no time, is not exposed") {
  CHECK(reason_alone({50_us, 50_us, 60_us, 60_us, 100_us}) == "");
  CHECK(reason_alone({50_us, 50_us, 60_us, 60_us, 101_us}) == paper::kLonger);
  CHECK(reason_alone({50_us, 50_us, 120_us, 120_us, 120_us}) == "");
}

TEST_CASE("summary: a bucket waited for a rank when that rank came after backward") {
  CHECK(reason_alone({50_us, 50_us, 60_us, 101_us, 120_us}) == kWaited);
  CHECK(reason_alone({50_us, 50_us, 60_us, 100_us, 120_us}) == paper::kLonger);
  CHECK(reason_alone({50_us, 50_us, 110_us, 110_us, 120_us}) == paper::kLonger);
  // It says more than that its gradient is the last, or that the host was behind.
  CHECK(reason_alone({50_us, 105_us, 110_us, 115_us, 120_us}, 50_us) == kWaited);
}

TEST_CASE("summary: a bucket ready last has nothing left to hide behind") {
  CHECK(reason_alone({90_us, 90_us, 95_us, 95_us, 120_us}, 80_us) == paper::kReadyLast);
  CHECK(reason_alone({90_us, 90_us, 95_us, 95_us, 120_us}, 90_us) == paper::kReadyLast);
  CHECK(reason_alone({90_us, 90_us, 95_us, 95_us, 120_us}, 91_us) == paper::kLonger);
}

TEST_CASE(
    "summary: a bucket is late when the host launched it after its gradients and after backward") {
  const std::string late = "launched late: the host was behind";
  CHECK(reason_alone({50_us, 100_us, 105_us, 105_us, 120_us}) == late);
  CHECK(reason_alone({50_us, 99_us, 105_us, 105_us, 120_us}) == paper::kLonger);
}

TEST_CASE("summary: a bucket queues behind what ended after it had been asked for") {
  // In front: 30 to 80. Asked for is a bucket that is both ready and launched.
  const Instants front{20_us, 20_us, 30_us, 30_us, 80_us};
  CHECK(reason({front, {70_us, 60_us, 80_us, 80_us, 120_us}}) == paper::kInFront);
  CHECK(reason({front, {79_us, 60_us, 85_us, 85_us, 120_us}}) == paper::kInFront);
  CHECK(reason({front, {80_us, 60_us, 85_us, 85_us, 120_us}}) == paper::kReadyLast);
  CHECK(reason({front, {60_us, 79_us, 80_us, 80_us, 120_us}}) == paper::kInFront);
  CHECK(reason({front, {60_us, 80_us, 85_us, 85_us, 120_us}}) == paper::kReadyLast);
  // What takes no time holds nothing up.
  CHECK(reason({{20_us, 20_us, 80_us, 80_us, 80_us}, {70_us, 60_us, 85_us, 85_us, 120_us}}) ==
        paper::kReadyLast);
}

TEST_CASE("summary: of several in front the one that ended last held it up") {
  const Instants asked{40_us, 40_us, 90_us, 90_us, 120_us};
  const Instants to_80{20_us, 20_us, 30_us, 30_us, 80_us};
  const Instants to_90{20_us, 20_us, 30_us, 30_us, 90_us};
  CHECK(reason({to_90, to_80, asked}) == "queued behind bucket 0");
  CHECK(reason({to_80, to_90, asked}) == paper::kInFront);
  CHECK(reason({to_90, to_90, asked}) == paper::kInFront);
  CHECK(reason({to_80, to_90, to_80, asked}) == "queued behind bucket 1");
}

TEST_CASE("summary: a bucket beside another shares the link with it, unless it queued first") {
  const Instants asked{40_us, 40_us, 70_us, 70_us, 120_us};
  const Instants to_60{20_us, 20_us, 30_us, 30_us, 60_us};
  const Instants to_70{20_us, 20_us, 30_us, 30_us, 70_us};
  const Instants to_71{20_us, 20_us, 30_us, 30_us, 71_us};
  const Instants to_110{20_us, 20_us, 30_us, 30_us, 110_us};
  CHECK(reason({to_71, asked}) == "shares the link with bucket 0");
  CHECK(reason({to_70, asked}) == paper::kInFront);
  CHECK(reason({to_110, to_71, asked}) == "shares the link with bucket 0");
  CHECK(reason({to_71, to_110, asked}) == "shares the link with bucket 1");
  CHECK(reason({to_60, to_110, asked}) == "queued behind bucket 0");
  CHECK(reason({to_110, to_60, asked}) == paper::kInFront);
}

TEST_CASE("summary: where nothing is computed a bucket is ready from the start") {
  ByHand step;
  step.planned.ready_operation = {0};
  step.planned.launch_operation = {0};
  ByHand::add(step.planned.schedule.ranks[0].host, step.execution.ranks[0].host, {}, 0_us, 5_us);
  step.wire({5_us, 5_us, 15_us});
  const std::vector<BucketResult> buckets =
      describe_buckets(step.planned, step.execution, {Bucket{}});
  CHECK(buckets.at(0).ready == TimePoint());
  CHECK(buckets.at(0).launch == TimePoint(5_us));
}

TEST_CASE("timeline: neighbours of one purpose are one span, those with a label are not") {
  ByHand step;
  RankPrograms& rank = step.planned.schedule.ranks[0];
  rank.rank = 4;
  const auto compute = [&](Action action, Purpose purpose, Duration start, Duration end,
                           std::int32_t bucket = -1) {
    ByHand::add(rank.compute, step.execution.ranks[0].compute,
                {.action = action, .purpose = purpose, .bucket = bucket}, start, end);
  };
  compute(Action::wait_until, Purpose::forward, 0_us, 3_us);
  compute(Action::work, Purpose::forward, 3_us, 10_us);
  compute(Action::work, Purpose::backward, 10_us, 20_us, 2);
  compute(Action::work, Purpose::copy_in, 20_us, 20_us, 2);
  compute(Action::work, Purpose::backward, 20_us, 30_us, 1);
  compute(Action::record, Purpose::backward, 30_us, 31_us);
  compute(Action::work, Purpose::backward, 31_us, 40_us, 0);
  compute(Action::wait, Purpose::copy_out, 40_us, 50_us);
  compute(Action::work, Purpose::copy_out, 50_us, 55_us, 0);
  compute(Action::work, Purpose::copy_out, 55_us, 60_us, 1);
  const auto host = [&](Action action, Purpose purpose, Duration start, Duration end) {
    ByHand::add(rank.host, step.execution.ranks[0].host, {.action = action, .purpose = purpose},
                start, end);
  };
  host(Action::work, Purpose::hook, 0_us, 3_us);
  host(Action::work, Purpose::hook, 3_us, 6_us);
  host(Action::work, Purpose::launch, 6_us, 7_us);
  host(Action::work, Purpose::launch, 7_us, 8_us);
  host(Action::work, Purpose::hook, 8_us, 9_us);
  for (std::int32_t b = 0; b < 2; ++b)
    ByHand::add(rank.communication, step.execution.ranks[0].communication,
                {.action = Action::collective, .purpose = Purpose::all_reduce, .bucket = b},
                (30_us) + b * 3_us, (33_us) + b * 3_us);
  const Timeline timeline = draw_timeline(step.planned, step.execution);
  REQUIRE(timeline.ranks.size() == 1);
  CHECK(timeline.ranks[0].rank == 4);
  CHECK(drawn(timeline.ranks[0]) == R"(
host gradient hooks: 0 to 6
compute forward: 3 to 10
host launch: 6 to 7
host launch: 7 to 8
host gradient hooks: 8 to 9
compute backward 2: 10 to 30
communication all_reduce 0: 30 to 33
compute backward 0: 31 to 40
communication all_reduce 1: 33 to 36
compute copy out of bucket 0: 50 to 55
compute copy out of bucket 1: 55 to 60)");
}

TEST_CASE("timeline: what begins together is in the order host, compute, communication") {
  ByHand step;
  RankPrograms& rank = step.planned.schedule.ranks[0];
  Execution::Rank& times = step.execution.ranks[0];
  ByHand::add(rank.communication, times.communication,
              {.action = Action::collective, .purpose = Purpose::local_used_map}, 0_us, 1_us);
  ByHand::add(rank.compute, times.compute, {.purpose = Purpose::forward}, 0_us, 2_us);
  ByHand::add(rank.host, times.host, {.purpose = Purpose::search_unused}, 0_us, 3_us);
  CHECK(drawn(draw_timeline(step.planned, step.execution).ranks.at(0)) == R"(
host search unused parameters: 0 to 3
compute forward: 0 to 2
communication local-used map: 0 to 1)");
}

TEST_CASE("timeline: every purpose and track has its name") {
  const std::vector<std::pair<Purpose, std::string>> purposes = {
      {Purpose::forward, "forward"},
      {Purpose::buffer_copy, "buffer copies"},
      {Purpose::buffer_broadcast, "buffer broadcast"},
      {Purpose::rebuild, "rebuild buckets"},
      {Purpose::backward, "backward"},
      {Purpose::copy_in, "copy into bucket"},
      {Purpose::hook, "gradient hooks"},
      {Purpose::launch, "launch"},
      {Purpose::search_unused, "search unused parameters"},
      {Purpose::all_reduce, "all_reduce"},
      {Purpose::local_used_map, "local-used map"},
      {Purpose::copy_out, "copy out of bucket"},
      {Purpose::optimizer, "optimizer"}};
  for (const auto& [purpose, name] : purposes) CHECK(name_of(purpose) == name);
  CHECK(name_of(Track::host) == "host");
  CHECK(name_of(Track::compute) == "compute");
  CHECK(name_of(Track::communication) == "communication");
}
