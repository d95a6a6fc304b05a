// A simple predictor to compare the calibration with: a LogGP model, which knows nothing of NCCL.
// Its ten parameters are fitted by least squares of logarithms, over all shapes together.
//
//   T  =  a + b log2 n + c log2 N + o (N > 1)
//      +  S (d + e (n-1)/n + f (N > 1))
//      +  p [S > 64 KiB] + q (N > 1) [S > 64 KiB]
//      +  S^(1/2) (r + s (N > 1))
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"

namespace ddpsim {

struct LogGp {
  static constexpr int kParameters = 10;
  std::array<double, kParameters> value{};

  static std::array<double, kParameters> terms(JobShape shape, Bytes size) {
    const double n = shape.ranks();
    const double several = shape.nodes > 1 ? 1 : 0;
    const double bytes = static_cast<double>(size.count());
    const double late = bytes > 65536 ? 1 : 0;
    return {1,
            std::log2(n),
            std::log2(shape.nodes),
            several,
            bytes * (n - 1) / n,
            bytes * several * (shape.nodes - 1) / shape.nodes,
            late,
            late * several,
            std::sqrt(bytes),
            std::sqrt(bytes) * several};
  }
  double time_us(JobShape shape, Bytes size) const {
    const auto term = terms(shape, size);
    double sum = 0;
    for (int i = 0; i < kParameters; ++i)
      sum += value[static_cast<std::size_t>(i)] * term[static_cast<std::size_t>(i)];
    return sum > 0.1 ? sum : 0.1;
  }
};

/// Non-negative parameters by multiplicative updates of relative errors: no library, no start to
/// choose, always the same.
inline LogGp fit_loggp(const std::vector<MeasuredLog>& logs) {
  LogGp fit;
  fit.value.fill(1e-6);
  fit.value[0] = 1;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    std::array<double, LogGp::kParameters> wanted{};
    std::array<double, LogGp::kParameters> have{};
    for (const MeasuredLog& log : logs)
      for (const MeasuredPoint& point : log.points) {
        const auto term = LogGp::terms(*log.shape(), point.size);
        const double share = fit.time_us(*log.shape(), point.size) / point.time_us;
        for (std::size_t i = 0; i < term.size(); ++i) {
          wanted[i] += term[i] / point.time_us;
          have[i] += term[i] / point.time_us * share;
        }
      }
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (have[i] > 0) fit.value[i] *= wanted[i] / have[i];
  }
  return fit;
}

}  // namespace ddpsim
