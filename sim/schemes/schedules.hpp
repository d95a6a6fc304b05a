// Schedules of the schemes whose rules are in a separate file.
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

PlannedStep schedule_fsdp1(const StepToPlan& step, const Fsdp1& scheme);
PlannedStep schedule_fsdp2(const StepToPlan& step, const Fsdp2& scheme);
/// ZeRO stages 1 and 2.
PlannedStep schedule_zero12(const StepToPlan& step, const Zero& scheme);
PlannedStep schedule_zero3(const StepToPlan& step, const Zero& scheme);
PlannedStep schedule_parameter_server(const StepToPlan& step, const ParameterServer& scheme);
/// Precondition: the job's scheme is Compiled with python_reducer.
PlannedStep schedule_python_reducer(const StepToPlan& step);

}  // namespace ddpsim
