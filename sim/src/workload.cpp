#include "ddpsim/sim/workload.hpp"

#include <array>

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

std::optional<Bytes> gradient_bytes(const Parameter& parameter) {
  if (!parameter.shape) return std::nullopt;
  for (const std::int64_t dimension : *parameter.shape)
    if (dimension == 0) return Bytes(0);
  std::int64_t bytes = element_size(parameter.dtype);
  for (const std::int64_t dimension : *parameter.shape)
    if (__builtin_mul_overflow(bytes, dimension, &bytes)) return std::nullopt;
  return Bytes(bytes);
}

std::optional<Duration> stall(const Workload& workload) {
  if (!workload.iteration) return std::nullopt;
  Duration span;
  if (workload.forward) span += *workload.forward;
  if (workload.backward) span += workload.backward->duration;
  if (workload.optimizer) span += *workload.optimizer;
  const RecordedWith& recorded = workload.recorded_with;
  if (recorded.exposed) span += *recorded.exposed;
  if (recorded.finalize) span += *recorded.finalize;
  return *workload.iteration - span;
}

}  // namespace ddpsim
