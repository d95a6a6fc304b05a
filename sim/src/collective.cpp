// Names, and the one road from a collective model to a duration.
#include "ddpsim/sim/collective.hpp"

namespace ddpsim {
namespace {

struct Planner {
  CollectiveKind kind;
  Bytes size;
  std::size_t index;

  CollectivePlan operator()(const AnalyticModel& model) const {
    const CollectiveChoice choice = choose(kind, size, model.cluster, model.tuning);
    const Duration transfer = cost(kind, choice, size, model.cluster);
    return {transfer.scaled(model.duration_scale), choice, choice.channels};
  }
  CollectivePlan operator()(const RecordedModel& model) const {
    if (index >= model.durations.size()) return {};
    return {model.durations[index], std::nullopt, model.channels};
  }
  CollectivePlan operator()(const FreeModel&) const { return {}; }
};

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  return algorithm == Algorithm::tree ? "tree" : "ring";
}

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      break;
  }
  return "Simple";
}

CollectivePlan plan(const CollectiveModel& model, CollectiveKind kind, Bytes size,
                    std::size_t index) {
  return std::visit(Planner{kind, size, index}, model);
}

}  // namespace ddpsim
