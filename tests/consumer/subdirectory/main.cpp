#include <cstdio>

#include "ddpsim/sim/step/bucket_assignment.hpp"

int main() {
  ddpsim::Parameter parameter;
  parameter.name = "weight";
  parameter.shape = {{1000, 25}};
  ddpsim::Workload workload;
  workload.parameters.assign(3, parameter);
  const ddpsim::Bytes limits[] = {ddpsim::Bytes(100'000)};
  const auto buckets = ddpsim::construction_buckets(workload, limits);
  std::printf("%zu buckets\n", buckets.size());
  return buckets.size() == 3 ? 0 : 1;
}
