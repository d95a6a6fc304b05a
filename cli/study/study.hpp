// ddpsim.study/1: a file with the workloads, candidates and options of a comparison.
//
// Its words are data. Candidates, workloads and labels are taken literally, and options are looked up by name among those of the
// command. Nothing from the file is put into a command line or into LABEL=VALUE and parsed again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "candidates.hpp"
#include "typed_line.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ddpsim {

class Cursor;
class Object;
struct ObjectType;

/// Returns the schema of the file. `compare` refuses the keys that only `sweep` takes.
const ObjectType& study_document();

/// An option in a study.
struct StudyOption {
  std::string name;  ///< "--torch"
  /// Values as CLI11 stores them; a flag has "true". Without a value, the option is not given.
  std::vector<std::string> values{};
};

struct StudyWorkload {
  std::string workload;
  std::string share{};  ///< "70%", "2" or empty
};

struct Study {
  std::vector<StudyWorkload> workloads;
  std::vector<CandidateRequest> candidates;
  std::vector<StudyOption> options;
};

/// The study of --study, and the command line.
struct StudyBeside {
  std::string file;
  Study study;
  TypedLine typed;  ///< without the options of the study
};

/// Adds --study FILE. After parsing, `into` holds the study, and the command has its options. A typed option takes precedence; a
/// repeatable one has the values of the study, then the typed ones. Parsing throws InputError.
void add_study_option(CLI::App& command, std::optional<StudyBeside>& into);

/// Throws InputError if the complaint is about an option, price or workload that only the study gives. The study is then wrong, not the
/// command line.
void require_right_study(const StudyBeside& beside, std::string_view complaint);

/// Parses a study. Throws InputError, also for an option that `command` does not have.
Study read_study(const CLI::App& command, std::string_view text, const std::string& file);

/// Adds the values to the options of the command. A typed option that takes one value keeps it. Throws CLI::ParseError if an option
/// does not take a value.
void give_options(CLI::App& command, const std::vector<StudyOption>& options);

// Parts of the reader, for studies with more keys.

inline constexpr std::int64_t kMostBytesOfAStudy = 16 << 20;

/// Returns the option called `key`. Throws InputError, with the place of `value`, if the command does not have it, or if it says how
/// the answer is shown or where it is written.
const CLI::Option& option_of_study(const CLI::App& command, const std::string& key,
                                   const Cursor& value);
/// Reads an option and its values.
StudyOption read_option(const CLI::App& command, const std::string& key, const Cursor& value);
/// Reads `options`, if given.
std::vector<StudyOption> read_options(const CLI::App& command, const Object& root);
/// Reads `workload` or `workloads`, whichever is given.
std::vector<StudyWorkload> read_workloads(const Object& root);
/// Reads `candidates`, if given.
std::vector<CandidateRequest> read_candidates(const Object& root);

}  // namespace ddpsim
