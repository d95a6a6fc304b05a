#include "backends.hpp"
#include "cpu_device.hpp"
#include "gloo_communicator.hpp"
#include "replay_runner.hpp"

namespace ddpsim {

std::string cpu_gloo_refuses(const Workload& workload, const ReducerOptions& options) {
  return cannot_reduce(workload, options, CpuDevice::refuses).value_or("");
}

std::unique_ptr<RealBackend> make_cpu_gloo(StoreClient& store, const BackendSetting& setting) {
  return std::make_unique<ReplayBackend>(
      std::make_unique<CpuDevice>(setting.clock, setting.busy_compute),
      std::make_unique<GlooCommunicator>(store, store.own_address(), setting.world.rank,
                                         setting.world.ranks, setting.clock, setting.timeout),
      setting.clock);
}

}  // namespace ddpsim
