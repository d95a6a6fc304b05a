// What the reducer needs from a device: memory, one compute stream, and events on it.
// Implementations are a GPU (cuda_device) and a CPU that waits for deadlines (cpu_device). So one
// reducer runs on both, and tests see every call.
//
// Every function except allocate, fill, read and synchronise is work on the compute stream, in
// order. On a GPU the calls return at once; on the CPU they return when the work is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Elements in the memory of a device.
struct Region {
  std::byte* data = nullptr;
  std::int64_t elements = 0;
  Dtype dtype = Dtype::float32;

  Bytes bytes() const { return Bytes(elements * element_size(dtype)); }
  /// `count` elements, starting with element `first`.
  Region part(std::int64_t first, std::int64_t count) const {
    return {data + first * element_size(dtype), count, dtype};
  }
};

/// Why gradients of this type cannot be reduced on a kind of device; empty if they can.
using DtypeRule = std::string (*)(Dtype dtype);

/// A point on a stream. Its time is known after the device was synchronised.
using Event = std::size_t;

class Device {
 public:
  virtual ~Device() = default;
  /// Device and versions, for the provenance of a measurement.
  virtual std::vector<std::pair<std::string, std::string>> description() const = 0;

  /// Memory filled with zeros. It stays valid until release_memory.
  virtual Region allocate(Dtype dtype, std::int64_t elements) = 0;
  /// Host memory filled with zeros that the compute stream can copy to and from. It stays valid
  /// until release_memory.
  virtual Region allocate_on_host(Dtype dtype, std::int64_t elements) = 0;
  virtual void fill(Region region, double value) = 0;
  virtual std::vector<double> read(Region region) = 0;

  /// Starts a new sequence of replayed compute. Its times count from the stream's present.
  virtual void begin_compute() = 0;
  /// Replays compute of this duration.
  virtual void compute(Duration duration) = 0;
  /// to = from * factor. Both may be the same region.
  virtual void scale_copy(Region from, Region to, double factor) = 0;
  /// to = to + from
  virtual void add(Region from, Region to) = 0;
  /// to = from. One of the two may be in host memory.
  virtual void copy(Region from, Region to) = 0;
  /// Copies to the host, which waits until the copy is done.
  virtual void read_back(Region from, Region to) = 0;
  /// to = from, in to's type, from float32 to 16 bits.
  virtual void cast(Region from, Region to) = 0;
  virtual Event record_event() = 0;

  /// Returns when the stream has reached this event. On devices whose calls return at once, this
  /// keeps the host from running far ahead.
  virtual void wait_for(Event /*event*/) {}
  /// Returns when all streams are done.
  virtual void synchronise() = 0;
  virtual TimePoint time_of(Event event) = 0;
  /// The caller will not ask for earlier events again.
  virtual void forget_marks() = 0;
  /// The caller no longer uses any region. Call this after synchronise.
  virtual void release_memory() = 0;
};

}  // namespace ddpsim
