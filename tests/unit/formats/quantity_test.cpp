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

TEST_CASE("quantity: a size instead of a rate is reported with the rate that was meant") {
  CHECK(parse_bandwidth("50GB").problem ==
        "\"50GB\" is a size; expected a rate such as \"50GBps\". Did you mean \"50GBps\"?");
}

TEST_CASE("quantity: an invalid text is reported with the reason and an example") {
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

TEST_CASE("quantity: every unit of time and size, each with its factor") {
  const std::vector<std::pair<std::string, std::int64_t>> times = {
      {"3ps", 3},         {"3ns", 3'000},         {"3us", 3'000'000},
      {"3µs", 3'000'000}, {"3ms", 3'000'000'000}, {"3s", 3'000'000'000'000}};
  for (const auto& time : times) {
    CAPTURE(time.first);
    CHECK(parse_duration(time.first).value == Duration::picoseconds(time.second));
  }
  const std::vector<std::pair<std::string, std::int64_t>> sizes = {{"3B", 3},
                                                                   {"3KB", 3'000},
                                                                   {"3KiB", 3 * 1024},
                                                                   {"3MB", 3'000'000},
                                                                   {"3MiB", 3 << 20},
                                                                   {"3GB", 3'000'000'000},
                                                                   {"3GiB", std::int64_t{3} << 30},
                                                                   {"3TB", 3'000'000'000'000},
                                                                   {"3TiB", std::int64_t{3} << 40}};
  for (const auto& size : sizes) {
    CAPTURE(size.first);
    CHECK(parse_bytes(size.first).value == Bytes(size.second));
  }
}

TEST_CASE("quantity: every prefix and spelling of a rate, in bits and bytes") {
  double factor = 1;
  for (const std::string prefix : {"", "K", "M", "G", "T"}) {
    for (const char* unit : {"bps", "bit/s", "b/s"}) {
      CAPTURE(prefix + unit);
      CHECK(parse_bandwidth("16" + prefix + unit).value == Bandwidth::bytes_per_second(2 * factor));
    }
    for (const char* unit : {"Bps", "B/s"}) {
      CAPTURE(prefix + unit);
      CHECK(parse_bandwidth("16" + prefix + unit).value ==
            Bandwidth::bytes_per_second(16 * factor));
    }
    factor *= 1000;
  }
}

TEST_CASE("quantity: k means K, and nothing else") {
  CHECK(parse_bytes("2kB").value == Bytes(2000));
  CHECK(parse_bytes("2kiB").value == Bytes(2048));
  CHECK(parse_bandwidth("8kbps").value == Bandwidth::bytes_per_second(1000));
  CHECK_FALSE(parse_bytes("2mB").value);
  CHECK_FALSE(parse_bytes("2k").value);
  CHECK_FALSE(parse_duration("2k").value);
}

TEST_CASE("quantity: blanks are allowed around number and unit, but not inside") {
  CHECK(parse_duration("  7 ms  ").value == Duration::picoseconds(7'000'000'000));
  CHECK_FALSE(parse_duration("7 m s").value);
  CHECK_FALSE(parse_duration("7,5 ms").value);
  CHECK(parse_duration("   ").problem.find("is empty") != std::string::npos);
}

TEST_CASE("quantity: rates from 1 byte to 1e18 bytes per second, including both ends") {
  CHECK(parse_bandwidth("1Bps").value == Bandwidth::bytes_per_second(1));
  CHECK_FALSE(parse_bandwidth("7bps").value);
  CHECK(parse_bandwidth("1e6TBps").value == Bandwidth::bytes_per_second(1e18));
  CHECK(parse_bandwidth("1.001e6TBps").problem.find("too fast") != std::string::npos);
}

TEST_CASE("quantity: fractions are rounded to the base unit, and whole numbers are exact") {
  CHECK(parse_duration("1.0004ns").value == Duration::picoseconds(1000));
  CHECK(parse_duration("1.0006ns").value == Duration::picoseconds(1001));
  CHECK(parse_bytes("0.5KB").value == Bytes(500));
  CHECK(parse_duration("9007199254740993ps").value ==
        Duration::picoseconds(9'007'199'254'740'993));  // 2^53 + 1
  CHECK(parse_duration("9223372s").value == Duration::picoseconds(9'223'372'000'000'000'000));
  CHECK_FALSE(parse_duration("9223373s").value);
  CHECK(parse_duration("9.1e6s").value == Duration::picoseconds(9'100'000'000'000'000'000));
  CHECK_FALSE(parse_duration("9.2e6s").value);
}

TEST_CASE("quantity: the suggested unit has the fewest letters in another case") {
  const auto meant = [](const std::string& problem) {
    const std::size_t at = problem.find("Did you mean ");
    return at == std::string::npos ? std::string() : problem.substr(at + 13);
  };
  CHECK(meant(parse_bandwidth("10GBPS").problem) == "\"10GBps\"?");  // two letters off, Gbps three
  CHECK(meant(parse_bandwidth("10gbPS").problem) == "\"10Gbps\"?");
  CHECK(meant(parse_bytes("10mib").problem) == "\"10MiB\"?");
  CHECK(meant(parse_duration("10MS").problem) == "\"10ms\"?");
  CHECK(meant(parse_bandwidth("10Gb").problem) == "\"10Gbps\"?");  // a rate begun
  CHECK(meant(parse_bytes("10GB/s").problem) == "\"10GB\"?");      // a size gone on
  CHECK(meant(parse_bytes("10Gbps").problem) == "");               // bits are no size
  CHECK(meant(parse_duration("10GB").problem) == "");
  CHECK(parse_duration("10GB").problem ==
        "\"10GB\" is a size; expected a time such as \"3.2us\" (ps, ns, us, ms, s)");
  CHECK(parse_bytes("1s").problem ==
        "\"1s\" is a time; expected a size such as \"25MiB\" (B, KB, MB, GB decimal; KiB, MiB, "
        "GiB binary)");
}
