// Describes how far to trust an answer.
#pragma once

#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// `confidence`, and `sensitivities` except in tables whose rows have an interval of their own.
const Described<Confidence>& described_confidence();

/// The measured step, the error of its replay, and two explanations. Precondition: there is a
/// replay.
const Described<Trust>& described_replay();

/// Logs whose measured times the cluster reproduces.
std::vector<CalibratedShape> logs_of(const Cluster& cluster, Backend backend);
const Described<CalibratedShape>& described_log();

/// confidence, warnings, calibrated_by, and the replay if the current step was measured.
const Described<ReportContext>& described_trust();

}  // namespace ddpsim
