// FSDP1's schedule, worked out by hand (scheme_step.hpp has the figures).
//
// Forward is the same wherever parameters are gathered. The host issues all of it at once, so all-gathers follow each
// other; compute reads what they bring:
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
    "FSDP1: full shard gathers again one unit ahead in backward and reduces behind each unit") {
  // Both layers 2 and 1 are on their way before the head's gradient is there; layer 0's follows layer 2's
  // reduce-scatter.
  //
  //   us            130   150       190        270       320   330  340    350
  //   compute       |head |layers.2 |layers.1  |layers.0 |embed|    |opt.  |
  //   communicator  100 again 2, 140 again 1 to 170; 190 reduce 2; 225 again 0 to 245; 270 reduce 1 to 295;
  //                 320 reduce 0; 335 reduce root to 340
  const Step step = run(Fsdp1{});
  CHECK(on_the_wire(step) == kForward +
                                 "\nall-gather layers.2: 100 to 140"
                                 "\nall-gather layers.1: 140 to 170"
                                 "\nreduce-scatter layers.2: 190 to 225"
                                 "\nall-gather layers.0: 225 to 245"
                                 "\nreduce-scatter layers.1: 270 to 295"
                                 "\nreduce-scatter layers.0: 320 to 335"
                                 "\nreduce-scatter root: 335 to 340");
  // Half of the parameters are this rank's to step.
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 10, .optimizer = 10, .iteration = 350}) ==
        "");
}

TEST_CASE(
    "FSDP1: without backward prefetch an all-gather waits behind the reduce-scatter in front") {
  // Layer 1 is gathered behind layer 2's reduce-scatter, 225 to 255, from 190 on waited for: 65. Its gradient is there
  // at 335, layer 0 at 380: 45 more. Embed ends at 440, reduce-scatters at 450.
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

TEST_CASE("FSDP1: a prefetch behind a unit is in front of its reduce-scatter") {
  // The order on the communicator is that of a prefetch in front, one unit later by the host, which is far ahead.
  const Step pre = run(Fsdp1{});
  const Step post = run(Fsdp1{.backward_prefetch = BackwardPrefetch::post});
  CHECK(on_the_wire(post) == on_the_wire(pre));
  CHECK(post.times.iteration == pre.times.iteration);
}

TEST_CASE("FSDP1: prefetch in forward makes each reduce-scatter come a unit late in backward") {
  // All three are gathered again by 190. Layer 2 is reduced behind layer 1 (270), layer 1 behind layer 0 (320), then
  // layer 0 and the root behind embed (330): they end at 305, 345, 360 and 365, 35 behind backward.
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

TEST_CASE("FSDP1: sharded gradients and optimizer alone gather once") {
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

TEST_CASE("FSDP1: nothing sharded is an all-reduce a unit, and every rank steps all") {
  // Backward runs from 100 to 300, its units end at 160, 240, 290 and 300.
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

TEST_CASE("FSDP1: a hybrid all-reduces shards between nodes, beside what the node does") {
  // On a communicator of its own over other links: layer 2's runs 225 to 261 beside layer 0's all-gather. Layer 0's
  // (335 to 351) is what the root's waits for, to 357: 27 behind backward.
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
  // Of each unit 4 MB (the root's 8) the shard of two ranks travels between nodes.
  for (const CollectiveResult& one : step.collectives)
    CHECK(one.bytes.count() == (one.kind == CollectiveKind::all_reduce ? 2'000'000 : 4'000'000) *
                                   (one.unit == "root" ? 2 : 1));
}

TEST_CASE("FSDP1: the limiter keeps backward's all-gathers from running through forward") {
  // All-gathers of 5 us, but again of layer 2: 60. From the step before four units are freed and not yet taken, which
  // forward takes; the root's hook in backward takes layer 0, freed at 35, layer 2 takes layer 1, freed at 75.
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

TEST_CASE("FSDP1: in forward the limiter lets three units be gathered and not freed") {
  // Read off PyTorch 2.13 (_FreeEventQueue in a steady step of four blocks, BACKWARD_PRE): a step begins with the frees of
  // layers 2, 1, 0 and the root; all-gathers of root and layers 0, 1, 2 take them, layer 3 takes layer 0's, the root's
  // hook layer 1's, again 3 takes layer 2's, again 2 none, again 1 layer 3's, again 0 the free of 3 in backward.
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
  // Forward: embed 1 to 11, layers to 21, 31, 41, 51; backward's ends 61 (layer 3), 71, 81, 91, 101.
  CHECK(on_the_wire(run) ==
        "\nall-gather root: 0 to 1"
        "\nall-gather layers.0: 1 to 2"
        "\nall-gather layers.1: 2 to 3"
        "\nall-gather layers.2: 3 to 4"
        "\nall-gather layers.3: 21 to 22"  // layer 0 is freed
        "\nall-gather layers.3: 41 to 42"  // layer 2 is
        "\nall-gather layers.2: 42 to 43"
        "\nreduce-scatter layers.3: 61 to 62"
        "\nall-gather layers.1: 62 to 63"
        "\nreduce-scatter layers.2: 71 to 72"
        "\nall-gather layers.0: 72 to 73"
        "\nreduce-scatter layers.1: 81 to 82"
        "\nreduce-scatter layers.0: 91 to 92"
        "\nreduce-scatter root: 101 to 102");
}

TEST_CASE("FSDP1: micro-batches within no_sync gather like any and reduce nothing") {
  // The first ends at 330, with nothing exposed behind it; the second is a step by itself.
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
  // Without it, the first is reduced, too: 10 more.
  const Step reduced = run(Fsdp1{.no_sync = false}, by_the_table, 2);
  CHECK(reduced.collectives.size() == 11 + 11);
  CHECK(differences(
            reduced,
            {.exposed_forward = 60, .exposed_backward = 20, .optimizer = 10, .iteration = 690},
            2) == "");
}

TEST_CASE("FSDP1: what no_sync leaves unfreed the next micro-batch does not gather") {
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

TEST_CASE("FSDP1: without units everything is gathered in front and reduced behind") {
  // The root's 10 and 5.
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
  // PyTorch 2.13 with a layer left out of forward: its hooks are not called.
  Workload step = layered();
  step.backward->ready.erase(step.backward->ready.begin() + 2);  // of layers.1
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

TEST_CASE("FSDP: of a called module, parameters without a gradient travel with a flat one alone") {
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
  // A unit of its own within the layer is not called; one around a unit that is called is, and has nothing to reduce.
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

TEST_CASE("FSDP1: sums over four ranks are divided before and behind, over two before alone") {
  CHECK(divided_in_two(1).before == false);
  CHECK(divided_in_two(1).after == false);
  CHECK(divided_in_two(2).before);
  CHECK_FALSE(divided_in_two(2).after);
  for (const int ranks : {3, 4, 8}) {  // 2 and 1.5, 2 and 2, 4 and 2
    CHECK(divided_in_two(ranks).before);
    CHECK(divided_in_two(ranks).after);
  }
}

TEST_CASE(
    "FSDP1: a communicator goes from one stream to another by an event, and waits for no cast") {
  // Behind layer 2's reduce-scatter its shard is cast, which takes a hundred microseconds; layer 0's all-gather follows the
  // reduce-scatter by an event alone.
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

TEST_CASE("FSDP: what is reduced in the type that is stored is not cast behind it") {
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
