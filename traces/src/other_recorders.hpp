// Recognises traces from other recorders than PyTorch's profiler, and from other devices than
// NVIDIA and AMD GPUs.
#pragma once

#include <string_view>

namespace ddpsim {

/// The device behind a category of events ("xpu_runtime") or a row label ("XPU 0"): "an Intel GPU
/// (XPU)". Empty for CPUs, NVIDIA and AMD GPUs, and unknown names.
std::string_view device_of_category(std::string_view category);
std::string_view device_of_label(std::string_view label);

/// The device or recorder behind a process name: "Ascend Hardware", "/device:GPU:0 …" of JAX and
/// TensorFlow, "CPU HIP API" of rocprof.
std::string_view device_of_process(std::string_view name);
std::string_view profiler_of_process(std::string_view name);

}  // namespace ddpsim
