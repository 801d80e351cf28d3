#include "seen.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include <cblas.h>
#include <Kokkos_Core.hpp>
#include <trireme/backend/gemm/openblas_core.hpp>

// Where another BLAS is linked, these are absent.
extern "C" {
__attribute__((weak)) int openblas_get_num_threads();
__attribute__((weak)) int openblas_get_parallel();
}

Cores allowed_cores() {
  Cores cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.set(core);
  return cores;
}

namespace {

struct FindPinned {
  std::mutex* mutex;
  Cores* pinned;
  void operator()(int) const {
    Cores const own = allowed_cores();
    std::lock_guard const lock(*mutex);
    if (own.count() == 1) *pinned |= own;
  }
};

std::size_t siblings_of(Cores const& cores) {
  std::set<std::string> physical;
  for (std::size_t core = 0; core < cores.size(); ++core) {
    if (!cores[core]) continue;
    std::string const folder = "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/topology/";
    std::string socket, number;
    std::getline(std::ifstream(folder + "physical_package_id"), socket);
    std::getline(std::ifstream(folder + "core_id"), number);
    if (number.empty()) return 1;
    physical.insert(socket + '/' + number);
  }
  return physical.empty() ? 1 : (cores.count() + physical.size() - 1) / physical.size();
}

/// The limit of this process's control group and of those above it, of version 2 or 1.
double cgroup_quota() {
  double lowest = 0;
  auto const take = [&lowest](double quota, double period) {
    if (quota > 0 && period > 0) lowest = lowest == 0 ? quota / period : std::min(lowest, quota / period);
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    auto const second = line.find(':', line.find(':') + 1);
    std::string const kind = line.substr(0, second);
    for (std::string path = line.substr(second + 1); !path.empty();
         path.resize(path == "/" ? 0 : std::max<std::size_t>(path.rfind('/'), path.size() > 1 ? 1 : 0))) {
      if (kind == "0:") {
        std::ifstream file("/sys/fs/cgroup" + path + "/cpu.max");
        std::string quota;
        double period = 0;
        if (file >> quota >> period && quota != "max") take(std::stod(quota), period);
      } else if (kind.find("cpu") != kind.npos && kind.find("cpuset") == kind.npos) {
        double quota = 0, period = 0;
        std::ifstream("/sys/fs/cgroup/cpu" + path + "/cpu.cfs_quota_us") >> quota;
        std::ifstream("/sys/fs/cgroup/cpu" + path + "/cpu.cfs_period_us") >> period;
        take(quota, period);
      }
      if (path.find('/') == path.npos) break;
    }
  }
  return lowest;
}

template <std::size_t N>
void put(std::string const& text, std::array<char, N>& into) {
  std::copy_n(text.begin(), std::min(text.size(), N - 1), into.begin());
}

/// The best of a few products, 2 n^3 operations each.
double gemm_rate() {
  constexpr int n = 512;
  std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f), c(n * n);
  double best = 0;
  for (int turn = 0; turn < 8; ++turn) {
    auto const start = std::chrono::steady_clock::now();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * n * n * n / seconds * 1e-9);
  }
  return best;
}

}  // namespace

Seen look_around(Cores const& at_start) {
  Seen seen;
  ::gethostname(seen.host.data(), seen.host.size() - 1);
  seen.allowed = at_start;
  using Space = Kokkos::DefaultHostExecutionSpace;
  seen.threads = static_cast<std::size_t>(Space().concurrency());
  std::mutex mutex;
  Cores pinned;
  Kokkos::parallel_for("pinned", Kokkos::RangePolicy<Space>(0, static_cast<int>(seen.threads)),
                       FindPinned{&mutex, &pinned});
  Kokkos::fence();
  if (at_start.count() > 1) seen.pinned = pinned;
  // Some runtimes have bound the main thread by the start: then the process may use at least what its team has.
  seen.allowed |= pinned;
  seen.siblings = siblings_of(seen.allowed);
  seen.quota = cgroup_quota();
  if (openblas_get_num_threads) seen.blas_threads = static_cast<std::size_t>(openblas_get_num_threads());
  if (openblas_get_parallel) seen.blas_is_openmp = openblas_get_parallel() == 2;
  put(trireme::detail::openblas_core(), seen.blas_core);
  put(trireme::detail::fitting_openblas_core(), seen.fitting_core);
  seen.gemm_rate = gemm_rate();
  return seen;
}
