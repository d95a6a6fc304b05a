// Files of ddpsim_recorder.py with all-reduces, one per rank, are joined like traces.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/certainty/recorded_all_reduces.hpp"
#include "ddpsim/traces/rank_group.hpp"
#include "mentions.hpp"
#include "trace_files.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// One bucket of 40 bytes that is all-reduced in `took_us`, 1100 us after the start of this rank's
/// forward.
std::string recorded(const std::string& rank, int took_us, const std::string& step = "recorded 2") {
  const std::string all_reduce = fmt::format(
      R"([{{"bytes": 40, "launch_us": 100, "start_us": 100, "duration_us": {}}}])", took_us);
  return fmt::format(
      R"({{"schema": "ddpsim.workload/1", "name": "net", "gpu": "CPU",
          "parameters": [{{"name": "w", "shape": [10], "dtype": "float32"}}],
          "forward": {{"duration_us": 1000}},
          "backward": {{"duration_us": 100, "ready": [{{"parameter": 0, "at_us": 90}}]}},
          "recorded_with": {{"ddp_hooks": true, "world_size": 2, "collectives": {0}}},
          "steps": [{{"name": "{2}", "backward_us": 100, "collectives": {0}}}],
          "provenance": {{"kind": "recorder", "rank": "{1}", "recorded_step": "{2}"}}}})",
      all_reduce, rank, step);
}

Imported joined(const std::string& one, const std::string& other) {
  const files::TemporaryFolder folder;
  const std::vector<std::filesystem::path> paths = {folder.file("a.json", one),
                                                    folder.file("b.json", other)};
  return import_ranks(paths, {});
}

std::string refusal(const std::string& one, const std::string& other) {
  return complaint_of([&] { joined(one, other); });
}

}  // namespace

TEST_CASE("recorder's ranks: the last rank shows the transfer, and the common end shows offsets") {
  // Rank 1 began its step 8000 us after rank 0, which waited for it. Ends are on the host's clock,
  // so they do not cause a refusal.
  const Imported both = joined(recorded("1", 500), recorded("0", 8500));
  CHECK(both.workload.recorded_with.world_size == 2);
  REQUIRE(both.workload.ranks.size() == 2);
  CHECK(both.workload.ranks[0].rank == 0);
  CHECK(both.workload.ranks[1].offset == 8_ms);
  const RecordedAllReduces all = recorded_all_reduces(both.workload);
  CHECK(all.waits_apart);
  REQUIRE(all.buckets.size() == 1);
  CHECK(all.buckets[0].times == std::vector<Duration>{500_us});
  CHECK(mentions(both.recognised, "2 ranks of one job of 2, recorded 2 on each"));
}

TEST_CASE(
    "recorder's ranks: other steps, repeated or unnamed ranks, and files without all-reduces") {
  CHECK(mentions(refusal(recorded("0", 5), recorded("1", 5, "recorded 3")),
                 "holds recorded 3, but "));
  CHECK(mentions(refusal(recorded("1", 5), recorded("1", 5)), "is from rank 1, but so is"));
  CHECK(mentions(refusal(recorded("0", 5), recorded("one", 5)), "does not say which rank it is"));
  std::string without = recorded("1", 5);
  without.replace(without.find("recorded_step"), 13, "anything_else");
  CHECK(mentions(refusal(recorded("0", 5), without), "collectives=True"));
}
