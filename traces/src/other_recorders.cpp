#include "other_recorders.hpp"

#include <span>
#include <utility>

namespace ddpsim {
namespace {

using Named = std::pair<std::string_view, std::string_view>;

constexpr std::string_view kIntel = "an Intel GPU (XPU)";
constexpr std::string_view kGaudi = "an Intel Gaudi (HPU)";
constexpr std::string_view kMtia = "Meta's MTIA";
constexpr std::string_view kAscend = "an Ascend NPU";
constexpr std::string_view kCambricon = "a Cambricon MLU";
constexpr std::string_view kMoore = "a Moore Threads GPU (MUSA)";

/// Categories of libkineto's ActivityType.cpp, and those that its forks add.
constexpr Named kCategories[] = {
    {"xpu_", kIntel},         {"mtia_", kMtia},
    {"hpu_", kGaudi},         {"habana", kGaudi},
    {"glow_runtime", "Glow"}, {"mlu_", kCambricon},
    {"cnrt", kCambricon},     {"musa_", kMoore},
    {"npu_", kAscend},        {"async_npu", kAscend},
    {"acl_", kAscend},        {"privateuse1_", "a device of PyTorch's PrivateUse1"}};

/// First words of row labels.
constexpr Named kLabels[] = {{"XPU", kIntel},  {"MTIA", kMtia},     {"HPU", kGaudi},
                             {"NPU", kAscend}, {"MLU", kCambricon}, {"MUSA", kMoore}};

std::string_view by_beginning(std::span<const Named> names, std::string_view text) {
  for (const auto& [beginning, device] : names)
    if (text.starts_with(beginning)) return device;
  return "";
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string_view device_of_category(std::string_view category) {
  return by_beginning(kCategories, category);
}

std::string_view device_of_label(std::string_view label) {
  return by_beginning(kLabels, label);
}

std::string_view device_of_process(std::string_view name) {
  if (holds(name, "Ascend Hardware") || name == "CANN" || holds(name, "HCCL")) return kAscend;
  if (holds(name, "Habana") || holds(name, "Gaudi")) return kGaudi;
  return by_beginning(kLabels, name);
}

std::string_view profiler_of_process(std::string_view name) {
  if (name.starts_with("/device:") || name.starts_with("/host:"))
    return "the profiler of JAX or TensorFlow";
  if (holds(name, "HIP API") || holds(name, "HSA API") || holds(name, "ROCTX")) return "rocprof";
  return "";
}

}  // namespace ddpsim
