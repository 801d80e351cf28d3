/// Copies of TwinDevice that run while its threads compute: of every second thread they are made as late as a kernel
/// allows, of the others at once. So a missing wait or barrier gives a wrong result. Included by device.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "support/twin_device.hpp"
#include "trireme/backend/gemm/async_copy.hpp"

template <>
struct trireme::detail::AsyncCopies<trireme::test::TwinDevice> {
  static constexpr bool overlap = false;

  AsyncCopies() : is_late_(next++ % 2 == 0) {}
  AsyncCopies(AsyncCopies const&) = delete;
  AsyncCopies& operator=(AsyncCopies const&) = delete;
  ~AsyncCopies() {
    if (made_ != begun_) test::twin::end_kernel("ends while copies into its scratch memory are under way");
  }

  template <class T>
  void copy_or_clear(T* to, T const* from, bool copies) {
    Copy& copy = copies_[begun_ % most];
    if (begun_ - made_ == most) test::twin::end_kernel("has more copies of a thread under way than the tests expect");
    copy = {to, copies ? from : nullptr, sizeof(T)};
    ++begun_;
    if (!is_late_) make(begun_);
  }
  void end_group() { groups_[ended_++ % most_groups] = begun_; }
  template <int Groups>
  void await() {
    constexpr std::size_t pending = Groups;
    static_assert(pending < most_groups);
    if (ended_ > pending) make(groups_[(ended_ - pending - 1) % most_groups]);
  }

 private:
  struct Copy {
    void* to;
    void const* from;  ///< null for a zero
    std::size_t size;
  };
  static constexpr std::size_t most = 64, most_groups = 8;

  void make(std::size_t until) {
    for (; made_ < until; ++made_) {
      Copy const& copy = copies_[made_ % most];
      if (copy.from)
        std::memcpy(copy.to, copy.from, copy.size);
      else
        std::memset(copy.to, 0, copy.size);
    }
  }

  static inline std::size_t next = 0;
  bool is_late_;
  std::array<Copy, most> copies_{};
  std::array<std::size_t, most_groups> groups_{};  ///< copies begun before a group's end
  std::size_t begun_ = 0, made_ = 0, ended_ = 0;
};
