// Counts by hand what the host launches for layers and optimizers.
#include "ddpsim/models/launches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

namespace {

ComputeSetting setting(Precision precision, const char* gpu = "V100") {
  return {.gpu = find_gpu(gpu).value(), .precision = precision, .batch = 1};
}

Layer layer_of(LayerKind kind) {
  Layer layer;
  layer.kind = kind;
  return layer;
}

/// A Linear with a weight and a bias.
Layer biased_linear() {
  Layer layer = layer_of(LayerKind::linear);
  layer.product = Product{.in = 8, .out = 8};
  layer.parameters = {0, 1};
  layer.weights = 72;
  layer.backward_kernels = 3;
  return layer;
}

Model model_with(std::vector<std::int64_t> sizes, Optimizer optimizer, bool fused = false) {
  Model model;
  for (const std::int64_t size : sizes) model.parameters.emplace_back().shape = {size};
  model.optimizer = optimizer;
  model.fused_optimizer = fused;
  return model;
}

}  // namespace

TEST_CASE("launches: autocast casts weight, bias and an fp32 input, and all their gradients") {
  Layer layer = biased_linear();
  const auto count = [&](Precision precision) {
    const LayerLaunches both = layer_launches(layer, setting(precision));
    return std::pair(both.forward.operators, both.backward.operators);
  };
  CHECK(count(Precision::fp32) == std::pair<std::int64_t, std::int64_t>(1, 3));
  CHECK(count(Precision::bf16_true) == std::pair<std::int64_t, std::int64_t>(1, 3));
  CHECK(count(Precision::amp) == std::pair<std::int64_t, std::int64_t>(3, 5));
  layer.autocast_casts = 8;
  CHECK(count(Precision::amp) == std::pair<std::int64_t, std::int64_t>(4, 6));
  layer.trains = false;
  CHECK(count(Precision::amp).second == 4);
  layer.reached = false;
  CHECK(count(Precision::amp).second == 0);
}

TEST_CASE("launches: what runs in fp32 casts an input in half precision, and its gradient") {
  Layer norm = layer_of(LayerKind::normalization);
  norm.single_precision = true;
  norm.autocast_casts = 8;
  CHECK(layer_launches(norm, setting(Precision::amp)).forward.operators == 2);
  norm.autocast_casts = 0;  // the input is fp32
  CHECK(layer_launches(norm, setting(Precision::amp)).forward.operators == 1);
  // The gradients of input and of the weights are two kernels of one operator.
  CHECK(layer_launches(norm, setting(Precision::amp)).backward.operators == 1);
  CHECK(layer_launches(norm, setting(Precision::amp)).backward.kernels == 2);
}

TEST_CASE("launches: convolutions and BatchNorms by layout") {
  Layer convolution = layer_of(LayerKind::convolution);
  convolution.product = Product{.in = 8, .out = 8};
  convolution.backward_kernels = 2;
  const auto kernels = [&](const Layer& layer, Precision precision) {
    const LayerLaunches both = layer_launches(layer, setting(precision));
    return both.forward.kernels + both.backward.kernels;
  };
  CHECK(kernels(convolution, Precision::fp32) == 8);
  CHECK(kernels(convolution, Precision::bf16_true) == 10);  // copies into NHWC and back
  convolution.channels_last = true;
  CHECK(kernels(convolution, Precision::bf16_true) == 5);
  Layer norm = layer_of(LayerKind::normalization);
  CHECK(kernels(norm, Precision::fp32) == 3);  // forward, the count of batches, backward
  norm.channels_last = true;
  CHECK(kernels(norm, Precision::bf16_true) == 8);
  CHECK(kernels(norm, Precision::amp) == 3);  // cuDNN's, one each way
}

TEST_CASE("launches: products are split in fp32, and in 16 bits for the gradient of the weight") {
  const auto kernels = [](Precision precision) {
    const LayerLaunches both = layer_launches(biased_linear(), setting(precision));
    return std::pair(both.forward.kernels, both.backward.kernels);
  };
  CHECK(kernels(Precision::fp32) == std::pair<std::int64_t, std::int64_t>(2, 5));
  CHECK(kernels(Precision::bf16_true) == std::pair<std::int64_t, std::int64_t>(1, 4));
}

TEST_CASE("launches: fused attention is one operator of several kernels in backward") {
  Layer attention = layer_of(LayerKind::attention);
  attention.fused = FusedAttention{.heads = 1, .features = 8, .queries = 4, .keys = 4};
  attention.backward_kernels = 3;
  const Launched backward = layer_launches(attention, setting(Precision::bf16)).backward;
  CHECK(backward.operators == 1);
  CHECK(backward.kernels == 3);
}

TEST_CASE("launches: attention is written out where no fused kernel shares keys") {
  Layer attention = layer_of(LayerKind::attention);
  attention.fused =
      FusedAttention{.heads = 2, .features = 8, .queries = 4, .keys = 4, .key_heads = 1};
  attention.backward_kernels = 3;
  const auto operators = [&](const char* gpu) {
    return layer_launches(attention, setting(Precision::bf16_true, gpu)).forward.operators;
  };
  CHECK(operators("A100") == 1);
  CHECK(operators("V100") == 11);
}

TEST_CASE("launches: a first convolution computes one gradient, in half the kernels") {
  Layer convolution = layer_of(LayerKind::convolution);
  convolution.product = Product{.in = 8, .out = 8};
  convolution.backward_kernels = 1;
  convolution.data_gradient = false;
  CHECK(layer_launches(convolution, setting(Precision::fp32)).backward.kernels == 3);
}

TEST_CASE("launches: BatchNorm runs PyTorch's own kernels in bfloat16 only") {
  const Layer norm = layer_of(LayerKind::normalization);
  CHECK(layer_launches(norm, setting(Precision::amp)).forward.kernels == 2);
  CHECK(layer_launches(norm, setting(Precision::bf16)).forward.kernels == 4);
}

TEST_CASE("launches: a foreach kernel is full by tensors or by chunks of 65536 elements") {
  using V = std::vector<std::int64_t>;
  // SGD reads and writes two lists, at most 64 tensors of each in a kernel.
  const auto sgd = [](V sizes) {
    return optimizer_launches(model_with(std::move(sizes), Optimizer::sgd), Precision::fp32)
        .kernels;
  };
  CHECK(sgd(V(64, 10)) == 1);
  CHECK(sgd(V(65, 10)) == 2);
  // 320 chunks fill a kernel.
  CHECK(sgd({320 * 65536}) == 1);
  CHECK(sgd({320 * 65536 + 1}) == 2);
  CHECK(sgd({319 * 65536, 2 * 65536}) == 2);
  CHECK(sgd({std::int64_t{1} << 60}) == (std::int64_t{1} << 44) / 320 + 1);
  // Adam runs seven kernels, AdamW one more, a fused Adam one.
  const auto steps = [](Optimizer optimizer, bool fused) {
    return optimizer_launches(model_with({10}, optimizer, fused), Precision::fp32).operators;
  };
  for (const Optimizer optimizer : kOptimizers)
    CHECK(steps(optimizer, false) == step_kernels(optimizer));
  CHECK(steps(Optimizer::adamw, true) == 1);
}

TEST_CASE("launches: fp16 adds GradScaler, which waits for the GPU in each step") {
  const Model model = model_with({10}, Optimizer::sgd);
  CHECK(optimizer_launches(model, Precision::amp).operators >
        optimizer_launches(model, Precision::bf16).operators);
  const auto ahead = [](const char* text) {
    const EstimateSpec spec = parse_estimate_spec(text);
    return estimate_workload(spec, find_gpu(spec.gpu).value()).launches->steps_ahead;
  };
  CHECK(ahead("resnet18@A100:b8:amp") == 0);
  CHECK_FALSE(ahead("resnet18@A100:b8:bf16"));
  CHECK(ahead("resnet18@A100:b8:bf16:sync") == 0);
}

TEST_CASE("launches: further kernels of an operator cost the host less than the first") {
  const Launched one{.operators = 1, .kernels = 1};
  const Launched three{.operators = 1, .kernels = 3};
  CHECK(one.host_work() == 1);
  CHECK(three.host_work() > 1);
  CHECK(three.host_work() < 3);
}

TEST_CASE("launches: an estimate says its memory format and what it launches") {
  const EstimateSpec spec = parse_estimate_spec("resnet18@A100:b8:bf16:channels_last:sync");
  CHECK(spec.channels_last);
  CHECK(spec.synchronized);
  const Workload workload = estimate_workload(spec, find_gpu("A100").value());
  CHECK(workload.name.ends_with(":bf16:channels_last:sync"));
  const auto said = std::ranges::find(workload.provenance, kLaunchesMark,
                                      &std::pair<std::string, std::string>::first);
  REQUIRE(said != workload.provenance.end());
  CHECK(said->second.find("operators with") != std::string::npos);
  CHECK_THROWS_AS(parse_estimate_spec("gpt2@A100:channels_last"), InputError);
  CHECK_THROWS_AS(parse_estimate_spec("resnet18@A100:sync:sync"), InputError);
}

TEST_CASE("launches: an estimate states its optimizer, and whether it is fused") {
  const auto estimated = [](const std::string& spec) {
    const EstimateSpec parsed = parse_estimate_spec(spec);
    return estimate_workload(parsed, *find_gpu(parsed.gpu));
  };
  const Workload usual = estimated("gpt2@A100:b1:bf16");
  const Workload adamw = estimated("gpt2@A100:b1:bf16:adamw");
  const Workload fused = estimated("gpt2@A100:b1:bf16:fused:adamw");
  CHECK(adamw.name.ends_with(":bf16:adamw"));
  CHECK(fused.name.ends_with(":bf16:adamw:fused"));
  CHECK(*usual.optimizer < *adamw.optimizer);  // AdamW scales the parameters first
  CHECK(*fused.optimizer * 2 < *usual.optimizer);
  CHECK(fused.launches->optimizer < usual.launches->optimizer);
  CHECK_THROWS_AS(parse_estimate_spec("gpt2@A100:sgd:adam"), InputError);
  CHECK_THROWS_AS(parse_estimate_spec("gpt2@A100:fused:fused"), InputError);
}
