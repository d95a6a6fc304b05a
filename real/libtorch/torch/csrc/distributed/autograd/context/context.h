// Debian's libtorch-dev lacks this header of PyTorch, but c10d/reducer.hpp includes it for two names.
// The reducer uses them only if RPC's distributed autograd runs, which it does not here.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace torch {
namespace distributed {
namespace autograd {

class DistAutogradContext {
 public:
  using GradCallback = std::function<bool(at::Tensor&)>;
};
using ContextPtr = std::shared_ptr<DistAutogradContext>;

}  // namespace autograd
}  // namespace distributed
}  // namespace torch
