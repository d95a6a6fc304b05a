#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "complaint.hpp"
#include "ddpsim/formats/archive.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "mentions.hpp"
#include "tar_text.hpp"

using namespace ddpsim;

namespace {

constexpr const char* kManifestText = R"({
  "schema": "ddpsim.collect/1", "ranks": 4, "nodes": 2, "step_us": 104000, "batch_size": 32,
  "members": [
    {"path": "traces/rank1.json", "kind": "trace", "rank": 1, "node": 0},
    {"path": "traces/rank0.json", "kind": "trace", "rank": 0, "node": 0},
    {"path": "hardware/node1-gpus.csv", "kind": "gpus", "node": 1}
  ],
  "missing": [{"kind": "all_reduce_log", "node": 0, "why": "all_reduce_perf is not on PATH"}]
})";

std::string manifest_of(const std::string& members) {
  return R"({"schema": "ddpsim.collect/1", "ranks": 1, "nodes": 1, "members": [)" + members + "]}";
}

std::string packed_tar(const std::string& manifest, const std::string& entries = "") {
  return test::tar_entry("top/manifest.json", manifest) + entries + test::tar_end();
}

std::string complaint_of_tar(const std::string& tar) {
  return complaint_of([&] { parse_archive(test::bytes_of(tar), "job.tar"); });
}

}  // namespace

TEST_CASE("archive: members by kind, in order of rank, as packed") {
  const std::string tar =
      packed_tar(kManifestText, test::tar_entry("top/traces/rank0.json", "zero") +
                                    test::tar_entry("top/traces", "", '5') +
                                    test::tar_entry("top/traces/rank1.json", "one") +
                                    test::tar_entry("top/hardware/node1-gpus.csv", "name\nV100\n") +
                                    test::tar_entry("top/unlisted", "nobody asked"));
  const Archive archive = parse_archive(test::bytes_of(tar), "job.tar");
  CHECK(archive.ranks == 4);
  CHECK(archive.nodes == 2);
  CHECK(archive.step == Duration::milliseconds(104));
  CHECK(archive.batch_size == 32);
  CHECK(archive.warnings.empty());
  const auto traces = archive.of(ArchiveKind::trace);
  REQUIRE(traces.size() == 2);
  CHECK(traces[0]->bytes == "zero");
  CHECK(traces[1]->bytes == "one");
  CHECK(archive.name_of(*traces[0]) == "job.tar:traces/rank0.json");
  REQUIRE(archive.of(ArchiveKind::gpus).size() == 1);
  CHECK(archive.of(ArchiveKind::gpus)[0]->node == 1);
  CHECK(archive.of(ArchiveKind::topology).empty());
  CHECK(archive.why_missing(ArchiveKind::all_reduce_log) == "all_reduce_perf is not on PATH");
  CHECK(archive.why_missing(ArchiveKind::topology).empty());
}

TEST_CASE(
    "archive: what is listed and not there, or of an unknown kind, is said, and the rest is read") {
  const std::string tar = packed_tar(
      manifest_of(
          R"({"path": "a", "kind": "nccl_log"}, {"path": "b", "kind": "holograms"}, {"path": "c", "kind": "note"})"),
      test::tar_entry("top/b", "x") + test::tar_entry("top/c", "y"));
  const Archive archive = parse_archive(test::bytes_of(tar), "job.tar");
  REQUIRE(archive.members.size() == 1);
  CHECK(archive.members[0].bytes == "y");
  REQUIRE(archive.warnings.size() == 2);
  CHECK(mentions(archive.warnings[0], "a is listed, and not there"));
  CHECK(mentions(archive.warnings[1], "\"holograms\""));
  CHECK(archive.why_missing(ArchiveKind::nccl_log) == "a was taken out");
}

TEST_CASE("archive: hostile ones are refused before anything is kept") {
  const std::string good = manifest_of("");
  for (const auto& [entry, message] : {
           std::pair{test::tar_entry("/etc/passwd", "x"), "with an absolute path"},
           std::pair{test::tar_entry("top/../../x", "x"), "outside its folder"},
           std::pair{test::tar_entry("top/a\\b", "x"), "characters that no path needs"},
           std::pair{test::tar_entry("top/link", "", '2', "/etc/passwd"), "is a link"},
           std::pair{test::tar_entry("top/link", "", '1', "top/manifest.json"), "is a link"},
           std::pair{test::tar_entry("top/device", "", '3'), "no ordinary file"},
           std::pair{test::tar_entry("top/pipe", "", '6'), "no ordinary file"},
           std::pair{test::tar_entry("top/a", "x") + test::tar_entry("top/a", "y"),
                     "in the archive twice"},
       }) {
    const std::string said = complaint_of_tar(packed_tar(good, entry));
    CHECK_MESSAGE(mentions(said, message), said);
  }
  std::string many;
  for (int k = 0; k < 4100; ++k) many += test::tar_entry("top/" + std::to_string(k), "");
  CHECK(mentions(complaint_of_tar(packed_tar(good, many)), "more than 4096 files"));
}

TEST_CASE("archive: a member of more bytes than any job leaves is refused") {
  const std::string large(std::size_t{257} << 20, 'x');
  const std::string said =
      complaint_of_tar(packed_tar(manifest_of(""), test::tar_entry("top/large", large)));
  CHECK_MESSAGE(mentions(said, "more than 256 MiB"), said);
}

TEST_CASE("archive: cut ones, and those of no or another version, say what to do") {
  const std::string whole = packed_tar(manifest_of(R"({"path": "a", "kind": "note"})"),
                                       test::tar_entry("top/a", std::string(4000, 'a')));
  CHECK(mentions(complaint_of_tar(whole.substr(0, whole.size() - 4000)), "cut or damaged"));
  CHECK(mentions(complaint_of_tar(test::tar_entry("trace.json", "{}") + test::tar_end()),
                 "no manifest.json"));
  CHECK(mentions(complaint_of_tar("no tar at all"), "damaged"));
  const std::string next =
      complaint_of_tar(packed_tar(R"({"schema": "ddpsim.collect/2", "whatever": 1})"));
  CHECK(mentions(next, "another version, \"ddpsim.collect/2\""));
  CHECK(mentions(next, "ddpsim.collect/1"));
  CHECK(mentions(complaint_of_tar(packed_tar(R"({"schema": "ddpsim.cluster/1"})")),
                 "not what scripts/collect.sh writes"));
  CHECK(mentions(complaint_of_tar(packed_tar("{")), "manifest.json"));
}

TEST_CASE("archive: a manifest that contradicts itself") {
  for (const auto& [members, message] : {
           std::pair{R"({"path": "../a", "kind": "note"})", "outside its folder"},
           std::pair{R"({"path": "a", "kind": "note", "rank": 1})",
                     "is of rank 1, and the job has 1"},
           std::pair{R"({"path": "a", "kind": "note", "node": 7})",
                     "is of node 7, and the job has 1"},
           std::pair{R"({"path": "a", "kind": "note"}, {"path": "a", "kind": "note"})",
                     "listed twice"},
           std::pair{R"({"path": "a", "kind": "note", "color": "red"})", "color"},
       }) {
    const std::string said =
        complaint_of_tar(packed_tar(manifest_of(members), test::tar_entry("top/a", "x")));
    CHECK_MESSAGE(mentions(said, message), said);
  }
  const std::string zero = complaint_of_tar(packed_tar(
      R"({"schema": "ddpsim.collect/1", "ranks": 1, "nodes": 1, "step_us": 0, "members": []})"));
  CHECK(mentions(zero, "longer than zero"));
}

TEST_CASE("archive: the folder it unpacks to is the same, and a link out of it is refused") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "ddpsim-archive-test";
  fs::remove_all(folder);
  fs::create_directories(folder / "inside" / "sub");
  std::ofstream(folder / "secret") << "outside";
  std::ofstream(folder / "inside" / "manifest.json")
      << manifest_of(R"({"path": "sub/a", "kind": "note"})");
  std::ofstream(folder / "inside" / "sub" / "a") << "text";
  CHECK(is_archive(folder / "inside"));
  CHECK_FALSE(is_archive(folder));
  CHECK_FALSE(is_archive(folder / "secret"));
  CHECK_FALSE(is_archive(folder / "nothing"));
  CHECK(read_archive(folder / "inside").members.at(0).bytes == "text");
  fs::remove(folder / "inside" / "sub" / "a");
  fs::create_symlink(folder / "secret", folder / "inside" / "sub" / "a");
  CHECK(mentions(complaint_of([&] { read_archive(folder / "inside"); }), "is a link to outside"));
  fs::remove_all(folder);
}

TEST_CASE("archive: names of kinds are the enumerators'") {
  CHECK(name_of(ArchiveKind::trace) == "trace");
  CHECK(name_of(ArchiveKind::all_reduce_log) == "all_reduce_log");
  CHECK(name_of(ArchiveKind::note) == "note");
}
