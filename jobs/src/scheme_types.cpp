#include "scheme_types.hpp"

#include <fmt/format.h>

#include <variant>

#include "ddpsim/models/layer_cost.hpp"

namespace ddpsim {

bool take_types_of_estimate(const Workload& workload, Scheme& scheme) {
  if (!is_estimate(workload) || workload.precision != name_of(Precision::bf16)) return false;
  return std::visit(
      [](auto& of) {
        if constexpr (requires { of.own_types; }) {
          if (of.own_types || of.param_dtype || of.reduce_dtype) return false;
          of.param_dtype = Dtype::bfloat16;
          of.reduce_dtype = Dtype::float32;
          return true;
        } else {
          return false;
        }
      },
      static_cast<Scheme::variant&>(scheme));
}

std::string types_warning(const Scheme& scheme) {
  return fmt::format(
      "param_dtype=bf16 and reduce_dtype=fp32 follow the estimate's bf16; "
      "{}:param_dtype=parameters "
      "keeps fp32",
      name_of(scheme));
}

}  // namespace ddpsim
