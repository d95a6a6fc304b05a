// What the reducer needs of a device: memory, one compute stream, events on it. Behind it stand a GPU
// (cuda_device) and a CPU that waits for deadlines (cpu_device), so that one reducer runs on both and
// tests see every call.
//
// Everything but allocate, fill, read and synchronise is work in order on the compute stream: on a
// GPU the calls return at once, on the CPU when it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Elements in the device's memory.
struct Region {
  std::byte* data = nullptr;
  std::int64_t elements = 0;
  Dtype dtype = Dtype::float32;

  Bytes bytes() const { return Bytes(elements * element_size(dtype)); }
  /// `elements` of it, from element `first` on.
  Region part(std::int64_t first, std::int64_t count) const {
    return {data + first * element_size(dtype), count, dtype};
  }
};

/// Why gradients of this type cannot be reduced on a kind of device; empty when they can.
using DtypeRule = std::string (*)(Dtype dtype);

/// A moment on a stream; its time is known once the device was synchronised.
using Event = std::size_t;

class Device {
 public:
  virtual ~Device() = default;
  /// What it is, with versions: for the provenance of a measurement.
  virtual std::vector<std::pair<std::string, std::string>> description() const = 0;

  /// Memory filled with zeros; it lives until release_memory.
  virtual Region allocate(Dtype dtype, std::int64_t elements) = 0;
  /// Of the host, filled with zeros, which copies of the compute stream reach; it lives as long.
  virtual Region allocate_on_host(Dtype dtype, std::int64_t elements) = 0;
  virtual void fill(Region region, double value) = 0;
  virtual std::vector<double> read(Region region) = 0;

  /// Replayed compute starts anew: what follows is counted from the stream's present.
  virtual void begin_compute() = 0;
  /// Replayed compute of this duration.
  virtual void compute(Duration duration) = 0;
  /// to = from · factor; the two may be one.
  virtual void scale_copy(Region from, Region to, double factor) = 0;
  /// to = to + from
  virtual void add(Region from, Region to) = 0;
  /// to = from; one of the two may be the host's.
  virtual void copy(Region from, Region to) = 0;
  /// The same to the host, which waits until it is there.
  virtual void read_back(Region from, Region to) = 0;
  /// to = from, in to's type: from float32 to 16 bits.
  virtual void cast(Region from, Region to) = 0;
  virtual Event record_event() = 0;

  /// Returns when the stream has come to this event: where calls return at once, so that the host does not run far ahead.
  virtual void wait_for(Event /*event*/) {}
  /// Returns when all streams are done.
  virtual void synchronise() = 0;
  virtual TimePoint time_of(Event event) = 0;
  /// StepEvents so far are no longer asked for.
  virtual void forget_marks() = 0;
  /// Regions handed out so far are no longer used. After synchronise.
  virtual void release_memory() = 0;
};

}  // namespace ddpsim
