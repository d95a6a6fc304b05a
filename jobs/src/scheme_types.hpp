// Types of parameters and gradients under FSDP, if --scheme does not state them, and their format.
#pragma once

#include <string>

#include "ddpsim/sim/values/scheme.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Sets param_dtype=bf16 and reduce_dtype=fp32 for an estimate in bf16, if neither was stated. Returns
/// whether it did. FSDP jobs state them in place of autocast: torchtitan's training configs do.
bool take_types_of_estimate(const Workload& workload, Scheme& scheme);

/// Throws InputError if fully_shard or replicate would refuse the format of the parameters.
void require_contiguous(const Workload& workload, const std::string& source, const Scheme& scheme);

/// "param_dtype=bf16 and reduce_dtype=fp32 follow …"; names the option that keeps fp32.
std::string types_warning(const Scheme& scheme);

}  // namespace ddpsim
