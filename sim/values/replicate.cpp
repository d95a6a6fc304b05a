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
  return sharding_facts(true);
}

std::vector<SchemeOption> Replicate::options() {
  const std::optional<Dtype> reduced_in = as_fully_shard().reduced_in();
  std::vector<SchemeOption> options =
      joined(wrap_options(wrap), {dtype_option("param_dtype", param_dtype, param_dtype),
                                  dtype_option("reduce_dtype", reduce_dtype, reduced_in),
                                  flag_option("no_sync", no_sync)});
  return joined(std::move(options), cpu_offload_options(offload));
}

}  // namespace ddpsim
