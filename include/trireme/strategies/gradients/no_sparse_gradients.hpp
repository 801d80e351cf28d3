/// NoSparseGradients: members of SparseGradients for models without lookup tables.
#pragma once

#include <cstddef>

namespace trireme {

/// Does nothing: no gradients are sparse.
struct NoSparseGradients {
  NoSparseGradients(auto const&...) {}
  static constexpr bool empty() { return true; }
  static constexpr std::nullptr_t sink() { return nullptr; }
  void begin(void*) {}
  bool only_rows(void const*, void const*, std::size_t) { return false; }
  void no_rows() {}
  template <class F>
  void for_each_other(std::size_t begin, std::size_t end, F const& f) const {
    if (begin < end) f(begin, end);
  }
  void keep(void*) {}
  void add_kept(void*) {}
  void sum() {}
};

}  // namespace trireme
