/// Arguments that have to be the same on all processes: compared as one hash, and named where they differ.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// "name\tvalue\n" for each entry.
inline std::string config_text(Config const& config) {
  std::string text;
  for (auto const& [name, value] : config.entries()) text += name + '\t' + value + '\n';
  return text;
}

/// The first line that differs between the texts, from where it differs: "the loss Huber" and "the loss Poisson" become
/// "the loss Huber where rank 0 has Poisson".
inline std::string config_difference(std::string_view own, std::string_view chief) {
  auto const line = [](std::string_view& rest) {
    std::string_view const all = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), all.size() + 1));
    std::size_t const tab = all.find('\t');
    return all.empty() ? Config::Entry{"nothing more", ""}
                       : Config::Entry{std::string(all.substr(0, tab)), std::string(all.substr(tab + 1))};
  };
  while (true) {
    Config::Entry const mine = line(own), theirs = line(chief);
    if (mine.name == theirs.name && mine.value == theirs.value && !(own.empty() && chief.empty())) continue;
    auto const shown = [](Config::Entry const& e) { return e.value.empty() ? e.name : e.name + " " + e.value; };
    return formatted("{} where rank 0 has {}", shown(mine), mine.name == theirs.name ? theirs.value : shown(theirs));
  }
}

/// Calls f(config) on every process, and returns only if none threw and all listed the same. Takes one reduction of
/// three numbers, the same for every `call`, so that processes that call different functions are detected too.
/// Collective. \throws on all processes: the error of the lowest rank that failed, or if none failed ValueError
/// "compile: rank 1 has SGD::learning_rate 0.1 where rank 0 has 0.01"
template <class Group, class F>
void require_same_config(Group const& group, char const* call, F const& f) {
  if constexpr (!Group::distributed) {
    group.together([&] {
      Config config;
      f(config);
    });
  } else {
    Config config;
    config.add("the call", call);
    std::exception_ptr error;
    try {
      f(config);
    } catch (...) {
      error = std::current_exception();
    }
    std::string text = config_text(config);
    std::uint64_t const hash = data::hash_bytes(text.data(), text.size());
    std::uint64_t const size = group.size();
    std::vector<std::uint64_t> least{error ? group.rank() : size, hash, ~hash};  // nvcc mistakes an array of three here
    group.allreduce_min(least);
    if (least[0] != size) group.agree_no_error(error);
    if (least[1] == ~least[2]) return;
    std::vector<std::uint64_t> const hashes = group.allgather(hash);
    auto const differs = std::find_if(hashes.begin(), hashes.end(), [&](std::uint64_t h) { return h != hashes[0]; });
    auto const rank = static_cast<std::size_t>(differs - hashes.begin());
    std::string chief = text;
    group.broadcast(chief);
    group.broadcast(text, rank);
    raise_uniform(ValueError(formatted("{}: rank {} has {}", call, rank, config_difference(text, chief))));
  }
}

}  // namespace trireme::detail
