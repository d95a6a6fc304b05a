// A device and a communicator that record every call. They test the host logic of all backends
// through its interfaces.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "communicator.hpp"
#include "device.hpp"

namespace ddpsim::testing {

using Calls = std::vector<std::string>;

/// Regions are named in order of their allocation.
class FakeDevice : public Device {
 public:
  explicit FakeDevice(Calls& calls) : calls_(calls) {}
  std::vector<std::pair<std::string, std::string>> description() const override { return {}; }
  static std::string refuses(Dtype dtype) { return dtype == Dtype::int64 ? "no int64 here" : ""; }
  Region allocate(Dtype dtype, std::int64_t elements) override {
    const auto bytes = static_cast<std::size_t>(elements * element_size(dtype));
    memory_.push_back(std::make_unique<std::byte[]>(bytes + 1));
    sizes_.push_back(bytes);
    return {memory_.back().get(), elements, dtype};
  }
  Region allocate_on_host(Dtype dtype, std::int64_t elements) override {
    const Region region = allocate(dtype, elements);
    std::memset(region.data, 0, static_cast<std::size_t>(region.bytes().count()));
    return region;
  }
  void fill(Region region, double value) override {
    calls_.push_back(fmt::format("{} = {}", name(region), value));
  }
  std::vector<double> read(Region) override { return {}; }
  void begin_compute() override {}
  void compute(Duration duration) override {
    calls_.push_back(fmt::format("compute {}", duration.microseconds()));
  }
  void scale_copy(Region from, Region to, double factor) override {
    calls_.push_back(fmt::format("{} -> {} x{}", name(from), name(to), factor));
  }
  void copy(Region from, Region to) override {
    calls_.push_back(fmt::format("{} -> {}", name(from), name(to)));
  }
  void add(Region from, Region to) override {
    calls_.push_back(fmt::format("{} += {}", name(to), name(from)));
  }
  void read_back(Region from, Region to) override {
    calls_.push_back(fmt::format("{} -> {}, awaited", name(from), name(to)));
    if (peer_used.empty()) return;
    auto* sums = reinterpret_cast<std::int32_t*>(to.data);
    for (std::size_t i = 0; i < peer_used.size(); ++i) sums[i] += peer_used[i];
  }
  /// The other rank's map, in maps that are read back.
  std::vector<std::int32_t> peer_used;
  void cast(Region from, Region to) override {
    calls_.push_back(fmt::format("{} -> {} as {}", name(from), name(to), name_of(to.dtype)));
  }
  Event record_event() override { return events_++; }
  void synchronise() override {}
  TimePoint time_of(Event event) override {
    return TimePoint(Duration::microseconds(static_cast<double>(event)));
  }
  void forget_marks() override { events_ = 0; }
  void release_memory() override {}

  /// "1+8:4" means four elements from byte 8 of the second allocation.
  std::string name(Region region) const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const std::byte* begin = memory_[i].get();
      if (region.data >= begin && region.data <= begin + sizes_[i])
        return fmt::format("{}+{}:{}", i, region.data - begin, region.elements);
    }
    return "nowhere";
  }

 private:
  Calls& calls_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::size_t> sizes_;
  Event events_ = 0;
};

class FakeCommunicator : public Communicator {
 public:
  FakeCommunicator(Calls& calls, const FakeDevice& device) : calls_(calls), device_(device) {}
  std::vector<std::pair<std::string, std::string>> description() const override { return {}; }
  int rank() const override { return 0; }
  int ranks() const override { return 2; }
  WorkId all_reduce(Region region) override {
    calls_.push_back("all_reduce " + device_.name(region));
    return works_++;
  }
  WorkId all_reduce_and_decompress(Region region, Region wide) override {
    calls_.push_back("all_reduce " + device_.name(region) + " -> " + device_.name(wide));
    return works_++;
  }
  WorkId broadcast(Region region) override {
    calls_.push_back("broadcast " + device_.name(region));
    return works_++;
  }
  void wait(WorkId work) override { calls_.push_back(fmt::format("wait {}", work)); }
  CollectiveTimes times_of(WorkId) override { return {}; }
  void forget_works() override { works_ = 0; }

 private:
  Calls& calls_;
  const FakeDevice& device_;
  WorkId works_ = 0;
};

/// float32 parameters with these element counts, ready in `order`, one microsecond apart.
inline Workload small_workload(const std::vector<std::int64_t>& elements,
                               const std::vector<std::size_t>& order) {
  Workload workload;
  workload.name = "small";
  for (std::size_t i = 0; i < elements.size(); ++i)
    workload.parameters.push_back({.name = fmt::format("p{}", i),
                                   .shape = std::vector<std::int64_t>{elements[i]},
                                   .device = ""});
  workload.forward = Duration::microseconds(10);
  workload.backward = Backward{};
  for (const std::size_t parameter : order) {
    workload.backward->duration += Duration::microseconds(1);
    workload.backward->ready.push_back(
        {.parameter = parameter, .at = workload.backward->duration, .copied_at = std::nullopt});
  }
  return workload;
}

}  // namespace ddpsim::testing
