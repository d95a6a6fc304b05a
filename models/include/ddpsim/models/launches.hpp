// What the host launches for a step that nobody recorded: operators of PyTorch, and the kernels,
// fills and copies that these run on a GPU. Catalogue and traced modules state what each layer
// calls (Layer). The rules here add what CUDA, autocast and the optimizer do beyond that.
#pragma once

#include <cstdint>

#include "ddpsim/models/layer_cost.hpp"

namespace ddpsim {

/// Calls that the host makes, and what they launch.
struct Launched {
  std::int64_t operators = 0;
  std::int64_t kernels = 0;  ///< with fills and copies
  /// Gradients that an optimizer's Python code looks at one by one.
  double listed = 0;
  Launched& operator+=(const Launched& other);
  Launched operator+(Launched other) const { return other += *this; }
  /// Host time, as a multiple of that of an operator with one kernel.
  double host_work() const;
};

struct LayerLaunches {
  Launched forward;
  Launched backward;
};
LayerLaunches layer_launches(const Layer& layer, const ComputeSetting& setting);

/// Launches of the optimizer's step() and of zero_grad(); with fp16 also those of GradScaler.
Launched optimizer_launches(const Model& model, Precision precision);

}  // namespace ddpsim
