// A GPU that runs replayed compute, copies and events on one stream. Events are CUDA events.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <vector>

#include "device.hpp"
#include "host_clock.hpp"
#include "work_rate.hpp"

namespace ddpsim {

/// Throws std::runtime_error with the attempted action `what`, unless CUDA returns success.
void require_success(cudaError_t status, const char* what);

/// to = from, from float32 to 16 bits or back.
void cast_on(cudaStream_t stream, Region from, Region to);

/// Events that are created once and reused.
class EventPool {
 public:
  EventPool() = default;
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;
  ~EventPool();
  /// Records the next event on the stream and returns its index.
  std::size_t record(cudaStream_t stream);
  cudaEvent_t at(std::size_t index) const { return events_[index]; }
  std::size_t used() const { return used_; }
  void reuse() { used_ = 0; }

 private:
  std::vector<cudaEvent_t> events_;
  std::size_t used_ = 0;
};

class CudaDevice : public Device {
 public:
  /// `busy`: replayed compute is work on all SMs and on memory. It takes the recorded time if
  /// nothing else runs.
  CudaDevice(int index, HostClock clock, bool busy);
  ~CudaDevice() override;
  std::vector<std::pair<std::string, std::string>> description() const override;
  /// PCI address on its host: "0000:3b:00.0".
  std::string bus_id() const;
  static std::string refuses(Dtype dtype);
  Region allocate(Dtype dtype, std::int64_t elements) override;
  Region allocate_on_host(Dtype dtype, std::int64_t elements) override;
  void fill(Region region, double value) override;
  std::vector<double> read(Region region) override;
  /// The event recorded last becomes a mark from which later events are timed.
  void begin_compute() override;
  void compute(Duration duration) override;
  void scale_copy(Region from, Region to, double factor) override;
  void add(Region from, Region to) override;
  void copy(Region from, Region to) override;
  void read_back(Region from, Region to) override;
  void cast(Region from, Region to) override;
  Event record_event() override;
  void wait_for(Event event) override;
  void synchronise() override;
  TimePoint time_of(Event event) override { return time_of(events_.at(event)); }
  void forget_marks() override;
  void release_memory() override;

  cudaStream_t stream() const { return stream_; }
  /// Time of an event on any stream of this device. The event and the marks before it have
  /// happened.
  TimePoint time_of(cudaEvent_t event);

 private:
  /// CUDA returns the time between two events as a float of milliseconds. Its precision stays below
  /// a microsecond only for some seconds. So an event is timed from the mark before it.
  struct Mark {
    cudaEvent_t event = nullptr;
    TimePoint time;
  };
  void calibrate_work();

  int index_;
  HostClock clock_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t zero_ = nullptr;  ///< the first mark, whose time the host knows
  EventPool events_;
  std::vector<Mark> marks_;
  std::size_t timed_ = 0;  ///< marks whose time is known
  std::size_t near_ = 0;   ///< the mark that was used last
  std::vector<void*> memory_;
  std::vector<void*> host_memory_;
  float* scratch_ = nullptr;  ///< memory for busy compute
  std::optional<WorkRate> work_rate_;
  int processors_ = 0;
};

}  // namespace ddpsim
