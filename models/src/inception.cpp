#include "inception.hpp"

#include <initializer_list>
#include <string>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

constexpr Kernel k1x1 = {1, 1};
constexpr Kernel k3x3 = {3, 3};
constexpr Kernel k5x5 = {5, 5};
constexpr Kernel k1x3 = {1, 3};
constexpr Kernel k3x1 = {3, 1};
constexpr Kernel k1x7 = {1, 7};
constexpr Kernel k7x1 = {7, 1};

/// Convolution, BatchNorm and ReLU. Returns the output.
Activation unit(ModuleRecorder& model, const std::string& name, const Convolution& convolution) {
  model.conv2d(name + ".conv", convolution);
  model.batch_norm(name + ".bn");
  model.relu(name + ".relu");
  return model.activation();
}

/// A convolution that keeps the size of the map.
Convolution same(std::int64_t out, Kernel kernel) {
  return {.out = out, .kernel = kernel, .padding = {kernel.height / 2, kernel.width / 2}};
}

/// A convolution without padding. The map loses a border, or shrinks with a stride of 2.
Convolution valid(std::int64_t out, Kernel kernel, std::int64_t stride = 1) {
  return {.out = out, .kernel = kernel, .stride = stride};
}

/// The branches of one mixed block. They run one after the other from the same input and are
/// joined.
class MixedBlock {
 public:
  MixedBlock(ModuleRecorder& model, std::string name)
      : model_(model), name_(std::move(name)), input_(model.activation()) {}

  /// Runs a chain of units from the block's input.
  MixedBlock& branch(std::initializer_list<std::pair<const char*, Convolution>> units) {
    model_.continue_from(input_);
    return then(units);
  }
  /// Runs two units from the end of the last chain.
  MixedBlock& fork(std::pair<const char*, Convolution> a, std::pair<const char*, Convolution> b) {
    const Activation from = model_.activation();
    channels_ -= from.channels;
    then({a});
    model_.continue_from(from);
    return then({b});
  }
  MixedBlock& average_then(std::int64_t out) {
    model_.continue_from(input_);
    model_.average_pool(name_ + ".pool", {.size = 3, .stride = 1, .padding = 1});
    return then({{"branch_pool", same(out, k1x1)}});
  }
  MixedBlock& shrink() {
    model_.continue_from(input_);
    model_.max_pool(name_ + ".pool", {.size = 3, .stride = 2});
    channels_ += input_.channels;
    return *this;
  }
  void join() { model_.concatenate(name_ + ".concat", channels_); }

 private:
  MixedBlock& then(std::initializer_list<std::pair<const char*, Convolution>> units) {
    for (const auto& [module, convolution] : units) unit(model_, name_ + "." + module, convolution);
    channels_ += model_.activation().channels;
    return *this;
  }

  ModuleRecorder& model_;
  std::string name_;
  Activation input_;
  std::int64_t channels_ = 0;
};

void stem(ModuleRecorder& model) {
  unit(model, "Conv2d_1a_3x3", valid(32, k3x3, 2));
  unit(model, "Conv2d_2a_3x3", valid(32, k3x3));
  unit(model, "Conv2d_2b_3x3", same(64, k3x3));
  model.max_pool("maxpool1", {.size = 3, .stride = 2});
  unit(model, "Conv2d_3b_1x1", valid(80, k1x1));
  unit(model, "Conv2d_4a_3x3", valid(192, k3x3));
  model.max_pool("maxpool2", {.size = 3, .stride = 2});
}

/// A block on the 35x35 map.
void block_a(ModuleRecorder& model, const std::string& name, std::int64_t pooled) {
  MixedBlock(model, name)
      .branch({{"branch1x1", same(64, k1x1)}})
      .branch({{"branch5x5_1", same(48, k1x1)}, {"branch5x5_2", same(64, k5x5)}})
      .branch({{"branch3x3dbl_1", same(64, k1x1)},
               {"branch3x3dbl_2", same(96, k3x3)},
               {"branch3x3dbl_3", same(96, k3x3)}})
      .average_then(pooled)
      .join();
}

/// A block that shrinks the map from 35x35 to 17x17.
void block_b(ModuleRecorder& model, const std::string& name) {
  MixedBlock(model, name)
      .branch({{"branch3x3", valid(384, k3x3, 2)}})
      .branch({{"branch3x3dbl_1", same(64, k1x1)},
               {"branch3x3dbl_2", same(96, k3x3)},
               {"branch3x3dbl_3", valid(96, k3x3, 2)}})
      .shrink()
      .join();
}

/// A block on the 17x17 map, with factored 7x7 convolutions.
void block_c(ModuleRecorder& model, const std::string& name, std::int64_t width) {
  MixedBlock(model, name)
      .branch({{"branch1x1", same(192, k1x1)}})
      .branch({{"branch7x7_1", same(width, k1x1)},
               {"branch7x7_2", same(width, k1x7)},
               {"branch7x7_3", same(192, k7x1)}})
      .branch({{"branch7x7dbl_1", same(width, k1x1)},
               {"branch7x7dbl_2", same(width, k7x1)},
               {"branch7x7dbl_3", same(width, k1x7)},
               {"branch7x7dbl_4", same(width, k7x1)},
               {"branch7x7dbl_5", same(192, k1x7)}})
      .average_then(192)
      .join();
}

/// The auxiliary classifier on the 17x17 map. The layers after it continue from the same map.
void auxiliary_classifier(ModuleRecorder& model) {
  const Activation input = model.activation();
  model.average_pool("AuxLogits.pool", {.size = 5, .stride = 3});
  unit(model, "AuxLogits.conv0", same(128, k1x1));
  unit(model, "AuxLogits.conv1", valid(768, k5x5));
  model.adaptive_average_pool("AuxLogits.avgpool", 1);
  model.linear("AuxLogits.fc", kImageNetClasses);
  model.continue_from(input);
}

/// A block that shrinks the map from 17x17 to 8x8.
void block_d(ModuleRecorder& model, const std::string& name) {
  MixedBlock(model, name)
      .branch({{"branch3x3_1", same(192, k1x1)}, {"branch3x3_2", valid(320, k3x3, 2)}})
      .branch({{"branch7x7x3_1", same(192, k1x1)},
               {"branch7x7x3_2", same(192, k1x7)},
               {"branch7x7x3_3", same(192, k7x1)},
               {"branch7x7x3_4", valid(192, k3x3, 2)}})
      .shrink()
      .join();
}

/// A block on the 8x8 map, with two forked branches.
void block_e(ModuleRecorder& model, const std::string& name) {
  MixedBlock(model, name)
      .branch({{"branch1x1", same(320, k1x1)}})
      .branch({{"branch3x3_1", same(384, k1x1)}})
      .fork({"branch3x3_2a", same(384, k1x3)}, {"branch3x3_2b", same(384, k3x1)})
      .branch({{"branch3x3dbl_1", same(448, k1x1)}, {"branch3x3dbl_2", same(384, k3x3)}})
      .fork({"branch3x3dbl_3a", same(384, k1x3)}, {"branch3x3dbl_3b", same(384, k3x1)})
      .average_then(192)
      .join();
}

}  // namespace

Model build_model(const std::string& name, const InceptionV3Shape& /*shape*/, std::int64_t size) {
  ModuleRecorder model(name, {.channels = 3, .height = size, .width = size});
  stem(model);
  block_a(model, "Mixed_5b", 32);
  block_a(model, "Mixed_5c", 64);
  block_a(model, "Mixed_5d", 64);
  block_b(model, "Mixed_6a");
  block_c(model, "Mixed_6b", 128);
  block_c(model, "Mixed_6c", 160);
  block_c(model, "Mixed_6d", 160);
  block_c(model, "Mixed_6e", 192);
  auxiliary_classifier(model);
  block_d(model, "Mixed_7a");
  block_e(model, "Mixed_7b");
  block_e(model, "Mixed_7c");
  model.adaptive_average_pool("avgpool", 1);
  model.dropout("dropout");
  model.linear("fc", kImageNetClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
