/// MemberArchive: the archive of one member of a group within a process, which has one checkpoint for all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/mpi/single_process.hpp"
#include "trireme/mpi/text_of_ranks.hpp"
#include "trireme/mpi/thread_group.hpp"

namespace trireme {

/// The process's archive saves and sets values of the first member, which the others take over; summands are those of
/// all, in the layout of as many processes. All members call it in the same order.
template <class Archive>
class MemberArchive {
 public:
  using holds_communicator = void;

  /// Archive of one member of the group, around that of the process.
  MemberArchive(Archive& archive, ThreadGroup const& group) : archive_(&archive), group_(&group) {}

  /// True if values are set; if false they are saved.
  bool loads() const { return archive_->loads(); }
  /// True if the run goes on from the values that are set.
  bool resumes() const { return archive_->resumes(); }
  /// True if the run was saved under another placement.
  bool moved() const { return archive_->moved(); }

  template <class V>
  void operator()(std::string_view name, V& value) {
    on_first([&] { (*archive_)(name, value); });
    if (loads()) value = group_->allgather(value)[0];
  }
  /// Saves or checks the placement. See Archive.
  template <class Group>
  void placed(std::string_view difference, std::string_view name, Group const& group, std::string const& own) {
    std::string const here = detail::text_of_ranks(group, own);
    on_first([&] { archive_->placed(difference, name, SingleProcess(), here); });
  }
  /// Saves or sets the summands of all members. See Archive.
  template <class V>
  void summands(std::string_view name, ThreadGroup const& group, std::vector<V>& own, std::size_t width) {
    auto const gathered = group.allgatherv(own);
    std::vector<V> all = gathered.values();
    on_first([&] { archive_->summands(name, SingleProcess(), all, width); });
    if (!loads()) return;
    group_->broadcast(all);
    auto const begin = all.begin() + static_cast<std::ptrdiff_t>(gathered.offset(group.rank()));
    std::copy_n(begin, own.size(), own.begin());
  }

 private:
  template <class F>
  void on_first(F const& f) const {
    group_->together([&] {
      if (group_->is_chief()) f();
    });
  }

  Archive* archive_;
  ThreadGroup const* group_;
};

}  // namespace trireme
