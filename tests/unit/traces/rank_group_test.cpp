// Several ranks of one job: clocks, waits, transfers, and late ranks.
#include "ddpsim/traces/rank_group.hpp"
#include "complaint.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "data_files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/profiler_trace.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "group_collectives.hpp"
#include "mentions.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using Json = nlohmann::json;

namespace {

Imported imported(const Json& trace, const ImportOptions& options = {}) {
  const auto at = std::make_shared<std::size_t>(0);
  const ByteSource source = [text = trace.dump(), at](char* buffer, std::size_t capacity) {
    const std::size_t count = std::min(capacity, text.size() - *at);
    std::memcpy(buffer, text.data() + *at, count);
    *at += count;
    return count;
  };
  return import_profiler_trace(source, "trace", options);
}

/// The trace of two steps in tests/fixtures, recorded by `rank` of three. Its clock is `clock_us`
/// ahead. Its all-reduces (306..366 us into the step) begin `late_us` later and end at the same
/// time.
Json trace_of(int rank, std::int64_t clock_us = 0, std::int64_t late_us = 0) {
  std::ifstream file(files::fixture_file("tiny-ddp-trace.json"));
  Json trace = Json::parse(file);
  trace["distributedInfo"]["rank"] = rank;
  trace["distributedInfo"]["world_size"] = 3;
  for (Json& event : trace["traceEvents"]) {
    if (!event.contains("ts")) continue;
    if (event["args"].contains("Group size")) event["args"]["Group size"] = 3;
    event["ts"] = event["ts"].get<std::int64_t>() + clock_us;
    const std::string name = event.value("name", "");
    if (event.value("cat", "") != "kernel" || name.find("AllReduce") == std::string::npos) continue;
    event["ts"] = event["ts"].get<std::int64_t>() + late_us;
    event["dur"] = event["dur"].get<std::int64_t>() - late_us;
  }
  return trace;
}

RankImport rank_import(int rank, std::int64_t clock_us = 0, std::int64_t late_us = 0) {
  Imported one = imported(trace_of(rank, clock_us, late_us));
  one.workload.name = "job-rank" + std::to_string(rank);
  return {"rank" + std::to_string(rank) + ".json", std::move(one)};
}

std::vector<RankImport> three_ranks() {
  std::vector<RankImport> ranks;
  ranks.push_back(rank_import(0));
  ranks.push_back(rank_import(1, 0, 20));
  ranks.push_back(rank_import(2, 0, 45));
  return ranks;
}

std::string all_of(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + "\n";
  return text;
}

std::string complaint(std::vector<RankImport> ranks) {
  return complaint_of([&] { join_ranks(std::move(ranks)); });
}

std::string stem(int rank) {
  return files::shared_file("data/traces/dlrm-ddp-8xV100-rank") + std::to_string(rank);
}

}  // namespace

TEST_CASE("rank group: three ranks of one host become one workload that names the late one") {
  const Imported joined = join_ranks(three_ranks());
  const Workload& workload = joined.workload;
  REQUIRE(workload.ranks.size() == 3);
  CHECK(workload.name == "job");  // common part of job-rank0, job-rank1, job-rank2
  CHECK(static_cast<const Recorded&>(workload.ranks[0]) == workload);
  for (const RankRecording& rank : workload.ranks) CHECK(rank.offset == Duration());
  CHECK(workload.ranks[2].recorded_with.collectives[0].start == 166_us + 45_us);
  CHECK(workload.ranks[2].recorded_with.collectives[0].duration == 15_us);
  const std::string told = all_of(joined.recognised);
  CAPTURE(told);
  CHECK(mentions(joined.recognised, "3 ranks of one job of 3, ProfilerStep#1 on each"));
  CHECK(mentions(joined.recognised, "within 0.0 us"));
  CHECK(mentions(joined.recognised,
                 "all-reduce 1 of 1, 120 bytes: transfer 15.0 us; rank 2 arrived last, 25.0 us"));
  CHECK(
      mentions(joined.recognised, "60.0 us on rank 0, of which 15.0 us were transfer and 45.0 us"));
  CHECK(mentions(joined.recognised,
                 "rank 2 arrived last in 1 of 1 all-reduce, costing the median "
                 "rank 25.0 us"));
  CHECK_FALSE(mentions(joined.warnings, "missing"));
  // The joined workload can be written and read like any other.
  const std::string text = format_workload(workload);
  CHECK(format_workload(parse_workload(text, "w.json")) == text);
}

TEST_CASE("rank group: the workload has the common part of the traces' names") {
  const auto name_of_group = [](const std::vector<std::string>& names) {
    std::vector<RankImport> ranks = three_ranks();
    for (std::size_t k = 0; k < ranks.size(); ++k) ranks[k].imported.workload.name = names[k];
    return join_ranks(std::move(ranks)).workload.name;
  };
  CHECK(name_of_group({"a_rank_0", "a_rank_1", "a_rank_2"}) == "a");
  CHECK(name_of_group({"rank10", "rank11", "rank12"}) == "rank10");  // nothing else is left
  CHECK(name_of_group({"t.0", "t.1", "t.2"}) == "t");
  CHECK(name_of_group({"x", "y", "z"}) == "x");
}

TEST_CASE(
    "rank group: the order of inputs does not matter, and the lowest rank represents the job") {
  std::vector<RankImport> ranks = three_ranks();
  std::swap(ranks[0], ranks[2]);
  CHECK(format_workload(join_ranks(std::move(ranks)).workload) ==
        format_workload(join_ranks(three_ranks()).workload));
}

TEST_CASE("rank group: the ends of collectives align the clocks of several hosts") {
  std::vector<RankImport> ranks = three_ranks();
  ranks[1] = rank_import(1, 5'000'000, 20);  // five seconds ahead
  ranks[2] = rank_import(2, -123, 45);       // clock behind, not ahead
  const Imported joined = join_ranks(std::move(ranks));
  const std::string told = all_of(joined.recognised);
  CAPTURE(told);
  CHECK(mentions(joined.recognised, "clocks aligned by the ends of 1 collectives"));
  CHECK(mentions(joined.recognised, "which then agree within 0.0 us"));
  for (const RankRecording& rank : joined.workload.ranks) CHECK(rank.offset == Duration());
  CHECK(mentions(joined.recognised, "rank 2 arrived last in 1 of 1"));
}

TEST_CASE("rank group: small differences come from the network, not from clocks") {
  std::vector<RankImport> ranks = three_ranks();
  ranks[1] = rank_import(1, 7, 20);
  const Imported joined = join_ranks(std::move(ranks));
  CHECK(mentions(joined.recognised, "clocks used as recorded"));
  CHECK(mentions(joined.recognised, "within 7.0 us"));
  CHECK(joined.workload.ranks[1].offset == 7_us);  // so it really began later
}

TEST_CASE("rank group: missing ranks are named, and the lowest available rank represents the job") {
  std::vector<RankImport> ranks = three_ranks();
  ranks.erase(ranks.begin());
  const Imported joined = join_ranks(std::move(ranks));
  CHECK(joined.workload.ranks.front().rank == 1);
  CHECK(mentions(joined.warnings, "rank 0 of 3 missing"));
  CHECK(mentions(joined.warnings, "upper bounds"));
  CHECK(
      mentions(joined.recognised, "transfer at most 15.0 us; of those given rank 2 arrived last"));
  CHECK(mentions(joined.recognised, "of which at most 15.0 us were transfer and at least "));
  CHECK(mentions(joined.recognised, "Waits of these ranks: at least 0.0 us"));
}

TEST_CASE("rank group: traces without rank numbers are numbered as given, with a warning") {
  std::vector<RankImport> ranks = three_ranks();
  for (RankImport& rank : ranks) {
    rank.imported.rank_trace->rank.reset();
    rank.imported.rank_trace->world_size.reset();
  }
  const Imported joined = join_ranks(std::move(ranks));
  CHECK(joined.workload.ranks[2].rank == 2);
  CHECK(joined.workload.recorded_with.world_size == 3);
  CHECK(mentions(joined.warnings, "numbered from 0 in the order given"));
}

TEST_CASE("rank group: a world size taken from the largest group covers all ranks") {
  const auto world = [](int of_first, int of_last) {
    std::vector<RankImport> ranks = three_ranks();
    for (RankImport& rank : ranks) {
      rank.imported.rank_trace->world_size = of_first;
      rank.imported.rank_trace->world_at_least = true;
    }
    ranks.back().imported.rank_trace->world_size = of_last;
    return join_ranks(std::move(ranks)).workload.recorded_with.world_size;
  };
  CHECK(world(2, 2) == 3);
  CHECK(world(2, 8) == 8);
  CHECK(world(16, 16) == 16);
}

TEST_CASE("rank group: a warning of one rank names it, and a common warning appears once") {
  std::vector<RankImport> ranks = three_ranks();
  for (RankImport& rank : ranks) rank.imported.warnings = {"of all"};
  ranks[1].imported.warnings.push_back("of one");
  const Imported joined = join_ranks(std::move(ranks));
  CHECK(joined.warnings == std::vector<std::string>{"all ranks: of all", "rank 1: of one"});
}

TEST_CASE("rank group: inputs that do not belong together are refused with file and reason") {
  struct Case {
    std::function<void(std::vector<RankImport>&)> damage;
    const char* message;
  };
  const auto trace = [](RankImport& rank) -> RankTrace& { return *rank.imported.rank_trace; };
  const std::vector<Case> cases = {
      {[](auto& r) { r[1] = rank_import(2); },
       "rank2.json: this trace is from rank 2, but so is rank2.json"},
      {[&](auto& r) { trace(r[1]).world_size = 8; },
       "rank1.json: this trace is from a job of 8 ranks"},
      {[&](auto& r) { trace(r[1]).world_size.reset(); }, "a job of an unknown number of ranks"},
      {[&](auto& r) { trace(r[2]).rank = 3; }, "is from rank 3, but its job has 3 ranks"},
      {[&](auto& r) { trace(r[2]).rank = -1; }, "rank -1"},
      {[&](auto& r) { trace(r[2]).rank = std::int64_t{1} << 40; }, "rank 1099511627776"},
      {[&](auto& r) { trace(r[1]).rank.reset(); }, "does not say which rank it is"},
      {[&](auto& r) { trace(r[1]).step = "ProfilerStep#9"; }, "holds ProfilerStep#9, but"},
      {[](auto& r) { r[1].imported.rank_trace.reset(); }, "is not a profiler trace"},
      {[](auto& r) { r[1].imported.workload.parameters.pop_back(); },
       "this trace has 2 parameters that differ from"},
      {[](auto& r) { r[1].imported.workload.parameters[0].shape = {{7}}; }, "from another model"},
      {[&](auto& r) { trace(r[1]).collectives.clear(); }, "0 of allreduce in the step, not 1"},
      {[&](auto& r) { trace(r[1]).collectives.push_back(trace(r[1]).collectives.back()); },
       "2 of allreduce in the step, not 1"},
      {[&](auto& r) {
         trace(r[1]).collectives.push_back({"barrier", {}, 0, 0});
       },
       "1 of barrier in the step, not 0"},
      {[&](auto& r) { trace(r[2]).collectives.back().bytes = Bytes(124); },
       "124 bytes in allreduce 0, not 120"},
      {[](auto& r) { r[2].imported.workload.recorded_with.collectives.clear(); },
       "the buckets of this trace differ from the buckets of"},
      {[&](auto& r) {
         for (auto& rank : r) trace(rank).world_size = 1;
       },
       "Each of these traces is from a job of its own"},
  };
  for (std::size_t k = 0; k < cases.size(); ++k) {
    CAPTURE(k);
    std::vector<RankImport> ranks = three_ranks();
    cases[k].damage(ranks);
    const std::string message = complaint(std::move(ranks));
    CAPTURE(message);
    CHECK(message.find(cases[k].message) != std::string::npos);
  }
  // One of the two steps is three times as long, so no clock offset makes their ends meet.
  std::vector<RankImport> ranks = three_ranks();
  const auto add = [&](std::size_t k, std::int64_t start_ns, std::int64_t end_ns) {
    trace(ranks[k]).collectives.push_back({"allreduce", Bytes(8), start_ns, end_ns});
    ranks[k].imported.workload.recorded_with.collectives.clear();
  };
  const std::int64_t end_ns = trace(ranks[0]).collectives.back().end_ns;
  add(0, end_ns + 1'000'000, end_ns + 1'010'000);
  add(1, end_ns + 1'000'000, end_ns + 1'010'000);
  add(2, end_ns + 9'000'000, end_ns + 9'010'000);
  CHECK(complaint(std::move(ranks)).find("this trace is from another step than the other inputs") !=
        std::string::npos);
}

TEST_CASE("rank group: an input must hold the step chosen in the first") {
  CHECK(imported(trace_of(1), {.step = "ProfilerStep#2"}).rank_trace->step == "ProfilerStep#2");
  CHECK_THROWS_WITH_AS(imported(trace_of(1), {.step = "ProfilerStep#7"}),
                       doctest::Contains("it holds no complete ProfilerStep#7"), InputError);
}

// The published ground truth of eight V100s. Arrival times and one transfer make up every rank's
// recorded duration.
TEST_CASE(
    "rank group: eight V100s of one job, compared with published starts, ends and transfers") {
  if (!std::filesystem::exists(stem(0) + ".json.gz")) {
    MESSAGE("skipped: the open traces are not beside this checkout");
    return;
  }
  std::ifstream file(files::shared_file("data/traces/dlrm-ddp-8xV100-group.gt.json"));
  const Json truth = Json::parse(file)["collectives"];
  std::vector<RankTrace> traces;
  for (int rank = 0; rank < 8; ++rank)
    traces.push_back(import_file(stem(rank) + ".json.gz", {}).rank_trace.value());
  CollectiveMatch match = match_collectives(traces);
  REQUIRE(match.mismatch == "");
  const Clocks clocks = align_clocks(match.collectives, traces.size());
  CHECK_FALSE(clocks.shifted);
  REQUIRE(match.collectives.size() == truth.size());
  double worst_us = 0;
  double worst_trivial_us = 0;
  for (std::size_t c = 0; c < truth.size(); ++c) {
    CAPTURE(c);
    const GroupCollective& one = match.collectives[c];
    CHECK(static_cast<double>(one.transfer_ns()) == 1e3 * truth[c]["min_dur_us"].get<double>());
    CHECK(one.last_to_arrive() == truth[c]["last_arriver_rank"].get<std::size_t>());
    for (std::size_t rank = 0; rank < 8; ++rank) {
      CAPTURE(rank);
      const double recorded_us = truth[c]["dur_us"][rank].get<double>();
      const double ours_us =
          static_cast<double>(one.last_arrival_ns() - one.start_ns[rank] + one.transfer_ns()) / 1e3;
      CHECK(std::abs(ours_us - recorded_us) <= 15);
      worst_us = std::max(worst_us, std::abs(ours_us - recorded_us));
      // Without the other ranks, rank 0's duration would be taken as the transfer.
      const double rank0_us = truth[c]["dur_us"][0].get<double>();
      worst_trivial_us = std::max(worst_trivial_us, std::abs(rank0_us - recorded_us));
    }
  }
  MESSAGE("arrival and shortest transfer against 64 recorded durations: worst "
          << worst_us << " us; rank 0's duration for every rank: worst " << worst_trivial_us
          << " us");
}
