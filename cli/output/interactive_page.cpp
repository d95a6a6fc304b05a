#include "interactive_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/workload_file.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestPage = 64 << 20;
constexpr std::int64_t kLargestFile = 64 << 20;

constexpr const char* kRemedy =
    "Build it with cmake --preset wasm && cmake --build --preset wasm, set "
    "DDPSIM_HTML=build/wasm/ddpsim.html, or leave out --interactive";

std::string page_at(const fs::path& place) {
  std::error_code error;
  const bool there = fs::is_regular_file(place, error);
  std::string page = there ? read_file(place, kLargestPage) : "";
  if (is_interactive_page(page)) return page;
  throw InputError({.file = place.string(),
                    .where = "",
                    .message = there ? "is not ddpsim.html" : "does not exist",
                    .hint = kRemedy});
}

std::string read_page() {
  if (const char* stated = std::getenv("DDPSIM_HTML"); stated != nullptr && *stated != '\0')
    return page_at(stated);
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& place :
       {folder / "ddpsim.html", folder.parent_path() / "share" / "ddpsim" / "ddpsim.html"})
    if (!folder.empty() && fs::is_regular_file(place, error)) return page_at(place);
  throw InputError({.file = "ddpsim.html",
                    .where = "",
                    .message = "--interactive needs this page; it is neither in the program's "
                               "folder nor in ../share/ddpsim",
                    .hint = kRemedy});
}

std::string last_name(const fs::path& path) {
  const fs::path name = path.filename();
  return (name.empty() ? path.parent_path().filename() : name).string();
}

struct HeldFile {
  std::string name;
  std::string content;
};

/// Stores a file under its last name, with a number in front if a file of another folder has that name. Returns the name.
std::string hold(const fs::path& path, std::string content, std::vector<HeldFile>& files) {
  const std::string last = last_name(path);
  std::string name = last;
  for (int number = 2; std::ranges::count(files, name, &HeldFile::name) > 0; ++number)
    name = std::to_string(number) + "-" + last;
  files.push_back({name, std::move(content)});
  return name;
}

/// Stores the files that a value names, and returns the value with their last names. A file may be the whole value or a word of it,
/// follow "switches:", or come before @NODES or :COLUMN.
std::string without_folders(const std::string& value, std::vector<HeldFile>& files) {
  const auto held = [&](const std::string& path) -> std::optional<std::string> {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::nullopt;
    return hold(path, read_file(path, kLargestFile), files);
  };
  if (const auto name = held(value)) return *name;
  std::string result;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(' ', begin), value.size());
    std::string word = value.substr(begin, end - begin);
    constexpr std::string_view kSwitches = "switches:";
    const std::size_t skipped = word.starts_with(kSwitches) ? kSwitches.size() : 0;
    const std::string rest = word.substr(skipped);
    const std::size_t cut = std::min(rest.find_last_of("@:"), rest.size());
    if (const auto name = held(rest))
      word = word.substr(0, skipped) + *name;
    else if (const auto before = held(rest.substr(0, cut)))
      word = word.substr(0, skipped) + *before + rest.substr(cut);
    result += (begin > 0 ? " " : "") + word;
    begin = end + 1;
  }
  return result;
}

std::string inputs_json(const JobArguments& arguments, const TypedLine& typed) {
  std::vector<HeldFile> files;
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.inputs/1");
  json.key("given").begin_array();
  for (const TypedLine::Given& given : typed.given({"simulate", "tune"})) {
    std::error_code error;
    // These options have already been applied to the workload.
    if (given.name == "--model" || given.name == "--timing") continue;
    json.begin_array();
    json.string(given.name);
    for (const std::string& value : given.values) {
      if (given.name == "WORKLOAD" && fs::exists(value, error)) {
        json.string(hold(
            value,
            format_workload(load_workload({value, arguments.model, arguments.timing}).workload),
            files));
      } else if (given.name == "CLUSTER" && archive_named(value)) {
        throw UsageError(
            "--interactive", "the page cannot read an archive",
            fmt::format(
                "Make a cluster file from it: ddpsim calibrate {} --cluster {} -o cluster.json",
                value, value));
      } else {
        json.string(given.name == "WORKLOAD" ? value : without_folders(value, files));
      }
    }
    json.end_array();
  }
  json.end_array();
  json.key("files").begin_array();
  for (const HeldFile& file : files) {
    json.begin_object();
    json.key("name").string(file.name);
    json.key("content").string(file.content);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace

std::optional<InteractivePage> interactive_page(const OutputArguments& output,
                                                const JobArguments& arguments,
                                                const TypedLine& typed) {
  if (!output.interactive) return std::nullopt;
  if (std::ranges::all_of(output.reports,
                          [](const std::string& file) { return file.ends_with(".json"); }))
    throw UsageError("--interactive", "this option changes the page that --report FILE.html writes",
                     "Add --report FILE.html");
  std::string page = read_page();
  return InteractivePage{.html = std::move(page), .inputs = inputs_json(arguments, typed)};
}

}  // namespace ddpsim
