/// Processes that a rank has forked. They are no ranks: they have none of its threads, share its status record and its
/// connections to other ranks, and leave all of these alone.
#pragma once

#include <memory>

namespace trireme::detail {

/// Set in a child of a process that has begun an Environment, before fork returns there.
inline bool forked = false;

inline bool is_forked_child() { return forked; }

/// Deletes what owns a thread, except in a forked child, which would wait for that thread forever.
struct DeletesWithThread {
  template <class T>
  void operator()(T* owner) const {
    if (!is_forked_child()) delete owner;
  }
};

/// Owner of an object that has a thread.
template <class T>
using ThreadOwner = std::unique_ptr<T, DeletesWithThread>;

}  // namespace trireme::detail
