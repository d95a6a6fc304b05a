#include "recorded_tensor.hpp"

#include <cstddef>
#include <utility>

#include "ddpsim/formats/number.hpp"

namespace ddpsim {
namespace {

struct TypeName {
  std::string_view c10;
  std::string_view cpp;
  Dtype dtype;
};
constexpr TypeName kTypes[] = {
    {"Float", "float", Dtype::float32},
    {"Half", "c10::Half", Dtype::float16},
    {"BFloat16", "c10::BFloat16", Dtype::bfloat16},
    {"Double", "double", Dtype::float64},
    {"Long", "long int", Dtype::int64},
    {"Long", "long", Dtype::int64},
    {"Int", "int", Dtype::int32},
    {"Short", "short int", Dtype::int16},
    {"Char", "signed char", Dtype::int8},
    {"Byte", "unsigned char", Dtype::uint8},
    {"Bool", "bool", Dtype::boolean},
    {"ComplexFloat", "c10::complex<float>", Dtype::complex64},
    {"ComplexDouble", "c10::complex<double>", Dtype::complex128},
};

/// A longer list of shapes belongs to no gradient and no bucket.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kMostDimensions = 64;

void skip(std::string_view& text, std::string_view characters) {
  const std::size_t at = text.find_first_not_of(characters);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at);
}

bool take(std::string_view& text, char wanted) {
  skip(text, " \t\r\n");
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

/// Removes "[1000, 2048]" from the front of `text`.
std::optional<std::vector<std::int64_t>> take_shape(std::string_view& text) {
  if (!take(text, '[')) return std::nullopt;
  std::vector<std::int64_t> shape;
  while (!take(text, ']')) {
    skip(text, " \t\r\n,");
    const auto length = take_number<std::int64_t>(text);
    if (!length || *length < 0 || shape.size() == kMostDimensions) return std::nullopt;
    shape.push_back(*length);
  }
  return shape;
}

}  // namespace

std::optional<Dtype> dtype_from_recorded(std::string_view name) {
  for (const TypeName& type : kTypes) {
    if (name == type.c10 || name == type.cpp) return type.dtype;
  }
  return std::nullopt;
}

bool is_integer(Dtype dtype) {
  switch (dtype) {
    case Dtype::int8:
    case Dtype::uint8:
    case Dtype::int16:
    case Dtype::int32:
    case Dtype::int64:
    case Dtype::boolean:
      return true;
    default:
      return false;
  }
}

std::optional<Bytes> bytes_of(const RecordedTensor& tensor) {
  if (!tensor.dtype) return std::nullopt;
  Parameter parameter;
  parameter.shape = tensor.shape;
  parameter.dtype = *tensor.dtype;
  return gradient_bytes(parameter);
}

std::optional<RecordedTensor> first_input(std::string_view dims, std::string_view types) {
  if (dims.size() > kLongestText) return std::nullopt;
  RecordedTensor tensor;
  std::optional<std::vector<std::int64_t>> shape = input_shape(dims, 0);
  if (!shape) return std::nullopt;
  tensor.shape = std::move(*shape);
  if (!take(types, '[') || !take(types, '"')) return std::nullopt;
  tensor.dtype = dtype_from_recorded(types.substr(0, types.find('"')));
  if (tensor.dtype && !bytes_of(tensor)) return std::nullopt;
  return tensor;
}

std::optional<std::vector<std::int64_t>> input_shape(std::string_view dims, std::size_t index) {
  if (!take(dims, '[')) return std::nullopt;
  for (std::size_t k = 0;; ++k) {
    std::optional<std::vector<std::int64_t>> shape = take_shape(dims);
    if (!shape || k == index) return shape;
    if (!take(dims, ',')) return std::nullopt;
  }
}

std::uint16_t ShapeTable::index(std::string_view dims, std::string_view types) {
  if (dims.empty() || dims.size() > kLongestText || types.size() > kLongestText) {
    return kNotRecorded;
  }
  std::string key(dims);
  key += types;
  if (const auto known = index_.find(key); known != index_.end()) return known->second;
  if (tensors_.size() == UINT16_MAX) return kNotRecorded;
  std::optional<RecordedTensor> tensor = first_input(dims, types);
  if (!tensor) return kNotRecorded;
  tensors_.push_back(std::move(*tensor));
  return index_[key] = static_cast<std::uint16_t>(tensors_.size());
}

const RecordedTensor* ShapeTable::find(std::uint16_t index) const {
  return index == kNotRecorded ? nullptr : &tensors_[index - std::size_t{1}];
}

}  // namespace ddpsim
