#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/layer_table.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "mentions.hpp"
#include "sqlite_file.hpp"
#include "trace_files.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
using namespace ddpsim::literals;

namespace {

std::string import_complaint(const std::filesystem::path& path) {
  return complaint_of([&] { import_file(path, {}); });
}

std::string table_complaint(const std::string& text) {
  return complaint_of([&] { parse_layer_table(text, "t.csv"); });
}

const std::string kTable =
    "layer,parameters,forward_us,backward_us\n"
    "conv,1000,10,20.5\nrelu,0,1,2\n\nfc,500,3,4\n";

}  // namespace

TEST_CASE("import: a format is recognised by content, with any name, with or without gzip") {
  const TemporaryFolder folder;
  const std::string workload =
      R"({"parameters":[{"name":"a","shape":[1],"dtype":"float32"}],"schema":"ddpsim.workload/1"})";
  CHECK(import_file(folder.file("a.csv", workload), {}).workload.parameters.size() == 1);
  CHECK(import_file(folder.file("b.txt", gzipped(workload)), {}).workload.parameters.size() == 1);
  CHECK(import_file(folder.file("c.json", kTable), {}).workload.parameters.size() == 2);
  CHECK(import_file(folder.file("d.json", tiny_trace()), {}).workload.forward == 128_us);
  CHECK(import_file(folder.file("e", gzipped(tiny_trace())), {}).workload.forward == 128_us);
  // gzip allows several consecutive members.
  const std::string text = tiny_trace();
  const std::string members = gzipped(text.substr(0, 999)) + gzipped(text.substr(999));
  CHECK(import_file(folder.file("f.gz", members), {}).workload.forward == 128_us);
}

TEST_CASE("import: a database that cannot be opened is refused with SQLite's reason") {
  const TemporaryFolder folder;
  CHECK(complaint_of([&] {
          SqliteFile((folder.path() / "absent").string());
        }).find("cannot be read as an SQLite database: unable to open database file") !=
        std::string::npos);
}

TEST_CASE("import: a file that is not a workload is named by what it looks like") {
  const TemporaryFolder folder;
  struct Case {
    std::string content;
    const char* message;
  };
  const std::string packed = gzipped(tiny_trace());
  const std::vector<Case> cases = {
      {"", "an empty file"},
      {std::string("SQLite format 3\0...", 19), "cannot be read as an SQLite database"},
      {"# nThread 1 nGpus 8 minBytes 8\n# size count busbw\n", "an nccl-tests log"},
      {"<!doctype html><html>", "HTML"},
      {"PK\x03\x04zip", "a zip archive"},
      {R"({"schema":"1.0.1","nodes":[{"id":1}]})", "Chakra"},
      {R"({"schema":"ddpsim.cluster/1","nodes":[]})", "a ddpsim.cluster/1 file"},
      {R"({"schema":"ddpsim.workload/9","parameters":[]})", "another version"},
      {R"({"hello":1})", "without \"traceEvents\""},
      {"hello\n", "the format was not recognised"},
      {std::string("\x7f"
                   "ELF\0\0",
                   6),
       "a program"},
      {packed.substr(0, packed.size() / 2), "the gzip data ends early"},
      {packed.substr(0, 40) + "damage" + packed.substr(46), "gzip data"},
      {packed + "trailing", "gzip data is damaged"},
      {"\x1f\x8b", "the gzip data ends early"},
  };
  for (const Case& one : cases) {
    const std::string message = import_complaint(folder.file("input", one.content));
    CAPTURE(message);
    CHECK(mentions(message, one.message));
  }
  CHECK(mentions(import_complaint(folder.path() / "absent"), "no such file"));
  CHECK(mentions(import_complaint("-"), "standard input is not read"));
}

TEST_CASE("import: --iteration makes no sense for a workload file") {
  const TemporaryFolder folder;
  const auto path =
      folder.file("w", R"({"parameters":[{"name":"a","shape":[1],"dtype":"float32"}]})");
  CHECK_THROWS_AS(import_file(path, {.iteration = 0, .model = "", .gpu = ""}), InputError);
}

TEST_CASE("layer table: gradients are ready when their layer's backward ends, last layer first") {
  const Workload workload = parse_layer_table(kTable, "some/t.csv").workload;
  CHECK(workload.name == "t");
  CHECK(workload.forward == 14_us);
  CHECK(workload.backward->duration == Duration::microseconds(26.5));
  REQUIRE(workload.backward->ready.size() == 2);
  CHECK(workload.parameters[0].name == "conv");
  CHECK(workload.parameters[0].shape == std::vector<std::int64_t>{1000});
  CHECK(workload.backward->ready[0].parameter == 1);
  CHECK(workload.backward->ready[0].at == 4_us);
  CHECK(workload.backward->ready[1].parameter == 0);
  CHECK(workload.backward->ready[1].at == Duration::microseconds(26.5));
  const std::string text = format_workload(workload);
  CHECK(format_workload(parse_workload(text, "again")) == text);
}

TEST_CASE(
    "layer table: output of spreadsheets is read: a byte order mark, Windows line ends, spaces") {
  const Workload workload =
      parse_layer_table("\xEF\xBB\xBFlayer, parameters, forward_us, backward_us\r\na , 1, 2, 3\r\n",
                        "t")
          .workload;
  CHECK(workload.parameters.at(0).name == "a");
}

TEST_CASE("layer table: each wrong line gets its message") {
  const std::string header = "layer,parameters,forward_us,backward_us\n";
  CHECK(mentions(table_complaint(""), "the table is empty"));
  CHECK(mentions(table_complaint("layer,params,fwd,bwd\n"), "line 1: the header is"));
  CHECK(mentions(table_complaint(header), "no layer has parameters"));
  CHECK(mentions(table_complaint(header + "a,1,2\n"), "line 2: 3 cells"));
  CHECK(mentions(table_complaint(header + ",1,2,3\n"), "the layer has no name"));
  for (const std::string name : {"\xFF", "a\xC0\x80", "\xED\xA0\x80", "\xE2\x82"})
    CHECK(mentions(table_complaint(header + name + ",1,2,3\n"), "is not UTF-8"));
  CHECK(mentions(table_complaint(header + "a,-1,2,3\n"), "parameters is \"-1\""));
  CHECK(mentions(table_complaint(header + "a,1.5,2,3\n"), "parameters is \"1.5\""));
  CHECK(mentions(table_complaint(header + "a,1,nan,3\n"), "forward_us is \"nan\""));
  CHECK(mentions(table_complaint(header + "a,1,2,-3\n"), "backward_us is \"-3\""));
  CHECK(mentions(table_complaint(header + "a,1,2,1e13\n"), "backward_us is \"1e13\""));
  CHECK(mentions(table_complaint(header + "a,1,2,3ms\n"), "backward_us is \"3ms\""));
  CHECK(mentions(table_complaint(header + "a,1,2,3\nb,0,1,1\na,1,2,3\n"),
                 "line 4: the layer \"a\" is already on line 2. Layer names are unique"));
  CHECK(mentions(table_complaint(header + "a,9223372036854775807,2,3\n"),
                 "more than 2^63 - 1 bytes"));
  CHECK(mentions(table_complaint(header + "a,1,1e12,3\nb,1,1e12,3\n"), "longer than 1e12"));
}
