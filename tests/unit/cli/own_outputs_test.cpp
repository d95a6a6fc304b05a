#include "own_outputs.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "ddpsim/formats/file_identity.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/output_file.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "trace_files.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
namespace fs = std::filesystem;

namespace {

/// Files with other names for them: hard links, symbolic links, dangling links and other spellings of a path.
class ManyNames {
 public:
  ManyNames() {
    fs::create_directory(at("d"));
    fs::create_directory_symlink("d", at("e"));
    for (const char* file : {"a", "d/b", "c"})
      write_file(at(file), std::string("content of ") + file);
    fs::create_hard_link(at("a"), at("d/hard"));
    fs::create_symlink("d/b", at("soft"));
    fs::create_symlink("soft", at("softer"));
    fs::create_symlink("d/new", at("dangling"));
    fs::create_symlink("../dangling", at("d/far"));
  }

  fs::path at(const std::string& name) const { return folder_.path() / name; }

  inline static const std::vector<std::string> kThere = {
      "a", "d/b", "c", "d/hard", "soft", "softer", "./a", "e/b", "d/../c", "e/hard"};
  inline static const std::vector<std::string> kNew = {"dangling", "d/new", "e/new",   "e/far",
                                                       "new",      "./new", "e/../new"};

 private:
  TemporaryFolder folder_;
};

bool refuses(const std::vector<NamedOutput>& outputs) {
  try {
    require_own_outputs(outputs);
    return false;
  } catch (const UsageError&) {
    return true;
  }
}

}  // namespace

TEST_CASE("outputs: none of 1,000 random pairs of names changes an input") {
  std::mt19937 draw(37);  // NOLINT: the same pairs in every run
  const auto one_of = [&](const std::vector<std::string>& names) {
    return names[draw() % names.size()];
  };
  int refused = 0;
  int written = 0;
  for (int pair = 0; pair < 1000; ++pair) {
    const ManyNames names;
    const std::string input = one_of(ManyNames::kThere);
    const std::string before = read_file(names.at(input), 100);
    std::vector<NamedOutput> outputs;
    for (const char* option : {"--csv", "--plot"})
      outputs.push_back(
          {option,
           names.at(one_of(draw() % 2 == 0 ? ManyNames::kThere : ManyNames::kNew)).string()});
    CAPTURE(input);
    CAPTURE(outputs[0].file);
    CAPTURE(outputs[1].file);
    const auto same = [](const fs::path& one, const fs::path& other) {
      std::error_code none;
      return fs::equivalent(one, other, none);
    };
    const bool clash = same(outputs[0].file, names.at(input)) ||
                       same(outputs[1].file, names.at(input)) ||
                       same(outputs[0].file, outputs[1].file);
    if (refuses(outputs)) {
      ++refused;
    } else {
      REQUIRE_FALSE(clash);
      for (const NamedOutput& output : outputs) write_file(output.file, output.option);
      for (const NamedOutput& output : outputs)
        REQUIRE(read_file(output.file, 100) == output.option);
      ++written;
    }
    REQUIRE(read_file(names.at(input), 100) == before);
  }
  CHECK(refused > 200);
  // Inputs of earlier pairs still count as read, and the file system may reuse their inodes for later files.
  CHECK(written > 50);
}

TEST_CASE("outputs: two new names are the same file if their links lead to the same place") {
  const ManyNames names;
  const auto both = [&](const char* one, const char* other) {
    return std::vector<NamedOutput>{{"--csv", names.at(one).string()},
                                    {"--plot", names.at(other).string()}};
  };
  CHECK(refuses(both("dangling", "d/new")));
  CHECK(refuses(both("e/far", "d/new")));
  CHECK(refuses(both("e/../new", "new")));
  CHECK_FALSE(refuses(both("new", "d/new")));
  CHECK_FALSE(refuses(both("nowhere/x", "nowhere/x")));  // opening it fails with an error
}

TEST_CASE("outputs: devices and pipes may be shared") {
  CHECK_FALSE(refuses({{"--csv", "/dev/null"}, {"--plot", "/dev/null"}}));
  CHECK_FALSE(refuses({{"--csv", "-"}, {"--plot", "-"}}));
}

TEST_CASE("output file: the file appears only after finish, and then complete") {
  const TemporaryFolder scratch;
  {
    OutputFile file(scratch.path() / "f");
    file.write("half");
    CHECK_FALSE(fs::exists(scratch.path() / "f"));
  }
  CHECK(fs::is_empty(scratch.path()));
  OutputFile file(scratch.path() / "f");
  file.write("all ");
  file.write("of it");
  file.finish();
  CHECK(read_file(scratch.path() / "f", 99) == "all of it");
  CHECK(std::distance(fs::directory_iterator(scratch.path()), {}) == 1);
}

TEST_CASE("output file: a replaced file passes on its permissions") {
  const TemporaryFolder scratch;
  const fs::path path = scratch.path() / "f";
  for (const unsigned mode : {0600U, 0644U, 0755U}) {
    write_file(path, "old");
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    write_file(path, "new");
    CHECK(static_cast<unsigned>(fs::status(path).permissions()) == mode);
    CHECK(read_file(path, 9) == "new");
  }
}

TEST_CASE("output file: the name of a descriptor opens that descriptor") {
  CHECK(descriptor_named("/dev/stdout") == 1);
  CHECK(descriptor_named("/dev/../dev/stderr") == 2);
  CHECK(descriptor_named("/dev/fd/17") == 17);
  CHECK(descriptor_named("/proc/self/fd/0") == 0);
  CHECK(descriptor_named("/dev/fd/x") == -1);
  CHECK(descriptor_named("/dev/null") == -1);
  CHECK(descriptor_named("stdout") == -1);
}
