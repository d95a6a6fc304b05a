#include "memory_parts.hpp"

#include <variant>

#include "unit_sizes.hpp"

namespace ddpsim {

void Allocator::allocate(Bytes tensor) {
  if (on_host_ || tensor == Bytes()) return;
  constexpr std::int64_t kBlock = 512;
  const std::int64_t block = padded_to(kBlock, tensor.count());
  rounding_ += block - tensor.count();
  if (block <= kMiB)
    small_ += block;
  else if (block < 10 * kMiB)
    medium_ += block;
  else
    rest_of_large_ += padded_to(2 * kMiB, block) - block;
}

Bytes Allocator::segments() const {
  return Bytes(padded_to(2 * kMiB, small_) - small_ + padded_to(20 * kMiB, medium_) - medium_ +
               rest_of_large_);
}

bool on_host(const Job& job) {
  const GlooModel* gloo = std::get_if<GlooModel>(&job.model());
  return gloo != nullptr && gloo->links.host_tensors;
}

OptimizerBytes optimizer_bytes(const OptimizerSetting& setting, Dtype dtype, Bytes parameters) {
  int states = 2;
  if (setting.kind == Optimizer::sgd) states = 0;
  if (setting.kind == Optimizer::momentum) states = 1;
  const std::int64_t single = element_size(Dtype::float32);
  const std::int64_t own = element_size(dtype);
  if (!setting.master_weights || own >= single)
    return {.state = states * parameters, .masters = {}};
  const Bytes masters(parameters.count() / own * single);
  return {.state = (states + 1) * masters, .masters = masters};
}

Bytes HeldActivations::held(std::size_t k) const {
  if (!kept_) return {};
  if (known()) return kept_->held[k];
  if (entries_ == 0) return kept_->bytes;
  const double left = static_cast<double>(entries_ - k) / static_cast<double>(entries_);
  return Bytes(static_cast<std::int64_t>(left * static_cast<double>(kept_->bytes.count())));
}

Bytes nccl_buffers(const Job& among) {
  if (nccl_of(among.model()) == nullptr || among.cluster().ranks() == 1) return {};
  constexpr Bytes kReceiver = Bytes(524'288 + 4'915'200 + 4'194'304);
  constexpr Bytes kUsesAllChannels = Bytes(1024 * kMiB);
  const int channels = plan(among, CollectiveKind::all_reduce, kUsesAllChannels).channels;
  return kReceiver * channels * (among.cluster().nodes > 1 ? 4 : 2);
}

}  // namespace ddpsim
