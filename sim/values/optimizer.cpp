#include "ddpsim/sim/values/optimizer.hpp"

namespace ddpsim {

std::string_view word_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return "sgd";
    case Optimizer::momentum:
      return "momentum";
    case Optimizer::adam:
      return "adam";
    case Optimizer::adamw:
      return "adamw";
  }
  return "";
}

std::optional<Optimizer> optimizer_from_word(std::string_view word) {
  for (const Optimizer optimizer : kOptimizers)
    if (word_of(optimizer) == word) return optimizer;
  return std::nullopt;
}

int step_kernels(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return 1;
    case Optimizer::momentum:
      return 3;
    case Optimizer::adam:
      return 7;
    case Optimizer::adamw:
      return 8;
  }
  return 0;
}

Bytes bytes_stepped(Optimizer optimizer, bool fused, Bytes element) {
  switch (optimizer) {
    case Optimizer::sgd:
      return 3 * element;
    case Optimizer::momentum:  // scaled, added to, added
      return (fused ? 5 : 8) * element;
    case Optimizer::adam:  // lerp, scaled, addcmul, root, divided, added to, addcdiv
      return (fused ? 7 : 18) * element;
    case Optimizer::adamw:  // and the weight decayed
      return (fused ? 7 : 20) * element;
  }
  return Bytes();
}

}  // namespace ddpsim
