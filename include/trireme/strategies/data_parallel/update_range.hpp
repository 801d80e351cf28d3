/// UpdateRange: the update of a range of weights by its summed gradients, on the thread that has them.
#pragma once

#include <cstddef>

#include "trireme/backend/execution/thread_context.hpp"

namespace trireme {

/// A function (context, begin, end, values) for elements of the arena, or empty if the sums stay in the arena. Its type
/// is erased, so that its callers are compiled once.
template <class T>
class UpdateRange {
 public:
  UpdateRange() = default;
  /// `f` must outlive it.
  template <class F>
  explicit UpdateRange(F const& f)
      : f_(&f), call_([](void const* g, ThreadContext const& context, std::size_t begin, std::size_t end, T const* v) {
          (*static_cast<F const*>(g))(context, begin, end, v);
        }) {}

  explicit operator bool() const { return f_ != nullptr; }
  /// \param values  of [begin, end); valid during the call.
  void operator()(ThreadContext const& context, std::size_t begin, std::size_t end, T const* values) const {
    call_(f_, context, begin, end, values);
  }

 private:
  void const* f_ = nullptr;
  void (*call_)(void const*, ThreadContext const&, std::size_t, std::size_t, T const*) = nullptr;
};

}  // namespace trireme
