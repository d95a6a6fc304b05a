#include "ddpsim/sim/values/scheme.hpp"

#include <cstddef>

namespace ddpsim {
namespace {

template <std::size_t K = 0>
void add_schemes(std::vector<Scheme>& all) {
  if constexpr (K < std::variant_size_v<Scheme::variant>) {
    using Of = std::variant_alternative_t<K, Scheme::variant>;
    if constexpr (requires { Of::all(); })
      for (const Of& one : Of::all()) all.emplace_back(one);
    else
      all.emplace_back(Of());
    add_schemes<K + 1>(all);
  }
}

template <typename Offload>
struct OffloadOf {
  Offload* operator()(auto& of) const {
    if constexpr (requires { of.offload; })
      return of.offload.any() ? &of.offload : nullptr;
    else
      return nullptr;
  }
};

template <typename Options>
struct DdpOptionsOf {
  Options* operator()(auto& of) const {
    if constexpr (requires { of.ddp; })
      return &of.ddp;
    else
      return nullptr;
  }
};

}  // namespace

Scheme::Scheme() = default;
Scheme::Scheme(const Scheme& other) = default;
Scheme::Scheme(Scheme&& other) noexcept = default;
Scheme& Scheme::operator=(const Scheme& other) = default;
Scheme& Scheme::operator=(Scheme&& other) noexcept = default;
Scheme::~Scheme() = default;

std::vector<Scheme> known_schemes() {
  std::vector<Scheme> all;
  add_schemes(all);
  return all;
}

std::string_view name_of(const Scheme& scheme) {
  return std::visit([](const auto& of) { return of.name(); }, scheme);
}

std::vector<SchemeOption> options_to_set(Scheme& scheme) {
  return std::visit([](auto& of) { return of.options(); }, scheme);
}

std::vector<std::pair<std::string, std::string>> options_of(const Scheme& scheme) {
  Scheme copy = scheme;
  std::vector<std::pair<std::string, std::string>> texts;
  for (const SchemeOption& option : options_to_set(copy))
    if (option.in_force) texts.emplace_back(option.name, *option.in_force);
  return texts;
}

SchemeFacts facts_of(const Scheme& scheme) {
  return std::visit([](const auto& of) { return of.facts(); }, scheme);
}

bool uses_reducer(const Scheme& scheme) {
  return facts_of(scheme).runs_reducer;
}

DdpOptions* ddp_options_of(Scheme& scheme) {
  return std::visit(DdpOptionsOf<DdpOptions>(), scheme);
}

const DdpOptions& ddp_options_of(const Scheme& scheme) {
  static const DdpOptions standard;
  const DdpOptions* own = std::visit(DdpOptionsOf<const DdpOptions>(), scheme);
  return own != nullptr ? *own : standard;
}

const Compiled* compiled_pieces(const Scheme& scheme) {
  const Compiled* compiled = std::get_if<Compiled>(&scheme);
  return compiled != nullptr && compiled->in_pieces() ? compiled : nullptr;
}

CpuOffload* offload_of(Scheme& scheme) {
  return std::visit(OffloadOf<CpuOffload>(), scheme);
}

const CpuOffload* offload_of(const Scheme& scheme) {
  return std::visit(OffloadOf<const CpuOffload>(), scheme);
}

std::vector<int> groups_of(const Scheme& scheme, int gpus_per_node) {
  return std::visit(
      [&](const auto& of) -> std::vector<int> {
        if constexpr (requires { of.groups(gpus_per_node); })
          return of.groups(gpus_per_node);
        else
          return {};
      },
      scheme);
}

}  // namespace ddpsim
