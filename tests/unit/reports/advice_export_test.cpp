// The module that `advise --export` writes. tests/cli/test_export.py imports and runs it.
#include <doctest/doctest.h>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "mentions.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Advice plan_of_two() {
  Advice advice{.iteration = 320_ms, .measurable = 3.2_ms, .rows = {}};
  advice.rows.push_back({.settings = {"bucket_cap_mb=8", "NCCL_ALGO=Tree"},
                         .gain = {20_ms, -1_ms, 30_ms},
                         .expected = 18_ms,
                         .iteration = 300_ms,
                         .worth = true,
                         .note = "save rank 0's"});
  advice.current.nccl = CollectiveTuning{};
  advice.rows[0].job_settings = advice.current;
  advice.rows[0].job_settings.ddp.bucket_cap_mb = 8;
  advice.rows[0].job_settings.nccl->algorithms = Algorithm::tree;
  return advice;
}

std::string python_of_best(const Advice& advice, const ReportContext& context = sample::context(),
                           const std::string& made_by = "ddpsim 1") {
  const AdviceReport report = sample::advised(advice, context);
  return advice_python(report, report.advice.best(), made_by);
}

}  // namespace

TEST_CASE(
    "advice as Python: it names changed numerics and includes code that only some settings need") {
  Advice advice = plan_of_two();
  const auto text_of = [&] {
    return advice_python(sample::advised(advice), advice.find("bucket_cap_mb=8 + NCCL_ALGO=Tree"),
                         "ddpsim 1");
  };
  CHECK(advice.find("bucket_cap_mb=8") == nullptr);
  for (const char* text : {"local_sgd", "sync_batchnorm_group", "hook_min_bytes", "numerics"})
    CHECK_FALSE(mentions(text_of(), text));
  advice.rows[0].changes_numerics = true;
  DdpOptions& ddp = advice.rows[0].job_settings.ddp;
  ddp.comm_hook = CommHook::post_local_sgd;
  ddp.sync_batchnorm = true;
  ddp.sync_batchnorm_group = 8;
  std::string text = text_of();
  CHECK(mentions(text, "Changes    numerics"));
  CHECK(mentions(text, "    \"local_sgd\": {\"period\": 0, \"gradients\": True},\n"));  // current
  CHECK(mentions(text, "    \"local_sgd\": {\"period\": 4, \"gradients\": True},\n"));
  CHECK(mentions(text, "def averager("));
  CHECK(mentions(text, "    \"sync_batchnorm_group\": None,\n"));
  CHECK(mentions(text, "    \"sync_batchnorm_group\": 8,\n"));
  CHECK(mentions(text, "convert_sync_batchnorm(model, batch_norm_group(setting) or group)"));
  ddp.comm_hook = CommHook::bf16_compress;
  ddp.comm_hook_min_mb = 2.5;
  text = text_of();
  CHECK(mentions(text, "    \"hook_min_bytes\": 2621440,\n"));
  CHECK(mentions(text, "register_comm_hook(group, of_large_buckets(default_hooks, setting))"));
  CHECK_FALSE(mentions(text, "averager"));
  ddp.broadcast_buffers = false;
  CHECK(mentions(text_of(), "\"broadcast_buffers\": False"));
  advice.rows[0].job_settings.torch = {2, 13};
  CHECK(mentions(text_of(), "\"forward_sync_buffers\": False"));
}

TEST_CASE("advice as Python: a setting that loses time says what it costs") {
  Advice plan = plan_of_two();
  plan.rows.front().gain = {-5600_us, -12_ms, -1_ms};
  CHECK(
      mentions(python_of_best(plan), "costs 5.6 ms of 320 ms a step (80 % interval 1.0 to 12 ms"));
}

TEST_CASE(
    "advice as Python: it holds the current and the proposed setting, the prediction and the "
    "changes") {
  const std::string text = python_of_best(plan_of_two());
  CHECK(mentions(text, "Proposed   bucket_cap_mb=8 + NCCL_ALGO=Tree\n"));
  CHECK(mentions(text, "saves 20 ms of 320 ms a step (80 % interval -1.0 to 30 ms"));
  CHECK(mentions(text, "Besides    save rank 0's\n"));
  CHECK(mentions(text, "TODAY = {\n    \"environment\": {},\n    \"arguments\": {},\n"));
  CHECK(mentions(text,
                 "PROPOSED = {\n    \"environment\": {\"NCCL_ALGO\": \"tree\"},\n"
                 "    \"arguments\": {\"bucket_cap_mb\": 8},\n"));
  CHECK(mentions(text,
                 "\"iteration_us\": 320000, \"gain_us\": 20000, \"low_us\": -1000, "
                 "\"high_us\": 30000,"));
}

TEST_CASE("advice as Python: a setting that it cannot apply is named for the reader") {
  Advice plan = plan_of_two();
  CHECK_FALSE(mentions(python_of_best(plan), "By hand"));
  plan.rows.front().by_hand = "the DataLoader of your script";
  CHECK(mentions(python_of_best(plan),
                 "By hand    the DataLoader of your script: this file cannot set it"));
}

TEST_CASE("advice as Python: names cannot end its docstring") {
  const ReportContext context = sample::with(sample::workload("a\"\"\"; import os; \"\"\"\\"));
  const std::string text = python_of_best(plan_of_two(), context, "made by \"\"\"\n");
  CHECK(mentions(text, "a'''; import os; '''/"));
  std::size_t quotes = 0;  // of all docstrings
  for (std::size_t at = 0; (at = text.find("\"\"\"", at)) != std::string::npos; at += 3) ++quotes;
  CHECK(quotes == 8);
}

TEST_CASE("advice for NCCL's tuner: no line is longer than the plugin reads at once") {
  ReportContext context = sample::context();
  context.job = Job(sample::workload(), load_cluster_at("p4d", 2, 8), {}, AnalyticModel{});
  const std::string text =
      tuner_csv({.nccl = NcclVersion{2, 27, 3}}, context, std::string(1000, 'x'));
  std::size_t from = 0;
  std::size_t settings = 0;
  for (std::size_t end; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
    const std::string line = text.substr(from, end - from);
    CHECK(line.size() < 255);
    if (line.starts_with('#')) continue;
    ++settings;
    CHECK(line.ends_with(",2,16,-1,-1"));
    CHECK((line.starts_with("allreduce,") || line.starts_with("broadcast,")));
  }
  CHECK(settings > 4);
}
