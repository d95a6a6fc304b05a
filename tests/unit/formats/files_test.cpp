#include "ddpsim/formats/files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/output_file.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "trace_files.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
namespace fs = std::filesystem;

namespace {

std::string read_complaint(const fs::path& path, std::int64_t limit) {
  try {
    read_file(path, limit);
  } catch (const InputError& error) {
    return error.diagnostic().message;
  }
  return "";
}

}  // namespace

TEST_CASE("files: written content is read back, including zero bytes and newlines") {
  const TemporaryFolder scratch;
  const std::string content("a\0b\r\n\n", 6);
  write_file(scratch.path() / "f", content);
  CHECK(read_file(scratch.path() / "f", 6) == content);
  write_file(scratch.path() / "f", "shorter");
  CHECK(read_file(scratch.path() / "f", 100) == "shorter");
}

TEST_CASE("files: one byte above the limit is refused, the limit itself is not") {
  const TemporaryFolder scratch;
  write_file(scratch.path() / "f", "12345");
  CHECK(read_complaint(scratch.path() / "f", 5) == "");
  CHECK(read_complaint(scratch.path() / "f", 4) ==
        "is larger than 4 bytes, the most this kind of file may have");
}

TEST_CASE("files: missing files and folders get different errors") {
  const TemporaryFolder scratch;
  CHECK(read_complaint(scratch.path() / "absent", 9) == "no such file");
  CHECK(read_complaint(scratch.path(), 9) == "is a directory; expected a file");
}

TEST_CASE("files: a write that fails leaves nothing behind") {
  const TemporaryFolder scratch;
  CHECK_THROWS_AS(write_file(scratch.path() / "no" / "such" / "f", "x"), std::runtime_error);
  CHECK_THROWS_AS(write_file(scratch.path(), "x"), std::runtime_error);
  CHECK(fs::is_empty(scratch.path()));
}

TEST_CASE("files: writing through a symbolic link keeps the link") {
  const TemporaryFolder scratch;
  write_file(scratch.path() / "real", "old");
  fs::create_symlink("real", scratch.path() / "link");
  write_file(scratch.path() / "link", "new");
  CHECK(fs::is_symlink(scratch.path() / "link"));
  CHECK(read_file(scratch.path() / "real", 9) == "new");
}

TEST_CASE("files: in a folder named by the user, only regular files are replaced") {
  const TemporaryFolder scratch;
  const fs::path folder = scratch.path() / "folder";
  fs::create_directory(folder);
  write_into_folder(folder, "f", "first");
  write_into_folder(folder, "f", "second");
  CHECK(read_file(folder / "f", 9) == "second");

  write_file(scratch.path() / "secret", "kept");
  fs::create_symlink("../secret", folder / "link");
  fs::create_symlink("../absent", folder / "dangling");
  fs::create_symlink("/dev/null", folder / "device");
  fs::create_directory(folder / "inner");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const char* name : {"link", "dangling", "device", "inner", "pipe"}) {
    CHECK_THROWS_AS(require_regular_place(folder / name), std::runtime_error);
    CHECK_THROWS_AS(write_into_folder(folder, name, "x"), std::runtime_error);
  }
  CHECK(read_file(scratch.path() / "secret", 9) == "kept");
  CHECK_FALSE(fs::exists(scratch.path() / "absent"));
  CHECK_NOTHROW(require_regular_place(folder / "f"));
  CHECK_NOTHROW(require_regular_place(folder / "new"));
}

TEST_CASE("suggest: a typing error is recognised, a different word is not") {
  const std::vector<std::string> known = {"simulate", "tune", "buckets", "import"};
  CHECK(nearest("simulte", known) == "simulate");
  CHECK(nearest("TUNE", known) == "tune");
  CHECK(nearest("bucket", known) == "buckets");
  CHECK_FALSE(nearest("calibrate", known));
  CHECK_FALSE(nearest("x", known));
  CHECK_FALSE(nearest("", known));
  CHECK_FALSE(nearest(std::string(1'000'000, 'a'), known));
}

TEST_CASE("suggest: one sentence about what was meant, and the separate words") {
  const std::vector<std::string> known = {"abci-a100", "abci-v100", "alps-gh200", "p3", "p3dn"};
  CHECK(did_you_mean("alps", known).text == "Did you mean \"alps-gh200\"?");
  CHECK(did_you_mean("ABCI", known).text == "Did you mean \"abci-a100\" or \"abci-v100\"?");
  CHECK(did_you_mean("ABCI", known).meant == std::vector<std::string>{"abci-a100", "abci-v100"});
  CHECK(did_you_mean("al", known, "`ddpsim list` shows all").meant.empty());
  CHECK(did_you_mean("p3d", known).text ==
        "Did you mean \"p3dn\"?");  // it begins with the text, unlike "p3"
  CHECK(did_you_mean("cap", std::vector<std::string>{"cap-mb-list", "cap-mb"}).text ==
        "Did you mean \"cap-mb\"?");
  CHECK(did_you_mean("al", known, "`ddpsim list` shows all").text.starts_with("`ddpsim"));
  CHECK(did_you_mean("selene", known).empty());
  CHECK(
      to_string(not_one_of("p3dm", known)) ==
      "\"p3dm\" is not one of abci-a100, abci-v100, alps-gh200, p3, p3dn. Did you mean \"p3dn\"?");
}

TEST_CASE("number: parses the whole text or nothing") {
  CHECK(parse_number<int>("12") == 12);
  CHECK(parse_number<double>("-1e3") == -1000);
  CHECK_FALSE(parse_number<int>("12 "));
  CHECK_FALSE(parse_number<int>(" 12"));
  CHECK_FALSE(parse_number<int>("+12"));
  CHECK_FALSE(parse_number<int>(""));
  CHECK_FALSE(parse_number<int>("2147483648"));
  CHECK_FALSE(parse_number<double>("1,5"));
  CHECK_FALSE(parse_number<double>("0x10"));
}

TEST_CASE("number: takes a number from the front, even if it is out of range") {
  std::string_view text = "12-0.5e1x";
  CHECK(take_number<int>(text) == 12);
  CHECK(take_number<double>(text) == -5);
  CHECK_FALSE(take_number<double>(text));
  CHECK(text == "x");
  text = "2147483648 left";
  CHECK_FALSE(take_number<int>(text));
  CHECK(text == " left");
  text = {};
  CHECK_FALSE(take_number<int>(text));
}

TEST_CASE("files: an endless device is refused before it fills the memory") {
  for (const char* device : {"/dev/zero", "/dev/urandom"})
    CHECK_THROWS_WITH_AS(read_file(device, 1 << 30),
                         doctest::Contains("is an endless device; expected a file"), InputError);
  CHECK(read_file("/dev/null", 1 << 30).empty());
}

TEST_CASE("quote: hostile text stays on one line, valid and short") {
  CHECK(in_quotes("dgx1v") == "\"dgx1v\"");
  CHECK(in_quotes("a\n\x1b[31m\xff") == "\"a ?[31m?\"");
  CHECK(in_quotes("µ→") == "\"µ→\"");
  CHECK(in_quotes("\xe2\x82") == "\"??\"");
  CHECK(in_quotes(std::string(1000, 'x')).size() < 70);
  CHECK(legible("a\nb\xff") == "a b?");
  CHECK(legible("a\xc2\x9b\xc2\xa0") == "a?\xc2\xa0");  // CSI is one character; a space no control
  CHECK(legible("abc", 2) == "ab…");
}
