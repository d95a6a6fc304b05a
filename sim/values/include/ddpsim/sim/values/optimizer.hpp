// What an optimizer keeps beside parameters and gradients: decides memory. Its time is recorded; what stepping parameter
// by parameter adds to that depends on it, too.
#pragma once

#include <string_view>

namespace ddpsim {

/// torch.optim's: SGD without and with momentum, Adam, AdamW.
enum class Optimizer { sgd, momentum, adam, adamw };
/// "sgd", "momentum", "adam", "adamw", as --optimizer takes it.
std::string_view word_of(Optimizer optimizer);

/// Kernels of one step of one parameter, as torch.optim's functions of 2.0 to 2.13 launch them: one for each update of the
/// parameter, of a moment, and of the denominator.
int step_kernels(Optimizer optimizer);

struct OptimizerSetting {
  Optimizer kind = Optimizer::adam;
  bool assumed = true;  ///< nobody said which
  /// Parameters narrower than fp32 have an fp32 copy, whose gradient and state are fp32 (apex O2, Megatron).
  /// Without: state is of the parameter's own type, as torch.optim makes it.
  bool master_weights = false;
};

}  // namespace ddpsim
