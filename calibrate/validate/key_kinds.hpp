// What kind of numbers a key has: times or rates, single steps or means, durations or points in time.
#pragma once

#include "step_readings.hpp"

namespace ddpsim {

double median_of_readings(const StepKey& key);
bool has_unit(const StepKey& key);
bool is_time(const StepKey& key);
/// transformers.Trainer's own mean has its state with more digits, and holds all evaluation.
bool is_of_run(const StepKey& key);
/// The lower, the more certainly single steps.
int level_of(const StepKey& key);
bool grows_by_itself(const StepKey& key);
/// A time alone that grows from line to line is the time since the beginning.
bool grows(const StepKey& key);
/// Seconds since 1970, or thousandths and less of them: points in time between 2008 and 2096.
bool is_clock(const StepKey& key);
/// Of values that are means: whether over all steps so far, which change less and less from one to the next.
bool is_running_mean(const StepKey& key);
/// DeepSpeed's ThroughputTimer counts the samples of all GPUs, and so does transformers.Trainer.
StepTimeName::Scope scope_of(const StepKey& key);

}  // namespace ddpsim
