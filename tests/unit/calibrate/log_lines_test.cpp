// Lines of a log: words and values, rows of nccl-tests in text and JSON, devices, and NCCL's debug
// lines.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "log_texts.hpp"
#include "mentions.hpp"
#include "nccl_debug.hpp"

using namespace ddpsim;

namespace {}  // namespace

TEST_CASE("log words: a value is known to half a unit of its last digit") {
  const auto half_unit = [](const char* text) { return figure_of(text)->half_unit; };
  CHECK(half_unit("12") == 0.5);
  CHECK(half_unit("12.0") == doctest::Approx(0.05));
  CHECK(half_unit("12.34") == doctest::Approx(0.005));
  CHECK(half_unit("1.2e+07") == doctest::Approx(0.5e6));
  CHECK(half_unit("1.2e-03") == doctest::Approx(0.5e-4));
  CHECK(half_unit("2E3") == doctest::Approx(0.5e3));
  CHECK(half_unit("1e+12") == doctest::Approx(0.5e12));
  CHECK(figure_of("1.2e+07")->value == 1.2e7);
  CHECK_FALSE(figure_of("").has_value());
  CHECK_FALSE(figure_of("1.2x").has_value());
  CHECK_FALSE(figure_of("N/A").has_value());
}

TEST_CASE("log words: consecutive words are found, with or without a whole number after them") {
  const Words words = words_of("x is y is z");
  CHECK(find_words(words, {"is", "z"}) == 3);
  CHECK_FALSE(find_words(words, {"y", "z"}).has_value());
  CHECK_FALSE(integer_at(words_of("7"), 1).has_value());
  CHECK(integer_at(words_of("7"), 0) == 7);
}

TEST_CASE("NCCL's version code counts in thousands up to 2.8, in ten thousands from 2.9") {
  CHECK(nccl_version_of_code(2708) == NcclVersion{2, 7, 8});
  CHECK(nccl_version_of_code(2000) == NcclVersion{2, 0, 0});
  CHECK_FALSE(nccl_version_of_code(1999).has_value());
  CHECK(nccl_version_of_code(9999) == NcclVersion{9, 9, 99});
  CHECK(nccl_version_of_code(10'000) == NcclVersion{1, 0, 0});
  CHECK(nccl_version_of_code(20'905) == NcclVersion{2, 9, 5});
  CHECK(nccl_version_of_code(22'703) == NcclVersion{2, 27, 3});
  CHECK(nccl_version_of_code(99'999) == NcclVersion{9, 99, 99});
  CHECK_FALSE(nccl_version_of_code(100'000).has_value());
}

TEST_CASE("debug lines: the transport of a channel outweighs the announced one") {
  NcclWords said;
  CHECK(transport_of(said) == "");
  said.network = "IB";
  CHECK(transport_of(said) == "NET/IB");
  said.peer_to_peer = true;
  CHECK(transport_of(said) == "P2P");  // announced, but the job has one node
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

TEST_CASE("debug lines: a network whose name has blanks") {
  RawLog log;
  take_nccl_words(
      words_of("n1:1:2 [4] NCCL INFO Channel 05/0 : 4[4] -> 12[4] [receive] via NET/NCCL "
               "RDMA Plugin v8/4/GDRDMA"),
      log);
  CHECK(transport_of(log.said) == "NET/IB");
  CHECK(log.said.gpudirect);
  RawLog efa;
  take_nccl_words(
      words_of("n1:1:2 [4] NCCL INFO Channel 05/0 : 4[4] -> 12[4] [receive] via NET/AWS "
               "Libfabric/4/GDRDMA"),
      efa);
  CHECK(transport_of(efa.said) == "NET/OFI");
  CHECK(efa.said.gpudirect);
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
      parse_log("1048576 262144 float sum -1 40.00 26.21 39.32 3 39.50 26.55 39.82 5\n");
  REQUIRE(log.points.size() == 1);
  CHECK(log.points[0].size == Bytes(1'048'576));
  CHECK(log.points[0].time_us == 40);
  CHECK(log.points[0].in_place_us == 39.5);
  CHECK(log.points[0].wrong == 3);
  CHECK(log.points[0].wrong_in_place == 5);
  CHECK(log.ranks == 4);
  CHECK(mentions(log.warnings, "nccl-tests found 8 wrong results"));
  const MeasuredLog unchecked =
      parse_log("1048576 262144 float sum -1 40.00 26.21 39.32 N/A 39.50 26.55 39.82 N/A\n");
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
  const MeasuredLog log = parse_log(text);
  const auto with_rank = [&](const std::string& rank) {
    std::string other = text;
    return complaint_of([&] { parse_log(other.replace(other.find("4,\"host"), 1, rank)); });
  };
  CHECK(mentions(with_rank("10000001"), "/config/devices/1/rank"));
  CHECK_FALSE(mentions(with_rank("10000000"), "/config/devices/1/rank"));
  CHECK(log.shape() == JobShape{2, 4});
  CHECK(log.gpu == "NVIDIA X");
  CHECK(log.nccl == NcclVersion{2, 27, 3});
  CHECK(log.points[0].time_us == 40);
  CHECK(log.points[0].in_place_us == 39.5);
  CHECK(log.points[0].wrong == 3);
  CHECK(log.points[0].wrong_in_place == 5);
}

TEST_CASE("nccl-tests JSON: without devices it has the stated job shape") {
  const std::string text = R"({"config":{"nthreads":1,"ngpus":1},"nccl_version":22703,
    "results":[{"size":1048576,"type":"float","redop":"sum","root":"-1",
      "out_of_place":{"time":40,"alg_bw":26.2144,"bus_bw":45.8752,"nwrong":0},
      "in_place":{"time":40,"alg_bw":26.2144,"bus_bw":45.8752,"nwrong":0}}]})";
  const MeasuredLog log = parse_log(text, JobShape{2, 4});
  CHECK(log.shape() == JobShape{2, 4});
  CHECK(log.ranks == 8);
  CHECK(log.gpu.empty());
}

TEST_CASE("nccl-tests text: nodes follow from the hosts of the listed devices") {
  const auto read = [](const std::vector<std::pair<int, std::string>>& ranks,
                       const std::string& last_gpu = "NVIDIA X") {
    std::string text = "# nThread 1 nGpus 1\n";
    for (std::size_t k = 0; k < ranks.size(); ++k)
      text += fmt::format("#  Rank  {} Group  0 Pid 1 on {} device  0 [0x07] {}\n", ranks[k].first,
                          ranks[k].second, k + 1 == ranks.size() ? last_gpu : "NVIDIA X");
    return parse_log(text + "1048576 262144 float sum -1 40.00 26.21 39.32 0\n");  // of four ranks
  };
  const MeasuredLog whole = read({{0, "a"}, {1, "a"}, {2, "b"}, {3, "b"}});
  CHECK(whole.shape() == JobShape{2, 2});
  CHECK(whole.warnings.empty());
  CHECK(read({{0, "a"}, {1, "b"}, {2, "c"}, {3, "d"}}).shape() == JobShape{4, 1});
  const MeasuredLog holed = read({{0, "a"}, {1, "a"}, {3, "b"}});
  CHECK(holed.shape() == JobShape{2, 2});
  CHECK(mentions(holed.warnings, "the list of devices names 3 of 4 ranks"));
  const MeasuredLog uneven = read({{0, "a"}, {1, "a"}, {2, "a"}, {3, "b"}});
  CHECK_FALSE(uneven.nodes.has_value());
  CHECK(mentions(uneven.warnings, "4 ranks on an unknown number of nodes"));
  CHECK_FALSE(read({{0, "a"}, {1, "b"}, {3, "c"}}).nodes.has_value());  // three hosts of four ranks
  const MeasuredLog mixed = read({{0, "a"}, {1, "a"}, {2, "b"}, {3, "b"}}, "NVIDIA Y");
  CHECK(mixed.gpu == "NVIDIA X");
  CHECK(mentions(mixed.warnings, "several kinds of GPU: \"NVIDIA X\" and \"NVIDIA Y\""));
}

TEST_CASE("nccl-tests text: a root, no reduction or half the bus bandwidth is another collective") {
  const auto read = [](const std::string& redop, const std::string& root,
                       const std::string& busbw) {
    return refusal_of_log(
        fmt::format("1048576 262144 float {} {} 40.00 26.21 {} 0\n", redop, root, busbw));
  };
  CHECK(read("sum", "-1", "39.32") == "");
  CHECK(mentions(read("sum", "0", "39.32"), "with root 0"));
  CHECK(mentions(read("none", "-1", "39.32"), "without a reduction"));
  CHECK(mentions(read("sum", "-1", "13.11"), "with busbw = 0.500 x algbw"));
  CHECK(read("sum", "-1", "26.21") == "");  // two ranks
}

TEST_CASE("stated job shape: LOG@NxG within its limits") {
  CHECK(parse_log_argument("x@100000x1024").stated == JobShape{100'000, 1024});
  CHECK(parse_log_argument("x@1x1").stated == JobShape{1, 1});
  for (const char* bad : {"x@100001x1", "x@1x1025", "x@1x0", "x@x1", "x@", "x@1x", "x@-1x2"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_log_argument(bad), InputError);
  }
}
