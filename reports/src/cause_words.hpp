// Causes of a slower step as people say them; JSON has their classes.
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

/// SlowdownCause::what as the beginning of a sentence: "The network is slower". Of a class without a line here its words.
std::string cause_words(std::string_view what);

}  // namespace ddpsim
