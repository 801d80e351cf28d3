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
std::string config_text(Config const& config);

/// The first line that differs between two texts; of long values what is around their first difference.
struct ConfigDifference {
  std::string first;   ///< "the loss Huber"
  std::string second;  ///< the value alone, "Poisson", if the names are one
};
ConfigDifference config_difference(std::string_view first, std::string_view second);

/// Returns only if all processes have listed the same, and none has an `error` that kept it from that. Collective.
template <class Group>
void require_same_config(Group const& group, char const* call, Config const& config, std::exception_ptr const& error) {
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
  std::string chief = text, called = call;  // the chief's, so that all throw one sentence
  group.broadcast(chief);
  group.broadcast(called);
  group.broadcast(text, rank);
  auto const difference = config_difference(text, chief);
  raise_uniform(ValueError(
      formatted("{}: rank {} has {} where rank 0 has {}", called, rank, difference.first, difference.second)));
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
    require_same_config(group, call, config, error);
  }
}

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/same_config.ipp"
#endif
