#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using Json = nlohmann::json;

TEST_CASE("result JSON: every field has its name") {
  const Json doc = Json::parse(result_json(sample::simulated()));
  CHECK(doc["schema"] == "ddpsim.result/1");
  CHECK(doc["workload"] == "tiny");
  CHECK(doc["cluster"] == "dgx1v");
  CHECK(doc["ranks"] == 8);
  CHECK(doc["torch"] == "2.8");
  CHECK(doc["nccl"] == "2.27.3");
  CHECK(doc["network"] == "analytic");
  CHECK(doc["compute_scale"] == 1);
  CHECK(doc["iteration_us"] == 100000);
  CHECK(doc["buffer_broadcast_us"] == 400);
  CHECK(doc["backward_compute_us"] == 58000);
  CHECK(doc["copies_in_us"] == 1500);
  CHECK(doc["interference_us"] == 500);
  CHECK(doc["communication_us"] == 20000);
  CHECK(doc["wait_us"] == 1000);
  CHECK(doc["overlap"] == 0.85);
  CHECK(doc["events"] == 42);
  CHECK(doc["confidence"]["grade"] == "C");
  CHECK(doc["confidence"]["interval_percent"] == Json::array({-4, 18}));
  CHECK(doc["confidence"]["because"] == Json::array({"specification only"}));
  CHECK(doc["warnings"] == Json::array());
  CHECK_FALSE(doc.contains("replay"));
  CHECK_FALSE(doc.contains("iterations"));

  const Json& bucket = doc["buckets"][0];
  CHECK(bucket["index"] == 0);
  CHECK(bucket["bytes"] == 1048576);
  CHECK(bucket["parameter_indices"] == Json::array({2}));
  CHECK(bucket["ready_us"] == 40000);
  CHECK(bucket["launch_us"] == 41000);
  CHECK(bucket["start_us"] == 42000);
  CHECK(bucket["last_arrival_us"] == 43000);
  CHECK(bucket["last_rank"] == 3);
  CHECK(bucket["end_us"] == 60000);
  CHECK(bucket["algorithm"] == "ring");
  CHECK(bucket["protocol"] == "Simple");
  CHECK(bucket["channels"] == 12);
  CHECK(bucket["closed_by"] == "limit");
  CHECK(bucket["exposed_because"].is_null());
  CHECK(doc["buckets"][1]["algorithm"].is_null());
  CHECK(doc["buckets"][1]["exposed_because"] == "its last gradient is the end of backward");
}

TEST_CASE("result JSON: the parts of the step add up to it") {
  const Json doc = Json::parse(result_json(sample::simulated()));
  double sum = 0;
  for (const char* part : {"forward_us", "backward_us", "exposed_communication_us", "finalize_us",
                           "optimizer_us", "stall_us"}) {
    sum += doc[part].get<double>();
  }
  CHECK(sum == doctest::Approx(doc["iteration_us"].get<double>()).epsilon(1e-12));
}

TEST_CASE("result JSON: times are printed from picoseconds, without noise and without zeros") {
  SimulationResult result = sample::result();
  result.step.times.iteration = Duration::picoseconds(95'736'000'000);
  result.step.times.optimizer = Duration::picoseconds(-1);
  result.step.times.forward = Duration::picoseconds(9'007'199'254'740'993'001);  // not a double
  const std::string text = result_json(sample::simulated(result));
  CHECK(text.find("\"iteration_us\": 95736,") != std::string::npos);
  CHECK(text.find("\"optimizer_us\": -0.000001,") != std::string::npos);
  CHECK(text.find("\"finalize_us\": 1250.000001,") != std::string::npos);
  CHECK(text.find("\"forward_us\": 9007199254740.993001,") != std::string::npos);
}

TEST_CASE("result JSON: no communication has no overlap") {
  SimulationResult result = sample::result();
  result.step.times.overlap.reset();
  result.step.buckets.clear();
  const Json doc = Json::parse(result_json(sample::simulated(result)));
  CHECK(doc["overlap"].is_null());
  CHECK(doc["buckets"] == Json::array());
}

TEST_CASE("result JSON: a measured step adds the replay and its residual") {
  SimulateReport report = sample::simulated();
  report.context.trust.replay = Replay{Duration::milliseconds(104), Duration::milliseconds(101)};
  const Json doc = Json::parse(result_json(report));
  CHECK(doc["replay"]["measured_us"] == 104000);
  CHECK(doc["replay"]["predicted_us"] == 101000);
  CHECK(doc["replay"]["residual_us"] == 3000);
  CHECK(doc["replay"]["residual_percent"].get<double>() == doctest::Approx(100.0 * 3 / 104));
}

TEST_CASE("result JSON: iterations carry the fields of the top level") {
  SimulationResult result = sample::result();
  result.iterations = {sample::step(), sample::step()};
  result.iterations[0].iteration = 1;
  result.iterations[1].iteration = 2;
  const Json doc = Json::parse(result_json(sample::simulated(result)));
  REQUIRE(doc["iterations"].size() == 2);
  CHECK(doc["iterations"][0]["iteration"] == 1);
  for (const char* field : {"iteration_us", "overlap", "buckets", "stall_us", "events"}) {
    CHECK(doc["iterations"][1][field] == doc[field]);
  }
}

TEST_CASE("JSON: names with quotes, control characters and broken UTF-8 stay valid") {
  ReportContext context = sample::with(sample::workload("a\"b\\c\n\x01\x1b[31m \xff\xfe end"));
  context.trust.warnings.add("tab\tand \xc3");
  const std::string text = result_json(sample::simulated(sample::result(), context));
  const Json doc = Json::parse(text);
  const auto name = doc["workload"].get<std::string>();
  CHECK(name.rfind("a\"b\\c\n\x01\x1b[31m ", 0) == 0);
  CHECK(name.find("\xef\xbf\xbd") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("tune JSON: points, recommendation and bounds have their names") {
  const Json doc = Json::parse(tune_json(sample::tuned(sample::set())));
  CHECK(doc["schema"] == "ddpsim.tune/1");
  CHECK(doc["default"]["bucket_cap_mb"].is_null());
  CHECK(doc["default"]["iteration_us"] == 320000);
  CHECK(doc["best"]["bucket_cap_mb"] == 60);
  CHECK(doc["best"]["cap_range_mb"] == Json::array({60, 64.5}));
  CHECK(doc["best"]["exposed_communication_us"] == 3000);
  CHECK(doc["best"]["buckets"] == 2);
  CHECK(doc["best"]["reachable"] == true);
  const Json& recommended = doc["recommended"];
  CHECK(recommended["action"] == "set");
  CHECK(recommended["bucket_cap_mb"] == 60);
  CHECK(recommended["first_bucket_mb"].is_null());
  CHECK(recommended["cap_range_mb"] == Json::array({54, 80}));
  CHECK(recommended["gain_us"] == Json{{"value", 41000}, {"low", 30000}, {"high", 52000}});
  CHECK(recommended["measurable_us"] == 3000);
  CHECK(recommended["python"] == "DistributedDataParallel(model, bucket_cap_mb=60)");
  CHECK(doc["curve"].size() == 2);
  CHECK(doc["lower_bound_us"] == 96000);
  CHECK(doc["best_partition"]["bucket_bytes"] == Json::array({1048576, 2097152}));
  CHECK(doc["best_partition"]["iteration_us"] == 275000);
  CHECK(doc["best_partition"]["reachable"] == false);
  CHECK(doc["best_partition"]["buckets"] == 2);
  CHECK(doc["confidence"]["grade"] == "C");
  CHECK(doc["recommended_by_version"].is_null());
}

TEST_CASE("tune JSON: advice by version, oldest first, the newest range open") {
  TuneResult tune = sample::keep();
  tune.by_version = {
      {.versions = {{1, 8}, {2, 4}, {2, 7, 8}, {2, 20, 5}}, .set = false, .gain = {}},
      {.versions = {{2, 5}, kNewestTorch, {2, 21, 5}, {2, 27, 5}},
       .set = true,
       .bucket_cap_mb = 46,
       .gain = {2_ms, 1_ms, 4_ms}}};
  const Json doc = Json::parse(tune_json(sample::tuned(tune)))["recommended_by_version"];
  CHECK(doc == Json::parse(R"([
    {"torch_from": "1.8", "torch_to": "2.4", "nccl": ["2.7.8", "2.20.5"], "action": "keep default",
     "bucket_cap_mb": null, "first_bucket_mb": null, "gain_us": {"value": 0, "low": 0, "high": 0}},
    {"torch_from": "2.5", "torch_to": null, "nccl": ["2.21.5", "2.27.5"], "action": "set",
     "bucket_cap_mb": 46, "first_bucket_mb": null,
     "gain_us": {"value": 2000, "low": 1000, "high": 4000}}])"));
  TuneReport none = sample::tuned(tune);
  none.no_cap_because = "the backward was compiled";
  CHECK(Json::parse(tune_json(none))["recommended_by_version"].is_null());
}

TEST_CASE("tune JSON: without a best partition the reason is given") {
  const Json doc = Json::parse(tune_json(sample::tuned(sample::keep())));
  CHECK(doc["recommended"]["action"] == "keep default");
  CHECK(doc["recommended"]["bucket_cap_mb"].is_null());
  CHECK(doc["best_partition"].is_null());
  CHECK(doc["best_partition_absent_because"] == "the workload has no timings");
}

TEST_CASE("tune JSON: a cap reads back as the same double") {
  TuneResult tune = sample::keep();
  const double cap = 25.000000953674317;  // one byte above 25 MiB
  tune.best.bucket_cap_mb = cap;
  const Json doc = Json::parse(tune_json(sample::tuned(tune)));
  CHECK(doc["best"]["bucket_cap_mb"].get<double>() == cap);
}

TEST_CASE("buckets JSON: launch order with limits and reasons") {
  const StepResult step = sample::step();
  const Json doc = Json::parse(
      buckets_json({step.buckets[0].bucket, step.buckets[1].bucket}, {"careful"}, {{2, 8}}));
  CHECK(doc["schema"] == "ddpsim.buckets/1");
  CHECK(doc["torch"] == "2.8");
  CHECK(doc["warnings"] == Json::array({"careful"}));
  CHECK(doc["buckets"][1] == Json{{"index", 1},
                                  {"bytes", 2097152},
                                  {"parameter_indices", {1, 0}},
                                  {"limit_bytes", 26214400},
                                  {"closed_by", "end"},
                                  {"dtype", "float32"}});
}

TEST_CASE("timeline JSON: ranks, spans, clock and provenance") {
  Timeline timeline = sample::result().timeline;
  timeline.provenance.emplace_back("on", "paper");
  timeline.provenance.emplace_back("made by", "two hands");
  const Json doc = Json::parse(timeline_json(timeline));
  CHECK(doc["schema"] == "ddpsim.timeline/1");
  CHECK(doc["clock"] == "start of forward");
  CHECK(doc["provenance"] == Json{{"made by", "hand; two hands"}, {"on", "paper"}});
  CHECK(doc["ranks"][0]["rank"] == 0);
  CHECK(doc["ranks"][0]["spans"].size() == 6);
  CHECK(doc["ranks"][0]["spans"][2] == Json{{"track", "host"},
                                            {"name", "launch"},
                                            {"bucket", 0},
                                            {"start_us", 40000},
                                            {"end_us", 41000}});
  CHECK(doc["ranks"][0]["spans"][0]["bucket"].is_null());
}

TEST_CASE("JSON: the same values give the same bytes") {
  CHECK(result_json(sample::simulated()) == result_json(sample::simulated()));
  CHECK(tune_json(sample::tuned(sample::set())) == tune_json(sample::tuned(sample::set())));
}

TEST_CASE("JSON: a document ends with one newline") {
  const std::string text = buckets_json({}, {}, {{2, 8}, true});
  CHECK(text ==
        "{\n  \"schema\": \"ddpsim.buckets/1\",\n  \"torch\": \"2.8\",\n"
        "  \"torch_known\": true,\n"
        "  \"buckets\": [],\n  \"warnings\": []\n}\n");
}

TEST_CASE("result JSON: the recorded job, if all-reduces were recorded") {
  ReportContext context = sample::context();
  CHECK(
      Json::parse(result_json(sample::simulated(sample::result(), context)))["recorded"].is_null());
  CHECK(Json::parse(tune_json(sample::tuned(sample::keep(), context)))["recorded"].is_null());
  context.provenance.recorded = RecordedJob{};
  RecordedJob& current = *context.provenance.recorded;
  current.torch = "2.1.0";
  current.nccl = NcclVersion{2, 18, 3};
  current.buckets = {{Bytes(448), 9_ms, 10_ms, 12_ms, 310_us}, {Bytes(8), 2_us, 2_us, 2_us, 3_us}};
  current.ranks = 2;
  current.steps = 3;
  current.channels = 8;
  current.predicted_channels = 24;
  current.comparable = true;
  current.same_buckets = false;
  current.iterations = {.steps = 5,
                        .median = 107_ms,
                        .low = 82_ms,
                        .high = 167_ms,
                        .percentiles = false,
                        .next_low = 70_ms,
                        .next_high = 180_ms,
                        .mean_error = 20_ms};
  const Json expected = Json::parse(R"({
    "torch": "2.1.0", "nccl": "2.18.3", "ranks": 2, "comparable": true, "same_buckets": false,
    "all_reduce_us": 10002, "predicted_us": 313, "steps": 3,
    "iteration_us": {"steps": 5, "median": 107000, "low": 82000, "high": 167000,
                     "low_high": "least and most", "next_low": 70000, "next_high": 180000, "mean_error": 20000},
    "channels": 8, "predicted_channels": 24,
    "buckets": [{"bytes": 448, "duration_us": {"min": 9000, "median": 10000, "max": 12000},
                 "transfer_us": null, "predicted_us": 310, "inside": true},
                {"bytes": 8, "duration_us": {"min": 2, "median": 2, "max": 2},
                 "transfer_us": null, "predicted_us": 3, "inside": false}]})");
  CHECK(Json::parse(result_json(sample::simulated(sample::result(), context)))["recorded"] ==
        expected);
  CHECK(Json::parse(tune_json(sample::tuned(sample::keep(), context)))["recorded"] == expected);
  current.waits_apart = true;
  const Json joined =
      Json::parse(result_json(sample::simulated(sample::result(), context)))["recorded"];
  CHECK(joined["buckets"][0]["transfer_us"] == 10000);
  CHECK(joined["buckets"][0]["inside"] == false);
}

TEST_CASE("tune JSON: the current setting if it is not the default") {
  TuneResult tune = sample::keep();
  CHECK(Json::parse(tune_json(sample::tuned(tune)))["today"].is_null());
  tune.current = CurrentBuckets{.recorded = true,
                                .point = sample::point(std::nullopt, 99_ms, 2),
                                .bucket_bytes = {Bytes(448), Bytes(8)}};
  tune.recommended.default_as_current = false;
  ReportContext context = sample::context();
  context.provenance.recorded = RecordedJob{};
  context.provenance.recorded->setting = BucketSetting{{2, 8}, 46, std::nullopt};
  const Json document = Json::parse(tune_json(sample::tuned(tune, context)));
  CHECK(document["recommended"]["action"] == "keep today");
  CHECK(document["today"]["recorded"] == true);
  CHECK(document["today"]["bucket_cap_mb"] == 46);
  CHECK(document["today"]["first_bucket_mb"].is_null());
  CHECK(document["today"]["bucket_bytes"] == Json::parse("[448, 8]"));
  CHECK(document["today"]["iteration_us"] == 99000);
}
