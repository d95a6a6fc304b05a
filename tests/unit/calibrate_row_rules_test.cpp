// Rows of a log: which column is which in every format, what a row may say, how many ranks a table is
// of, and on which side of each limit a row falls.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "ddpsim/calibrate/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/allreduce_table.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "nccl_debug.hpp"
#include "rank_count.hpp"
#include "row_checks.hpp"

using namespace ddpsim;

namespace {

MeasuredLog parse(const std::string& text, std::optional<Scale> stated = std::nullopt) {
  return parse_nccl_tests_log(text, "log", stated);
}

std::string refusal(const std::string& text, std::optional<Scale> stated = std::nullopt) {
  try {
    parse(text, stated);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool any_has(const std::vector<std::string>& sentences, const std::string& part) {
  for (const std::string& sentence : sentences)
    if (has(sentence, part)) return true;
  return false;
}

Figure exactly(double value) {
  return {.value = value, .half_unit = 0};
}

RawRow row(std::int64_t size, std::optional<double> time_us, std::optional<double> algbw = {},
           std::optional<double> busbw = {}) {
  RawRow out;
  out.place = "line 1";
  out.size = size;
  if (time_us) out.time_us = exactly(*time_us);
  if (algbw) out.algbw_gbps = exactly(*algbw);
  if (busbw) out.busbw_gbps = exactly(*busbw);
  return out;
}

std::string wrong(const RawRow& of, int ranks = 4) {
  try {
    checked_point(of, ranks, "log");
    check_algbw(of, "log");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("log words: a figure is known to half a unit of its last digit") {
  const auto half_unit = [](const char* text) { return figure_of(text)->half_unit; };
  CHECK(half_unit("12") == 0.5);
  CHECK(half_unit("12.0") == doctest::Approx(0.05));
  CHECK(half_unit("12.34") == doctest::Approx(0.005));
  CHECK(half_unit("1.2e+07") == doctest::Approx(0.5e6));
  CHECK(half_unit("1.2e-03") == doctest::Approx(0.5e-4));
  CHECK(half_unit("2E3") == doctest::Approx(0.5e3));
  CHECK(figure_of("1.2e+07")->value == 1.2e7);
  CHECK_FALSE(figure_of("").has_value());
  CHECK_FALSE(figure_of("1.2x").has_value());
  CHECK_FALSE(figure_of("N/A").has_value());
}

TEST_CASE("log words: words between blanks, numbers whole or not at all") {
  CHECK(words_of(" a\tbc \r") == Words{"a", "bc"});
  CHECK(words_of("").empty());
  CHECK(integer_of("-12") == -12);
  CHECK_FALSE(integer_of("12a").has_value());
  CHECK_FALSE(integer_of("").has_value());
  const Words words = words_of("x is y is z");
  CHECK(find_words(words, {"is", "z"}) == 3);
  CHECK_FALSE(find_words(words, {"y", "z"}).has_value());
  CHECK_FALSE(integer_at(words_of("7"), 1).has_value());
  CHECK(integer_at(words_of("7"), 0) == 7);
}

TEST_CASE("measured CSV: every column by its name, in whatever order") {
  const MeasuredLog log = parse(
      "algorithm,time_us_inplace,gpus_per_node,busbw_gbps,time_us,nodes,algbw_gbps,size_bytes\n"
      "ring,39.5,4,45.875,40,2,26.2144,1048576\n");
  REQUIRE(log.points.size() == 1);
  CHECK(log.points[0].size == Bytes(1'048'576));
  CHECK(log.points[0].time_us == 40);
  CHECK(log.points[0].in_place_us == 39.5);
  CHECK(log.points[0].place == "line 2");
  CHECK(log.nodes == 2);
  CHECK(log.gpus_per_node == 4);
  CHECK(log.ranks == 8);
  for (const char* size : {"size_bytes", "size", "bytes"})
    for (const char* time : {"time_us", "time"})
      for (const char* in_place : {"time_us_inplace", "in_place_us"}) {
        const MeasuredLog other =
            parse(fmt::format("{},{},{}\n# a comment\n8,3,5\n\n8,4,\n", size, time, in_place));
        REQUIRE(other.points.size() == 2);
        CHECK(other.points[0].size == Bytes(8));
        CHECK(other.points[0].time_us == 3);
        CHECK(other.points[0].in_place_us == 5);
        CHECK_FALSE(other.points[1].in_place_us.has_value());
      }
}

TEST_CASE("measured CSV: times follow from algbw, from busbw by the number of ranks") {
  // 1 MiB in 40 us are 26.2144 GB/s; on 4 ranks 1.5 times that on the bus.
  for (const char* algbw : {"algbw_gbps", "algbw"})
    CHECK(parse(fmt::format("size,{}\n1048576,26.2144\n", algbw)).points[0].time_us ==
          doctest::Approx(40));
  for (const char* busbw : {"busbw_gbps", "busbw"}) {
    const std::string text = fmt::format("size,{}\n1048576,39.3216\n", busbw);
    CHECK(parse(text, Scale{2, 2}).points[0].time_us == doctest::Approx(40));
    CHECK(parse(text, Scale{1, 2}).points[0].time_us == doctest::Approx(26.6667));  // factor 1
  }
  // A time beside them is taken as it is.
  CHECK(parse("size,time,algbw\n1048576,40.1,26.2144\n").points[0].time_us == 40.1);
}

TEST_CASE("measured CSV: our own table of an all-reduce is read with its ranks, sizes and times") {
  const Cluster cluster = parse_cluster_line("node:2 gpu:4xA100 nvswitch:300GBps nic:4x200Gbps:ib");
  const std::vector<Bytes> sizes = {Bytes(1 << 20), Bytes(16 << 20), Bytes(256 << 20)};
  const AllReduceTable table = all_reduce_table(cluster, {}, sizes);
  const MeasuredLog log = parse(allreduce_csv(table));
  CHECK(log.ranks == 8);  // busbw is 1.75 times algbw
  REQUIRE(log.points.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(log.points[k].size == sizes[k]);
    CHECK(log.points[k].time_us == doctest::Approx(table.rows[k].time.microseconds()));
  }
  CHECK(parse(allreduce_csv(table), Scale{2, 4}).scale() == Scale{2, 4});
  CHECK(has(refusal(allreduce_csv(table), Scale{2, 2}),
            "2x2 are 4 ranks, but busbw / algbw is that of 8"));
}

TEST_CASE("row checks: sizes, times and rates at their limits") {
  constexpr std::int64_t kLargest = std::int64_t{1} << 50;
  CHECK(wrong(row(kLargest, 1e11)) == "");
  CHECK(has(wrong(row(kLargest + 1, 1e11)), "size is"));
  CHECK(has(wrong(row(-1, 1)), "size is -1 bytes"));
  CHECK(wrong(row(8, 1e12)) == "");
  CHECK(has(wrong(row(8, 1.01e12)), "time is"));
  CHECK(has(wrong(row(8, 0)), "more than 0"));
  CHECK(has(wrong(row(8, -1)), "more than 0"));
  CHECK(wrong(row(100'000'000, 1)) == "");  // 1e5 GB/s
  CHECK(has(wrong(row(100'000'001, 1)), "which no machine does"));
  RawRow in_place = row(8, 5);
  in_place.in_place_us = exactly(0);
  CHECK(has(wrong(in_place), "the time in place is 0 us"));
}

TEST_CASE("row checks: bandwidths without a time") {
  CHECK(checked_point(row(3'000'000, {}, 2), 4, "log").time_us == doctest::Approx(1500));
  CHECK(checked_point(row(3'000'000, {}, {}, 3), 4, "log").time_us == doctest::Approx(1500));
  CHECK(has(wrong(row(8, {}, {}, 3), 1), "has busbw alone"));
  CHECK(wrong(row(8, {}, {}, 3), 2) == "");
  CHECK(wrong(row(8, {}, 1e5)) == "");
  CHECK(has(wrong(row(8, {}, 1.01e5)), "the bandwidth is"));
  CHECK(has(wrong(row(8, {}, -0.1)), "the bandwidth is"));
  CHECK(has(wrong(row(8, {})), "neither a time nor a bandwidth"));
  // Known to two in a hundred it says how long it took, to less it does not.
  RawRow coarse = row(1'000'000, {}, 5);
  coarse.algbw_gbps->half_unit = 0.1;
  CHECK(checked_point(coarse, 4, "log").time_us == doctest::Approx(200));
  coarse.algbw_gbps->half_unit = 0.11;
  CHECK(checked_point(coarse, 4, "log").time_us == 0);
}

TEST_CASE("row checks: algbw is size over time, within two in a hundred") {
  // 4 MB in 1000 us: 4 GB/s.
  const auto said = [](double algbw) { return wrong(row(4'000'000, 1000, algbw)); };
  CHECK(said(4.07) == "");
  CHECK(said(3.93) == "");
  CHECK(has(said(4.09), "algbw is 4.09 GB/s, but 4000000 bytes in 1000 us are 4 GB/s"));
  CHECK(has(said(3.91), "algbw is 3.91"));
  CHECK(has(said(4000), "Is this time in nanoseconds, or algbw in MB/s?"));
  CHECK(has(said(0.004), "Is this time in milliseconds?"));
  CHECK(has(said(32), "Is this algbw in Gbit/s?"));
  CHECK(has(said(3.7252), "Is this algbw in GiB/s?"));  // 4e9 / 2^30
  CHECK_FALSE(has(said(16), "Is this"));
  // What was rounded may be off by more.
  RawRow rounded = row(4'000'000, 1000, 4.5);
  rounded.algbw_gbps->half_unit = 0.5;
  CHECK(wrong(rounded) == "");
  rounded = row(4'000'000, 1100, 4);
  rounded.time_us->half_unit = 100;
  CHECK(wrong(rounded) == "");
}

TEST_CASE("rank count: busbw over algbw is 2(n - 1)/n") {
  const auto range = [](double busbw, double half_unit = 0) {
    RawRow one = row(1'000'000, {}, 10, busbw);
    one.busbw_gbps->half_unit = half_unit;
    return rank_range({one});
  };
  CHECK(range(10).only() == 2);
  CHECK(range(15).only() == 4);
  CHECK(range(17.5).only() == 8);
  CHECK(range(0).low == 1);
  // 17.5 to 18: from 8 to 10.
  CHECK(range(17.75, 0.25).low == 8);
  CHECK(range(17.75, 0.25).high == 10);
  CHECK_FALSE(range(17.75, 0.25).only().has_value());
  CHECK(range(17.75, 0.25).has(9));
  CHECK_FALSE(range(17.75, 0.25).has(11));
  CHECK_FALSE(range(17.75, 0.25).has(7));
  CHECK_FALSE(range(20).high.has_value());  // two, for ever more
  CHECK(range(20).has(1'000'000'000));
}

TEST_CASE("rank count: rows narrow each other, and one that cannot be among them is named") {
  RawRow coarse = row(1'000'000, {}, 10, 17.75);
  coarse.busbw_gbps->half_unit = 0.25;
  CHECK(rank_range({coarse, row(1, {}, 10, 17.5)}).only() == 8);
  CHECK(rank_range({coarse, row(0, {}, 10, 10)}).high == 10);  // of nothing nothing follows
  RawRow other = row(1, {}, 10, 15);
  other.place = "line 2";
  CHECK(rank_range({coarse, other}).contradiction == "line 2");
  // Where time and size say algbw more exactly, they count: 10 +- 0.5 would leave 8 to 10.
  RawRow timed = row(1'000'000, 100, 10, 17.5);
  timed.algbw_gbps->half_unit = 0.5;
  CHECK(rank_range({timed}).only() == 8);
}

TEST_CASE("NCCL's code of a version: thousands to 2.8, ten thousands from 2.9") {
  CHECK(nccl_version_of_code(2708) == NcclVersion{2, 7, 8});
  CHECK(nccl_version_of_code(2000) == NcclVersion{2, 0, 0});
  CHECK_FALSE(nccl_version_of_code(1999).has_value());
  CHECK(nccl_version_of_code(9999) == NcclVersion{9, 9, 99});
  CHECK(nccl_version_of_code(20'905) == NcclVersion{2, 9, 5});
  CHECK(nccl_version_of_code(22'703) == NcclVersion{2, 27, 3});
  CHECK(nccl_version_of_code(99'999) == NcclVersion{9, 99, 99});
  CHECK_FALSE(nccl_version_of_code(100'000).has_value());
}

TEST_CASE("debug lines: the transport a channel went over beats what was announced") {
  NcclWords said;
  CHECK(transport_of(said) == "");
  said.network = "IB";
  CHECK(transport_of(said) == "NET/IB");
  said.peer_to_peer = true;
  CHECK(transport_of(said) == "P2P");  // announced, but of one node
  said.nodes = 2;
  CHECK(transport_of(said) == "NET/IB");
  said.channel_net = "Socket";
  CHECK(transport_of(said) == "NET/Socket");
  said.channel_net = "IBext_v8";
  CHECK(transport_of(said) == "NET/IB");
  said.channel_net = "AWS";
  CHECK(transport_of(said) == "NET/OFI");
  NcclWords node;
  node.shared_memory = true;
  CHECK(transport_of(node) == "SHM");
  node.peer_to_peer = true;
  CHECK(transport_of(node) == "P2P and SHM");
}

TEST_CASE("debug lines: settings by name once, with printable values of sane length") {
  RawLog log;
  add_setting(log, "NCCL_ALGO", "RING");
  add_setting(log, "NCCL_ALGO", "TREE");  // the first stays
  add_setting(log, "NCCL_low", "1");
  add_setting(log, "NCCL_PROTO", "a b");
  add_setting(log, std::string(61, 'A'), "1");
  add_setting(log, std::string(60, 'A'), std::string(201, 'x'));
  add_setting(log, std::string(60, 'A'), std::string(200, 'x'));
  REQUIRE(log.settings.size() == 2);
  CHECK(log.settings[0] == std::pair<std::string, std::string>("NCCL_ALGO", "RING"));
  CHECK(log.settings[1].first == std::string(60, 'A'));
}

TEST_CASE("nccl-tests text: each column of a row, both directions and their wrong sums") {
  const MeasuredLog log =
      parse("1048576 262144 float sum -1 40.00 26.21 39.32 3 39.50 26.55 39.82 5\n");
  REQUIRE(log.points.size() == 1);
  CHECK(log.points[0].size == Bytes(1'048'576));
  CHECK(log.points[0].time_us == 40);
  CHECK(log.points[0].in_place_us == 39.5);
  CHECK(log.points[0].wrong == 3);
  CHECK(log.points[0].wrong_in_place == 5);
  CHECK(log.ranks == 4);
  CHECK(any_has(log.warnings, "8 results were wrong"));
  const MeasuredLog unchecked =
      parse("1048576 262144 float sum -1 40.00 26.21 39.32 N/A 39.50 26.55 39.82 N/A\n");
  CHECK(unchecked.points[0].wrong == 0);
  CHECK_FALSE(unchecked.points[0].wrong_in_place.has_value());
}

TEST_CASE("nccl-tests JSON: each column, devices of processes with several GPUs") {
  const std::string text = R"({"config":{"nthreads":2,"ngpus":2,"devices":[
      {"rank":0,"hostname":"a","device":0,"device_info":"NVIDIA X"},
      {"rank":4,"hostname":"b","device":0,"device_info":"NVIDIA X"}]},
    "nccl_version":22703,
    "results":[{"size":1048576,"type":"float","redop":"sum","root":"-1",
      "out_of_place":{"time":40,"alg_bw":26.2144,"bus_bw":45.8752,"nwrong":3},
      "in_place":{"time":39.5,"alg_bw":1,"bus_bw":2,"nwrong":"5"}}]})";
  const MeasuredLog log = parse(text);
  CHECK(log.scale() == Scale{2, 4});
  CHECK(log.gpu == "NVIDIA X");
  CHECK(log.nccl == NcclVersion{2, 27, 3});
  CHECK(log.points[0].time_us == 40);
  CHECK(log.points[0].in_place_us == 39.5);
  CHECK(log.points[0].wrong == 3);
  CHECK(log.points[0].wrong_in_place == 5);
}

TEST_CASE("stated scale: LOG@NxG, within what there is") {
  CHECK(parse_log_argument("x@100000x1024").stated == Scale{100'000, 1024});
  CHECK(parse_log_argument("x@1x1").stated == Scale{1, 1});
  for (const char* bad : {"x@100001x1", "x@1x1025", "x@1x0", "x@x1", "x@", "x@1x", "x@-1x2"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_log_argument(bad), InputError);
  }
}
