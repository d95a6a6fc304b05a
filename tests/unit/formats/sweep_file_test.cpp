#include "ddpsim/formats/sweep_file.hpp"

#include <doctest/doctest.h>

#include <string>

#include "ddpsim/formats/digest.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

SweepHeader header_of(std::size_t points, std::optional<Shard> shard = std::nullopt) {
  return {.ddpsim = "1.2",
          .study = "0123456789abcdef",
          .points = points,
          .grid = {"bucket-cap-mb"},
          .intervals = true,
          .shard = shard};
}

std::string line_of(std::size_t point, const char* error = "null") {
  return "{\"point\": " + std::to_string(point) + ", \"error\": " + error + "}\n";
}

}  // namespace

TEST_CASE("sweep file: all complete lines of a truncated file count") {
  const std::string first = sweep_header_line(header_of(3));
  const std::string text = first + line_of(0) + line_of(1, "\"no such cluster\"") + line_of(2);
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    const std::string cut = text.substr(0, bytes);
    const auto sweep = read_sweep(cut, "cut.jsonl");
    CHECK(sweep.has_value() == (bytes >= first.size()));
    if (!sweep) continue;
    CHECK(sweep->header == header_of(3));
    const std::size_t end = cut.rfind('\n') + 1;
    CHECK(sweep->whole == end);
    std::size_t lines = 0;
    for (const char c : cut.substr(first.size())) lines += c == '\n' ? 1 : 0;
    REQUIRE(sweep->lines.size() == lines);
    if (lines > 1) CHECK(sweep->lines[1].failed);
    if (lines > 0) CHECK_FALSE(sweep->lines[0].failed);
  }
}

TEST_CASE("sweep file: a complete line that is not the next point is refused with its place") {
  const std::string first = sweep_header_line(header_of(2));
  const auto refused = [](const std::string& text, const std::string& message) {
    CAPTURE(text);
    try {
      read_sweep(text, "a.jsonl");
      FAIL("it was taken");
    } catch (const InputError& error) {
      CHECK(std::string(error.what()).find(message) != std::string::npos);
    }
  };
  refused("{}\n", "a.jsonl:line 1: is not the first line of a sweep");
  refused(first + line_of(1), "a.jsonl:line 2: is point 1, but 0 comes next");
  refused(first + line_of(0) + line_of(0), "a.jsonl:line 3: is point 0, but 1 comes next");
  refused(first + line_of(0) + line_of(1) + line_of(2),
          "a.jsonl:line 4: is point 2, but the sweep has no more points");
  refused(first + "{\"point\": \n", "a.jsonl:line 2: is not a point of a sweep");
  refused(sweep_header_line(header_of(9, Shard{2, 3})) + line_of(1) + line_of(2),
          "a.jsonl:line 3: is point 2, but 4 comes next");
}

TEST_CASE("sweep file: shards hold every point once") {
  for (const std::size_t of : {1U, 2U, 3U, 7U, 13U})
    for (const std::size_t points : {1U, 2U, 6U, 7U, 12U, 13U, 14U, 100U}) {
      std::size_t held = 0;
      for (std::size_t index = 1; index <= of; ++index) {
        const Shard shard{index, of};
        for (std::size_t k = 0; k < shard.points_of(points); ++k) {
          CHECK(shard.holds(shard.point(k)));
          CHECK(shard.point(k) < points);
        }
        held += shard.points_of(points);
      }
      CHECK(held == points);
    }
}

TEST_CASE("digest: FNV-1a of a length and what it counts; parts are told apart") {
  Digest nothing;
  CHECK(nothing.hex() == "cbf29ce484222325");
  Digest one;
  one.add("ab");
  one.add("c");
  Digest other;
  other.add("a");
  other.add("bc");
  CHECK(one.hex() != other.hex());
  Digest again;
  again.add("ab");
  again.add("c");
  CHECK(again.hex() == one.hex());
}

}  // namespace ddpsim
