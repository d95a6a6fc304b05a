// Any text as a study gives a study or an InputError. A sweep then numbers its points correctly.
// The options of a comparison then take the values of the study, or report why not.
#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "study.hpp"
#include "sweep_study.hpp"

namespace {

/// A command with one option of each kind that a study may set.
class Command {
 public:
  Command() {
    app_.add_option("--batch", number_);
    app_.add_option("--comm-hook", text_);
    app_.add_option("--bucket-cap-mb-list", several_)->delimiter(',');
    app_.add_option("--price", repeated_)->expected(1)->take_all();
    app_.add_flag("--no-tune", flag_);
  }
  CLI::App& app() { return app_; }

 private:
  CLI::App app_{"", "compare"};
  double number_ = 0;
  std::string text_;
  std::vector<double> several_;
  std::vector<std::string> repeated_;
  bool flag_ = false;
};

/// Checks the first points and the last one.
void check_points(const ddpsim::SweepStudy& study) {
  constexpr std::size_t kMost = 100;
  const std::size_t points = study.points();
  if (points == 0) std::abort();
  for (std::size_t k = 0; k < points; k = k < kMost || k + 1 == points ? k + 1 : points - 1) {
    const ddpsim::SweepPoint point = study.point(k);
    const std::size_t again =
        (point.workload * study.candidates.size() + point.candidate) * study.combinations() +
        point.combination;
    if (again != k || point.workload >= study.workloads.size()) std::abort();
    if (study.values_of(point.combination).size() != study.axes.size()) std::abort();
    if (study.options_of(point.combination).size() < study.options.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Command command;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check_points(ddpsim::read_sweep_study(text, "fuzz", command.app()));
  } catch (const ddpsim::InputError&) {
  }
  try {
    Command taking;
    ddpsim::give_options(taking.app(), ddpsim::read_study(taking.app(), text, "fuzz").options);
  } catch (const ddpsim::InputError&) {
  } catch (const CLI::ParseError&) {
  }
  return 0;
}
