// Eight V100s of one job, replayed together. Every rank uses its own recording, and transfers take
// the shortest recorded durations. The result must reproduce where each collective started and
// ended on each rank.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data_files.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/traces/rank_group.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::small;
using Json = nlohmann::json;

namespace {

constexpr int kRanks = 8;
/// Members of the three recorded all-reduces by position in ready order, derived from their bytes.
const std::vector<std::vector<std::size_t>> kBuckets = {
    {0, 1, 2, 3, 4, 5}, {8}, {6, 7, 10, 11, 12, 13, 14, 15}};

const std::string kStem = files::shared_file("data/traces/dlrm-ddp-8xV100-");

Json truth_of(const std::string& name) {
  std::ifstream file(kStem + name + ".gt.json");
  return Json::parse(file);
}

Duration us(double value) {
  return Duration::microseconds(value);
}

std::vector<Json> all_reduces(const Json& step) {
  std::vector<Json> list;
  for (const Json& one : step["nccl"])
    if (one["collective"] == "nccl:all_reduce") list.push_back(one);
  return list;
}

std::vector<std::filesystem::path> trace_files() {
  std::vector<std::filesystem::path> paths;
  for (int rank = 0; rank < kRanks; ++rank)
    paths.emplace_back(kStem + "rank" + std::to_string(rank) + ".json.gz");
  return paths;
}

}  // namespace

TEST_CASE("replay: eight V100s with their own recordings start and end where they did") {
  if (!std::filesystem::exists(kStem + "group.gt.json")) {
    MESSAGE("skipped: the open traces are not beside this checkout");
    return;
  }
  const Workload workload = import_ranks(trace_files(), {}).workload;
  REQUIRE(workload.ranks.size() == kRanks);
  const std::vector<ReadyEvent>& ready = workload.backward->ready;
  REQUIRE(workload.parameters[ready[9].parameter].ignored);  // a scalar outside all-reduces
  SimulationOptions options;
  options.buckets.emplace();
  for (const std::vector<std::size_t>& members : kBuckets) {
    Bucket bucket;
    for (const std::size_t position : members) {
      bucket.parameters.push_back(ready[position].parameter);
      bucket.bytes += *gradient_bytes(workload.parameters[ready[position].parameter]);
    }
    options.buckets->push_back(bucket);
  }
  RecordedModel transfers;
  const Json group = truth_of("group");
  for (const Json& one : group["collectives"])
    if (one["collective"] == "nccl:all_reduce")
      transfers.durations.push_back(us(one["min_dur_us"].get<double>()));
  const Cluster cluster = node(kRanks);
  REQUIRE_FALSE(cannot_simulate(Job(workload, cluster, options, FreeModel{})));
  const SimulationResult result = simulate(Job(workload, cluster, options, transfers));

  REQUIRE(result.timeline.ranks.size() == kRanks);
  std::vector<double> start_errors;
  std::vector<double> end_errors;
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::vector<Json> recorded =
        all_reduces(truth_of("rank" + std::to_string(rank))["iterations"][0]);
    const double offset_us = workload.ranks[static_cast<std::size_t>(rank)].offset.microseconds();
    std::size_t b = 0;
    for (const Span& span : result.timeline.ranks[static_cast<std::size_t>(rank)].spans) {
      if (span.track != Track::communication || span.name != "all_reduce") continue;
      const double start = recorded[b]["start_rel"].get<double>() + offset_us;
      const double end = start + recorded[b]["dur_us"].get<double>();
      start_errors.push_back(std::abs(span.start.since_start().microseconds() - start));
      end_errors.push_back(std::abs(span.end.since_start().microseconds() - end));
      CAPTURE(rank);
      CAPTURE(b);
      // The second one waits after an all-to-all of the model's own. No DDP schedule contains those
      // waits.
      const double allowed_us = b == 1 ? 60 : 15;
      CHECK(start_errors.back() <= allowed_us);
      CHECK(end_errors.back() <= 15);
      ++b;
    }
    CHECK(b == kBuckets.size());
  }
  MESSAGE("start: median " << median(start_errors) << " us, worst "
                           << *std::max_element(start_errors.begin(), start_errors.end())
                           << " us; end: median " << median(end_errors) << " us, worst "
                           << *std::max_element(end_errors.begin(), end_errors.end()) << " us");
  const std::vector<int> last = {7, 5, 4};  // as recorded
  double wait_us = 0;
  for (std::size_t b = 0; b < kBuckets.size(); ++b) {
    CHECK(result.step.buckets[b].last_rank == last[b]);
    wait_us += all_reduces(truth_of("rank0")["iterations"][0])[b]["dur_us"].get<double>() -
               transfers.durations[b].microseconds();
  }
  CHECK(std::abs(result.step.times.wait.microseconds() - wait_us) <= 30);
  MESSAGE("rank 0 waited " << result.step.times.wait.microseconds() << " us, recorded " << wait_us);
}
