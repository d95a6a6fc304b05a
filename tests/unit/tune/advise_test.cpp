// Settings ranked: what each gains, alone and together, by the rule that recommends caps.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "ddp_settings.hpp"
#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/tune/advise.hpp"
#include "setting.hpp"
#include "tune_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using small::gain_us;
using small::six_hidden;
using small::three_queued;

namespace {

const AdviceRow* row_of(const Advice& advice, const std::vector<std::string>& settings) {
  const auto row = std::ranges::find(advice.rows, settings, &AdviceRow::settings);
  return row == advice.rows.end() ? nullptr : &*row;
}

Duration hooked_step(const Job& job, CommHook hook) {
  SimulationOptions options = job.options();
  options.ddp_to_set().comm_hook = hook;
  return simulate_times(job.with(std::move(options))).iteration;
}

}  // namespace

TEST_CASE("advise: a setting's gain is the current step minus the step with it") {
  const Job job = six_hidden(3400, 100, 100);
  const Advice advice = advise(job, {});
  CHECK(advice.iteration == 10000_us);
  CHECK(advice.measurable == 100_us);
  const AdviceRow* cap = row_of(advice, {"bucket_cap_mb=1"});
  REQUIRE(cap);
  CHECK(cap->gain == gain_us(400, 240, 600));  // what communication costs
  CHECK(cap->expected == 412_us);
  CHECK(cap->worth);
  CHECK_FALSE(cap->changes_numerics);
  CHECK(cap->line == "DistributedDataParallel(model, bucket_cap_mb=1)");
  CHECK(advice.best() == cap);
  const AdviceRow* hook = row_of(advice, {"fp16_compress_hook"});
  REQUIRE(hook);
  CHECK(hook->changes_numerics);
  CHECK(hook->iteration == hooked_step(job, CommHook::fp16_compress));
  CHECK(hook->gain.value == advice.iteration - hook->iteration);
  CHECK(hook->note == "gradients travel with 16 bits");
}

TEST_CASE("advise: rows are ordered by expected gain") {
  const Advice advice = advise(three_queued(1000, 100, 500, 400), {});
  REQUIRE(advice.rows.size() > 3);
  CHECK(std::ranges::is_sorted(advice.rows, std::ranges::greater(), &AdviceRow::expected));
}

TEST_CASE("advise: accumulated micro-batches count one by one") {
  const Job job = six_hidden(3400, 100, 100);
  SimulationOptions options = job.options();
  options.accumulate = 2;
  const Duration two = simulate_times(job.with(options)).iteration;
  const Advice advice = advise(job, {});
  const AdviceRow* row = row_of(advice, {"accumulate 2 under no_sync()"});
  REQUIRE(row);
  CHECK(row->iteration == two.scaled(0.5));
  CHECK(row->changes_numerics);
  CHECK(row->note ==
        "the optimizer steps 2 times more rarely, on a batch 2 times as large; "
        "micro-batch k runs forward and backward within \"with sync(k):\"");
  // A user who already accumulates two micro-batches is offered four; a step of two is half of
  // that.
  const Job current = job.with(options);
  options.accumulate = 4;
  const Advice from_two = advise(current, {});
  const AdviceRow* four = row_of(from_two, {"accumulate 4 under no_sync()"});
  REQUIRE(four);
  CHECK(four->iteration == simulate_times(current.with(options)).iteration.scaled(0.5));
}

TEST_CASE("advise: only large buckets are cast if that gains measurably more") {
  small::OpenJob job = six_hidden(34000, 100, 1000);
  job.options.torch = {2, 11};
  job.options.ddp_to_set().bucket_cap_mb_list = {5, 1};  // the small one is the last
  job.options.ddp_to_set().gradient_as_bucket_view = true;
  CHECK_FALSE(partial_cast_setting(job, CommHook::fp16_compress));
  job.options.costs.host_copy = 1000_us;
  const auto setting = partial_cast_setting(job, CommHook::fp16_compress);
  REQUIRE(setting);
  CHECK(setting->name == "fp16_compress_hook from 5 MiB");
  CHECK(setting->after.find(".element_size() >= 5242880 else") != std::string::npos);
  const Job current = job;
  const Duration part = simulate_times(setting->change(current)).iteration;
  CHECK(hooked_step(current, CommHook::fp16_compress) - part >= 1000_us);
  const Advice advice = advise(current, {.caps = false});
  REQUIRE(row_of(advice, {setting->name}));
  CHECK(row_of(advice, {setting->name})->iteration == part);
  // Casting back takes 20 us more than 0.5 MiB less save.
  job.options.costs.host_copy = 520_us;
  CHECK(partial_cast_setting(job, CommHook::fp16_compress));
  CHECK_FALSE(row_of(advise(job, {.caps = false}), {setting->name}));
  job.options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  CHECK_FALSE(partial_cast_setting(job, CommHook::fp16_compress));
}

TEST_CASE("advise: accumulation and a static graph exclude each other") {
  const auto offers = [](const Job& job, const std::string& name) {
    const std::vector<Setting> settings = settings_of(job);
    return std::ranges::find(settings, name, &Setting::name) != settings.end();
  };
  const Job job = six_hidden(3400, 100, 100);
  SimulationOptions options = job.options();
  CHECK(offers(job, "static_graph=True"));
  CHECK(offers(job, "accumulate 2 under no_sync()"));
  options.accumulate = 2;
  CHECK_FALSE(offers(job.with(options), "static_graph=True"));
  options.ddp_to_set().static_graph = true;  // the user's own choice
  CHECK(offers(job.with(options), "accumulate 4 under no_sync()"));
  options.accumulate = 1;
  CHECK_FALSE(offers(job.with(options), "accumulate 2 under no_sync()"));
}

TEST_CASE("advise: only settings that this PyTorch has and that are not current") {
  small::OpenJob job = six_hidden(3400, 100, 100);
  job.options.torch = {1, 6};
  const Advice old = advise(job, {});
  CHECK_FALSE(row_of(old, {"static_graph=True"}));
  CHECK_FALSE(row_of(old, {"gradient_as_bucket_view=True"}));
  CHECK_FALSE(row_of(old, {"bf16_compress_hook"}));
  job.options.torch = {2, 8};
  job.options.ddp_to_set().gradient_as_bucket_view = true;
  job.options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  const Advice set = advise(job, {});
  CHECK_FALSE(row_of(set, {"gradient_as_bucket_view=True"}));
  CHECK_FALSE(row_of(set, {"bf16_compress_hook"}));
  CHECK(row_of(set, {"static_graph=True"}));
}

TEST_CASE("advise: the search for unused parameters may stop only if all were used") {
  small::OpenJob job = six_hidden(3400, 100, 100);
  job.options.ddp_to_set().find_unused_parameters = true;
  CHECK(row_of(advise(job, {}), {"find_unused_parameters=False"}));
  job.workload.parameters.push_back(job.workload.parameters.back());  // never written
  CHECK_FALSE(row_of(advise(job, {}), {"find_unused_parameters=False"}));
}

TEST_CASE("advise: a combination has one setting of a kind, and each adds a measurable gain") {
  int combinations = 0;
  for (const small::OpenJob& job : {six_hidden(3400, 100, 100), three_queued(1000, 100, 500, 400),
                                    three_queued(10, 4000, 50, 2000)}) {
    const Advice advice = advise(job, {});
    std::set<std::string> kinds;
    for (const AdviceRow& row : advice.rows) {
      if (row.settings.size() < 2) continue;
      ++combinations;
      const std::string& first = row.settings.front();
      if (row.changes_numerics) CHECK(kinds.insert(first.substr(0, first.find(' '))).second);
      const auto hook = [](const std::string& setting) {
        return setting.find("_hook") != setting.npos;
      };
      const auto cap = [](const std::string& setting) {
        return setting.find("bucket_cap") != setting.npos;
      };
      const auto batch = [](const std::string& setting) {
        return setting.starts_with("accumulate");
      };
      CHECK(std::ranges::count_if(row.settings, hook) <= 1);
      CHECK(std::ranges::count_if(row.settings, cap) <= 1);
      CHECK(std::ranges::count_if(row.settings, batch) <= 1);
      for (const std::string& setting : row.settings) {
        INFO(row.line);
        const AdviceRow* alone = row_of(advice, {setting});
        if (alone && alone->worth)
          CHECK(row.expected > alone->expected + advice.measurable.scaled(0.25));
      }
    }
  }
  CHECK(combinations > 3);
}

TEST_CASE("advise: nothing worth changing") {
  // Collectives take a thousandth of the step.
  const Advice advice = advise(six_hidden(100'000, 1, 1), {});
  CHECK(advice.best() == nullptr);
  CHECK(std::ranges::none_of(advice.rows, &AdviceRow::worth));
}

TEST_CASE("advise: a setting that does not fit into memory is a row with an error, without times") {
  const Job job = six_hidden(3400, 100, 100);
  const Bytes current = peak_memory(job).total();
  const Advice advice = advise(job, {.tuning = {}, .memory = current});
  const AdviceRow* hook = row_of(advice, {"fp16_compress_hook"});
  REQUIRE(hook);
  CHECK(hook->error.starts_with("needs "));
  CHECK(hook->gain == Gain{});
  CHECK_FALSE(hook->worth);
  CHECK(advice.rows.back().error != "");
  const AdviceRow* cap = row_of(advice, {"bucket_cap_mb=1"});
  REQUIRE(cap);
  CHECK(cap->error.empty());
}

TEST_CASE("advise: all settings in one line, imports first, each in its place") {
  const auto none = [](const Job& job) { return job; };
  const std::vector<Setting> settings = {
      {.name = "a", .change = none, .before = "NCCL_ALGO=Tree", .nccl_variable = true},
      {.name = "b", .change = none, .argument = "static_graph=True"},
      {.name = "c",
       .change = none,
       .after = "model.register_comm_hook(None, hook)",
       .imports = {"from hooks import hook"}},
      {.name = "d", .change = none, .argument = "bucket_cap_mb=8", .imports = {"import os"}}};
  CHECK(python_of(settings) ==
        "import os; from hooks import hook; os.environ[\"NCCL_ALGO\"] = \"Tree\"; "
        "model = DistributedDataParallel(model, static_graph=True, bucket_cap_mb=8); "
        "model.register_comm_hook(None, hook)");
  CHECK(python_of({settings[0]}) == "export NCCL_ALGO=Tree");
  CHECK(python_of({settings[1]}) == "DistributedDataParallel(model, static_graph=True)");
  const Setting unset = {.name = "e", .change = none, .before = "NCCL_ALGO", .nccl_variable = true};
  CHECK(python_of({unset}) == "unset NCCL_ALGO");
  CHECK(python_of({unset, settings[1]}) ==
        "import os; os.environ.pop(\"NCCL_ALGO\", None); DistributedDataParallel(model, "
        "static_graph=True)");
}

TEST_CASE("advise: a choice taken from NCCL can be returned to it") {
  const Job other = six_hidden(3400, 100, 100);
  AnalyticModel model;
  model.tuning.max_channels = 1;
  model.tuning.nvls = false;
  const Job job(other.workload(), other.cluster(), other.options(), model);
  std::vector<std::string> unset;
  for (const Setting& setting : settings_of(job)) {
    if (!setting.name.ends_with(" unset")) continue;
    unset.push_back(setting.name);
    const Job changed = setting.change(job);
    const CollectiveTuning& tuning = nccl_of(changed.model())->tuning;
    CHECK(tuning.max_channels.has_value() != (setting.name == "NCCL_MAX_NCHANNELS unset"));
    CHECK(tuning.nvls == (setting.name == "NCCL_NVLS_ENABLE unset"));
  }
  CHECK(unset == std::vector<std::string>{"NCCL_MAX_NCHANNELS unset", "NCCL_NVLS_ENABLE unset"});
}

TEST_CASE("advise: a comment ends its line") {
  const auto none = [](const Job& job) { return job; };
  CHECK(python_of({{.name = "a", .change = none, .after = "# leave that out"},
                   {.name = "b", .change = none, .argument = "static_graph=True"},
                   {.name = "c", .change = none, .after = "hook()"}}) ==
        "DistributedDataParallel(model, static_graph=True); hook(); # leave that out");
}

TEST_CASE("advise: a partition is a list of limits that PyTorch cuts the same way") {
  small::OpenJob job = small::two_then_four(18400, 100);
  job.options.torch = {2, 11};
  const TuneResult tuned = job.tune();
  REQUIRE(tuned.best_partition);
  const std::optional<Setting> list = cap_list_setting(job, tuned.best_partition->buckets);
  REQUIRE(list);
  CHECK(list->argument == "bucket_cap_mb_list=[2, 4]");
  CHECK(simulate_times(list->change(job)).iteration == tuned.best_partition->iteration);
  job.options.torch = {2, 10};
  CHECK_FALSE(cap_list_setting(job, tuned.best_partition->buckets));
}

TEST_CASE("advise: other algorithms have other errors than the current one") {
  // A change that does nothing. With shared errors it certainly gains nothing; with its own errors
  // it may gain or lose.
  const Job job = six_hidden(3400, 100, 100);
  const Gains gains(job, buckets_of(job), readings_of(std::nullopt));
  const auto same = [](const Job& current) { return current; };
  CHECK(gains.of(same, {}).gain == gain_us(0, 0, 0));
  const WeighedGain own = gains.of(same, {.other_collectives = true});
  // T(5) = 600: either may take 0.6 to 1.7 times that, independently.
  CHECK(own.gain.value == 0_us);
  CHECK(own.gain.low.microseconds() == doctest::Approx(-std::hypot(240, 420)));
  CHECK(own.gain.high.microseconds() == doctest::Approx(std::hypot(240, 420)));
}

TEST_CASE("advise: the allowance for multi-GPU overhead enters no gain of accumulating") {
  // Only the last all-reduce, T(5) = 600, is exposed, however slow compute is. Half of it is saved,
  // or three quarters.
  small::OpenJob job = six_hidden(3400, 100, 100);
  const Advice alone = advise(job, {});
  job.options.rank_slowdown.several_gpus = 0.2;
  const Advice slowed = advise(job, {});
  CHECK(slowed.iteration > alone.iteration + 1000_us);
  for (const char* setting : {"accumulate 2 under no_sync()", "accumulate 4 under no_sync()"}) {
    CAPTURE(setting);
    const AdviceRow* without = row_of(alone, {setting});
    const AdviceRow* with = row_of(slowed, {setting});
    REQUIRE(without);
    REQUIRE(with);
    CHECK(with->gain.value.microseconds() ==
          doctest::Approx(without->gain.value.microseconds()).epsilon(1e-6));
    CHECK(with->gain.high <= 600_us);
  }
}
