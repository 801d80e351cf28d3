#include "fluid.hpp"

#include <cstdio>
#include <stdexcept>

namespace fluid {

namespace {
constexpr double spread = 0.2, time_step = 0.05;

/// Concentration u reacts in stages of its own time scale: what a table of chemistry would cost.
struct Reaction {
  Neighbourhoods seen;
  Sources sources;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    double const start = 0.25 * seen(i, 0) + 0.5 * seen(i, 1) + 0.25 * seen(i, 2);
    double u = start;
    constexpr int stages = 2000;
    for (int stage = 0; stage < stages; ++stage) u += 1.0 / stages * u * (1 - u) * Kokkos::exp(-u);
    sources(i, 0) = u - start;
  }
};

struct Advance {
  Neighbourhoods seen;
  Sources sources;
  Kokkos::View<double*, Space::memory_space> u;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    u(i) += spread * (seen(i, 0) - 2 * seen(i, 1) + seen(i, 2)) + time_step * sources(i, 0);
  }
};

struct Look {
  Kokkos::View<double*, Space::memory_space> u;
  double left, right;
  Neighbourhoods seen;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const last = u.extent(0) - 1;
    seen(i, 0) = i == 0 ? left : u(i - 1);
    seen(i, 1) = u(i);
    seen(i, 2) = i == last ? right : u(i + 1);
  }
};

struct Sum {
  Kokkos::View<double*, Space::memory_space> u;
  KOKKOS_FUNCTION void operator()(std::size_t i, double& sum) const { sum += u(i); }
};

auto all(std::size_t cells) { return Kokkos::RangePolicy<Space>(0, cells); }
}  // namespace

Fluid::Fluid(MPI_Comm communicator, std::size_t cells_of_rank_0) : communicator_(communicator) {
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &ranks_);
  cells_ = cells_of_rank_0 + static_cast<std::size_t>(rank_);
  u_ = decltype(u_)("u", cells_);
  auto const host = Kokkos::create_mirror_view(u_);
  for (std::size_t i = 0; i < cells_; ++i) host(i) = 0.02 * static_cast<double>((i * 7 + 3) % 50);
  Kokkos::deep_copy(u_, host);
}

void Fluid::look(Neighbourhoods const& seen) {
  double borders[2] = {}, neighbours[2] = {};
  Kokkos::deep_copy(borders[0], Kokkos::subview(u_, 0));
  Kokkos::deep_copy(borders[1], Kokkos::subview(u_, cells_ - 1));
  int const left = (rank_ + ranks_ - 1) % ranks_, right = (rank_ + 1) % ranks_;
  MPI_Sendrecv(&borders[1], 1, MPI_DOUBLE, right, 0, &neighbours[0], 1, MPI_DOUBLE, left, 0, communicator_,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&borders[0], 1, MPI_DOUBLE, left, 1, &neighbours[1], 1, MPI_DOUBLE, right, 1, communicator_,
               MPI_STATUS_IGNORE);
  Kokkos::parallel_for("fluid::look", all(cells_), Look{u_, neighbours[0], neighbours[1], seen});
}

void Fluid::react(Neighbourhoods const& seen, Sources const& sources) const {
  Kokkos::parallel_for("fluid::react", all(cells_), Reaction{seen, sources});
}

void Fluid::advance(Neighbourhoods const& seen, Sources const& sources) {
  Kokkos::parallel_for("fluid::advance", all(cells_), Advance{seen, sources, u_});
  ++step_;
}

double Fluid::total() const {
  double sum = 0;
  Kokkos::parallel_reduce("fluid::total", all(cells_), Sum{u_}, sum);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, communicator_);
  return sum;
}

void Fluid::write(std::string const& path) const {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), u_);
  std::string const unfinished = path + ".unfinished";
  std::FILE* const file = std::fopen(unfinished.c_str(), "wb");
  bool good = file != nullptr && std::fwrite(&step_, sizeof step_, 1, file) == 1 &&
              std::fwrite(host.data(), sizeof(double), cells_, file) == cells_;
  if (file != nullptr) good = std::fclose(file) == 0 && good;
  if (!good || std::rename(unfinished.c_str(), path.c_str()) != 0)
    throw std::runtime_error(path + " could not be written");
}

void Fluid::read(std::string const& path) {
  auto const host = Kokkos::create_mirror_view(u_);
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  bool const good = file != nullptr && std::fread(&step_, sizeof step_, 1, file) == 1 &&
                    std::fread(host.data(), sizeof(double), cells_, file) == cells_;
  if (file != nullptr) std::fclose(file);
  if (!good) throw std::runtime_error(path + " could not be read");
  Kokkos::deep_copy(u_, host);
}

}  // namespace fluid
