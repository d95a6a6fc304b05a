// Builds a Model by naming its modules in the order forward runs them.
//
// The gradient-ready order is derived, not listed. Autograd always takes the node created last, and
// runs AccumulateGrad as soon as its gradient exists, so gradients become ready in the reverse
// order of execution. Inside one module the order depends on its backward: a Linear (addmm)
// finishes its bias first, because the weight goes through one more node (the transpose); GPT-2's
// Conv1D, whose bias is the first input of its addmm, does too; a convolution, BatchNorm and
// LayerNorm finish weight, then bias. A parameter used twice (an output layer tied to the
// embedding) is ready once, when both contributions are summed: at its first use, which backward
// reaches last. The rules reproduce the orders measured of ResNet-18 and 50, VGG-16, BERT-base and
// GPT-2; those of the other models follow from them.
//
// A call both defines a module's parameters and runs it, because these models define their modules
// in the order forward runs them. Embeddings, which some look up in another order, take two calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct Kernel {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

class ModuleRecorder {
 public:
  explicit ModuleRecorder(std::string model_name);

  /// Convolutions without a bias. Each of `groups` sees its share of the input channels.
  void conv2d(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t kernel,
              std::int64_t groups = 1);
  void conv2d(const std::string& name, std::int64_t in, std::int64_t out, Kernel kernel);
  /// Square kernel.
  void conv2d_with_bias(const std::string& name, std::int64_t in, std::int64_t out,
                        std::int64_t kernel);
  /// Affine, with running statistics (buffers).
  void batch_norm(const std::string& name, std::int64_t channels);
  void layer_norm(const std::string& name, std::int64_t features);
  void linear(const std::string& name, std::int64_t in, std::int64_t out);
  /// A Linear that stores its weight as [in, out].
  void conv1d_addmm(const std::string& name, std::int64_t in, std::int64_t out);
  /// Defines a weight that look_up and tied_linear run.
  std::size_t embedding(const std::string& name, std::int64_t rows, std::int64_t features);
  void look_up(std::size_t embedding);
  /// A bias-free Linear whose weight is the embedding's.
  void tied_linear(std::size_t embedding);

  Model finish() &&;

 private:
  std::size_t define(std::string name, std::vector<std::int64_t> shape);
  /// The module ran; its gradients come in this order among themselves.
  void ran(std::vector<std::size_t> gradient_order);

  Model model_;
  std::vector<std::vector<std::size_t>> execution_;  ///< per module, in forward order
  std::int64_t running_elements_ = 0;
  std::int64_t batch_norms_ = 0;
};

}  // namespace ddpsim
