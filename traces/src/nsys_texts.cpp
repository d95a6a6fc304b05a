#include "nsys_texts.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "trace_names.hpp"

namespace ddpsim {

EmittedRange emitted_range(std::string_view text) {
  EmittedRange range{.name = text, .sizes = {}};
  for (const std::string_view mark : {", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "})
    range.name = range.name.substr(0, text.find(mark));
  constexpr std::string_view kSizes = ", sizes = ";
  if (const std::size_t at = text.find(kSizes); at != std::string_view::npos) {
    range.sizes = text.substr(at + kSizes.size());
    range.sizes = range.sizes.substr(0, range.sizes.find(", input_op_ids"));
  }
  return range;
}

std::optional<std::string> type_in_kernel(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, const char*>, 6> kTypes = {
      {{"um_f32", "float"},
       {"um_float", "float"},
       {"um_f16", "c10::Half"},
       {"um_half", "c10::Half"},
       {"um_bf16", "c10::BFloat16"},
       {"um___nv_bfloat16", "c10::BFloat16"}}};
  if (!contains(name, "AllReduce")) return std::nullopt;
  for (const auto& [part, type] : kTypes)
    if (contains(name, part)) return type;
  return std::nullopt;
}

}  // namespace ddpsim
