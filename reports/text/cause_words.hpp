// Causes of a step of another length as people say them; JSON has their classes.
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

/// What became of the step whose cause is asked for.
enum class StepChange { longer, shorter };

/// SlowdownCause::what as the beginning of a sentence: "The network is slower", or "faster" where the step got shorter. Of a
/// class without a line here its words.
std::string cause_words(std::string_view what, StepChange change);

}  // namespace ddpsim
