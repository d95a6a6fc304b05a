// Tracks schemes that keep whole parameters and gradients, with or without buffers of their own,
// through a step.

#include <utility>

#include "memory_parts.hpp"
#include "memory_walks.hpp"

namespace ddpsim {

PeakMemory peak_of(const Job& job, const WholeTensors& kept) {
  const Workload& workload = job.workload();
  const HeldActivations activations(workload);
  Allocator allocator(on_host(job));
  MemoryParts always;
  Bytes masters;
  Bytes trained;
  for (const BufferGroup& group : workload.buffers) always.buffers += group.bytes;
  for (std::size_t p = 0; p < workload.parameters.size(); ++p) {
    const Bytes bytes = job.gradients()[p];
    OptimizerBytes optimizer;
    const bool trains = !workload.parameters[p].frozen;
    if (trains) trained += bytes;
    if (kept.steps && trains)
      optimizer = optimizer_bytes(job.options().optimizer, workload.parameters[p].dtype, bytes);
    always.parameters += bytes;
    always.optimizer += optimizer.state;
    masters += optimizer.masters;
    allocator.allocate(bytes);
    allocator.allocate(optimizer.state);
  }
  always.optimizer += kept.between_averages;
  allocator.allocate(kept.between_averages);
  Highest highest;
  MemoryParts now = always;
  now.activations = activations.kept();
  highest.note(now, PeakMoment::forward);
  for (std::size_t k = 0; k < workload.backward->ready.size(); ++k) {
    highest.next_gradient();
    now.gradients += job.gradients()[workload.backward->ready[k].parameter];
    now.activations = activations.held(k);
    highest.see(now, PeakMoment::backward);
  }
  highest.next_gradient();
  now.activations = activations.left();
  now.buckets = kept.gradients;
  highest.see(now, PeakMoment::backward);
  now.buckets = Bytes();
  if (kept.steps) {
    now.temporaries = (job.options().optimizer.fused ? Bytes() : trained) + masters;
    highest.see(now, PeakMoment::optimizer);
  }
  now.hook = kept.averaged;
  now.temporaries = kept.widened;
  if (kept.averaged > Bytes()) highest.see(now, PeakMoment::averaging);
  PeakMemory peak = std::move(highest).take();
  peak.activations = activations.all();
  peak.rounding = allocator.rounding();
  peak.segments = allocator.segments();
  return peak;
}

PeakMemory peak_of(const Job& job, const MixedPrecision& kept) {
  const Workload& workload = job.workload();
  const HeldActivations activations(workload, kept.element_size == element_size(Dtype::float16));
  MemoryParts always{.parameters = kept.parameters,
                     .gradients = kept.gradients,
                     .buckets = kept.buckets,
                     .optimizer = kept.optimizer,
                     .temporaries = kept.temporaries};
  for (const BufferGroup& group : workload.buffers) always.buffers += group.bytes;
  Highest highest;
  MemoryParts now = always;
  now.activations = activations.kept();
  highest.note(now, PeakMoment::forward);
  for (std::size_t k = 0; k < workload.backward->ready.size(); ++k) {
    highest.next_gradient();
    const Parameter& parameter = workload.parameters[workload.backward->ready[k].parameter];
    const Bytes gradient(parameter.ignored ? 0 : elements_of(parameter) * kept.element_size);
    now.activations = activations.held(k);
    if (kept.keeps_gradients)
      now.gradients += gradient;
    else
      now.temporaries = activations.known() ? Bytes() : gradient;
    highest.see(now, PeakMoment::backward);
  }
  now.activations = activations.left();
  now.temporaries = kept.stepped;
  now.buckets = kept.keeps_gradients ? Bytes() : now.buckets;
  highest.see(now, PeakMoment::optimizer);
  PeakMemory peak = std::move(highest).take();
  peak.activations = activations.all();
  peak.host = kept.host;
  return peak;
}

}  // namespace ddpsim
