#include "ddpsim/reports/reports.hpp"
#include "described_advice.hpp"
#include "described_documents.hpp"
#include "described_job.hpp"
#include "described_step.hpp"
#include "described_trust.hpp"

namespace ddpsim {
namespace {

const Described<AdviceReport>& described_advice() {
  using Report = AdviceReport;
  static const auto context = [](const Report& of) -> const ReportContext& { return of.context; };
  static const auto described =
      Described<Report>("AdviseResult",
                        "changes of DDP and NCCL settings, largest expected gain first")
          .constant("schema", "ddpsim.advice/1", "which document this is")
          .members_of(context, described_setting())
          .object(
              "budget", [](const Report& of) -> const auto& { return of.step.budget; },
              described_budget(), "how the GPU spends the current step, in parts that add up to it")
          .members_of(
              [](const Report& of) -> const auto& { return of.step.speed; }, described_speed())
          .time(
              "iteration_us", [](const Report& of) { return of.advice.iteration; },
              "time of the current step")
          .time(
              "measurable_us", [](const Report& of) { return of.advice.measurable; },
              "the smallest gain that can be measured")
          .list(
              "rows", [](const Report& of) -> const auto& { return of.advice.rows; },
              described_advice_row(),
              "every setting, and combinations that pay off, sorted by expected gain, largest "
              "first; rows that have an error come last")
          .members_of(context, described_trust());
  return described;
}

}  // namespace

const ObjectType& advice_document() {
  return described_advice().type();
}

std::string advice_json(const AdviceReport& report) {
  return described_advice().text_of(report);
}

}  // namespace ddpsim
