#include <fmt/format.h>

#include "backends.hpp"
#include "cuda_device.hpp"
#include "gpu_choice.hpp"
#include "gpus_apart.hpp"
#include "hosts.hpp"
#include "nccl_communicator.hpp"
#include "replay_runner.hpp"

namespace ddpsim {
namespace {

/// A device whose synchronise ends if a peer is lost.
class WatchedDevice : public CudaDevice {
 public:
  using CudaDevice::CudaDevice;
  void watch(NcclCommunicator& communicator) { communicator_ = &communicator; }
  void compute(Duration duration) override {
    constexpr int kSlowed = 2;  // largest slowdown of work by concurrent all-reduces
    constexpr std::int64_t kPicoseconds = 1000;
    CudaDevice::compute(duration);
    if (communicator_ != nullptr)
      communicator_->computes(
          std::chrono::nanoseconds(kSlowed * duration.picoseconds() / kPicoseconds));
  }
  void synchronise() override {
    if (communicator_ == nullptr) return CudaDevice::synchronise();
    communicator_->finish();  // includes the compute stream
  }
  // These waits also end if a peer is lost, because the watchdog aborts collectives.
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

void require_cuda_nccl(const World& world) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    throw Unavailable(fmt::format("no GPU to run on: {}", status == cudaSuccess
                                                              ? "CUDA finds none"
                                                              : cudaGetErrorString(status)));
  const bool shared = ranks_may_share_gpus();
  if (const GpuChoice choice = choose_gpu(world, count, shared); !choice.problem.empty())
    throw Unavailable(choice.problem);
  int nccl = 0;
  ncclGetVersion(&nccl);
  constexpr int kFirstToShare = 23000;
  if (shared && nccl < kFirstToShare)
    throw Unavailable(
        "NCCL_MULTI_RANK_GPU_ENABLE is set, but only NCCL 2.30 and later let ranks share a GPU. "
        "Load a newer NCCL (LD_LIBRARY_PATH), or unset the variable.");
}

std::string cuda_nccl_refuses(const Workload& workload, const ReducerOptions& options) {
  return cannot_reduce(workload, options, CudaDevice::refuses).value_or("");
}

std::unique_ptr<RealBackend> make_cuda_nccl(StoreClient& store, const BackendSetting& setting) {
  int visible = 0;
  require_success(cudaGetDeviceCount(&visible), "counting GPUs");
  const bool shared = ranks_may_share_gpus();
  auto device = std::make_unique<WatchedDevice>(choose_gpu(setting.world, visible, shared).gpu,
                                                setting.clock, setting.busy_compute);
  if (!shared)
    require_gpus_apart(store, setting.world.rank, setting.world.ranks, device->bus_id(), boot_id());
  auto communicator = std::make_unique<NcclCommunicator>(store, *device, setting.world.rank,
                                                         setting.world.ranks, setting.timeout);
  device->watch(*communicator);
  return std::make_unique<ReplayBackend>(std::move(device), std::move(communicator), setting.clock);
}

}  // namespace ddpsim
