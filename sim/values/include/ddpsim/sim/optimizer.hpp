// What an optimizer keeps beside parameters and gradients: decides memory alone, its time is recorded.
#pragma once

#include <string_view>

namespace ddpsim {

/// torch.optim's: SGD without and with momentum, Adam, AdamW.
enum class Optimizer { sgd, momentum, adam, adamw };
/// "sgd", "momentum", "adam", "adamw", as --optimizer takes it.
std::string_view word_of(Optimizer optimizer);

struct OptimizerSetting {
  Optimizer kind = Optimizer::adam;
  bool assumed = true;  ///< nobody said which
  /// Parameters narrower than fp32 have an fp32 copy, whose gradient and state are fp32 (apex O2, Megatron).
  /// Without: state is of the parameter's own type, as torch.optim makes it.
  bool master_weights = false;
};

}  // namespace ddpsim
