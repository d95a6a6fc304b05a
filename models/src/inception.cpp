#include "inception.hpp"

#include <cstdint>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kClasses = 1000;
constexpr Kernel k1x1 = {1, 1};
constexpr Kernel k3x3 = {3, 3};
constexpr Kernel k5x5 = {5, 5};
constexpr Kernel k1x3 = {1, 3};
constexpr Kernel k3x1 = {3, 1};
constexpr Kernel k1x7 = {1, 7};
constexpr Kernel k7x1 = {7, 1};

/// Convolution and BatchNorm.
void unit(ModuleRecorder& model, const std::string& name, std::int64_t in, std::int64_t out,
          Kernel kernel) {
  model.conv2d(name + ".conv", in, out, kernel);
  model.batch_norm(name + ".bn", out);
}

void stem(ModuleRecorder& model) {
  unit(model, "Conv2d_1a_3x3", 3, 32, k3x3);
  unit(model, "Conv2d_2a_3x3", 32, 32, k3x3);
  unit(model, "Conv2d_2b_3x3", 32, 64, k3x3);
  unit(model, "Conv2d_3b_1x1", 64, 80, k1x1);
  unit(model, "Conv2d_4a_3x3", 80, 192, k3x3);
}

/// 35x35 map.
void block_a(ModuleRecorder& model, const std::string& name, std::int64_t in, std::int64_t pooled) {
  unit(model, name + ".branch1x1", in, 64, k1x1);
  unit(model, name + ".branch5x5_1", in, 48, k1x1);
  unit(model, name + ".branch5x5_2", 48, 64, k5x5);
  unit(model, name + ".branch3x3dbl_1", in, 64, k1x1);
  unit(model, name + ".branch3x3dbl_2", 64, 96, k3x3);
  unit(model, name + ".branch3x3dbl_3", 96, 96, k3x3);
  unit(model, name + ".branch_pool", in, pooled, k1x1);
}

/// From 35x35 to 17x17.
void block_b(ModuleRecorder& model, const std::string& name, std::int64_t in) {
  unit(model, name + ".branch3x3", in, 384, k3x3);
  unit(model, name + ".branch3x3dbl_1", in, 64, k1x1);
  unit(model, name + ".branch3x3dbl_2", 64, 96, k3x3);
  unit(model, name + ".branch3x3dbl_3", 96, 96, k3x3);
}

/// 17x17 map, its 7x7 convolutions factored.
void block_c(ModuleRecorder& model, const std::string& name, std::int64_t width) {
  constexpr std::int64_t kIn = 768;
  unit(model, name + ".branch1x1", kIn, 192, k1x1);
  unit(model, name + ".branch7x7_1", kIn, width, k1x1);
  unit(model, name + ".branch7x7_2", width, width, k1x7);
  unit(model, name + ".branch7x7_3", width, 192, k7x1);
  unit(model, name + ".branch7x7dbl_1", kIn, width, k1x1);
  unit(model, name + ".branch7x7dbl_2", width, width, k7x1);
  unit(model, name + ".branch7x7dbl_3", width, width, k1x7);
  unit(model, name + ".branch7x7dbl_4", width, width, k7x1);
  unit(model, name + ".branch7x7dbl_5", width, 192, k1x7);
  unit(model, name + ".branch_pool", kIn, 192, k1x1);
}

void auxiliary_classifier(ModuleRecorder& model) {
  unit(model, "AuxLogits.conv0", 768, 128, k1x1);
  unit(model, "AuxLogits.conv1", 128, 768, k5x5);
  model.linear("AuxLogits.fc", 768, kClasses);
}

/// From 17x17 to 8x8.
void block_d(ModuleRecorder& model, const std::string& name, std::int64_t in) {
  unit(model, name + ".branch3x3_1", in, 192, k1x1);
  unit(model, name + ".branch3x3_2", 192, 320, k3x3);
  unit(model, name + ".branch7x7x3_1", in, 192, k1x1);
  unit(model, name + ".branch7x7x3_2", 192, 192, k1x7);
  unit(model, name + ".branch7x7x3_3", 192, 192, k7x1);
  unit(model, name + ".branch7x7x3_4", 192, 192, k3x3);
}

/// 8x8 map, two of its branches forked.
void block_e(ModuleRecorder& model, const std::string& name, std::int64_t in) {
  unit(model, name + ".branch1x1", in, 320, k1x1);
  unit(model, name + ".branch3x3_1", in, 384, k1x1);
  unit(model, name + ".branch3x3_2a", 384, 384, k1x3);
  unit(model, name + ".branch3x3_2b", 384, 384, k3x1);
  unit(model, name + ".branch3x3dbl_1", in, 448, k1x1);
  unit(model, name + ".branch3x3dbl_2", 448, 384, k3x3);
  unit(model, name + ".branch3x3dbl_3a", 384, 384, k1x3);
  unit(model, name + ".branch3x3dbl_3b", 384, 384, k3x1);
  unit(model, name + ".branch_pool", in, 192, k1x1);
}

}  // namespace

Model build_model(const std::string& name, const InceptionV3Shape& /*shape*/) {
  ModuleRecorder model(name);
  stem(model);
  block_a(model, "Mixed_5b", 192, 32);
  block_a(model, "Mixed_5c", 256, 64);
  block_a(model, "Mixed_5d", 288, 64);
  block_b(model, "Mixed_6a", 288);
  block_c(model, "Mixed_6b", 128);
  block_c(model, "Mixed_6c", 160);
  block_c(model, "Mixed_6d", 160);
  block_c(model, "Mixed_6e", 192);
  auxiliary_classifier(model);
  block_d(model, "Mixed_7a", 768);
  block_e(model, "Mixed_7b", 1280);
  block_e(model, "Mixed_7c", 2048);
  model.linear("fc", 2048, kClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
