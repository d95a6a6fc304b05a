#include "ddpsim/sim/collectives/collective_model.hpp"

#include <utility>

namespace ddpsim {

CollectiveModel::CollectiveModel() = default;
CollectiveModel::CollectiveModel(const CollectiveModel& other) = default;
CollectiveModel::CollectiveModel(CollectiveModel&& other) noexcept = default;
CollectiveModel& CollectiveModel::operator=(const CollectiveModel& other) = default;
CollectiveModel& CollectiveModel::operator=(CollectiveModel&& other) noexcept = default;
CollectiveModel::~CollectiveModel() = default;

FlowModel flow_model(const CollectiveTuning& tuning, Fabric fabric, Background background) {
  return {{.tuning = tuning},
          std::make_shared<const Fabric>(std::move(fabric)),
          std::make_shared<const Background>(std::move(background))};
}

Backend backend_of(const CollectiveModel& model) {
  return std::holds_alternative<GlooModel>(model) ? Backend::gloo : Backend::nccl;
}

const AnalyticModel* nccl_of(const CollectiveModel& model) {
  if (const AnalyticModel* analytic = std::get_if<AnalyticModel>(&model)) return analytic;
  return std::get_if<FlowModel>(&model);
}

AnalyticModel* nccl_of(CollectiveModel& model) {
  return const_cast<AnalyticModel*>(nccl_of(std::as_const(model)));
}

const CostFactors* cost_factors_of(const CollectiveModel& model) {
  if (const GlooModel* gloo = std::get_if<GlooModel>(&model)) return &gloo->factors;
  const AnalyticModel* nccl = nccl_of(model);
  return nccl == nullptr ? nullptr : &nccl->factors;
}

CostFactors* cost_factors_of(CollectiveModel& model) {
  return const_cast<CostFactors*>(cost_factors_of(std::as_const(model)));
}

}  // namespace ddpsim
