#include "study.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "help_group.hpp"

namespace ddpsim {
namespace {

constexpr const char* kStudy = "--study";
constexpr const char* kWorkload =
    "a workload, named as on the command line; a path is relative to where the command runs";
constexpr std::string_view kDashes = "--";
constexpr double kAnyNumber = 1e300;

using Kind = ValueType::Kind;

const ObjectType& workload_type() {
  static const auto type =
      ObjectType("StudyWorkload", "one of several workloads")
          .needs("workload", {Kind::text}, kWorkload)
          .may_have("share", any_of({{Kind::number}, {Kind::text}}),
                    "its share of the time, as for --workload: 2 or \"70%\"; `sweep` ignores it");
  return type;
}

const ObjectType& candidate_type() {
  static const auto type =
      ObjectType("StudyCandidate", "a cluster, or a range of clusters, to compare")
          .may_have("label", {Kind::text}, "its name, any text; by default the cluster as typed")
          .needs("cluster", {Kind::text},
                 "a cluster, or a range of them, named as on the command line")
          .may_have("price", {Kind::text},
                    "its price, as for --price: \"31.2/node_hour\"; by default the one in the "
                    "cluster's file")
          .may_have("measured_step", {Kind::text},
                    "its measured step, as for --measured-step: \"16ms\"");
  return type;
}

/// Returns the type of an option. One that varies may also be null, which means that it is not given.
ValueType option_type(bool varies) {
  ValueType type = any_of({{Kind::text},
                           {Kind::number},
                           {Kind::boolean},
                           list_of(any_of({{Kind::text}, {Kind::number}}))});
  type.nullable = varies;
  return type;
}

bool is_repeatable(const CLI::Option& option) {
  return option.get_expected_max() > 1;
}

/// Returns whether an option is a flag.
bool takes_no_value(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

void add_values(const std::string& option, const Cursor& value, std::vector<std::string>& values) {
  if (value.is_array()) {
    for (const Cursor& item : value.array()) add_values(option, item, values);
  } else if (value.is_string()) {
    values.push_back(value.string());
  } else if (value.is_number()) {
    values.push_back(fmt::format("{}", value.number(-kAnyNumber, kAnyNumber)));
  } else if (value.boolean()) {
    value.fail(fmt::format("{} takes a value", option), "Write the value instead of true");
  }
}

/// Throws InputError if the option concerns output.
void require_of_the_job(const CLI::Option& option, const std::string& key, const Cursor& value) {
  const std::string hint = fmt::format("Leave it out, and type --{} on the command line", key);
  if (option.get_group() != kOutputGroup) return;
  if (option.get_type_name().starts_with("FILE"))
    value.fail(fmt::format("--{} names a file to write, which a study cannot do", key), hint);
  value.fail(
      fmt::format("--{} sets how the answer is shown, but a study only states the question", key),
      hint);
}

CandidateRequest read_candidate(const Cursor& cursor) {
  if (cursor.is_string()) return typed_candidate(cursor.string());
  const Object fields = cursor.object(candidate_type());
  const auto text = [&](const char* key) {
    const auto field = fields.optional(key);
    return field ? std::optional(field->string()) : std::nullopt;
  };
  CandidateRequest request{.cluster = {},
                           .label = text("label"),
                           .price = text("price"),
                           .measured_step = text("measured_step")};
  request.cluster = fields.required("cluster").string();
  return request;
}

std::vector<StudyWorkload> read_several(const Cursor& several) {
  std::vector<StudyWorkload> workloads;
  for (const Cursor& one : several.array()) {
    if (one.is_string()) {
      workloads.push_back({one.string()});
      continue;
    }
    const Object fields = one.object(workload_type());
    const auto share = fields.optional("share");
    constexpr double kMost = 1e9;
    workloads.push_back({fields.required("workload").string(),
                         !share               ? ""
                         : share->is_number() ? fmt::format("{}", share->number(0, kMost))
                                              : share->string()});
  }
  if (workloads.empty()) several.fail("is empty", "Name at least one workload");
  return workloads;
}

/// Reads the study and gives its options to the command that is being parsed.
StudyBeside take_study(CLI::App& command, const std::string& file) {
  StudyBeside beside{.file = file,
                     .study = read_study(command, read_file(file, kMostBytesOfAStudy), file),
                     .typed = TypedLine(command)};
  for (const StudyOption& option : beside.study.options) {
    try {
      give_options(command, {option});
    } catch (const CLI::ParseError& error) {
      throw InputError({.file = file,
                        .where = "/options/" + option.name.substr(kDashes.size()),
                        .message = error.what(),
                        .hint = ""});
    }
  }
  return beside;
}

}  // namespace

const ObjectType& study_document() {
  static const auto type =
      ObjectType("Study", "the question of `compare` and `sweep`: workloads, clusters and options")
          .needs("schema", word_of({"ddpsim.study/1"}), "which document this is")
          .may_have("about", {Kind::text}, "a note for people")
          .may_have("workload", {Kind::text}, kWorkload)
          .may_have("workloads", list_of(any_of({{Kind::text}, object_of(workload_type())})),
                    "several workloads, in place of workload")
          .may_have("candidates", list_of(any_of({{Kind::text}, object_of(candidate_type())})),
                    "the clusters; a text is CLUSTER or LABEL=CLUSTER. `sweep` needs at least one")
          .may_have("options", values_by_key(option_type(false)),
                    "options of the job, without --; a list for an option that may be repeated")
          .may_have("grid", values_by_key(list_of(option_type(true))),
                    "options that vary, without --, each with its values. Only for `sweep`")
          .may_have("measured_with", values_by_key(option_type(true)),
                    "the value that each option of grid had when a step was measured. Only for "
                    "`sweep`");
  return type;
}

const CLI::Option& option_of_study(const CLI::App& command, const std::string& key,
                                   const Cursor& value) {
  if (key.starts_with(kDashes))
    value.fail("options are written without dashes here",
               fmt::format("Write \"{}\"", key.substr(kDashes.size())));
  std::vector<std::string> names;
  for (const CLI::Option* one : command.get_options()) {
    const std::string& name = one->get_name();
    if (!name.starts_with(kDashes) || name == kStudy || one == command.get_help_ptr() ||
        one == command.get_help_all_ptr())
      continue;
    if (name.substr(kDashes.size()) == key) {
      require_of_the_job(*one, key, value);
      return *one;
    }
    if (one->get_group() != kOutputGroup) names.push_back(name.substr(kDashes.size()));
  }
  value.fail(fmt::format("`ddpsim {}` has no option --{}", command.get_name(), key),
             did_you_mean(key, names,
                          fmt::format("`ddpsim {} --help-all` lists them", command.get_name())));
}

StudyOption read_option(const CLI::App& command, const std::string& key, const Cursor& value) {
  const CLI::Option& option = option_of_study(command, key, value);
  StudyOption read{.name = option.get_name()};
  if (!takes_no_value(option)) {
    add_values(read.name, value, read.values);
    return read;
  }
  if (value.is_string() || value.is_number() || value.is_array())
    value.fail(fmt::format("{} takes no value", read.name), "Write true or false");
  if (value.boolean()) read.values.push_back(option.get_flag_value(key, ""));
  return read;
}

std::vector<StudyOption> read_options(const CLI::App& command, const Object& root) {
  std::vector<StudyOption> options;
  if (const auto given = root.optional("options"))
    for (const auto& [key, value] : given->free_object().items())
      options.push_back(read_option(command, key, value));
  return options;
}

std::vector<StudyWorkload> read_workloads(const Object& root) {
  const auto one = root.optional("workload");
  const auto several = root.optional("workloads");
  if (one && several) several->fail("is given in addition to /workload", "Give one of the two");
  if (several) return read_several(*several);
  if (one) return {{one->string()}};
  return {};
}

std::vector<CandidateRequest> read_candidates(const Object& root) {
  std::vector<CandidateRequest> candidates;
  if (const auto given = root.optional("candidates"))
    for (const Cursor& candidate : given->array()) candidates.push_back(read_candidate(candidate));
  return candidates;
}

void give_options(CLI::App& command, const std::vector<StudyOption>& options) {
  for (const StudyOption& given : options) {
    CLI::Option& option = *command.get_option(given.name);
    const std::vector<std::string> typed = option.results();
    if (given.values.empty() || (!typed.empty() && !is_repeatable(option))) continue;
    option.clear();
    for (const auto* values : {&given.values, &typed})
      for (const std::string& value : *values) option.add_result(value);
    option.run_callback();
  }
}

void require_right_study(const StudyBeside& beside, std::string_view complaint) {
  const std::string_view name = complaint.substr(0, complaint.find_first_of(": ,"));
  for (const TypedLine::Given& typed : beside.typed.given({}))
    if (typed.name == name) return;
  const auto fail = [&](std::string where) {
    throw InputError({.file = beside.file,
                      .where = std::move(where),
                      .message = std::string(complaint),
                      .hint = ""});
  };
  const Study& study = beside.study;
  for (const StudyOption& option : study.options)
    if (option.name == name) fail("/options/" + option.name.substr(kDashes.size()));
  for (std::size_t k = 0; k < study.candidates.size(); ++k) {
    if (name == "--price" && study.candidates[k].price)
      fail(fmt::format("/candidates/{}/price", k));
    if (name == "--measured-step" && study.candidates[k].measured_step)
      fail(fmt::format("/candidates/{}/measured_step", k));
  }
  if (name == "--workload" && !study.workloads.empty()) fail("/workloads");
}

Study read_study(const CLI::App& command, std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  const Object root = document.root().object(study_document());
  for (const char* key : {"grid", "measured_with"})
    if (const auto several = root.optional(key))
      several->fail(fmt::format("is for a sweep; `ddpsim {}` does not take it", command.get_name()),
                    "Run `ddpsim sweep` with this file, or leave it out");
  if (const auto schema = root.optional("schema")) schema->choice({"ddpsim.study/1"});
  if (const auto about = root.optional("about")) about->string();
  Study study{.workloads = read_workloads(root),
              .candidates = read_candidates(root),
              .options = read_options(command, root)};
  root.required("schema");
  return study;
}

void add_study_option(CLI::App& command, std::optional<StudyBeside>& into) {
  command
      .add_option_function<std::string>(
          kStudy, [&command, &into](const std::string& file) { into = take_study(command, file); },
          "Read workload, candidates and options from this file (ddpsim.study/1); what you type "
          "wins")
      ->type_name("FILE");
}

}  // namespace ddpsim
