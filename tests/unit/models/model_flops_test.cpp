#include "ddpsim/models/model_flops.hpp"

#include <doctest/doctest.h>

#include "ddpsim/models/frozen.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

TEST_CASE("model FLOPs: published numbers of multiply-adds, forward and twice backward") {
  // torchvision states 4.09 GMACs for ResNet-50 at 224 pixels. The gradient of the image, 118
  // MMACs, is not computed.
  const SampleWork resnet = sample_work(find_model("resnet50").value());
  CHECK(resnet.flops / 1e9 == doctest::Approx(2 * (3 * 4.089 - 0.118)).epsilon(0.005));
  CHECK(resnet.convolution_flops < resnet.flops);
  CHECK(resnet.convolution_flops > 0.99 * resnet.flops);
  CHECK(resnet.tokens == 0);
}

TEST_CASE("model FLOPs: a decoder has 6 N + 12 L H Q T per token with any attention kernel") {
  const std::int64_t tokens = 1024;
  const ModelDescription gpt2 = describe_model("gpt2").value();
  const SampleWork eager = sample_work(build_model(gpt2, tokens, AttentionKernel::eager));
  const SampleWork fused = sample_work(build_model(gpt2, tokens, AttentionKernel::sdpa));
  CHECK(eager.tokens == tokens);
  CHECK(fused.flops == doctest::Approx(eager.flops));
  const double layers = 12;
  const double width = 768;
  const double products = layers * 12 * width * width + width * 50257;  // the head is a product
  const double palm = 6 * products + 12 * layers * width * static_cast<double>(tokens);
  CHECK(eager.flops / static_cast<double>(tokens) == doctest::Approx(palm).epsilon(0.001));
}

TEST_CASE("model FLOPs: frozen layers compute no gradient of their weights") {
  Model model = find_model("resnet18").value();
  const double whole = sample_work(model).flops;
  REQUIRE(freeze(model, {"layer1.*", "conv1.*", "bn1.*"}).empty());
  leave_out_frozen(model);
  CHECK(sample_work(model).flops < whole);
}

TEST_CASE("model FLOPs: the peak belongs to the units that PyTorch uses by default") {
  const SampleWork work{.tokens = 0, .flops = 3e12, .convolution_flops = 2e12};
  GpuModel gpu{.fp32_tflops = 10, .tf32_tflops = 100, .half_tflops = 1000};
  CHECK(seconds_at_peak(work, gpu, Precision::bf16).value() == doctest::Approx(3e-3));
  CHECK(seconds_at_peak(work, gpu, Precision::tf32).value() == doctest::Approx(30e-3));
  CHECK(seconds_at_peak(work, gpu, Precision::fp32).value() == doctest::Approx(0.02 + 0.1));
  gpu.tf32_tflops = 0;
  CHECK(seconds_at_peak(work, gpu, Precision::fp32).value() == doctest::Approx(0.3));
  CHECK_FALSE(seconds_at_peak({}, gpu, Precision::fp32).has_value());
  CHECK_FALSE(seconds_at_peak(work, GpuModel(), Precision::fp32).has_value());
}
