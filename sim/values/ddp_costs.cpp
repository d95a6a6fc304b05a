#include "ddpsim/sim/values/ddp_costs.hpp"

namespace ddpsim {
namespace {

constexpr CostField kHostCosts[] = {
    {.name = "hook_us", .time = &DdpCosts::host_hook, .says = "host time of a gradient's hook"},
    {.name = "collective_us",
     .time = &DdpCosts::host_launch,
     .says = "host time to launch a collective; a blocking read takes this plus the latency"},
    {.name = "comm_hook_us",
     .time = &DdpCosts::host_comm_hook,
     .says = "additional host time of a launch if a communication hook runs"},
    {.name = "hook_kernel_us",
     .time = &DdpCosts::host_hook_kernel,
     .says = "host time of a kernel that powerSGD_hook launches"},
    {.name = "copy_us",
     .time = &DdpCosts::host_copy_kernel,
     .says = "host time of launching one of the reducer's copies"},
    {.name = "search_us",
     .time = &DdpCosts::host_search_per_parameter,
     .says = "host time of the search for unused parameters, for each parameter"},
    {.name = "step_us",
     .time = &DdpCosts::host_step,
     .says = "host time of an optimizer's step() in backward, without its kernels"},
    {.name = "step_kernel_us",
     .time = &DdpCosts::host_step_kernel,
     .says = "host time of each kernel of an optimizer that steps in backward"},
};
constexpr CostField kGpuCosts[] = {
    {.name = "copy_us",
     .time = &DdpCosts::copy_kernel,
     .says = "fixed time of one of the reducer's copies"},
    {.name = "gap_us", .time = &DdpCosts::kernel_gap, .says = "time from one copy to the next"},
    {.name = "copy_gbps",
     .rate = &DdpCosts::copy_rate,
     .least = 1e-3,
     .says = "rate at which copies read plus write, in GB/s"},
    {.name = "launch_latency_us",
     .time = &DdpCosts::launch_latency,
     .says = "time from a launch to the kernel's start on an idle stream"},
    {.name = "event_latency_us",
     .time = &DdpCosts::event_latency,
     .says = "time from an event to the start of what waits for it"},
};

}  // namespace

std::span<const CostField> host_costs() {
  return kHostCosts;
}

std::span<const CostField> gpu_costs() {
  return kGpuCosts;
}

void state(DdpCosts& costs, const StatedCosts& stated) {
  for (const auto& [field, value] : stated) {
    if (field->rate != nullptr)
      costs.*field->rate = Bandwidth::gigabytes_per_second(value);
    else
      costs.*field->time = Duration::microseconds(value);
  }
}

}  // namespace ddpsim
