#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ddpsim/models/layer_cost.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

namespace {

const Layer& layer_named(const Model& model, const std::string& name) {
  return *std::find_if(model.layers.begin(), model.layers.end(),
                       [&](const Layer& layer) { return layer.name == name; });
}

LayerCost cost_on(const char* gpu, const Layer& layer, Precision precision = Precision::fp32) {
  return layer_cost(layer, {find_gpu(gpu).value(), precision, 64});
}

}  // namespace

TEST_CASE("layer cost: products of every image model add up to torchvision's published value") {
  struct Known {
    const char* name;
    double giga_multiply_adds;  ///< torchvision's model pages call them GFLOPS
  };
  const Known known[] = {{"resnet18", 1.814},
                         {"resnet34", 3.664},
                         {"resnet50", 4.089},
                         {"resnet101", 7.801},
                         {"resnet152", 11.514},
                         {"resnext50_32x4d", 4.230},
                         {"resnext101_32x8d", 16.414},
                         {"vgg11", 7.609},
                         {"vgg13", 11.308},
                         {"vgg16", 15.470},
                         {"vgg19", 19.632},
                         {"alexnet", 0.714},
                         {"densenet121", 2.834},
                         {"inception_v3", 5.713}};
  for (const Known& row : known) {
    CAPTURE(row.name);
    const Model model = find_model(row.name).value();
    double sum = 0;
    for (const Layer& layer : model.layers)
      if (layer.product && layer.name.find("AuxLogits") == std::string::npos)
        sum += layer.product->multiply_adds();
    CHECK(sum / 1e9 == doctest::Approx(row.giga_multiply_adds).epsilon(0.001));
  }
}

TEST_CASE("layer cost: products of an encoder layer follow 12 s h^2 + 2 s^2 h") {
  constexpr double kTokens = 384;
  constexpr double kHidden = 1024;
  const Model model = find_model("bert-large", 384).value();
  double sum = 0;
  for (const Layer& layer : model.layers)
    if (layer.product && layer.name.find("layer.7.") != std::string::npos)
      sum += layer.product->multiply_adds();
  CHECK(sum == 12 * kTokens * kHidden * kHidden + 2 * kTokens * kTokens * kHidden);
}

TEST_CASE("layer cost: the gradient of the image is not computed") {
  const Model model = find_model("vgg16").value();
  const Layer& first = layer_named(model, "features.0");
  CHECK_FALSE(first.data_gradient);
  CHECK(layer_named(model, "features.2").data_gradient);
  Layer other = first;
  other.data_gradient = true;
  CHECK(cost_on("V100", first).data_gradient < cost_on("V100", other).data_gradient);
  CHECK(cost_on("V100", first).weight_gradient == cost_on("V100", other).weight_gradient);
}

TEST_CASE("layer cost: a wide 3x3 convolution in fp32 beats the peak of its plain products") {
  const Model model = find_model("vgg16").value();
  const Layer& layer = layer_named(model, "features.19");  // 512 to 512 channels, 28x28
  const double plain = 2 * 64 * layer.product->multiply_adds() / 15.7e12;
  CHECK(cost_on("V100", layer).forward.seconds() < plain);
  Layer strided = layer;
  strided.product->stride = 2;
  CHECK(cost_on("V100", strided).forward.seconds() > plain);
}

TEST_CASE("layer cost: by default, TF32 is used for convolutions but not for matrix products") {
  const Model vgg = find_model("vgg16").value();
  const Layer& convolution = layer_named(vgg, "features.19");
  const Layer& linear = layer_named(vgg, "classifier.0");
  CHECK(cost_on("A100", convolution).forward ==
        cost_on("A100", convolution, Precision::tf32).forward);
  CHECK(cost_on("A100", linear).forward > cost_on("A100", linear, Precision::tf32).forward);
  CHECK(cost_on("V100", linear).forward == cost_on("V100", linear, Precision::tf32).forward);
}

TEST_CASE("layer cost: a GPU twice as fast takes half the time, except for launches") {
  GpuModel twice = find_gpu("V100").value();
  twice.fp32_tflops *= 2;
  twice.memory_bandwidth = 2 * twice.memory_bandwidth;
  const Model model = find_model("resnet50").value();
  for (const char* name : {"layer3.0.conv2", "bn1", "maxpool"}) {
    CAPTURE(name);
    const Layer& layer = layer_named(model, name);
    const double one = cost_on("V100", layer).forward.microseconds() - 2.8;
    const double two = layer_cost(layer, {twice, Precision::fp32, 64}).forward.microseconds() - 2.8;
    CHECK(one == doctest::Approx(2 * two));
  }
}

TEST_CASE("layer cost: precisions have the names that an estimate uses") {
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::amp, Precision::bf16})
    CHECK(precision_from_name(name_of(precision)) == precision);
  CHECK_FALSE(precision_from_name("fp64").has_value());
}
