#include "ddpsim/sim/values/reduced_by.hpp"

namespace ddpsim {

std::string_view caller_of(ReducedBy reduced_by) {
  switch (reduced_by) {
    case ReducedBy::compiled:
      return "nodes of torch.compile";
    case ReducedBy::hooks:
      return "hooks of its own";
    case ReducedBy::script:
      return "the script, after backward,";
    case ReducedBy::reducer:
      break;
  }
  return "";
}

}  // namespace ddpsim
