#include "backends.hpp"
#include "cuda_device.hpp"
#include "gpu_choice.hpp"
#include "gpus_apart.hpp"
#include "hosts.hpp"
#include "nccl_communicator.hpp"
#include "replay_runner.hpp"

namespace ddpsim {
namespace {

/// The device's synchronise, made to end when a peer is lost.
class WatchedDevice : public CudaDevice {
 public:
  using CudaDevice::CudaDevice;
  void watch(NcclCommunicator& communicator) { communicator_ = &communicator; }
  void compute(Duration duration) override {
    constexpr int kSlowed = 2;  // what all-reduces beside it may make of work
    constexpr std::int64_t kPicoseconds = 1000;
    CudaDevice::compute(duration);
    if (communicator_ != nullptr)
      communicator_->computes(
          std::chrono::nanoseconds(kSlowed * duration.picoseconds() / kPicoseconds));
  }
  void synchronise() override {
    if (communicator_ == nullptr) return CudaDevice::synchronise();
    communicator_->finish();  // the compute stream too
  }
  // What these wait for ends where a peer is lost, too: the watchdog aborts collectives.
  void wait_for(Event event) override {
    CudaDevice::wait_for(event);
    if (communicator_ != nullptr) communicator_->require_well();
  }
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
  require_gpus_apart(store, setting.world.rank, setting.world.ranks, device->bus_id(), boot_id());
  auto communicator = std::make_unique<NcclCommunicator>(store, *device, setting.world.rank,
                                                         setting.world.ranks, setting.timeout);
  device->watch(*communicator);
  return std::make_unique<ReplayBackend>(std::move(device), std::move(communicator), setting.clock);
}

}  // namespace ddpsim
