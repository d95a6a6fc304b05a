#include "ddpsim/reports/mix_report.hpp"
#include "ddpsim/reports/reports.hpp"
#include "described_comparison.hpp"
#include "described_documents.hpp"
#include "described_mix.hpp"

namespace ddpsim {
namespace {

using Texts = std::vector<std::string>;

/// The document has two forms: for one workload, and for several. The other pointer is null.
struct ShownCompare {
  const CompareReport* one = nullptr;
  const MixReport* several = nullptr;
};

const Texts& warnings_of(const CompareReport& report) {
  return report.contexts.front().trust.warnings.texts();
}

const Described<MixedWorkload>& described_workload() {
  using Workload = MixedWorkload;
  static const auto described =
      Described<Workload>("Comparison", "the comparison for one of several workloads")
          .text("name", &Workload::name, "the workload as typed")
          .ratio("share", &Workload::share, "the workload's share of the reference's time, 0 to 1")
          .members_of(&Workload::report, described_comparison())
          .texts(
              "warnings", [](const Workload& of) -> const Texts& { return warnings_of(of.report); },
              "warnings, one sentence each");
  return described;
}

const Described<ShownCompare>& described_compare() {
  using Shown = ShownCompare;
  static const auto described =
      Described<Shown>("CompareResult", "a comparison of candidates, on one workload or on several")
          .constant("schema", "ddpsim.compare/1", "which document this is")
          .members_of(&Shown::one, described_comparison())
          .list(
              "workloads",
              [](const Shown& of) { return of.several ? &of.several->workloads : nullptr; },
              described_workload(),
              "the comparison for each workload, instead of the keys of a single comparison. Only "
              "with several workloads",
              Absent::left_out)
          .object("mix", &Shown::several, described_mix(),
                  "the comparison for all workloads together, each with its share. Only with "
                  "several workloads",
                  Absent::left_out)
          .texts(
              "warnings",
              [](const Shown& of) -> const Texts& {
                return of.one ? warnings_of(*of.one) : of.several->warnings;
              },
              "warnings, one sentence each");
  return described;
}

}  // namespace

const ObjectType& compare_document() {
  return described_compare().type();
}

std::string compare_json(const CompareReport& report) {
  return described_compare().text_of({.one = &report});
}

std::string mix_json(const MixReport& report) {
  return described_compare().text_of({.several = &report});
}

}  // namespace ddpsim
