// Transfers a recording and checks every value. Three layers have no arithmetic and no kernels of
// their own, so every ratio follows from bytes and bandwidths.
#include <doctest/doctest.h>

#include <string>

#include "ddpsim/models/transfer.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// At the model's efficiency of 0.96, 12.5 GB/s move 12 bytes per nanosecond.
GpuModel gpu_of(const char* name, Bandwidth memory) {
  return {.name = name,
          .compute_capability = 80,
          .sms = 1,
          .memory_bandwidth = memory,
          .fp32_tflops = 1,
          .tf32_tflops = 0,
          .half_tflops = 1,
          .memory = Bytes(1)};
}

Layer layer_of(std::int64_t forward, std::int64_t backward, std::vector<std::size_t> parameters,
               bool single_precision = false) {
  Layer layer;
  layer.parameters = std::move(parameters);
  layer.forward_elements = forward;
  layer.backward_elements = backward;
  layer.forward_kernels = layer.backward_kernels = 0;
  layer.single_precision = single_precision;
  return layer;
}

/// In forward order. With 30 samples in fp32 a hundred elements take 1 us on the slow GPU:
///
///   layer   owns   forward   backward   in half precision
///   0       p0     4 us      12 us      yes
///   1       -      1 us      4 us       no
///   2       p1     3 us      2 us       no
Model three_layers() {
  Model model;
  model.layers = {layer_of(400, 1200, {0}), layer_of(100, 400, {}, true),
                  layer_of(300, 200, {1}, true)};
  for (const std::int64_t elements : {25'000, 200}) {
    Parameter parameter;
    parameter.shape = {{elements}};
    model.parameters.push_back(parameter);
  }
  model.ready_order = {1, 0};
  model.fused_optimizer = true;
  return model;
}

/// To twice the bandwidth and half precision. Layers that stay in fp32 take half the time, and the
/// others a quarter.
///
/// - forward: 8 us -> 1 + 0.5 + 1.5 = 3 us, ratio 0.375
/// - p1: 2 us -> 1 us, ratio 0.5
/// - p0: 4 + 12 us -> 2 + 3 us, ratio 0.3125
/// - optimizer, fused: 5 x 25 200 x 4 bytes in 42 us and a kernel of 2.8 us: 44.8 -> 23.8 us
/// - copies: ratio 0.5
Transfer to_half() {
  return {.from = {.gpu = gpu_of("slow", 12.5_GBps), .precision = Precision::fp32, .batch = 30},
          .to = {.gpu = gpu_of("fast", 25_GBps), .precision = Precision::amp, .batch = 30}};
}

Workload recorded_slow() {
  Workload workload;
  workload.gpu = "slow";
  workload.parameters = three_layers().parameters;
  workload.forward = 80_us;
  workload.backward = Backward{.duration = 100_us,
                               .ready = {{.parameter = 1, .at = 40_us, .copied_at = 44_us},
                                         {.parameter = 0, .at = 90_us, .copied_at = 96_us}}};
  workload.optimizer = 12.8_us;
  workload.iteration = 300_us;
  workload.recorded_with.exposed = 7_us;
  workload.recorded_with.finalize = 10_us;
  workload.recorded_with.buffer_broadcast = 3_us;
  return workload;
}

Workload carried_over(const Workload& workload, const Transfer& transfer = to_half()) {
  return transferred(workload, three_layers(), transfer);
}

}  // namespace

TEST_CASE("transfer by hand: every part of a step scales by its own ratio") {
  const Workload after = carried_over(recorded_slow());
  CHECK(after.gpu == "fast");
  CHECK(after.batch_per_gpu == 30);
  CHECK(after.forward == 30_us);
  const auto& ready = after.backward->ready;
  CHECK(ready[0].parameter == 1);
  CHECK(ready[0].at == 20_us);
  CHECK(ready[0].copied_at == 22_us);      // 4 us of copy become 2
  CHECK(ready[1].at == 35.625_us);         // 20 + 50 x 0.3125
  CHECK(ready[1].copied_at == 38.625_us);  // 6 become 3
  // work after the last gradient scales like its layer
  CHECK(after.backward->duration == 38.75_us);
  CHECK(after.optimizer == 6.8_us);
  CHECK(after.recorded_with.finalize == 5_us);
  CHECK(after.recorded_with.exposed == 7_us);  // the network is as before
  CHECK(after.recorded_with.buffer_broadcast == 3_us);
  // The time between steps stays 300 - (80 + 100 + 7 + 10 + 12.8) = 90.2 us.
  CHECK(after.iteration == 30_us + 38.75_us + 7_us + 5_us + 6.8_us + 90.2_us);
}

TEST_CASE("transfer by hand: recorded collectives move with the gradients around them") {
  Workload workload = recorded_slow();
  const auto collective = [](Duration launch, Duration start) {
    return RecordedCollective{.bytes = 8_B, .launch = launch, .start = start, .duration = 9_us};
  };
  workload.recorded_with.collectives = {collective(-5_us, 0_us), collective(20_us, 40_us),
                                        collective(65_us, 90_us), collective(95_us, 100_us),
                                        collective(110_us, 120_us)};
  const auto after = carried_over(workload).recorded_with.collectives;
  CHECK(after[0] == collective(-5_us, 0_us));  // before backward nothing changes
  CHECK(after[1] == collective(10_us, 20_us));
  CHECK(after[2] == collective(27.8125_us, 35.625_us));  // halfway between 20 and 35.625
  CHECK(after[3] == collective(37.1875_us, 38.75_us));   // between the last gradient and the end
  CHECK(after[4] == collective(48.75_us, 58.75_us));     // behind it, as far behind as before
}

TEST_CASE("transfer by hand: gradients wait for a host of the same speed") {
  Workload workload = recorded_slow();
  workload.host_ready = {10_us, 20_us};
  const Workload after = carried_over(workload);
  // Forward ends 50 us sooner, so on backward's clock the host is 50 us later.
  CHECK(after.host_ready == std::vector<Duration>{60_us, 70_us});
  CHECK(after.backward->ready[0].at == 60_us);  // not 20: waits
  CHECK(after.backward->ready[0].copied_at == 62_us);
  CHECK(after.backward->ready[1].at == 75.625_us);  // the host was there at 70
  CHECK(after.backward->duration == 78.75_us);
}

TEST_CASE("transfer by hand: waits for launches keep their length, the rest scales") {
  Workload workload = recorded_slow();
  workload.launch_waits = {.forward = 40_us, .backward = 50_us, .optimizer = 6.4_us};
  const Workload after = carried_over(workload);
  CHECK(after.forward == 40_us + 15_us);
  CHECK(after.backward->ready[0].at == 20_us + 10_us);
  CHECK(after.backward->ready[1].at == 30_us + 25_us + 7.8125_us);
  CHECK(after.optimizer == 6.4_us + 3.4_us);
  CHECK(after.launch_waits.forward == 40_us);
  CHECK(after.launch_waits.backward == 50_us);
  // On a slower GPU, the host catches up: 15 us of forward's compute become 40.
  const Transfer back{.from = to_half().to, .to = to_half().from};
  const Workload slower = carried_over(after, back);
  CHECK(slower.launch_waits.forward == 15_us);
  CHECK(slower.forward == 55_us);
}

TEST_CASE("transfer by hand: a host that was held up is earlier with a faster GPU") {
  Workload workload = recorded_slow();
  workload.host_ready = {10_us, 20_us};
  workload.host_held = {30_us, 200_us};
  const Workload after = carried_over(workload);
  // p1 is written 70 us sooner, which frees all of 30 us. p0 is later, and the host is ready before
  // it.
  CHECK(after.host_ready[0] == 30_us);
  CHECK(after.host_held[0] == 0_us);
  CHECK(after.backward->ready[0].at == 30_us);
  CHECK(after.host_ready[1] < 30_us);
}

TEST_CASE("transfer by hand: what was not recorded stays unknown") {
  Workload workload;
  workload.parameters = three_layers().parameters;
  const Workload after = carried_over(workload);
  CHECK_FALSE(after.forward.has_value());
  CHECK_FALSE(after.backward.has_value());
  CHECK_FALSE(after.optimizer.has_value());
  CHECK_FALSE(after.iteration.has_value());
  CHECK_FALSE(after.recorded_with.finalize.has_value());
  CHECK_FALSE(after.samples_per_step.has_value());
}

TEST_CASE("transfer by hand: twice the batch, for every rank") {
  Workload workload = recorded_slow();
  workload.samples_per_step = 45;
  RankRecording other;
  static_cast<Recorded&>(other) = recorded_slow();
  other.rank = 3;
  other.optimizer = 32_us;
  workload.ranks = {other};
  Transfer transfer = to_half();
  transfer.to = transfer.from;
  transfer.to.batch = 60;
  const Workload after = carried_over(workload, transfer);
  CHECK(after.batch_per_gpu == 60);
  CHECK(after.samples_per_step == 90);
  CHECK(after.forward == 160_us);
  CHECK(after.backward->duration == 200_us);
  // Copies and the optimizer do not depend on the batch: the copy takes 4 us after 80.
  CHECK(after.backward->ready[0].copied_at == 84_us);
  CHECK(after.optimizer == 12.8_us);
  REQUIRE(after.ranks.size() == 1);
  CHECK(after.ranks[0].rank == 3);
  CHECK(after.ranks[0].forward == 160_us);
  CHECK(after.ranks[0].optimizer == 32_us);
}

TEST_CASE("transfer by hand: activations scale with the batch, gradients of parameters do not") {
  Workload workload = recorded_slow();
  const Bytes gradient = gradient_bytes(workload.parameters[1]).value();
  workload.activations =
      Activations{.bytes = Bytes(300),
                  .recorded = true,
                  .held = {gradient + Bytes(600), Bytes(0), Bytes(90), Bytes(30)}};
  Transfer transfer = to_half();
  transfer.to.batch = 10;
  const Activations after = carried_over(workload, transfer).activations.value();
  CHECK(after.bytes == Bytes(100));
  CHECK(after.held == std::vector{gradient + Bytes(200), Bytes(0), Bytes(30), Bytes(10)});
}

TEST_CASE("transfer by hand: a weight used twice is complete at its first use in forward") {
  Model model = three_layers();
  model.layers[2].parameters = {0};  // only p0, at both ends
  Workload workload = recorded_slow();
  workload.backward->ready = {{.parameter = 0, .at = 90_us, .copied_at = {}}};
  // All of backward belongs to it: 2 + 4 + 12 us become 1 + 2 + 3, which is a third.
  const Workload after = transferred(workload, model, to_half());
  CHECK(after.backward->ready[0].at == 30_us);
}

TEST_CASE("transfer by hand: the speedup covers all compute") {
  // Optimizer, forward and backward take 23.8 + 3 + 6 us instead of 44.8 + 8 + 18.
  CHECK(speedup(three_layers(), to_half()) == doctest::Approx(70.8 / 32.8));
}
