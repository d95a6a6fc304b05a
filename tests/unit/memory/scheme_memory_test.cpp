// Peak memory of schemes by hand: five parameters of 1,000,000 elements, in the order their gradients are written head,
// layers 2, 1, 0, embed; the root holds head and embed. Two ranks, nothing of activations. In MB of 10^6 bytes.
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

TEST_CASE("scheme memory: FSDP1 gathers one unit ahead, and reduces beside the unit before") {
  // Shards of parameters and momentum, 10 each. When layer 1's gradient is put together: root, layers 1 and 0 are whole,
  // 16; head's and layer 1's gradients, 8, layer 2's shard, 2; layer 1's flat gradient beside layer 2's, 8.
  const PeakMemory memory = peak(Fsdp1{}, Optimizer::momentum);
  CHECK(memory.at == PeakMoment::backward);
  CHECK(mb(memory.parts.parameters) == 26);
  CHECK(mb(memory.parts.optimizer) == 10);
  CHECK(mb(memory.parts.gradients) == 10);
  CHECK(mb(memory.parts.buckets) == 8);
  CHECK(all(memory) == 54);
  // Nobody ahead, it is the root's end that decides: 8 whole beside shards, 14 of gradients, 8 and 4 reduced.
  const PeakMemory alone =
      peak(Fsdp1{.backward_prefetch = BackwardPrefetch::none}, Optimizer::momentum);
  CHECK(all(alone) == 54);
  CHECK(mb(alone.parts.parameters) == 18);
  // Whole from the start, freed behind each unit: where layer 1's is put together nothing is saved by gathering again.
  CHECK(all(peak(Fsdp1{.strategy = ShardingStrategy::shard_grad_op}, Optimizer::momentum)) == 54);
}

TEST_CASE("scheme memory: FSDP1 without shards is everything whole, the optimizer's copies last") {
  const PeakMemory memory =
      peak(Fsdp1{.strategy = ShardingStrategy::no_shard}, Optimizer::momentum);
  CHECK(memory.at == PeakMoment::optimizer);
  CHECK(all(memory) == 80);  // parameters, momentum, gradients, what foreach kernels make of them
}

TEST_CASE("scheme memory: gradients of micro-batches that nobody reduced are whole") {
  const PeakMemory once = peak(Fsdp2{}, Optimizer::sgd);
  const PeakMemory twice = peak(Fsdp2{}, Optimizer::sgd, 2);
  const PeakMemory reduced = peak(Fsdp2{.no_sync = false}, Optimizer::sgd, 2);
  CHECK(all(twice) > all(once));
  CHECK(all(reduced) == all(once));
}

TEST_CASE("scheme memory: a stream lends no other what it has let go of") {
  // The highest moment is the loss, with 1000 of activations, of which nothing is left when the first gradient is put
  // together. Shards of gradients come after it, 2 of each layer and 4 of the root, on the stream that reduces; FSDP1 casts
  // there, too: of the root, 4, beside the last layer's 2 and all layers' shards, 6. One of its layers, 4, waits for the GPU
  // to be let go of, where layers are gathered again.
  const auto apart = [](Scheme scheme) {
    SimulationOptions asked = options(std::move(scheme));
    asked.optimizer.kind = Optimizer::sgd;
    Workload step = layered();
    std::vector<Bytes> held(7);
    held.front() = Bytes(1'000'000'000);
    step.activations = Activations{.bytes = held.front(), .recorded = true, .held = held};
    const PeakMemory memory =
        peak_memory(Job(std::move(step), small::node(2), std::move(asked), FreeModel{}));
    CHECK(mb(*memory.parts.activations) == 1000);
    constexpr double kOwnSegment = 20 * 1.048576 - 10;  // of the shards of parameters
    return mb(memory.segments) - kOwnSegment;
  };
  const auto about = [](double value) { return doctest::Approx(value).epsilon(1e-3); };
  CHECK(apart(Fsdp1{}) == about(10 + 4));
  CHECK(apart(Fsdp1{.strategy = ShardingStrategy::shard_grad_op}) == about(10));
  CHECK(apart(Fsdp1{.wrap = {.by = WrapPolicy::By::none}}) == about(10));
  // Of two units neither is gathered while the other waits and a third is computed.
  CHECK(apart(Fsdp1{.wrap = {.by = WrapPolicy::By::modules,
                             .modules = {"layers.1", "layers.2"}}}) == about(10));
  CHECK(apart(Fsdp2{}) == about(10));
  CHECK(apart(Fsdp1{.reduce_dtype = Dtype::bfloat16}) == about(12 + 4));
  CHECK(apart(Fsdp2{.reduce_dtype = Dtype::bfloat16}) == about(10));
  // Where backward's end is the highest, all is there at once.
  const PeakMemory last = peak(Fsdp1{.strategy = ShardingStrategy::no_shard}, Optimizer::momentum);
  CHECK(mb(last.segments) < 2);
}

TEST_CASE("scheme memory: ZeRO by stage, in bf16 with Adam in fp32") {
  // Of 5 M elements: parameters 10, fp32 copies and two moments of half of them 30, their gradients in fp32 10.
  const auto zero = [](int stage) {
    Zero scheme{.stage = stage, .reduce_bucket_size = 1'000'000};
    scheme.param_dtype = Dtype::bfloat16;
    scheme.stage3_param_persistence_threshold = 0;
    scheme.stage3_max_live_parameters = 2'000'000;
    return scheme;
  };
  CHECK(all(peak(zero(1), Optimizer::adam)) == 10 + 30 + 10 + 10);     // gradients whole
  CHECK(all(peak(zero(2), Optimizer::adam)) == 10 + 30 + 5 + 2 + 10);  // half of them, and a bucket
  CHECK(all(peak(zero(3), Optimizer::adam)) == 5 + 4 + 30 + 5 + 2 + 10);
  // Megatron-Core: gradients in fp32 are what is stepped.
  const MegatronOptimizer megatron{.param_dtype = Dtype::bfloat16, .grad_reduce_in_fp32 = true};
  CHECK(all(peak(megatron, Optimizer::adam)) == 10 + 30 + 20);
}

TEST_CASE("scheme memory: ZeroRedundancyOptimizer keeps the state of what a rank steps") {
  const PeakMemory ddp = peak(Ddp{}, Optimizer::adam);
  const PeakMemory shared = peak(ZeroRedundancy{}, Optimizer::adam);
  CHECK(mb(ddp.parts.optimizer) == 40);
  CHECK(mb(shared.parts.optimizer) == 24);  // three of five parameters
  CHECK(mb(ddp.parts.temporaries) == 20);   // of Adam's step, for what is stepped
  CHECK(mb(shared.parts.temporaries) == 12);
}
