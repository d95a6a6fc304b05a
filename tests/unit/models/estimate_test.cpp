#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "mentions.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// A GPU that multiplies and moves data in no time. Only launches remain, 2.8 us each.
GpuModel endless_gpu() {
  return {.name = "endless",
          .compute_capability = 80,
          .sms = 1,
          .memory_bandwidth = Bandwidth::bytes_per_second(1e30),
          .fp32_tflops = 1e18,
          .tf32_tflops = 1e18,
          .half_tflops = 1e18,
          .memory = Bytes::max()};
}

Workload estimate(const std::string& text) {
  const EstimateSpec spec = parse_estimate_spec(text);
  return estimate_workload(spec, find_gpu(spec.gpu).value());
}

bool refusal_says(const std::string& text, const std::string& part) {
  return mentions(complaint_of([&] { estimate(text); }), part);
}

}  // namespace

TEST_CASE("estimate: a text with all parts") {
  const EstimateSpec spec = parse_estimate_spec("bert-large@A100:b8:s512:amp");
  CHECK(spec.model == "bert-large");
  CHECK(spec.gpu == "A100");
  CHECK(spec.batch == 8);
  CHECK(spec.tokens == 512);
  CHECK(spec.precision == Precision::amp);
}

TEST_CASE("estimate: parts come in any order, and missing parts have the model's defaults") {
  const EstimateSpec spec = parse_estimate_spec("gpt2@h100:bf16:b4");
  CHECK(spec.precision == Precision::bf16);
  CHECK(spec.batch == 4);
  CHECK_FALSE(spec.tokens.has_value());
  CHECK(estimate("gpt2@h100:bf16:b4").name == "estimate gpt2@H100:b4:s1024:bf16");
  CHECK(estimate("resnet50@V100").name == "estimate resnet50@V100:b32:fp32");
}

TEST_CASE("estimate: every letter of a text counts") {
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::amp, Precision::bf16}) {
    const EstimateSpec spec =
        parse_estimate_spec("gpt2@A100:" + std::string(name_of(precision)) + ":s7:b1000000");
    CHECK(spec.precision == precision);
    CHECK(spec.tokens == 7);
    CHECK(spec.batch == 1'000'000);
  }
  const EstimateSpec bare = parse_estimate_spec("gpt2@A100");
  CHECK(bare.precision == Precision::fp32);
  CHECK_FALSE(bare.batch.has_value());
  CHECK(parse_estimate_spec("gpt2@A100:b1").batch == 1);
  CHECK(parse_estimate_spec("bert-base@A100:s512").tokens == 512);
  CHECK(refusal_says("bert-base@V100:s0", "is not a sequence length"));
  CHECK(refusal_says("gpt2@V100:s", "is not understood"));
  CHECK(refusal_says("gpt2@V100:bx", "such as b32"));
  CHECK(refusal_says("gpt2@V100:sx", "such as s32"));
}

TEST_CASE("estimate: AlexNet on a GPU where only launches take time") {
  // Forward has 25 kernels: two for each of five convolutions with a bias, one for each of seven
  // ReLUs, three pools and two dropouts, and three Linears.
  //
  // Backward has 14 + 12 + 9 = 35. A convolution has three (two for the first, whose input needs no
  // gradient). The twelve layers in between have one each, and a Linear has three.
  const Workload workload = estimate_workload(parse_estimate_spec("alexnet@x:b8"), endless_gpu());
  CHECK(workload.forward == 70_us);
  CHECK(workload.backward->duration == 98_us);
  // SGD runs three kernels over all tensors. Each is launched three times, since 61 million elements
  // are more than 640 chunks.
  CHECK(workload.optimizer == 25.2_us);
  const auto& ready = workload.backward->ready;
  REQUIRE(ready.size() == 16);
  CHECK(ready[0].at == 8.4_us);   // classifier.6
  CHECK(ready[1].at == 8.4_us);   // bias and weight together
  CHECK(ready[2].at == 19.6_us);  // a ReLU and a Linear later
  CHECK(ready[14].at == 98_us);   // the first convolution
  CHECK_FALSE(ready[0].copied_at.has_value());
  CHECK_FALSE(workload.iteration.has_value());
  CHECK(workload.gpu == "endless");
  CHECK(workload.precision == "fp32");
  CHECK(workload.batch_per_gpu == 8);
  CHECK(workload.samples_per_step == 8);
  CHECK(workload.parameters.size() == 16);
  CHECK(workload.buffers.empty());
  CHECK(workload.provenance.at(0).second ==
        "estimate, not a recording: alexnet, fp32, batch 8 of images of 224 pixels a side on one "
        "endless");
  const Workload tokens =
      estimate_workload(parse_estimate_spec("bert-base@x:s16:bf16"), endless_gpu());
  CHECK(tokens.name == "estimate bert-base@endless:b32:s16:bf16");
  CHECK(tokens.provenance.at(0).second ==
        "estimate, not a recording: bert-base, bf16, batch 32 of sequences of 16 tokens on one "
        "endless");
  const Workload image = estimate_workload(parse_estimate_spec("resnet18@x"), endless_gpu());
  CHECK(image.buffers.size() == 2);
  CHECK(image.provenance.back() ==
        std::pair<std::string, std::string>("usual_optimizer", "momentum"));
  const Workload masks = estimate_workload(parse_estimate_spec("gpt2@x:s16"), endless_gpu());
  CHECK(masks.provenance.back().first == "buffers");
  CHECK(masks.provenance.back().second.starts_with("as in transformers 4.12 to 4.57, a causal"));
}

TEST_CASE("estimate: bfloat16 needs compute capability 8.0") {
  GpuModel gpu = endless_gpu();
  const EstimateSpec spec = parse_estimate_spec("alexnet@x:bf16");
  CHECK_NOTHROW(estimate_workload(spec, gpu));
  gpu.compute_capability = 79;
  CHECK_THROWS_AS(estimate_workload(spec, gpu), InputError);
}

TEST_CASE("estimate: the host launches operators of layers, casts of autocast and the optimizer") {
  // AlexNet has five convolutions and three Linears with biases, seven ReLUs, three max pools and
  // two dropouts. Further kernels of an operator count 0.35.
  //
  // Forward: 5 x (1 + 2 x 0.35) + 3 x 1.35 + 12 = 24.55. Backward: 5 x (1 + 6 x 0.35) + 3 x (3 + 2 x
  // 0.35) + 12 = 38.6. The image needs no gradient, so that three kernels less are launched.
  const Workload single = estimate("alexnet@V100");
  REQUIRE(single.launches);
  const auto sum = [](const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  CHECK(single.launches->forward == 25);
  CHECK(sum(single.launches->backward) == 38);
  CHECK(single.launches->backward.size() == single.backward->ready.size());
  // Three operators, six further kernels, and 0.3 for each of sixteen parameters.
  CHECK(single.launches->optimizer == 10);
  // Autocast casts sixteen parameters and the image, and sixteen gradients. Each convolution copies
  // its operands into NHWC, and fewer products are split.
  const Workload half = estimate("alexnet@V100:amp");
  CHECK(half.launches->forward == 42);
  CHECK(sum(half.launches->backward) == 54);
}

TEST_CASE("estimate: bad texts get a hint") {
  CHECK(refusal_says("resnet51@V100", "Did you mean \"resnet50\""));
  CHECK(refusal_says("@V100", "there is no model"));
  CHECK(refusal_says("resnet50@", "names no GPU"));
  CHECK(refusal_says("resnet50", "MODEL@GPU"));
  CHECK(refusal_says("resnet50@V100:b0", "is not a batch size"));
  CHECK(refusal_says("resnet50@V100:b-3", "is not a batch size"));
  CHECK(refusal_says("resnet50@V100:b", "is not understood"));
  CHECK(refusal_says("resnet50@V100:b3.5", "is not a batch size"));
  CHECK(refusal_says("resnet50@V100:b1e3", "is not a batch size"));
  CHECK(refusal_says("resnet50@V100:b1000001", "beyond the largest batch size"));
  CHECK(refusal_says("resnet50@V100:b99999999999999999999", "beyond the largest batch size"));
  CHECK(refusal_says("resnet50@V100:s128", "resnet50 has no sequence length"));
  CHECK(refusal_says("bert-base@V100:s513", "beyond the largest sequence length, 512"));
  CHECK(refusal_says("bert-base@V100:s-1", "is not a sequence length"));
  CHECK(refusal_says("bert-base@V100:b8:b8", "says again"));
  CHECK(refusal_says("bert-base@V100:amp:fp32", "says again"));
  CHECK(refusal_says("bert-base@V100:fp16", "is not understood"));
  CHECK(refusal_says("bert-base@V100::b8", "is not understood"));
  CHECK(refusal_says("bert-base@V100:b8:", "ends in a colon"));
  CHECK(refusal_says("bert-base@V100:bf16", "has no bfloat16 units"));
  CHECK(refusal_says("bert-base@T4:bf16", "Use amp"));
}

TEST_CASE("estimate: every model on every named GPU gives a workload that can be simulated") {
  for (const std::string& model : model_names()) {
    for (const char* gpu : {"V100", "A100", "H100", "H200", "B200", "RTX4090", "L40S", "T4"}) {
      for (const char* precision : {"fp32", "amp"}) {
        const Workload workload = estimate(model + "@" + gpu + ":" + precision);
        CAPTURE(workload.name);
        CHECK(is_estimate(workload));
        const auto frozen = std::ranges::count_if(workload.parameters, &Parameter::frozen);
        CHECK(workload.backward->ready.size() + static_cast<std::size_t>(frozen) ==
              workload.parameters.size());
        CHECK(*workload.forward > Duration());
        CHECK(*workload.forward < workload.backward->duration);
        CHECK(std::is_sorted(workload.backward->ready.begin(), workload.backward->ready.end(),
                             [](const auto& a, const auto& b) { return a.at < b.at; }));
        CHECK(workload.backward->ready.front().at > Duration());
        CHECK(workload.backward->ready.back().at <= workload.backward->duration);
      }
    }
  }
}

TEST_CASE("estimate: twice the batch takes longer, but at most twice as long") {
  for (const std::string& model : model_names()) {
    CAPTURE(model);
    const double ratio = estimate(model + "@A100:b16:amp").backward->duration /
                         estimate(model + "@A100:b8:amp").backward->duration;
    CHECK(ratio > 1);
    CHECK(ratio <= 2);
  }
}

TEST_CASE("estimate: a faster GPU, or half precision, is not slower") {
  for (const std::string& model : model_names()) {
    CAPTURE(model);
    const auto backward = [&](const char* setting) {
      return estimate(model + "@" + setting).backward->duration;
    };
    CHECK(backward("A100:amp") < backward("V100:amp"));
    CHECK(backward("H100:amp") < backward("A100:amp"));
    CHECK(backward("H200:amp") <= backward("H100:amp"));
    CHECK(backward("B200:amp") < backward("H200:amp"));
    CHECK(backward("V100:amp") < backward("V100:fp32"));
    CHECK(backward("A100:tf32") <= backward("A100:fp32"));
    // Only BatchNorm runs other kernels in bfloat16 than in float16.
    CHECK(backward("A100:bf16") >= backward("A100:amp"));
  }
}

TEST_CASE("estimate: the largest batch does not overflow") {
  const Workload workload = estimate("resnet152@T4:b1000000");
  CHECK(workload.backward->duration < Duration::max());
  CHECK(workload.backward->duration > Duration::seconds(1000));
}
