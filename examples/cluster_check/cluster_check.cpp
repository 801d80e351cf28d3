// Are threads, binding, MPI, GPU awareness and BLAS as they should be? `srun … cluster_check [FOLDER…]` in an
// allocation, as a training would be started; one page, and exit code 1 if anything is wrong. Folders are those of data
// and checkpoints.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

#include "seen.hpp"
#include "verdict.hpp"

namespace tr = trireme;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// "0-3,8": runs of processors.
std::string listed(Cores const& cores) {
  std::string text;
  for (std::size_t core = 0; core < cores.size(); ++core) {
    if (!cores[core]) continue;
    std::size_t last = core;
    while (last + 1 < cores.size() && cores[last + 1]) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", core);
    if (last > core) text += fmt::format("-{}", last);
    core = last;
  }
  return text.empty() ? "none" : text;
}

/// Half of the least time of a message to another process and back, in microseconds. Collective.
double latency(tr::Communicator const& group, std::size_t other) {
  double least = 0, value = 0;
  for (int turn = 0; turn < 200; ++turn) {
    auto const start = Clock::now();
    if (group.rank() == 0) {
      group.send(std::span<double const>(&value, 1), other);
      group.receive(std::span<double>(&value, 1), other);
      double const time = seconds_since(start) / 2 * 1e6;
      least = turn == 0 ? time : std::min(least, time);
    } else if (group.rank() == other) {
      group.receive(std::span<double>(&value, 1), 0);
      group.send(std::span<double const>(&value, 1), 0);
    }
  }
  return least;
}

/// Bytes that are summed up over all processes a second, in GB. Collective.
double sum_rate(tr::Communicator const& group) {
  std::vector<float> values(2 << 20, 1);
  double least = 0;
  for (int turn = 0; turn < 5; ++turn) {
    group.barrier();
    auto const start = Clock::now();
    group.allreduce_sum(std::span<float>(values));
    double const time = seconds_since(start);
    least = turn == 0 ? time : std::min(least, time);
  }
  return static_cast<double>(values.size() * sizeof(float)) / least * 1e-9;
}

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string_view const all(text.data(), static_cast<std::size_t>(length));
  std::string line;
  for (char const c : all.substr(0, all.find('\n'))) line += c == '\t' ? ' ' : c;
  return line;
}

std::string_view answer(std::optional<bool> const& says) { return !says ? "it does not say" : *says ? "yes" : "no"; }

std::string thread_level() {
  int level = 0;
  MPI_Query_thread(&level);
  for (auto const& [value, name] :
       {std::pair(MPI_THREAD_SINGLE, "single"), std::pair(MPI_THREAD_FUNNELED, "funneled"),
        std::pair(MPI_THREAD_SERIALIZED, "serialized"), std::pair(MPI_THREAD_MULTIPLE, "multiple")})
    if (level == value) return name;
  return "unknown";
}

/// Writes a file there and removes it. \return what is wrong, or nothing
std::string folder_fault(std::filesystem::path const& folder) {
  auto const file = folder / fmt::format("trireme-cluster-check-{}", ::getpid());
  std::ofstream out(file);
  out << "tried\n";
  out.close();
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return out ? "" : fmt::format("{} cannot be written to: choose another folder, or make it", folder.string());
}

}  // namespace

int main(int argc, char** argv) {
  Cores const at_start = allowed_cores();
  tr::Environment environment(argc, argv);
  tr::Communicator const& group = environment.world();
  Seen const own = look_around(at_start);
  auto const seen = group.allgather(own);
  std::map<std::string, std::vector<Seen>> nodes;
  for (Seen const& one : seen) nodes[one.node()].push_back(one);
  std::size_t here = 0, elsewhere = 0;  // a process on the chief's node, and one on another; 0: there is none
  for (std::size_t rank = 1; rank < seen.size(); ++rank) {
    std::size_t& place = seen[rank].node() == seen[0].node() ? here : elsewhere;
    if (place == 0) place = rank;
  }
  double const within = here ? latency(group, here) : 0, between = elsewhere ? latency(group, elsewhere) : 0;
  double const summed = group.size() > 1 ? sum_rate(group) : 0;

  std::vector<Finding> findings;
  std::string page = fmt::format("trireme {}, {} processes on {} nodes\n\n", tr::version(), seen.size(), nodes.size());
  for (auto const& [name, processes] : nodes) {
    page += fmt::format("{}\n", name);
    for (std::size_t i = 0; i < processes.size(); ++i) {
      Seen const& one = processes[i];
      page += fmt::format(
          "  process {}: processors {}; {} threads{}; limit {}; BLAS {} with {} threads, {:.0f} Gflop/s\n", i,
          listed(one.allowed), one.threads, one.pinned.any() ? " bound to " + listed(one.pinned) : ", not bound",
          one.quota > 0 ? fmt::format("{:.1f} processors", one.quota) : "none",
          one.blas_core[0] ? one.blas_core.data() : "unknown", one.blas_threads, one.gemm_rate);
    }
    for (Finding& finding : judge(processes)) findings.push_back(std::move(finding));
  }
  page += fmt::format("\nMPI      {}, threads {}\n", library_version(), thread_level());
  tr::GpuAwareness const reads = tr::gpu_awareness();
  page += fmt::format("         reads memory of CUDA devices: {}; of HIP devices: {}\n", answer(reads.cuda),
                      answer(reads.hip));
  if (here) page += fmt::format("         {:.2f} us to a process of the node\n", within);
  if (elsewhere) page += fmt::format("         {:.2f} us to a process of another node\n", between);
  if (group.size() > 1) page += fmt::format("         {:.2f} GB/s summed up over all processes\n", summed);
  using Space = Kokkos::DefaultExecutionSpace;
  page += fmt::format("Kokkos   {}{}\n", Space::name(), tr::is_host_space<Space> ? "; no device" : "");

  std::vector<std::string> folders(argv + 1, argv + argc);
  char const* const temporary = std::getenv("TMPDIR");
  folders.insert(folders.begin(), temporary ? temporary : "/tmp");
  for (std::string const& folder : folders) {
    auto const faults = group.allgatherv(folder_fault(folder));
    for (std::size_t rank = 0; rank < faults.parts(); ++rank)
      if (auto const fault = faults.part(rank); !fault.empty())
        findings.push_back(
            {Finding::Kind::wrong, fmt::format("rank {}: {}", rank, std::string(fault.begin(), fault.end()))});
    std::error_code unknown;
    auto const space = std::filesystem::space(folder, unknown);
    if (!unknown)
      page += fmt::format("Folder   {}: {:.1f} GB are free\n", folder, static_cast<double>(space.available) * 1e-9);
  }

  auto const is_wrong = [](Finding const& finding) { return finding.kind == Finding::Kind::wrong; };
  bool const good = std::ranges::none_of(findings, is_wrong);
  page += '\n';
  for (Finding const& finding : findings)
    page += fmt::format("{}: {}\n", is_wrong(finding) ? "wrong" : "note", finding.text);
  if (findings.empty()) page += "ok\n";
  if (group.is_chief()) fmt::print("{}", page);
  return good ? 0 : 1;
}
