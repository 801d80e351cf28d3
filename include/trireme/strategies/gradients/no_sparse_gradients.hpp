/// NoSparseGradients: members of SparseGradients for models without lookup tables.
#pragma once

#include <cstddef>

namespace trireme {

/// Does nothing: no gradients are sparse.
struct NoSparseGradients {
  /// Takes the arguments of SparseGradients.
  NoSparseGradients(auto const&...) {}
  /// Always true: there are no tables.
  static constexpr bool empty() { return true; }
  static constexpr std::nullptr_t sink() { return nullptr; }
  void begin(void*) {}
  /// False: no gradients are those of rows alone.
  bool only_rows(void const*, void const*, std::size_t) { return false; }
  /// Does nothing.
  void no_rows() {}
  /// Calls f(begin, end) once, since all gradients are dense.
  template <class F>
  void for_each_other(std::size_t begin, std::size_t end, F const& f) const {
    if (begin < end) f(begin, end);
  }
  /// Does nothing.
  void keep(void*) {}
  /// Does nothing.
  void add_kept(void*) {}
  /// Does nothing.
  void sum() {}
};

}  // namespace trireme
