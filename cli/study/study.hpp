// ddpsim.study/1: a file that says what a comparison is made of.
//
// Its words are data. A candidate, a workload and a label are taken as they are, and an option is looked up by its name among the
// command's own. Nothing from the file is put into a command line or into LABEL=VALUE and parsed again.
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

/// What a file may hold. `compare` refuses what only `sweep` takes.
const ObjectType& study_document();

/// An option that a study gives.
struct StudyOption {
  std::string name;  ///< "--torch"
  /// As CLI11 keeps them; a flag has "true". Without a value the option is not given.
  std::vector<std::string> values{};
};

struct StudyWorkload {
  std::string workload;
  std::string share{};  ///< "70%", "2"; empty: none is given
};

struct Study {
  std::vector<StudyWorkload> workloads;
  std::vector<CandidateRequest> candidates;
  std::vector<StudyOption> options;
};

/// A study that was named with --study, and the command line that named it.
struct StudyBeside {
  std::string file;
  Study study;
  TypedLine typed;  ///< without the options of the study
};

/// --study FILE. Once it is parsed, `into` holds the study, and the command has the study's options where they were not typed; of an
/// option that may be repeated it has both, the study's values first. Parsing throws InputError.
void add_study_option(CLI::App& command, std::optional<StudyBeside>& into);

/// Throws InputError where this complaint is about an option, a price or a workload that the study gives and nobody typed:
/// the study is wrong then, not the command line.
void require_right_study(const StudyBeside& beside, std::string_view complaint);

/// The study that a text holds. Throws InputError, also where `command` has no such option.
Study read_study(const CLI::App& command, std::string_view text, const std::string& file);

/// Adds the values to those that the command has. An option that was typed and holds one value keeps that value. Throws
/// CLI::ParseError where an option does not take a value.
void give_options(CLI::App& command, const std::vector<StudyOption>& options);

// Parts of it, for readers of studies that hold more.

inline constexpr std::int64_t kMostBytesOfAStudy = 16 << 20;

/// The option called `key`. Throws InputError, at `value`, where the command has no such option, or where the option
/// says how an answer is shown or where it is written.
const CLI::Option& option_of_study(const CLI::App& command, const std::string& key,
                                   const Cursor& value);
/// The same, with its values.
StudyOption read_option(const CLI::App& command, const std::string& key, const Cursor& value);
/// `options`, where there are any.
std::vector<StudyOption> read_options(const CLI::App& command, const Object& root);
/// `workload` or `workloads`, whichever is there.
std::vector<StudyWorkload> read_workloads(const Object& root);
/// `candidates`; empty where the study has none.
std::vector<CandidateRequest> read_candidates(const Object& root);

}  // namespace ddpsim
