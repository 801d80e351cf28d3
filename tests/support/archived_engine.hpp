/// Engine of integers, for tests of an Archive that has no model.
#pragma once

#include <vector>

namespace trireme::test {

/// Its weights are one integer, as those of ScriptedRun.
struct ArchivedEngine {
  using T = float;
  using Snapshot = int;
  template <class Archive>
  void state(Archive&) {}
  ArchivedEngine const& weights() const { return *this; }
  std::vector<float> gather(int weights) const { return {static_cast<float>(weights)}; }
  int scatter(std::vector<float> const& weights) const { return static_cast<int>(weights.at(0)); }
};

}  // namespace trireme::test
