#include "verdict.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <trireme/backend/gemm/openblas_core.hpp>

namespace {

class Judge {
 public:
  explicit Judge(std::vector<Seen> const& node) : node_(node) {}

  std::vector<Finding> findings() {
    for (Seen const& seen : node_) all_ |= seen.allowed;
    for (std::size_t rank = 0; rank < node_.size(); ++rank) process(rank);
    together();
    return std::move(findings_);
  }

 private:
  template <class... Values>
  void wrong(fmt::format_string<Values const&...> text, Values const&... values) {
    findings_.push_back({Finding::Kind::wrong, fmt::format(text, values...)});
  }
  template <class... Values>
  void note(fmt::format_string<Values const&...> text, Values const&... values) {
    findings_.push_back({Finding::Kind::note, fmt::format(text, values...)});
  }

  void process(std::size_t rank) {
    Seen const& seen = node_[rank];
    std::size_t const cores = seen.allowed.count();
    if (seen.threads > cores)
      wrong(
          "process {} of {} has {} threads and may use {} processors: bind it to as many as it has threads (srun "
          "--cpus-per-task, mpiexec -bind-to core:N), or set OMP_NUM_THREADS={}",
          rank, seen.node(), seen.threads, cores, cores);
    if (seen.quota > 0 && static_cast<double>(seen.threads) > seen.quota)
      wrong(
          "process {} of {} has {} threads, and its control group allows the time of {:.1f} processors: ask for more, "
          "or "
          "set OMP_NUM_THREADS={}",
          rank, seen.node(), seen.threads, seen.quota, std::max<std::size_t>(1, static_cast<std::size_t>(seen.quota)));
    if (seen.blas_threads > 1 && !seen.blas_is_openmp)
      wrong(
          "process {} of {} has an OpenBLAS with threads of its own beside those of OpenMP: link the OpenMP build "
          "(Debian: libopenblas-openmp-dev), or set OPENBLAS_NUM_THREADS=1",
          rank, seen.node());
    auto const used = trireme::detail::openblas_class(seen.blas_core.data()),
               fitting = trireme::detail::openblas_class(seen.fitting_core.data());
    if (used && fitting && *used < *fitting)
      wrong(
          "process {} of {} has kernels of OpenBLAS for {} on a processor that runs those for {}: set "
          "OPENBLAS_CORETYPE={}",
          rank, seen.node(), seen.blas_core.data(), seen.fitting_core.data(), seen.fitting_core.data());
    if (seen.siblings > 1 && seen.threads * seen.siblings > cores)
      note(
          "process {} of {} has more threads than cores, whose {} logical processors share one core's arithmetic: "
          "--hint=nomultithread, or OMP_NUM_THREADS={}",
          rank, seen.node(), seen.siblings, std::max<std::size_t>(1, cores / seen.siblings));
  }

  void together() {
    if (node_.size() < 2) return;
    std::string const name = node_[0].node();
    std::size_t threads = 0;
    bool apart = true, the_same = true;
    Cores pinned, twice, taken;
    for (Seen const& seen : node_) {
      threads += seen.threads;
      twice |= pinned & seen.pinned;
      pinned |= seen.pinned;
      apart = apart && (taken & seen.allowed).none();
      taken |= seen.allowed;
      the_same = the_same && seen.allowed == all_;
    }
    if (twice.any())
      wrong(
          "threads of several processes of {} are bound to the same {} processors: bind processes apart (srun "
          "--cpu-bind=cores, mpiexec -bind-to core:N), or set OMP_PROC_BIND=false",
          name, twice.count());
    else if (threads > all_.count())
      wrong(
          "{} processes of {} have {} threads together, and {} processors: fewer processes or threads on a "
          "node; or bind processes apart, if OMP_PROC_BIND has bound their threads to the same",
          node_.size(), name, threads, all_.count());
    else if (!apart && !the_same)
      wrong(
          "processes of {} may use some of the same processors and others not: bind them apart (srun --cpu-bind=cores, "
          "mpiexec -bind-to core:N)",
          name);
    else if (!apart)
      note("processes of {} are not bound, and the system may move their threads: --cpu-bind=cores, -bind-to core:N",
           name);
  }

  std::vector<Seen> const& node_;
  Cores all_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> judge(std::vector<Seen> const& node) { return Judge(node).findings(); }
