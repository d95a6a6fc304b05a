#include "ddpsim/formats/archive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "tar_members.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifest = "manifest.json";
constexpr std::string_view kSchema = "ddpsim.collect/1";
constexpr std::string_view kAnySchema = "ddpsim.collect/";
constexpr std::int64_t kLargestManifest = 4 << 20;
constexpr int kMostRanks = 1'000'000;
constexpr std::size_t kLongestPath = 255;
/// A file that describes a node or a process has a few KiB. Its readers need many times its size in
/// memory.
constexpr std::size_t kMostInDescription = std::size_t{2} << 20;

constexpr std::array<std::pair<ArchiveKind, std::string_view>, 15> kKinds = {{
    {ArchiveKind::trace, "trace"},
    {ArchiveKind::ddp_log, "ddp_log"},
    {ArchiveKind::nccl_log, "nccl_log"},
    {ArchiveKind::environment, "environment"},
    {ArchiveKind::versions, "versions"},
    {ArchiveKind::pinning, "pinning"},
    {ArchiveKind::gpus, "gpus"},
    {ArchiveKind::devices, "devices"},
    {ArchiveKind::lspci, "lspci"},
    {ArchiveKind::topology, "topology"},
    {ArchiveKind::matrix, "matrix"},
    {ArchiveKind::all_reduce_log, "all_reduce_log"},
    {ArchiveKind::step_times, "step_times"},
    {ArchiveKind::measurement, "measurement"},
    {ArchiveKind::note, "note"},
}};

std::optional<ArchiveKind> kind_named(std::string_view name) {
  for (const auto& [kind, text] : kKinds)
    if (text == name) return kind;
  return std::nullopt;
}

bool is_description(ArchiveKind kind) {
  switch (kind) {
    case ArchiveKind::versions:
    case ArchiveKind::pinning:
    case ArchiveKind::gpus:
    case ArchiveKind::devices:
    case ArchiveKind::topology:
    case ArchiveKind::matrix:
      return true;
    default:
      return false;
  }
}

const ObjectType& collected_file_type() {
  static const auto type =
      ObjectType("CollectedFile", "a file of a collected job")
          .needs("path", {ValueType::Kind::text}, "its path below the folder of the manifest")
          .needs("kind", {ValueType::Kind::text},
                 "what it holds: \"trace\", \"nccl_log\"; a file of an unknown kind is left out")
          .may_have("rank", {ValueType::Kind::integer},
                    "the rank it is from; none where it is from all")
          .may_have("node", {ValueType::Kind::integer},
                    "the node it is from; none where it is from all")
          .may_have("key", {ValueType::Kind::text},
                    "the column of step times, as given to --step-time: KEY or KEY=UNIT");
  return type;
}

const ObjectType& not_collected_type() {
  static const auto type =
      ObjectType("NotCollected", "what was looked for and not found")
          .needs("kind", {ValueType::Kind::text}, "what it would have held: \"all_reduce_log\"")
          .may_have("rank", {ValueType::Kind::integer}, "the rank it would have been from")
          .may_have("node", {ValueType::Kind::integer}, "the node it would have been from")
          .needs("why", {ValueType::Kind::text}, "why it is missing");
  return type;
}

/// Returns the bytes of a member by its path below the archive's folder; absent if there is none.
using FetchMember = std::function<std::optional<std::string>(const std::string& path)>;

std::optional<int> number_at(const Object& object, std::string_view key) {
  const auto at = object.optional(key);
  if (!at) return std::nullopt;
  return static_cast<int>(at->integer(0, kMostRanks - 1));
}

void require_version(const Object& root, const std::string& file) {
  const std::string schema = root.required("schema").string();
  if (schema == kSchema) return;
  const bool other = schema.starts_with(kAnySchema);
  throw InputError({file, std::string(kManifest) + ":/schema",
                    other ? fmt::format("has another version, \"{}\"", schema)
                          : fmt::format("\"{}\" is not what scripts/collect.sh writes", schema),
                    fmt::format("Supported: {}. {}", kSchema,
                                other ? "Unpack it and give the traces and the topology inside "
                                        "themselves, or use a ddpsim version of its age"
                                      : "Give the files inside themselves")});
}

void read_member(const Cursor& at, const FetchMember& fetch, Archive& archive,
                 std::set<std::string>& paths) {
  const Object object = at.object(collected_file_type());
  ArchiveMember member;
  member.path = object.required("path").string();
  require_inside(member.path, archive.file);
  if (!paths.insert(member.path).second) at.fail("is listed twice: " + member.path);
  member.rank = number_at(object, "rank");
  member.node = number_at(object, "node");
  if (const auto key = object.optional("key")) member.key = key->string();
  if (member.rank && *member.rank >= archive.ranks)
    at.fail(fmt::format("this file is from rank {}, but the job has {} ranks", *member.rank,
                        archive.ranks));
  if (member.node && *member.node >= archive.nodes)
    at.fail(fmt::format("this file is from node {}, but the job has {} nodes", *member.node,
                        archive.nodes));
  const std::string name = object.required("kind").string();
  const std::optional<ArchiveKind> kind = kind_named(name);
  if (!kind) {
    archive.warnings.push_back(
        fmt::format("{}: {} is of a kind that is not known here, \"{}\", and left out",
                    archive.file, member.path, name));
    return;
  }
  member.kind = *kind;
  std::optional<std::string> bytes = fetch(member.path);
  if (!bytes) {
    archive.warnings.push_back(
        fmt::format("{}: {} is listed, and not there", archive.file, member.path));
    archive.missing.push_back(
        {*kind, member.rank, member.node, fmt::format("{} was taken out", member.path)});
    return;
  }
  if (is_description(*kind) && bytes->size() > kMostInDescription)
    throw InputError(
        {archive.file, member.path,
         fmt::format("is larger than {} MiB, which is too much for a description of a node",
                     kMostInDescription >> 20),
         kPackAgain});
  member.bytes = std::move(*bytes);
  archive.members.push_back(std::move(member));
}

Archive read_manifest(std::string_view text, std::string file, const FetchMember& fetch) {
  const Document document = Document::parse(text, file + ":" + std::string(kManifest));
  require_version(document.root().free_object(), file);
  const Object root = document.root().object(collect_document());
  Archive archive;
  archive.file = std::move(file);
  archive.ranks = static_cast<int>(root.required("ranks").integer(1, kMostRanks));
  archive.nodes = static_cast<int>(root.required("nodes").integer(1, kMostRanks));
  if (const auto step = root.optional("step_us")) {
    archive.step = step->microseconds();
    if (*archive.step <= Duration()) step->fail("must be longer than zero");
  }
  if (const auto batch = root.optional("batch_size"))
    archive.batch_size = static_cast<int>(batch->integer(1, 1 << 30));
  if (const auto missing = root.optional("missing"))
    for (const Cursor& at : missing->array()) {
      const Object object = at.object(not_collected_type());
      archive.missing.push_back(
          {kind_named(object.required("kind").string()).value_or(ArchiveKind::note),
           number_at(object, "rank"), number_at(object, "node"), object.required("why").string()});
    }
  const std::vector<Cursor> members = root.required("members").array();
  if (members.size() > kMostMembers)
    root.required("members").fail(fmt::format("lists more than {} files", kMostMembers));
  std::set<std::string> paths;
  for (const Cursor& at : members) read_member(at, fetch, archive, paths);
  return archive;
}

[[noreturn]] void refuse_without_manifest(const std::string& file, bool is_empty) {
  throw InputError(
      {file, "",
       is_empty ? "is a tar archive without any file in it"
                : "is a tar archive without the manifest.json that scripts/collect.sh "
                  "writes",
       is_empty ? "Pack it again with scripts/collect.sh" : "Unpack it and give the trace inside"});
}

/// Reads the members. The manifest may be at the top or in one folder: "ddpsim-collect/".
Archive archive_of(std::vector<TarMember> members, std::string file) {
  std::string top;
  const auto manifest = std::ranges::find_if(members, [&](const TarMember& member) {
    const std::size_t slash = member.path.rfind('/');
    if (member.path.substr(slash + 1) != kManifest) return false;  // npos + 1 is 0
    top = slash == std::string::npos ? "" : member.path.substr(0, slash + 1);
    return top.empty() || top.find('/') + 1 == top.size();
  });
  if (manifest == members.end()) refuse_without_manifest(file, members.empty());
  if (manifest->bytes.size() > static_cast<std::size_t>(kLargestManifest))
    throw InputError({file, manifest->path, "is larger than any manifest",
                      "Pack it again with scripts/collect.sh"});
  const std::string text = std::move(manifest->bytes);
  return read_manifest(text, std::move(file), [&](const std::string& path) {
    const auto at = std::ranges::find(members, top + path, &TarMember::path);
    return at == members.end() || path == kManifest ? std::nullopt
                                                    : std::optional(std::move(at->bytes));
  });
}

Archive archive_in(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  std::size_t total = 0;
  const auto fetch = [&](const std::string& path) -> std::optional<std::string> {
    const fs::path place = folder / path;
    std::error_code absent;
    if (!fs::is_regular_file(place, absent)) return std::nullopt;
    const fs::path below = fs::weakly_canonical(place, absent).lexically_relative(whole);
    if (below.empty() || *below.begin() == "..")
      throw InputError(
          {folder.string(), path, "is a link to outside the folder", "Put the file itself there"});
    std::string bytes = read_file(place, static_cast<std::int64_t>(kMostInMember));
    total += bytes.size();
    if (total > kMostInArchive)
      throw InputError(
          {folder.string(), path,
           fmt::format("the folder holds more than {} MiB, which is more than a job leaves behind",
                       kMostInArchive >> 20),
           "Give the traces themselves"});
    return bytes;
  };
  return read_manifest(read_file(folder / kManifest, kLargestManifest), folder.string(), fetch);
}

}  // namespace

const ObjectType& collect_document() {
  static const auto type =
      ObjectType("CollectedJob", "the manifest of what scripts/collect.sh packs of a job")
          .needs("schema", word_of({std::string(kSchema)}), "which document this is")
          .needs("ranks", {ValueType::Kind::integer},
                 "ranks of the job, whether or not each left something")
          .needs("nodes", {ValueType::Kind::integer},
                 "nodes of the job, numbered in the order of their ranks")
          .may_have("step_us", {ValueType::Kind::number},
                    "a step of the job without a profiler: the median of 20 before the recorder "
                    "began, or as stated")
          .may_have(
              "batch_size", {ValueType::Kind::integer},
              "samples per GPU and step, of all its micro-batches; recorded shapes go before it")
          .needs("members", list_of(object_of(collected_file_type())), "the files")
          .may_have("missing", list_of(object_of(not_collected_type())),
                    "what was looked for and not found");
  return type;
}

std::string_view name_of(ArchiveKind kind) {
  return std::ranges::find(kKinds, kind, &std::pair<ArchiveKind, std::string_view>::first)->second;
}

void require_inside(const std::string& path, const std::string& file) {
  const auto refuse = [&](const char* what) {
    throw InputError({file, "", fmt::format("holds a file {}", what),
                      "Nothing of it was kept; scripts/collect.sh never packs such a file"});
  };
  if (path.empty()) refuse("without a name");
  if (path.size() > kLongestPath) refuse("whose name is too long");
  if (std::ranges::any_of(path, [](unsigned char c) { return c < ' ' || c == '\\' || c == 0x7F; }))
    refuse("whose name has characters that no path needs");
  if (path.front() == '/') refuse("with an absolute path");
  for (const fs::path& part : fs::path(path))
    if (part == "..") refuse("that would be outside its folder");
}

std::vector<const ArchiveMember*> Archive::of(ArchiveKind kind) const {
  std::vector<const ArchiveMember*> found;
  for (const ArchiveMember& member : members)
    if (member.kind == kind) found.push_back(&member);
  std::ranges::stable_sort(found, {}, [](const ArchiveMember* member) {
    return std::tuple(member->rank, member->node);
  });
  return found;
}

std::string Archive::name_of(const ArchiveMember& member) const {
  return file + ":" + member.path;
}

std::string Archive::why_missing(ArchiveKind kind) const {
  for (const ArchiveGap& gap : missing)
    if (gap.kind == kind) return gap.why;
  return "";
}

bool is_archive(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return is_tar(path);
  if (!fs::is_regular_file(path / kManifest, error)) return false;
  try {
    return read_file(path / kManifest, kLargestManifest).find(kAnySchema) != std::string::npos;
  } catch (const InputError&) {
    return false;
  }
}

Archive read_archive(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return archive_in(path);
  return archive_of(read_tar(path), path.string());
}

Archive parse_archive(std::span<const unsigned char> bytes, std::string file) {
  std::vector<TarMember> members = read_tar(bytes, file);
  return archive_of(std::move(members), std::move(file));
}

}  // namespace ddpsim
