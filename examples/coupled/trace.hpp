// A record of a simulation's steps as a .csv file.
#pragma once

#include <chrono>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include <Kokkos_Core.hpp>
#include <trireme/trireme.hpp>

/// The chief appends a line a step. Without a path nothing is written.
class Trace {
 public:
  Trace(trireme::Communicator const& group, std::string path) : group_(group), path_(std::move(path)) {}

  bool is_open() const { return !path_.empty(); }

  void begin() { began_ = std::chrono::steady_clock::now(); }

  /// \param react  computes the exact sources, and is timed beside what the step took
  /// \param error  returns the network's error
  /// Collective.
  template <class React, class Error>
  void end(std::size_t step, React const& react, Error const& error) {
    double const took = milliseconds();
    begin();
    react();
    double const reaction = milliseconds(), off = error();
    if (!group_.is_chief()) return;
    std::ofstream file(path_, std::ios::app);
    if (file.tellp() == 0) file << "step,milliseconds,reaction,error\n";
    file << step << ',' << took << ',' << reaction << ',' << off << '\n';
    file.close();
    if (!file) throw std::runtime_error(path_ + " could not be written");
  }

 private:
  /// Time since `begin`, of the slowest process.
  double milliseconds() const {
    Kokkos::fence();
    std::chrono::duration<double, std::milli> const took = std::chrono::steady_clock::now() - began_;
    return group_.allreduce_max(took.count()).value();
  }

  trireme::Communicator const& group_;
  std::string path_;
  std::chrono::steady_clock::time_point began_;
};
