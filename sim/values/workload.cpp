#include "ddpsim/sim/values/workload.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace ddpsim {
namespace {

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  std::int64_t size;
};

constexpr std::array kDtypes = {
    DtypeRow{Dtype::float16, "float16", 2},     DtypeRow{Dtype::bfloat16, "bfloat16", 2},
    DtypeRow{Dtype::float32, "float32", 4},     DtypeRow{Dtype::float64, "float64", 8},
    DtypeRow{Dtype::int8, "int8", 1},           DtypeRow{Dtype::uint8, "uint8", 1},
    DtypeRow{Dtype::int16, "int16", 2},         DtypeRow{Dtype::int32, "int32", 4},
    DtypeRow{Dtype::int64, "int64", 8},         DtypeRow{Dtype::boolean, "bool", 1},
    DtypeRow{Dtype::complex64, "complex64", 8}, DtypeRow{Dtype::complex128, "complex128", 16},
};

constexpr std::array<std::string_view, 4> kReducedBy = {"reducer", "compiled", "hooks", "script"};

}  // namespace

std::int64_t element_size(Dtype dtype) {
  for (const DtypeRow& row : kDtypes)
    if (row.dtype == dtype) return row.size;
  return 0;
}

std::string_view name_of(Dtype dtype) {
  for (const DtypeRow& row : kDtypes)
    if (row.dtype == dtype) return row.name;
  return "";
}

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (const DtypeRow& row : kDtypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::string_view word_of(ReducedBy reduced_by) {
  return kReducedBy.at(static_cast<std::size_t>(reduced_by));
}

std::optional<ReducedBy> reduced_by_from_word(std::string_view word) {
  for (std::size_t i = 0; i < kReducedBy.size(); ++i)
    if (kReducedBy.at(i) == word) return static_cast<ReducedBy>(i);
  return std::nullopt;
}

std::optional<Bytes> gradient_bytes(const Parameter& parameter) {
  if (!parameter.shape) return std::nullopt;
  std::int64_t bytes = element_size(parameter.dtype);
  bool overflow = false;
  for (const std::int64_t dimension : *parameter.shape) {
    if (dimension == 0) return Bytes(0);
    overflow = __builtin_mul_overflow(bytes, dimension, &bytes) || overflow;
  }
  if (overflow) return std::nullopt;
  return Bytes(bytes);
}

std::int64_t Launches::of_backward() const {
  return std::accumulate(backward.begin(), backward.end(), std::int64_t{0});
}

bool is_estimate(const Workload& workload) {
  return std::ranges::any_of(workload.provenance,
                             [](const auto& entry) { return entry.first == kEstimateMark; });
}

std::optional<std::size_t> recording_of(const Workload& workload, int rank) {
  if (workload.ranks.empty()) return std::nullopt;
  for (std::size_t k = 0; k < workload.ranks.size(); ++k)
    if (workload.ranks[k].rank == rank) return k;
  return static_cast<std::size_t>(rank) % workload.ranks.size();
}

const Recorded& recorded_by(const Workload& workload, int rank) {
  if (const auto recording = recording_of(workload, rank)) return workload.ranks[*recording];
  return workload;
}

int micro_batches(const Recorded& recorded) {
  return recorded.earlier ? recorded.earlier->count + 1 : recorded.recorded_with.accumulate;
}

std::optional<Duration> stall(const Recorded& recorded) {
  if (!recorded.iteration) return std::nullopt;
  Duration span;
  if (recorded.forward) span += *recorded.forward;
  if (recorded.backward) span += recorded.backward->duration;
  if (recorded.optimizer) span += *recorded.optimizer;
  const RecordedWith& with = recorded.recorded_with;
  if (with.exposed) span += *with.exposed;
  if (with.finalize) span += *with.finalize;
  return *recorded.iteration - span;
}

Duration waited_for_data(const Recorded& recorded) {
  if (!recorded.data_loading) return Duration();
  const Duration pause = std::max(stall(recorded).value_or(Duration()), Duration());
  return std::min(pause, recorded.data_loading->median);
}

std::optional<Duration> supply_interval(const Recorded& recorded) {
  constexpr double kWaits = 0.01;  // of a step
  if (!recorded.data_loading || !recorded.data_loading->processes || !recorded.iteration)
    return std::nullopt;
  Duration sum;
  std::int64_t count = 0;
  for (const StepSample& step : recorded.steps)
    if (step.iteration) {
      sum += *step.iteration;
      ++count;
    }
  const Duration mean =
      count == 0 ? *recorded.iteration : Duration::picoseconds(sum.picoseconds() / count);
  if (recorded.data_loading->mean <= mean.scaled(kWaits)) return std::nullopt;
  return mean;
}

bool launch_bound(const Recorded& recorded) {
  if (!recorded.busy || !recorded.backward || recorded.backward->duration <= Duration())
    return false;
  return recorded.busy->backward < recorded.backward->duration.scaled(1 - kLaunchBound);
}

}  // namespace ddpsim
