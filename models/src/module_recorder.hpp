// Builds a Model by naming its modules in the order forward runs them.
//
// The gradient-ready order is derived, not listed. Autograd always takes the node created last, and
// runs AccumulateGrad as soon as its gradient exists, so gradients become ready in the reverse
// order of execution. Inside one module the order depends on its backward: a Linear (addmm)
// finishes its bias first, because the weight goes through one more node (the transpose); BatchNorm
// finishes weight, then bias.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

class ModuleRecorder {
 public:
  explicit ModuleRecorder(std::string model_name);

  /// Bias-free convolution with a square kernel.
  void conv2d(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t kernel);
  /// Affine, with running statistics (buffers).
  void batch_norm(const std::string& name, std::int64_t channels);
  void linear(const std::string& name, std::int64_t in, std::int64_t out);

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
