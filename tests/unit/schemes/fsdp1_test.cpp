// FSDP1's schedule, worked out by hand (scheme_step.hpp has the numbers).
//
// Forward is the same in every case that gathers parameters. The host issues all of it at once, so
// all-gathers follow each other. Compute reads their results:
//
//   us            0     10     15    30        55 60      100      120    130
//   compute       |wait |embed |wait |layers.0 |  |layers.1|layers.2|head |       10 + 15 + 5 exposed
//   communicator  |root |layers.0    |layers.1    |layers.2|
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "scheme_step.hpp"
#include "unit_sizes.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

const std::string kForward =
    "\nall-gather root: 0 to 10"
    "\nall-gather layers.0: 10 to 30"
    "\nall-gather layers.1: 30 to 60"
    "\nall-gather layers.2: 60 to 100";

}  // namespace

TEST_CASE(
    "FSDP1: full shard gathers again one unit ahead in backward and reduces after each unit") {
  // The all-gathers of layers 2 and 1 are in flight before the head's gradient exists. The
  // all-gather of layer 0 follows layer 2's reduce-scatter.
  //
  //   us            130   150       190        270       320   330  340    350
  //   compute       |head |layers.2 |layers.1  |layers.0 |embed|    |opt.  |
  //
  // On the communicator:
  // - all-gathers in backward: layer 2 at 100, layer 1 from 140 to 170, layer 0 from 225 to 245
  // - reduce-scatters: layer 2 at 190, layer 1 from 270 to 295, layer 0 at 320, root from 335 to
  //   340
  const Step step = run(Fsdp1{});
  CHECK(on_the_wire(step) == kForward +
                                 "\nall-gather layers.2: 100 to 140"
                                 "\nall-gather layers.1: 140 to 170"
                                 "\nreduce-scatter layers.2: 190 to 225"
                                 "\nall-gather layers.0: 225 to 245"
                                 "\nreduce-scatter layers.1: 270 to 295"
                                 "\nreduce-scatter layers.0: 320 to 335"
                                 "\nreduce-scatter root: 335 to 340");
  // This rank steps half of the parameters.
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 10, .optimizer = 10, .iteration = 350}) ==
        "");
}

TEST_CASE("FSDP1: without backward prefetch an all-gather waits for the reduce-scatter before it") {
  // Layer 1 is gathered after layer 2's reduce-scatter, from 225 to 255, but compute waits from 190
  // on: 65. Its gradient exists at 335, and layer 0 arrives at 380: 45 more. Embed ends at 440, and
  // the reduce-scatters at 450.
  const Step step = run(Fsdp1{.backward_prefetch = BackwardPrefetch::none});
  CHECK(on_the_wire(step, 100_us) ==
        "\nall-gather layers.2: 100 to 140"
        "\nreduce-scatter layers.2: 190 to 225"
        "\nall-gather layers.1: 225 to 255"
        "\nreduce-scatter layers.1: 335 to 360"
        "\nall-gather layers.0: 360 to 380"
        "\nreduce-scatter layers.0: 430 to 445"
        "\nreduce-scatter root: 445 to 450");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 120, .optimizer = 10, .iteration = 460}) ==
        "");
}

TEST_CASE("FSDP1: a prefetch after a unit comes before its reduce-scatter") {
  // The communicator has the same order as with a prefetch before the unit. The host issues it one
  // unit later, but is far ahead.
  const Step pre = run(Fsdp1{});
  const Step post = run(Fsdp1{.backward_prefetch = BackwardPrefetch::post});
  CHECK(on_the_wire(post) == on_the_wire(pre));
  CHECK(post.times.iteration == pre.times.iteration);
}

TEST_CASE("FSDP1: prefetch in forward makes each reduce-scatter come a unit late in backward") {
  // All three layers are gathered again by 190. Layer 2 is reduced after layer 1 (270), layer 1
  // after layer 0 (320), then layer 0 and the root after embed (330). They end at 305, 345, 360 and
  // 365, which is 35 after backward.
  const Step step = run(Fsdp1{.forward_prefetch = true});
  CHECK(on_the_wire(step) == kForward +
                                 "\nall-gather layers.2: 100 to 140"
                                 "\nall-gather layers.1: 140 to 170"
                                 "\nall-gather layers.0: 170 to 190"
                                 "\nreduce-scatter layers.2: 270 to 305"
                                 "\nreduce-scatter layers.1: 320 to 345"
                                 "\nreduce-scatter layers.0: 345 to 360"
                                 "\nreduce-scatter root: 360 to 365");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 35, .optimizer = 10, .iteration = 375}) ==
        "");
}

TEST_CASE("FSDP1: with only gradients and optimizer sharded, parameters are gathered once") {
  const Step step = run(Fsdp1{.strategy = ShardingStrategy::shard_grad_op});
  CHECK(on_the_wire(step) == kForward +
                                 "\nreduce-scatter layers.2: 190 to 225"
                                 "\nreduce-scatter layers.1: 270 to 295"
                                 "\nreduce-scatter layers.0: 320 to 335"
                                 "\nreduce-scatter root: 335 to 340");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 10, .optimizer = 10, .iteration = 350}) ==
        "");
}

TEST_CASE("FSDP1: with nothing sharded there is one all-reduce a unit, and every rank steps all") {
  // Backward runs from 100 to 300. Its units end at 160, 240, 290 and 300.
  const Step step = run(Fsdp1{.strategy = ShardingStrategy::no_shard});
  CHECK(on_the_wire(step) ==
        "\nall-reduce layers.2: 160 to 196"
        "\nall-reduce layers.1: 240 to 266"
        "\nall-reduce layers.0: 290 to 306"
        "\nall-reduce root: 306 to 312");
  CHECK(differences(
            step,
            {.exposed_forward = 0, .exposed_backward = 12, .optimizer = 20, .iteration = 332}) ==
        "");
}

TEST_CASE("FSDP1: a hybrid all-reduces shards between nodes, in parallel with the node's work") {
  // These run on a communicator of their own over other links. Layer 2's runs from 225 to 261,
  // during layer 0's all-gather. The root's waits for layer 0's (335 to 351) and ends at 357, which
  // is 27 after backward.
  const Step step =
      run(Fsdp1{.strategy = ShardingStrategy::hybrid_shard}, by_the_table, 1, two_by_two());
  CHECK(on_the_wire(step, 100_us) ==
        "\nall-gather layers.2: 100 to 140"
        "\nall-gather layers.1: 140 to 170"
        "\nreduce-scatter layers.2: 190 to 225"
        "\nall-reduce layers.2: 225 to 261"
        "\nall-gather layers.0: 225 to 245"
        "\nreduce-scatter layers.1: 270 to 295"
        "\nall-reduce layers.1: 295 to 321"
        "\nreduce-scatter layers.0: 320 to 335"
        "\nall-reduce layers.0: 335 to 351"
        "\nreduce-scatter root: 335 to 340"
        "\nall-reduce root: 351 to 357");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 27, .optimizer = 10, .iteration = 367}) ==
        "");
  // The shard of two ranks travels between nodes: half of each unit's 4 MB (the root's 8).
  for (const CollectiveResult& one : step.collectives)
    CHECK(one.bytes.count() == (one.kind == CollectiveKind::all_reduce ? 2'000'000 : 4'000'000) *
                                   (one.unit == "root" ? 2 : 1));
}

TEST_CASE("FSDP1: the limiter keeps backward's all-gathers from running during forward") {
  // All-gathers take 5 us, except layer 2's second one: 60. The step before leaves four freed
  // units, which forward takes. The root's hook in backward takes layer 0, freed at 35. Layer 2
  // takes layer 1, freed at 75.
  //
  //   compute   5 embed 10 layers.0 35 layers.1 75 layers.2 95 head 105 head's gradient 125
  const TimeOf fast = [](CollectiveKind kind, const std::string& unit, StepPhase phase) {
    const bool again = kind == CollectiveKind::all_gather && phase == StepPhase::backward;
    return again && unit == "layers.2" ? 60_us : 5_us;
  };
  const Step limited = run(Fsdp1{}, fast);
  CHECK(on_the_wire(limited) ==
        "\nall-gather root: 0 to 5"
        "\nall-gather layers.0: 5 to 10"
        "\nall-gather layers.1: 10 to 15"
        "\nall-gather layers.2: 15 to 20"
        "\nall-gather layers.2: 75 to 135"
        "\nall-gather layers.1: 135 to 140"
        "\nreduce-scatter layers.2: 175 to 180"
        "\nall-gather layers.0: 180 to 185"
        "\nreduce-scatter layers.1: 255 to 260"
        "\nreduce-scatter layers.0: 305 to 310"
        "\nreduce-scatter root: 315 to 320");
  CHECK(differences(
            limited,
            {.exposed_forward = 5, .exposed_backward = 15, .optimizer = 10, .iteration = 330}) ==
        "");
  const Step free = run(Fsdp1{.limit_all_gathers = false}, fast);
  CHECK(on_the_wire(free, 20_us)
            .starts_with("\nall-gather layers.2: 20 to 80"
                         "\nall-gather layers.1: 80 to 85"
                         "\nreduce-scatter layers.2: 165 to 170"));
  CHECK(
      differences(
          free, {.exposed_forward = 5, .exposed_backward = 5, .optimizer = 10, .iteration = 320}) ==
      "");
}

TEST_CASE("FSDP1: in forward the limiter allows three units to be gathered and not freed") {
  // Read from PyTorch 2.13: _FreeEventQueue in a steady step of four blocks with BACKWARD_PRE. A
  // step begins with the free events of layers 2, 1, 0 and the root.
  //
  // - The all-gathers of root and layers 0, 1 and 2 take these four.
  // - Layer 3 takes layer 0's, and the root's hook takes layer 1's.
  // - In backward, layer 3 takes layer 2's, layer 2 none, layer 1 layer 3's.
  // - Layer 0 takes the one that layer 3 leaves in backward.
  Workload step;
  step.forward = 50_us;
  step.optimizer = 10_us;
  step.backward = Backward{.duration = 50_us, .ready = {}};
  for (const char* name : {"embed.weight", "layers.0.linear.weight", "layers.1.linear.weight",
                           "layers.2.linear.weight", "layers.3.linear.weight"})
    step.parameters.push_back(parameter(name, {1000}));
  for (std::size_t k = 0; k < 5; ++k)
    step.backward->ready.push_back(
        {.parameter = 4 - k, .at = 10_us * static_cast<std::int64_t>(k + 1), .copied_at = {}});
  const TimeOf one_us = [](CollectiveKind, const std::string&, StepPhase) { return 1_us; };
  const Step run = schemes::run(Job(step, small::node(2), options(Fsdp1{}), FreeModel{}), one_us);
  // Forward: embed from 1 to 11, then layers until 21, 31, 41 and 51. Backward's layers end at 61
  // (layer 3), 71, 81 and 91, and embed at 101.
  CHECK(on_the_wire(run) ==
        "\nall-gather root: 0 to 1"
        "\nall-gather layers.0: 1 to 2"
        "\nall-gather layers.1: 2 to 3"
        "\nall-gather layers.2: 3 to 4"
        "\nall-gather layers.3: 21 to 22"  // layer 0 is freed
        "\nall-gather layers.3: 41 to 42"  // layer 2 is freed
        "\nall-gather layers.2: 42 to 43"
        "\nreduce-scatter layers.3: 61 to 62"
        "\nall-gather layers.1: 62 to 63"
        "\nreduce-scatter layers.2: 71 to 72"
        "\nall-gather layers.0: 72 to 73"
        "\nreduce-scatter layers.1: 81 to 82"
        "\nreduce-scatter layers.0: 91 to 92"
        "\nreduce-scatter root: 101 to 102");
}

TEST_CASE("FSDP1: micro-batches within no_sync gather as usual and reduce nothing") {
  // The first one ends at 330, with nothing exposed after it. The second one is a step by itself.
  const Step step = run(Fsdp1{}, by_the_table, 2);
  const std::string batch =
      "\nall-gather layers.2: 100 to 140"
      "\nall-gather layers.1: 140 to 170"
      "\nall-gather layers.0: 170 to 190";
  CHECK(on_the_wire(step).starts_with(kForward + batch + "\nall-gather root: 330 to 340"));
  CHECK(step.collectives.size() == 7 + 11);
  CHECK(differences(
            step,
            {.exposed_forward = 60, .exposed_backward = 10, .optimizer = 10, .iteration = 680},
            2) == "");
  // Without no_sync, the first one is reduced too: 10 more.
  const Step reduced = run(Fsdp1{.no_sync = false}, by_the_table, 2);
  CHECK(reduced.collectives.size() == 11 + 11);
  CHECK(differences(
            reduced,
            {.exposed_forward = 60, .exposed_backward = 20, .optimizer = 10, .iteration = 690},
            2) == "");
}

TEST_CASE("FSDP1: a micro-batch does not gather what no_sync left gathered") {
  const Step step = run(Fsdp1{.strategy = ShardingStrategy::shard_grad_op}, by_the_table, 2);
  CHECK(on_the_wire(step) == kForward +
                                 "\nreduce-scatter layers.2: 490 to 525"
                                 "\nreduce-scatter layers.1: 570 to 595"
                                 "\nreduce-scatter layers.0: 620 to 635"
                                 "\nreduce-scatter root: 635 to 640");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 10, .optimizer = 10, .iteration = 650},
            2) == "");
  const Step reduced =
      run(Fsdp1{.strategy = ShardingStrategy::shard_grad_op, .no_sync = false}, by_the_table, 2);
  CHECK(reduced.collectives.size() == 16);
  CHECK(differences(
            reduced,
            {.exposed_forward = 60, .exposed_backward = 20, .optimizer = 10, .iteration = 690},
            2) == "");
}

TEST_CASE("FSDP1: without units everything is gathered before and reduced after compute") {
  // The root takes 10 to gather and 5 to reduce.
  const Step step = run(Fsdp1{.wrap = {.by = WrapPolicy::By::none}});
  CHECK(on_the_wire(step) ==
        "\nall-gather root: 0 to 10"
        "\nreduce-scatter root: 310 to 315");
  CHECK(differences(
            step,
            {.exposed_forward = 10, .exposed_backward = 5, .optimizer = 10, .iteration = 325}) ==
        "");
}

TEST_CASE("FSDP: a module that forward does not call is neither gathered nor reduced") {
  // In PyTorch 2.13, a layer left out of forward has no hooks called.
  Workload step = layered();
  step.backward->ready.erase(step.backward->ready.begin() + 2);  // layers.1
  for (const Scheme& scheme : {Scheme(Fsdp1{}), Scheme(Fsdp2{})}) {
    const Job job(step, small::node(2), options(scheme), FreeModel{});
    REQUIRE_FALSE(cannot_simulate(job));
    const Step run = schemes::run(job);
    CHECK(run.collectives.size() == 8);
    for (const CollectiveResult& one : run.collectives) CHECK(one.unit != "layers.1");
    CHECK(run.times.iteration ==
          simulate(job).step.times.iteration + run.times.exposed_communication);
  }
  const Job naive(step, small::node(2),
                  options(NaiveAllReduce{.when = NaiveAllReduce::When::backward}), FreeModel{});
  REQUIRE_FALSE(cannot_simulate(naive));
  CHECK(schemes::run(naive).collectives.size() == 4);
  CHECK(cannot_simulate(Job(step, small::node(2), options(Ddp{}), FreeModel{})));
}

TEST_CASE("FSDP: parameters without a gradient are reduced only as part of a flat parameter") {
  // Layer 1 has a second weight of 1 MB that backward does not reach.
  Workload step = layered();
  step.parameters.push_back(parameter("layers.1.unused.weight", {500, 500}));
  const auto sizes = [&](const Scheme& scheme) {
    std::string text;
    for (const CollectiveResult& one :
         schemes::run(Job(step, small::node(2), options(scheme), FreeModel{})).collectives)
      if (one.unit.starts_with("layers.1"))
        text += fmt::format(" {} {}", name_of(one.kind), one.bytes.count());
    return text;
  };
  CHECK(sizes(Fsdp1{}) == " all-gather 5000000 all-gather 5000000 reduce-scatter 5000000");
  CHECK(sizes(Fsdp2{}) == " all-gather 5000000 all-gather 5000000 reduce-scatter 4000000");
  // A unit of its own within the layer is not called. A unit around a called unit is called and has
  // nothing to reduce.
  const WrapPolicy inner{.by = WrapPolicy::By::modules, .modules = {"layers.*", "layers.*.*"}};
  CHECK(sizes(Fsdp2{.wrap = inner}) ==
        " all-gather 4000000 all-gather 4000000 reduce-scatter 4000000");
  step.parameters.back().name = "layers.1.scale";
  const WrapPolicy around{.by = WrapPolicy::By::modules,
                          .modules = {"layers.*", "layers.*.linear"}};
  for (const Scheme& scheme : {Scheme(Fsdp1{.wrap = around}), Scheme(Fsdp2{.wrap = around})}) {
    const std::string sent = sizes(scheme);
    CHECK(sent.find("all-gather 1000000") != std::string::npos);
    CHECK(sent.find("reduce-scatter 1000000") == std::string::npos);
    CHECK(sent.find("reduce-scatter 4000000") != std::string::npos);
  }
}

TEST_CASE("FSDP1: over four ranks sums are divided before and after, over two only before") {
  CHECK(divided_in_two(1).before == false);
  CHECK(divided_in_two(1).after == false);
  CHECK(divided_in_two(2).before);
  CHECK_FALSE(divided_in_two(2).after);
  // Divisors before and after: 2 and 1.5, 2 and 2, 4 and 2.
  for (const int ranks : {3, 4, 8}) {
    CHECK(divided_in_two(ranks).before);
    CHECK(divided_in_two(ranks).after);
  }
}

TEST_CASE("FSDP1: a communicator passes from one stream to another by an event, not after a cast") {
  // After layer 2's reduce-scatter, its shard is cast, which takes a hundred microseconds. Layer
  // 0's all-gather still follows the reduce-scatter after one event.
  SimulationOptions all = options(Fsdp1{.param_dtype = Dtype::float16});
  all.costs.event_latency = 2_us;
  all.costs.copy_kernel = 100_us;
  const Step step = run(Job(layered(), small::node(2), all, FreeModel{}));
  const auto of = [&](CollectiveKind kind, const std::string& unit, int which) {
    for (const CollectiveResult& one : step.collectives)
      if (one.kind == kind && one.unit == unit && which-- == 0) return one;
    FAIL("no such collective");
    return step.collectives.front();
  };
  const CollectiveResult reduced = of(kScatters, "layers.2", 0);
  CHECK(of(kGathers, "layers.0", 1).last_arrival - reduced.end == 2_us);
}

TEST_CASE("FSDP: gradients reduced in the stored type are not cast afterwards") {
  for (const bool fsdp1 : {true, false}) {
    const auto finalize = [&](std::optional<Dtype> reduce_dtype) {
      const Scheme scheme =
          fsdp1 ? Scheme(Fsdp1{.param_dtype = Dtype::bfloat16, .reduce_dtype = reduce_dtype})
                : Scheme(Fsdp2{.param_dtype = Dtype::bfloat16, .reduce_dtype = reduce_dtype});
      SimulationOptions all = options(scheme);
      all.costs.copy_kernel = 7_us;
      return run(Job(layered(), small::node(2), all, FreeModel{})).times.finalize;
    };
    CHECK(finalize({}) == 7_us);
    CHECK(finalize(Dtype::float32) == Duration());
  }
}
