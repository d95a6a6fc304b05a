// The schedule of a step that is compiled with optimize_ddp="python_reducer".
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

PlannedStep schedule_python_reducer(const StepToPlan& step);

}  // namespace ddpsim
