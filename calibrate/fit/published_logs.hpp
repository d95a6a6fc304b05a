// Recovers the logs behind a published calibration from the calibration itself, because other
// people's logs are seldom available.
#pragma once

#include <vector>

#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "fit_parts.hpp"

namespace ddpsim {

/// One log per job shape and NCCL release, in the order of the calibration. It has the
/// calibration's times at the measured sizes, within its noise of 3 %. It also has NCCL's choices
/// where its own table would choose differently.
std::vector<MeasuredLog> published_logs(const Calibration& published, const ClusterAt& cluster_at);

/// Whether `own` holds a log of the same measurement. That log has the same job shape and no other
/// release. Its times agree in the median over common sizes, within the noise of the recovered log.
/// If several published logs have that shape, one match is enough, because they are recovered as
/// one log.
bool is_repeated(const MeasuredLog& published, const Calibration& given_back_by,
                 const std::vector<MeasuredLog>& own);

/// The NCCL release that a log prints, or that the user stated for it.
std::optional<NcclVersion> known_release(const MeasuredLog& log, const FitOptions& options);

/// Whether the own logs replace a published one of another NCCL release. They do if one of them is
/// from all_reduce_perf on the same kind of job (one node or several), and none is known to have
/// its release. A release changes more, at any size, than the published log can tell.
bool is_outdone(const MeasuredLog& published, const std::vector<MeasuredLog>& own,
                const FitOptions& options);

Part published_part(const MeasuredLog& log, const ClusterAt& cluster_at, const FitOptions& options);

}  // namespace ddpsim
