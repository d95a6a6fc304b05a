#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "reports_sample.hpp"

using namespace ddpsim;
using Json = nlohmann::json;
using namespace ddpsim::literals;

namespace {

AllReduceTable table() {
  AllReduceTable out;
  out.ranks = 8;
  out.nodes = 2;
  out.gpus_per_node = 4;
  out.gpu = "V100";
  out.confidence = sample::confidence();
  const CollectiveChoice small{Algorithm::ring, Protocol::ll, 1, 5_us};
  const CollectiveChoice large{Algorithm::nvls, Protocol::simple, 16, 7_ms};
  out.rows = {{.size = 8_B, .choice = small, .time = 10_us, .low = 6_us, .high = 20_us},
              {.size = 1024_MiB, .choice = large, .time = 4_ms, .low = 3_ms, .high = 5_ms}};
  return out;
}

}  // namespace

TEST_CASE("allreduce JSON: times, bandwidths and the choice of every size") {
  const Json doc = Json::parse(allreduce_json(sample::all_reduced(table())));
  CHECK(doc["schema"] == "ddpsim.allreduce/1");
  CHECK(doc["cluster"] == "dgx1v");
  CHECK(doc["ranks"] == 8);
  CHECK(doc["nccl"] == "2.27.3");
  CHECK(doc["confidence"]["grade"] == "C");
  CHECK(doc["nodes"] == 2);
  CHECK(doc["gpus_per_node"] == 4);
  CHECK(doc["gpu"] == "V100");
  CHECK(doc["torch"] == "2.8");
  CHECK(doc["warnings"] == Json::array());
  REQUIRE(doc["rows"].size() == 2);
  const Json& row = doc["rows"][1];
  CHECK(row["size_bytes"] == 1073741824);
  CHECK(row["time_us"] == 4000);
  CHECK(row["low_us"] == 3000);
  CHECK(row["high_us"] == 5000);
  CHECK(row["algbw_gbps"] == 268.435456);
  CHECK(row["busbw_gbps"] == 469.762048);  // algbw * 2 * 7 / 8
  CHECK(row["algorithm"] == "nvls");
  CHECK(row["protocol"] == "Simple");
  CHECK(row["channels"] == 16);
  CHECK(row["nccl_estimate_us"] == 7000);
}

TEST_CASE("allreduce text: rows have nccl-tests' columns, every other line is a comment") {
  std::istringstream lines(allreduce_text(sample::all_reduced(table()), {}));
  std::string line;
  std::vector<std::string> rows;
  std::getline(lines, line);
  CHECK(line == "# 8 GPUs on dgx1v: predicted, not measured; 470 GB/s busbw at 1 GiB.");
  while (std::getline(lines, line)) {
    CHECK(line.find_last_not_of(" ") + 1 == line.size());
    if (line.front() != '#') rows.push_back(line);
  }
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] ==
        "           8             2   float    sum     -1     10.00    0.00    0.00      6.00     "
        "20.00  ring          LL              1");
  CHECK(rows[1] ==
        "  1073741824     268435456   float    sum     -1    4000.0  268.44  469.76    3000.0    "
        "5000.0  nvls          Simple         16");
}

TEST_CASE("allreduce of another collective: it has its own name, count, busbw and root") {
  AllReduceTable gather = table();
  gather.collective = CollectiveKind::all_gather;
  const Json doc = Json::parse(allreduce_json(sample::all_reduced(gather)));
  CHECK(doc["collective"] == "all-gather");
  CHECK(doc["rows"][1]["busbw_gbps"] == 234.881024);  // 7/8 of 268.435456
  CHECK_FALSE(Json::parse(allreduce_json(sample::all_reduced(table()))).contains("collective"));
  const std::string text = allreduce_text(sample::all_reduced(gather), {});
  CHECK(text.starts_with("# all-gather of 8 GPUs on dgx1v: predicted, not measured; 230 GB/s"));
  // 32 Mi elements from each of eight ranks.
  CHECK(text.find("\n  1073741824      33554432   float   none     -1    4000.0  268.44  234.88") !=
        std::string::npos);
  CHECK(allreduce_csv(gather).find(",268.435456,234.881024,") != std::string::npos);
  CHECK(allreduce_csv(gather).starts_with("collective,size_bytes,time_us,"));
  CHECK(allreduce_csv(gather).find("\nall-gather,1073741824,4000,") != std::string::npos);
  const auto row = [](CollectiveKind kind) {
    AllReduceTable one = table();
    one.collective = kind;
    const std::string page = allreduce_text(sample::all_reduced(one), {});
    return page.substr(page.find("\n  1073741824") + 14, 37);
  };
  CHECK(row(CollectiveKind::reduce_scatter) == "     33554432   float    sum     -1  ");
  CHECK(row(CollectiveKind::broadcast) == "    268435456   float   none      0  ");
  CHECK(row(CollectiveKind::reduce) == "    268435456   float    sum      0  ");
  CHECK(row(CollectiveKind::send_recv) == "    268435456   float   none     -1  ");
}

TEST_CASE("allreduce CSV: one line per size") {
  CHECK(allreduce_csv(table()) ==
        "size_bytes,time_us,low_us,high_us,algbw_gbps,busbw_gbps,algorithm,protocol,channels,"
        "nccl_estimate_us\n"
        "8,10,6,20,0.0008,0.0014,ring,LL,1,5\n"
        "1073741824,4000,3000,5000,268.435456,469.762048,nvls,Simple,16,7000\n");
}

TEST_CASE("allreduce bandwidths: no time and no bytes give no bandwidth") {
  CHECK(algbw_gbps(1_MiB, Duration()) == 0);
  CHECK(busbw_gbps(0_B, 1_us, 8) == 0);
  CHECK(busbw_gbps(1000000_B, 1_us, 1) == 0);
}

TEST_CASE("allreduce page: whole page, in which every line except the rows is a comment") {
  AllReduceReport report = sample::all_reduced(table());
  report.warnings.add("careful");
  // 4 ms with an interval of -4 to +18 %: 3.84 to 4.72 ms.
  CHECK(allreduce_text(report, {.width = 60}) ==
        R"(# 8 GPUs on dgx1v: predicted, not measured; 470 GB/s busbw
#   at 1 GiB.
# NCCL 2.27.3, out of place
#
#       size         count    type  redop   root      time   algbw   busbw       low      high  algorithm     protocol channels
#        (B)    (elements)                            (us)  (GB/s)  (GB/s)      (us)      (us)
           8             2   float    sum     -1     10.00    0.00    0.00      6.00     20.00  ring          LL              1
  1073741824     268435456   float    sum     -1    4000.0  268.44  469.76    3000.0    5000.0  nvls          Simple         16
#
# 80 % interval of the largest size: 3.84 to 4.72 ms; not
#   calibrated: data sheets.
# Why the interval runs from -4.0 % to +18 %:
#   specification only
#
# warning: careful
)");
}

TEST_CASE("allreduce page: one GPU has no interval, an empty table no bandwidth in its verdict") {
  AllReduceTable one = table();
  one.ranks = 1;
  const std::string alone = allreduce_text(sample::all_reduced(one), {});
  CHECK(alone.starts_with("# 1 GPU on dgx1v: predicted, not measured; 0 GB/s busbw at 1 GiB.\n"));
  CHECK(alone.find("Confidence") == std::string::npos);
  one = table();
  one.rows.clear();
  const std::string empty = allreduce_text(sample::all_reduced(one), {});
  CHECK(empty.starts_with("# 8 GPUs on dgx1v: predicted, not measured.\n"));
  CHECK(empty.find("Confidence") == std::string::npos);
}

TEST_CASE("allreduce page: the table's grade sets the digits of the verdict") {
  AllReduceTable graded = table();
  graded.confidence.grade = Grade::a;
  graded.rows[1].time = 3_ms;  // 626.3
  CHECK(allreduce_text(sample::all_reduced(graded), {}).find("; 626 GB/s busbw") !=
        std::string::npos);
  graded.confidence.grade = Grade::c;
  CHECK(allreduce_text(sample::all_reduced(graded), {}).find("; 630 GB/s busbw") !=
        std::string::npos);
}

TEST_CASE("allreduce page: decimals as nccl-tests prints them") {
  const auto printed = [](Duration time) {
    AllReduceTable one = table();
    one.rows.resize(1);
    one.rows[0].low = time;
    const std::string text = allreduce_text(sample::all_reduced(one), {});
    const std::size_t end = text.find("     20.00  ring");
    const std::size_t begin = text.rfind(' ', end - 1) + 1;
    return text.substr(begin, end - begin);
  };
  CHECK(printed(100_us - 10'000_ps) == "99.99");
  CHECK(printed(100_us) == "100.0");
  CHECK(printed(10_ms - 100'000_ps) == "9999.9");
  CHECK(printed(10_ms) == "10000");
}

TEST_CASE("allreduce page: the head is bold if colour is on") {
  CHECK(allreduce_text(sample::all_reduced(table()), {.colour = true})
            .find("\n#\x1b[1m       size ") != std::string::npos);
}
