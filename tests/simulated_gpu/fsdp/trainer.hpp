// A training step with the calls of PyTorch 2.13. Each scheme has its own file, written from
// PyTorch's source.
#pragma once

#include <memory>
#include <string>

#include "rank.hpp"

namespace fsdp {

class Trainer {
 public:
  virtual ~Trainer() = default;
  virtual void step() = 0;
};

/// FullyShardedDataParallel (torch/distributed/fsdp).
std::unique_ptr<Trainer> make_fsdp1(Rank& rank);
/// fully_shard (torch/distributed/fsdp/_fully_shard).
std::unique_ptr<Trainer> make_fsdp2(Rank& rank);

/// An option of the job that this scheme does not support here; empty if there is none.
std::string refused_by_fsdp1(const Job& job);
std::string refused_by_fsdp2(const Job& job);

inline ncclDataType_t nccl_type(ddpsim_type type) {
  if (type == DDPSIM_FLOAT16) return ncclFloat16;
  return type == DDPSIM_BFLOAT16 ? ncclBfloat16 : ncclFloat32;
}

}  // namespace fsdp
