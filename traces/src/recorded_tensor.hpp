// Tensors as the profiler writes them with record_shapes: "Input Dims": [[1000, 2048]] and "Input
// type": ["float"].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

struct RecordedTensor {
  std::vector<std::int64_t> shape;
  /// Absent: there was no tensor, because the gradient stayed undefined.
  std::optional<Dtype> dtype;
};

/// Type from its c10 name, which NCCL events use ("Float", "Half"), or from its C++ name, which
/// shapes use ("float", "c10::Half").
std::optional<Dtype> dtype_from_recorded(std::string_view name);

bool is_integer(Dtype dtype);

/// Elements times size. Absent if the product exceeds 63 bits.
std::optional<Bytes> bytes_of(const RecordedTensor& tensor);

/// The first input in "Input Dims" and "Input type", as written. Absent if they are not such lists.
std::optional<RecordedTensor> first_input(std::string_view dims, std::string_view types);

/// Sizes of the input at `index` (0 or more) of "Input Dims". Absent if that is not a tensor.
std::optional<std::vector<std::int64_t>> input_shape(std::string_view dims, std::size_t index);

/// The gradients of a trace have few distinct shapes. Each shape is stored once.
class ShapeTable {
 public:
  static constexpr std::uint16_t kNotRecorded = 0;

  std::uint16_t index(std::string_view dims, std::string_view types);
  /// Null for kNotRecorded.
  const RecordedTensor* find(std::uint16_t index) const;

 private:
  std::unordered_map<std::string, std::uint16_t> index_;
  std::vector<RecordedTensor> tensors_;
};

}  // namespace ddpsim
