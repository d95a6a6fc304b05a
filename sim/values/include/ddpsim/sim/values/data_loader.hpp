// Where a step's batches come from, as torch.utils.data.DataLoader makes them; names and defaults are its own where it has
// them (torch/utils/data/dataloader.py, 2.13).
#pragma once

#include <optional>
#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Between GPU and pinned host memory where no graph of a node says: PCIe 3 x16 after headers, as gloo's copies take.
inline constexpr Bandwidth kHostCopy = Bandwidth::gigabytes_per_second(11);
/// What one thread copies within a host's memory, pinning a batch or staging one that is not pinned: 19 to 20 GB/s of batches of
/// 19 and 77 MB on a server's core with nothing beside it (Tensor.copy_, PyTorch 2.13), into memory that is there already, as a
/// caching allocator hands it out; into fresh pages 2.7. Other hosts: not measured.
inline constexpr Bandwidth kPinCopy = Bandwidth::gigabytes_per_second(19);

struct DataLoader {
  int num_workers = 0;        ///< processes of each rank; 0: the thread that trains loads, too
  int prefetch_factor = 2;    ///< batches each worker may have in hand, one in work included
  bool pin_memory = false;    ///< a thread of its own copies each batch into pinned memory
  bool non_blocking = false;  ///< of Tensor.to: the host goes on while a pinned batch is copied
  /// What a worker takes for a batch, alone on a core and with nothing to read; or for each sample of it.
  std::optional<Duration> batch;
  std::optional<Duration> sample;
  Bytes sample_bytes;  ///< read from storage
  /// Read rate of each node, shared by its ranks' workers; absent: nothing waits for storage.
  std::optional<Bandwidth> storage;
  bool storage_shared = false;  ///< `storage` is the rate of all nodes together
  std::optional<int> cores;  ///< of each node, for its ranks' workers alone; absent: one for each
  Bytes batch_bytes;         ///< copied to the GPU, and pinned before
  std::optional<Bandwidth> pcie;  ///< of each GPU; absent: as the cluster's nodes have it
  Bandwidth pin = kPinCopy;
  Duration worker_start;  ///< from the start of an epoch until a worker takes its first task
  /// Steps the host may be ahead of the GPU when it asks for a batch. Absent: as the workload says, else 0, as of a script
  /// that reads its loss in each step.
  std::optional<int> steps_ahead;
  bool operator==(const DataLoader&) const = default;
};

/// What a step waits for when no batch is there.
enum class SupplyCause {
  none,        ///< it does not
  workers,     ///< decoding: all workers, or the trainer's own thread, are busy with it
  cores,       ///< workers have fewer cores than they are
  storage,     ///< reading
  pin_memory,  ///< the thread that pins
  copy,        ///< batches are there, and their copy to the GPU is what is left
  recorded,    ///< whatever the recorded step waited for
};
std::string_view name_of(SupplyCause cause);  ///< "pin_memory"

}  // namespace ddpsim
