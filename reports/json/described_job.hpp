// Describes the job that was asked for: its settings and its memory.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// torch, nccl, backend, network.
const Described<ReportContext>& described_versions();
/// workload, cluster, ranks, versions, compute_scale, rank_slowdown, variation, DDP's options, bucket_setting.
const Described<ReportContext>& described_setting();

/// The peak memory of a rank and its parts.
const Described<PeakMemory>& described_memory();

}  // namespace ddpsim
