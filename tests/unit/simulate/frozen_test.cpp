// Frozen parameters under schemes, worked out by hand (scheme_step.hpp has the numbers). Times of
// modules are given as an estimate gives them, or are derived from the sizes of parameters.
#include <doctest/doctest.h>

#include <algorithm>

#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/values/module_path.hpp"
#include "scheme_step.hpp"
#include "units.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

/// The layered step without the gradients of these parameters. Its times stay.
Workload frozen(const std::vector<std::size_t>& parameters) {
  Workload step = layered();
  for (const std::size_t p : parameters) step.parameters[p].frozen = true;
  std::erase_if(step.backward->ready,
                [&](const ReadyEvent& event) { return step.parameters[event.parameter].frozen; });
  return step;
}

Step run_frozen(Workload step, Scheme scheme) {
  return run(Job(std::move(step), small::node(2), options(std::move(scheme)), FreeModel{}));
}

/// Sets the shares of forward's 100 and backward's 200 as in the header.
void tell_times(Workload& step) {
  const double forward[] = {0, 0.05, 0.30, 0.70, 0.90, 1};
  const double backward[] = {1, 0.95, 0.70, 0.30, 0.10, 0};
  for (std::size_t p = 0; p < step.parameters.size(); ++p)
    step.parameters[p].module_time = ModuleTime{.forward_begin = forward[p],
                                                .forward_end = forward[p + 1],
                                                .backward = {{backward[p + 1], backward[p]}}};
}

}  // namespace

TEST_CASE("frozen: DDP's buckets leave frozen parameters out, without find_unused_parameters") {
  const Workload step = frozen({1, 2});
  const Job job(step, small::node(2), small::bare(), FreeModel{});
  CHECK(!cannot_simulate(job));
  std::vector<std::size_t> in_buckets;
  for (const Bucket& bucket : buckets_of(job))
    in_buckets.insert(in_buckets.end(), bucket.parameters.begin(), bucket.parameters.end());
  std::ranges::sort(in_buckets);
  CHECK(in_buckets == std::vector<std::size_t>{0, 3, 4});
  // A parameter that is not frozen and gets no gradient stops DDP, as always.
  Workload unused = step;
  unused.parameters[1].frozen = false;
  CHECK(cannot_simulate(Job(unused, small::node(2), small::bare(), FreeModel{})));
}

TEST_CASE("frozen: FSDP gathers a frozen unit when backward passes it, and does not reduce it") {
  // Layer 1 is frozen. Backward passes it from 60 to 140 on its own clock, which the workload
  // gives.
  Workload step = frozen({2});
  tell_times(step);
  const std::string forward =
      "\nall-gather root: 0 to 10"
      "\nall-gather layers.0: 10 to 30"
      "\nall-gather layers.1: 30 to 60"
      "\nall-gather layers.2: 60 to 100";
  // Forward ends at 130, 30 of it exposed. Layer 2 is gathered again from 100. Layer 1 is gathered
  // when backward reaches layer 2, at 150. Layer 0 is gathered when backward reaches layer 1, at
  // 190, but after layer 2's reduce-scatter: until 245. Its gradient exists at 320, and the root's
  // at 330.
  const Step fully = run_frozen(step, Fsdp2{});
  CHECK(on_the_wire(fully) == forward +
                                  "\nall-gather layers.2: 100 to 140"
                                  "\nall-gather layers.1: 150 to 180"
                                  "\nreduce-scatter layers.2: 190 to 225"
                                  "\nall-gather layers.0: 225 to 245"
                                  "\nreduce-scatter layers.0: 320 to 335"
                                  "\nreduce-scatter root: 335 to 340");
  CHECK(differences(
            fully,
            {.exposed_forward = 30, .exposed_backward = 10, .optimizer = 10, .iteration = 350}) ==
        "");
}

TEST_CASE("frozen: backward does not reach units before everything that trains") {
  // Embedding and layers 0 and 1 are frozen. fully_shard still gathers the group before the last
  // one that backward reaches. FullyShardedDataParallel keeps embedding and head in one flat
  // parameter, all of whose views require a gradient.
  Workload step = frozen({0, 1, 2});
  tell_times(step);
  for (const int p : {0, 1, 2})
    step.parameters[static_cast<std::size_t>(p)].module_time->backward.reset();
  const auto in_backward = [](const Step& ran) {
    std::string text;
    for (const CollectiveResult& one : ran.collectives)
      if (one.phase == StepPhase::backward)
        text += fmt::format("\n{} {}", name_of(one.kind), one.unit);
    return text;
  };
  CHECK(in_backward(run_frozen(step, Fsdp2{})) ==
        "\nall-gather layers.2"
        "\nall-gather layers.1"
        "\nreduce-scatter root"
        "\nreduce-scatter layers.2");
  CHECK(in_backward(run_frozen(step, Fsdp1{.use_orig_params = true})) ==
        "\nall-gather layers.2"
        "\nall-gather layers.1"
        "\nreduce-scatter layers.2"
        "\nall-gather layers.0"
        "\nreduce-scatter root");
  // If it is wrapped separately from the head, the embedding requires no gradient.
  const WrapPolicy apart{.by = WrapPolicy::By::modules, .modules = {"layers.*", "embed"}};
  CHECK(in_backward(run_frozen(step, Fsdp1{.wrap = apart})) ==
        "\nall-gather layers.2"
        "\nreduce-scatter layers.2"
        "\nreduce-scatter root");
}

TEST_CASE("frozen: a flat parameter mixes frozen and trained ones only with use_orig_params") {
  const auto problem =
      cannot_simulate(Job(frozen({0}), small::node(2), options(Fsdp1{}), FreeModel{}));
  REQUIRE(problem);
  CHECK(problem->find("embed.weight is frozen and head.weight is not") != std::string::npos);
  CHECK(problem->find("use_orig_params=true") != std::string::npos);
  CHECK(!cannot_simulate(
      Job(frozen({0}), small::node(2), options(Fsdp1{.use_orig_params = true}), FreeModel{})));
}

TEST_CASE("frozen: without times of modules they are in the interval before the next gradient") {
  const Workload step = frozen({2});
  const Job job(step, small::node(2), options(Fsdp2{}), FreeModel{});
  const Recording recording(job, job.workload());
  const std::vector<Unit> units = units_of(step, {});
  const std::vector<UnitSpan> spans = spans_of(units, recording);
  std::string text;
  for (std::size_t u = 0; u < units.size(); ++u)
    text += fmt::format("\n{}: {} + {} to {} + {}", units[u].name(), spans[u].first,
                        spans[u].first_share, spans[u].last, spans[u].last_share);
  // The gradients are head 0, layers.2 1, layers.0 2 and embed 3. Layer 1 is as large as layer 0,
  // so it gets half of the interval.
  CHECK(text ==
        "\nroot: 0 + 0 to 3 + 1"
        "\nlayers.0: 2 + 0.5 to 2 + 1"
        "\nlayers.1: 2 + 0 to 2 + 0.5"
        "\nlayers.2: 1 + 0 to 1 + 1");
}

TEST_CASE("frozen: memory counts no gradient, optimizer state or master copy for them") {
  for (const Scheme& scheme :
       {Scheme(Ddp{}), Scheme(NaiveAllReduce{}), Scheme(Fsdp2{}), Scheme(Zero{.stage = 1}),
        Scheme(Zero{.stage = 3}), Scheme(MegatronOptimizer{})}) {
    CAPTURE(name_of(scheme));
    SimulationOptions all = options(scheme);
    all.optimizer.kind = Optimizer::adam;
    const auto parts = [&](const std::vector<std::size_t>& which) {
      return peak_memory(Job(frozen(which), small::node(2), all, FreeModel{})).parts;
    };
    const MemoryParts whole = parts({});
    const MemoryParts some = parts({1, 2, 3});
    CHECK(some.optimizer.count() * 5 == whole.optimizer.count() * 2);
    CHECK(some.gradients <= whole.gradients);
  }
}

TEST_CASE("module paths: a star stands for anything within one name") {
  CHECK(matches_path("model.layers.7", "model.layers.*"));
  CHECK(!matches_path("model.layers.7.mlp", "model.layers.*"));
  CHECK(matches_path("model.layers.7.mlp", "*.layers.*.m*p"));
  CHECK(modules_around("a.b.c") == std::vector<std::string_view>{"a", "a.b", "a.b.c"});
}
