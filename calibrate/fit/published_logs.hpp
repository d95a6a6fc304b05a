// The logs that a published calibration rests on, given back by it: others' logs are seldom at hand, what was
// fitted to them is.
#pragma once

#include <vector>

#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "fit_parts.hpp"

namespace ddpsim {

/// One per job shape and release of NCCL, in the order of the calibration: the times it gives at the sizes
/// measured, within its noise of 3 %, and what NCCL chose where its own table would choose otherwise.
std::vector<MeasuredLog> published_logs(const Calibration& published, const ClusterAt& cluster_at);

/// Whether `own` holds a log of the same measurement: of the same job shape, not of another release, and as the median over
/// the sizes that both have of the same times within the noise with which published ones are given back. Where several published logs
/// are of that shape, one of these is enough: all are given back as one.
bool is_repeated(const MeasuredLog& published, const Calibration& given_back_by,
                 const std::vector<MeasuredLog>& own);

/// The release of NCCL that a log prints, or that is stated of it.
std::optional<NcclVersion> known_release(const MeasuredLog& log, const FitOptions& options);

/// Whether the own logs outdo a published one of another release of NCCL: a log of all_reduce_perf among them is of one node, or of
/// several, as it is, and none that is known to be of its release. What a release changes at any size is more than such a log tells.
bool is_outdone(const MeasuredLog& published, const std::vector<MeasuredLog>& own,
                const FitOptions& options);

Part published_part(const MeasuredLog& log, const ClusterAt& cluster_at, const FitOptions& options);

}  // namespace ddpsim
