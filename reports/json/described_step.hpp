// What ddpsim.result/1 says of a step.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// A step, and the scheme that was asked for; null where nobody asked for one.
struct ShownStep {
  const StepResult& step;
  const Scheme* scheme;
};
const Described<ShownStep>& described_step();

const Described<StepBudget>& described_budget();
const Described<TrainingSpeed>& described_speed();

/// What a cause takes of a step, and its interval.
struct LossRow {
  LossCause cause;
  Duration time;
  LossInterval interval;
};
/// Every cause, in one order; intervals are those of `confidence`. Causes of schemes only where they take part.
std::vector<LossRow> loss_rows(const Loss& loss, const Confidence& confidence);
const Described<LossRow>& described_loss();

const Described<ModelAveraging>& described_averaging();

}  // namespace ddpsim
