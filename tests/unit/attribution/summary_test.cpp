// From operations with times to the parts of a step. Every rule is tested on both sides, on
// executions written by hand.
#include "by_hand.hpp"
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using by_hand::OnTheWire;
using paper::differences;

namespace {

/// Forward lasts until 20, backward until 100. The optimizer starts at `optimizer` and takes 10 us.
by_hand::Step by_hand_with(const std::vector<OnTheWire>& wires, Duration optimizer = 200_us) {
  by_hand::Step step;
  step.compute(OperationKind::forward, 0_us, 20_us);
  step.compute(OperationKind::backward, 20_us, 100_us);
  step.compute(OperationKind::all_reduce, 100_us, optimizer, 0_us, Action::wait);
  step.compute(OperationKind::optimizer, optimizer, optimizer + 10_us);
  for (const OnTheWire& wire : wires) step.wire(wire);
  return step;
}

}  // namespace

TEST_CASE("summary: simultaneous transfers count once, however they overlap") {
  const auto communication = [](const std::vector<OnTheWire>& wires) {
    return by_hand_with(wires).times().communication;
  };
  const auto from_to = [](Duration start, Duration end) { return OnTheWire{start, start, end}; };
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

TEST_CASE("summary: waits and transfers are separate, and both are exposed after backward") {
  // Waits last from 60 to 90 and from 85 to 130, transfers from 90 to 110 and from 130 to 150.
  const by_hand::Step step = by_hand_with({{60_us, 90_us, 110_us}, {85_us, 130_us, 150_us}});
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

TEST_CASE("summary: overlap counts only transfers, and is absent without any") {
  CHECK(by_hand_with({{30_us, 40_us, 100_us}}).times().overlap == 1);
  CHECK(by_hand_with({{30_us, 100_us, 140_us}}).times().overlap == 0);
  CHECK(by_hand_with({{30_us, 80_us, 160_us}}).times().overlap == 0.25);
  CHECK_FALSE(by_hand_with({{30_us, 60_us, 60_us}}).times().overlap);
  CHECK_FALSE(by_hand_with({}).times().overlap);
}

TEST_CASE("summary: the map of used parameters is communication, buffer broadcasts are not") {
  by_hand::Step step = by_hand_with({{30_us, 30_us, 40_us}, {50_us, 60_us, 80_us}});
  step.planned.buckets.pop_back();
  CHECK(step.times().communication == 10_us);
  CHECK(step.times().wait == Duration());
  step.planned.local_used_map = 1;
  CHECK(step.times().communication == 30_us);
  CHECK(step.times().wait == 10_us);
}

TEST_CASE("summary: exposed time ends where the optimizer begins") {
  // Only another kind of schedule uses gradients of the last bucket before its end.
  const StepTimes times = by_hand_with({{90_us, 90_us, 190_us}}, 150_us).times();
  CHECK(times.exposed_communication == 50_us);
  CHECK(times.optimizer == 10_us);
  CHECK(times.iteration == 160_us);
}

TEST_CASE("summary: a copy out costs only the time that no communication hides") {
  // The wire is busy until 130 and from 150 to 170. Copies last from 110 to 140 (10 not hidden),
  // 140 to 160 (10) and 165 to 175 (5). Then an event lasts until 180.
  by_hand::Step step;
  step.compute(OperationKind::forward, 0_us, 20_us);
  step.compute(OperationKind::backward, 20_us, 100_us);
  step.compute(OperationKind::all_reduce, 100_us, 110_us, 0_us, Action::wait);
  step.compute(OperationKind::copy_out, 110_us, 140_us);
  step.compute(OperationKind::copy_out, 140_us, 160_us);
  step.compute(OperationKind::all_reduce, 160_us, 165_us, 0_us, Action::wait);
  step.compute(OperationKind::copy_out, 165_us, 175_us);
  step.compute(OperationKind::local_used_map, 175_us, 180_us, 0_us, Action::wait);
  step.compute(OperationKind::optimizer, 180_us, 183_us);
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

TEST_CASE(
    "summary: each kind of operation is attributed to its part, including the wait before it") {
  // Buffer copies take 5, their broadcast and its way back 12, copies 3, rebuilding 30. Forward
  // lasts until 90. Backward works for 20 in 25 (slowed), waits 2 us for a host before a cast, and
  // copies for 4 in 6.
  by_hand::Step step;
  step.compute(OperationKind::buffer_copy, 0_us, 5_us);
  step.compute(OperationKind::buffer_broadcast, 5_us, 5_us, 0_us, Action::record);
  step.compute(OperationKind::buffer_broadcast, 5_us, 17_us, 0_us, Action::wait);
  step.compute(OperationKind::buffer_copy, 17_us, 20_us);
  step.compute(OperationKind::rebuild, 20_us, 50_us, 0_us, Action::wait);
  step.compute(OperationKind::forward, 50_us, 90_us);
  step.compute(OperationKind::backward, 90_us, 115_us, 20_us);
  step.compute(OperationKind::copy_in, 115_us, 117_us, 12_us, Action::wait);
  step.compute(OperationKind::copy_in, 117_us, 123_us, 4_us);
  step.compute(OperationKind::copy_in, 123_us, 123_us, 0_us, Action::record);
  step.compute(OperationKind::optimizer, 123_us, 130_us, 6_us);
  CHECK(differences(step.times(), {.iteration = 130_us,
                                   .forward = 90_us,
                                   .buffer_broadcast = 20_us,
                                   .backward = 33_us,
                                   .backward_compute = 22_us,
                                   .copies_in = 4_us,
                                   .interference = 7_us,
                                   .optimizer = 7_us}) == "");
}

TEST_CASE(
    "summary: a recorded buffer broadcast is a part of forward, except what ran before the step") {
  by_hand::Step step = by_hand_with({});
  step.planned.recorded_broadcast = 12_us;
  Workload workload = small::chain({{4, 40}}, 50, 40, 6);
  const auto broadcast = [&] {
    return attribute_step(step.planned, step.execution,
                          Job(workload, small::node(2), small::bare(), FreeModel{}))
        .buffer_broadcast;
  };
  const Duration whole = broadcast();
  workload.iteration = 91_us;
  CHECK(broadcast() == whole - 5_us);
}
