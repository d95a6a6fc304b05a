// ZeRO's stages 1 and 2, worked out by hand (scheme_step.hpp has the model). Buckets hold two
// gradients. All-reduces take 30, 40 and 6 us by bucket, the norm's takes 2, and the all-gather 50.
//
// In the order written, the buckets are head and layers.2, layers.1 and layers.0, embed:
//
//   us           0       100  120      160      240 270      320  330 370 376 378 388   438
//   compute      |forward|head|layers.2|layers.1|b0 |layers.0|emb.|b1 |b2 |nrm|opt|gather|
#include "numbered_model.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

constexpr std::int64_t kTwo = 2'000'000;

Duration zero_times(CollectiveKind kind, const std::string& unit, StepPhase /*phase*/) {
  if (kind == kGathers) return 50_us;
  if (unit == "gradient norm" || unit == "overflow") return 2_us;
  if (unit == "bucket 0") return 30_us;
  return unit == "bucket 1" ? 40_us : 6_us;
}

const std::string kBehindBackward =
    "\nall-reduce bucket 0: 300 to 330"
    "\nall-reduce bucket 1: 330 to 370"
    "\nall-reduce bucket 2: 370 to 376"
    "\nall-reduce gradient norm: 376 to 378"
    "\nall-gather parameters: 388 to 438";

}  // namespace

TEST_CASE("ZeRO-2: compute waits while a bucket is reduced, once a gradient does not fit") {
  const Step step = run(Zero{.reduce_bucket_size = kTwo}, zero_times);
  CHECK(on_the_wire(step) ==
        "\nall-reduce bucket 0: 240 to 270"
        "\nall-reduce bucket 1: 330 to 370"
        "\nall-reduce bucket 2: 370 to 376"
        "\nall-reduce gradient norm: 376 to 378"
        "\nall-gather parameters: 388 to 438");
  CHECK(parts(step.times) == "forward 0 backward 76 optimizer 52 | optimizer 10 | iteration 438");
  CHECK(step.times.loss[LossCause::exposed_all_reduce] == 78_us);
  CHECK(step.times.loss[LossCause::exposed_all_gather] == 50_us);
  CHECK(step.times.loss[LossCause::sharded_optimizer] == -10_us);
}

TEST_CASE("ZeRO-2: with overlap one bucket is reduced while the next one is filled") {
  // Gradients of layers.0 exist at 290, embed's at 300. The last bucket waits for the one before.
  const Step step = run(Zero{.reduce_bucket_size = kTwo, .overlap_comm = true}, zero_times);
  CHECK(on_the_wire(step) ==
        "\nall-reduce bucket 0: 240 to 270"
        "\nall-reduce bucket 1: 300 to 340"
        "\nall-reduce bucket 2: 340 to 346"
        "\nall-reduce gradient norm: 346 to 348"
        "\nall-gather parameters: 358 to 408");
  CHECK(parts(step.times) == "forward 0 backward 46 optimizer 52 | optimizer 10 | iteration 408");
}

TEST_CASE("ZeRO-2: with overlap compute waits until one of two buckets is free") {
  // Each bucket holds one gradient and takes 100 us. The bucket of layers.2 is handed over at 240,
  // but the head's takes from 160 to 260. So the gradient of layers.0 exists at 310 and waits until
  // 360. Embed's exists at 370 and waits until 460. Then the last two follow each other.
  const auto hundred = [](CollectiveKind, const std::string& unit, StepPhase) {
    return unit.starts_with("bucket") ? 100_us : 0_us;
  };
  const Step step = run(Zero{.reduce_bucket_size = 1'000'000, .overlap_comm = true}, hundred);
  CHECK(on_the_wire(step) ==
        "\nall-reduce bucket 0: 160 to 260"
        "\nall-reduce bucket 1: 260 to 360"
        "\nall-reduce bucket 2: 360 to 460"
        "\nall-reduce bucket 3: 460 to 560"
        "\nall-reduce bucket 4: 560 to 660"
        "\nall-reduce gradient norm: 660 to 660"
        "\nall-gather parameters: 670 to 670");
  CHECK(step.times.exposed_backward() == 360_us);
}

TEST_CASE("ZeRO-1: without overlap everything is reduced after backward, as defined") {
  const Step step = run(Zero{.stage = 1, .reduce_bucket_size = kTwo}, zero_times);
  CHECK(on_the_wire(step) == kBehindBackward);
  CHECK(parts(step.times) == "forward 0 backward 76 optimizer 52 | optimizer 10 | iteration 438");
  // With overlap, buckets are those of stage 2.
  const Step one =
      run(Zero{.stage = 1, .reduce_bucket_size = kTwo, .overlap_comm = true}, zero_times);
  const Step two =
      run(Zero{.stage = 2, .reduce_bucket_size = kTwo, .overlap_comm = true}, zero_times);
  CHECK(on_the_wire(one) == on_the_wire(two));
}

TEST_CASE("ZeRO: by default one bucket holds a small model, so nothing is hidden") {
  for (const int stage : {1, 2}) {
    const Step step = run(Zero{.stage = stage}, zero_times);
    CHECK(bytes_of(step, kReduces) == Sizes{20'000'000, 4});
    CHECK(step.times.exposed_backward() == 30_us);
    CHECK(step.times.overlap == doctest::Approx(0));
  }
}

TEST_CASE("ZeRO: stage 1 reduces in the last micro-batch, stage 2 in each") {
  const Step one = run(Zero{.stage = 1, .reduce_bucket_size = kTwo}, zero_times, 2);
  CHECK(bytes_of(one, kReduces) == Sizes{8'000'000, 8'000'000, 4'000'000, 4});
  CHECK(parts(one.times) == "forward 0 backward 76 optimizer 52 | optimizer 10 | iteration 738");
  const Step two = run(Zero{.stage = 2, .reduce_bucket_size = kTwo}, zero_times, 2);
  CHECK(bytes_of(two, kReduces) ==
        Sizes{8'000'000, 8'000'000, 4'000'000, 8'000'000, 8'000'000, 4'000'000, 4});
  CHECK(parts(two.times) == "forward 0 backward 152 optimizer 52 | optimizer 10 | iteration 814");
}

TEST_CASE("ZeRO: types of computation and of communication") {
  const Step half =
      run(Zero{.reduce_bucket_size = kTwo, .param_dtype = Dtype::bfloat16}, zero_times);
  // One byte tells whether anything overflowed, before the norm.
  CHECK(bytes_of(half, kReduces) == Sizes{4'000'000, 4'000'000, 2'000'000, 1, 4});
  CHECK(bytes_of(half, kGathers) == Sizes{10'000'000});
  const Step wide = run(Zero{.reduce_bucket_size = kTwo,
                             .param_dtype = Dtype::bfloat16,
                             .communication_data_type = Dtype::float32},
                        zero_times);
  CHECK(bytes_of(wide, kReduces) == Sizes{8'000'000, 8'000'000, 4'000'000, 1, 4});
  CHECK(bytes_of(wide, kGathers) == Sizes{10'000'000});
}

TEST_CASE("ZeRO: buckets as recorded with DeepSpeed") {
  CHECK(bytes_of(run_numbered(Zero{.stage = 1, .reduce_bucket_size = 1000}, 2), kReduces) ==
        Sizes{3036, 3760, 3504, 3188, 4});
  CHECK(bytes_of(run_numbered(Zero{.stage = 2, .reduce_bucket_size = 1000}, 2), kReduces) ==
        Sizes{3344, 3504, 3728, 2912, 4});
  const Step small = run_numbered(Zero{.stage = 2, .reduce_bucket_size = 300}, 2);
  CHECK(bytes_of(small, kReduces) ==
        Sizes{1196, 1108, 1040, 1612, 124, 1612, 1108, 1040, 1612, 124, 1612, 104, 1196, 4});
  CHECK(bytes_of(small, kGathers) == Sizes{13488});
  // With four ranks, one part ends four elements before the end of layers.2.down.weight, which is
  // larger than the bucket. Another ends within layers.0.down.weight. The 85 elements before that
  // border are no bucket by themselves.
  const Step cut = run_numbered(Zero{.stage = 1, .reduce_bucket_size = 300}, 4);
  CHECK(bytes_of(cut, kReduces) ==
        Sizes{1196, 104, 1612, 124, 1612, 1108, 1040, 1612, 124, 1596, 16, 1108, 1040, 1196, 4});
  CHECK(bytes_of(cut, kGathers) == Sizes{13504});
}

TEST_CASE(
    "ZeRO: one rank takes one GPU's step; free collectives leave compute and the owned part") {
  for (const int stage : {1, 2})
    for (const bool overlap : {false, true}) {
      const Zero zero{.stage = stage, .reduce_bucket_size = kTwo, .overlap_comm = overlap};
      const auto free = [](CollectiveKind, const std::string&, StepPhase) { return 0_us; };
      CHECK(run(zero, free, 1, small::node(1)).times.iteration == 320_us);
      CHECK(run(zero, free, 1, small::node(1)).times.loss.total() == 0_us);
      CHECK(run(zero, free, 1, small::node(4)).times.iteration == 305_us);
    }
}

TEST_CASE("ZeRO: hooks, copies and the host's reads take their time") {
  // A copy of 4 MB reads and writes it at a picosecond a byte: 8 us, and 1 for the kernel. Five
  // copies into buckets take 45 us in backward. After it, except for b2, each bucket is divided and
  // put together, and the owned part is copied out twice.
  SimulationOptions all = options(Zero{.stage = 1});
  all.costs.copy_bandwidth_share = 1;
  all.costs.copy_kernel = 1_us;
  Cluster cluster = small::node(2);
  cluster.gpu.memory_bandwidth = 1000_GBps;
  const Step step = run(Job(layered(), cluster, all, FreeModel{}),
                        [](CollectiveKind, const std::string&, StepPhase) { return 0_us; });
  // Each copy of 20 MB takes 41, twice; of 10 MB 21, twice. Copies of gradients take 45. For the
  // norm, 10 MB are read and 20 MB written and read again, by two kernels for each of 3 tensors: 56.
  // Laying the part end to end and casting what was stepped take 21 each.
  CHECK(step.times.backward == (200 + 45 + 2 * 41 + 2 * 21 + 56) * 1_us);
  CHECK(step.times.loss[LossCause::copies] == (45 + 2 * 41 + 2 * 21 + 56 + 2 * 21) * 1_us);
  CHECK(step.times.optimizer == 52_us);
  all.costs.launch_latency = 3_us;
  all.costs.event_latency = 2_us;
  const Step latent = run(Job(layered(), cluster, all, FreeModel{}),
                          [](CollectiveKind, const std::string&, StepPhase) { return 0_us; });
  // Handing over to three collectives and back takes 2 + 2 each. Reading the norm on the host takes
  // 2 + 3.
  CHECK(latent.times.iteration - step.times.iteration == 17_us);
}

TEST_CASE("ZeRO: stages 1 and 2 take the host as long for a gradient") {
  // The host begins a forward ahead, at -100. It launches the only bucket when it has handled the
  // five gradients. Backward ends at 300.
  const auto exposed = [](int stage, DeepSpeedVersion deepspeed) {
    SimulationOptions all = options(Zero{.stage = stage, .deepspeed = deepspeed});
    all.costs.zero.hook = 20_us;
    all.costs.zero.gradient = 100_us;
    all.costs.zero.counted = 10_us;
    const auto free = [](CollectiveKind, const std::string&, StepPhase) { return 0_us; };
    return run(Job(layered(), small::node(2), all, FreeModel{}), free).times.exposed_backward();
  };
  CHECK(exposed(1, DeepSpeedVersion()) == 200_us);
  CHECK(exposed(2, DeepSpeedVersion()) == 200_us);
  // Every hook counts five parameters.
  CHECK(exposed(2, DeepSpeedVersion{0, 18, 6}) == 450_us);
  CHECK(exposed(1, DeepSpeedVersion{0, 18, 6}) == 450_us);
}

TEST_CASE("ZeRO: before 0.19.3, bf16 is not searched for infinities, fp16 always") {
  const auto reduced = [](DeepSpeedVersion deepspeed, Dtype dtype) {
    return bytes_of(run(Zero{.param_dtype = dtype, .deepspeed = deepspeed}, zero_times), kReduces);
  };
  CHECK(reduced(DeepSpeedVersion{0, 18, 7}, Dtype::bfloat16) == Sizes{10'000'000, 4});
  CHECK(reduced(DeepSpeedVersion{0, 18, 7}, Dtype::float16) == Sizes{10'000'000, 1, 4});
  CHECK(reduced(DeepSpeedVersion(), Dtype::bfloat16) == Sizes{10'000'000, 1, 4});
}
