// Spans of a step, on executions written by hand.
#include "by_hand.hpp"
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using paper::drawn;

TEST_CASE("timeline: neighbours of one purpose are one span, unless they have a label") {
  by_hand::Step step;
  RankPrograms& rank = step.planned.schedule.ranks[0];
  rank.rank = 4;
  const auto compute = [&](Action action, OperationKind purpose, Duration start, Duration end,
                           std::int32_t bucket = -1) {
    by_hand::Step::add(rank.compute, step.execution.ranks[0].compute,
                       {.action = action, .purpose = purpose, .bucket = bucket}, start, end);
  };
  compute(Action::wait_until, OperationKind::forward, 0_us, 3_us);
  compute(Action::work, OperationKind::forward, 3_us, 10_us);
  compute(Action::work, OperationKind::backward, 10_us, 20_us, 2);
  compute(Action::work, OperationKind::copy_in, 20_us, 20_us, 2);
  compute(Action::work, OperationKind::backward, 20_us, 30_us, 1);
  compute(Action::record, OperationKind::backward, 30_us, 31_us);
  compute(Action::work, OperationKind::backward, 31_us, 40_us, 0);
  compute(Action::wait, OperationKind::copy_out, 40_us, 50_us);
  compute(Action::work, OperationKind::copy_out, 50_us, 55_us, 0);
  compute(Action::work, OperationKind::copy_out, 55_us, 60_us, 1);
  const auto host = [&](Action action, OperationKind purpose, Duration start, Duration end) {
    by_hand::Step::add(rank.host, step.execution.ranks[0].host,
                       {.action = action, .purpose = purpose}, start, end);
  };
  host(Action::work, OperationKind::hook, 0_us, 3_us);
  host(Action::work, OperationKind::hook, 3_us, 6_us);
  host(Action::work, OperationKind::launch, 6_us, 7_us);
  host(Action::work, OperationKind::launch, 7_us, 8_us);
  host(Action::work, OperationKind::hook, 8_us, 9_us);
  for (std::int32_t b = 0; b < 2; ++b)
    by_hand::Step::add(
        rank.communication, step.execution.ranks[0].communication,
        {.action = Action::collective, .purpose = OperationKind::all_reduce, .bucket = b},
        (30_us) + b * 3_us, (33_us) + b * 3_us);
  step.planned.gradients[0] = {{3, 2}, {2, 3}, {1, 5}, {0, 6}};  // the second takes no time
  const Workload workload = small::chain({{4, 10}, {4, 20}, {4, 30}, {4, 40}}, 10, 40);
  const Timeline timeline = draw_timeline(step.planned, step.execution, workload,
                                          {{.parameters = {3, 2}}, {.parameters = {1, 0}}});
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
  const std::vector<Span>& spans = timeline.ranks[0].spans;
  CHECK(spans[5].parameters == SpanParameters{"p3", "p1", 3});  // backward
  CHECK(spans[6].parameters == SpanParameters{"p3", "p2", 2});  // all_reduce 0
  CHECK(spans[7].parameters == SpanParameters{"p0", "p0", 1});
  CHECK(spans[8].parameters == SpanParameters{"p1", "p0", 2});
  CHECK(!spans[1].parameters);  // forward
}

TEST_CASE("timeline: a backward that takes no time is not drawn, nor its gradients") {
  by_hand::Step step;
  RankPrograms& rank = step.planned.schedule.ranks[0];
  const auto compute = [&](OperationKind purpose, Duration start, Duration end) {
    by_hand::Step::add(rank.compute, step.execution.ranks[0].compute,
                       {.action = Action::work, .purpose = purpose}, start, end);
  };
  compute(OperationKind::forward, 0_us, 10_us);
  compute(OperationKind::backward, 10_us, 10_us);
  step.planned.gradients[0] = {{0, 1}};
  const Timeline timeline =
      draw_timeline(step.planned, step.execution, small::chain({{4, 0}}, 10, 0), {});
  CHECK(drawn(timeline.ranks.at(0)) == "\ncompute forward: 0 to 10");
  CHECK(!timeline.ranks[0].spans.at(0).parameters);
}

TEST_CASE("timeline: spans that begin together are ordered host, compute, communication") {
  by_hand::Step step;
  RankPrograms& rank = step.planned.schedule.ranks[0];
  Execution::Rank& times = step.execution.ranks[0];
  by_hand::Step::add(rank.communication, times.communication,
                     {.action = Action::collective, .purpose = OperationKind::local_used_map}, 0_us,
                     1_us);
  by_hand::Step::add(rank.compute, times.compute, {.purpose = OperationKind::forward}, 0_us, 2_us);
  by_hand::Step::add(rank.host, times.host, {.purpose = OperationKind::search_unused}, 0_us, 3_us);
  CHECK(drawn(draw_timeline(step.planned, step.execution, {}, {}).ranks.at(0)) == R"(
host search unused parameters: 0 to 3
compute forward: 0 to 2
communication local-used map: 0 to 1)");
}

TEST_CASE("timeline: every purpose and track has its name") {
  const std::vector<std::pair<OperationKind, std::string>> purposes = {
      {OperationKind::forward, "forward"},
      {OperationKind::buffer_copy, "buffer copies"},
      {OperationKind::buffer_broadcast, "buffer broadcast"},
      {OperationKind::rebuild, "rebuild buckets"},
      {OperationKind::backward, "backward"},
      {OperationKind::copy_in, "copy into bucket"},
      {OperationKind::hook, "gradient hooks"},
      {OperationKind::launch, "launch"},
      {OperationKind::search_unused, "search unused parameters"},
      {OperationKind::all_reduce, "all_reduce"},
      {OperationKind::local_used_map, "local-used map"},
      {OperationKind::copy_out, "copy out of bucket"},
      {OperationKind::optimizer, "optimizer"},
      {OperationKind::sync_batch_norm, "SyncBatchNorm"}};
  for (const auto& [purpose, name] : purposes) CHECK(name_of(purpose) == name);
  CHECK(name_of(Track::host) == "host");
  CHECK(name_of(Track::compute) == "compute");
  CHECK(name_of(Track::communication) == "communication");
}

TEST_CASE("timeline: next to the slowest GPU a usual one is drawn, which waits for it") {
  // The slowest GPU takes 110 us for forward, 220 for backward and 33 for the optimizer; the usual
  // one takes 100, 200 and 30. The last gradient exists after 290 us, and on the slowest GPU after
  // 319. Transfers take no time.
  SimulationOptions options = paper::free_of_costs();
  options.rank_slowdown.gpu_spread = 0.1 / expected_maximum(2);
  const auto timeline = [&] {
    return paper::simulated(options, paper::workload(), paper::wire({0_us, 0_us, 0_us})).timeline;
  };
  const Timeline both = timeline();
  REQUIRE(both.ranks.size() == 2);
  CHECK(both.ranks[0].gpu == "slowest");
  CHECK(both.ranks[1].gpu == "usual");
  const std::string slowest = drawn(both.ranks[0]);
  const std::string usual = drawn(both.ranks[1]);
  CAPTURE(slowest);
  CAPTURE(usual);
  const auto holds = [](const std::string& text, const std::string& line) {
    return text.find("\n" + line) != std::string::npos;
  };
  CHECK(holds(slowest, "compute forward: 0 to 110"));
  CHECK_FALSE(holds(slowest, "compute waits"));
  CHECK(holds(usual, "compute forward: 0 to 100"));
  CHECK(holds(usual, "communication all_reduce 2: 290 to 319"));
  CHECK(holds(usual, "compute waits for the slowest GPU: 300 to 319"));
  CHECK(holds(usual, "compute optimizer: 319 to 349"));
  // Nobody waits if all GPUs are equal.
  options.rank_slowdown.gpu_spread = 0;
  REQUIRE(timeline().ranks.size() == 1);
  CHECK(timeline().ranks[0].gpu.empty());
}

TEST_CASE(
    "timeline: a GPU that waits for launches, or for a rank that came later, is drawn as waiting") {
  Workload step = paper::workload();
  step.launch_waits.forward = 30_us;
  SimulationOptions options = paper::free_of_costs();
  options.variation.stragglers = {{.rank = 1, .slowdown = 1.1}};
  const std::string rank =
      drawn(paper::simulated(options, step, paper::no_wire()).timeline.ranks[0]);
  CAPTURE(rank);
  CHECK(rank.find("\ncompute waits for launch: 0 to 30\ncompute forward: 30 to 100") !=
        std::string::npos);
  CHECK(rank.find("\ncompute waits for the last rank: ") != std::string::npos);
}
