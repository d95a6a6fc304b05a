// Data-parallel schemes that stand on DDP or on its kind of averaging: what of each is to be known (scheme_rules.hpp).
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

SchemeRules rules_of(const Ddp& scheme);
SchemeRules rules_of(const ZeroRedundancy& scheme);
SchemeRules rules_of(const Compiled& scheme);
SchemeRules rules_of(const PeriodicAveraging& scheme);
SchemeRules rules_of(const SlowMo& scheme);

/// Why a scheme that steps its parameters when backward is over is not simulated with this job's options.
std::optional<std::string> cannot_step_in_backward(const Job& job);

/// As changed_numerics has it of local SGD, by a hook or as a scheme.
inline constexpr const char* kNodesApart = "nodes train apart between averages of their parameters";
/// What a communication hook changes (changed_numerics).
std::string changed_by_hook(const Job& job);

}  // namespace ddpsim
