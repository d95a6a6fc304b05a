// ddpsim.study/1: what a comparison is made of, in a file. It stands for the words one would have typed, so that all that is
// checked, said and offered next is the same.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace ddpsim {

/// --study FILE, of commands that take one.
void add_study_option(CLI::App& command);

/// The words of a command, those behind --study FILE in its place: WORKLOAD and CLUSTERs first. An option that is typed
/// replaces the study's, unless it may be repeated. Without --study the words as they are. Throws
/// InputError.
std::vector<std::string> with_study(const CLI::App& command, std::span<const std::string> words);

/// The same from what the file holds.
std::vector<std::string> words_of_study(const CLI::App& command, std::string_view text,
                                        const std::string& file,
                                        std::span<const std::string> typed);

}  // namespace ddpsim
