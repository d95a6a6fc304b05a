// What kind of numbers a key has: times or rates, single steps or means, durations or instants.
#pragma once

#include "step_readings.hpp"

namespace ddpsim {

double median_of_readings(const StepKey& key);
bool has_unit(const StepKey& key);
bool is_time(const StepKey& key);
/// Whether the key is transformers.Trainer's own mean. Its state has that mean with more digits,
/// and it includes all evaluation.
bool is_of_run(const StepKey& key);
/// The lower the level, the more certainly the key holds single steps.
int level_of(const StepKey& key);
bool grows_by_itself(const StepKey& key);
/// Whether a bare time grows from line to line, so that it is the time since the start.
bool grows(const StepKey& key);
/// Whether the numbers are instants between 2008 and 2096: seconds since 1970, or thousandths of
/// them or less.
bool is_clock(const StepKey& key);
/// Whether means are over all steps so far. Such means change less and less from one to the next.
bool is_running_mean(const StepKey& key);
/// Tells whose samples are counted. DeepSpeed's ThroughputTimer and transformers.Trainer count those of
/// all GPUs.
StepTimeName::Scope scope_of(const StepKey& key);

}  // namespace ddpsim
