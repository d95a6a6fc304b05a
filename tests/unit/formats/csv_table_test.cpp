#include "ddpsim/formats/csv_table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

using namespace ddpsim;

namespace {

struct Part {
  Duration low;
};

struct Whole {
  std::string name = "w";
  std::optional<double> share = 0.25;
  std::int64_t size = 0;
  std::vector<std::int64_t> places = {};
  std::optional<Duration> extra = {};
  bool good = true;
};

const Described<Part>& described_part() {
  static const auto described = Described<Part>("Part", "a part").time("low", &Part::low, "an end");
  return described;
}

const Described<Whole>& described_columns() {
  static const auto described =
      Described<Whole>("Columns", "members that fit a cell")
          .text("name", &Whole::name, "its name")
          .number("share", &Whole::share, "its share")
          .integer("size", &Whole::size, "its size")
          .integers("places", &Whole::places, "its places")
          .time("extra_us", &Whole::extra, "only of some", Absent::left_out)
          .boolean("good", &Whole::good, "whether it is good");
  return described;
}

const Described<Whole>& described_whole() {
  static const auto described =
      Described<Whole>("Whole", "a whole")
          .members_of(
              [](const Whole& of) -> const auto& { return of; }, described_columns())
          .object(
              "part", [](const Whole&) { return Part{Duration::microseconds(1.5)}; },
              described_part(), "its part")
          .list(
              "parts", [](const Whole&) { return std::array{Part{Duration::microseconds(2)}}; },
              described_part(), "its parts");
  return described;
}

std::string csv(const Whole& whole, std::vector<CsvColumn> columns) {
  return csv_of(described_whole(), {whole}, std::move(columns));
}

}  // namespace

TEST_CASE("CSV table: a column for every member, and cells as JSON prints them") {
  CHECK(csv_of(described_columns(), std::vector<Whole>{}) == "name,share,size,places,good\n");
  CHECK(csv_of(described_columns(), std::vector<Whole>{{.name = "a, \"b\"", .places = {3, 1}},
                                                       {.share = {}, .good = false}}) ==
        "name,share,size,places,good\n"
        "\"a, \"\"b\"\"\",0.25,0,3 1,true\n"
        "w,,0,,false\n");
}

TEST_CASE("CSV table: an optional member has a column if a row has it") {
  CHECK(csv_of(described_columns(), std::vector<Whole>{{}, {.extra = Duration()}}) ==
        "name,share,size,places,extra_us,good\n"
        "w,0.25,0,,,true\n"
        "w,0.25,0,,0,true\n");
}

TEST_CASE("CSV table: every digit of a number is kept") {
  CHECK(csv({.share = 0.1 + 0.2, .size = std::numeric_limits<std::int64_t>::max()},
            {"share", "size"}) == "share,size\n0.30000000000000004,9223372036854775807\n");
  CHECK(csv({.share = 1e-7, .size = -1}, {"share", "size"}) == "share,size\n1e-07,-1\n");
  CHECK(csv({.extra = Duration::picoseconds(1)}, {"extra_us"}) == "extra_us\n0.000001\n");
}

TEST_CASE("CSV table: columns with their own order and names, from nested members and lists") {
  const std::vector<CsvColumn> columns = {
      {"low_us", "part/low"},     "name",
      {"count", "places/length"}, {"second", "places/1"},
      {"all", "places", " + "},   {"first_part", "parts/0/low"}};
  const std::string header = "low_us,name,count,second,all,first_part\n";
  CHECK(csv({.places = {7, 8, 9}}, columns) == header + "1.5,w,3,8,7 + 8 + 9,2\n");
  CHECK(csv({}, columns) == header + "1.5,w,0,,,2\n");
}

TEST_CASE("CSV table: a column must show a described value") {
  const auto fits = [](std::string_view path) {
    return fits_a_cell(described_whole().type(), path);
  };
  for (const char* path :
       {"name", "places", "places/0", "places/length", "part/low", "parts/length", "parts/0/low"}) {
    CAPTURE(path);
    CHECK(fits(path));
  }
  for (const char* path : {"", "nam", "name/low", "places/first", "places/length/0", "part",
                           "part/lo", "parts", "parts/0"}) {
    CAPTURE(path);
    CHECK_FALSE(fits(path));
  }
}
