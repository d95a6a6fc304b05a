// When ranks that differ begin their next step, for the step of paper_step.hpp.
#include "rank_states.hpp"
#include "paper_step.hpp"
#include "schedule_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// Runs one step from these states. Returns whether it moved any start.
bool moved_by_a_step(RankStates& ranks, const Job& job) {
  const PlannedStep planned =
      schedule_step(job, steady_buckets(job.workload(), job.options().ddp(), job.options().torch),
                    {}, ranks.steady());
  return ranks.advance(planned, execute(planned.schedule, {}));
}

}  // namespace

TEST_CASE("rank states: a step that changes no rank's start is the steady step") {
  // Rank 1's optimizer takes 45 us, rank 0's takes 30, so from the second step on rank 1 begins 15
  // us later.
  SimulationOptions options = free_of_costs();
  options.variation.stragglers = {{.rank = 1, .slowdown = 1.5}};
  const Job job(workload(), gpus(), options, wire());
  RankStates ranks(job);
  CHECK(ranks.steady().at(1).start == 0_us);
  CHECK(moved_by_a_step(ranks, job));
  CHECK(ranks.steady().at(0).start == 0_us);
  CHECK(ranks.steady().at(1).start == 15_us);
  CHECK(ranks.steady().at(1).slowdown == 1.5);
  CHECK_FALSE(moved_by_a_step(ranks, job));
  CHECK(ranks.steady().at(1).start == 15_us);
}

TEST_CASE("rank states: a rank's next forward begins as early as its own recording says") {
  // Rank 1's steps are 10 us apart and rank 0's overlap by 20, so from the second step on rank 1
  // begins 30 us later.
  Workload several = workload();
  several.iteration = 310_us;
  several.ranks.resize(2);
  for (int rank : {0, 1}) {
    RankRecording& own = several.ranks[static_cast<std::size_t>(rank)];
    static_cast<Recorded&>(own) = several;
    own.rank = rank;
  }
  several.ranks[1].iteration = 340_us;
  SimulationOptions options = free_of_costs();
  options.iterations = 2;
  const Job job(several, gpus(), options, wire());
  RankStates ranks(job);
  CHECK(moved_by_a_step(ranks, job));
  CHECK(ranks.of_iteration(2).at(1).start == 30_us);
}

TEST_CASE("rank states: time begins with rank 0's first step, and again with each further one") {
  Workload several = workload();
  several.ranks.resize(2);
  for (const int rank : {0, 1}) {
    RankRecording& own = several.ranks[static_cast<std::size_t>(rank)];
    static_cast<Recorded&>(own) = several;
    own.rank = rank;
    own.offset = rank == 0 ? 7_us : 9_us;
  }
  SimulationOptions options = free_of_costs();
  options.iterations = 2;
  const Job job(several, gpus(), options, wire());
  RankStates ranks(job);
  CHECK(ranks.of_iteration(1).at(0).start == 7_us);
  CHECK(ranks.of_iteration(1).at(1).start == 9_us);
  CHECK(moved_by_a_step(ranks, job));
  CHECK(ranks.of_iteration(2).at(0).start == 0_us);
  CHECK(ranks.of_iteration(2).at(1).start == 0_us);  // they leave the last all-reduce together
}

TEST_CASE("rank states: there are none if all ranks behave alike") {
  SimulationOptions options = free_of_costs();
  options.iterations = 3;
  const Job job(workload(), gpus(), options, wire());
  RankStates ranks(job);
  CHECK(ranks.steady().empty());
  CHECK(ranks.of_iteration(1).empty());
  CHECK_FALSE(moved_by_a_step(ranks, job));
  // Recordings of several ranks are replayed from their offsets, unless several iterations are
  // simulated.
  Workload several = workload();
  several.ranks.resize(2);
  several.ranks[1].rank = 1;
  several.ranks[1].offset = 7_us;
  options.iterations = 0;
  const Job apart(several, gpus(), options, wire());
  CHECK(RankStates(apart).steady().empty());
  options.iterations = 1;
  const Job iterated = apart.with(options);
  CHECK(RankStates(iterated).steady().at(1).start == 7_us);
}
