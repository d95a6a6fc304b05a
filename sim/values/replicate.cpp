#include "ddpsim/sim/values/replicate.hpp"

#include <utility>

namespace ddpsim {

Fsdp2 Replicate::as_fully_shard() const {
  return {.reshard_after_forward = false,
          .wrap = wrap,
          .group = 1,
          .param_dtype = param_dtype,
          .reduce_dtype = reduce_dtype,
          .no_sync = no_sync,
          .offload = offload};
}

SchemeFacts Replicate::facts() const {
  return sharding_facts(true, kUnknownOfPyTorch);
}

std::vector<SchemeOption> Replicate::options() {
  std::vector<SchemeOption> options =
      joined(wrap_options(wrap), mixed_precision_options(param_dtype, reduce_dtype, own_types));
  options.push_back(flag_option("no_sync", no_sync));
  return joined(std::move(options), cpu_offload_options(offload));
}

}  // namespace ddpsim
