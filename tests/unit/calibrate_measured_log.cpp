// Logs of all_reduce_perf: every open log against the numbers extracted beside it, and small ones of
// our own for what stands in logs elsewhere.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "ddpsim/calibrate/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"

using namespace ddpsim;

TEST_CASE("measured log: every open log equals the numbers beside it") {
  const std::filesystem::path folder = std::filesystem::path(DDPSIM_SHARED) / "data/nccl-tests";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  CHECK(files.size() >= 44);
  std::size_t points = 0;
  for (const std::filesystem::path& path : files) {
    CAPTURE(path.filename().string());
    const MeasuredLog log = read_nccl_tests_log(path);
    std::string shown = log.recognised.front();
    for (const std::string& warning : log.warnings) shown += "\n    " + warning;
    MESSAGE(path.stem().string() << ": " << shown);
    std::ifstream csv(std::filesystem::path(path).replace_extension(".csv"));
    REQUIRE(csv.good());
    std::string line;
    std::getline(csv, line);
    std::size_t row = 0;
    for (; std::getline(csv, line); ++row) {
      std::vector<std::string> cells;
      std::istringstream in(line);
      for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
      REQUIRE(row < log.points.size());
      CHECK(log.points[row].size.count() == std::stoll(cells[0]));
      CHECK(log.points[row].time_us == std::stod(cells[1]));
      if (cells.size() > 4 && !cells[4].empty()) {
        REQUIRE(log.points[row].in_place_us);
        CHECK(*log.points[row].in_place_us == std::stod(cells[4]));
      }
    }
    CHECK(row == log.points.size());
    points += row;
  }
  MESSAGE(files.size() << " logs, " << points << " points");
}
