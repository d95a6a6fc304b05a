// scripts/environment_variables.json as compiled into the program.
#include "environment_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "data_files.hpp"
#include "ddpsim/formats/files.hpp"
#include "evidence_text.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using namespace ddpsim::evidence_text;

namespace {

/// One value for each test that the table may name.
constexpr std::array kCostly = {"1", "0", "LOC", "DETAIL", "TRACE", "Socket"};

std::string row_of_cause(const std::string& page, CauseClass what) {
  const std::size_t begin = page.find("\n| `" + std::string(name_of(what)) + "`");
  return begin == std::string::npos ? "" : page.substr(begin, page.find('\n', begin + 1) - begin);
}

}  // namespace

TEST_CASE("environment table: every variable of the file is read once") {
  const std::string file = read_file(files::page("scripts/environment_variables.json"), 1 << 20);
  std::size_t named = 0;
  for (std::size_t at = file.find("\"name\":"); at != std::string::npos;
       at = file.find("\"name\":", at + 1))
    ++named;
  std::set<std::string> names;
  for (const EnvironmentRow& row : environment_table()) names.insert(row.name);
  CHECK(named > 100);  // tests/cli/test_collect.py counts what job_archive.py reads
  CHECK(environment_table().size() == named);
  CHECK(names.size() == named);
}

TEST_CASE("environment table: a value that costs is found in a list of variables") {
  std::size_t rules = 0;
  for (const EnvironmentRow& row : environment_table()) {
    CAPTURE(row.name);
    if (!row.costly) continue;
    ++rules;
    CHECK_FALSE(row.costly->test(""));
    const auto value = std::ranges::find_if(kCostly, row.costly->test);
    REQUIRE(value != kCostly.end());
    const std::string line = row.name + "=" + *value;
    const std::vector<Finding> findings = problems_of("HOME=/root\n" + line + "\n");
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].what == row.costly->what);
    CHECK(findings[0].says == line + " " + row.costly->sentence);
    CHECK(mentions(row.costly->sentence, "("));  // the source
    CHECK_FALSE(row.costly->sentence.ends_with('.'));
  }
  CHECK(rules == 29);
}

TEST_CASE(
    "environment table: docs/reference/evidence.md names each costly variable with its class") {
  const std::string page = read_file(files::page("docs/reference/evidence.md"), 1 << 20);
  for (const EnvironmentRow& row : environment_table()) {
    CAPTURE(row.name);
    if (row.costly) CHECK(mentions(row_of_cause(page, row.costly->what), "`" + row.name));
  }
}

TEST_CASE("environment table: findings of one class are in the order of the file") {
  std::string listed = "HOME=/root\n";
  std::map<CauseClass, std::vector<std::string>> expected;
  for (auto row = environment_table().rbegin(); row != environment_table().rend(); ++row)
    if (row->costly)
      listed += row->name + "=" + *std::ranges::find_if(kCostly, row->costly->test) + "\n";
  for (const EnvironmentRow& row : environment_table())
    if (row.costly) expected[row.costly->what].push_back(row.name);
  std::map<CauseClass, std::vector<std::string>> found;
  for (const Finding& finding : problems_of(listed))
    found[finding.what].push_back(finding.says.substr(0, finding.says.find('=')));
  CHECK(found == expected);
}

TEST_CASE("environment table: launchers say how many ranks a node has") {
  REQUIRE(find_environment_row("LOCAL_WORLD_SIZE") != nullptr);
  CHECK(find_environment_row("LOCAL_WORLD_SIZE")->of_launcher);
  CHECK_FALSE(find_environment_row("NCCL_ALGO")->of_launcher);
  CHECK(find_environment_row("LOCAL_WORLD") == nullptr);
  for (const EnvironmentRow& row : environment_table())
    if (row.of_launcher)
      CHECK(evidence_of(row.name + "=8\n").environment.find(row.name) != nullptr);
}
