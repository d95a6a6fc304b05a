// Schedules whose schemes have their rules in a file apart.
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

PlannedStep schedule_fsdp1(const StepToPlan& step, const Fsdp1& scheme);
PlannedStep schedule_fsdp2(const StepToPlan& step, const Fsdp2& scheme);
/// Stages 1 and 2.
PlannedStep schedule_zero12(const StepToPlan& step, const Zero& scheme);
PlannedStep schedule_zero3(const StepToPlan& step, const Zero& scheme);
PlannedStep schedule_parameter_server(const StepToPlan& step, const ParameterServer& scheme);
/// Of a job whose scheme is Compiled with python_reducer.
PlannedStep schedule_python_reducer(const StepToPlan& step);

}  // namespace ddpsim
