// Laws that hold for a step under any scheme: parts and losses add up, bytes follow the schemes'
// formulas, and no option breaks the schedule. Models, ranks and options are drawn at random.
#include <map>
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

#include "random_chain.hpp"
#include "scheme_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using schemes::parameter;

namespace {

std::vector<Scheme> all_schemes() {
  std::vector<Scheme> all = {NaiveAllReduce{},
                             NaiveAllReduce{.when = NaiveAllReduce::When::backward},
                             NaiveAllReduce{.flat = true}};
  using By = WrapPolicy::By;
  const std::vector<WrapPolicy> wraps = {{},
                                         {.by = By::none},
                                         {.by = By::size, .min_num_params = 20'000},
                                         {.by = By::modules, .modules = {"*s.*", "*s.*.*"}}};
  for (const WrapPolicy& wrap : wraps) {
    for (const auto strategy :
         {ShardingStrategy::full_shard, ShardingStrategy::shard_grad_op, ShardingStrategy::no_shard,
          ShardingStrategy::hybrid_shard, ShardingStrategy::hybrid_shard_zero2})
      all.emplace_back(Fsdp1{.strategy = strategy, .wrap = wrap});
    for (const auto prefetch : {BackwardPrefetch::post, BackwardPrefetch::none})
      for (const bool limit : {false, true})
        all.emplace_back(Fsdp1{.wrap = wrap,
                               .backward_prefetch = prefetch,
                               .forward_prefetch = limit,
                               .limit_all_gathers = limit,
                               .use_orig_params = !limit,
                               .param_dtype = Dtype::bfloat16,
                               .reduce_dtype = Dtype::float32,
                               .no_sync = limit});
    all.emplace_back(Fsdp2{.wrap = wrap});
    all.emplace_back(Fsdp2{.reshard_after_forward = false, .wrap = wrap, .no_sync = false});
    all.emplace_back(Fsdp2{.reshard_root = true, .wrap = wrap, .param_dtype = Dtype::bfloat16});
    all.emplace_back(Fsdp2{.wrap = wrap, .group = 2, .reduce_dtype = Dtype::float16});
    const CpuOffload offload = {.optimizer = true, .parameters = true};
    all.emplace_back(Fsdp1{.wrap = wrap, .param_dtype = Dtype::bfloat16, .offload = offload});
    all.emplace_back(Fsdp2{.reshard_root = true, .wrap = wrap, .offload = offload});
    all.emplace_back(Fsdp2{.wrap = wrap, .no_sync = false, .offload = offload});
  }
  for (const OptimizeDdp mode :
       {OptimizeDdp::ddp_optimizer, OptimizeDdp::no_optimization, OptimizeDdp::python_reducer})
    all.emplace_back(Compiled{.optimize_ddp = mode});
  all.emplace_back(SlowMo{});
  all.emplace_back(SlowMo{.slowmo_memory_efficient = false});
  return all;
}

/// Blocks of a few layers between an embedding and a head. Gradients come in reverse order,
/// sometimes with two places swapped.
Workload model(std::mt19937_64& random) {
  Workload step;
  step.name = "drawn";
  const auto add = [&](const std::string& name) {
    step.parameters.push_back(parameter(name, {1 + small::draw(random, 300), 64}));
  };
  add("embed.weight");
  const std::int64_t blocks = 2 + small::draw(random, 5);
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t layer = 0; layer <= small::draw(random, 3); ++layer)
      add(fmt::format("blocks.{}.layer{}.weight", block, layer));
  if (small::draw(random, 4) > 0) add("head.weight");
  std::vector<std::size_t> order;
  for (std::size_t p = step.parameters.size(); p-- > 0;) order.push_back(p);
  if (small::draw(random, 3) == 0) {
    const auto at =
        static_cast<std::size_t>(small::draw(random, static_cast<std::int64_t>(order.size()) - 1));
    std::swap(order[at], order[at + 1]);
  }
  step.backward = Backward{};
  for (const std::size_t p : order) {
    step.backward->duration += Duration::microseconds(static_cast<double>(small::draw(random, 90)));
    step.backward->ready.push_back(
        {.parameter = p, .at = step.backward->duration, .copied_at = {}});
  }
  step.backward->duration += 7_us;
  step.forward = step.backward->duration.scaled(0.5);
  step.optimizer = Duration::microseconds(static_cast<double>(small::draw(random, 200)));
  return step;
}

void hold(const SimulationResult& result, const Job& job) {
  const StepTimes& times = result.step.times;
  CHECK(times.iteration == times.forward + times.backward + times.exposed_communication +
                               times.finalize + times.optimizer + times.model_averaging +
                               times.stall + times.slowest_gpu + times.unexplained);
  CHECK(times.backward == times.backward_compute + times.copies_in + times.interference);
  CHECK(times.exposed_communication ==
        times.exposed_in_forward + times.exposed_backward() + times.exposed_in_optimizer);
  for (const Duration part :
       {times.forward, times.backward, times.backward_compute, times.copies_in, times.interference,
        times.exposed_in_forward, times.exposed_backward(), times.exposed_in_optimizer,
        times.finalize, times.optimizer, times.communication, times.wait})
    CHECK(part >= Duration());
  if (times.overlap) {
    CHECK(*times.overlap >= 0);
    CHECK(*times.overlap <= 1);
  }
  CHECK(times.iteration - times.loss.total() == times.alone());
  for (std::size_t index = 0; index < kLossCauses; ++index) {
    const auto cause = static_cast<LossCause>(index);
    CAPTURE(name_of(cause));
    // A host that sets the pace may get ahead while its GPU waits for others.
    if (!may_gain(cause) && cause != LossCause::launch_bound)
      CHECK(times.loss[cause] >= Duration());
  }
  // A second run, or one for the times alone, gives the same to the picosecond.
  if (job.options().iterations == 0) CHECK(simulate_times(job).iteration == times.iteration);

  TimePoint launched =
      result.step.collectives.empty() ? TimePoint() : result.step.collectives.front().launch;
  for (const CollectiveResult& one : result.step.collectives) {
    CHECK(one.launch >= launched);
    launched = one.launch;
    CHECK(one.start >= one.launch);
    CHECK(one.start >= one.ready);
    CHECK(one.last_arrival >= one.start);
    CHECK(one.end >= one.last_arrival);
  }
}

std::string described(const Scheme& scheme) {
  std::string text(name_of(scheme));
  for (const auto& [key, value] : options_of(scheme)) text += fmt::format(" {}={}", key, value);
  return text;
}

Bytes sent(const SimulationResult& result, CollectiveKind kind) {
  Bytes bytes;
  for (const CollectiveResult& one : result.step.collectives)
    if (one.kind == kind) bytes += one.bytes;
  return bytes;
}

/// Bytes that a rank sends on a ring.
double by_a_rank(const SimulationResult& result, int ranks) {
  double bytes = 0;
  for (const CollectiveResult& one : result.step.collectives)
    bytes += static_cast<double>(one.bytes.count()) * (ranks - 1) / ranks *
             (one.kind == CollectiveKind::all_reduce ? 2 : 1);
  return bytes;
}

SimulationResult simulated_scheme(const Scheme& scheme, const Workload& step = schemes::layered(),
                                  const CollectiveModel& model = AnalyticModel{},
                                  const Cluster& cluster = small::node(4), int accumulate = 1) {
  SimulationOptions options = schemes::options(scheme);
  options.accumulate = accumulate;
  const Job job(step, cluster, options, model);
  REQUIRE_FALSE(cannot_simulate(job));
  return simulate(job);
}

}  // namespace

TEST_CASE("schemes: parts and losses of random models add up under every scheme") {
  std::mt19937_64 random(22);
  std::vector<Scheme> every = all_schemes();
  for (const Scheme& known : known_schemes()) every.push_back(known);
  for (const Scheme& scheme : every) {
    const std::string described_scheme = described(scheme);
    CAPTURE(described_scheme);
    SimulationOptions options;
    options.scheme = scheme;
    options.accumulate = 1 + static_cast<int>(small::draw(random, 3));
    Workload step = model(random);
    const bool one_node = std::holds_alternative<DataParallel>(scheme);
    const bool apart = std::holds_alternative<PeriodicAveraging>(scheme);
    const auto check = [&] {
      if (apart && !options.variation.empty()) return;  // refuses ranks that differ
      const Job job(step, one_node ? small::node(4) : schemes::two_by_two(), options,
                    AnalyticModel{});
      REQUIRE_FALSE(cannot_simulate(job));
      hold(simulate(job), job);
    };
    check();
    options.variation.stragglers = {{.rank = 1, .slowdown = 1.4}};
    check();
    options.variation = {};
    // The host sets the pace.
    step.launches = Launches{.forward = 200, .backward = {}, .optimizer = 30};
    step.launches->backward.assign(step.backward->ready.size(), 20);
    options.costs.host_kernel = 40_us;
    check();
    step.launches.reset();
    options.iterations = 3;
    options.variation = {.jitter = 0.05, .stagger = 2_ms};
    check();
  }
}

TEST_CASE("schemes: with free collectives a step is one GPU's") {
  // Forward and backward are as recorded, and the optimizer steps this rank's share. Everything
  // that a rank holds has an even length.
  const Workload step = schemes::layered();
  for (const Scheme& scheme : all_schemes()) {
    const std::string described_scheme = described(scheme);
    CAPTURE(described_scheme);
    for (const int accumulate : {1, 3}) {
      const StepTimes times =
          simulated_scheme(scheme, step, FreeModel{}, schemes::two_by_two(), accumulate).step.times;
      CHECK(times.forward == 100_us * accumulate);
      CHECK(times.backward == 200_us * accumulate);
      CHECK(times.exposed_communication == Duration());
      CHECK(times.iteration == 300_us * accumulate + times.finalize + times.optimizer);
      // The host takes the place of the GPU's optimizer.
      if (offload_of(scheme) != nullptr) {
        CHECK(times.loss[LossCause::offload] == times.finalize + times.optimizer - 20_us);
        continue;
      }
      CHECK(times.finalize == Duration());
      CHECK((20_us / times.optimizer == 1 || 20_us / times.optimizer == 2 ||
             20_us / times.optimizer == 4));
    }
  }
}

TEST_CASE("schemes: one rank sends nothing and waits for nobody") {
  Cluster alone = small::node(1);
  for (const Scheme& scheme : all_schemes()) {
    const Fsdp2* fsdp2 = std::get_if<Fsdp2>(&scheme);
    if (fsdp2 != nullptr && fsdp2->group) continue;
    const std::string described_scheme = described(scheme);
    CAPTURE(described_scheme);
    const StepTimes times =
        simulated_scheme(scheme, schemes::layered(), AnalyticModel{}, alone).step.times;
    CHECK(times.communication == Duration());
    CHECK(times.iteration - times.loss[LossCause::offload] -
              times.loss[LossCause::sharded_optimizer] ==
          320_us);
  }
}

TEST_CASE("schemes: what a rank sends follows the formulas") {
  // P = 20 MB in fp32. The root holds 8 of them and is gathered once. N = 4.
  const double p = 20e6;
  const double root = 8e6;
  const double share = 3.0 / 4;
  const auto bytes = [&](const Scheme& scheme) { return by_a_rank(simulated_scheme(scheme), 4); };
  CHECK(bytes(Fsdp1{}) == doctest::Approx((2 * p - root + p) * share));
  CHECK(bytes(Fsdp1{.strategy = ShardingStrategy::shard_grad_op}) ==
        doctest::Approx((p + p) * share));
  CHECK(bytes(Fsdp1{.strategy = ShardingStrategy::no_shard}) == doctest::Approx(2 * p * share));
  CHECK(bytes(Fsdp2{}) == doctest::Approx((2 * p - root + p) * share));
  CHECK(bytes(Fsdp2{.reshard_root = true}) == doctest::Approx((2 * p + p) * share));
  CHECK(bytes(Fsdp2{.reshard_after_forward = false}) == doctest::Approx((p + p) * share));
  CHECK(bytes(NaiveAllReduce{}) == doctest::Approx(2 * p * share));
  CHECK(bytes(NaiveAllReduce{.flat = true}) == doctest::Approx(2 * p * share));
  // Computed in two bytes an element, reduced in four.
  CHECK(bytes(Fsdp2{.param_dtype = Dtype::bfloat16, .reduce_dtype = Dtype::float32}) ==
        doctest::Approx(((2 * p - root) / 2 + p) * share));
  CHECK(bytes(Fsdp1{.param_dtype = Dtype::bfloat16}) ==
        doctest::Approx(((2 * p - root) / 2 + p / 2) * share));
  // Hybrid: within groups of two it is as with two ranks, and the shard of 10 MB is all-reduced
  // between two nodes.
  const SimulationResult hybrid =
      simulated_scheme(Fsdp1{.strategy = ShardingStrategy::hybrid_shard}, schemes::layered(),
                       AnalyticModel{}, schemes::two_by_two());
  CHECK(sent(hybrid, CollectiveKind::all_gather) == Bytes(32'000'000));
  CHECK(sent(hybrid, CollectiveKind::reduce_scatter) == Bytes(20'000'000));
  CHECK(sent(hybrid, CollectiveKind::all_reduce) == Bytes(10'000'000));
}

TEST_CASE("schemes: each unit is gathered and reduced as often as there are micro-batches") {
  std::mt19937_64 random(7);
  for (int drawn = 0; drawn < 60; ++drawn) {
    const Workload step = model(random);
    for (const Scheme& scheme : all_schemes()) {
      const std::string described_scheme = described(scheme);
      CAPTURE(described_scheme);
      CAPTURE(drawn);
      std::map<std::string, int> times;
      for (const CollectiveResult& one :
           simulated_scheme(scheme, step, FreeModel{}, schemes::two_by_two(), 2).step.collectives)
        ++times[fmt::format("{} {} {}", name_of(one.kind), one.unit, name_of(one.phase))];
      for (const auto& launched : times) {
        CAPTURE(launched.first);
        CHECK(launched.second <= 2);
      }
    }
  }
}

TEST_CASE("schemes: gathering again costs time, and so does less overlap") {
  std::mt19937_64 random(3);
  for (int drawn = 0; drawn < 40; ++drawn) {
    CAPTURE(drawn);
    const Workload step = model(random);
    const auto took = [&](const Scheme& scheme) {
      return simulated_scheme(scheme, step, AnalyticModel{}, schemes::two_by_two())
          .step.times.iteration;
    };
    CHECK(took(Fsdp1{}) >= took(Fsdp1{.strategy = ShardingStrategy::shard_grad_op}));
    CHECK(took(Fsdp2{}) >= took(Fsdp2{.reshard_after_forward = false}));
    CHECK(took(Fsdp1{.backward_prefetch = BackwardPrefetch::none}) >= took(Fsdp1{}));
    CHECK(took(NaiveAllReduce{.when = NaiveAllReduce::When::backward}) >= took(NaiveAllReduce{}));
  }
}

TEST_CASE("schemes: an impossible group is refused with the possible ones") {
  const auto problem = [](const Scheme& scheme, const Cluster& cluster = schemes::two_by_two(),
                          const CollectiveModel& model = AnalyticModel{}) {
    return cannot_simulate(Job(schemes::layered(), cluster, schemes::options(scheme), model))
        .value_or("");
  };
  CHECK(problem(Fsdp1{.strategy = ShardingStrategy::hybrid_shard}) == "");
  CHECK(problem(Fsdp1{.strategy = ShardingStrategy::hybrid_shard, .group = 4}) == "");
  CHECK(problem(Fsdp1{.strategy = ShardingStrategy::full_shard, .group = 3}) == "");  // no hybrid
  CHECK(
      problem(Fsdp1{.strategy = ShardingStrategy::hybrid_shard, .group = 3}) ==
      "--scheme fsdp1: group=3: a group must be GPUs of one node or whole nodes. node has 2 nodes "
      "with 2 GPUs. Take a number that divides 2, or a multiple of 2 that divides 4");
  CHECK(problem(Fsdp2{.group = 8}).starts_with("--scheme fsdp2: group=8: a group must be GPUs"));
  CHECK(problem(Fsdp2{.reshard_to = 2}) == "");
  CHECK(problem(Fsdp2{.reshard_to = 3}) ==
        "--scheme fsdp2: reshard_after_forward=3: 4 ranks shard together, so give a number that "
        "divides them");
  CHECK(problem(Fsdp2{.reshard_to = 4, .group = 2}) ==
        "--scheme fsdp2: reshard_after_forward=4: 2 ranks shard together, so give a number that "
        "divides them");
  Cluster unknown = schemes::two_by_two();
  unknown.groups.clear();
  CHECK(problem(Fsdp2{.group = 2}, unknown)
            .starts_with("--scheme fsdp2: group=2: the cluster's nodes differ"));
}
