// The rows of `advise` as text, JSON and CSV.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "advice_lines.hpp"
#include "ddpsim/reports/reports.hpp"
#include "mentions.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using Json = nlohmann::json;

namespace {

Advice advice() {
  return {.iteration = 320_ms,
          .measurable = 3.2_ms,
          .rows = {
              {.settings = {"accumulate 4 under no_sync()"},
               .line = "with model.no_sync(): …",
               .gain = {60_ms, 50_ms, 70_ms},
               .expected = 60_ms,
               .iteration = 260_ms,
               .changes_numerics = true,
               .changes_batch = true,
               .worth = true},
              {.settings = {"fp16_compress_hook"},
               .line = "model.register_comm_hook(None, fp16)",
               .gain = {50_ms, 40_ms, 60_ms},
               .expected = 51_ms,
               .iteration = 270_ms,
               .memory_bytes = 4'194'304,
               .changes_numerics = true,
               .worth = true},
              {.settings = {"broadcast_buffers=False", "bucket_cap_mb=8"},
               .line = "NCCL_ALGO=Tree; DistributedDataParallel(model, bucket_cap_mb=8)",
               .gain = {20_ms, -1_ms, 30_ms},
               .expected = 18_ms,
               .regret = 1_ms,
               .iteration = 300_ms,
               .memory_bytes = -97'517'568,
               .worth = true,
               .note = "save rank 0's"},
              {.settings = {"static_graph=True"}, .line = "a", .iteration = 320_ms},
              {.settings = {"gradient_as_bucket_view=True"}, .line = "b", .error = "needs 9 GiB"}}};
}

}  // namespace

TEST_CASE(
    "advice page: the best setting with its lines to paste; changed numerics have their own "
    "table") {
  const std::string text = advice_text(sample::advised(advice()), {.width = 110});
  CHECK(
      text.starts_with("Set broadcast_buffers=False + bucket_cap_mb=8: saves 20 ms of 320 ms (80 % "
                       "interval -1.0 to 30 "
                       "ms; not calibrated: data sheets). fp16_compress_hook alone saves 50 ms, "
                       "but changes numerics.\n\n"
                       "    NCCL_ALGO=Tree\n"
                       "    DistributedDataParallel(model, bucket_cap_mb=8)\n\n"));
  CHECK(mentions(text, R"(
  saves ms  80 % interval   memory  Leaves gradients as they are
        20     -1.0 to 30  -93 MiB  broadcast_buffers=False + bucket_cap_mb=8
         -                          gradient_as_bucket_view=True: needs 9 GiB

  saves ms  80 % interval  memory  Changes numerics (gradients, or what the optimizer sees)
        60       50 to 70       0  accumulate 4 under no_sync()
        50       40 to 60  +4 MiB  fp16_compress_hook

Side effects: save rank 0's.
No effect here: static_graph=True.
)"));
}

TEST_CASE("advice page: only settings that change numerics are worth it, or none at all") {
  Advice some = advice();
  some.rows[2].worth = false;
  CHECK(advice_text(sample::advised(some), {})
            .starts_with(
                "No setting that leaves numerics as they are saves 3.2 ms of 320 ms, the least "
                "that can be measured. fp16_compress_hook saves 50 ms of 320 ms (80 % interval 40 "
                "to 60 ms; not calibrated: data sheets), but changes numerics.\n"));
  some.rows[1].worth = false;
  CHECK(advice_text(sample::advised(some), {}).find("fp16_compress_hook saves") ==
        std::string::npos);
}

TEST_CASE("advice page: a setting that must be measured first is named first, with the reason") {
  Advice some = advice();
  some.rows[2].worth = false;
  some.rows[2].doubt = "on 3 nodes it may cost 2.0 ms";
  const std::string text = advice_text(sample::advised(some), {});
  CHECK(text.starts_with(
      "Keep the current settings until you have measured: broadcast_buffers=False + "
      "bucket_cap_mb=8 "
      "may "
      "save 20 ms of 320 ms (80 % interval -1.0 to 30 ms), but on 3 nodes it may cost 2.0 ms."));
  CHECK(text.find("Measure first (scripts/ab.py runs both alternately): broadcast_buffers=False + "
                  "bucket_cap_mb=8 (20") != std::string::npos);
  CHECK(text.find("Nothing worth changing") == std::string::npos);
}

TEST_CASE("advice page: a doubted setting that may save more than the advised one comes first") {
  Advice some = advice();
  some.rows[3] = {.settings = {"graphs"},
                  .line = "c",
                  .gain = {80_ms, 0_ms, 80_ms},
                  .expected = 40_ms,
                  .doubt = "only a run tells"};
  CHECK(advice_text(sample::advised(some), {})
            .starts_with("Measure first: graphs may save 80 ms of 320 ms (80 % interval 0 to 80 "
                         "ms), but only a run tells. Set broadcast_buffers=False + "
                         "bucket_cap_mb=8: saves 20 ms"));
  some.rows[3].expected = 17_ms;
  CHECK(advice_text(sample::advised(some), {}).starts_with("Set broadcast_buffers=False"));
}

TEST_CASE("advice page: a setting that may save nothing is printed with its upper bound") {
  Advice some = advice();
  some.rows[2].worth = false;
  some.rows[3] = {.settings = {"graphs"},
                  .line = "c",
                  .gain = {0_ms, 0_ms, 160_ms},
                  .doubt = "the profiler may have caused these waits"};
  const std::string text = advice_text(sample::advised(some), {});
  CHECK(
      text.starts_with("Keep the current settings until you have measured: graphs may save up to "
                       "160 ms of 320 ms, but the profiler may have caused these waits."));
  CHECK(text.find("graphs (up to 160 ms)") != std::string::npos);
}

TEST_CASE("advice page: nothing is advised if the job does not fit or another job was recorded") {
  Advice none = advice();
  for (AdviceRow& row : none.rows) row.error = "needs 9 GiB";
  CHECK(advice_text(sample::advised(none), {})
            .starts_with("Nothing fits. No setting of DDP makes it fit. Shard it: "));
  AdviceReport smaller = sample::advised(none);
  smaller.would_fit = "A batch of 4 would fit by the same count";
  CHECK(advice_text(smaller, {})
            .starts_with("Nothing fits. No setting of DDP makes it fit. A batch of 4 would fit"));
  AdviceReport other = sample::advised(advice());
  other.context.trust.replay = Replay{.measured = 2_ms, .predicted = 320_ms};
  CHECK(advice_text(other, {}).starts_with(
      "Nothing is advised: the current step was measured at 2.00 ms but replayed at 320 ms: "));
}

TEST_CASE(
    "advice page: a setting that changes numerics is mentioned only if it gains measurably more") {
  Advice some = advice();
  some.rows[1].expected = some.rows[2].expected + some.measurable - 1_ps;
  CHECK_FALSE(mentions(advice_text(sample::advised(some), {}), "alone saves"));
  some.rows[1].expected += 1_ps;
  CHECK(mentions(advice_text(sample::advised(some), {}), "alone saves"));
}

TEST_CASE("advice document: every key of a row, and an error instead of times") {
  const Json document = Json::parse(advice_json(sample::advised(advice())));
  CHECK(document["schema"] == "ddpsim.advice/1");
  CHECK(document["iteration_us"] == 320000);
  CHECK(document["measurable_us"] == 3200);
  REQUIRE(document["rows"].size() == 5);
  CHECK(document["rows"][2] == Json::parse(R"json({
    "levers": ["broadcast_buffers=False", "bucket_cap_mb=8"],
    "line": "NCCL_ALGO=Tree; DistributedDataParallel(model, bucket_cap_mb=8)",
    "changes_numerics": false, "changes_batch": false, "note": "save rank 0's", "worth": true, "measure_first_because": null,
    "gain_us": {"value": 20000, "low": -1000, "high": 30000}, "expected_gain_us": 18000, "regret_us": 1000,
    "iteration_us": 300000, "memory_bytes": -97517568})json"));
  CHECK(document["rows"][4] == Json::parse(R"json({
    "levers": ["gradient_as_bucket_view=True"], "line": "b", "changes_numerics": false, "changes_batch": false,
    "note": "", "error": "needs 9 GiB"})json"));
  CHECK(document.contains("confidence"));
}

TEST_CASE("advice table: a row for each setting, with empty cells if its worth is unknown") {
  const std::string csv = advice_csv(advice());
  CHECK(csv.starts_with(
      "levers,line,gain_us,low_us,high_us,expected_gain_us,regret_us,iteration_us,memory_bytes,"
      "changes_numerics,changes_batch,worth,error,measure_first_because\n"));
  CHECK(mentions(
      csv,
      "\nbroadcast_buffers=False + bucket_cap_mb=8,\"NCCL_ALGO=Tree; "
      "DistributedDataParallel(model, bucket_cap_mb=8)\",20000,-1000,30000,18000,1000,300000,"
      "-97517568,false,false,true,,\n"));
  CHECK(csv.ends_with("gradient_as_bucket_view=True,b,,,,,,,,false,false,,needs 9 GiB,\n"));
}

TEST_CASE("advice page: a job that does not fit says so first and names no wait") {
  AdviceReport report = sample::advised(advice());
  report.step.budget[BudgetPart::host] = 320_ms;
  report.does_not_fit = "needs 35.4 GiB, and TITANRTX has 24 GiB";
  CHECK(advice_text(report, {})
            .starts_with(
                "The current job does not fit: it needs 35.4 GiB, and TITANRTX has 24 GiB. Set "));
}

TEST_CASE("advice page: the remedy for waiting is printed once") {
  AdviceReport report = sample::advised(advice());
  report.step.budget[BudgetPart::busy] = 100_ms;
  report.step.budget[BudgetPart::host] = 220_ms;
  CHECK(mentions(advice_text(report, {}), "Fewer, larger kernels help"));
  AdviceRow& doubted = report.advice.rows[2];
  doubted.doubt = "only a run tells";
  CHECK(mentions(advice_text(report, {}), "Fewer, larger kernels help"));
  doubted.by_hand = "the optimizer of your script";
  CHECK_FALSE(mentions(advice_text(report, {}), "Fewer, larger kernels help"));
}

TEST_CASE("advice page: fewer kernels are not advised if the host is busy between steps") {
  AdviceReport report = sample::advised(advice());
  report.step.budget[BudgetPart::busy] = 100_ms;
  report.step.budget[BudgetPart::host] = 220_ms;
  report.step.budget.between_steps = 120_ms;
  const std::string most = advice_text(report, {});
  CHECK(mentions(most, "waits 220 ms of 320 ms for the host, 120 ms of it between steps. Look at"));
  CHECK_FALSE(mentions(most, "Fewer, larger kernels help"));
  report.step.budget.between_steps = 215_ms;
  CHECK(mentions(advice_text(report, {}), "for the host between steps. Look at"));
  report.step.budget.between_steps = 100_ms;
  CHECK(mentions(advice_text(report, {}), "for the host. Fewer, larger kernels help"));
}

// The gain is 1.764, its interval 1.76 to 1.77. With two digits it would be 1.8, outside the
// printed interval.
TEST_CASE("advice lines: a gain has as many digits as its interval needs") {
  const GainText gain = gain_text({1.764_ms, 1.76_ms, 1.77_ms}, 2, TimeUnit::milliseconds);
  CHECK(gain.value == "1.76");
  CHECK(gain.interval == "1.76 to 1.77");
  CHECK(gain_text({1.8_ms, 1.8_ms, 1.8_ms}, 2, TimeUnit::milliseconds).interval == "1.8 to 1.8");
}
