// Checks the layer-cost model term by term, with round values for the GPU and the efficiencies, so
// that every result can be computed by hand.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "layer_cost_constants.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Two multiprocessors, 1 TFLOPS outside the tensor cores, 2 in TF32, 8 in half precision, and 2
/// GB/s.
GpuModel small_gpu() {
  return {.name = "small",
          .compute_capability = 80,
          .sms = 2,
          .memory_bandwidth = 2_GBps,
          .fp32_tflops = 1,
          .tf32_tflops = 0,
          .half_tflops = 8,
          .memory = Bytes(1 << 30)};
}

/// Half of the memory's rate, so a byte takes a nanosecond. Winograd moves data at the full rate.
LayerCostConstants round_constants() {
  LayerCostConstants constants;
  constants.fp32_forward = 0.5;
  constants.fp32_backward = 0.25;
  constants.strided_gradient = 0.5;
  constants.winograd_product = 0.5;
  constants.winograd_memory = 1;
  constants.memory = 0.5;
  constants.tensor_convolution = 0.25;
  constants.tensor_linear = 0.5;
  constants.tensor_depth = 256;
  constants.tensor_attention = 0.25;
  constants.kernel_us = 3;
  return constants;
}

LayerCost cost_of(const Layer& layer, Precision precision = Precision::fp32, std::int64_t batch = 2,
                  const GpuModel& gpu = small_gpu()) {
  return layer_cost(layer, {.gpu = gpu, .precision = precision, .batch = batch}, round_constants());
}

Layer with_product(LayerKind kind, const Product& product, std::int64_t weights) {
  Layer layer;
  layer.kind = kind;
  layer.product = product;
  layer.weights = weights;
  return layer;
}

/// A Linear from 256 to 64 features on 128 tokens, without a bias.
Layer linear() {
  return with_product(LayerKind::linear,
                      {.in = 256, .out = 64, .positions_in = 128, .out_height = 128}, 256 * 64);
}

/// A convolution from `in` to `out` channels on an 8x8 map.
Layer convolution(std::int64_t in, std::int64_t out, Kernel kernel = {1, 1}) {
  return with_product(
      LayerKind::convolution,
      {.in = in, .out = out, .kernel = kernel, .positions_in = 64, .out_height = 8, .out_width = 8},
      in * out * kernel.height * kernel.width);
}

}  // namespace

TEST_CASE("layer cost by hand: a layer without a product moves elements and launches kernels") {
  Layer layer;
  layer.kind = LayerKind::normalization;
  layer.forward_elements = 300;
  layer.backward_elements = 500;
  layer.backward_kernels = 2;
  layer.weights = 64;  // weights of a norm, written with the rest
  // Two samples of 300 elements of four bytes are 2400 bytes, and a kernel takes 3 us.
  CHECK(cost_of(layer).forward == 5.4_us);
  CHECK(cost_of(layer).data_gradient == 10_us);  // 4000 bytes, two kernels
  CHECK(cost_of(layer).weight_gradient == Duration());
  CHECK(cost_of(layer).backward() == 10_us);
  for (const Precision half : {Precision::amp, Precision::bf16}) {
    CHECK(cost_of(layer, half).forward == 4.2_us);
    CHECK(cost_of(layer, half).data_gradient == 8_us);
  }
  CHECK(cost_of(layer, Precision::tf32).forward == 5.4_us);
  layer.single_precision = true;  // autocast keeps it in fp32
  CHECK(cost_of(layer, Precision::amp).forward == 5.4_us);
}

TEST_CASE("layer cost by hand: an embedding's gradient is dense fp32 in any precision") {
  Layer layer;
  layer.kind = LayerKind::embedding;
  layer.forward_elements = 200;
  layer.backward_elements = 300;
  layer.weights = 5000;
  layer.single_precision = true;
  for (const Precision precision : {Precision::fp32, Precision::amp}) {
    const LayerCost cost = cost_of(layer, precision);
    CHECK(cost.forward == 4.6_us);         // 1600 bytes and a kernel
    CHECK(cost.data_gradient == 5.4_us);   // 2400 bytes and a kernel
    CHECK(cost.weight_gradient == 20_us);  // 5000 rows of four bytes, for all samples
    CHECK(cost.backward() == 25.4_us);
  }
}

TEST_CASE("layer cost by hand: the three products of a Linear in fp32") {
  Layer layer = linear();
  layer.backward_elements = 8192;  // the bias gradient sums 128 x 64
  layer.backward_kernels = 3;
  // 2 x 256 rows x 64 columns x 256 deep are 8 388 608 operations. They take 16.777 216 us at 0.5
  // TFLOPS, and twice that at 0.25. Operands are 2 x (128 x 256 + 128 x 64) elements, and with 16
  // 384 weights 393 216 bytes.
  const LayerCost cost = cost_of(layer);
  // 256 x 64 outputs are two tiles, which fill two multiprocessors.
  CHECK(cost.forward == 3_us + 16.777216_us + 393.216_us);
  // 256 x 256 outputs are eight tiles. Backward moves 2 x 8192 more elements and runs three
  // kernels.
  CHECK(cost.data_gradient == 9_us + 65.536_us + 33.554432_us + 393.216_us);
  CHECK(cost.weight_gradient == 33.554432_us + 393.216_us);
  layer.data_gradient = false;
  CHECK(cost_of(layer).data_gradient == 9_us + 65.536_us);
  CHECK(cost_of(layer).weight_gradient == cost.weight_gradient);
}

TEST_CASE(
    "layer cost by hand: a product fills multiprocessors in tiles of 128 x 64 and depth of 256") {
  GpuModel gpu = small_gpu();
  gpu.sms = 8;
  gpu.memory_bandwidth = Bandwidth::bytes_per_second(1e30);  // only arithmetic takes time
  LayerCostConstants constants = round_constants();
  constants.kernel_us = 0;
  const auto forward = [&](std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    const Layer layer = with_product(
        LayerKind::linear, {.in = depth, .out = columns, .positions_in = rows, .out_height = rows},
        depth * columns);
    return layer_cost(layer, {.gpu = gpu, .batch = 1}, constants).forward;
  };
  // 2 x 128 x 64 x 256 = 4 194 304 operations take 8.388 608 us at 0.5 TFLOPS on all eight
  // multiprocessors. A single tile uses one of them and takes eight times as long.
  CHECK(forward(128, 64, 256) == 67.108864_us);
  CHECK(forward(1024, 64, 256) == 67.108864_us);   // eight tiles, eight times the work
  CHECK(forward(2048, 64, 256) == 134.217728_us);  // more tiles than multiprocessors gain nothing
  CHECK(forward(129, 64, 256) == 33.816576_us);    // a 129th row begins a second tile
  CHECK(forward(128, 65, 256) == 67.108864_us);    // a second tile, which is nearly empty
  CHECK(forward(128, 32, 256) == 67.108864_us);    // half a tile takes as long
  CHECK(forward(128, 64, 512) == 67.108864_us);    // split in two by depth
  CHECK(forward(128, 64, 511) == 133.955584_us);   // not deep enough
  CHECK(forward(128, 64, 255) == 66.84672_us);     // never less than one block a tile
}

TEST_CASE("layer cost by hand: the input gradient of a strided 1x1 convolution is slower") {
  Layer layer = convolution(64, 64);
  layer.product->stride = 2;
  layer.product->positions_in = 256;  // from 16x16
  layer.backward_kernels = 2;
  // 2 x 128 x 64 x 64 = 1 048 576 operations form one tile, which fills half of two
  // multiprocessors. Operands are 2 x (64 x 256 + 64 x 64) elements, and with 4096 weights 180 224
  // bytes.
  const LayerCost cost = cost_of(layer);
  CHECK(cost.forward == 3_us + 4.194304_us + 180.224_us);
  CHECK(cost.data_gradient == 6_us + 16.777216_us + 180.224_us);  // 0.25 x 0.5 TFLOPS
  CHECK(cost.weight_gradient == 8.388608_us + 180.224_us);        // 0.25
}

TEST_CASE("layer cost by hand: each group is a separate product") {
  Layer layer = convolution(32, 32);
  layer.product->groups = 2;
  layer.weights = 2 * 32 * 32;
  // Each product is 128 x 32 x 32. Two half-empty tiles run on two multiprocessors, 524 288
  // operations in all. Operands are 2 samples x 2 groups x (32 + 32) x 64 elements, and with 2048
  // weights 73 728 bytes.
  CHECK(cost_of(layer).forward == 3_us + 2.097152_us + 73.728_us);
}

TEST_CASE("layer cost by hand: in attention, both operands depend on the sample") {
  // Two heads of 64 features, 128 queries, 32 keys.
  const Layer layer =
      with_product(LayerKind::attention,
                   {.groups = 2, .in = 64, .out = 32, .positions_in = 128, .out_height = 128}, 0);
  // Four products of 128 x 32 x 64 are 2 097 152 operations. Operands of two samples are queries 2
  // x 64 x 128, scores 2 x 32 x 128 and keys 2 x 64 x 32. These 57 344 elements take 229.376 us.
  const LayerCost cost = cost_of(layer);
  CHECK(cost.forward == 3_us + 8.388608_us + 229.376_us);        // half a tile wide
  CHECK(cost.data_gradient == 3_us + 8.388608_us + 229.376_us);  // 64 wide, at half the rate
  CHECK(cost.weight_gradient == 16.777216_us + 229.376_us);      // 32 wide, at half the rate
}

TEST_CASE("layer cost by hand: half precision halves the bytes and copies the weights") {
  // 8 388 608 operations run at 8 x 0.5 TFLOPS, of which a depth of 256 reaches half. The 81 920
  // operands and 16 384 weights have two bytes each. Each weight moves six more: its half-precision
  // copy and its gradient's.
  const Duration expected = 3_us + 4.194304_us + 294.912_us;
  CHECK(cost_of(linear(), Precision::amp).forward == expected);
  CHECK(cost_of(linear(), Precision::bf16).forward == expected);
  // Conversion to NHWC and back moves 7/3 of a convolution's operands. Three samples are 192 x 64 x
  // 64, 1 572 864 operations at 8 x 0.25 TFLOPS. 24 576 operands become 57 344, and with 4096
  // weights 122 880 bytes. Copies move 6 x 4096 bytes.
  CHECK(cost_of(convolution(64, 64), Precision::amp, 3).forward == 3_us + 0.786432_us + 147.456_us);
}

TEST_CASE(
    "layer cost by hand: bfloat16 parameters are not cast, and nor is an embedding's gradient") {
  // The same as above, without the six bytes for each weight.
  CHECK(cost_of(linear(), Precision::bf16_true).forward == 3_us + 4.194304_us + 196.608_us);
  Layer embedding;
  embedding.kind = LayerKind::embedding;
  embedding.weights = 5000;
  CHECK(cost_of(embedding, Precision::bf16_true).weight_gradient == 10_us);
}

TEST_CASE("layer cost by hand: each product of a Linear has its own depth") {
  GpuModel endless = small_gpu();
  endless.memory_bandwidth = Bandwidth::bytes_per_second(1e30);
  const auto cost = [&](int capability) {
    endless.compute_capability = capability;
    return cost_of(linear(), Precision::bf16_true, 2, endless);
  };
  // 8 388 608 operations take 2.097152 us at 8 x 0.5 TFLOPS, plus two kernels. Forward has a depth
  // of 256, which reaches half. The input's gradient has a depth of 64, which reaches a fifth. The
  // weight's gradient is as deep as there are tokens, 256.
  CHECK(cost(80).forward == 3_us + 4.194304_us);
  CHECK(cost(80).data_gradient == 3_us + 10.48576_us);
  CHECK(cost(80).weight_gradient == 4.194304_us);
  // The rate is three quarters of that on GPUs from sm_90 on, and 0.94 on others.
  CHECK((cost(90).forward - 3_us).microseconds() == doctest::Approx(4.194304 / 0.75));
  CHECK((cost(100).forward - 3_us).microseconds() == doctest::Approx(4.194304 / 0.75));
  for (const int other : {70, 75, 86, 89})
    CHECK((cost(other).forward - 3_us).microseconds() == doctest::Approx(4.194304 / 0.94));
}

TEST_CASE("layer cost by hand: fused attention runs two products in forward and five in backward") {
  Layer layer;
  layer.kind = LayerKind::attention;
  layer.fused = FusedAttention{.heads = 2, .features = 64, .queries = 128, .keys = 128};
  layer.forward_elements = 1000;
  layer.backward_elements = 2000;
  layer.backward_kernels = 3;
  // Two samples of 2 x 2 x 128 x 128 x 64 products are 16 777 216 operations at 8 x 0.25 TFLOPS.
  // 4000 bytes are moved.
  CHECK(cost_of(layer, Precision::bf16).forward == 3_us + 8.388608_us + 4_us);
  CHECK(cost_of(layer, Precision::bf16).data_gradient == 9_us + 20.97152_us + 8_us);
  CHECK(cost_of(layer, Precision::bf16).weight_gradient == Duration());
  layer.fused->causal = true;  // half of the scores
  CHECK(cost_of(layer, Precision::bf16).forward == 3_us + 4.194304_us + 4_us);
  // Outside the tensor cores, the rates are 0.5 and 0.25 TFLOPS as for every product, with twice
  // the bytes.
  CHECK(cost_of(layer).forward == 3_us + 16.777216_us + 8_us);
  CHECK(cost_of(layer).data_gradient == 9_us + 83.88608_us + 16_us);
}

TEST_CASE(
    "layer cost by hand: TF32 is the default for convolutions and an option for matrix products") {
  GpuModel ampere = small_gpu();
  ampere.tf32_tflops = 2;
  const auto forward = [&](const Layer& layer, Precision precision, std::int64_t batch) {
    return cost_of(layer, precision, batch, ampere).forward;
  };
  // 1 572 864 operations run at 2 x 0.25 TFLOPS. The 57 344 operands and 4096 weights have four
  // bytes each.
  CHECK(forward(convolution(64, 64), Precision::fp32, 3) == 3_us + 3.145728_us + 245.76_us);
  CHECK(forward(convolution(64, 64), Precision::tf32, 3) == 3_us + 3.145728_us + 245.76_us);
  CHECK(forward(linear(), Precision::fp32, 2) == 3_us + 16.777216_us + 393.216_us);
  CHECK(forward(linear(), Precision::tf32, 2) == 3_us + 16.777216_us + 393.216_us);
  // On a GPU without TensorFloat-32, requesting it changes nothing.
  CHECK(cost_of(linear(), Precision::tf32).forward == 3_us + 16.777216_us + 393.216_us);
}

TEST_CASE("layer cost by hand: a 3x3 convolution in fp32 with Winograd's algorithm") {
  // From 32 to 128 channels, two samples have eight tiles of 4x4 outputs, with 6x6 places each. 36
  // products of 8 x 128 x 32 are 2 359 296 operations at 0.5 TFLOPS.
  //
  // There are 20 480 operands, and 2 x 8 x 36 x 160 elements into and out of the transformed form.
  // These 112 640 elements take 225.28 us at 2 GB/s. (Directly: 18.9 us of arithmetic and 229.4 us
  // of memory.)
  const LayerCost cost = cost_of(convolution(32, 128, {3, 3}));
  CHECK(cost.forward == 3_us + 4.718592_us + 225.28_us);
  CHECK(cost.data_gradient == 3_us + 9.437184_us + 225.28_us);  // 32 columns fill half a tile
  CHECK(cost.weight_gradient == 4.718592_us + 225.28_us);
  // A 9x9 map takes three tiles per side. If Winograd is not faster, it is not used.
  Layer odd = convolution(32, 128, {3, 3});
  odd.product->out_height = 9;
  odd.product->positions_in = 72;
  // Directly: 144 x 128 x 288 in four tiles are 10 616 832 operations. 2 x (32 x 72 + 128 x 72)
  // operands and 36 864 weights are 239 616 bytes. Winograd moves 23 040 + 2 x 12 x 36 x 160
  // elements, which takes 322.6 us.
  CHECK(cost_of(odd).forward == 3_us + 21.233664_us + 239.616_us);
}

TEST_CASE(
    "layer cost by hand: Winograd applies to square, plain and dense 3x3 and 5x5 kernels in fp32") {
  LayerCostConstants constants = round_constants();
  constants.winograd_product = 1e9;  // Winograd costs nothing if it may be used
  constants.winograd_memory = 1e9;
  constants.kernel_us = 0;
  const auto free = [&](const Layer& layer, Precision precision = Precision::fp32) {
    const ComputeSetting setting = {.gpu = small_gpu(), .precision = precision, .batch = 2};
    return layer_cost(layer, setting, constants).forward < 1_us;
  };
  CHECK(free(convolution(32, 32, {3, 3})));
  CHECK(free(convolution(32, 32, {5, 5})));
  CHECK_FALSE(free(convolution(32, 32, {1, 1})));
  CHECK_FALSE(free(convolution(32, 32, {7, 7})));
  CHECK_FALSE(free(convolution(32, 32, {3, 5})));
  CHECK_FALSE(free(convolution(32, 32, {4, 4})));
  CHECK_FALSE(free(convolution(32, 32, {3, 3}), Precision::amp));
  Layer strided = convolution(32, 32, {3, 3});
  strided.product->stride = 2;
  CHECK_FALSE(free(strided));
  Layer grouped = convolution(32, 32, {3, 3});
  grouped.product->groups = 2;
  CHECK_FALSE(free(grouped));
}

TEST_CASE(
    "optimizer cost by hand: foreach kernels pass over the parameters more often than fused ones") {
  // 12.5 GB/s at an efficiency of 0.96 are 12 bytes per nanosecond. Each kernel takes 2.8 us.
  GpuModel gpu = small_gpu();
  gpu.memory_bandwidth = 12.5_GBps;
  Model model;
  model.sample = SampleKind::image;
  for (int k = 0; k < 30; ++k) {
    Parameter parameter;
    parameter.shape = {{2000}};
    parameter.dtype = k == 0 ? Dtype::float16 : Dtype::float32;  // the state is fp32 in any case
    model.parameters.push_back(parameter);
  }
  // 60 000 elements x 4 bytes take 20 us each time. Momentum passes eight times, in three kernels.
  CHECK(optimizer_cost(model, gpu) == 160_us + 8.4_us);
  model.sample = SampleKind::sequence;
  CHECK(optimizer_cost(model, gpu) == 360_us + 19.6_us);
  model.optimizer = Optimizer::adamw;
  CHECK(optimizer_cost(model, gpu) == 400_us + 22.4_us);
  model.fused_optimizer = true;
  CHECK(optimizer_cost(model, gpu) == 140_us + 2.8_us);
}

TEST_CASE("layer cost by hand: autocast reads and writes fp32 where an input is fp32") {
  Layer layer;
  layer.forward_elements = 300;
  layer.backward_elements = 300;
  layer.autocast_width = 3;
  // Two samples of 300 elements of three bytes are 1800 bytes, and a kernel takes 3 us.
  CHECK(cost_of(layer, Precision::bf16).forward == 4.8_us);
  CHECK(cost_of(layer, Precision::bf16).backward() == 4.8_us);
  CHECK(cost_of(layer, Precision::bf16_true).forward == 4.2_us);
  CHECK(cost_of(layer, Precision::fp32).forward == 5.4_us);
}

TEST_CASE("layer cost by hand: a cast exists only where the formats differ") {
  Layer layer;
  layer.forward_kernels = 0;
  layer.backward_kernels = 0;
  layer.autocast_casts = 100;
  layer.half_casts = 50;
  // Each way it reads four bytes and writes two, or the reverse: 1200 bytes and a kernel.
  CHECK(cost_of(layer, Precision::amp).forward == 4.2_us);
  CHECK(cost_of(layer, Precision::amp).backward() == 4.2_us);
  CHECK(cost_of(layer, Precision::bf16_true).forward == 3.6_us);
  CHECK(cost_of(layer, Precision::fp32).forward == Duration());
  layer.data_gradient = false;
  CHECK(cost_of(layer, Precision::amp).backward() == Duration());
}

TEST_CASE("layer cost by hand: BatchNorm in bfloat16 walks each channel in one thread block") {
  Layer layer;
  layer.kind = LayerKind::normalization;
  layer.weights = 2 * 64;
  layer.outputs = 64 * 10'000;
  layer.forward_kernels = 0;
  layer.backward_kernels = 0;
  // Two samples are 20 000 elements of each channel, at 1.2 ns forward and 2.05 ns backward.
  CHECK(cost_of(layer, Precision::bf16).forward == 24_us);
  CHECK(cost_of(layer, Precision::bf16).backward() == 41_us);
  CHECK(cost_of(layer, Precision::amp).forward == Duration());
  CHECK(cost_of(layer, Precision::fp32).forward == Duration());
  layer.channels_last = true;
  CHECK(cost_of(layer, Precision::bf16).forward == Duration());
}

TEST_CASE("layer cost by hand: cuDNN's BatchNorm in channels_last reads each element once") {
  Layer layer;
  layer.kind = LayerKind::normalization;
  layer.weights = 2;
  layer.outputs = 100;
  layer.forward_elements = 300;
  layer.backward_elements = 500;
  layer.forward_kernels = layer.backward_kernels = 0;
  const LayerCost copied = cost_of(layer, Precision::amp);
  layer.channels_last = true;
  const LayerCost persistent = cost_of(layer, Precision::amp);
  CHECK(persistent.forward / copied.forward == doctest::Approx(2. / 3));
  CHECK(persistent.backward() / copied.backward() == doctest::Approx(3. / 5));
  CHECK(cost_of(layer, Precision::bf16).forward == copied.forward);
}

TEST_CASE("layer cost by hand: only FlashAttention lets heads share keys without writing scores") {
  Layer layer;
  layer.kind = LayerKind::attention;
  layer.fused = {.heads = 4, .features = 16, .queries = 10, .keys = 10, .key_heads = 2};
  layer.forward_kernels = 0;
  // Two samples have 800 scores. Each product takes 2 x 800 x 16 operations, at 0.25 TFLOPS. Scores
  // are read or written 9.5 times, four bytes each.
  CHECK(cost_of(layer).forward == 0.2048_us + 30.4_us);
  CHECK(cost_of(layer, Precision::bf16).forward < 1_us);
  GpuModel older = small_gpu();
  older.compute_capability = 75;
  CHECK(cost_of(layer, Precision::amp, 2, older).forward > 15_us);
  layer.fused->key_heads = 4;
  CHECK(cost_of(layer).forward < 1_us);
}

TEST_CASE("layer cost by hand: half precision multiplies odd lengths slowly") {
  Layer even = linear();
  Layer odd = even;
  odd.product->out = 63;
  CHECK(cost_of(odd, Precision::bf16).forward < cost_of(even, Precision::fp32).forward);
  CHECK(cost_of(odd, Precision::tf32).forward <= cost_of(even, Precision::tf32).forward);
  GpuModel many = small_gpu();
  many.memory_bandwidth = Bandwidth::gigabytes_per_second(1e6);
  many.compute_capability = 90;
  CHECK(cost_of(odd, Precision::bf16, 64, many).forward >
        cost_of(even, Precision::bf16, 64, many).forward);
}
