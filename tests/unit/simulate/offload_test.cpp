// Parts of a model that stay on the host, worked out by hand (scheme_step.hpp has the model). The
// shards of two ranks are 2 MB a layer, and 4 MB in two tensors for the root. PCIe carries 200
// GB/s, so a layer's shard is copied in 10 us and the root's in 20. The host's processor moves 1000
// GB/s. SGD reads and writes 12 bytes an element: 30 us for 2,500,000.
#include "ddpsim/sim/memory/memory.hpp"

#include "numbered_model.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

CpuOffload offload(bool optimizer, bool parameters) {
  return {.optimizer = optimizer,
          .parameters = parameters,
          .cpu_rate = Bandwidth::gigabytes_per_second(1000),
          .pcie = Bandwidth::gigabytes_per_second(200)};
}

Step stepped(Scheme scheme, const TimeOf& time = by_the_table, int accumulate = 1,
             Optimizer optimizer = Optimizer::sgd) {
  SimulationOptions asked = options(std::move(scheme));
  asked.accumulate = accumulate;
  asked.optimizer.kind = optimizer;
  return run(Job(layered(), small::node(2), asked, FreeModel{}), time);
}

}  // namespace

TEST_CASE("offload: FSDP2 copies a shard before every all-gather, and steps on the host") {
  // In forward, the root's shard arrives at 20 and layer 0's at 30. Layer 1's is copied after the
  // root has been copied out, at 30, and layer 2's after layer 0, at 50.
  //
  // In backward, each is copied after the one before has been copied out: layer 2's from 120, layer
  // 1's from 170, layer 0's from 210. After each reduce-scatter, its shard is copied to the host on
  // the same stream. Layer 0's copy ends at 365, so the root's reduce-scatter begins then. The
  // root's shard arrives at 390, and the host steps for 30.
  const Step step = stepped(Fsdp2{.separate_groups = true, .offload = offload(true, true)});
  CHECK(on_the_wire(step) ==
        "\nall-gather root: 20 to 30"
        "\nall-gather layers.0: 30 to 50"
        "\nall-gather layers.1: 50 to 80"
        "\nall-gather layers.2: 80 to 120"
        "\nall-gather layers.2: 130 to 170"
        "\nall-gather layers.1: 180 to 210"
        "\nreduce-scatter layers.2: 210 to 265"
        "\nall-gather layers.0: 220 to 260"
        "\nreduce-scatter layers.1: 290 to 315"
        "\nreduce-scatter layers.0: 340 to 355"
        "\nreduce-scatter root: 365 to 370");
  CHECK(parts(step.times) == "forward 30 backward 10 optimizer 0 | optimizer 30 | iteration 420");
  CHECK(step.times.finalize == 50_us);  // 20 before, 10 and 20 after
  CHECK(step.times.loss[LossCause::offload] == 80_us - 20_us);
  CHECK(step.times.loss[LossCause::sharded_optimizer] == Duration());
  CHECK(step.planned.host_reads);
}

TEST_CASE("offload: FSDP1 copies a unit whenever it is requested, also the root in backward") {
  // Copies run ahead: root and layers 0, 1 and 2 until 50. For backward, the root and layer 2
  // follow until 80.
  const Step step = stepped(Fsdp1{.offload = offload(true, true)});
  CHECK(on_the_wire(step) ==
        "\nall-gather root: 20 to 30"
        "\nall-gather layers.0: 30 to 50"
        "\nall-gather layers.1: 50 to 80"
        "\nall-gather layers.2: 80 to 120"
        "\nall-gather layers.2: 120 to 160"
        "\nall-gather layers.1: 160 to 190"
        "\nreduce-scatter layers.2: 210 to 245"
        "\nall-gather layers.0: 245 to 265"
        "\nreduce-scatter layers.1: 290 to 315"
        "\nreduce-scatter layers.0: 340 to 355"
        "\nreduce-scatter root: 365 to 370");
  CHECK(parts(step.times) == "forward 30 backward 10 optimizer 0 | optimizer 30 | iteration 420");
  CHECK(step.times.finalize == 50_us);
}

TEST_CASE("offload: FSDP1 without shards copies whole units, and gathers nothing") {
  // The root's 8 MB take 40 us, and a layer 20. They arrive at 40, 60, 80 and 100, ahead of compute
  // except for the root. Gradients go back after each all-reduce, and the host waits until they
  // arrive, so nothing overlaps.
  const Step step =
      stepped(Fsdp1{.strategy = ShardingStrategy::no_shard, .offload = offload(true, true)});
  CHECK(on_the_wire(step) ==
        "\nall-reduce layers.2: 215 to 251"
        "\nall-reduce layers.1: 351 to 377"
        "\nall-reduce layers.0: 447 to 463"
        "\nall-reduce root: 493 to 499");
  CHECK(step.times.optimizer == 60_us);  // of all parameters
  CHECK(step.times.iteration == 599_us);
}

TEST_CASE("offload: adding to gradients on the host holds the host up") {
  // Without no_sync each micro-batch is reduced. In the second one, a layer's shard of 2 MB takes 6
  // us more on the host, and the root's 12.
  const Fsdp2 each = {.separate_groups = true, .no_sync = false, .offload = offload(true, true)};
  const Step once = stepped(each);
  const Step twice = stepped(each, by_the_table, 2);
  const Fsdp2 last = {.separate_groups = true, .offload = offload(true, true)};
  const Step at_the_end = stepped(last, by_the_table, 2);
  CHECK(twice.times.iteration > 2 * once.times.iteration - once.times.optimizer);
  CHECK(at_the_end.times.iteration < twice.times.iteration);
  CHECK(twice.times.loss[LossCause::offload] > 2 * once.times.loss[LossCause::offload]);
  CHECK(twice.times.optimizer == once.times.optimizer);
}

TEST_CASE("offload: ZeRO-2 copies its part of a bucket after the all-reduce, in fp32") {
  // Each of the first two buckets copies 4 MB in 20 us, the last 2 MB in 10. The host unscales for
  // 20 us (10 MB read and written), steps for 30 and casts for 20. The part goes back in 50.
  const TimeOf buckets = [](CollectiveKind kind, const std::string& unit, StepPhase) {
    if (kind == kGathers) return 50_us;
    if (unit == "gradient norm") return 2_us;
    return unit == "bucket 0" ? 30_us : unit == "bucket 1" ? 40_us : 6_us;
  };
  CpuOffload fused = offload(true, false);
  fused.fused = true;
  const Zero zero = {.reduce_bucket_size = 2'000'000, .offload = fused};
  const Step step = stepped(zero, buckets);
  CHECK(on_the_wire(step) ==
        "\nall-reduce bucket 0: 240 to 270"
        "\nall-reduce bucket 1: 350 to 390"
        "\nall-reduce bucket 2: 410 to 416"
        "\nall-reduce gradient norm: 426 to 428"
        "\nall-gather parameters: 548 to 598");
  CHECK(step.times.iteration == 598_us);
  CHECK(step.times.loss[LossCause::offload] == 170_us - 20_us);  // without the GPU's optimizer
  // The host reads whether a gradient overflowed before it is copied, so nothing is reduced during
  // compute.
  Zero beside = zero;
  beside.overlap_comm = true;
  const Step overlapped = stepped(beside, buckets);
  CHECK(on_the_wire(overlapped)
            .starts_with("\nall-reduce bucket 0: 240 to 270"
                         "\nall-reduce bucket 1: 330 to 370"));
  // When accumulating, the sum of earlier micro-batches comes back, is added to, and goes out
  // again.
  const Step two = stepped(zero, buckets, 2);
  const Duration first = 300_us + 30_us + 40_us + 6_us + 50_us;  // with a copy
  // Copied back, added to, and copied out twice.
  const Duration second = 300_us + 30_us + 40_us + 6_us + 3 * 50_us;
  CHECK(two.times.iteration == first + second + 2_us + 70_us + 50_us + 50_us);
}

TEST_CASE("offload: a fused optimizer reads and writes each element once") {
  CHECK(bytes_stepped(Optimizer::adamw, true, Bytes(4)) == Bytes(28));
  CHECK(bytes_stepped(Optimizer::adamw, false, Bytes(4)) == Bytes(80));
  CHECK(bytes_stepped(Optimizer::adam, false, Bytes(4)) == Bytes(72));
  CHECK(bytes_stepped(Optimizer::momentum, true, Bytes(4)) == Bytes(20));
  CHECK(bytes_stepped(Optimizer::momentum, false, Bytes(4)) == Bytes(32));
  CHECK(bytes_stepped(Optimizer::sgd, false, Bytes(4)) == Bytes(12));
  CpuOffload fused = offload(true, true);
  fused.fused = true;
  const auto step = [](const CpuOffload& offload) {
    return stepped(Fsdp2{.offload = offload}, by_the_table, 1, Optimizer::adamw).times.optimizer;
  };
  CHECK(step(fused) == 70_us);
  CHECK(step(offload(true, true)) == 200_us);
}

TEST_CASE("offload: parts on the host are not counted in the GPU's memory") {
  const auto peak = [](Scheme scheme) {
    SimulationOptions asked = options(std::move(scheme));
    asked.optimizer.kind = Optimizer::adam;
    return peak_memory(Job(layered(), small::node(2), std::move(asked), FreeModel{}));
  };
  const auto mb = [](Bytes bytes) { return static_cast<double>(bytes.count()) / 1e6; };
  for (const auto& [here, there] :
       {std::pair<Scheme, Scheme>(Fsdp1{}, Fsdp1{.offload = offload(true, true)}),
        std::pair<Scheme, Scheme>(Fsdp2{}, Fsdp2{.offload = offload(true, true)})}) {
    const PeakMemory kept = peak(here);
    const PeakMemory away = peak(there);
    CHECK(mb(away.parts.optimizer) == 0);
    CHECK(mb(kept.parts.optimizer) == 20);
    CHECK(mb(away.host) == 40);  // shards of parameters and gradients, two moments
    CHECK(away.total() < kept.total());
    CHECK(kept.host == Bytes());
  }
  const PeakMemory third = peak(Zero{.stage = 3, .offload = offload(true, true)});
  CHECK(mb(third.parts.optimizer) == 0);
  // In fp32: parameters, gradients and moments. In the type of computation: parameters.
  CHECK(mb(third.host) == 10 * 4 + 10);
}

TEST_CASE("offload: each tensor copied costs a launch and a gap besides its bytes") {
  const auto later = [](const auto& scheme_with) {
    const auto begins = [&](bool on_the_host) {
      SimulationOptions asked = options(scheme_with(offload(true, on_the_host)));
      asked.costs.copy_kernel = 3_us;
      asked.costs.kernel_gap = 2_us;
      const Job job(layered(), small::node(2), asked, FreeModel{});
      return run(job, by_the_table).collectives.at(0).start;
    };
    return begins(true) - begins(false);
  };
  // The root's bytes take 20 us. FSDP1 has them in one tensor, FSDP2 in two.
  CHECK(later([](const CpuOffload& where) { return Fsdp1{.offload = where}; }) == 25_us);
  CHECK(later([](const CpuOffload& where) { return Fsdp2{.offload = where}; }) == 30_us);
}
