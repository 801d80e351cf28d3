/// SharedHandle: a std::shared_ptr that is never moved from.
#pragma once

#include <memory>
#include <utility>

namespace trireme {

/// Moves copy. So an object of the API that is a handle to what its copies share, such as a strategy, stays as good as
/// before when it is moved from.
template <class T>
class SharedHandle : public std::shared_ptr<T> {
 public:
  /// Handle to an object that its copies share.
  template <class U>
  SharedHandle(std::shared_ptr<U> pointer) : std::shared_ptr<T>(std::move(pointer)) {}
  SharedHandle(SharedHandle const&) = default;
  SharedHandle& operator=(SharedHandle const&) = default;
  ~SharedHandle() = default;
};

}  // namespace trireme
