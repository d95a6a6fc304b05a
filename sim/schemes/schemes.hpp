// The schedules of data-parallel schemes, one file each: what it gathers, computes, reduces and steps, in the order its own
// library does. Precondition of each: cannot_simulate(job) is absent.
#pragma once

#include "planned_step.hpp"

namespace ddpsim {

PlannedStep schedule_naive(const Job& job, const NaiveAllReduce& scheme, const StepKind& kind,
                           const std::vector<RankState>& states);
PlannedStep schedule_fsdp1(const Job& job, const Fsdp1& scheme, const StepKind& kind,
                           const std::vector<RankState>& states);
PlannedStep schedule_fsdp2(const Job& job, const Fsdp2& scheme, const StepKind& kind,
                           const std::vector<RankState>& states);

/// Stages 1 and 2.
PlannedStep schedule_zero12(const Job& job, const Zero& scheme, const StepKind& kind,
                            const std::vector<RankState>& states);
PlannedStep schedule_zero3(const Job& job, const Zero& scheme, const StepKind& kind,
                           const std::vector<RankState>& states);
PlannedStep schedule_megatron(const Job& job, const MegatronOptimizer& scheme, const StepKind& kind,
                              const std::vector<RankState>& states);
PlannedStep schedule_data_parallel(const Job& job, const DataParallel& scheme, const StepKind& kind,
                                   const std::vector<RankState>& states);
PlannedStep schedule_parameter_server(const Job& job, const ParameterServer& scheme,
                                      const StepKind& kind, const std::vector<RankState>& states);

/// Compiled with python_reducer.
PlannedStep schedule_python_reducer(const Job& job, const StepKind& kind,
                                    const std::vector<RankState>& states);
PlannedStep schedule_averaging(const Job& job, const StepKind& kind,
                               const std::vector<RankState>& states);
PlannedStep schedule_slowmo(const Job& job, const StepKind& kind,
                            const std::vector<RankState>& states);

}  // namespace ddpsim
