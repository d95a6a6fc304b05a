// The "ranks" of a workload file: several ranks of one job, each with its own recording.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/workload_file.hpp"

using namespace ddpsim;

namespace {

constexpr const char* kTwoRanks = R"({
  "schema": "ddpsim.workload/1",
  "name": "two ranks",
  "parameter_order": "definition",
  "parameters": [
    {"name": "a", "shape": [4], "dtype": "float32"}
  ],
  "forward": {"duration_us": 10},
  "backward": {
    "duration_us": 20,
    "ready": [
      {"parameter": 0, "at_us": 15}
    ]
  },
  "recorded_with": {
    "ddp_hooks": true,
    "world_size": 2,
    "nccl_kernels": 1,
    "collectives": [
      {"bytes": 16, "launch_us": 15, "start_us": 16, "duration_us": 9}
    ]
  },
  "ranks": [
    {
      "rank": 0,
      "offset_us": 0,
      "forward": {"duration_us": 10},
      "backward": {
        "duration_us": 20,
        "ready": [
          {"parameter": 0, "at_us": 15}
        ]
      },
      "recorded_with": {
        "ddp_hooks": true,
        "world_size": 2,
        "nccl_kernels": 1,
        "collectives": [
          {"bytes": 16, "launch_us": 15, "start_us": 16, "duration_us": 9}
        ]
      }
    },
    {
      "rank": 1,
      "offset_us": -2.5,
      "forward": {"duration_us": 11},
      "backward": {
        "duration_us": 22,
        "ready": [
          {"parameter": 0, "at_us": 17.25}
        ]
      },
      "optimizer": {"duration_us": 3},
      "host": {
        "ready_us": [
          -4
        ]
      },
      "recorded_with": {
        "ddp_hooks": true,
        "world_size": 2,
        "nccl_kernels": 1,
        "collectives": [
          {"bytes": 16, "launch_us": 18, "start_us": 19, "duration_us": 7.5}
        ]
      }
    }
  ]
}
)";

std::string ranks_complaint(const std::string& text) {
  return complaint_of([&] { parse_workload(text, "w.json"); });
}

/// The document above with one passage replaced, searched from the given place on.
std::string ranks_with(const std::string& passage, const std::string& replacement,
                       const std::string& after = "") {
  std::string text = kTwoRanks;
  const std::size_t from = after.empty() ? 0 : text.find(after);
  REQUIRE(from != std::string::npos);
  const std::size_t at = text.find(passage, from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, passage.size(), replacement);
}

constexpr const char* kSecond = "\"rank\": 1";

}  // namespace

TEST_CASE("ranks in a workload file: a written file reads back to the same text") {
  const Workload workload = parse_workload(kTwoRanks, "w.json");
  CHECK(format_workload(workload) == kTwoRanks);
  REQUIRE(workload.ranks.size() == 2);
  CHECK(workload.ranks[1].rank == 1);
  CHECK(workload.ranks[1].offset == Duration::microseconds(-2.5));
  CHECK(workload.ranks[1].backward->ready[0].at == Duration::microseconds(17.25));
  CHECK(workload.ranks[1].host_ready[0] == Duration::microseconds(-4));
  CHECK(workload.ranks[1].optimizer == Duration::microseconds(3));
  CHECK(workload.ranks[1].recorded_with.collectives[0].duration == Duration::microseconds(7.5));
}

TEST_CASE("ranks in a workload file: an empty list counts as absent") {
  const Workload workload = parse_workload(
      R"({"parameters":[{"name":"a","shape":[1],"dtype":"int8"}],"ranks":[]})", "w.json");
  CHECK(workload.ranks.empty());
  CHECK(format_workload(workload).find("ranks") == std::string::npos);
}

TEST_CASE("ranks in a workload file: each wrong list gets its message") {
  struct Case {
    std::string text;
    const char* message;
  };
  const std::vector<Case> cases = {
      {ranks_with("\"rank\": 1", "\"rank\": 0"), "/ranks/1/rank: rank 0 is already at /ranks/0"},
      {ranks_with("\"rank\": 0", "\"rank\": 1"), "/ranks/1/rank: rank 1 is already at /ranks/0"},
      {ranks_with("\"rank\": 1", "\"rank\": 2"), "there is no rank 2 in a world of 2"},
      {ranks_with("\"rank\": 1", "\"rank\": -1"), "/ranks/1/rank"},
      {ranks_with("\"rank\": 1", "\"rank\": 1.5"), "not a whole number"},
      {ranks_with("\"rank\": 1", "\"rank\": \"1\""), "/ranks/1/rank"},
      {ranks_with("\"rank\": 1,", "", ""), "missing \"rank\""},
      {ranks_with("\"rank\": 1", "\"ranc\": 1"), "Did you mean \"rank\"?"},
      {ranks_with("-2.5", "NaN"), "w.json"},
      {ranks_with("-2.5", "1e400"), "w.json"},
      {ranks_with("-2.5", "-2e12"), "at most 1e12 microseconds"},
      {ranks_with("-2.5", "\"2ms\""), "/ranks/1/offset_us"},
      {ranks_with("\"offset_us\": 0", "\"offset_us\": 1"),
       "/ranks/0/offset_us: offsets count from"},
      {ranks_with("\"duration_us\": 11", "\"duration_us\": -11"), "/ranks/1/forward/duration_us"},
      {ranks_with("\"duration_us\": 22", "\"duration_us\": 17", kSecond),
       "after the end of backward"},
      {ranks_with("\"parameter\": 0", "\"parameter\": 1", kSecond), "there is no parameter 1"},
      {ranks_with("\"parameter\": 0", "\"parameter\": -1", kSecond),
       "/ranks/1/backward/ready/0/parameter"},
      {ranks_with("\"parameter\": 0,", "", kSecond), "missing \"parameter\""},
      {ranks_with("\"at_us\": 17.25", "\"at_us\": -1", kSecond), "is negative"},
      {ranks_with("-4", "-4, 5", kSecond), "2 times for 1 entries"},
      {ranks_with("\"world_size\": 2", "\"world_size\": 3", kSecond),
       "recorded with world size 3, but /ranks/0 with 2"},
      {ranks_with("\"world_size\": 2", "\"world_size\": -1", kSecond), "/recorded_with/world_size"},
      {ranks_with("\"bytes\": 16", "\"bytes\": 12", kSecond),
       "this rank has 1 collectives that differ from the 1"},
      {ranks_with("{\"bytes\": 16, \"launch_us\": 18, \"start_us\": 19, \"duration_us\": 7.5}", ""),
       "this rank has 0 collectives that differ from the 1"},
      {ranks_with("\"duration_us\": 7.5", "\"duration_us\": -7.5"),
       "/ranks/1/recorded_with/collectives/0/duration_us"},
      {ranks_with("\"forward\": {\"duration_us\": 10}", "\"forward\": {\"duration_us\": 12}"),
       "/ranks/0: differs from the top level of the file"},
      {ranks_with("\"ranks\": [", "\"ranks\": {}, \"name\": ["), "w.json"},
      {R"({"parameters":[{"name":"a","shape":[1],"dtype":"int8"}],"ranks":{}})", "/ranks"},
      {R"({"parameters":[{"name":"a","shape":[1],"dtype":"int8"}],"ranks":[3]})", "/ranks/0"},
      {R"({"parameters":[{"name":"a","shape":[1],"dtype":"int8"}],"ranks":[{"rank":0}]})",
       "missing \"backward\""},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    const std::string message = ranks_complaint(one.text);
    CAPTURE(message);
    CHECK(message.find("w.json") == 0);
    CHECK(message.find(one.message) != std::string::npos);
  }
}

TEST_CASE("ranks in a workload file: ranks ascend") {
  // Both entries are the same except for the rank, so only the order is wrong.
  const std::string step = R"("backward":{"duration_us":2})";
  const std::string rank = R"({"rank":%,"recorded_with":{"world_size":2},)" + step + "}";
  const auto entry = [&](const char* number) {
    std::string text = rank;
    return text.replace(text.find('%'), 1, number);
  };
  const auto document = [&](const std::string& ranks) {
    return R"({"parameters":[{"name":"a","shape":[1],"dtype":"int8"}],)" + step +
           R"(,"recorded_with":{"world_size":2},"ranks":[)" + ranks + "]}";
  };
  CHECK(ranks_complaint(document(entry("0") + "," + entry("1"))) == "");
  CHECK(
      ranks_complaint(document(entry("1") + "," + entry("0"))).find("rank 0 comes after rank 1") !=
      std::string::npos);
  // rank 0 is missing; the lowest rank represents the job
  CHECK(ranks_complaint(document(entry("1"))) == "");
}
