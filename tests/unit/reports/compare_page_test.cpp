// The whole text, JSON and CSV of `compare`.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "alpha_beta.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "first_line.hpp"
#include "mentions.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using Json = nlohmann::json;
using namespace ddpsim::literals;

namespace {

CandidateContext on(const std::string& cluster, int ranks, std::int64_t batch) {
  CandidateContext context = sample::candidate(cluster, ranks, batch);
  context.provenance.cluster_source = cluster + "@1";
  return context;
}

/// Replaces each workload by one that does not state its batch.
void forget_batches(std::vector<CandidateContext>& contexts) {
  for (CandidateContext& context : contexts) context.job = context.job.with(sample::workload());
}

struct Compared {
  Comparison comparison;
  std::vector<CandidateContext> contexts;
};

/// "near" is the fastest. "third" has the same number of GPUs. "far" has twice as many, each twice
/// as fast.
Compared three_jobs() {
  const ComparedJob far{.times = {.iteration = 120_ms,
                                  .exposed_communication = 30_ms,
                                  .loss = small::lost({{LossCause::buffer_broadcast, 48_ms}})},
                        .confidence = {Grade::c, -10, 20, {"why far"}},
                        .best_cap = Recommendation{.measurable = 1.2_ms, .reason = "far keeps it"},
                        .behind = {20, 12, 28}};
  const ComparedJob near{.times = {.iteration = 100_ms,
                                   .exposed_communication = 12_ms,
                                   .loss = small::lost({{LossCause::exposed_all_reduce, 20_ms}})},
                         .confidence = {Grade::b, -4, 18, {"why near"}},
                         .best_cap = Recommendation{.set = true,
                                                    .bucket_cap_mb = 60,
                                                    .cap_range_mb = {54, 80},
                                                    .gain = {7_ms, 6_ms, 9_ms},
                                                    .most_robust = Gain{5_ms, 4_ms, 8_ms},
                                                    .measurable = 1_ms,
                                                    .python = "DDP(model, bucket_cap_mb=60)",
                                                    .reason = "fewer buckets"}};
  const ComparedJob third{.times = {.iteration = 250_ms,
                                    .exposed_communication = 25_ms,
                                    .loss = small::lost({{LossCause::interference, 160_ms}})},
                          .confidence = {Grade::c, -20, 40, {"why third"}},
                          .best_cap = Recommendation{.set = true,
                                                     .first_bucket_mb = 12.5,
                                                     .gain = {5_ms, 3_ms, 6.5_ms},
                                                     .measurable = 2.5_ms},
                          .behind = {150, 120, 180}};
  Compared all{{.jobs = {far, near, third}, .by_speed = {1, 0, 2}},
               {on("far", 16, 32), on("near", 8, 32), on("third", 8, 16)}};
  all.contexts[0].job = all.contexts[0].job.with(
      SimulationOptions{.compute_scale = 2, .rank_slowdown = {.given = 0.1}});
  return all;
}

std::string page(const Compared& all, int width = 160) {
  return compare_text({all.comparison, all.contexts}, {.width = width});
}

/// The header row of the table of jobs.
std::string head(const std::string& text) {
  const std::size_t at = text.find("\n  cluster") + 1;
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

// The candidates: near trains 256 samples in 100 ms (96 to 118), far 512 in 120 ms (108 to 144),
// third 128 in 250 ms (200 to 350). On far, 30 ms are exposed. A speedup of 150 % is 2.5 times as
// fast.
TEST_CASE("compare page: three clusters, one with other GPUs") {
  Compared all = three_jobs();
  all.contexts[0].trust.warnings.add("careful");
  CompareReport report{all.comparison, all.contexts};
  report.next_command = "ddpsim tune";
  CHECK(compare_text(report, {.width = 160}) ==
        R"(near (8 GPUs) trains 2.5 times as fast as third (8 GPUs) (2.2 to 2.8).
warning: careful
tiny
PyTorch 2.8, NCCL 2.27.3, analytic network; buckets: default (1 MiB first, then 25 MiB)

  cluster  GPUs  compute  step ms  80 % interval  samples/s  efficiency  blocking  largest loss                 best cap                     behind by
  near        8    x1.00      100  96.0 to 118         2560        80 %      12 %  exposed all-reduces 20 %     60 (-7.00 ms)
  far        16    x2.00      120  110 to 140          4300        60 %      25 %  buffer broadcast 40 %        default                      20 % (12 to 28)
  third       8    x1.00      250  200 to 350           510        36 %      10 %  compute slowed by NCCL 64 %  first bucket 12.5 (-5.0 ms)  x2.5 (2.2 to 2.8)
Efficiency: step of one GPU without DDP, divided by the step of the job. Behind by: how much faster the first trains, at the same batch per GPU. Blocking: share
  of the step in which the GPU waits for communication or stragglers. The slowest GPU is a separate loss. Best cap: bucket_cap_mb worth setting and what it
  saves, for candidates that may be the fastest.

For the fastest, near:
80 % interval of the step: 96.0 to 118 ms.

  where the efficiency goes   ms  % of step  80 % interval
  one GPU, without DDP        80         80
  exposed all-reduces         20         20
  step                       100        100

Why the interval runs from -4.0 % to +18 %:
  why near

Next: ddpsim tune
)");
}

TEST_CASE("compare page: columns with the same value for all candidates are left out") {
  Compared all = three_jobs();
  CHECK(head(page(all)).find("  GPUs  compute  step ms  80 % interval") != std::string::npos);
  all.contexts[0].job = all.contexts[0].job.with(SimulationOptions{});
  CHECK(head(page(all)).find("  GPUs  step ms  80 % interval") != std::string::npos);
  forget_batches(all.contexts);
  for (ComparedJob& job : all.comparison.jobs) job.best_cap.reset();
  CHECK(
      head(page(all)) ==
      "  cluster  GPUs  step ms  80 % interval  efficiency  blocking  largest loss                 "
      "behind by");
  for (ComparedJob& job : all.comparison.jobs) job.times.iteration = 900_us;
  CHECK(head(page(all)).find("  step µs  ") != std::string::npos);
}

TEST_CASE(
    "compare page: the best cap is explained only if its column is shown, even if a cluster has "
    "that name") {
  Compared all = three_jobs();
  all.contexts[0].provenance.label = "best cap";
  const std::string explained = "Best cap:";
  CHECK(page(all).find(explained) != std::string::npos);
  CHECK(page(all, 70).find(explained) == std::string::npos);  // too narrow
  for (ComparedJob& job : all.comparison.jobs) job.best_cap.reset();
  CHECK(page(all).find(explained) == std::string::npos);
}

TEST_CASE("compare page: a long name is cut in the middle") {
  Compared all = three_jobs();
  all.contexts[0].provenance.label =
      "abcdefghijklmnopqrstuvwxyz012";  // 29 characters: 13, one mark, 14
  CHECK(page(all).find("\n  abcdefghijklm…pqrstuvwxyz012  ") != std::string::npos);
  all.contexts[0].provenance.label = "abcdefghijklmnopqrstuvwxyz01";
  CHECK(page(all).find("\n  abcdefghijklmnopqrstuvwxyz01  ") != std::string::npos);
}

TEST_CASE("compare page: sentences are wrapped at the width, including the name of the fastest") {
  Compared all = three_jobs();
  all.contexts[1].provenance.label = "abcdefghijklmnopqrstuvwxyz012";
  const std::string text = page(all, 44);
  CHECK(text.find("\nFor the fastest,\n  abcdefghijklmnopqrstuvwxyz012:\n") != std::string::npos);
  CHECK(text.find("\nEfficiency: step of one GPU without DDP,\n  divided by the step of the job. "
                  "Behind by:\n") != std::string::npos);
}

TEST_CASE("compare page: the cell of a cap that was not searched is empty") {
  Compared all = three_jobs();
  all.comparison.jobs[2].best_cap.reset();
  const std::string text = page(all);
  CHECK(text.find("compute slowed by NCCL 64 %  ") != std::string::npos);
  CHECK(text.find("first bucket 12.5") == std::string::npos);
}

TEST_CASE("compare page: steps that differ by one percent get more digits, closer ones do not") {
  Compared all = three_jobs();
  for (ComparedJob& job : all.comparison.jobs) job.confidence.grade = Grade::c;
  all.comparison.jobs[1].times.iteration = 106_ms;
  all.comparison.jobs[0].times.iteration = 107.06_ms;
  CHECK(page(all).find("\n  far        16    x2.00      107  ") != std::string::npos);
  all.comparison.jobs[0].times.iteration = 107.05_ms;
  CHECK(page(all).find("\n  far        16    x2.00      110  ") != std::string::npos);
}

TEST_CASE(
    "compare page: a speedup of 50 % or more is printed as a factor, a smaller one as a "
    "percentage") {
  Compared all = three_jobs();
  all.comparison.jobs[2].behind = {50, 40, 60};
  CHECK(first_line(page(all)) ==
        "near (8 GPUs) trains 1.5 times as fast as third (8 GPUs) (1.4 to 1.6).");
  CHECK(page(all).find("  x1.5 (1.4 to 1.6)\n") != std::string::npos);
  all.comparison.jobs[2].behind = {49.9, 40, 60};
  CHECK(first_line(page(all)) ==
        "near (8 GPUs) trains 50 % faster than third (8 GPUs) (40 % to 60 %).");
  CHECK(page(all).find("  50 % (40 to 60)\n") != std::string::npos);
}

TEST_CASE("compare page: a candidate is called faster from 0.05 percent on") {
  Compared all = three_jobs();
  all.comparison.jobs[2].behind = {0.049, 0, 2};
  CHECK(first_line(page(all)) ==
        "near (8 GPUs) and third (8 GPUs) train equally fast, as far as is known: 0 % faster to "
        "2.0 % faster.");
  all.comparison.jobs[2].behind = {0.05, -1, 2};
  CHECK(first_line(page(all)) ==
        "Not decided: near (8 GPUs) is predicted to train 0.050 % faster than third (8 GPUs), but "
        "it may be anything from 1.0 % slower to 2.0 % faster.");
}

TEST_CASE("compare page: the fastest is compared with the next one if no other has as many GPUs") {
  Compared all = three_jobs();
  all.contexts[2] = on("third", 4, 32);
  CHECK(first_line(page(all)) ==
        "near (8 GPUs) trains 20 % faster than far (16 GPUs) (12 % to 28 %).");
}

TEST_CASE("compare JSON: every field under its name") {
  Compared all = three_jobs();
  all.contexts[0].trust.warnings.add("careful");
  const Json doc = Json::parse(compare_json({all.comparison, all.contexts}));
  CHECK(doc["schema"] == "ddpsim.compare/1");
  CHECK(doc["workload"] == "tiny");
  CHECK(doc["torch"] == "2.8");
  CHECK(doc["nccl"] == "2.27.3");
  CHECK(doc["backend"] == "nccl");
  CHECK(doc["network"] == "analytic");
  CHECK(doc["bucket_setting"] == "default (1 MiB first, then 25 MiB)");
  CHECK(doc["by_speed"] == Json{1, 0, 2});
  CHECK(doc["fastest_is_certain"] == true);
  CHECK(doc["warnings"] == Json{"careful"});
  REQUIRE(doc["rows"].size() == 3);
  CHECK(doc["rows"][0] == Json::parse(R"json({
    "label": "far", "cluster": "far@1", "ranks": 16, "compute_scale": 2, "rank_slowdown": 1.1, "iteration_us": 120000,
    "alone_us": 72000, "scaling_efficiency": 0.6, "samples_per_second": 4266.666667, "tokens_per_second": null,
    "model_flops_utilization": null, "changed_numerics": null,
    "exposed_communication_us": 30000, "exposed_share": 0.25, "memory": null,
    "blocking_communication_us": 30000, "blocking_share": 0.25,
    "loss": [{"cause": "copies", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "hooks", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "interference", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "slowest_gpu", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "straggler", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "jitter", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "exposed_all_reduce", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "used_map", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "buffer_broadcast", "us": 48000, "low_us": 48000, "high_us": 48000},
             {"cause": "sync_batchnorm", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "launch_bound", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "input", "us": 0, "low_us": 0, "high_us": 0},
             {"cause": "unexplained", "us": 0, "low_us": 0, "high_us": 0}],
    "best_cap": {"action": "keep default", "bucket_cap_mb": null, "first_bucket_mb": null, "cap_range_mb": [0, 0],
                 "gain_us": {"value": 0, "low": 0, "high": 0}, "most_robust_gain_us": null, "measure_first": null,
                 "expected_gain_us": 0, "regret_us": 0, "next_worse": null, "measurable_us": 1200,
                 "python": "", "reason": "far keeps it"},
    "calibrated_by_recording": false,
    "confidence": {"grade": "C", "provenance": null, "interval_percent": [-10, 20], "because": ["why far"], "measure_next": null},
    "behind_percent": {"value": 20, "low": 12, "high": 28}, "behind_sources": [],
    "same": false, "never_slower": false})json"));
  CHECK(doc["rows"][1]["best_cap"] == Json::parse(R"json({
    "action": "set", "bucket_cap_mb": 60, "first_bucket_mb": null, "cap_range_mb": [54, 80],
    "gain_us": {"value": 7000, "low": 6000, "high": 9000},
    "most_robust_gain_us": {"value": 5000, "low": 4000, "high": 8000}, "measure_first": null,
    "expected_gain_us": 0, "regret_us": 0, "next_worse": null, "measurable_us": 1000,
    "python": "DDP(model, bucket_cap_mb=60)", "reason": "fewer buckets"
})json"));
  CHECK(doc["rows"][2]["best_cap"]["first_bucket_mb"] == 12.5);
  CHECK(doc["rows"][2]["behind_percent"] == Json{{"value", 150}, {"low", 120}, {"high", 180}});
}

TEST_CASE(
    "compare JSON: unknown values are null, and one uncertain candidate makes the fastest "
    "uncertain") {
  Compared all = three_jobs();
  all.contexts[1].job = all.contexts[1].job.with(sample::workload());
  all.comparison.jobs[1].best_cap.reset();
  all.comparison.jobs[0].behind.low_percent = 0;
  const Json doc = Json::parse(compare_json({all.comparison, all.contexts}));
  CHECK(doc["rows"][1]["samples_per_second"].is_null());
  CHECK(doc["rows"][1]["best_cap"].is_null());
  CHECK(doc["fastest_is_certain"] == false);
  all.comparison.by_speed = {1};
  CHECK(Json::parse(compare_json({all.comparison, all.contexts}))["fastest_is_certain"] == true);
}

TEST_CASE(
    "compare: the recorded job is printed once, for the first candidate that may be its cluster") {
  Compared all = three_jobs();
  CHECK_FALSE(mentions(page(all), "Current job"));
  CHECK(Json::parse(compare_json({all.comparison, all.contexts}))["recorded"].is_null());
  CHECK(Json::parse(compare_json({all.comparison, all.contexts}))["recorded_row"].is_null());
  for (CandidateContext& context : all.contexts) {
    RecordedJob& current = context.provenance.recorded.emplace();
    current.ranks = 8;
    current.buckets = {{Bytes(8'196'000), 1_ms, 2_ms, 3_ms, 1.5_ms}};
  }
  CHECK(
      mentions(page(all),
               "Current job: recorded on 8 GPUs. The recording spent 2.00 ms in 1 all-reduce.\n"));
  CHECK(Json::parse(compare_json({all.comparison, all.contexts}))["recorded_row"] == 0);
  all.contexts[1].provenance.recorded->comparable = true;
  all.contexts[2].provenance.recorded->comparable = true;
  all.contexts[2].provenance.recorded->buckets[0].predicted = 500_us;
  all.contexts[1].provenance.calibrated_by_recording = true;
  const std::string text = page(all);
  CHECK(mentions(text,
                 "Current job: recorded on 8 GPUs. The recording spent 2.00 ms in 1 all-reduce. "
                 "near is predicted to need 1.50 ms.\n"));
  CHECK(mentions(text,
                 "third is predicted to need 500 µs, so either it is a different machine or the"));
  CHECK(mentions(text, "Calibrated by the recording itself: near (no other candidate).\n"));
  const Json doc = Json::parse(compare_json({all.comparison, all.contexts}));
  CHECK(doc["recorded_row"] == 1);
  CHECK(doc["recorded"]["comparable"] == true);
  CHECK(doc["rows"][1]["calibrated_by_recording"] == true);
}

TEST_CASE("compare CSV: one row per job, in the order given") {
  CHECK(compare_csv({three_jobs().comparison, three_jobs().contexts}) ==
        "workload,label,cluster,ranks,compute_scale,iteration_us,low_us,high_us,alone_us,scaling_"
        "efficiency,"
        "samples_per_second,tokens_per_second,model_flops_utilization,"
        "exposed_communication_us,blocking_communication_us,largest_loss,grade,changed_numerics,"
        "best_cap_mb,gain_us,"
        "behind_percent,behind_low_percent,"
        "behind_high_percent,usd_per_hour,usd_per_1000_steps,usd_per_1000_steps_low,usd_per_1000_"
        "steps_high,"
        "dearer_percent,dearer_low_percent,dearer_high_percent,frontier,memory_bytes,changes_order,"
        "error\n"
        "tiny,far,far@1,16,2,120000,108000,144000,72000,0.6,4266.666667,,,30000,30000,buffer_"
        "broadcast,"
        "C,,,"
        ",20,12,"
        "28,,,,,,,,,,,\n"
        "tiny,near,near@1,8,1,100000,96000,118000,80000,0.8,2560,,,12000,12000,exposed_all_reduce,"
        "B,,60,"
        "7000,0,0,0,"
        ",,,,,,,,,,"
        "\n"
        "tiny,third,third@1,8,1,250000,200000,350000,90000,0.36,512,,,25000,25000,interference,C,,,"
        "5000,"
        "150,"
        "120,"
        "180,,,,,,,,,,,\n");
  Compared all = three_jobs();
  forget_batches(all.contexts);
  for (ComparedJob& job : all.comparison.jobs) job.best_cap.reset();
  CHECK(compare_csv({all.comparison, all.contexts})
            .find("\ntiny,near,near@1,8,1,100000,96000,118000,80000,0.8,,,,12000,12000,exposed_all_"
                  "reduce,"
                  "B,,,,0,"
                  "0,0,,,,,,,,,,,\n") != std::string::npos);
}

TEST_CASE("compare page: no cap is named if it depends on the PyTorch version") {
  Compared all = three_jobs();
  CHECK(page(all).find("needs --torch") == std::string::npos);
  all.comparison.jobs[0].best_cap->depends_on_version = true;
  CHECK(page(all).find("needs --torch") != std::string::npos);
  CHECK(page(all).find("Needs --torch:") != std::string::npos);
}

TEST_CASE("compare page: costs have their own columns, and grade C prints only a range") {
  Compared all = three_jobs();
  CompareReport report{all.comparison, all.contexts};
  for (std::size_t i = 0; i < 3; ++i) {
    const Job job = small::OpenJob{.workload = small::chain({{4, 0}}, 0, 0), .model = FreeModel{}};
    ComparedJob& compared = report.comparison.jobs[i];
    compared.work = WorkTime{
        .jobs = {job},
        .expected = compared.times.iteration.seconds() / *step_work(all.contexts[i].job).samples};
  }
  Costs& costs = report.costs.emplace();
  costs.candidates.resize(3);
  const Price listed{.usd = 31.2, .terms = "on-demand", .as_of = "2026-04", .source = "a list"};
  const FigureRange far_seconds{2.1e-4, 2.34e-4, 2.8e-4};
  const FigureRange near_seconds{3.75e-4, 3.90625e-4, 4.6e-4};
  costs.candidates[0] = {.price = listed,
                         .usd_per_hour = 62.4,
                         .seconds_per_work = far_seconds,
                         .usd_per_work = far_seconds.times(62.4 / 3600),
                         .dearer = {30, -5, 60}};
  costs.candidates[1] = {.price = listed,
                         .usd_per_hour = 31.2,
                         .seconds_per_work = near_seconds,
                         .usd_per_work = near_seconds.times(31.2 / 3600),
                         .dearer = {},
                         .frontier = true};
  costs.by_cost = {1, 0};
  const std::string text = page({report.comparison, report.contexts}, 200);
  CHECK_FALSE(mentions(text, "USD"));
  const std::string priced = compare_text(report, {.width = 400});
  CHECK(mentions(
      priced,
      "Cheapest: near (8 GPUs), 3.39 (3.2 to 4.0) USD for a million samples; not decided against "
      "far (16 GPUs), which is predicted to cost 30 % more (possible: -5.0 to 60 %)."));
  // Grade C prints only the range.
  CHECK(mentions(priced, "3.6 to 4.9"));
  CHECK(mentions(priced, "Price: far, near: 31.2 USD per node-hour (on-demand; 2026-04; a list)."));
  CHECK_FALSE(mentions(priced, "Purchase:"));
  CHECK_FALSE(mentions(priced, "Failures included"));
  CandidateCost& far = *costs.candidates[0];
  far.goodput.share = 0.5;
  far.seconds_per_work = far_seconds.times(2);  // 4.68 / 3.90625 is 1.20
  CHECK(mentions(compare_text(report, {.width = 400}),
                 " Failures included, near (8 GPUs) is the fastest: 1.20 times as fast as far (16 "
                 "GPUs).\n"));
  far.goodput.share = 1;
  far.seconds_per_work = far_seconds;
  costs.candidates[0]->price.per = Price::Per::node;
  costs.candidates[0]->ownership = {.life_hours = 4 * 8766};
  CHECK(mentions(compare_text(report, {.width = 400}),
                 "Purchase: spread over 4 years at full utilisation (assumed: --utilisation), "
                 "energy not included (--node-power)."));
  costs.candidates[0]->ownership = {
      .life_hours = 8766, .utilisation = 0.7, .node_kw = 6.5, .usd_per_kwh = 0.12};
  CHECK(mentions(compare_text(report, {.width = 400}),
                 "Purchase: spread over 1 years at 70 % utilisation, 6.5 kW at 0.12 USD per kWh."));
  CHECK(mentions(priced, "No price is known for third. Pass --price LABEL=USD/node_hour."));
  report.training = Training{.samples = 2.5e6};
  CHECK(mentions(compare_text(report, {.width = 400}), "USD for 2.5 million samples"));
  const Json doc = Json::parse(compare_json(report));
  CHECK(doc["by_cost"] == Json{1, 0});
  CHECK(doc["rows"][2]["cost"].is_null());
  CHECK(doc["rows"][1]["cost"]["frontier"] == true);
  CHECK(doc["rows"][1]["cost"]["usd_per_hour"] == 31.2);
  CHECK(doc["rows"][1]["cost"]["usd_per_1000_steps"]["value"].get<double>() ==
        doctest::Approx(31.2 / 3600 * 100));
  CHECK(doc["rows"][1]["cost"]["seconds"]["value"].get<double>() ==
        doctest::Approx(2.5e6 / 256 * 0.1));
  CHECK(doc["rows"][0]["cost"]["dearer_percent"]["low"] == -5);
  CHECK(mentions(compare_csv(report), ",62.4,"));
}

TEST_CASE("compare page: a speedup comes with what decides it") {
  Compared all = three_jobs();
  Speedup& speedup = all.comparison.jobs[2].behind;
  CHECK_FALSE(mentions(page(all), "alone"));
  speedup = {.percent = 5, .low_percent = -3, .high_percent = 12};
  speedup.sources = {{ErrorSource::bandwidth, -2, 11}, {ErrorSource::fixed_cost, 3, 6}};
  CHECK(mentions(page(all),
                 "The order could be reversed by bandwidth of collectives alone: 2.0 % slower to "
                 "11 % faster.\n"));
  speedup.sources = {{ErrorSource::bandwidth, 1, 9}, {ErrorSource::fixed_cost, 3, 6}};
  CHECK(mentions(
      page(all),
      "Only several errors together could reverse the order, none alone; the widest is bandwidth"));
  speedup = {.percent = 5, .low_percent = 0, .high_percent = 12, .never_slower = true};
  CHECK(mentions(
      page(all),
      "near (8 GPUs) trains 5.0 % faster than third (8 GPUs) (0 % to 12 %), and never slower.\n"));
  CHECK(mentions(
      page(all),
      "near is a strictly better configuration than third, and NCCL chooses the same on both.\n"));
  speedup = {.percent = 5, .low_percent = 2, .high_percent = 12, .dominating_is_slower = true};
  speedup.other_choice =
      OtherChoice{Bytes(30 << 20),
                  {.algorithm = Algorithm::ring, .protocol = Protocol::ll128, .channels = 8},
                  {.algorithm = Algorithm::tree, .protocol = Protocol::simple, .channels = 1}};
  CHECK(mentions(
      page(all),
      "third is a strictly better configuration than near, yet predicted to be slower: for 30 MiB "
      "NCCL chooses tree/Simple on 1 channel on near and ring/LL128 on 8\n  channels on third.\n"));
  speedup = {.same = true};
  CHECK(first_line(page(all)) ==
        "near (8 GPUs) and third (8 GPUs) differ only in name, so they are equally fast.");
}
