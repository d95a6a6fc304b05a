#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "checked_tar.hpp"
#include "complaint.hpp"
#include "ddpsim/formats/archive.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "mentions.hpp"
#include "tar_text.hpp"
#include "trace_files.hpp"

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

TEST_CASE("archive: returns the members of a kind in order of rank, unchanged") {
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

TEST_CASE("archive: a missing member and an unknown kind are reported, and the rest is read") {
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

TEST_CASE("archive: a hostile archive is refused before anything is kept") {
  const std::string good = manifest_of("");
  for (const auto& [entry, message] : {
           std::pair{test::tar_entry("/etc/passwd", "x"), "with an absolute path"},
           std::pair{test::tar_entry("top/../../x", "x"), "outside its folder"},
           std::pair{test::tar_entry("top/a\\b", "x"), "characters that no path needs"},
           std::pair{test::tar_entry("top/link", "", '2', "/etc/passwd"), "is a link"},
           std::pair{test::tar_entry("top/link", "", '1', "top/manifest.json"), "is a link"},
           std::pair{test::tar_entry("top/device", "", '3'), "not an ordinary file"},
           std::pair{test::tar_entry("top/pipe", "", '6'), "not an ordinary file"},
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

TEST_CASE("archive: old-style and contiguous entries count as files") {
  for (const char type : {'\0', '7'}) {
    CAPTURE(static_cast<int>(type));
    const std::string said =
        complaint_of_tar(packed_tar(manifest_of(""), test::tar_entry("top/notes", "x", type)));
    CHECK_FALSE(mentions(said, "not an ordinary file"));
  }
}

TEST_CASE("archive: a member that is too large is refused") {
  // The header alone must be enough to refuse it.
  const std::string entry = test::tar_entry("top/large", "", '0', "", std::size_t{257} << 20);
  const std::string said = complaint_of_tar(packed_tar(manifest_of(""), entry));
  CHECK_MESSAGE(mentions(said, "more than 256 MiB"), said);
}

TEST_CASE("archive: members that announce too many bytes are refused before they are read") {
  // Six members of 200 MiB of zeros, which never exist in memory.
  const std::string header = test::tar_entry("top/zeros", "", '0', "", std::size_t{200} << 20);
  std::size_t given = 0;
  CheckedTar tar(
      [&](char* buffer, std::size_t capacity) {
        const std::size_t at = given % ((std::size_t{200} << 20) + test::kTarBlock);
        const bool in_header = at < test::kTarBlock;
        const std::size_t count =
            std::min(capacity, in_header ? test::kTarBlock - at : std::size_t{1} << 16);
        if (in_header)
          header.copy(buffer, count, at);
        else
          std::fill_n(buffer, count, '\0');
        given += count;
        return count;
      },
      "job.tar");
  const std::string said = complaint_of([&] {
    while (!tar.next().empty()) {
    }
  });
  CHECK_MESSAGE(mentions(said, "the archive unpacks to more than 1024 MiB"), said);
  CHECK(given < (std::size_t{1001} << 20));
}

TEST_CASE("archive: headers that would allocate memory are refused before libarchive sees them") {
  const auto pax = [](const std::string& key, const std::string& value) {
    std::string record = " " + key + "=" + value + "\n";
    std::size_t length = record.size() + 1;
    while (std::to_string(length).size() + record.size() != length) ++length;
    return std::to_string(length) + record;
  };
  const std::string long_name = test::tar_entry("././@LongLink", "top/a", 'L');
  for (const auto& [entries, message] : {
           std::pair{test::tar_entry("top/a", "", 'S'), "is a sparse file"},
           std::pair{test::tar_entry("top/x", pax("GNU.sparse.major", "1"), 'x'),
                     "is a sparse file"},
           std::pair{
               test::tar_entry("top/x", pax("mtime", "1") + pax("GNU.sparse.map", "0,1"), 'x'),
               "is a sparse file"},
           std::pair{test::tar_entry("top/x", pax("size", "1"), 'x'), "states its size twice"},
           std::pair{test::tar_entry("top/x", pax("size", "1"), 'g'), "states its size twice"},
           std::pair{test::tar_entry("top/x", "9999 path=a\n", 'x'), "attributes are damaged"},
           std::pair{test::tar_entry("top/x", "path=a\n", 'x'), "attributes are damaged"},
           std::pair{test::tar_entry("././@LongLink", std::string(65'537, 'a'), 'L'),
                     "a name or attributes of more than 64 KiB"},
           std::pair{test::tar_entry("././@LongLink", "/etc/passwd", 'K'), "holds a link"},
           std::pair{long_name + long_name + long_name + long_name + long_name,
                     "more than 4 extension headers"},
           std::pair{test::tar_entry("top/d", "content", '5'), "is not an ordinary file"},
           std::pair{test::tar_entry("top/d", "", 'M'), "is not an ordinary file"},
           std::pair{std::string(test::kTarBlock, 'x'), "cut or damaged"},
       }) {
    const std::string said =
        complaint_of_tar(packed_tar(manifest_of(""), entries + test::tar_entry("top/b", "b")));
    CHECK_MESSAGE(mentions(said, message), said);
  }
  const std::string named =
      packed_tar(manifest_of(R"({"path": "a", "kind": "note"}, {"path": "ä", "kind": "note"})"),
                 long_name + test::tar_entry("top/cut", "long") +
                     test::tar_entry("top/x", pax("path", "top/ä") + pax("mtime", "1.5"), 'x') +
                     test::tar_entry("top/y", "pax"));
  const Archive archive = parse_archive(test::bytes_of(named), "job.tar");
  REQUIRE(archive.members.size() == 2);
  CHECK(archive.members[0].bytes == "long");
  CHECK(archive.members[1].bytes == "pax");
}

TEST_CASE("archive: a large description of a node is refused") {
  const std::string large((std::size_t{2} << 20) + 1, 'x');
  for (const char* kind : {"versions", "gpus", "devices", "topology", "matrix"}) {
    const std::string tar =
        packed_tar(manifest_of(R"({"path": "a", "kind": ")" + std::string(kind) + R"("})"),
                   test::tar_entry("top/a", large));
    CHECK(mentions(complaint_of_tar(tar), "a: is larger than 2 MiB"));
  }
  const std::string log = packed_tar(manifest_of(R"({"path": "a", "kind": "nccl_log"})"),
                                     test::tar_entry("top/a", large));
  CHECK(parse_archive(test::bytes_of(log), "job.tar").members.size() == 1);
}

TEST_CASE("archive: only one layer of compression is removed, so nested bombs have no effect") {
  const std::string tar =
      packed_tar(manifest_of(R"({"path": "a", "kind": "note"})"), test::tar_entry("top/a", "x"));
  CHECK(parse_archive(test::bytes_of(files::gzipped(tar)), "job.tar.gz").members.size() == 1);
  CHECK(mentions(complaint_of_tar(files::gzipped(files::gzipped(tar))), "compressed twice"));
  const std::string zeros = packed_tar(
      manifest_of(""), test::tar_entry("top/zeros", std::string(std::size_t{40} << 20, '\0')));
  CHECK(mentions(complaint_of_tar(files::gzipped(zeros)), "more than 250 times its size"));
}

TEST_CASE("archive: contents in several pieces are read completely, and a cut member is refused") {
  std::string content;
  for (int k = 0; content.size() < std::size_t{3} << 20; ++k) content += std::to_string(k);
  const std::string tar = packed_tar(manifest_of(R"({"path": "a", "kind": "note"})"),
                                     test::tar_entry("top/a", content));
  CHECK(parse_archive(test::bytes_of(tar), "job.tar").members.at(0).bytes == content);
  CHECK(mentions(complaint_of_tar(tar.substr(0, tar.size() / 2)), "cut or damaged"));
}

TEST_CASE("archive: a file of zeros is not a tar, and an empty tar is reported as empty") {
  const files::TemporaryFolder folder;
  const std::string tar = packed_tar(manifest_of(""));
  CHECK_FALSE(is_archive(folder.file("zeros", std::string(10'240, '\0'))));
  CHECK(is_archive(folder.file("tar", tar + std::string(8'000, '\0'))));
  CHECK(is_archive(folder.file("tar.gzipped", files::gzipped(tar))));
  CHECK(mentions(complaint_of_tar(test::tar_end()), "without any file in it"));
}

TEST_CASE("archive: a cut archive, or one without a known version, gets a hint") {
  const std::string whole = packed_tar(manifest_of(R"({"path": "a", "kind": "note"})"),
                                       test::tar_entry("top/a", std::string(4000, 'a')));
  CHECK(mentions(complaint_of_tar(whole.substr(0, whole.size() - 4000)), "cut or damaged"));
  CHECK(mentions(complaint_of_tar(test::tar_entry("trace.json", "{}") + test::tar_end()),
                 "without the manifest.json"));
  CHECK(mentions(complaint_of_tar("no tar at all"), "damaged"));
  const std::string next =
      complaint_of_tar(packed_tar(R"({"schema": "ddpsim.collect/2", "whatever": 1})"));
  CHECK(mentions(next, "another version, \"ddpsim.collect/2\""));
  CHECK(mentions(next, "ddpsim.collect/1"));
  CHECK(mentions(complaint_of_tar(packed_tar(R"({"schema": "ddpsim.cluster/1"})")),
                 "not what scripts/collect.sh writes"));
  CHECK(mentions(complaint_of_tar(packed_tar("{")), "manifest.json"));
}

TEST_CASE("archive: a manifest that contradicts itself is refused") {
  for (const auto& [members, message] : {
           std::pair{R"({"path": "../a", "kind": "note"})", "outside its folder"},
           std::pair{R"({"path": "a", "kind": "note", "rank": 1})",
                     "is from rank 1, but the job has 1"},
           std::pair{R"({"path": "a", "kind": "note", "node": 7})",
                     "is from node 7, but the job has 1"},
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

TEST_CASE("archive: an unpacked folder is equivalent, and a link to outside is refused") {
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

TEST_CASE("archive: names of kinds equal the enumerators") {
  CHECK(name_of(ArchiveKind::trace) == "trace");
  CHECK(name_of(ArchiveKind::all_reduce_log) == "all_reduce_log");
  CHECK(name_of(ArchiveKind::note) == "note");
}
