// ZeRO's stage 3, worked out by hand. scheme_step.hpp has the model and the times of collectives.
// The all-gathers of embed and head take 10, a bucket's reduce-scatter 5, the norm 6. Parameters
// are gathered module by module.
//
//   us            0    10    15    30       55 60       100      120  130
//   compute       |wait|embed|wait |layers.0|  |layers.1|layers.2|head|       10 + 15 + 5 exposed
//   communicator  |emb.|layers.0   |layers.1   |layers.2|head|
#include "numbered_model.hpp"
#include "zero3_modules.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

const std::string kStageThreeForward =
    "\nall-gather embed: 0 to 10"
    "\nall-gather layers.0.linear: 10 to 30"
    "\nall-gather layers.1.linear: 30 to 60"
    "\nall-gather layers.2.linear: 60 to 100"
    "\nall-gather head: 100 to 110";

/// Nothing is gathered ahead of its module.
Zero on_demand() {
  return {.stage = 3, .stage3_prefetch_bucket_size = 0};
}

/// The settings with which DeepSpeed was recorded.
Zero recorded(std::int64_t prefetch, std::int64_t reuse, std::int64_t live = 1'000'000'000) {
  return {.stage = 3,
          .reduce_bucket_size = 1000,
          .stage3_prefetch_bucket_size = prefetch,
          .stage3_param_persistence_threshold = 0,
          .stage3_max_live_parameters = live,
          .stage3_max_reuse_distance = reuse};
}

Sizes gathered(const Zero& zero, int ranks = 2) {
  return bytes_of(run_numbered(zero, ranks), kGathers);
}

}  // namespace

TEST_CASE("ZeRO-3: a model that is soon used again is gathered once, in forward") {
  const Step step = run(on_demand());
  CHECK(on_the_wire(step) == kStageThreeForward +
                                 "\nreduce-scatter bucket 0: 330 to 335"
                                 "\nall-reduce gradient norm: 335 to 341");
  CHECK(parts(step.times) == "forward 30 backward 5 optimizer 6 | optimizer 10 | iteration 351");
  CHECK(step.times.loss[LossCause::exposed_all_gather] == 30_us);
  CHECK(step.times.loss[LossCause::exposed_reduce_scatter] == 5_us);
}

TEST_CASE("ZeRO-3: otherwise it is gathered again in backward, as far ahead as the host is") {
  // If more than two all-gathers are unfinished, the host waits for the oldest it has waited for.
  // The communicator is never idle until 220. Parameters of layers.2 arrive at 160 and are needed
  // at 150.
  Zero zero = on_demand();
  zero.stage3_max_reuse_distance = 0;
  const Step step = run(zero);
  CHECK(on_the_wire(step) == kStageThreeForward +
                                 "\nall-gather head: 110 to 120"
                                 "\nall-gather layers.2.linear: 120 to 160"
                                 "\nall-gather layers.1.linear: 160 to 190"
                                 "\nall-gather layers.0.linear: 190 to 210"
                                 "\nall-gather embed: 210 to 220"
                                 "\nreduce-scatter bucket 0: 340 to 345"
                                 "\nall-reduce gradient norm: 345 to 351");
  CHECK(parts(step.times) == "forward 30 backward 15 optimizer 6 | optimizer 10 | iteration 361");
}

TEST_CASE("ZeRO-3: gradients are reduce-scattered during backward, once one does not fit") {
  // The host is far ahead when it finds that the gradient of layers.1 does not fit. Those of head
  // and layers.2 are sent when they have been copied, at 190; those of layers.1 and layers.0 at
  // 320.
  Zero zero = on_demand();
  zero.reduce_bucket_size = 2'000'000;
  const Step step = run(zero);
  CHECK(on_the_wire(step, 115_us) ==
        "\nreduce-scatter bucket 0: 190 to 195"
        "\nreduce-scatter bucket 1: 320 to 325"
        "\nreduce-scatter bucket 2: 330 to 335"
        "\nall-reduce gradient norm: 335 to 341");
  CHECK(step.times.exposed_backward() == 5_us);
  // Without overlap, compute waits for each collective, including all-gathers: 110 in forward.
  // Backward begins at 210. The gradient of layers.1 exists at 350. Embed's follows a
  // reduce-scatter and exists at 415.
  zero.overlap_comm = false;
  const Step alone = run(zero);
  CHECK(on_the_wire(alone, 200_us) ==
        "\nreduce-scatter bucket 0: 350 to 355"
        "\nreduce-scatter bucket 1: 415 to 420"
        "\nreduce-scatter bucket 2: 420 to 425"
        "\nall-reduce gradient norm: 425 to 431");
  CHECK(alone.times.exposed_in_forward == 110_us);
  CHECK(alone.times.exposed_backward() == 15_us);
  // This happens in every micro-batch.
  CHECK(bytes_of(run(zero, by_the_table, 2), kScatters) ==
        Sizes{8'000'000, 8'000'000, 4'000'000, 8'000'000, 8'000'000, 4'000'000});
}

TEST_CASE("ZeRO-3: persistent parameters are gathered one by one after the optimizer") {
  // Each has a million elements. The all-gathers take 10 + 20 + 30 + 40, the head's 0, and the norm
  // 6.
  Zero zero = on_demand();
  zero.stage3_param_persistence_threshold = 1'000'000;
  const Step step = run(zero);
  CHECK(parts(step.times) == "forward 0 backward 5 optimizer 106 | optimizer 10 | iteration 421");
  CHECK(bytes_of(step, kGathers) == Sizes(5, 4'000'000));
  CHECK(bytes_of(step, kScatters) == Sizes{20'000'000});
}

TEST_CASE("ZeRO-3: a module of wrap is gathered as a whole") {
  Zero zero = on_demand();
  zero.wrap.by = WrapPolicy::By::none;
  const Step whole = run(zero);
  CHECK(bytes_of(whole, kGathers) == Sizes{20'000'000});
  zero = recorded(0, 1'000'000'000);
  zero.wrap.by = WrapPolicy::By::blocks;
  // Embedding, four layers with everything they hold, norm, head. Each parameter is padded to a
  // multiple of two elements.
  CHECK(gathered(zero) == Sizes{1200, 3528, 2016, 3528, 2016, 112, 1200});
}

TEST_CASE("ZeRO-3: modules with parameters and those around them are called, module lists not") {
  std::vector<std::string> names;
  for (const Unit& unit : zero3_modules(numbered(), {.by = WrapPolicy::By::leaves, .modules = {}}))
    if (!unit.module.starts_with("layers.") || unit.module.starts_with("layers.0"))
      names.push_back(unit.name());
  CHECK(names == std::vector<std::string>{"root", "embedding", "head", "norm", "layers.0",
                                          "layers.0.down", "layers.0.norm", "layers.0.up"});
}

TEST_CASE("ZeRO-3: an element of a list is called, even if all its modules are numbered") {
  Workload step;
  for (const char* name : {"stages.0.0.up.weight", "stages.0.1.up.weight", "stages.1.0.up.weight"})
    step.parameters.push_back(parameter(name, {2, 2}));
  std::vector<std::string> names;
  for (const Unit& unit : zero3_modules(step, {.by = WrapPolicy::By::leaves, .modules = {}}))
    names.push_back(unit.name());
  CHECK(names == std::vector<std::string>{"root", "stages.0", "stages.1", "stages.0.0",
                                          "stages.0.1", "stages.1.0", "stages.0.0.up",
                                          "stages.0.1.up", "stages.1.0.up"});
}

TEST_CASE("ZeRO-3: all-gathers as recorded with DeepSpeed") {
  const std::int64_t never = 1'000'000'000;
  CHECK(gathered(recorded(50'000'000, never)) == Sizes{13600});
  CHECK(gathered(recorded(0, never)) ==
        Sizes{1200, 112, 1744, 1672, 112, 960, 944, 112, 1744, 1672, 112, 960, 944, 112, 1200});
  CHECK(gathered(recorded(900, never)) == Sizes{4672, 3800, 3760, 1368});
  CHECK(gathered(recorded(900, 0)) == Sizes{4672, 3800, 3760, 2568});
  CHECK(gathered(recorded(300, 0)) ==
        Sizes{1256, 1672, 1744, 2016, 1784, 1744, 2016, 1368, 1728, 1672, 1440});
  CHECK(gathered(recorded(300, 0, 1000)) ==
        Sizes{1256, 1672, 1744, 1056, 2744, 1744, 1056, 2328, 1616, 1672, 1128, 2744, 1672, 1440});
  Zero persistent = recorded(50'000'000, never);
  persistent.stage3_param_persistence_threshold = 100;
  const Sizes with_small = gathered(persistent);
  CHECK(with_small.front() == 12416);
  CHECK(with_small.size() == 19);
  CHECK(bytes_of(run_numbered(recorded(900, 0), 2), kScatters) == Sizes{3328, 3528, 3688, 3056});
  CHECK(bytes_of(run_numbered(recorded(900, 0), 4), kScatters) == Sizes{3392, 3552, 3744, 3072});
}

TEST_CASE("ZeRO++: bytes of quantised collectives; backward gathers within the group") {
  Zero zero = on_demand();
  zero.stage3_max_reuse_distance = 0;
  zero.zero_hpz_partition_size = 2;
  zero.zero_quantized_weights = true;
  zero.zero_quantized_gradients = true;
  const Step step = run(zero, by_the_table, 1, two_by_two());
  CHECK(bytes_of(step, kGathers) == Sizes(10, 1'000'000));
  CHECK(bytes_of(step, kScatters) == Sizes{2'500'000});
  std::vector<bool> inside;
  for (const StepCollective& one : step.planned.collectives)
    if (one.scheduled.kind == kGathers) inside.push_back(one.scheduled.links == kInsideNodes);
  CHECK(inside ==
        std::vector<bool>{false, false, false, false, false, true, true, true, true, true});
}

TEST_CASE("ZeRO-3: one rank takes one GPU's step; free collectives leave compute and the shard") {
  const auto free = [](CollectiveKind, const std::string&, StepPhase) { return 0_us; };
  for (const bool overlap : {false, true})
    for (const std::int64_t reuse : {0, 1'000'000'000}) {
      Zero zero{.stage = 3, .overlap_comm = overlap, .stage3_max_reuse_distance = reuse};
      CHECK(run(zero, free, 1, small::node(1)).times.iteration == 320_us);
      CHECK(run(zero, free, 1, small::node(1)).times.loss.total() == 0_us);
      CHECK(run(zero, free, 1, small::node(4)).times.iteration == 305_us);
    }
}

TEST_CASE("ZeRO-3: the host is called for every module and gradient, and may be late") {
  // The host begins a forward ahead, at -100. The second hook before a module is embed's, so its
  // all-gather is launched at -80. The all-gather of layers.0.linear follows the fifth hook (embed,
  // layers.0, layers.0.linear). That of layers.1 comes four hooks later, then that of layers.2, and
  // three hooks later the head's.
  SimulationOptions all = options(on_demand());
  all.costs.zero.module_forward = 20_us;
  const Step step = run(Job(layered(), small::node(2), all, FreeModel{}));
  std::string launched;
  for (const CollectiveResult& one : step.collectives)
    if (one.kind == kGathers)
      launched += fmt::format(" {}", one.launch.since_start().microseconds());
  CHECK(launched == " -80 -50 -10 30 60");
  all.costs.zero.module_forward = 0_us;
  all.costs.zero.written = 100_us;
  // The host has waited for the all-gather of layers.0, which ended at 30. Then it is called for
  // five gradients: 530.
  const Step late = run(Job(layered(), small::node(2), all, FreeModel{}));
  CHECK(late.times.exposed_backward() == 205_us);
}
