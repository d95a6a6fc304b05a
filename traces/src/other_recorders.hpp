// What recorded a trace, or on which device, where that is not PyTorch's profiler on an NVIDIA or AMD GPU.
#pragma once

#include <string_view>

namespace ddpsim {

/// A device, by the category of its events ("xpu_runtime") or the label of its row ("XPU 0"): "an Intel GPU (XPU)"; empty for
/// CPUs, NVIDIA's and AMD's GPUs, and for names not known here.
std::string_view device_of_category(std::string_view category);
std::string_view device_of_label(std::string_view label);

/// By the name of a process: "Ascend Hardware", "/device:GPU:0 …" of JAX and TensorFlow, "CPU HIP API" of rocprof.
std::string_view device_of_process(std::string_view name);
std::string_view profiler_of_process(std::string_view name);

}  // namespace ddpsim
