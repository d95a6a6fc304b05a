#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ddpsim/models/catalogue.hpp"

using namespace ddpsim;

namespace {

std::int64_t total_bytes(const Model& model) {
  std::int64_t total = 0;
  for (const Parameter& parameter : model.parameters) total += gradient_bytes(parameter)->count();
  return total;
}

void check_is_permutation(const Model& model) {
  std::vector<std::size_t> sorted = model.ready_order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> every(model.parameters.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  CHECK(sorted == every);
}

std::string ready_name(const Model& model, std::size_t k) {
  return model.parameters[model.ready_order[k]].name;
}

}  // namespace

TEST_CASE("catalogue: ResNet-18 has torchvision's parameters") {
  const Model model = find_model("resnet18").value();
  CHECK(model.parameters.size() == 62);
  CHECK(total_bytes(model) == 46'758'048);
  CHECK(model.parameters.front().name == "conv1.weight");
  CHECK(model.parameters.front().shape == std::vector<std::int64_t>{64, 3, 7, 7});
  CHECK(model.parameters.back().name == "fc.bias");
  check_is_permutation(model);
}

TEST_CASE("catalogue: ResNet-50 has torchvision's parameters and buffers") {
  const Model model = find_model("resnet50").value();
  CHECK(model.parameters.size() == 161);
  CHECK(total_bytes(model) == 102'228'128);
  check_is_permutation(model);
  REQUIRE(model.buffers.size() == 2);
  CHECK(model.buffers[0].dtype == Dtype::float32);
  CHECK(model.buffers[0].bytes == Bytes(53'120 * 4));  // as broadcast in the open 2xA100 trace
  CHECK(model.buffers[0].tensors == 106);
  CHECK(model.buffers[1].dtype == Dtype::int64);
  CHECK(model.buffers[1].bytes == Bytes(53 * 8));
  CHECK(model.buffers[1].tensors == 53);
}

TEST_CASE("catalogue: a Linear's bias is ready before its weight, BatchNorm's weight before bias") {
  const Model model = find_model("resnet50").value();
  CHECK(ready_name(model, 0) == "fc.bias");
  CHECK(ready_name(model, 1) == "fc.weight");
  CHECK(ready_name(model, 2) == "layer4.2.bn3.weight");
  CHECK(ready_name(model, 3) == "layer4.2.bn3.bias");
  CHECK(ready_name(model, 4) == "layer4.2.conv3.weight");
  CHECK(ready_name(model, 160) == "conv1.weight");
}

TEST_CASE("catalogue: the downsample branch runs last, so its gradients come before the block's") {
  const Model model = find_model("resnet18").value();
  const auto position = [&](const std::string& name) {
    for (std::size_t k = 0; k < model.ready_order.size(); ++k) {
      if (ready_name(model, k) == name) return k;
    }
    return model.ready_order.size();
  };
  CHECK(position("layer2.0.downsample.1.weight") < position("layer2.0.downsample.0.weight"));
  CHECK(position("layer2.0.downsample.0.weight") < position("layer2.0.bn2.weight"));
  CHECK(position("layer2.1.conv1.weight") < position("layer2.0.downsample.1.weight"));
}

TEST_CASE("catalogue: an unknown model is absent, and every listed one is found") {
  CHECK_FALSE(find_model("resnet51").has_value());
  CHECK_FALSE(find_model("").has_value());
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    CHECK(find_model(name).value().name == name);
  }
}

TEST_CASE("catalogue: names, shapes and ready order equal the measured ones") {
  const std::filesystem::path path = DDPSIM_SHARED "/reference/bucket-assignment-cases.json";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: the measured parameter lists are not beside this checkout");
    return;
  }
  std::ifstream in(path);
  const nlohmann::json lists = nlohmann::json::parse(in).at("param_lists");
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    if (!lists.contains(name)) continue;
    const Model model = find_model(name).value();
    const nlohmann::json& truth = lists.at(name);
    CHECK(model.ready_order == truth.at("gradient_ready_order").get<std::vector<std::size_t>>());
    REQUIRE(model.parameters.size() == truth.at("names").size());
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      CHECK(model.parameters[i].name == truth.at("names").at(i).get<std::string>());
      CHECK(model.parameters[i].shape.value() ==
            truth.at("shapes").at(i).get<std::vector<std::int64_t>>());
    }
  }
}
