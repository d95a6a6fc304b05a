// Any text, with any requested column, gives steps with positive times, or an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ddpsim/calibrate/validate/step_times.hpp"
#include "ddpsim/formats/input_error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string first(text.substr(0, text.find_first_of(",:= \n")));
  ddpsim::parse_step_time_unit(text.substr(0, 64));
  for (const ddpsim::StepTimesAsked& asked :
       {ddpsim::StepTimesAsked(), ddpsim::StepTimesAsked{.key = first},
        ddpsim::StepTimesAsked{
            .key = first, .unit = ddpsim::StepTimeUnit(), .samples_per_gpu = 8, .gpus = 4}}) {
    try {
      const ddpsim::MeasuredSteps times = ddpsim::parse_step_times(text, "fuzz", asked);
      if (times.steps.empty() || times.source.empty()) std::abort();
      for (const ddpsim::Duration step : times.steps)
        if (step <= ddpsim::Duration()) std::abort();
    } catch (const ddpsim::InputError&) {
    }
  }
  return 0;
}
