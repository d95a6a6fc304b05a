// What an optimizer keeps in addition to parameters and gradients. This decides memory. The
// recording holds the optimizer's time; the extra time for stepping one parameter after another
// depends on the optimizer, too.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Optimizers of torch.optim: SGD without and with momentum, Adam, AdamW.
enum class Optimizer { sgd, momentum, adam, adamw };
/// The word that --optimizer takes: "sgd", "momentum", "adam", "adamw".
std::string_view word_of(Optimizer optimizer);
inline constexpr std::array kOptimizers = {Optimizer::sgd, Optimizer::momentum, Optimizer::adam,
                                           Optimizer::adamw};
/// The optimizer of this word; absent if there is none.
std::optional<Optimizer> optimizer_from_word(std::string_view word);

/// Number of kernels that torch.optim (2.0 to 2.13) launches to step one parameter. It launches one
/// for each update of the parameter, of a moment, and of the denominator.
int step_kernels(Optimizer optimizer);

/// Bytes that an optimizer reads and writes to step one element of a parameter, if all its tensors
/// have elements of `element` bytes. Counted in torch/optim/sgd.py, adam.py and adamw.py of 2.13
/// (single-tensor versions). A fused optimizer reads each gradient, parameter and moment once, and
/// writes all but the gradient back.
Bytes bytes_stepped(Optimizer optimizer, bool fused, Bytes element);

struct OptimizerSetting {
  Optimizer kind = Optimizer::adam;
  /// The user did not state the optimizer.
  bool assumed = true;
  /// Parameters narrower than fp32 have an fp32 copy, whose gradient and state are fp32 (apex O2,
  /// Megatron). If false, the state has the parameter's own type, as in torch.optim.
  bool master_weights = false;
  /// Each parameter is updated in place in one kernel (fused=True), without temporaries.
  bool fused = false;
};

}  // namespace ddpsim
