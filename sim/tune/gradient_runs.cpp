#include "gradient_runs.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/step/bucket_assignment.hpp"

namespace ddpsim {

GradientRuns::GradientRuns(const Workload& workload, const DdpOptions& options,
                           TorchVersion torch) {
  const std::vector<std::size_t> order = bucket_limits(options, torch).rebuilt_from
                                             ? ready_order(workload)
                                             : definition_order(workload);
  std::vector<std::vector<std::size_t>> kinds;
  const auto kind_of = [&](const Parameter& parameter) {
    return std::find_if(kinds.begin(), kinds.end(), [&](const std::vector<std::size_t>& kind) {
      const Parameter& met = workload.parameters[order[kind.front()]];
      return met.dtype == parameter.dtype && met.device == parameter.device;
    });
  };
  for (std::size_t position = 0; position < order.size(); ++position) {
    const Parameter& parameter = workload.parameters[order[position]];
    if (parameter.sparse_gradient) {
      sparse_.push_back(position);
      continue;
    }
    const auto kind = kind_of(parameter);
    if (kind == kinds.end())
      kinds.push_back({position});
    else
      kind->push_back(position);
  }
  bytes_before_.push_back(Bytes());
  for (const std::vector<std::size_t>& kind : kinds) {
    kinds_.push_back({positions_.size(), positions_.size() + kind.size()});
    for (const std::size_t position : kind) {
      const Bytes bytes = gradient_bytes(workload.parameters[order[position]]).value_or(Bytes());
      bytes_before_.push_back(bytes_before_.back() + bytes);
      positions_.push_back(position);
    }
  }
  order_tells_ = bucket_limits(options, torch).rebuilt_from && kinds_.size() + sparse_.size() > 1;
}

std::vector<std::size_t> GradientRuns::in_order(std::vector<Emission> emissions) const {
  for (const std::size_t position : sparse_) emissions.push_back({position, position});
  std::sort(emissions.begin(), emissions.end(),
            [](const Emission& a, const Emission& b) { return a.at < b.at; });
  std::vector<std::size_t> firsts;
  for (const Emission& emission : emissions) firsts.push_back(emission.first);
  return firsts;
}

Cut GradientRuns::cut(std::span<const Bytes> limits, Watched watched) const {
  Cut cut;
  std::vector<Emission> emissions;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const Kind& kind = kinds_[k];
    const auto last = bytes_before_.begin() + static_cast<std::ptrdiff_t>(kind.end);
    std::size_t limit = 0;
    for (std::size_t begin = kind.begin; begin < kind.end;) {
      const Bytes before = bytes_before_[begin];
      const auto from = bytes_before_.begin() + static_cast<std::ptrdiff_t>(begin) + 1;
      const auto closes = std::partition_point(
          from, last + 1, [&](Bytes bytes) { return bytes - before < limits[limit]; });
      const bool closed = closes != last + 1;
      const std::size_t end =
          closed ? static_cast<std::size_t>(closes - bytes_before_.begin()) : kind.end;
      cut.ends.push_back(end);
      const std::size_t left_over = positions_.size() + sparse_.size() + kinds_.size() - k;
      if (order_tells_)
        emissions.push_back({closed ? positions_[end - 1] : left_over, positions_[begin]});
      begin = end;
      if (!closed) break;
      const Bytes bytes = *closes - before;
      if (watched.holds(limit))
        cut.smallest_closed = std::min(cut.smallest_closed.value_or(bytes), bytes);
      limit = std::min(limit + 1, limits.size() - 1);
    }
  }
  if (order_tells_) cut.emitted = in_order(std::move(emissions));
  return cut;
}

}  // namespace ddpsim
