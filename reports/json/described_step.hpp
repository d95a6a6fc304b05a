// The parts of ddpsim.result/1 that describe a step.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// A step and the scheme of --scheme, which is null without --scheme.
struct ShownStep {
  const StepResult& step;
  const Scheme* scheme;
};
const Described<ShownStep>& described_step();

const Described<StepBudget>& described_budget();
const Described<TrainingSpeed>& described_speed();

/// The time that a cause takes from a step, and its interval.
struct LossRow {
  LossCause cause;
  Duration time;
  LossInterval interval;
};
/// A row for every cause, always in the same order, with intervals from `confidence`. Causes of
/// schemes are included only if they take time.
std::vector<LossRow> loss_rows(const Loss& loss, const Confidence& confidence);
const Described<LossRow>& described_loss();

const Described<ModelAveraging>& described_averaging();

}  // namespace ddpsim
