/// A pool of objects that threads borrow one at a time, such as workspaces.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace trireme {

/// For any number of threads at once; neither member waits for another thread. Allocates when more objects are borrowed
/// at once than ever before, and then no more, up to `capacity` threads.
template <class Object>
class ObjectPool {
 public:
  /// Objects that are kept while no thread uses them.
  static constexpr std::size_t capacity = 128;

  ObjectPool() = default;
  ObjectPool(ObjectPool const&) = delete;
  ObjectPool& operator=(ObjectPool const&) = delete;
  ~ObjectPool() {
    for (Cell& cell : cells_) delete cell.object.load(std::memory_order_relaxed);
  }

  /// Returns the object to the pool when it ends.
  class Loan {
   public:
    Loan(ObjectPool& pool, std::unique_ptr<Object> object) : pool_(pool), object_(std::move(object)) {}
    Loan(Loan const&) = delete;
    Loan& operator=(Loan const&) = delete;
    ~Loan() { pool_.give_back(std::move(object_)); }
    Object& operator*() const { return *object_; }

   private:
    ObjectPool& pool_;
    std::unique_ptr<Object> object_;
  };

  /// An object for exclusive use: a previously borrowed one, of this thread if possible, or the result of `make()`, a
  /// std::unique_ptr.
  template <class Make>
  Loan borrow(Make const& make) {
    std::size_t const first = own_cell();
    for (std::size_t i = 0; i < capacity; ++i) {
      auto& object = cells_[(first + i) % capacity].object;
      if (!object.load(std::memory_order_relaxed)) continue;
      if (Object* const found = object.exchange(nullptr, std::memory_order_acquire))
        return Loan(*this, std::unique_ptr<Object>(found));
    }
    return Loan(*this, make());
  }

 private:
  struct alignas(64) Cell {
    std::atomic<Object*> object{nullptr};
  };

  /// The first cell of a thread's search: it finds its former object there, and threads seldom share a cell.
  static std::size_t own_cell() {
    static std::atomic<std::size_t> threads{0};
    static thread_local std::size_t const own = threads.fetch_add(1, std::memory_order_relaxed);
    return own % capacity;
  }

  void give_back(std::unique_ptr<Object> object) noexcept {
    std::size_t const first = own_cell();
    for (std::size_t i = 0; i < capacity; ++i) {
      Object* none = nullptr;
      if (cells_[(first + i) % capacity].object.compare_exchange_strong(none, object.get(), std::memory_order_release,
                                                                        std::memory_order_relaxed)) {
        object.release();
        return;
      }
    }
  }

  std::array<Cell, capacity> cells_;
};

}  // namespace trireme
