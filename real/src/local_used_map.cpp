#include "local_used_map.hpp"

#include <cstring>
#include <utility>

namespace ddpsim {

LocalUsedMap::LocalUsedMap(Device& device, Communicator& communicator, const Workload& workload,
                           const Recorded& recorded)
    : device_(device), communicator_(communicator), place_(workload.parameters.size()) {
  std::vector<bool> used(workload.parameters.size());
  for (const ReadyEvent& event : recorded.backward->ready) used[event.parameter] = true;
  std::int64_t in_ddp = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!is_reduced(workload.parameters[i])) continue;
    place_[i] = static_cast<std::size_t>(in_ddp++);
    if (!used[i]) unused_.push_back(i);
  }
  here_ = device.allocate_on_host(Dtype::int32, in_ddp);
  sums_ = device.allocate_on_host(Dtype::int32, in_ddp);
  map_ = device.allocate(Dtype::int32, in_ddp);
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i] && is_reduced(workload.parameters[i])) element(here_, i) = element(sums_, i) = 1;
}

void LocalUsedMap::all_reduce() {
  std::memcpy(sums_.data, here_.data, static_cast<std::size_t>(here_.bytes().count()));
  device_.copy(here_, map_);
  work_ = communicator_.all_reduce(map_);
  waits_ = true;
}

bool LocalUsedMap::used_anywhere(std::size_t parameter) {
  if (used_here(parameter)) return true;
  if (std::exchange(waits_, false)) {
    const Event before = device_.record_event();
    communicator_.wait(*work_);
    device_.read_back(map_, sums_);
    awaited_.emplace(before, device_.record_event());
  }
  return element(sums_, parameter) != 0;
}

void LocalUsedMap::finish() {
  if (std::exchange(waits_, false)) communicator_.wait(*work_);
}

std::int32_t& LocalUsedMap::element(Region region, std::size_t parameter) const {
  return reinterpret_cast<std::int32_t*>(region.data)[place_[parameter]];
}

}  // namespace ddpsim
