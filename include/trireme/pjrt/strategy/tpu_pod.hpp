/// TpuPod: a pod of TPUs as the environment describes it, with the number of its processes and this one's index.
///
/// The launcher of a pod's processes (Kubernetes on Google's cloud, or a user's script) sets these variables, and
/// libtpu reads them. Its clients wait for each other: if MPI has other ranks, for processes that never come.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme::launch {

/// Processes of a pod. In a pod of several slices, which are connected by the network only, they are counted through
/// all slices.
struct TpuPod {
  std::size_t processes = 1;
  std::optional<std::size_t> process{};  ///< this one's index, if the environment has it
  std::vector<std::string> hosts{};      ///< of this slice, in the order of its processes
  std::string counted_by{};              ///< the variable with the list of processes
  std::string numbered_by{};             ///< the variable with this one's index
};

namespace detail {

/// A variable of the environment, and its text.
struct Variable {
  std::string name, text;
};
inline std::optional<Variable> variable(std::initializer_list<char const*> names) {
  for (char const* const name : names)
    if (char const* const text = std::getenv(name); text && *text) return Variable{name, text};
  return {};
}

inline std::optional<std::size_t> number(std::optional<Variable> const& variable) {
  if (!variable) return {};
  std::string const& text = variable->text;
  std::size_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw ValueError(formatted("the environment's {} is '{}', which is no number", variable->name, text));
  return value;
}

inline std::vector<std::string> parts(std::string_view text) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const end = std::min(text.find(',', begin), text.size());
    result.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

inline void require_below(std::optional<Variable> const& variable, std::size_t value, std::size_t count,
                          std::string const& counted_by) {
  if (value >= count)
    throw ValueError(formatted("the environment's {} is {}, but {} tells of {}, which are counted from 0",
                               variable->name, value, counted_by, count));
}

}  // namespace detail

/// The pod that the environment describes, if there is one. The first of two names that is set and not empty counts:
///
///   TPU_PROCESS_ADDRESSES or TPU_WORKER_HOSTNAMES        one for each process of a slice, separated by commas
///   CLOUD_TPU_TASK_ID or TPU_WORKER_ID                   index of this process in its slice
///   MEGASCALE_NUM_SLICES, MEGASCALE_SLICE_ID             slices of the same size, if there are several
///
/// \throws ValueError if a value is not a number, or an index is not below its count
/// Source: https://cloud.google.com/tpu/docs, https://cloud.google.com/kubernetes-engine/docs/concepts/tpus
inline std::optional<TpuPod> tpu_pod() {
  auto const listed = detail::variable({"TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES"});
  if (!listed) return {};
  auto const numbered = detail::variable({"CLOUD_TPU_TASK_ID", "TPU_WORKER_ID"});
  auto const slice_numbered = detail::variable({"MEGASCALE_SLICE_ID"});
  std::size_t const slices = detail::number(detail::variable({"MEGASCALE_NUM_SLICES"})).value_or(1);
  TpuPod pod{.hosts = detail::parts(listed->text), .counted_by = listed->name};
  std::size_t const in_slice = pod.hosts.size();
  pod.processes = in_slice * slices;
  if (slices > 1) pod.counted_by = formatted("{} in each of MEGASCALE_NUM_SLICES", listed->name);
  auto const number = detail::number(numbered);
  if (!number) return pod;
  detail::require_below(numbered, *number, in_slice, listed->name);
  pod.numbered_by = numbered->name;
  pod.process = number;
  if (slices == 1) return pod;
  auto const slice = detail::number(slice_numbered);
  if (!slice) throw ValueError("the environment's MEGASCALE_NUM_SLICES is set, but MEGASCALE_SLICE_ID is not");
  detail::require_below(slice_numbered, *slice, slices, "MEGASCALE_NUM_SLICES");
  pod.numbered_by = formatted("MEGASCALE_SLICE_ID and {}", numbered->name);
  pod.process = *slice * in_slice + *number;
  return pod;
}

/// Checks that the pod's processes are MPI's ranks, in this order. A pod of one process fits any number of ranks, each
/// with a pod of its own. Not collective. \throws ValueError otherwise, of one sentence that says how to start it
inline void require_ranks(TpuPod const& pod, std::size_t rank, std::size_t ranks) {
  if (pod.processes == 1) return;
  if (pod.processes != ranks)
    throw ValueError(
        formatted("this TPU pod has {} processes (by {}), but the strategy has {}, and libtpu would wait for the "
                  "others: start one rank of MPI for each and take MultiWorkerPjrtStrategy, or make each "
                  "host a pod of its own by TPU_WORKER_HOSTNAMES=localhost TPU_WORKER_ID=0 TPU_PROCESS_BOUNDS=1,1,1",
                  pod.processes, pod.counted_by, ranks));
  if (pod.process && *pod.process != rank)
    throw ValueError(
        formatted("rank {} of {} is process {} of the TPU pod (by {}): start the ranks in the order of the pod's "
                  "hosts ({}), and let mpiexec give none of them the environment of another",
                  rank, ranks, *pod.process, pod.numbered_by, joined(pod.hosts, ", ")));
}

}  // namespace trireme::launch
