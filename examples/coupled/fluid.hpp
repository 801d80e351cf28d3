// The application: a reaction and diffusion in one dimension, in steps of time, with cells on all processes. It knows
// MPI and Kokkos and nothing of trireme.
#pragma once

#include <cstddef>
#include <string>

#include <mpi.h>
#include <Kokkos_Core.hpp>

namespace fluid {

using Space = Kokkos::DefaultExecutionSpace;
/// Inputs of the cells, (cells, 3): the values of the left neighbour, the cell and the right neighbour.
using Neighbourhoods = Kokkos::View<double**, Kokkos::LayoutRight, Space::memory_space>;
/// Reactions of the cells, (cells, 1).
using Sources = Kokkos::View<double**, Kokkos::LayoutRight, Space::memory_space>;

/// The cells of this process and their neighbours' on the next ones.
class Fluid {
 public:
  /// Cells are divided unevenly: a process has one more for each rank below it. Collective.
  Fluid(MPI_Comm communicator, std::size_t cells_of_rank_0);

  std::size_t cells() const { return cells_; }
  std::size_t step() const { return step_; }

  /// Fetches the neighbours' borders and fills `seen`. Collective.
  void look(Neighbourhoods const& seen);
  /// The sources as the expensive model has them: many stages of a stiff reaction in each cell.
  void react(Neighbourhoods const& seen, Sources const& sources) const;
  /// One step of time with these sources.
  void advance(Neighbourhoods const& seen, Sources const& sources);

  /// The sum over all cells of all processes. Collective.
  double total() const;

  /// This process's cells and step, whole or not at all. \throws std::runtime_error
  void write(std::string const& path) const;
  void read(std::string const& path);

 private:
  MPI_Comm communicator_;
  int rank_ = 0, ranks_ = 1;
  std::size_t cells_ = 0, step_ = 0;
  Kokkos::View<double*, Space::memory_space> u_;
};

}  // namespace fluid
