// Rules (scheme_rules.hpp) of the data-parallel schemes that use DDP's reducer or average
// parameters.
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

SchemeRules rules_of(const Ddp& scheme);
SchemeRules rules_of(const ZeroRedundancy& scheme);
SchemeRules rules_of(const Compiled& scheme);
SchemeRules rules_of(const PeriodicAveraging& scheme);
SchemeRules rules_of(const SlowMo& scheme);

/// Says why the job cannot run its optimizer in backward: its scheme steps parameters after
/// backward.
std::optional<std::string> cannot_step_in_backward(const Job& job);

/// What changed_numerics says of local SGD with gradients reduced within nodes.
inline constexpr const char* kNodesApart = "nodes train apart between averages of their parameters";
/// What changed_numerics says of the job's communication hook.
std::string changed_by_hook(const Job& job);

}  // namespace ddpsim
