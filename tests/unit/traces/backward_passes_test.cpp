// Several backward passes in one step: merged steps or micro-batches.
#include <doctest/doctest.h>

#include <string>

#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::files;

namespace {

struct Pass {
  bool reduced = false;
  bool optimized = false;
  int gradients = 2;
};

/// Consecutive passes of 1000 us each, in one step or without a marker.
TraceBuilder passes(const std::vector<Pass>& all, bool marker = true) {
  TraceBuilder trace;
  double at = 0;
  for (const Pass& pass : all) {
    for (int k = 0; k < 3; ++k)
      trace.kernel(at + 10 + k, at + 20 + 10 * k, at + 28 + 10 * k, TraceBuilder::kCaller);
    double host = at + 100;
    for (int k = 0; k < pass.gradients; ++k, host += 10) {
      trace.node("A", host, host + 5).kernel(host + 1, host + 10, host + 18);
      trace.gradient(host + 6, host + 7, TraceBuilder::kAutograd, fmt::format("[[{},4]]", k + 1),
                     "float");
    }
    if (pass.reduced) trace.all_reduce(at + 300, at + 310, at + 360, 12);
    if (pass.optimized)
      trace
          .span("user_annotation", "Optimizer.step#SGD.step", TraceBuilder::kCaller, at + 400,
                at + 450)
          .kernel(at + 410, at + 420, at + 430, TraceBuilder::kCaller);
    at += 1000;
  }
  return marker ? trace.step(7, 0, at) : trace;
}

}  // namespace

TEST_CASE("backward passes: passes with the optimizer in between are steps") {
  const Imported imported = passes({{true, true}, {true, true}, {true, true}}).import();
  CHECK(mentions(imported.recognised, "3 backward passes, so it was split"));
  CHECK(mentions(imported.recognised,
                 "3 complete iterations (ProfilerStep#7 (1 of 3) to ProfilerStep#7 (3 of 3))"));
  CHECK(imported.workload.backward->ready.size() == 2);
  CHECK(imported.workload.iteration == Duration::microseconds(1000));
  CHECK(imported.workload.recorded_with.collectives.size() == 1);
  CHECK(imported.workload.recorded_with.accumulate == 1);
}

TEST_CASE("backward passes: passes without the optimizer in between are micro-batches") {
  for (const bool marker : {true, false}) {
    CAPTURE(marker);
    for (const bool reduced : {true, false}) {
      const Imported imported = passes({{}, {}, {reduced, true}}, marker).import();
      CHECK(imported.workload.recorded_with.accumulate == 3);
      CHECK(imported.rank_trace->step ==
            (marker ? "ProfilerStep#7 (3 of 3)" : "the whole trace (3 of 3)"));
      CHECK(imported.workload.backward->ready.size() == 2);
      CHECK(imported.workload.optimizer > Duration());
    }
  }
}

TEST_CASE("backward passes: accumulated without no_sync, each pass all-reduces") {
  const Imported imported =
      passes({{true, false}, {true, true}, {true, false}, {true, true}}).import();
  CHECK(imported.workload.recorded_with.accumulate == 1);
  CHECK(mentions(imported.warnings, "gradients were accumulated without no_sync()"));
  // The step is the pass before the optimizer. The other pass's time is stated separately.
  CHECK(imported.workload.optimizer > Duration());
  REQUIRE(imported.workload.earlier);
  CHECK(imported.workload.earlier->count == 1);
  CHECK(imported.workload.earlier->all_reduced == 1);
  CHECK(imported.workload.earlier->compute > Duration());
  CHECK(micro_batches(imported.workload) == 2);
}

TEST_CASE("backward passes: earlier micro-batches have the mean recorded length") {
  const Imported imported = passes({{}, {}, {true, true}}).import();
  const Recorded& step = imported.workload;
  REQUIRE(step.earlier);
  CHECK(step.earlier->count == 2);
  CHECK(step.earlier->all_reduced == 0);
  CHECK(step.earlier->exposed == Duration());
  CHECK(step.earlier->compute >= (*step.forward + step.backward->duration).scaled(1.5));
  CHECK_FALSE(passes({{true, true}}).import().workload.earlier);
}

TEST_CASE("backward passes: passes that do not match stay one step") {
  const Imported imported = passes({{true, true, 2}, {true, true, 3}}).import();
  CHECK(imported.rank_trace->step == "ProfilerStep#7");
  CHECK(imported.workload.backward->ready.size() == 5);
  CHECK_FALSE(mentions(imported.recognised, "backward passes"));
}

TEST_CASE(
    "backward passes: a few launches of other threads between gradients do not split a step") {
  TraceBuilder trace = passes({{true, true}});
  // between the two gradients, one to three launches
  trace.kernel(107.5, 200, 210, TraceBuilder::kCaller);
  CHECK(trace.import().rank_trace->step == "ProfilerStep#7");
}
