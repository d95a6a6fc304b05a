// Peak memory by hand: three gradients of 4, 8 and 12 MiB, ready at 10, 20 and 40 us of a backward
// of 40 us.
#include "ddpsim/sim/memory/memory.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "small_jobs.hpp"

using namespace ddpsim;

namespace {

struct MemoryJob {
  SimulationOptions options = small::bare();
  std::optional<Activations> activations = Activations{.bytes = Bytes(), .recorded = true};
  Dtype dtype = Dtype::float32;
};

PeakMemory peak(const std::function<void(MemoryJob&)>& change = {}) {
  MemoryJob setting;
  setting.options.torch = {2, 8};
  setting.options.optimizer.kind = Optimizer::momentum;
  if (change) change(setting);
  Workload workload =
      small::chain({{4 * small::kMiB, 10}, {8 * small::kMiB, 20}, {12 * small::kMiB, 40}}, 10, 40);
  workload.buffers = {{.dtype = Dtype::float32, .bytes = Bytes(100), .tensors = 1}};
  workload.activations = setting.activations;
  for (Parameter& parameter : workload.parameters) parameter.dtype = setting.dtype;
  return peak_memory(
      Job(std::move(workload), small::node(2), std::move(setting.options), FreeModel{}));
}

std::int64_t in_mib(Bytes bytes) {
  return bytes.count() / small::kMiB;
}

}  // namespace

TEST_CASE("memory: without activations the optimizer has the peak, with a copy of all parameters") {
  const PeakMemory memory = peak();
  CHECK(memory.at == PeakMoment::optimizer);
  CHECK(in_mib(memory.parts.parameters) == 24);
  CHECK(in_mib(memory.parts.gradients) == 24);
  CHECK(in_mib(memory.parts.buckets) == 24);
  CHECK(in_mib(memory.parts.optimizer) == 24);
  CHECK(in_mib(memory.parts.temporaries) == 24);
  CHECK(memory.parts.buffers == Bytes(100));
  CHECK(memory.parts.activations == Bytes());
  CHECK(memory.nccl == Bytes());
  CHECK(memory.allocated() == Bytes(120 * small::kMiB + 100));
}

TEST_CASE("memory: a fused optimizer needs no copy of the parameters") {
  const PeakMemory memory =
      peak([](MemoryJob& setting) { setting.options.optimizer.fused = true; });
  // The last gradient is still outside its bucket.
  CHECK(memory.at == PeakMoment::backward);
  CHECK(in_mib(memory.parts.optimizer) == 24);
  CHECK(in_mib(memory.parts.temporaries) == 12);
}

TEST_CASE("memory: with views gradients stay in their buckets") {
  const auto views = [](MemoryJob& setting) {
    setting.options.ddp_to_set().gradient_as_bucket_view = true;
  };
  CHECK(peak(views).parts.gradients == Bytes());
  CHECK(in_mib(peak().allocated() - peak(views).allocated()) == 24);
}

TEST_CASE("memory: activations are freed in equal shares with each gradient") {
  // With 30 MiB, memory is 30 + 4 until the first gradient and 4 + 20 + 8 until the second. It is
  // 12 + 10 + 12 until the third, and 24 after it. On a host, the optimizer takes 24 + 12.
  // Activations of 36 MiB exceed that with 36 + 4.
  GlooModel gloo;
  gloo.links.host_tensors = true;
  Workload workload =
      small::chain({{4 * small::kMiB, 10}, {8 * small::kMiB, 20}, {12 * small::kMiB, 40}}, 10, 40);
  SimulationOptions options = small::bare();
  options.torch = {2, 8};
  options.optimizer.kind = Optimizer::sgd;
  workload.activations =
      Activations{.bytes = Bytes(30 * small::kMiB), .recorded = true, .held = {}};
  CHECK(peak_memory(Job(workload, small::node(2), options, gloo)).at == PeakMoment::optimizer);
  workload.activations->bytes = Bytes(36 * small::kMiB);
  const PeakMemory shares = peak_memory(Job(workload, small::node(2), options, gloo));
  CHECK(shares.at == PeakMoment::backward);
  CHECK(in_mib(*shares.parts.activations) == 36);
  CHECK(in_mib(shares.parts.temporaries) == 4);
  const auto kept = [](std::int64_t bytes) {
    return [bytes](MemoryJob& setting) { setting.activations->bytes = Bytes(bytes); };
  };
  const PeakMemory start = peak(kept(100 * small::kMiB));
  CHECK(start.at == PeakMoment::backward);
  CHECK(in_mib(*start.parts.activations) == 100);
  CHECK(start.parts.gradients == Bytes());
  // Before 2.0, gradients exist from the start, and the optimizer's temporaries are one tensor's.
  const PeakMemory old = peak([](MemoryJob& setting) {
    setting.activations->bytes = Bytes(100 * small::kMiB);
    setting.options.torch = {1, 13};
  });
  CHECK(in_mib(old.parts.gradients) == 24);
  const PeakMemory accumulating = peak([](MemoryJob& setting) {
    setting.activations->bytes = Bytes(100 * small::kMiB);
    setting.options.accumulate = 2;
  });
  CHECK(in_mib(accumulating.parts.gradients) == 24);
  const PeakMemory fast_gradients = peak([](MemoryJob& setting) {
    setting.activations->bytes = Bytes(6 * small::kMiB);
    setting.options.torch = {1, 13};
    setting.options.optimizer.kind = Optimizer::sgd;
  });
  // The last gradient, of 12 MiB, is added to an existing one. The last third of activations is
  // also in memory.
  CHECK(fast_gradients.at == PeakMoment::backward);
  CHECK(in_mib(fast_gradients.parts.temporaries) == 12);
  CHECK(in_mib(*fast_gradients.parts.activations) == 2);
}

TEST_CASE("memory: memory held between gradients comes from the recording, gradients included") {
  const auto held = [](std::vector<std::int64_t> mib, bool views = false, int accumulate = 1) {
    return peak([&](MemoryJob& setting) {
      setting.options.optimizer.kind = Optimizer::sgd;
      setting.options.ddp_to_set().gradient_as_bucket_view = views;
      setting.options.accumulate = accumulate;
      setting.activations->bytes = Bytes(10 * small::kMiB);
      for (const std::int64_t count : mib)
        setting.activations->held.emplace_back(count * small::kMiB);
    });
  };
  // Gradients of 4, 8 and 12 MiB are outside their buckets: 50, 4 + 47, 12 + 38, 24 + 25.
  const PeakMemory second = held({50, 47, 38, 25, 0});
  CHECK(second.at == PeakMoment::backward);
  CHECK(in_mib(*second.parts.activations) == 47);
  CHECK(in_mib(second.parts.gradients) == 4);
  CHECK(second.parts.temporaries == Bytes());
  CHECK(in_mib(held({50, 47, 38, 28, 0}).parts.gradients) == 24);  // after the last
  CHECK(in_mib(*held({50, 47, 38, 25, 0}, true).parts.activations) == 50);
  // Accumulated gradients that are not all-reduced are in no bucket, with views or without: 30 +
  // 24, 31 + 20, 38 + 12.
  const PeakMemory accumulated = held({30, 31, 38, 10, 0}, true, 2);
  CHECK(in_mib(*accumulated.parts.activations) == 30);
  CHECK(in_mib(accumulated.parts.gradients) == 24);
  CHECK(in_mib(*held({30, 31, 43, 10, 0}, true, 2).parts.activations) == 43);
  // The batch, which backward leaves, is in memory while the optimizer steps.
  const PeakMemory stepping = held({9, 9, 9, 9, 3});
  CHECK(stepping.at == PeakMoment::optimizer);
  CHECK(in_mib(*stepping.parts.activations) == 3);
}

TEST_CASE("memory: with unknown activations the result is a lower bound, not zero") {
  const PeakMemory memory = peak([](MemoryJob& setting) { setting.activations.reset(); });
  CHECK_FALSE(memory.activations);
  CHECK_FALSE(memory.parts.activations);
  CHECK(memory.total() == peak().total());
}

TEST_CASE("memory: the state that optimizers keep") {
  const auto state = [](Optimizer kind, bool masters, Dtype dtype) {
    return in_mib(peak([&](MemoryJob& setting) {
                    setting.options.optimizer = {.kind = kind, .master_weights = masters};
                    setting.dtype = dtype;
                  }).parts.optimizer);
  };
  CHECK(state(Optimizer::sgd, false, Dtype::float32) == 0);
  CHECK(state(Optimizer::momentum, false, Dtype::float32) == 24);
  CHECK(state(Optimizer::adam, false, Dtype::float32) == 48);
  CHECK(state(Optimizer::adamw, true, Dtype::float32) == 48);
  CHECK(state(Optimizer::adam, false, Dtype::float16) == 24);      // as wide as the parameters
  CHECK(state(Optimizer::adam, true, Dtype::bfloat16) == 3 * 24);  // state and copy in fp32
  CHECK(state(Optimizer::sgd, true, Dtype::float16) == 24);
}

TEST_CASE("memory: its moments over a step") {
  const PeakMemory memory = peak([](MemoryJob& setting) {
    setting.options.optimizer.kind = Optimizer::adam;
    setting.activations->bytes = Bytes(4 * small::kMiB);
  });
  REQUIRE(memory.moments.size() == 3);
  CHECK(memory.moments[0].at == PeakMoment::forward);
  CHECK(memory.moments[1].at == PeakMoment::backward);
  CHECK(memory.moments[2].at == PeakMoment::optimizer);
  // Parameters, buckets and two states, then activations; no gradient exists yet.
  CHECK(in_mib(memory.moments[0].parts.known()) == 4 * 24 + 4);
  CHECK(memory.moments[2].parts.known() == memory.parts.known());
  CHECK(memory.at == PeakMoment::optimizer);
}

TEST_CASE("memory: a compression hook keeps half of every full bucket") {
  const PeakMemory memory = peak([](MemoryJob& setting) {
    setting.options.ddp_to_set().comm_hook = CommHook::fp16_compress;
    setting.options.torch = {1, 13};
    setting.options.optimizer.kind = Optimizer::sgd;
    setting.activations->bytes = Bytes(4 * small::kMiB);
  });
  CHECK(memory.at == PeakMoment::backward);
  CHECK(in_mib(memory.parts.hook) == 12);
}

TEST_CASE("memory: an optimizer in backward frees gradients bucket by bucket") {
  // Buckets have 4, 8 and 12 MiB. The last gradient exists with the other 48. While it steps, a
  // temporary takes its place. PyTorch 2.13 on a CPU, with eight layers in buckets of 3, 3 and 2,
  // needs 2.38 times the parameters with SGD, and 3.38 with momentum.
  const auto stepping = [](MemoryJob& setting) {
    setting.options.ddp_to_set().optimizer_in_backward = true;
    setting.options.ddp_to_set().bucket_cap_mb = 1;
    setting.options.optimizer.kind = Optimizer::sgd;
  };
  const PeakMemory memory = peak(stepping);
  CHECK(memory.at == PeakMoment::backward);
  CHECK(in_mib(memory.allocated()) == 24 + 24 + 12);
  CHECK(in_mib(peak([&](MemoryJob& setting) {
                 stepping(setting);
                 setting.options.optimizer.kind = Optimizer::momentum;
               }).allocated()) == 24 + 24 + 12 + 24);
  // With views, a temporary exists with a gradient on its way to its bucket.
  CHECK(in_mib(peak([&](MemoryJob& setting) {
                 stepping(setting);
                 setting.options.ddp_to_set().gradient_as_bucket_view = true;
               }).allocated()) == 24 + 24 + 12 + 12);
}

TEST_CASE("memory: powerSGD_hook keeps an error, P and Q, and copies of the bucket it reduces") {
  // One bucket holds three matrices of one column: P has their 1, 2 and 3 Mi elements, and Q one
  // each.
  const auto hooked = [](MemoryJob& setting) {
    setting.options.ddp_to_set().comm_hook = CommHook::power_sgd;
    setting.options.ddp_to_set().power_sgd.min_compression_rate = 0.5;
    setting.options.ddp_to_set().bucket_cap_mb = 100;
    setting.options.optimizer.kind = Optimizer::sgd;
  };
  const PeakMemory memory = peak(hooked);
  CHECK(memory.at == PeakMoment::backward);
  CHECK(memory.parts.hook ==
        Bytes(24 * small::kMiB + 24 * small::kMiB + 12 + 2 * 24 * small::kMiB));
  CHECK(memory.parts.temporaries == Bytes());
  // Bucket by bucket, it is 4, 8 and 12 MiB, and all travel whole.
  const PeakMemory apart = peak([&](MemoryJob& setting) {
    hooked(setting);
    setting.options.ddp_to_set().power_sgd = {};
    setting.options.ddp_to_set().bucket_cap_mb = 1;
  });
  CHECK(apart.at == PeakMoment::backward);
  CHECK(in_mib(apart.parts.hook) == 24 + 3 * 12);
}

TEST_CASE("memory: local SGD's next average exists in addition to the parameters") {
  const auto local = [](MemoryJob& setting) {
    setting.options.ddp_to_set().comm_hook = CommHook::post_local_sgd;
    setting.options.torch = {1, 13};
    setting.options.optimizer.kind = Optimizer::sgd;
  };
  const PeakMemory memory = peak(local);
  CHECK(memory.at == PeakMoment::averaging);
  CHECK(in_mib(memory.parts.hook) == 24);
  CHECK(in_mib(memory.parts.gradients) == 24);
  CHECK(in_mib(memory.allocated()) == 4 * 24);
  CHECK(name_of(memory.at) == "averaging");
}

TEST_CASE("memory: before 2.0 the rebuild holds old and new buckets of views") {
  const auto rebuilding = [](MemoryJob& setting) {
    setting.options.torch = {1, 13};
    setting.options.ddp_to_set().gradient_as_bucket_view = true;
    setting.options.optimizer.kind = Optimizer::sgd;
  };
  const PeakMemory memory = peak(rebuilding);
  CHECK(memory.at == PeakMoment::rebuild);
  CHECK(in_mib(memory.parts.buckets) == 48);
  CHECK(in_mib(memory.allocated()) == 72);
  // These buckets are never rebuilt.
  CHECK(peak([&](MemoryJob& setting) {
          rebuilding(setting);
          setting.options.ddp_to_set().find_unused_parameters = true;
        }).at != PeakMoment::rebuild);
}

TEST_CASE("memory: the allocator's blocks and segments") {
  Workload workload = small::chain({{600, 10}}, 10, 20);
  workload.activations = Activations{};
  SimulationOptions options = small::bare();
  options.optimizer.kind = Optimizer::sgd;
  const PeakMemory memory = peak_memory(Job(workload, small::node(2), options, FreeModel{}));
  CHECK(memory.rounding == Bytes(2 * (1024 - 600)));  // the parameter and its bucket
  CHECK(memory.segments == Bytes(2 * small::kMiB - 2 * 1024));
  GlooModel gloo;
  gloo.links.host_tensors = true;
  const PeakMemory on_host = peak_memory(Job(workload, small::node(2), options, gloo));
  CHECK(on_host.rounding + on_host.segments == Bytes());
}

TEST_CASE("memory: a tensor above 10 MiB is a segment of its own, in multiples of 2 MiB") {
  Workload workload = small::chain({{11 * small::kMiB, 10}, {3 * small::kMiB, 15}}, 10, 20);
  workload.activations = Activations{};
  SimulationOptions options = small::bare();
  options.optimizer.kind = Optimizer::sgd;
  options.ddp_to_set().bucket_cap_mb = 1;
  const PeakMemory memory = peak_memory(Job(workload, small::node(2), options, FreeModel{}));
  // Parameter and bucket of 11 MiB take 12 each. Those of 3 MiB share one segment of 20.
  CHECK(memory.rounding == Bytes());
  CHECK(memory.segments == Bytes(2 * small::kMiB + 14 * small::kMiB));
}
