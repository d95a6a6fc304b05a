// A folder of traces: which files belong to one job, and which are used.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/rank_group.hpp"
#include "mentions.hpp"
#include "trace_files.hpp"

using namespace ddpsim;
using namespace ddpsim::files;

namespace {

/// A trace without distributedInfo.
std::string unnumbered_trace() {
  return replaced(tiny_trace(), "\"distributedInfo\"", "\"anythingElse\"");
}

std::string ranked_trace(int rank, int world = 2) {
  return replaced(unnumbered_trace(), "{\"schemaVersion\": 1,",
                  fmt::format(R"({{"schemaVersion": 1,"distributedInfo": {{"backend": "nccl", )"
                              R"("rank": {}, "world_size": {}, "pg_config": [{{"ranks": [0]}}]}},)",
                              rank, world));
}

std::string folder_complaint(const TemporaryFolder& folder) {
  const std::string message = complaint_of([&] { import_file(folder.path(), {}); });
  return message.find(folder.path().string()) == 0 ? message : "unnamed: " + message;
}

void make_folder(const TemporaryFolder& folder, const std::string& below) {
  std::filesystem::create_directories(folder.path() / below);
}

}  // namespace

TEST_CASE(
    "folder: the files of tensorboard_trace_handler are one job with ranks by distributedInfo") {
  const TemporaryFolder folder;
  folder.file("hostb_17.1712195495700.pt.trace.json", ranked_trace(0));
  folder.file("hosta_99.1712195495500.pt.trace.json.gz", gzipped(ranked_trace(1)));
  folder.file("events.out.tfevents.1712195495.hosta", "brain.Event:2");
  folder.file(".hidden.json", ranked_trace(0));
  const Imported imported = import_file(folder.path(), {});
  REQUIRE(imported.workload.ranks.size() == 2);
  CHECK(imported.workload.ranks[1].rank == 1);
  CHECK(imported.workload.name == folder.path().filename());
  CHECK(imported.recognised.front() ==
        "a folder: 2 traces; left out: 1 other file (events.out.tfevents.1712195495.hosta)");
}

TEST_CASE("folder: a trace of another program is left out and named, unless it is the only one") {
  const TemporaryFolder folder;
  folder.file("rank0.json", ranked_trace(0));
  folder.file("rank1.json", ranked_trace(1));
  folder.file("chrome.json", R"([{"ph":"X"}])");
  folder.file("build.json.gz",
              gzipped(R"({"traceEvents": [{"ph": "X", "cat": "action", "name": "compile"}]})"));
  const Imported imported = import_file(folder.path(), {});
  CHECK(imported.workload.ranks.size() == 2);
  CHECK(imported.recognised.front() ==
        "a folder: 2 traces; left out, without an event of a PyTorch profiler: build.json.gz, "
        "chrome.json");
  const TemporaryFolder foreign;
  foreign.file("chrome.json", R"([{"ph":"X"}])");
  CHECK(mentions(folder_complaint(foreign),
                 "without a profiler trace or nsys export; it holds chrome.json"));
  foreign.file("hosta_1.17.pt.trace.json", R"([{"ph":"X"}])");
  CHECK(mentions(complaint_of([&] { import_file(foreign.path(), {}); }),
                 "hosta_1.17.pt.trace.json: it holds no event of a PyTorch profiler"));
}

TEST_CASE("folder: a trace and its packed copy are one trace, and packed ones join the same job") {
  const TemporaryFolder folder;
  folder.file("job-rank0.json", ranked_trace(0));
  folder.file("job-rank0.json.gz", gzipped(ranked_trace(0)));
  folder.file("job-rank1.json.gz", gzipped(ranked_trace(1)));
  const Imported imported = import_file(folder.path(), {});
  CHECK(imported.workload.ranks.size() == 2);
  CHECK(imported.recognised.front() ==
        "a folder: 2 traces; left out: 1 other file (job-rank0.json.gz)");
}

TEST_CASE("folder: the last of several cycles of each process is used") {
  const TemporaryFolder folder;
  const std::string later = replaced(ranked_trace(0), "ProfilerStep#", "ProfilerStep#9");
  folder.file("h_1.999.pt.trace.json", ranked_trace(0));
  folder.file("h_1.1000.pt.trace.json", later);
  folder.file("h_2.999.pt.trace.json", ranked_trace(1));
  folder.file("h_2.1001.pt.trace.json",
              replaced(ranked_trace(1), "ProfilerStep#", "ProfilerStep#9"));
  const Imported imported = import_file(folder.path(), {});
  CHECK(imported.rank_trace->step == "ProfilerStep#91");
  CHECK(mentions(imported.recognised, "4 traces, 2 of each process; the last one is used"));

  folder.file("h_2.1002.pt.trace.json", ranked_trace(1));
  CHECK(mentions(folder_complaint(folder), "h_1 wrote 2 traces, h_2 wrote 3"));
}

TEST_CASE("folder: names give the ranks if the traces do not, also in subfolders") {
  const std::vector<std::vector<std::string>> layouts = {
      {"rank0_trace.json", "rank1_trace.json"},
      {"rank_1.json", "rank_0.json"},
      {"a/rank0/trace.json", "a/rank1/trace.json"},
      {"Rank-10.99.pt.trace.json", "Rank-2.98.pt.trace.json"}};
  for (const auto& layout : layouts) {
    const TemporaryFolder folder;
    make_folder(folder, "a/rank0");
    make_folder(folder, "a/rank1");
    for (const std::string& name : layout) folder.file(name, unnumbered_trace());
    CAPTURE(layout.front());
    CHECK(import_file(folder.path(), {}).workload.ranks.size() == 2);
  }
  const TemporaryFolder alone;
  alone.file("trace.json", unnumbered_trace());
  CHECK(import_file(alone.path(), {}).workload.ranks.empty());
}

TEST_CASE("folder: a head that ends inside pg_config still shows the rank") {
  const TemporaryFolder folder;
  const std::string many(70'000, '7');
  for (const int rank : {0, 1})
    folder.file(fmt::format("h_{}.1.pt.trace.json", rank),
                replaced(ranked_trace(rank), "\"ranks\": [0]", "\"ranks\": [\"" + many + "\"]"));
  CHECK(import_file(folder.path(), {}).workload.ranks.size() == 2);
}

TEST_CASE("folder: anything other than the traces of one job is refused with a list") {
  struct Case {
    std::vector<std::pair<std::string, std::string>> files;
    std::string message;
  };
  const std::string two = ranked_trace(0);
  const std::vector<Case> cases = {
      {{}, "is a folder without a file"},
      {{{"notes.txt", "x"}, {"list.json", "[1,2]"}},
       "without a profiler trace or nsys export; it holds list.json, notes.txt"},
      {{{"a-rank0.json", two}, {"a-rank1.json", ranked_trace(1)}, {"b.json", unnumbered_trace()}},
       "holds traces of 2 jobs: a-rank*.json (2 files of 2 ranks), b.json (1 file)"},
      {{{"run1/h_1.1.pt.trace.json", two}, {"run2/h_1.1.pt.trace.json", two}},
       "2 jobs: run1/ (1 file of 2 ranks), run2/ (1 file of 2 ranks)"},
      {{{"h_1.1.pt.trace.json", two}, {"h_2.1.pt.trace.json", ranked_trace(1, 4)}}, "of 2 jobs"},
      {{{"h_1.1.pt.trace.json", two}, {"h_2.1.pt.trace.json", two}},
       "h_1.1.pt.trace.json and h_2.1.pt.trace.json are both of rank 0"},
      {{{"h_1.1.pt.trace.json", unnumbered_trace()}, {"h_2.1.pt.trace.json", unnumbered_trace()}},
       "the rank of h_1.1.pt.trace.json is neither in it"},
      {{{"h_1.1.pt.trace.json", two}, {"h_2.1.pt.trace.json", ""}},
       "h_2.1.pt.trace.json: looks like an empty file"},
      {{{"h_1.1.pt.trace.json", two}, {"h_2.1.pt.trace.json.gz", "\x1f\x8b"}},
       "h_2.1.pt.trace.json.gz:byte 2: the gzip data ends early"},
      {{{"a/b/c/d/trace.json", two}}, "is a folder without a file"},
  };
  for (const Case& one : cases) {
    const TemporaryFolder folder;
    for (const char* below : {"run1", "run2", "a/b/c/d"}) make_folder(folder, below);
    for (const auto& [name, text] : one.files) folder.file(name, text);
    const std::string message = folder_complaint(folder);
    CAPTURE(one.message);
    CHECK(mentions(message, one.message));
    CHECK(!mentions(message, "unnamed"));
  }
}

TEST_CASE("folder: several ranks cannot be compacted, and a folder is not a rank") {
  const TemporaryFolder folder;
  folder.file("rank0.json", ranked_trace(0));
  folder.file("rank1.json", ranked_trace(1));
  CHECK(mentions(complaint_of([&] {
                   import_file(folder.path(),
                               {.model = "", .gpu = "", .step = "", .timing = Timing::compacted});
                 }),
                 "holds 2 ranks, which are joined on the clock they recorded"));
  const std::vector<std::filesystem::path> twice = {folder.path(), folder.path()};
  CHECK(
      mentions(complaint_of([&] { import_ranks(twice, {}); }), "is a folder among several inputs"));
}
