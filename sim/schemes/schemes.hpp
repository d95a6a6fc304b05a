// Data-parallel schemes without DDP's reducer, one file each. A file says what the scheme gathers,
// computes, reduces and steps, in its library's order. It also gives the scheme's rules
// (scheme_rules.hpp).
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

SchemeRules rules_of(const NaiveAllReduce& scheme);
SchemeRules rules_of(const Fsdp1& scheme);
SchemeRules rules_of(const Fsdp2& scheme);
SchemeRules rules_of(const Replicate& scheme);
SchemeRules rules_of(const Zero& scheme);
SchemeRules rules_of(const MegatronOptimizer& scheme);
SchemeRules rules_of(const DataParallel& scheme);
SchemeRules rules_of(const ParameterServer& scheme);

}  // namespace ddpsim
