#include "ddpsim/sim/collective_model.hpp"

#include <utility>

namespace ddpsim {

FlowModel flow_model(const CollectiveTuning& tuning, Fabric fabric, Background background) {
  return {{.tuning = tuning},
          std::make_shared<const Fabric>(std::move(fabric)),
          std::make_shared<const Background>(std::move(background))};
}

const AnalyticModel* chooser_of(const CollectiveModel& model) {
  if (const AnalyticModel* analytic = std::get_if<AnalyticModel>(&model)) return analytic;
  return std::get_if<FlowModel>(&model);
}

AnalyticModel* chooser_of(CollectiveModel& model) {
  return const_cast<AnalyticModel*>(chooser_of(std::as_const(model)));
}

const TimeScale* time_scale_of(const CollectiveModel& model) {
  if (const GlooModel* gloo = std::get_if<GlooModel>(&model)) return &gloo->scale;
  const AnalyticModel* nccl = chooser_of(model);
  return nccl == nullptr ? nullptr : &nccl->scale;
}

TimeScale* time_scale_of(CollectiveModel& model) {
  return const_cast<TimeScale*>(time_scale_of(std::as_const(model)));
}

}  // namespace ddpsim
