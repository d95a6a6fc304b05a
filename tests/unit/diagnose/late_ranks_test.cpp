// Late ranks: by hand, and for eight V100 ranks against their ground truth.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/diagnose/diff/late_ranks.hpp"
#include "ddpsim/diagnose/diff/step_difference.hpp"
#include "ddpsim/traces/rank_group.hpp"

namespace ddpsim {
namespace {

/// `late` lists, by step, the ranks that are 5 ms late to its only all-reduce of 2 ms. Each has
/// longer forward kernels.
Workload job_of(int ranks, const std::vector<std::vector<int>>& late) {
  Workload workload;
  for (int rank = 0; rank < ranks; ++rank) {
    RankRecording one;
    one.rank = rank;
    one.recorded_with.world_size = ranks;
    for (std::size_t step = 0; step < late.size(); ++step) {
      const bool is_late = std::ranges::count(late[step], rank) > 0;
      const Duration wait = Duration::milliseconds(is_late ? 0 : 5);
      const RecordedCollective all_reduce{.bytes = Bytes(100),
                                          .launch = {},
                                          .start = Duration::milliseconds(8),
                                          .duration = Duration::milliseconds(2) + wait};
      one.steps.push_back({.name = "step" + std::to_string(step),
                           .forward = Duration::milliseconds(is_late ? 15 : 10),
                           .backward = Duration::milliseconds(8),
                           .iteration = Duration::milliseconds(30),
                           .collectives = {all_reduce}});
    }
    one.forward = one.steps.front().forward;
    one.backward = Backward{.duration = Duration::milliseconds(8), .ready = {}};
    one.iteration = Duration::milliseconds(30);
    one.recorded_with.collectives = one.steps.front().collectives;
    workload.ranks.push_back(std::move(one));
  }
  static_cast<Recorded&>(workload) = workload.ranks.front();
  return workload;
}

using Steps = std::vector<std::vector<int>>;

TEST_CASE("late ranks: one rank in every step, in its forward kernels") {
  const LateRanks late = late_ranks(job_of(4, Steps(6, {2}))).value();
  CHECK(late.pattern == LatePattern::one_rank);
  CHECK(late.late == std::vector<int>{2});
  CHECK(late.complete);
  CHECK(late.transfer == Duration::milliseconds(2));
  const LateRank& rank = late.ranks[2];
  CHECK(rank.times_last == 6);
  CHECK(rank.steps_last == 6);
  CHECK(rank.caused == Duration::milliseconds(5));
  CHECK(rank.waited == Duration());
  CHECK(rank.work == StepPart::kernels);
  CHECK(rank.phase == "forward");
  CHECK(rank.longer == Duration::milliseconds(5));
  CHECK(late.ranks[0].waited == Duration::milliseconds(5));
}

TEST_CASE("late ranks: the growth of its own steps, if both recordings have that rank") {
  const Workload before = job_of(4, Steps(6, std::vector<int>()));
  const Workload now = job_of(4, Steps(6, {2}));
  const LateRanks late = late_ranks(now).value();
  const StepDifference own = late_rank_difference(before, now, late).value();
  CHECK(own.after.step == Duration::milliseconds(30));
  CHECK(own.after[StepPart::all_reduce_transfer].time == Duration::milliseconds(2));
  CHECK_FALSE(late_rank_difference(job_of(2, Steps(6, std::vector<int>())), now,
                                   late));  // it had no rank 2
  CHECK_FALSE(late_rank_difference(before, before, late_ranks(before).value()));  // no rank is late
}

TEST_CASE("late ranks: another rank in each step points to the data") {
  const LateRanks late = late_ranks(job_of(4, {{0}, {1}, {2}, {3}, {0}, {1}, {2}, {3}})).value();
  CHECK(late.pattern == LatePattern::wandering);
}

TEST_CASE("late ranks: alternating ranks show node or slot") {
  // If several ranks are equally late, the first of them counts as the last to arrive; they take
  // turns.
  const Steps of_node = {{2}, {3}, {2}, {3}, {2}, {3}, {2}, {3}};
  CHECK(late_ranks(job_of(4, of_node), 2).value().pattern == LatePattern::node);
  CHECK(late_ranks(job_of(4, of_node)).value().pattern == LatePattern::several);
  // Two ranks of the only node, or of a node whose third rank is on time, are not the node.
  CHECK(late_ranks(job_of(4, of_node), 4).value().pattern == LatePattern::several);
  CHECK(late_ranks(job_of(6, of_node), 3).value().pattern == LatePattern::several);
  const Steps of_slot = {{1}, {3}, {1}, {3}, {1}, {3}, {1}, {3}};
  CHECK(late_ranks(job_of(4, of_slot), 2).value().pattern == LatePattern::slot);
  CHECK(late_ranks(job_of(6, of_slot), 2).value().pattern == LatePattern::several);
}

TEST_CASE("late ranks: few steps cannot tell, and equal ranks are not late") {
  CHECK(late_ranks(job_of(4, Steps(2, {1}))).value().pattern == LatePattern::unknown);
  CHECK(late_ranks(job_of(4, Steps(6, {0, 1, 2, 3}))).value().pattern == LatePattern::nobody);
  CHECK_FALSE(late_ranks(job_of(1, Steps(6, {0}))));
}

TEST_CASE("late ranks: missing ranks are reported") {
  Workload workload = job_of(3, Steps(6, {1}));
  workload.recorded_with.world_size = 8;
  CHECK_FALSE(late_ranks(workload).value().complete);
}

std::vector<std::filesystem::path> traces_of_job() {
  std::vector<std::filesystem::path> traces;
  for (int rank = 0; rank < 8; ++rank) {
    std::filesystem::path trace =
        files::shared_file("data/traces/dlrm-ddp-8xV100-rank" + std::to_string(rank) + ".json.gz");
    if (std::filesystem::exists(trace)) traces.push_back(std::move(trace));
  }
  return traces;
}

TEST_CASE("the 8-rank V100 job: waits and transfers agree with its ground truth") {
  const auto traces = traces_of_job();
  if (traces.size() != 8) {
    MESSAGE("skipped: no data/traces beside the checkout");
    return;
  }
  std::ifstream file(files::shared_file("data/traces/dlrm-ddp-8xV100-group.gt.json"));
  const nlohmann::json truth = nlohmann::json::parse(file)["collectives"];
  const Imported imported = import_ranks(traces, {});
  REQUIRE(imported.joined.size() == truth.size());
  for (std::size_t k = 0; k < truth.size(); ++k) {
    CAPTURE(k);
    const JoinedCollective& one = imported.joined[k];
    const RankCollectiveTimes times{.step = 0, .starts = one.starts, .durations = one.durations};
    CHECK(static_cast<int>(times.last()) == truth[k]["last_arriver_rank"].get<int>());
    // Ground truth is in whole microseconds.
    CHECK(times.transfer().microseconds() == doctest::Approx(truth[k]["min_dur_us"].get<double>()));
    for (std::size_t rank = 0; rank < 8; ++rank)
      CHECK(times.waits()[rank].microseconds() ==
            doctest::Approx(truth[k]["dur_us"][rank].get<double>() -
                            truth[k]["min_dur_us"].get<double>()));
  }
  const LateRanks late = late_ranks(imported.workload, std::nullopt, imported.joined).value();
  CHECK(late.complete);
  CHECK(late.collectives == 8);
  CHECK(late.pattern == LatePattern::unknown);  // one step cannot tell node from data
  // The first exchange: 4.7 ms for the typical rank.
  CHECK(late.late.front() == 7);
  std::map<int, std::size_t> times_last;
  for (const LateRank& rank : late.ranks) times_last[rank.rank] = rank.times_last;
  CHECK(times_last[7] == 5);
  CHECK(times_last[5] == 2);
  CHECK(times_last[4] == 1);
}

TEST_CASE("the 8-rank V100 job: rank 0 alone gives a bound, all ranks the transfer") {
  const auto traces = traces_of_job();
  if (traces.size() != 8) {
    MESSAGE("skipped: no data/traces beside the checkout");
    return;
  }
  const StepBreakdown alone = step_breakdown(import_file(traces.front(), {}).workload).value();
  const StepBreakdown all = step_breakdown(import_ranks(traces, {}).workload).value();
  CHECK(alone[StepPart::all_reduce_transfer].bound == Bound::upper);
  CHECK(alone[LossCause::slowest_gpu].bound == Bound::lower);
  CHECK(alone[LossCause::slowest_gpu].time == Duration());
  CHECK(all[StepPart::all_reduce_transfer].bound == Bound::none);
  // The last all-reduce takes 952 us on rank 0 and transfers for 69 us.
  CHECK(all[StepPart::all_reduce_transfer].time.microseconds() == doctest::Approx(69));
  CHECK(all[StepPart::all_reduce_transfer].time <= alone[StepPart::all_reduce_transfer].high);
  CHECK(all[StepPart::all_reduce_transfer].time + all[LossCause::slowest_gpu].time ==
        alone[StepPart::all_reduce_transfer].time);
  CHECK(all.waited_for == 4);
}

}  // namespace
}  // namespace ddpsim
