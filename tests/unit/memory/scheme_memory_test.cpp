// Peak memory of schemes by hand. There are five parameters of 1,000,000 elements. Their gradients
// are written in the order head, layers 2, 1, 0, embed. The root holds head and embed. There are
// two ranks and no activations. Sizes are in MB of 10^6 bytes.
#include "ddpsim/sim/memory/memory.hpp"

#include "scheme_step.hpp"

using namespace ddpsim;
using namespace ddpsim::schemes;

namespace {

PeakMemory peak(Scheme scheme, Optimizer optimizer, int accumulate = 1) {
  SimulationOptions asked = options(std::move(scheme));
  asked.optimizer.kind = optimizer;
  asked.accumulate = accumulate;
  Workload step = layered();
  step.activations = Activations{.bytes = Bytes(), .recorded = true, .held = std::vector<Bytes>(7)};
  return peak_memory(Job(std::move(step), small::node(2), std::move(asked), FreeModel{}));
}

double mb(Bytes bytes) {
  return static_cast<double>(bytes.count()) / 1e6;
}

double all(const PeakMemory& peak) {
  return mb(peak.parts.known());
}

}  // namespace

TEST_CASE(
    "scheme memory: FSDP1 gathers one unit ahead, and reduces while the unit before still is") {
  // Shards of parameters and momentum take 10 each. When layer 1's gradient is built, the root and
  // layers 1 and 0 are whole: 16. The gradients of head and layer 1 take 8, and layer 2's shard 2.
  // Layer 1's and layer 2's flat gradients take 8.
  const PeakMemory memory = peak(Fsdp1{}, Optimizer::momentum);
  CHECK(memory.at == PeakMoment::backward);
  CHECK(mb(memory.parts.parameters) == 26);
  CHECK(mb(memory.parts.optimizer) == 10);
  CHECK(mb(memory.parts.gradients) == 10);
  CHECK(mb(memory.parts.buckets) == 8);
  CHECK(all(memory) == 54);
  // Without prefetch, the peak is at the root's end: 8 whole besides shards, 14 of gradients, 8 and
  // 4 reduced.
  const PeakMemory alone =
      peak(Fsdp1{.backward_prefetch = BackwardPrefetch::none}, Optimizer::momentum);
  CHECK(all(alone) == 54);
  CHECK(mb(alone.parts.parameters) == 18);
  // Whole from the start, and freed after each unit: when layer 1's is built, gathering again saves
  // nothing.
  CHECK(all(peak(Fsdp1{.strategy = ShardingStrategy::shard_grad_op}, Optimizer::momentum)) == 54);
}

TEST_CASE(
    "scheme memory: FSDP1 without shards holds everything whole, and the optimizer's copies") {
  const PeakMemory memory =
      peak(Fsdp1{.strategy = ShardingStrategy::no_shard}, Optimizer::momentum);
  CHECK(memory.at == PeakMoment::optimizer);
  // Parameters, momentum, gradients, and the copies of foreach kernels.
  CHECK(all(memory) == 80);
}

TEST_CASE("scheme memory: gradients of micro-batches that are not reduced are whole") {
  const PeakMemory once = peak(Fsdp2{}, Optimizer::sgd);
  const PeakMemory twice = peak(Fsdp2{}, Optimizer::sgd, 2);
  const PeakMemory reduced = peak(Fsdp2{.no_sync = false}, Optimizer::sgd, 2);
  CHECK(all(twice) > all(once));
  CHECK(all(reduced) == all(once));
}

TEST_CASE("scheme memory: streams do not lend each other freed memory") {
  // The peak is at the loss, with 60 of activations. None of them is left when the first gradient is
  // built. The share that fully_shard leaves free in pieces is less than what these cases count.
  //
  // Later, shards of gradients are allocated on the stream that reduces: 2 for each layer and 4 for
  // the root. FSDP1 casts there too: 4 for the root, with the last layer's 2 and all layers'
  // shards, 6. If layers are gathered again, one of FSDP1's layers, 4, waits until the GPU has
  // finished with it.
  const auto apart = [](Scheme scheme) {
    SimulationOptions asked = options(std::move(scheme));
    asked.optimizer.kind = Optimizer::sgd;
    Workload step = layered();
    std::vector<Bytes> held(7);
    held.front() = Bytes(60'000'000);
    step.activations = Activations{.bytes = held.front(), .recorded = true, .held = held};
    const PeakMemory memory =
        peak_memory(Job(std::move(step), small::node(2), std::move(asked), FreeModel{}));
    CHECK(mb(*memory.parts.activations) == 60);
    constexpr double kOwnSegment = 20 * 1.048576 - 10;  // for the shards of parameters
    return mb(memory.segments) - kOwnSegment;
  };
  const auto about = [](double value) { return doctest::Approx(value).epsilon(1e-3); };
  CHECK(apart(Fsdp1{}) == about(10 + 4));
  CHECK(apart(Fsdp1{.strategy = ShardingStrategy::shard_grad_op}) == about(10));
  CHECK(apart(Fsdp1{.wrap = {.by = WrapPolicy::By::none}}) == about(10));
  // With two units, neither is gathered while the other waits and a third is computed.
  CHECK(apart(Fsdp1{.wrap = {.by = WrapPolicy::By::modules,
                             .modules = {"layers.1", "layers.2"}}}) == about(10));
  CHECK(apart(Fsdp2{}) == about(10));
  CHECK(apart(Fsdp1{.reduce_dtype = Dtype::bfloat16}) == about(12 + 4));
  CHECK(apart(Fsdp2{.reduce_dtype = Dtype::bfloat16}) == about(10));
  // If the peak is at backward's end, everything exists at once.
  const PeakMemory last = peak(Fsdp1{.strategy = ShardingStrategy::no_shard}, Optimizer::momentum);
  CHECK(mb(last.segments) < 2);
}

TEST_CASE("scheme memory: ZeRO by stage, in bf16 with Adam in fp32") {
  // With 5 M elements, parameters take 10. The fp32 copies and two moments of half of them take 30,
  // and their gradients in fp32 10.
  const auto zero = [](int stage) {
    Zero scheme{.stage = stage, .reduce_bucket_size = 1'000'000};
    scheme.param_dtype = Dtype::bfloat16;
    scheme.stage3_param_persistence_threshold = 0;
    scheme.stage3_max_live_parameters = 2'000'000;
    return scheme;
  };
  CHECK(all(peak(zero(1), Optimizer::adam)) == 10 + 30 + 10 + 10);     // whole gradients
  CHECK(all(peak(zero(2), Optimizer::adam)) == 10 + 30 + 5 + 2 + 10);  // half of them, and a bucket
  CHECK(all(peak(zero(3), Optimizer::adam)) == 5 + 4 + 30 + 5 + 2 + 10);
  // Megatron-Core steps its gradients in fp32.
  const MegatronOptimizer megatron{.param_dtype = Dtype::bfloat16, .grad_reduce_in_fp32 = true};
  CHECK(all(peak(megatron, Optimizer::adam)) == 10 + 30 + 20);
}

TEST_CASE(
    "scheme memory: ZeroRedundancyOptimizer keeps only the state of a rank's own parameters") {
  const PeakMemory ddp = peak(Ddp{}, Optimizer::adam);
  const PeakMemory shared = peak(ZeroRedundancy{}, Optimizer::adam);
  CHECK(mb(ddp.parts.optimizer) == 40);
  CHECK(mb(shared.parts.optimizer) == 24);  // three of five parameters
  CHECK(mb(ddp.parts.temporaries) == 20);   // Adam's, for stepped parameters
  CHECK(mb(shared.parts.temporaries) == 12);
}
