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

}  // namespace ddpsim
