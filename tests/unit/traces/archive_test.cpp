// The workload in an archive of scripts/collect.sh: its traces or DDP logging data, and values that
// only the manifest holds.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "complaint.hpp"
#include "data_files.hpp"
#include "ddpsim/traces/import.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

std::string fixture_text(const std::string& name) {
  std::ifstream file(files::fixture_file(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The trace of two steps from one rank of the job, without NCCL's version.
std::string trace_of_rank(int rank, int world_size) {
  nlohmann::json trace = nlohmann::json::parse(fixture_text("tiny-ddp-trace.json"));
  trace["distributedInfo"]["rank"] = rank;
  trace["distributedInfo"]["world_size"] = world_size;
  trace["distributedInfo"].erase("nccl_version");
  for (nlohmann::json& event : trace["traceEvents"])
    if (event["args"].contains("Group size")) event["args"]["Group size"] = world_size;
  return trace.dump();
}

/// The same, but the model of each step gets a batch of `rows` in a Linear.
std::string trace_with_input(int rows) {
  nlohmann::json trace = nlohmann::json::parse(trace_of_rank(0, 1));
  for (const std::int64_t step : {1712195495500000, 1712195495501000})
    trace["traceEvents"].push_back({{"ph", "X"},
                                    {"cat", "cpu_op"},
                                    {"name", "aten::linear"},
                                    {"pid", 7},
                                    {"tid", 1},
                                    {"ts", step + 1},
                                    {"dur", 1},
                                    {"args", {{"Input Dims", {{rows, 16}, {4, 16}}}}}});
  return trace.dump();
}

/// The archive of a job in which these ranks left a trace.
struct CollectedJob {
  Archive archive;

  CollectedJob(int ranks, const std::vector<int>& traced) {
    archive = {.file = "out/march.tar.gz", .ranks = ranks};
    for (const int rank : traced)
      add(ArchiveKind::trace, "traces/rank" + std::to_string(rank) + ".json",
          trace_of_rank(rank, ranks), rank);
  }
  CollectedJob& add(ArchiveKind kind, std::string path, std::string bytes,
                    std::optional<int> rank = {}) {
    archive.members.push_back({kind, std::move(path), rank, {}, std::move(bytes)});
    return *this;
  }
  Imported import(const ImportOptions& options = {}) const {
    return import_archive(archive, options);
  }
  std::string complaint(const ImportOptions& options = {}) const {
    return complaint_of([&] { import(options); });
  }
};

}  // namespace

TEST_CASE("workload of an archive: it is named after the archive") {
  CollectedJob job(1, {0});
  CHECK(job.import().workload.name == "march");
  job.archive.file = "out/april/";
  CHECK(job.import().workload.name == "april");
  CHECK(mentions(job.import().recognised,
                 "an archive of scripts/collect.sh: 1 of 1 rank on 1 node left a trace"));
}

TEST_CASE("workload of an archive: ranks without a trace are listed, the first eight one by one") {
  const auto said = [](int ranks) {
    const std::vector<std::string> warnings = CollectedJob(ranks, {0}).import().warnings;
    return warnings.empty() ? "" : warnings.front();
  };
  CHECK(mentions(said(2),
                 "out/march.tar.gz holds no trace of rank 1: who waited for whom cannot be told "
                 "of it"));
  CHECK(
      mentions(said(3), "holds no trace of rank 1, 2: who waited for whom cannot be told of them"));
  CHECK(mentions(said(9), "of rank 1, 2, 3, 4, 5, 6, 7, 8: who"));
  CHECK(mentions(said(10), "of rank 1, 2, 3, 4, 5, 6, 7, 8, …: who"));
  const CollectedJob second(3, {1});
  CHECK(mentions(second.import().warnings, "holds no trace of rank 0, 2:"));
  CHECK_FALSE(mentions(CollectedJob(1, {0}).import().warnings, "holds no trace"));
}

TEST_CASE("workload of an archive: the traces of several ranks are joined") {
  const CollectedJob job(2, {0, 1});
  const Imported joined = job.import();
  CHECK(joined.workload.ranks.size() == 2);
  CHECK_FALSE(mentions(joined.warnings, "holds no trace"));
  CHECK(mentions(job.complaint({.timing = Timing::compacted}),
                 "holds 2 ranks, which are joined on the clock they recorded"));
  // Two traces of one rank are from two runs.
  CollectedJob twice(2, {0, 1});
  twice.add(ArchiveKind::trace, "traces/again.json", trace_of_rank(1, 2), 1);
  CHECK(mentions(twice.complaint(),
                 "traces/again.json: this trace is from rank 1, but so is traces/rank1.json"));
  CollectedJob unnamed(2, {0});
  unnamed.add(ArchiveKind::trace, "traces/other.json", trace_of_rank(1, 2));
  CHECK(mentions(unnamed.complaint(), "its manifest does not say which rank this one is from"));
}

TEST_CASE("workload of an archive: versions are the job's, not those of the collecting Python") {
  const auto read = [](const std::string& versions) {
    const Workload workload =
        CollectedJob(1, {0}).add(ArchiveKind::versions, "versions.txt", versions).import().workload;
    return std::pair(workload.torch, workload.recorded_with.nccl);
  };
  CHECK(read("torch=2.3.1\nnccl=2.20.5\nseen_by=job\n") ==
        std::pair(std::string("2.3.1"), std::optional(NcclVersion{2, 20, 5})));
  CHECK(read("torch=2.3.1\nnccl=2.20.5\nseen_by=collector\n") ==
        std::pair(std::string(), std::optional<NcclVersion>()));
}

TEST_CASE("workload of an archive: batch and step time come from the manifest") {
  CollectedJob job(1, {0});
  CHECK_FALSE(job.import().workload.batch_per_gpu);
  CHECK_FALSE(job.import().unprofiled_step);
  job.archive.batch_size = 32;
  job.archive.step = 104_ms;
  CHECK(job.import().workload.batch_per_gpu == 32);
  CHECK(job.import().unprofiled_step == 104_ms);
}

TEST_CASE("workload of an archive: a batch that contradicts the recorded shapes is reported") {
  CollectedJob job(1, {});
  job.add(ArchiveKind::trace, "traces/rank0.json", trace_with_input(24), 0);
  job.archive.batch_size = 24;
  CHECK(job.import().workload.batch_per_gpu == 24);
  CHECK_FALSE(mentions(job.import().warnings, "the archive states a batch"));
  job.archive.batch_size = 32;
  CHECK(job.import().workload.batch_per_gpu == 24);
  CHECK(mentions(job.import().warnings,
                 "the archive states a batch of 32 per GPU and step, but the recorded shapes show "
                 "24. The shapes are used"));
}

TEST_CASE("workload of an archive: without a trace, DDP logging data is used, or it is refused") {
  CollectedJob job(2, {});
  job.archive.missing = {{.kind = ArchiveKind::trace, .rank = {}, .node = {}, .why = "no --trace"}};
  CHECK(mentions(job.complaint(),
                 "out/march.tar.gz: holds neither a trace nor DDP logging data, so there is no "
                 "workload in it: no --trace"));
  job.add(ArchiveKind::ddp_log, "ddp/rank0.json", fixture_text("ddp-log-resnet18.json"), 0);
  const Imported imported = job.import({.gpu = "V100"});
  CHECK(mentions(imported.warnings,
                 "out/march.tar.gz holds no trace (no --trace): DDP logging data stand in, which "
                 "have no time of single gradients"));
  CHECK(imported.workload.parameters.size() == 62);
  CHECK_FALSE(mentions(imported.warnings, "holds no trace of rank"));
}
