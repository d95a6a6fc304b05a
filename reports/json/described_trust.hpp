// How far an answer is to be trusted, as parts of documents.
#pragma once

#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// `confidence`, and `sensitivities` but in a table, each of whose rows has an interval of its own.
const Described<Confidence>& described_confidence();

/// What was measured, what the replay misses of it, and the two explanations. Precondition: there is a replay.
const Described<Trust>& described_replay();

/// Logs whose measured times the cluster gives back.
std::vector<CalibratedShape> logs_of(const Cluster& cluster, Backend backend);
const Described<CalibratedShape>& described_log();

/// confidence, warnings, calibrated_by, and the replay where today's step was measured.
const Described<ReportContext>& described_trust();

}  // namespace ddpsim
