// ZeRO's stages 1 and 2, worked out by hand (scheme_step.hpp has the model; buckets hold two gradients of it). All-reduces
// take 30, 40 and 6 us, bucket by bucket, that of the norm 2, the all-gather 50.
//
// In the order written buckets are head and layers.2, layers.1 and layers.0, embed:
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

TEST_CASE("ZeRO-2: compute stands still while a bucket is reduced, once a gradient does not fit") {
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

TEST_CASE("ZeRO-2: beside compute one bucket is reduced while the next one is filled") {
  // layers.0 is there at 290, embed at 300. The last bucket waits for the one in front.
  const Step step = run(Zero{.reduce_bucket_size = kTwo, .overlap_comm = true}, zero_times);
  CHECK(on_the_wire(step) ==
        "\nall-reduce bucket 0: 240 to 270"
        "\nall-reduce bucket 1: 300 to 340"
        "\nall-reduce bucket 2: 340 to 346"
        "\nall-reduce gradient norm: 346 to 348"
        "\nall-gather parameters: 358 to 408");
  CHECK(parts(step.times) == "forward 0 backward 46 optimizer 52 | optimizer 10 | iteration 408");
}

TEST_CASE("ZeRO-2: there are two buckets, and compute waits until one of them is free") {
  // Of one gradient each, 100 us: layers.2's is handed over at 240, but head's takes from 160 to 260. So layers.0 is there
  // at 310, waits until 360; embed at 370, until 460; then the last two follow each other.
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

TEST_CASE("ZeRO-1: without overlap everything is reduced behind backward, by definition") {
  const Step step = run(Zero{.stage = 1, .reduce_bucket_size = kTwo}, zero_times);
  CHECK(on_the_wire(step) == kBehindBackward);
  CHECK(parts(step.times) == "forward 0 backward 76 optimizer 52 | optimizer 10 | iteration 438");
  // With it buckets are those of stage 2.
  const Step one =
      run(Zero{.stage = 1, .reduce_bucket_size = kTwo, .overlap_comm = true}, zero_times);
  const Step two =
      run(Zero{.stage = 2, .reduce_bucket_size = kTwo, .overlap_comm = true}, zero_times);
  CHECK(on_the_wire(one) == on_the_wire(two));
}

TEST_CASE("ZeRO: by default one bucket holds a small model: nothing is hidden") {
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

TEST_CASE("ZeRO: types of what is computed and of what is sent") {
  const Step half =
      run(Zero{.reduce_bucket_size = kTwo, .param_dtype = Dtype::bfloat16}, zero_times);
  // One byte says whether anything overflowed, before the norm.
  CHECK(bytes_of(half, kReduces) == Sizes{4'000'000, 4'000'000, 2'000'000, 1, 4});
  CHECK(bytes_of(half, kGathers) == Sizes{10'000'000});
  const Step wide = run(Zero{.reduce_bucket_size = kTwo,
                             .param_dtype = Dtype::bfloat16,
                             .communication_data_type = Dtype::float32},
                        zero_times);
  CHECK(bytes_of(wide, kReduces) == Sizes{8'000'000, 8'000'000, 4'000'000, 1, 4});
  CHECK(bytes_of(wide, kGathers) == Sizes{10'000'000});
}

TEST_CASE("ZeRO: as recorded with DeepSpeed, bucket by bucket") {
  CHECK(bytes_of(run_numbered(Zero{.stage = 1, .reduce_bucket_size = 1000}, 2), kReduces) ==
        Sizes{3036, 3760, 3504, 3188, 4});
  CHECK(bytes_of(run_numbered(Zero{.stage = 2, .reduce_bucket_size = 1000}, 2), kReduces) ==
        Sizes{3344, 3504, 3728, 2912, 4});
  const Step small = run_numbered(Zero{.stage = 2, .reduce_bucket_size = 300}, 2);
  CHECK(bytes_of(small, kReduces) ==
        Sizes{1196, 1108, 1040, 1612, 124, 1612, 1108, 1040, 1612, 124, 1612, 104, 1196, 4});
  CHECK(bytes_of(small, kGathers) == Sizes{13488});
  // Of four ranks a part ends four elements before the end of layers.2.down.weight, which is larger than the bucket; another
  // ends within layers.0.down.weight, whose 85 elements in front of that are no bucket by themselves.
  const Step cut = run_numbered(Zero{.stage = 1, .reduce_bucket_size = 300}, 4);
  CHECK(bytes_of(cut, kReduces) ==
        Sizes{1196, 104, 1612, 124, 1612, 1108, 1040, 1612, 124, 1596, 16, 1108, 1040, 1196, 4});
  CHECK(bytes_of(cut, kGathers) == Sizes{13504});
}

TEST_CASE("ZeRO: one rank takes one GPU's step; free collectives leave compute and what is owned") {
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
  // A copy of 4 MB passes it twice, at a byte a picosecond: 8 us and 1 for the kernel. Five copies into buckets in
  // backward: 45 us. Behind it, b2 aside, of each bucket: divided and put together, what is owned twice copied out.
  SimulationOptions all = options(Zero{.stage = 1});
  all.costs.copy_bandwidth_share = 1;
  all.costs.copy_kernel = 1_us;
  Cluster cluster = small::node(2);
  cluster.gpu.memory_bandwidth = 1000_GBps;
  const Step step = run(Job(layered(), cluster, all, FreeModel{}),
                        [](CollectiveKind, const std::string&, StepPhase) { return 0_us; });
  // 20 MB: 41 twice, 10 MB: 21 twice; copies of gradients 45; the part stepped cast 21.
  CHECK(step.times.backward == (200 + 45 + 2 * 41 + 2 * 21) * 1_us);
  CHECK(step.times.loss[LossCause::copies] == (45 + 2 * 41 + 2 * 21 + 21) * 1_us);
  CHECK(step.times.optimizer == 31_us);
  all.costs.launch_latency = 3_us;
  all.costs.event_latency = 2_us;
  const Step latent = run(Job(layered(), cluster, all, FreeModel{}),
                          [](CollectiveKind, const std::string&, StepPhase) { return 0_us; });
  // Handed to three collectives and back, 2 + 2 each; the host reads the norm: 2 + 3.
  CHECK(latent.times.iteration - step.times.iteration == 17_us);
}
