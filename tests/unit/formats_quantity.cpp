#include "ddpsim/formats/quantity.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace ddpsim;

TEST_CASE("quantity: rates are bits or bytes, and always decimal") {
  const std::vector<std::pair<std::string, double>> cases = {
      {"100Gbps", 12.5e9},   {"25GBps", 25e9},   {"25 GB/s", 25e9},
      {"100Gbit/s", 12.5e9}, {"10Gb/s", 1.25e9}, {"1.5TBps", 1.5e12},
      {"800kbps", 100e3},    {"8bps", 1},        {"2.5e1GBps", 25e9}};
  for (const auto& [text, expected] : cases) {
    const auto parsed = parse_bandwidth(text);
    REQUIRE_MESSAGE(parsed.value, parsed.problem);
    CHECK(parsed.value->bytes_per_second() == doctest::Approx(expected).epsilon(1e-15));
  }
}

TEST_CASE("quantity: sizes are whole bytes, binary with an i and decimal without") {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"25MiB", 26'214'400}, {"1GB", 1'000'000'000},
      {"1.5KiB", 1536},      {"0B", 0},
      {"12kB", 12'000},      {"9223372036854775807B", std::numeric_limits<std::int64_t>::max()}};
  for (const auto& [text, expected] : cases) {
    const auto parsed = parse_bytes(text);
    REQUIRE_MESSAGE(parsed.value, parsed.problem);
    CHECK(parsed.value->count() == expected);
  }
}

TEST_CASE("quantity: times are exact to the picosecond") {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"3.2us", 3'200'000}, {"104ms", 104'000'000'000}, {"1s", 1'000'000'000'000}, {"7ps", 7},
      {".5us", 500'000},    {"500 ns", 500'000},        {"1µs", 1'000'000},        {"0s", 0}};
  for (const auto& [text, expected] : cases) {
    const auto parsed = parse_duration(text);
    REQUIRE_MESSAGE(parsed.value, parsed.problem);
    CHECK(parsed.value->picoseconds() == expected);
  }
}

TEST_CASE("quantity: a size where a rate belongs is named and turned into the rate meant") {
  CHECK(parse_bandwidth("50GB").problem ==
        "\"50GB\" is a size; expected a rate such as \"50GBps\". Did you mean \"50GBps\"?");
}

TEST_CASE("quantity: what cannot be read says why and shows what would be right") {
  const std::string rate = "expected a rate such as \"100Gbps\" (bits) or \"25GBps\" (bytes)";
  const std::vector<std::pair<std::string, std::string>> rates = {
      {"25", "\"25\" has no unit; " + rate},
      {"", "\"\" is empty; " + rate},
      {"-1Gbps", "\"-1Gbps\" is negative; " + rate},
      {"nan", "\"nan\" is not a number with a unit; " + rate},
      {"infGBps", "\"infGBps\" is not a number with a unit; " + rate},
      {"1e400Gbps", "\"1e400Gbps\" is out of range; " + rate},
      {"50us", "\"50us\" is a time; " + rate},
      {"1furlong", "\"1furlong\" has an unknown unit \"furlong\"; " + rate},
      {"100gbps",
       "\"100gbps\" has an unknown unit \"gbps\"; expected a rate such as \"100Gbps\". Did you "
       "mean \"100Gbps\"?"},
      {"0Gbps", "\"0Gbps\" is too slow; a rate must be at least 1 byte per second"},
      {"1e30TBps", "\"1e30TBps\" is too fast; a rate may be at most 1e18 bytes per second"}};
  for (const auto& [text, problem] : rates) {
    const auto parsed = parse_bandwidth(text);
    CHECK_FALSE(parsed.value);
    CHECK(parsed.problem == problem);
  }
  CHECK(parse_bytes("25GBps").problem ==
        "\"25GBps\" is a rate; expected a size such as \"25GB\". Did you mean \"25GB\"?");
  CHECK(parse_bytes("0.5B").problem == "\"0.5B\" is not a whole number of bytes");
  CHECK(parse_bytes("9223372036854775808B").problem ==
        "\"9223372036854775808B\" is too large; at most 2^63 - 1 bytes");
  CHECK(parse_duration("1e9s").problem ==
        "\"1e9s\" is too long; at most 106 days can be expressed");
  CHECK(parse_duration("12").problem ==
        "\"12\" has no unit; expected a time such as \"3.2us\" (ps, ns, us, ms, s)");
}
