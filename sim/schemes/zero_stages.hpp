// The schedules of DeepSpeed's ZeRO.
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

/// Stages 1 and 2.
PlannedStep schedule_zero12(const StepToPlan& step, const Zero& scheme);
PlannedStep schedule_zero3(const StepToPlan& step, const Zero& scheme);

}  // namespace ddpsim
