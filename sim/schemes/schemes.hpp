// Data-parallel schemes that run without DDP's reducer, one file each: what it gathers, computes, reduces and steps, in the order
// its own library does, and what of it is to be known beside (scheme_rules.hpp).
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

SchemeRules rules_of(const NaiveAllReduce& scheme);
SchemeRules rules_of(const Fsdp1& scheme);
SchemeRules rules_of(const Fsdp2& scheme);
SchemeRules rules_of(const Zero& scheme);
SchemeRules rules_of(const MegatronOptimizer& scheme);
SchemeRules rules_of(const DataParallel& scheme);
SchemeRules rules_of(const ParameterServer& scheme);

}  // namespace ddpsim
