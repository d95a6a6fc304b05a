// Debian's libtorch-dev leaves this header of PyTorch out, and c10d/reducer.hpp includes it for two names. The
// reducer never looks inside unless RPC's distributed autograd runs, which it does not here.
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
