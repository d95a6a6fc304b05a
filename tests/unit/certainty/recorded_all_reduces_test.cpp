// All-reduces of a recording, step by step; transfers if ranks were joined.
#include "ddpsim/sim/certainty/recorded_all_reduces.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using Times = std::vector<Duration>;

std::vector<RecordedCollective> collectives(Duration first, Duration second,
                                            std::int64_t bytes = 64) {
  return {{.bytes = Bytes(bytes), .launch = {}, .start = {}, .duration = first, .channels = 8},
          {.bytes = Bytes(32), .launch = {}, .start = {}, .duration = second, .channels = 2}};
}

StepSample step(const char* name, std::vector<RecordedCollective> all) {
  return {
      .name = name, .forward = {}, .backward = {}, .iteration = {}, .collectives = std::move(all)};
}

}  // namespace

TEST_CASE("recorded all-reduces: none, and those of a single known step") {
  Workload workload;
  CHECK(recorded_all_reduces(workload).buckets.empty());
  workload.recorded_with.collectives = collectives(5_us, 3_us);
  const RecordedAllReduces one = recorded_all_reduces(workload);
  CHECK_FALSE(one.waits_apart);
  REQUIRE(one.buckets.size() == 2);
  CHECK(one.buckets[0].bytes == Bytes(64));
  CHECK(one.buckets[0].channels == 8);
  CHECK(one.buckets[0].times == Times{5_us});
  CHECK(one.buckets[1].times == Times{3_us});
}

TEST_CASE("recorded all-reduces: times of every step with the same buckets, ascending") {
  Workload workload;
  workload.recorded_with.collectives = collectives(5_us, 3_us);
  workload.steps = {step("1", collectives(5_us, 3_us)), step("2", collectives(4_us, 9_us)),
                    step("3", collectives(1_us, 1_us, 65)), step("4", {})};
  const RecordedAllReduces all = recorded_all_reduces(workload);
  CHECK(all.buckets[0].times == Times{4_us, 5_us});
  CHECK(all.buckets[1].times == Times{3_us, 9_us});
}

TEST_CASE("recorded all-reduces: the last of the joined ranks shows the transfer") {
  Workload workload;
  workload.recorded_with.world_size = 2;
  workload.recorded_with.collectives = collectives(5_us, 3_us);
  workload.steps = {step("1", collectives(5_us, 3_us)), step("2", collectives(4_us, 9_us))};
  RankRecording rank;
  static_cast<Recorded&>(rank) = workload;
  workload.ranks = {rank, rank};
  workload.ranks[1].steps = {step("1", collectives(2_us, 7_us))};
  const RecordedAllReduces joined = recorded_all_reduces(workload);
  CHECK(joined.waits_apart);
  CHECK(joined.buckets[0].times == Times{2_us});  // the other rank lacks step 2
  CHECK(joined.buckets[1].times == Times{3_us});

  for (Recorded* one : std::vector<Recorded*>{&workload, &workload.ranks[0], &workload.ranks[1]})
    one->steps.clear();
  workload.ranks[1].recorded_with.collectives = collectives(6_us, 1_us);
  CHECK(recorded_all_reduces(workload).buckets[0].times == Times{5_us});
  CHECK(recorded_all_reduces(workload).buckets[1].times == Times{1_us});

  // A rank with other buckets may have been the last.
  Workload odd = workload;
  odd.ranks[1].recorded_with.collectives = collectives(6_us, 1_us, 65);
  CHECK_FALSE(recorded_all_reduces(odd).waits_apart);

  // If no other rank has a step, only the representative one remains.
  workload.steps = {step("7", collectives(4_us, 9_us))};
  CHECK(recorded_all_reduces(workload).buckets[0].times == Times{5_us});
  CHECK(recorded_all_reduces(workload).buckets[1].times == Times{1_us});
}
