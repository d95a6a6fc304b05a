#include "cuda_device.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "backends.hpp"
#include "cpu_elements.hpp"
#include "cuda_kernels.h"
#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kScratchElements = 64LL << 20;  // 256 MiB: more than any cache

void require_kernel(int status, const char* what) {
  require_success(static_cast<cudaError_t>(status), what);
}

ddpsim_type kernel_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
      return DDPSIM_FLOAT64;
    case Dtype::float16:
      return DDPSIM_FLOAT16;
    case Dtype::bfloat16:
      return DDPSIM_BFLOAT16;
    default:
      return DDPSIM_FLOAT32;
  }
}

std::string version_text(int version) {
  constexpr int kMajor = 1000;
  constexpr int kMinor = 10;
  return fmt::format("{}.{}", version / kMajor, version % kMajor / kMinor);
}

}  // namespace

void require_success(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

void cast_on(cudaStream_t stream, Region from, Region to) {
  const bool compresses = from.dtype == Dtype::float32;
  DDPSIM_ASSERT(compresses != (to.dtype == Dtype::float32), "one side of a cast is float32");
  require_kernel(compresses
                     ? ddpsim_compress(stream, reinterpret_cast<const float*>(from.data), to.data,
                                       from.elements, kernel_type_of(to.dtype))
                     : ddpsim_decompress(stream, from.data, reinterpret_cast<float*>(to.data),
                                         from.elements, kernel_type_of(from.dtype)),
                 "casting a bucket");
}

EventPool::~EventPool() {
  for (const cudaEvent_t event : events_) cudaEventDestroy(event);
}

std::size_t EventPool::record(cudaStream_t stream) {
  if (used_ == events_.size()) {
    events_.push_back(nullptr);
    require_success(cudaEventCreate(&events_.back()), "creating an event");
  }
  require_success(cudaEventRecord(events_[used_], stream), "recording an event");
  return used_++;
}

CudaDevice::CudaDevice(int index, HostClock clock, bool busy) : index_(index), clock_(clock) {
  require_success(cudaSetDevice(index), "choosing the GPU");
  require_kernel(ddpsim_load_kernels(), "loading kernels");
  require_success(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  require_success(cudaEventCreate(&zero_), "creating an event");
  require_success(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, index),
                  "asking for SMs");
  if (busy) {
    void* scratch = nullptr;
    require_success(
        cudaMalloc(&scratch, static_cast<std::size_t>(kScratchElements) * sizeof(float)),
        "allocating memory");
    scratch_ = static_cast<float*>(scratch);
    require_success(
        cudaMemsetAsync(scratch_, 0, static_cast<std::size_t>(kScratchElements) * sizeof(float),
                        stream_),
        "clearing memory");
  }
  CudaDevice::forget_marks();
  if (busy) calibrate_work();
}

void CudaDevice::calibrate_work() {
  work_rate_ = WorkRate::calibrated([this](std::int64_t rounds) {
    const Event begin = record_event();
    require_kernel(ddpsim_work(stream_, rounds, scratch_, kScratchElements, processors_),
                   "calibrating compute");
    const Event end = record_event();
    CudaDevice::synchronise();
    return CudaDevice::time_of(end) - CudaDevice::time_of(begin);
  });
  CudaDevice::forget_marks();
}

/// Freeing memory waits for the GPU.
CudaDevice::~CudaDevice() {
  CudaDevice::release_memory();
  cudaFree(scratch_);
  cudaEventDestroy(zero_);
  cudaStreamDestroy(stream_);
}

std::vector<std::pair<std::string, std::string>> CudaDevice::description() const {
  cudaDeviceProp properties{};
  require_success(cudaGetDeviceProperties(&properties, index_), "asking the GPU what it is");
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  return {{"device", fmt::format("{}, sm_{}{}, {} SMs", properties.name, properties.major,
                                 properties.minor, properties.multiProcessorCount)},
          {"cuda",
           fmt::format("driver for {}, runtime {}", version_text(driver), version_text(runtime))},
          {"compute", scratch_ != nullptr
                          ? "an amount of work on all SMs and on memory, calibrated on an idle GPU"
                          : "one thread block that waits"}};
}

std::string CudaDevice::bus_id() const {
  constexpr int kSize = 32;
  std::array<char, kSize> text{};
  require_success(cudaDeviceGetPCIBusId(text.data(), kSize, index_), "asking where the GPU is");
  return text.data();
}

std::string CudaDevice::refuses(Dtype dtype) {
  if (dtype == Dtype::float32 || dtype == Dtype::float64 || dtype == Dtype::float16 ||
      dtype == Dtype::bfloat16)
    return "";
  return "gradients are floating point, not " + std::string(name_of(dtype));
}

Region CudaDevice::allocate(Dtype dtype, std::int64_t elements) {
  void* memory = nullptr;
  const auto bytes = static_cast<std::size_t>(elements * element_size(dtype));
  if (bytes > 0) {
    require_success(cudaMalloc(&memory, bytes), "allocating memory on the GPU");
    memory_.push_back(memory);
    require_success(cudaMemsetAsync(memory, 0, bytes, stream_), "clearing memory");
  }
  return {static_cast<std::byte*>(memory), elements, dtype};
}

/// Pinned memory. The GPU copies from and to it in stream order.
Region CudaDevice::allocate_on_host(Dtype dtype, std::int64_t elements) {
  void* memory = nullptr;
  const auto bytes = static_cast<std::size_t>(elements * element_size(dtype));
  if (bytes > 0) {
    require_success(cudaMallocHost(&memory, bytes), "allocating memory for copies to the GPU");
    host_memory_.push_back(memory);
    std::memset(memory, 0, bytes);
  }
  return {static_cast<std::byte*>(memory), elements, dtype};
}

void CudaDevice::fill(Region region, double value) {
  require_kernel(
      ddpsim_fill(stream_, region.data, region.elements, value, kernel_type_of(region.dtype)),
      "fill");
}

std::vector<double> CudaDevice::read(Region region) {
  const auto size = static_cast<std::size_t>(region.bytes().count());
  if (size == 0) return {};
  std::vector<std::byte> copied(size);
  synchronise();
  require_success(cudaMemcpy(copied.data(), region.data, size, cudaMemcpyDeviceToHost),
                  "reading memory of the GPU");
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(region.elements));
  with_elements({copied.data(), region.elements, region.dtype}, [&values](auto elements) {
    for (const auto element : elements) values.push_back(static_cast<double>(element));
  });
  return values;
}

void CudaDevice::compute(Duration duration) {
  constexpr std::int64_t kPicoseconds = 1000;
  const std::int64_t ns = duration.picoseconds() / kPicoseconds;
  require_kernel(work_rate_ ? ddpsim_work(stream_, work_rate_->rounds(duration), scratch_,
                                          kScratchElements, processors_)
                            : ddpsim_spin(stream_, ns),
                 "replaying compute");
}

void CudaDevice::scale_copy(Region from, Region to, double factor) {
  require_kernel(ddpsim_scale_copy(stream_, from.data, to.data, from.elements, factor,
                                   kernel_type_of(from.dtype)),
                 "copying into a bucket");
}

void CudaDevice::add(Region from, Region to) {
  require_kernel(ddpsim_add(stream_, from.data, to.data, from.elements, kernel_type_of(from.dtype)),
                 "adding to a gradient");
}

void CudaDevice::copy(Region from, Region to) {
  require_success(
      cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(from.bytes().count()),
                      cudaMemcpyDefault, stream_),
      "copying memory of the GPU");
}

void CudaDevice::read_back(Region from, Region to) {
  copy(from, to);
  require_success(cudaStreamSynchronize(stream_), "waiting for the GPU");
}

void CudaDevice::cast(Region from, Region to) {
  cast_on(stream_, from, to);
}

Event CudaDevice::record_event() {
  return events_.record(stream_);
}

void CudaDevice::wait_for(Event event) {
  require_success(cudaEventSynchronize(events_.at(event)), "waiting for the GPU");
}

void CudaDevice::synchronise() {
  require_success(cudaStreamSynchronize(stream_), "waiting for the GPU");
}

void CudaDevice::begin_compute() {
  if (events_.used() > 0) marks_.push_back({.event = events_.at(events_.used() - 1), .time = {}});
}

TimePoint CudaDevice::time_of(cudaEvent_t event) {
  const auto between = [](cudaEvent_t from, cudaEvent_t to) {
    float milliseconds = 0;
    require_success(cudaEventElapsedTime(&milliseconds, from, to), "reading an event");
    return Duration::milliseconds(static_cast<double>(milliseconds));
  };
  for (; timed_ < marks_.size(); ++timed_)
    marks_[timed_].time =
        marks_[timed_ - 1].time + between(marks_[timed_ - 1].event, marks_[timed_].event);
  while (near_ > 0 && between(marks_[near_].event, event) < Duration()) --near_;
  while (near_ + 1 < marks_.size() && between(marks_[near_ + 1].event, event) >= Duration())
    ++near_;
  return marks_[near_].time + between(marks_[near_].event, event);
}

void CudaDevice::forget_marks() {
  events_.reuse();
  // The host's clock shows the time of this event within some microseconds. If the host lost its
  // processor meanwhile, the measurement is repeated.
  constexpr int kTries = 10;
  constexpr Duration kNear = Duration::microseconds(100);
  Duration apart = kNear;
  for (int i = 0; i < kTries && apart >= kNear; ++i) {
    const TimePoint before = clock_.now();
    require_success(cudaEventRecord(zero_, stream_), "recording an event");
    require_success(cudaEventSynchronize(zero_), "waiting for the GPU");
    marks_ = {{zero_, clock_.now()}};
    apart = marks_.front().time - before;
  }
  timed_ = 1;
  near_ = 0;
}

void CudaDevice::release_memory() {
  for (void* memory : memory_) cudaFree(memory);
  memory_.clear();
  for (void* memory : host_memory_) cudaFreeHost(memory);
  host_memory_.clear();
}

}  // namespace ddpsim
