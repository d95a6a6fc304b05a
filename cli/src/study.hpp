// ddpsim.study/1: what a comparison is made of, in a file. It stands for the words one would have typed, so that all that is
// checked, said and offered next is the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace ddpsim {

class Cursor;

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

// Parts of it, for readers of studies that hold more.

inline constexpr std::int64_t kMostBytesOfAStudy = 16 << 20;

/// What CLI11 would be given for this option; nothing for a flag that is false.
std::vector<std::string> words_of_option(const std::string& option, const Cursor& value);
/// Throws InputError, at `value`, where the command has no such option.
void require_known_option(const CLI::App& command, const std::string& key, const Cursor& value);
/// Both, after a check that a flag takes no value.
std::vector<std::string> words_of_known_option(const CLI::App& command, const std::string& key,
                                               const Cursor& value);
/// `workloads`, each a text or {workload, share}: at least one.
struct StudyWorkload {
  std::string workload;
  std::string share{};  ///< "70%", "2"; empty: none is given
};
std::vector<StudyWorkload> study_workloads(const Cursor& several);
/// CLUSTER, and what is said of this candidate alone.
void add_candidate(const Cursor& cursor, std::vector<std::string>& clusters,
                   std::vector<std::string>& options);

}  // namespace ddpsim
