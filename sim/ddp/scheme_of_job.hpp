// The rules of the scheme that a job runs.
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

/// The job must outlive its rules.
SchemeRules scheme_rules(const Job& job);

}  // namespace ddpsim
