#include "scheme_types.hpp"

#include <fmt/format.h>

#include <variant>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/layer_cost.hpp"
#include "ddpsim/models/transfer.hpp"

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

void require_contiguous(const Workload& workload, const std::string& source, const Scheme& scheme) {
  const bool of_fully_shard =
      std::holds_alternative<Fsdp2>(scheme) || std::holds_alternative<Replicate>(scheme);
  if (!of_fully_shard || !states_channels_last(workload)) return;
  throw InputError({.file = source,
                    .where = "",
                    .message = fmt::format("--scheme {} takes no parameters in channels_last: "
                                           "PyTorch raises NotImplementedError",
                                           name_of(scheme)),
                    .hint = "Leave out channels_last, or use --scheme ddp or fsdp1"});
}

std::string types_warning(const Scheme& scheme) {
  return fmt::format(
      "param_dtype=bf16 and reduce_dtype=fp32 follow the estimate's bf16; "
      "{}:param_dtype=parameters "
      "keeps fp32",
      name_of(scheme));
}

}  // namespace ddpsim
