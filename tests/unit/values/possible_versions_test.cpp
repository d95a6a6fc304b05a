// Which PyTorch versions remain possible, by what excludes the others.
#include "ddpsim/sim/values/possible_versions.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace ddpsim;

namespace {

/// "1.0-1.5 1.6-2.4 2.5-2.13".
std::string text(const std::vector<VersionRange>& ranges) {
  std::string out;
  for (const VersionRange& range : ranges)
    out += (out.empty() ? "" : " ") + to_string(range.from) + '-' + to_string(range.to);
  return out;
}

struct AskedVersions {
  Workload workload;
  Cluster cluster;
  std::optional<GpuModel> recorded_on;
  DdpOptions options;
  std::optional<NcclVersion> nccl;

  std::vector<VersionRange> ranges() const {
    return possible_versions(workload, cluster, recorded_on ? &*recorded_on : nullptr, options,
                             nccl);
  }
};

}  // namespace

TEST_CASE("possible versions: three sets of rules, each with the NCCL its releases shipped") {
  AskedVersions job;
  const auto ranges = job.ranges();
  REQUIRE(ranges.size() == 3);
  CHECK(ranges[0] == VersionRange{{1, 0}, {1, 5}, {2, 3, 7}, {2, 4, 8}});
  CHECK(ranges[1] == VersionRange{{1, 6}, {2, 4}, {2, 4, 8}, {2, 20, 5}});
  CHECK(ranges[2] == VersionRange{{2, 5}, kNewestTorch, {2, 21, 5}, {2, 29, 7}});
}

TEST_CASE(
    "possible versions: the recorded GPU and the cluster's GPU both need a release with their "
    "CUDA") {
  const std::pair<int, const char*> firsts[] = {{0, "1.0-1.5 1.6-2.4 2.5-2.13"},
                                                {70, "1.0-1.5 1.6-2.4 2.5-2.13"},
                                                {79, "1.0-1.5 1.6-2.4 2.5-2.13"},
                                                {80, "1.7-2.4 2.5-2.13"},
                                                {85, "1.7-2.4 2.5-2.13"},
                                                {86, "1.8-2.4 2.5-2.13"},
                                                {88, "1.8-2.4 2.5-2.13"},
                                                {89, "2.0-2.4 2.5-2.13"},
                                                {90, "2.0-2.4 2.5-2.13"},
                                                {99, "2.0-2.4 2.5-2.13"},
                                                {100, "2.7-2.13"},
                                                {120, "2.7-2.13"}};
  for (const auto& [capability, expected] : firsts) {
    const int sm = capability;
    CAPTURE(sm);
    AskedVersions there;
    there.cluster.gpu.compute_capability = sm;
    CHECK(text(there.ranges()) == expected);
    AskedVersions recorded;
    recorded.recorded_on = GpuModel{.name = "G", .compute_capability = sm};
    CHECK(text(recorded.ranges()) == expected);
  }
}

TEST_CASE(
    "possible versions: precision, recording format and flags exclude releases that are too old") {
  AskedVersions job;
  job.workload.precision = "amp";
  CHECK(text(job.ranges()) == "1.6-2.4 2.5-2.13");
  job.workload.precision = "bf16";
  CHECK(text(job.ranges()) == "1.10-2.4 2.5-2.13");
  job.workload.torch_at_least = TorchVersion{2, 0};
  CHECK(text(job.ranges()) == "2.0-2.4 2.5-2.13");
  job.workload.torch_at_least = TorchVersion{1, 8};
  CHECK(text(job.ranges()) == "1.10-2.4 2.5-2.13");
  AskedVersions flags;
  flags.options.static_graph = true;
  CHECK(text(flags.ranges()) == "1.9-2.4 2.5-2.13");
  flags.options.static_graph = false;
  flags.options.process_groups = 2;
  CHECK(text(flags.ranges()) == "1.0-1.5 1.6-1.13");
  flags.options.gradient_as_bucket_view = true;
  CHECK(text(flags.ranges()) == "1.7-1.13");
}

TEST_CASE("possible versions: the version that represents all of them is one of them") {
  CHECK(assumed_among({}) == kAssumedTorch);
  CHECK(assumed_among(AskedVersions{}.ranges()) == kAssumedTorch);
  AskedVersions old;
  old.workload.recorded_with.nccl = NcclVersion{2, 14, 3};
  CHECK(assumed_among(old.ranges()) == TorchVersion{2, 0});
  AskedVersions young;
  young.workload.torch_at_least = TorchVersion{2, 11};
  CHECK(assumed_among(young.ranges()) == kNewestTorch);
  young.workload.torch_at_least = TorchVersion{9, 9};  // newer than all rules known here
  CHECK(text(young.ranges()) == "2.13-2.13");
}

TEST_CASE(
    "possible versions: a recorded NCCL excludes releases that ship another one, a stated NCCL "
    "excludes none") {
  AskedVersions job;
  job.workload.recorded_with.nccl = NcclVersion{2, 14, 3};
  CHECK(text(job.ranges()) == "1.13-2.0");
  CHECK(job.ranges()[0].oldest_nccl == NcclVersion{2, 14, 3});
  job.workload.recorded_with.nccl = NcclVersion{2, 21, 5};
  CHECK(text(job.ranges()) == "2.5-2.6");
  // No release ships this NCCL, so any release may have been built with it, and each then has it.
  job.workload.recorded_with.nccl = NcclVersion{2, 17, 1};
  REQUIRE(text(job.ranges()) == "1.0-1.5 1.6-2.4 2.5-2.13");
  for (const VersionRange& range : job.ranges()) {
    CHECK(range.oldest_nccl == NcclVersion{2, 17, 1});
    CHECK(range.newest_nccl == NcclVersion{2, 17, 1});
  }
  job.workload.recorded_with.nccl = NcclVersion{2, 14, 3};
  job.nccl = NcclVersion{2, 18, 1};
  REQUIRE(text(job.ranges()) == "1.0-1.5 1.6-2.4 2.5-2.13");
  CHECK(job.ranges()[0].newest_nccl == NcclVersion{2, 18, 1});
}
