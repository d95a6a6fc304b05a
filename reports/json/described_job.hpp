// What documents say of the job that was asked for: its setting, and what it keeps in memory.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// torch, nccl, backend, network.
const Described<ReportContext>& described_versions();
/// workload, cluster, ranks, versions, compute_scale, rank_slowdown, variation, DDP's options, bucket_setting.
const Described<ReportContext>& described_setting();

/// What a rank's memory holds at most, part by part.
const Described<PeakMemory>& described_memory();

}  // namespace ddpsim
