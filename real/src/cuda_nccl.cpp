#include "backends.hpp"
#include "cuda_device.hpp"
#include "gpu_choice.hpp"
#include "nccl_communicator.hpp"
#include "replay_runner.hpp"

namespace ddpsim {
namespace {

/// The device's synchronise, made to end when a peer is lost.
class WatchedDevice : public CudaDevice {
 public:
  using CudaDevice::CudaDevice;
  void watch(NcclCommunicator& communicator) { communicator_ = &communicator; }
  void synchronise() override {
    if (communicator_ == nullptr) return CudaDevice::synchronise();
    communicator_->finish();  // the compute stream too
  }
  void wait_for(Event event) override {
    if (communicator_ == nullptr) return CudaDevice::wait_for(event);
    communicator_->finish(at(event));
  }
  /// What it waits for ends where a peer is lost, too: the watchdog aborts collectives.
  void read_back(Region from, Region to) override {
    CudaDevice::read_back(from, to);
    communicator_->require_well();
  }

 private:
  NcclCommunicator* communicator_ = nullptr;
};

}  // namespace

std::string cuda_nccl_refuses(const Workload& workload, const DdpOptions& options) {
  return cannot_reduce(workload, options, CudaDevice::refuses).value_or("");
}

std::unique_ptr<RealBackend> make_cuda_nccl(StoreClient& store, const BackendSetting& setting) {
  int visible = 0;
  require_success(cudaGetDeviceCount(&visible), "counting GPUs");
  auto device = std::make_unique<WatchedDevice>(choose_gpu(setting.world, visible).gpu,
                                                setting.clock, setting.busy_compute);
  auto communicator = std::make_unique<NcclCommunicator>(store, *device, setting.world.rank,
                                                         setting.world.ranks, setting.timeout);
  device->watch(*communicator);
  return std::make_unique<ReplayBackend>(std::move(device), std::move(communicator), setting.clock);
}

}  // namespace ddpsim
