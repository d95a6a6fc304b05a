#include "ddpsim/sim/values/megatron_optimizer.hpp"

namespace ddpsim {

SchemeFacts MegatronOptimizer::facts() const {
  return sharding_facts(false, kUnknownOfLibraries);
}

std::vector<SchemeOption> MegatronOptimizer::options() {
  return {flag_option("overlap_grad_reduce", overlap_grad_reduce),
          flag_option("overlap_param_gather", overlap_param_gather),
          elements_option("bucket_size", bucket_size),
          dtype_option("param_dtype", param_dtype, param_dtype),
          flag_option("grad_reduce_in_fp32", grad_reduce_in_fp32)};
}

}  // namespace ddpsim
