#include "step_collectives.hpp"

#include "memory_load.hpp"

namespace ddpsim {

StepCollective planned_collective(const Job& among, CollectiveKind kind, Bytes size,
                                  std::size_t index) {
  const CollectivePlan planned = plan(among, kind, size, index);
  return {.scheduled = {planned.transfer, planned.channels, kind, size, planned.volume,
                        planned.choice ? memory_load(kind, size, planned.transfer, among.cluster())
                                       : 0},
          .choice = planned.choice,
          .to_host = planned.to_host,
          .to_device = planned.to_device};
}

}  // namespace ddpsim
