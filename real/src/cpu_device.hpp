// Acts like a GPU, as the host sees it, on a CPU. By default, compute is a wait until an absolute
// deadline. So the cost of hooks between two gradients is absorbed by the next wait, and processes
// do not compete for cores. With `busy`, compute is an amount of work, and processes do compete.
// Copies are real.
#pragma once

#include <memory>
#include <optional>

#include "device.hpp"
#include "host_clock.hpp"
#include "work_rate.hpp"

namespace ddpsim {

class CpuDevice : public Device {
 public:
  /// `busy`: compute is an amount of work that takes the recorded time on a core of its own.
  explicit CpuDevice(HostClock clock, bool busy = false);
  std::vector<std::pair<std::string, std::string>> description() const override;
  static std::string refuses(Dtype dtype);
  Region allocate(Dtype dtype, std::int64_t elements) override;
  Region allocate_on_host(Dtype dtype, std::int64_t elements) override {
    return allocate(dtype, elements);
  }
  void fill(Region region, double value) override;
  std::vector<double> read(Region region) override;
  void begin_compute() override;
  void compute(Duration duration) override;
  void scale_copy(Region from, Region to, double factor) override;
  void add(Region from, Region to) override;
  void copy(Region from, Region to) override;
  void read_back(Region from, Region to) override { copy(from, to); }
  void cast(Region from, Region to) override;
  Event record_event() override;
  void synchronise() override {}
  TimePoint time_of(Event event) override;
  void forget_marks() override { events_.clear(); }
  void release_memory() override { memory_.clear(); }

 private:
  HostClock clock_;
  std::optional<WorkRate> work_rate_;
  TimePoint deadline_;
  std::vector<TimePoint> events_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

}  // namespace ddpsim
