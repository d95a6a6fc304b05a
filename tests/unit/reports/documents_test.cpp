// The whole JSON documents of a step and of a tuning, with every key.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reports_sample.hpp"

using namespace ddpsim;
using Json = nlohmann::json;
using namespace ddpsim::literals;

namespace {

Json result_of(const SimulationResult& result, const ReportContext& context = sample::context()) {
  return Json::parse(result_json(sample::simulated(result, context)));
}

/// Parts of a step of 100 ms, and speeds. All values differ.
ReportedStep reported() {
  ReportedStep step{.budget = {}, .speed = {2560, 1310720, 0.41, 0.88}};
  step.budget[BudgetPart::busy] = 85_ms;
  step.budget[BudgetPart::host] = 1_ms;
  step.budget[BudgetPart::input] = 2_ms;
  step.budget[BudgetPart::communication] = 3_ms;
  step.budget[BudgetPart::ranks] = 4_ms;
  step.budget[BudgetPart::overhead] = 5_ms;
  return step;
}

}  // namespace

TEST_CASE("result document: every key") {
  SimulateReport report = sample::simulated();
  report.step = reported();
  CHECK(Json::parse(result_json(report)) == Json::parse(R"json({
    "schema": "ddpsim.result/1", "workload": "tiny", "cluster": "dgx1v", "ranks": 8, "torch": "2.8", "torch_known": true,
    "nccl": "2.27.3", "backend": "nccl", "network": "analytic", "compute_scale": 1, "rank_slowdown": 1,
    "bucket_setting": "default (1 MiB first, then 25 MiB)",
    "samples_per_second": null, "tokens_per_second": null, "model_flops_utilization": null, "scaling_efficiency": 1,
    "budget": {"step_us": 100000, "busy_us": 85000, "host_us": 1000, "input_us": 2000, "communication_us": 3000,
               "ranks_us": 4000, "unexplained_us": 5000},
    "iteration_us": 100000, "forward_us": 30000, "buffer_broadcast_us": 400, "backward_us": 60000,
    "backward_compute_us": 58000, "copies_in_us": 1500, "interference_us": 500, "communication_us": 20000,
    "memory": null, "recorded": null, "wait_us": 1000, "exposed_communication_us": 3000, "blocking_communication_us": 3400, "overlap": 0.85, "finalize_us": 1250.000001,
    "optimizer_us": 5000, "stall_us": 749.999999, "slowest_gpu_us": 0, "unexplained_us": 0,
    "buckets": [
      {"index": 0, "bytes": 1048576, "parameter_indices": [2], "ready_us": 40000, "launch_us": 41000,
       "start_us": 42000, "last_arrival_us": 43000, "last_rank": 3, "end_us": 60000, "algorithm": "ring",
       "protocol": "Simple", "channels": 12, "closed_by": "limit", "exposed_because": null},
      {"index": 1, "bytes": 2097152, "parameter_indices": [1, 0], "ready_us": 90000, "launch_us": 85000,
       "start_us": 90600, "last_arrival_us": 92000, "last_rank": 5, "end_us": 93600, "algorithm": null,
       "protocol": null, "channels": null, "closed_by": "end",
       "exposed_because": "its last gradient is the end of backward"}],
    "events": 42, "alone_us": 100000,
    "loss": [{"cause": "copies", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "hooks", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "interference", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "slowest_gpu", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "straggler", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "jitter", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "exposed_all_reduce", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "used_map", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "buffer_broadcast", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "sync_batchnorm", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "launch_bound", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "input", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "unexplained", "us": 0, "low_us": 0, "high_us": 0}],
    "confidence": {"grade": "C", "provenance": "not calibrated: data sheets", "interval_percent": [-4, 18], "because": ["specification only"],
                   "measure_next": null},
    "warnings": []})json"));
}

TEST_CASE("result document: keys that a setting adds") {
  SimulationOptions options{.compute_scale = 2, .rank_slowdown = {.given = 0.05}};
  options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  options.variation = {
      .stragglers = {{.rank = 3, .slowdown = 1.2}}, .jitter = 0.02, .stagger = 4_ms, .seed = 7};
  ReportContext context = sample::with(options);
  context.trust.warnings = {{"one", "two"}, 0};
  context.trust.confidence.sensitivities = {{ErrorSource::bandwidth, -3_ms, 4_ms},
                                            {ErrorSource::measurement_noise, -1_ms, 1_ms}};
  context.trust.confidence.measure_next =
      NextMeasurement{ErrorSource::fixed_cost, "all_reduce_perf", "ddpsim calibrate"};
  SimulationResult result = sample::result();
  result.step.buckets[0].bytes = 512_KiB;
  const Json doc = result_of(result, context);
  CHECK(doc["compute_scale"] == 2);
  CHECK(doc["rank_slowdown"] == 1.05);
  CHECK(doc["variation"] ==
        Json::parse(R"json({"stragglers": [{"rank": 3, "slowdown": 1.2}], "jitter": 0.02,
                                            "stagger_us": 4000, "seed": 7})json"));
  CHECK(doc["comm_hook"] == "fp16_compress_hook");
  CHECK(doc["warnings"] == Json{"one", "two"});
  CHECK(doc["sensitivities"] ==
        Json::parse(R"json([{"source": "bandwidth", "low_us": -3000, "high_us": 4000},
                            {"source": "measurement_noise", "low_us": -1000, "high_us": 1000}])json"));
  CHECK(doc["confidence"]["measure_next"] == Json{{"source", "fixed_cost"},
                                                  {"command", "all_reduce_perf"},
                                                  {"then", "ddpsim calibrate"}});
  CHECK(doc["buckets"][0]["wire_bytes"] == 524288);
  CHECK_FALSE(doc["buckets"][1].contains("wire_bytes"));
}

TEST_CASE("result document: unset options have no key, and with gloo there is no NCCL") {
  const Json doc =
      result_of(sample::result(),
                sample::with(GlooModel{}, sample::with(SimulationOptions{.scheme = Fsdp2()})));
  CHECK(doc["nccl"].is_null());
  CHECK(doc["backend"] == "gloo");
  for (const char* absent :
       {"variation", "comm_hook", "bucket_setting", "replay", "measured", "iteration_if_alike_us",
        "iteration_statistics", "ranks_waiting", "iterations"})
    CHECK_FALSE(doc.contains(absent));
}

TEST_CASE("result document: ranks that differ, and their statistics") {
  SimulationResult result = sample::result();
  result.statistics = IterationStatistics{.first = 3,
                                          .count = 20,
                                          .mean = {.iteration = 104_ms},
                                          .p50 = 103_ms,
                                          .p95 = 108_ms,
                                          .p99 = std::nullopt};
  result.ranks = {{.rank = 0, .wait = 8_ms, .times_last = 1, .caused = 2_ms},
                  {.rank = 1, .wait = 6_ms, .times_last = 3, .caused = 20_ms}};
  SimulateReport report = sample::simulated(result);
  report.iteration_if_alike = 95_ms;
  const Json doc = Json::parse(result_json(report));
  CHECK(doc["iteration_if_alike_us"] == 95000);
  CHECK(doc["iteration_statistics"] ==
        Json::parse(R"json({"first_iteration": 3, "count": 20, "mean_us": 104000,
                                                       "p50_us": 103000, "p95_us": 108000, "p99_us": null})json"));
  CHECK(result_json(report).find(R"("rank_waits": [
    {"rank": 0, "wait_us": 8000, "times_last": 1, "caused_wait_us": 2000},
    {"rank": 1, "wait_us": 6000, "times_last": 3, "caused_wait_us": 20000}
  ])") != std::string::npos);
}

TEST_CASE("result document: each iteration has its own values") {
  SimulationResult result = sample::result();
  result.iterations = {sample::step(), sample::step()};
  result.iterations[0].iteration = 1;
  result.iterations[1].iteration = 2;
  result.iterations[1].times.iteration = 101_ms;
  result.iterations[1].buckets.pop_back();
  result.iterations[1].events = 43;
  const Json doc = result_of(result);
  CHECK(doc["iterations"][1]["iteration"] == 2);
  CHECK(doc["iterations"][1]["iteration_us"] == 101000);
  CHECK(doc["iterations"][1]["buckets"] == Json::array({doc["buckets"][0]}));
  CHECK(doc["iterations"][1]["events"] == 43);
}

TEST_CASE("tune document: every key") {
  TuneResult tune = sample::set();
  tune.best.exposed_communication = 2_ms;
  tune.best.blocking_communication = 2500_us;
  tune.recommended.most_robust = Gain{25_ms, 20_ms, 35_ms};
  tune.recommended.first_bucket_mb = 12.5;
  tune.curve = {tune.best};
  tune.curve[0].reachable = false;
  tune.unsimulated = 46875;
  TuneReport report = sample::tuned(tune);
  report.step = reported();
  const Json doc = Json::parse(tune_json(report));
  CHECK(doc == Json::parse(R"json({
    "schema": "ddpsim.tune/1", "workload": "tiny", "cluster": "dgx1v", "ranks": 8, "torch": "2.8", "torch_known": true,
    "nccl": "2.27.3", "backend": "nccl", "network": "analytic", "compute_scale": 1, "rank_slowdown": 1,
    "bucket_setting": "default (1 MiB first, then 25 MiB)",
    "budget": {"step_us": 100000, "busy_us": 85000, "host_us": 1000, "input_us": 2000, "communication_us": 3000,
               "ranks_us": 4000, "unexplained_us": 5000},
    "samples_per_second": 2560, "tokens_per_second": 1310720, "model_flops_utilization": 0.41,
    "scaling_efficiency": 0.88,
    "default": {"bucket_cap_mb": null, "first_bucket_mb": 1, "cap_range_mb": [0, 0], "iteration_us": 320000, "samples_per_second": null,
                "exposed_communication_us": 3000, "blocking_communication_us": 3400, "buckets": 5, "reachable": true},
    "best": {"bucket_cap_mb": 60, "first_bucket_mb": 60, "cap_range_mb": [60, 64.5], "iteration_us": 279000, "samples_per_second": null,
             "exposed_communication_us": 2000, "blocking_communication_us": 2500, "buckets": 2, "reachable": true},
    "today": null, "recorded": null, "recommended": {"action": "set", "bucket_cap_mb": 60, "first_bucket_mb": 12.5, "cap_range_mb": [54, 80],
                    "gain_us": {"value": 41000, "low": 30000, "high": 52000},
                    "most_robust_gain_us": {"value": 25000, "low": 20000, "high": 35000}, "measure_first": null,
                    "expected_gain_us": 42000, "regret_us": 0,
                    "next_worse": {"below_mb": 52.25, "above_mb": 96.5, "loss_us": 4000,
                                   "below_loss_us": 5000, "above_loss_us": 4000},
                    "measurable_us": 3000,
                    "python": "DistributedDataParallel(model, bucket_cap_mb=60)",
                    "reason": "the last bucket shrinks"},
    "recommended_by_version": null, "better_lever": null, "bucketings": 46876,
    "curve": [{"bucket_cap_mb": 60, "first_bucket_mb": 60, "cap_range_mb": [60, 64.5], "iteration_us": 279000, "samples_per_second": null,
               "exposed_communication_us": 2000, "blocking_communication_us": 2500, "buckets": 2, "reachable": false}],
    "lower_bound_us": 96000,
    "best_partition": {"bucket_bytes": [1048576, 2097152], "iteration_us": 275000, "reachable": false,
                       "buckets": 2},
    "confidence": {"grade": "C", "provenance": "not calibrated: data sheets", "interval_percent": [-4, 18], "because": ["specification only"],
                   "measure_next": null},
    "warnings": []
})json"));
}

TEST_CASE("tune: each bucket assignment has a training speed if the batch is known") {
  TuneReport report = sample::tuned(sample::set(), sample::candidate("tiny", 8, 32));
  report.result.curve = {sample::point(60, 320_ms, 2)};
  report.result.best = sample::point(60, 160_ms, 2);
  const Json doc = Json::parse(tune_json(report));
  CHECK(doc["curve"][0]["samples_per_second"] == 800);
  CHECK(doc["best"]["samples_per_second"] == 1600);
  CHECK(tune_csv(report).ends_with(",2,true,800\n"));
  report.result.curve[0].iteration = Duration();
  CHECK(Json::parse(tune_json(report))["curve"][0]["samples_per_second"].is_null());
}

TEST_CASE("tune document: the reason why no cap can be recommended") {
  TuneReport report = sample::tuned(sample::set());
  report.no_cap_because = "gradients are sparse";
  const Json doc = Json::parse(tune_json(report));
  CHECK(doc["recommended"] == Json{{"action", "none"}, {"reason", "gradients are sparse"}});
  CHECK_FALSE(doc.contains("best_partition_absent_because"));
}

TEST_CASE("tune CSV: a cell for every column of the curve") {
  TuneResult tune = sample::set();
  tune.curve[1].exposed_communication = 2_ms;
  tune.curve[1].blocking_communication = 2500_us;
  tune.curve[1].first_bucket_mb = 12.5;
  tune.curve[1].reachable = false;
  CHECK(tune_csv(sample::tuned(tune))
            .ends_with(
                "samples_per_second\n,1,0,0,320000,3000,3400,5,true,\n60,12.5,60,64.5,279000,2000,"
                "2500,2,false,\n"));
}

TEST_CASE("CSV: fields with commas or quotes are quoted, and a field stays on one line") {
  const auto reason = [](const char* text) {
    SimulationResult result = sample::result();
    result.step.buckets[0].exposed_because = text;
    const std::string csv = result_csv(result);
    return csv.substr(csv.find(",limit,") + 7, csv.find("\n1,") - csv.find(",limit,") - 7);
  };
  CHECK(reason("plain") == "plain");
  CHECK(reason("a, b") == "\"a, b\"");
  CHECK(reason("a \"b\"") == "\"a \"\"b\"\"\"");
  CHECK(reason("a\nb") == "a b");
  CHECK(reason("a\rb") == "a?b");
}
