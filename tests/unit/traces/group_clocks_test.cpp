// Collectives of several ranks: matched, put on one clock, split into transfer and wait. Times are
// nanoseconds; there are two or three ranks.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/rank_group.hpp"
#include "group_collectives.hpp"
#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
using namespace ddpsim::literals;

namespace {

GroupCollective group(const std::string& operation, std::vector<std::int64_t> start_ns,
                      std::vector<std::int64_t> end_ns) {
  return {.operation = operation,
          .bytes = {},
          .start_ns = std::move(start_ns),
          .end_ns = std::move(end_ns)};
}

RankTrace trace(std::vector<RankCollective> collectives) {
  RankTrace one;
  one.collectives = std::move(collectives);
  return one;
}

/// The recording of one of three ranks. It has no parameters, because only its collectives matter.
RankImport rank(int number, std::vector<RankCollective> collectives,
                std::int64_t forward_start_ns = 0) {
  RankImport one;
  one.file = "rank" + std::to_string(number) + ".json";
  one.imported.workload.name = "job_rank" + std::to_string(number);
  one.imported.workload.gpu = "V100";
  one.imported.rank_trace = RankTrace{.rank = number,
                                      .world_size = 3,
                                      .step = "ProfilerStep#4",
                                      .forward_start_ns = forward_start_ns,
                                      .collectives = std::move(collectives)};
  return one;
}

RankCollective all_reduce(std::int64_t start_ns, std::int64_t end_ns) {
  return {.operation = "allreduce", .bytes = 64_B, .start_ns = start_ns, .end_ns = end_ns};
}

std::string clock_complaint(std::vector<RankImport> ranks) {
  return complaint_of([&] { join_ranks(std::move(ranks)); });
}

}  // namespace

TEST_CASE("group collective: the transfer is the shortest duration, and the rest is waiting") {
  const GroupCollective one = group("allreduce", {100, 400, 250, 300}, {500, 510, 505, 502});
  CHECK(one.last_to_arrive() == 1);
  CHECK(one.last_arrival_ns() == 400);
  CHECK(one.transfer_ns() == 110);  // rank 1: 400 to 510
  CHECK(one.end_spread_ns() == 10);
  CHECK(one.held_up_ns() == 150);  // after 250, the lower median
  const GroupCollective three = group("allreduce", {100, 400, 250}, {500, 500, 500});
  CHECK(three.held_up_ns() == 150);                                         // after the middle one
  CHECK(group("allreduce", {300, 300}, {400, 400}).last_to_arrive() == 0);  // the first of several
  CHECK(group("allreduce", {100, 400}, {200, 500}).held_up_ns() == 300);
}

TEST_CASE("group collective: the k-th of an operation matches the k-th on every other rank") {
  const auto matched = match_collectives(
      {trace({{"allreduce", 8_B, 1, 2}, {"broadcast", {}, 3, 4}, {"allreduce", 16_B, 5, 6}}),
       trace({{"broadcast", 4_B, 30, 40}, {"allreduce", 8_B, 10, 20}, {"allreduce", {}, 50, 60}})});
  REQUIRE(matched.mismatch.empty());
  REQUIRE(matched.collectives.size() == 3);
  CHECK(matched.collectives[0].operation == "allreduce");
  CHECK(matched.collectives[0].start_ns == std::vector<std::int64_t>{1, 10});
  CHECK(matched.collectives[0].end_ns == std::vector<std::int64_t>{2, 20});
  CHECK(matched.collectives[1].bytes == 4_B);  // from the rank that recorded it
  CHECK(matched.collectives[1].start_ns == std::vector<std::int64_t>{3, 30});
  CHECK(matched.collectives[2].bytes == 16_B);
  CHECK(matched.collectives[2].end_ns == std::vector<std::int64_t>{6, 60});
}

TEST_CASE("group collective: a mismatch is reported with the rank, the count or the bytes") {
  const RankTrace first = trace({{"allreduce", 8_B, 1, 2}, {"allreduce", 8_B, 3, 4}});
  const auto fewer = match_collectives({first, first, trace({{"allreduce", 8_B, 1, 2}})});
  CHECK(fewer.mismatch == "1 of allreduce in the step, not 2");
  CHECK(fewer.mismatched_rank == 2);
  const auto other =
      match_collectives({first, trace({{"allreduce", 8_B, 1, 2}, {"allreduce", 12_B, 3, 4}})});
  CHECK(other.mismatch == "12 bytes in allreduce 1, not 8");
  CHECK(other.mismatched_rank == 1);
}

TEST_CASE("clocks: 20 us apart come from the network, and one nanosecond more from another clock") {
  const auto aligned = [](std::int64_t apart_ns) {
    std::vector<GroupCollective> collectives = {
        group("allreduce", {1000, 1000 + apart_ns}, {5000, 5000 + apart_ns})};
    const Clocks clocks = align_clocks(collectives, 2);
    return std::pair(clocks, collectives.front());
  };
  const auto [same, kept] = aligned(20'000);
  CHECK_FALSE(same.shifted);
  CHECK(same.shift_ns == std::vector<std::int64_t>{0, 0});
  CHECK(same.end_spread_ns == 20'000);
  CHECK(same.compared == 1);
  CHECK(kept.start_ns == std::vector<std::int64_t>{1000, 21'000});
  for (const std::int64_t apart_ns : {20'001, -20'001}) {
    const auto [other, moved] = aligned(apart_ns);
    CHECK(other.shifted);
    CHECK(other.shift_ns == std::vector<std::int64_t>{0, apart_ns});
    CHECK(other.end_spread_ns == 0);
    CHECK(moved.start_ns == std::vector<std::int64_t>{1000, 1000});
    CHECK(moved.end_ns == std::vector<std::int64_t>{5000, 5000});
  }
}

TEST_CASE("clocks: offsets are the lower median of the ends, without broadcasts and sends") {
  const auto shift = [](const std::vector<std::int64_t>& apart_ns) {
    std::vector<GroupCollective> collectives;
    for (const std::int64_t apart : apart_ns)
      collectives.push_back(group("allreduce", {0, 0}, {100'000, 100'000 + apart}));
    for (const char* loose : {"broadcast", "send", "recv", "sendrecv"})
      collectives.push_back(group(loose, {0, 0}, {100'000, 999'999'999}));
    const Clocks clocks = align_clocks(collectives, 2);
    CHECK(clocks.compared == apart_ns.size());
    return clocks.shift_ns[1];
  };
  CHECK(shift({50'000, 90'000, 60'000}) == 60'000);
  CHECK(shift({50'000, 90'000, 60'000, 80'000}) == 60'000);
  CHECK(shift({}) == 0);
}

TEST_CASE("clocks: the remaining spread is the largest of any collective, on the common clock") {
  std::vector<GroupCollective> collectives = {group("allreduce", {0, 0, 0}, {1000, 51'000, 1000}),
                                              group("allreduce", {0, 0, 0}, {2000, 52'500, 1700}),
                                              group("allreduce", {0, 0, 0}, {3000, 53'000, 2900}),
                                              group("broadcast", {0, 0, 0}, {4000, 99'000, 4000})};
  const Clocks clocks = align_clocks(collectives, 3);
  // Rank 2 ends 0, 300 and 100 ns earlier, so its clock is 100 ns behind. Rank 1's is 50 us ahead.
  CHECK(clocks.shift_ns == std::vector<std::int64_t>{0, 50'000, -100});
  CHECK(clocks.end_spread_ns == 700);  // the second: 2000, 2500, 1800
}

TEST_CASE("rank group: an all-reduce may end at most 100 us before another rank begins it") {
  // Two collectives agree on the clocks. In a third one, rank 0 is too early.
  const auto told = [](std::int64_t late_ns) {
    const std::vector<RankCollective> before = {all_reduce(0, 1000), all_reduce(2000, 3000)};
    std::vector<RankCollective> first = before;
    std::vector<RankCollective> second = before;
    first.push_back(all_reduce(4000, 10'000));
    second.push_back(all_reduce(10'000 + late_ns, 20'000 + late_ns));
    return clock_complaint({rank(0, first), rank(1, second)});
  };
  CHECK(told(100'000) == "");
  CHECK(told(100'001).find(
            "rank0.json: allreduce in this trace ended 0.100 ms before rank 1 had begun it") == 0);
}

TEST_CASE("rank group: collectives that reduce nothing may leave early") {
  const auto told = [](const std::string& operation) {
    const RankCollective near = all_reduce(0, 1000);
    const RankCollective early{
        .operation = operation, .bytes = {}, .start_ns = 2000, .end_ns = 3000};
    const RankCollective late{
        .operation = operation, .bytes = {}, .start_ns = 900'000, .end_ns = 901'000};
    return clock_complaint({rank(0, {near, near, near, early}), rank(1, {near, near, near, late})});
  };
  CHECK(told("broadcast") == "");
  CHECK(told("allgather") == "");
  CHECK(told("reducescatter") != "");
}

TEST_CASE("rank group: offsets count from the first rank's forward, on its clock") {
  const Imported joined = join_ranks({rank(0, {all_reduce(1'000'000, 2'000'000)}, 500'000),
                                      rank(2, {all_reduce(6'000'000, 7'000'000)}, 5'400'000)});
  const auto& ranks = joined.workload.ranks;
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].rank == 0);
  CHECK(ranks[0].offset == Duration());
  CHECK(ranks[1].rank == 2);
  CHECK(ranks[1].offset == -100_us);  // 5.4 ms on a clock 5 ms ahead
  CHECK(ranks[1].recorded_with.world_size == 3);
  CHECK(joined.workload.recorded_with.world_size == 3);
  CHECK(mentions(joined.warnings, "rank 1 of 3 missing"));
  CHECK(mentions(joined.recognised,
                 "they were up to 5.00 ms apart), which then agree within 0.0 us"));
  CHECK(joined.rank_trace->forward_start_ns == 500'000);
}

TEST_CASE("rank group: without a world size it ends with the highest rank") {
  std::vector<RankImport> ranks = {rank(0, {}), rank(4, {})};
  for (RankImport& one : ranks) one.imported.rank_trace->world_size.reset();
  const Imported joined = join_ranks(std::move(ranks));
  CHECK(joined.workload.recorded_with.world_size == 5);
  CHECK(mentions(joined.warnings, "rank 4 is assumed to be the last"));
  CHECK(mentions(joined.warnings, "ranks 1, 2, 3 of 5 missing"));
  CHECK(mentions(joined.warnings, "no collective shows the offsets of the ranks' clocks"));
  CHECK(mentions(joined.recognised, "clocks used as recorded, because there is no collective"));
}

TEST_CASE("rank group: only twelve of many missing ranks are named") {
  const auto missing = [](int world) {
    std::vector<RankImport> ranks = {rank(0, {})};
    ranks.front().imported.rank_trace->world_size = world;
    return join_ranks(std::move(ranks)).warnings;
  };
  CHECK(mentions(missing(13), "ranks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 of 13 missing"));
  CHECK(mentions(missing(14), "ranks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, … of 14 missing"));
}

TEST_CASE("rank group: the late rank and its cost over several all-reduces") {
  // Rank 1 comes 40 us after the median once. Rank 2 comes 25 us after it twice, which is more in
  // total.
  const Imported joined = join_ranks(
      {rank(0,
            {all_reduce(0, 100'000), all_reduce(200'000, 300'000), all_reduce(400'000, 500'000)}),
       rank(1, {all_reduce(40'000, 100'000), all_reduce(200'000, 300'000),
                all_reduce(400'000, 500'000)}),
       rank(2,
            {all_reduce(0, 100'000), all_reduce(225'000, 300'000), all_reduce(425'000, 500'000)})});
  CHECK(mentions(
      joined.recognised,
      "all-reduce 1 of 3, 64 bytes: transfer 60.0 us; rank 1 arrived last, 40.0 us after"));
  CHECK(mentions(
      joined.recognised,
      "all-reduce 3 of 3, 64 bytes: transfer 75.0 us; rank 2 arrived last, 25.0 us after"));
  // Rank 0 spends 300 us, of which 60 + 75 + 75 are transfer. Rank 1 waits 50, rank 2 waits 40.
  CHECK(mentions(joined.recognised,
                 "all-reduces took 300.0 us on rank 0, of which 210.0 us were transfer and 90.0 us "
                 "waiting for other ranks. Waits of all ranks: 40.0 us to 90.0 us"));
  CHECK(mentions(joined.recognised,
                 "rank 2 arrived last in 2 of 3 all-reduces, costing the median rank 50.0 us"));
}

TEST_CASE("rank group: no late rank, other collectives, and times in a suitable unit") {
  const RankCollective gather{
      .operation = "allgather", .bytes = {}, .start_ns = 0, .end_ns = 3'000'000};
  const RankCollective shorter{
      .operation = "allgather", .bytes = {}, .start_ns = 1'000'000, .end_ns = 3'000'000};
  const Imported joined = join_ranks({rank(0, {gather, all_reduce(4'000'000, 4'999'999)}),
                                      rank(1, {shorter, all_reduce(4'000'000, 4'999'999)})});
  CHECK(mentions(
      joined.recognised,
      "1 allgather: 3.00 ms on rank 0, of which at most 2.00 ms transfer and at least 1.00 "
      "ms wait"));
  CHECK(mentions(joined.recognised, "no rank was later than the others"));
  CHECK(
      mentions(joined.recognised, "all-reduces took 1000.0 us on rank 0"));  // below a millisecond
}

TEST_CASE("rank group: twelve all-reduces are listed one by one") {
  const auto told = [](int count) {
    std::vector<RankCollective> list;
    for (int k = 0; k < count; ++k) list.push_back(all_reduce(1000 * k, 1000 * k + 500));
    return join_ranks({rank(0, list), rank(1, list)}).recognised;
  };
  CHECK(mentions(told(12), "all-reduce 12 of 12"));
  CHECK_FALSE(mentions(told(12), "more all-reduces"));
  CHECK_FALSE(mentions(told(14), "all-reduce 13 of 14"));
  CHECK(mentions(told(14), "… and 2 more all-reduces"));
}

TEST_CASE("rank group: a rank on another GPU is reported, and warnings name their rank") {
  std::vector<RankImport> ranks = {rank(0, {}), rank(1, {}), rank(2, {})};
  ranks[2].imported.workload.gpu = "A100";
  ranks[0].imported.warnings = {"early", "early"};
  ranks[2].imported.warnings = {"early"};
  const auto warnings = join_ranks(std::move(ranks)).warnings;
  CHECK(mentions(warnings, "rank 2 ran on A100, but rank 0 on V100"));
  CHECK(mentions(warnings, "ranks 0, 2: early"));
}

TEST_CASE("group collectives: are matched by number if all have one, whatever else was recorded") {
  const auto numbered = [](std::int64_t number, std::int64_t start_ns, std::int64_t bytes) {
    return RankCollective{.operation = "allreduce",
                          .bytes = Bytes(bytes),
                          .start_ns = start_ns,
                          .end_ns = start_ns + 100,
                          .group = "default_pg",
                          .sequence = number};
  };
  // The second rank started recording one collective later, and recorded one more at its end.
  const CollectiveMatch match = match_collectives(
      {trace({numbered(7, 0, 8), numbered(8, 200, 64), numbered(9, 400, 32)}),
       trace({numbered(8, 210, 64), numbered(9, 410, 32), numbered(10, 600, 8)})});
  CHECK(match.mismatch.empty());
  REQUIRE(match.collectives.size() == 2);
  CHECK(match.collectives[0].bytes == 64_B);
  CHECK(match.collectives[0].start_ns == std::vector<std::int64_t>{200, 210});
  CHECK(match.left_out == 2);
  // If one has no number, all are matched by order.
  RankCollective without = numbered(9, 400, 32);
  without.sequence.reset();
  CHECK_FALSE(match_collectives({trace({numbered(8, 0, 64), without}), trace({numbered(8, 0, 64)})})
                  .mismatch.empty());
}
