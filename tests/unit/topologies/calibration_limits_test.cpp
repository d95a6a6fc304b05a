// The limits of every constant and field of a calibration in a cluster file: the last accepted
// value and the first refused one. So a limit in the reader cannot change unnoticed.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/sim/values/cost_constants.hpp"
#include "ddpsim/sim/values/gloo_calibration.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using nlohmann::json;

namespace {

json calibrated() {
  return json::parse(R"({"schema": "ddpsim.cluster/1", "name": "lab", "nodes": 1,
    "node": {"gpus": 2, "gpu": "A100", "interconnect": {"kind": "nvswitch", "per_gpu": "300GBps"}},
    "calibration": {
      "constants": {"launch_us": 5, "start_us": [0, 36, 38], "local_us": [1, 2, 4],
        "hop_us": [5, 13, 30], "rendezvous_us": 0, "channel_us": 0.3, "local_share": 0.8,
        "nic_share": 0.9, "single_gpu_per_node": 0.66, "ll_gbps": 1.5, "ll128_gbps": 8,
        "nvls_start_us": 31, "nvls_wave_us": 2.3, "nvls_share": 0.7, "overlap": 2.5,
        "per_channel_start_us": 1, "ring_ends": 0.5, "tree_share": 0.8, "ll_share": 0.5,
        "hop_growth": [0, 0, 0]},
      "selection": {"tree_factor": 1, "ll128_between_nodes": true},
      "residual_deviation": {"small": 0.1, "middle": 0.2, "large": 0.1},
      "repeatability": {"small": 0.1, "middle": 0.2, "large": 0.1},
      "logs": [{"source": "a.txt", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 8,
                "largest_bytes": 1024, "left_out_error_percent": 3}],
      "correction": [{"nodes": 1, "gpus_per_node": 2, "points": [[8, "ring", "LL", 0.5, 0]]}]},
    "gloo": {
      "constants": {"process_gbps": 2, "fill": 2, "host_gbps": 9, "cache_mb": 64, "step_us": 20,
        "start_us": 30, "copy_gbps": 10},
      "deviation": {"small": 0.3, "middle": 0.2, "large": 0.1},
      "other_ranks_deviation": {"small": 0.3, "middle": 0.2, "large": 0.1},
      "logs": [{"source": "a.json", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 8,
                "largest_bytes": 1024}]}})");
}

/// The message for the file with this value at this place; "?" if there is no such place.
std::string complaint_with(const std::string& at, const json& figure) {
  static const json base = calibrated();
  json file = base;
  const json::json_pointer place(at);
  if (!file.contains(place)) return "?";
  file[place] = figure;
  return complaint_of([&] { parse_cluster(file.dump(), "lab.json"); });
}

/// Both limits are accepted, and values just beyond them are refused with their place.
template <typename Figure>
void check_range(const std::string& at, Figure least, Figure most, Figure step_below,
                 Figure step_above) {
  CAPTURE(at);
  CHECK(complaint_with(at, least) == "");
  CHECK(complaint_with(at, most) == "");
  CHECK(mentions(complaint_with(at, least - step_below), at));
  CHECK(mentions(complaint_with(at, most + step_above), at));
}

void check_reals(const std::string& at, double least, double most) {
  const auto step = [](double end) { return end == 0 ? 1e-300 : std::abs(end) * 1e-12; };
  check_range(at, least, most, step(least), step(most));
}

void check_integers(const std::string& at, std::int64_t least, std::int64_t most) {
  check_range<std::int64_t>(at, least, most, 1, 1);
}

constexpr std::int64_t kMostBytes = 1'125'899'906'842'624;  // 1 PiB

}  // namespace

TEST_CASE("limits of a calibration: every constant of NCCL's cost model") {
  const std::string constants = "/calibration/constants/";
  std::size_t checked = 0;
  const auto each = [&](const std::vector<std::string>& names, const auto& check) {
    for (const std::string& name : names) {
      check(constants + name);
      ++checked;
    }
  };
  each({"launch_us", "start_us/0", "start_us/1", "start_us/2", "local_us/0", "local_us/1",
        "local_us/2", "hop_us/0", "hop_us/1", "hop_us/2", "rendezvous_us", "channel_us",
        "nvls_start_us", "nvls_wave_us", "per_channel_start_us"},
       [](const std::string& at) { check_reals(at, 0, 1e6); });
  const auto more_than_nothing = [](const std::string& at, double most) {
    CAPTURE(at);
    CHECK(complaint_with(at, 1e-9) == "");
    CHECK(complaint_with(at, most) == "");
    CHECK(mentions(complaint_with(at, most * (1 + 1e-12)), at));
    CHECK(mentions(complaint_with(at, 0), "is 0: nothing would ever arrive"));
    CHECK(mentions(complaint_with(at, -1e-9), at));
  };
  each({"local_share", "nic_share", "single_gpu_per_node", "nvls_share", "tree_share", "ll_share"},
       [&](const std::string& at) { more_than_nothing(at, 1); });
  each({"ll_gbps", "ll128_gbps"}, [&](const std::string& at) { more_than_nothing(at, 1e4); });
  each({"ring_ends"}, [](const std::string& at) { check_reals(at, 0, 1); });
  each({"overlap"}, [](const std::string& at) { check_reals(at, 1, 100); });
  each({"hop_growth/0", "hop_growth/1", "hop_growth/2"},
       [](const std::string& at) { check_reals(at, -10, 10); });
  CHECK(checked == cost_constants().size());
}

TEST_CASE("limits of a calibration: constants that a file may leave out") {
  for (const CostConstant& constant : cost_constants()) {
    const std::string name(constant.name);
    CAPTURE(name);
    const bool optional = name == "per_channel_start_us" || name == "ring_ends" ||
                          name == "tree_share" || name == "ll_share" || name == "hop_growth";
    json file = calibrated();
    file["calibration"]["constants"].erase(name);
    const std::string complaint = complaint_of([&] { parse_cluster(file.dump(), "lab.json"); });
    CHECK(complaint.empty() == optional);
    if (!optional) CHECK(mentions(complaint, name));
  }
}

TEST_CASE("limits of a calibration: every constant of gloo") {
  struct Range {
    const char* name;
    double least, most;
  };
  const std::vector<Range> ranges = {{"process_gbps", 1e-6, 1e4}, {"fill", 1, 64},
                                     {"host_gbps", 1e-6, 1e4},    {"cache_mb", 0.001, 1e6},
                                     {"step_us", 1e-3, 1e6},      {"start_us", 1e-3, 1e6},
                                     {"copy_gbps", 1e-6, 1e4}};
  CHECK(ranges.size() == gloo_constants().size());
  for (const Range& range : ranges)
    check_reals(fmt::format("/gloo/constants/{}", range.name), range.least, range.most);
}

TEST_CASE("limits of a calibration: shapes, sizes, spreads and weights") {
  for (const std::string shape :
       {"/calibration/logs/0/", "/calibration/correction/0/", "/gloo/logs/0/"}) {
    check_integers(shape + "nodes", 1, 1'000'000);
    check_integers(shape + "gpus_per_node", 1, 576);
  }
  for (const std::string log : {"/calibration/logs/0/", "/gloo/logs/0/"}) {
    check_integers(log + "largest_bytes", 8, kMostBytes);
    CHECK(complaint_with(log + "smallest_bytes", 1) == "");
    CHECK(complaint_with(log + "smallest_bytes", 1024) == "");  // equal to the largest
    CHECK(mentions(complaint_with(log + "smallest_bytes", 0), log + "smallest_bytes"));
    CHECK(mentions(complaint_with(log + "smallest_bytes", 1025), "is less than"));
  }
  check_reals("/calibration/logs/0/left_out_error_percent", 0, 1e6);
  check_integers("/calibration/correction/0/points/0/0", 1, kMostBytes);
  check_reals("/calibration/correction/0/points/0/3", -1e6, 1e6);
  check_reals("/calibration/correction/0/points/0/4", -1e6, 1e6);
  check_reals("/calibration/selection/tree_factor", 0.01, 100);
  for (const std::string spread :
       {"/calibration/residual_deviation/", "/calibration/repeatability/", "/gloo/deviation/",
        "/gloo/other_ranks_deviation/"})
    for (const char* size : {"small", "middle", "large"}) check_reals(spread + size, 0, 10);
}

TEST_CASE("limits of a calibration: numbers of logs and points") {
  const auto complaint_of_many = [](const std::string& at, std::size_t count) {
    json file = calibrated();
    json& list = file[json::json_pointer(at)];
    const json one = list.front();
    for (std::size_t k = 1; k < count; ++k) list.push_back(one);
    return complaint_of([&] { parse_cluster(file.dump(), "lab.json"); });
  };
  for (const std::string logs : {"/calibration/logs", "/gloo/logs"}) {
    CHECK(complaint_of_many(logs, 10'000) == "");
    CHECK(mentions(complaint_of_many(logs, 10'001), logs + "/10000: more than 10000 logs"));
  }
  const std::string points = "/calibration/correction/0/points";
  CHECK(complaint_of_many(points, 100'000) == "");
  CHECK(mentions(complaint_of_many(points, 100'001), points + "/100000: more than 100000 points"));
}

TEST_CASE("limits of a calibration: a wrong value is reported before a missing field") {
  struct Case {
    const char *part, *wrong, *says;
  };
  for (const Case& one :
       {Case{"calibration", R"({"correction": [{"nodes": 0}]})", "/calibration/correction/0"},
        Case{"calibration", R"({"logs": [{"source": 7}]})", "/calibration/logs/0/source"},
        Case{"gloo", R"({"other_ranks_deviation": {"small": -1}})", "/gloo/other_ranks_deviation"},
        Case{"gloo", R"({"constants": {"fill": 0}})", "/gloo/constants/fill"},
        Case{"gloo", R"({"logs": [{"source": 7}]})", "/gloo/logs/0/source"},
        Case{"nccl", R"({"per_channel": "5GB"})", "/nccl/per_channel"},
        Case{"node", R"({"gpu": "Z100"})", "/node/gpu"},
        Case{"node", R"({"gpus": 2, "interconnect": {"kind": "wires"}})", "/node/interconnect"}}) {
    CAPTURE(one.wrong);
    json file = calibrated();
    file[one.part] = json::parse(one.wrong);
    CHECK(mentions(complaint_of([&] { parse_cluster(file.dump(), "lab.json"); }), one.says));
  }
}
