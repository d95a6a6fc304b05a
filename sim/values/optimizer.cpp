#include "ddpsim/sim/optimizer.hpp"

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

}  // namespace ddpsim
