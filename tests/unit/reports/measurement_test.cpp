// What `ddpsim-real` writes: JSON, CSV, a log and text. The log is read back by the reader that
// `calibrate` uses.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/reports/measurement.hpp"

using namespace ddpsim;
using Json = nlohmann::json;
using namespace ddpsim::literals;

namespace {

/// A median and percentiles that are 10 % below and above it.
Quantiles about(double median) {
  return {.median = median, .p10 = median - 0.25, .p90 = median + 0.5};
}

Measurement measurement() {
  MeasuredConfiguration cap;
  cap.name = "cap25";
  cap.bucket_cap_mb = 25;
  cap.iteration_us = {9000, 8100, 9900};
  cap.forward_us = about(2000);
  cap.backward_us = about(4000);
  cap.communication_us = about(3000);
  cap.exposed_communication_us = about(1500);
  cap.finalize_us = about(250);
  cap.optimizer_us = about(700);
  cap.iterations_us = {9001, 8999.12349};
  cap.timeline = "cap25.json";
  cap.buckets = {{.bytes = 4096_B,
                  .parameters = {2, 1},
                  .ready_us = about(10),
                  .launch_us = about(20),
                  .start_us = about(30),
                  .last_arrival_us = about(40),
                  .end_us = about(50)},
                 {.bytes = 8192_B, .parameters = {0}}};
  MeasuredConfiguration plain;
  plain.name = "default";
  plain.gradient_as_bucket_view = true;
  Measurement measurement;
  measurement.setup = {{"backend", "nccl"}, {"torch_rules", "2.4"}};
  measurement.ranks = 4;
  measurement.configurations = {cap, plain};
  // 4 MB in 100 us are 40 GB/s, times 2 * 3 / 4 gives 60 GB/s of bus bandwidth. 2 MB in 200 us are
  // 10 and 15 GB/s.
  measurement.all_reduces = {{.size = 4'000'000_B, .time_us = {100, 90, 120}},
                             {.size = 2'000'000_B,
                              .dtype = Dtype::float16,
                              .time_us = {200, 180, 230},
                              .compress_us = about(7),
                              .decompress_us = about(8)}};
  return measurement;
}

}  // namespace

TEST_CASE("measurement document: every key") {
  const Json doc = Json::parse(measurement_json(measurement()));
  CHECK(doc["schema"] == "ddpsim.measurement/1");
  CHECK(doc["ranks"] == 4);
  CHECK(doc["setup"] == Json{{"backend", "nccl"}, {"torch_rules", "2.4"}});
  REQUIRE(doc["configurations"].size() == 2);
  CHECK(doc["configurations"][0] == Json::parse(R"json({
    "name": "cap25", "bucket_cap_mb": 25, "gradient_as_bucket_view": false,
    "iteration_us": {"median": 9000, "p10": 8100, "p90": 9900},
    "forward_us": {"median": 2000, "p10": 1999.75, "p90": 2000.5},
    "backward_us": {"median": 4000, "p10": 3999.75, "p90": 4000.5},
    "communication_us": {"median": 3000, "p10": 2999.75, "p90": 3000.5},
    "exposed_communication_us": {"median": 1500, "p10": 1499.75, "p90": 1500.5},
    "finalize_us": {"median": 250, "p10": 249.75, "p90": 250.5},
    "optimizer_us": {"median": 700, "p10": 699.75, "p90": 700.5},
    "iterations_us": [9001, 8999.123],
    "buckets": [
      {"index": 0, "bytes": 4096, "parameter_indices": [2, 1],
       "ready_us": {"median": 10, "p10": 9.75, "p90": 10.5}, "launch_us": {"median": 20, "p10": 19.75, "p90": 20.5},
       "start_us": {"median": 30, "p10": 29.75, "p90": 30.5},
       "last_arrival_us": {"median": 40, "p10": 39.75, "p90": 40.5},
       "end_us": {"median": 50, "p10": 49.75, "p90": 50.5}},
      {"index": 1, "bytes": 8192, "parameter_indices": [0],
       "ready_us": {"median": 0, "p10": 0, "p90": 0}, "launch_us": {"median": 0, "p10": 0, "p90": 0},
       "start_us": {"median": 0, "p10": 0, "p90": 0}, "last_arrival_us": {"median": 0, "p10": 0, "p90": 0},
       "end_us": {"median": 0, "p10": 0, "p90": 0}}],
    "timeline": "cap25.json"})json"));
  CHECK(doc["configurations"][1]["bucket_cap_mb"].is_null());
  CHECK(doc["configurations"][1]["gradient_as_bucket_view"] == true);
  CHECK(doc["all_reduces"] == Json::parse(R"json([
    {"size_bytes": 4000000, "dtype": "float32", "time_us": {"median": 100, "p10": 90, "p90": 120}},
    {"size_bytes": 2000000, "dtype": "float16", "time_us": {"median": 200, "p10": 180, "p90": 230},
     "compress_us": {"median": 7, "p10": 6.75, "p90": 7.5}, "decompress_us": {"median": 8, "p10": 7.75, "p90": 8.5}}])json"));
}

TEST_CASE("measurement CSV: setup as comments, a row per configuration, then per all-reduce") {
  CHECK(measurement_csv(measurement()) ==
        R"(# backend: nccl
# torch_rules: 2.4
name,bucket_cap_mb,gradient_as_bucket_view,iteration_us,iteration_p10_us,iteration_p90_us,forward_us,backward_us,communication_us,exposed_communication_us,finalize_us,optimizer_us,bucket_bytes
cap25,25,false,9000.000,8100.000,9900.000,2000.000,4000.000,3000.000,1500.000,250.000,700.000,4096 8192
default,,true,0.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000,
all_reduce:4000000,,,100.000,90.000,120.000,,,,,,,
all_reduce:2000000,,,200.000,180.000,230.000,,,,,,,
)");
}

TEST_CASE("measurement page: configurations in milliseconds, all-reduces with both bandwidths") {
  CHECK(measurement_text(measurement()) == R"(4 ranks, nccl
configuration        buckets   step ms   p10 ms   p90 ms exposed ms finalize ms
cap25                      2     9.000    8.100    9.900      1.500       0.250
default                    0     0.000    0.000    0.000      0.000       0.000
       size B   time us   p10 us   p90 us algbw GB/s busbw GB/s
      4000000     100.0     90.0    120.0     40.000     60.000
      2000000     200.0    180.0    230.0     10.000     15.000
)");
  Measurement one = measurement();
  one.configurations.clear();
  CHECK(measurement_text(one).starts_with("4 ranks, nccl\n       size B   time us"));
  one.all_reduces.clear();
  one.setup.clear();
  CHECK(measurement_text(one) == "4 ranks\n");
}

TEST_CASE("measurement log: the lines of nccl-tests") {
  CHECK(
      measurement_log(measurement(), {"a", "a", "b", "b"}, "Tesla V100") ==
      R"(# ddpsim-real, in the format of nccl-tests: measured in place, the same value in both halves
# Using devices
#  Rank  0 Group  0 Pid      1 on          a device  0 [0x00] Tesla V100
#  Rank  1 Group  0 Pid      2 on          a device  1 [0x00] Tesla V100
#  Rank  2 Group  0 Pid      3 on          b device  0 [0x00] Tesla V100
#  Rank  3 Group  0 Pid      4 on          b device  1 [0x00] Tesla V100
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     4000000       1000000     float     sum      -1   100.00   40.00   60.00    N/A   100.00   40.00   60.00    N/A
     2000000       1000000      half     sum      -1   200.00   10.00   15.00    N/A   200.00   10.00   15.00    N/A
)");
  Measurement one = measurement();
  one.all_reduces.resize(1);
  one.all_reduces[0].dtype = Dtype::bfloat16;
  CHECK(measurement_log(one, {}, "").find("     4000000       2000000  bfloat16     sum  ") !=
        std::string::npos);
}

TEST_CASE(
    "measurement log: calibrate reads back what was measured, and agrees with the bandwidths "
    "printed") {
  Measurement one = measurement();
  one.all_reduces.resize(1);
  const MeasuredLog log =
      parse_nccl_tests_log(measurement_log(one, {"a", "a", "b", "b"}, "Tesla V100"), "ours.log");
  CHECK(log.ranks == 4);
  CHECK(log.nodes == 2);
  CHECK(log.gpus_per_node == 2);
  CHECK(log.gpu == "Tesla V100");
  CHECK(log.warnings.empty());
  REQUIRE(log.points.size() == 1);
  CHECK(log.points[0].size == 4'000'000_B);
  CHECK(log.points[0].time_us == 100);
  CHECK(log.points[0].in_place_us == 100);
}

TEST_CASE("measurement: the median, and percentiles that are measured values") {
  const Quantiles five = quantiles_of({50, 10, 20, 40, 30});
  CHECK(five.median == 30);
  CHECK(five.p10 == 10);
  CHECK(five.p90 == 50);
  const Quantiles two = quantiles_of({3, 1});
  CHECK(two.median == 2);
  CHECK(quantiles_of({3}).p10 == 3);
  CHECK(quantiles_of({3}).p90 == 3);
  CHECK(quantiles_of({}).median == 0);
}
