/// Teams of TwinDevice: handles, nested loops and policies as Kokkos has them for a device. Part of twin_device.hpp.
///
/// `AUTO` is `twin_auto_team` threads and `twin_auto_vector` lanes. All lanes of a thread run what is outside of loops
/// over them, as on a device. Indices go to threads in turn.
#pragma once

#include "support/twin_device.hpp"  // which includes this file

namespace trireme::test {

enum class TwinScope : char { threads, lanes, all };

/// The handle of one lane of one thread.
class TwinTeam {
 public:
  using execution_space = TwinDevice;
  using scratch_memory_space = TwinDevice::scratch_memory_space;
  using team_handle = TwinTeam;

  struct Sizes {
    int league, threads, lanes;
  };

  TwinTeam(scratch_memory_space const& scratch, Sizes const& sizes, int league_rank, std::size_t thread,
           std::size_t lane)
      : scratch_(scratch),
        sizes_(sizes),
        league_rank_(league_rank),
        rank_(static_cast<int>(thread)),
        lane_(static_cast<int>(lane)) {}

  int league_rank() const { return league_rank_; }
  int league_size() const { return sizes_.league; }
  int team_rank() const { return rank_; }
  int team_size() const { return sizes_.threads; }
  int lane() const { return lane_; }
  int lanes() const { return sizes_.lanes; }

  scratch_memory_space const& team_shmem() const { return team_scratch(0); }
  scratch_memory_space const& team_scratch(int level) const { return scratch_.set_team_thread_mode(level, 1, 0); }
  scratch_memory_space const& thread_scratch(int level) const {
    return scratch_.set_team_thread_mode(level, sizes_.threads, rank_);
  }

  void team_barrier() const { twin::fibres().meet_team("team_barrier"); }

  template <class T>
  void team_broadcast(T& value, int source) const {
    T** const values = shared<T>();
    std::size_t const from = static_cast<std::size_t>(source * sizes_.lanes);
    if (slot() == from) values[from] = &value;
    twin::fibres().meet_team("team_broadcast");
    if (slot() != from) value = *values[from];
    twin::fibres().meet_team("team_broadcast");
  }
  template <class F, class T>
  void team_broadcast(F const& f, T& value, int source) const {
    f(value);
    team_broadcast(value, source);
  }

  template <class Reducer>
  void team_reduce(Reducer const& reducer) const {
    team_reduce(reducer, reducer.reference());
  }
  template <class Reducer>
  void team_reduce(Reducer const& reducer, typename Reducer::value_type value) const {
    reduce(TwinScope::threads, "team_reduce", reducer, value);
    reducer.reference() = value;
  }

  /// Joins the values of the scope's members, in their order; all of them have the result.
  template <class Reducer, class T>
  void reduce(TwinScope scope, char const* call, Reducer const& reducer, T& value) const {
    T** const values = shared<T>();
    values[slot()] = &value;
    meet(scope, call);
    auto const [first, count, step] = members(scope);
    if (slot() == first)
      for (std::size_t i = 1; i < count; ++i) reducer.join(value, *values[first + i * step]);
    meet(scope, call);
    if (slot() != first) value = *values[first];
    meet(scope, call);
  }

  /// The sums of the values of the scope's members before this one, and of all.
  template <class T>
  std::pair<T, T> scan(TwinScope scope, char const* call, T value) const {
    T** const values = shared<T>();
    values[slot()] = &value;
    meet(scope, call);
    auto const [first, count, step] = members(scope);
    T before{}, all{};
    for (std::size_t i = first; i < first + count * step; i += step) {
      if (i == slot()) before = all;
      all += *values[i];
    }
    meet(scope, call);
    return {before, all};
  }

  template <class T>
  T team_scan(T const& value, T* global = nullptr) const {
    auto const [before, all] = scan(TwinScope::threads, "team_scan", value);
    if (!global) return before;
    T start{};
    if (slot() == 0) start = Kokkos::atomic_fetch_add(global, all);
    team_broadcast(start, 0);
    return start + before;
  }

  /// This one's place among the members of the scope, and how many they are.
  std::pair<std::size_t, std::size_t> place(TwinScope scope) const {
    auto const [first, count, step] = members(scope);
    return {(slot() - first) / step, count};
  }

  void meet(TwinScope scope, char const* call) const {
    if (scope == TwinScope::lanes)
      twin::fibres().meet_lanes(call);
    else
      twin::fibres().meet_team(call);
  }

 private:
  struct Members {
    std::size_t first, count, step;
  };

  /// Pointers to a value of each fibre, between two meetings.
  template <class T>
  static T** shared() {
    static T* values[twin::Fibres::most];
    return values;
  }
  std::size_t slot() const { return static_cast<std::size_t>(rank_ * sizes_.lanes + lane_); }
  Members members(TwinScope scope) const {
    auto const threads = static_cast<std::size_t>(sizes_.threads), lanes = static_cast<std::size_t>(sizes_.lanes);
    if (scope == TwinScope::threads) return {static_cast<std::size_t>(lane_), threads, lanes};
    if (scope == TwinScope::lanes) return {static_cast<std::size_t>(rank_) * lanes, lanes, 1};
    return {0, threads * lanes, 1};
  }

  scratch_memory_space scratch_;
  Sizes sizes_;
  int league_rank_, rank_, lane_;
};

/// The loop of a team over its threads, over the lanes of a thread, or over both.
template <class Index>
struct TwinRange {
  TwinTeam const& team;
  TwinScope scope;
  Index first, last;

  /// Calls f for the indices of one member of the scope.
  template <class F>
  void for_own(F const& f) const {
    auto const [rank, count] = team.place(scope);
    for (Index i = static_cast<Index>(first + static_cast<Index>(rank)); i < last;
         i = static_cast<Index>(i + static_cast<Index>(count)))
      f(i);
  }
};

template <class T>
struct TwinSum {
  void join(T& sum, T const& value) const { sum += value; }
};
struct TwinFirst {
  template <class T>
  void join(T&, T const&) const {}
};

struct TwinPerTeam {
  TwinTeam const& team;
};
struct TwinPerThread {
  TwinTeam const& team;
};

}  // namespace trireme::test

namespace Kokkos {

template <class Index>
auto TeamThreadRange(trireme::test::TwinTeam const& team, Index count) {
  return trireme::test::TwinRange<Index>{team, trireme::test::TwinScope::threads, 0, count};
}
template <class First, class Last>
auto TeamThreadRange(trireme::test::TwinTeam const& team, First first, Last last) {
  using Index = std::common_type_t<First, Last>;
  return trireme::test::TwinRange<Index>{team, trireme::test::TwinScope::threads, static_cast<Index>(first),
                                         static_cast<Index>(last)};
}
template <class Index>
auto TeamVectorRange(trireme::test::TwinTeam const& team, Index count) {
  return trireme::test::TwinRange<Index>{team, trireme::test::TwinScope::all, 0, count};
}
template <class First, class Last>
auto TeamVectorRange(trireme::test::TwinTeam const& team, First first, Last last) {
  using Index = std::common_type_t<First, Last>;
  return trireme::test::TwinRange<Index>{team, trireme::test::TwinScope::all, static_cast<Index>(first),
                                         static_cast<Index>(last)};
}
template <class Index>
auto ThreadVectorRange(trireme::test::TwinTeam const& team, Index count) {
  return trireme::test::TwinRange<Index>{team, trireme::test::TwinScope::lanes, 0, count};
}
template <class First, class Last>
auto ThreadVectorRange(trireme::test::TwinTeam const& team, First first, Last last) {
  using Index = std::common_type_t<First, Last>;
  return trireme::test::TwinRange<Index>{team, trireme::test::TwinScope::lanes, static_cast<Index>(first),
                                         static_cast<Index>(last)};
}
inline trireme::test::TwinPerTeam PerTeam(trireme::test::TwinTeam const& team) { return {team}; }
inline trireme::test::TwinPerThread PerThread(trireme::test::TwinTeam const& team) { return {team}; }

/// Lanes of a thread are together again after their loop; threads are not.
template <class Index, class F>
void parallel_for(trireme::test::TwinRange<Index> const& range, F const& f) {
  range.for_own(f);
  if (range.scope == trireme::test::TwinScope::lanes) range.team.meet(range.scope, "parallel_for over lanes");
}

template <class Index, class F, class Reducer>
  requires is_reducer<Reducer>::value
void parallel_reduce(trireme::test::TwinRange<Index> const& range, F const& f, Reducer const& reducer) {
  typename Reducer::value_type value;
  reducer.init(value);
  range.for_own([&](Index i) { f(i, value); });
  range.team.reduce(range.scope, "parallel_reduce", reducer, value);
  reducer.reference() = value;
}
template <class Index, class F, class T>
  requires(!is_reducer<T>::value)
void parallel_reduce(trireme::test::TwinRange<Index> const& range, F const& f, T& result) {
  T value{};
  range.for_own([&](Index i) { f(i, value); });
  range.team.reduce(range.scope, "parallel_reduce", trireme::test::TwinSum<T>(), value);
  result = value;
}

/// Of consecutive indices for each member.
template <class Index, class F, class T>
void parallel_scan(trireme::test::TwinRange<Index> const& range, F const& f, T& result) {
  auto const [rank, count] = range.team.place(range.scope);
  auto const bound = [&, n = static_cast<std::size_t>(range.last - range.first), c = count](std::size_t member) {
    return static_cast<Index>(range.first + static_cast<Index>(n * member / c));
  };
  T own{};
  for (Index i = bound(rank); i < bound(rank + 1); ++i) f(i, own, false);
  auto [sum, all] = range.team.scan(range.scope, "parallel_scan", own);
  for (Index i = bound(rank); i < bound(rank + 1); ++i) f(i, sum, true);
  result = all;
}
template <class Index, class F>
void parallel_scan(trireme::test::TwinRange<Index> const& range, F const& f) {
  typename Impl::FunctorAnalysis<Impl::FunctorPatternInterface::SCAN, void, F, void>::value_type result;
  parallel_scan(range, f, result);
}

template <class F>
void single(trireme::test::TwinPerTeam const& one, F const& f) {
  if (one.team.team_rank() == 0 && one.team.lane() == 0) f();
  one.team.meet(trireme::test::TwinScope::lanes, "single(PerTeam)");
}
template <class F, class T>
void single(trireme::test::TwinPerTeam const& one, F const& f, T& value) {
  if (one.team.team_rank() == 0 && one.team.lane() == 0) f(value);
  one.team.team_broadcast(value, 0);
}
template <class F>
void single(trireme::test::TwinPerThread const& one, F const& f) {
  if (one.team.lane() == 0) f();
  one.team.meet(trireme::test::TwinScope::lanes, "single(PerThread)");
}
template <class F, class T>
void single(trireme::test::TwinPerThread const& one, F const& f, T& value) {
  if (one.team.lane() == 0) f(value);
  one.team.reduce(trireme::test::TwinScope::lanes, "single(PerThread)", trireme::test::TwinFirst(), value);
}

namespace Impl {

template <class... Properties>
class TeamPolicyInternal<trireme::test::TwinDevice, Properties...> : public PolicyTraits<Properties...> {
  template <class, class...>
  friend class TeamPolicyInternal;

 public:
  using traits = PolicyTraits<Properties...>;
  using execution_policy = TeamPolicyInternal;
  using execution_space = trireme::test::TwinDevice;
  using member_type = trireme::test::TwinTeam;

  TeamPolicyInternal(execution_space const& space, int league, int team, int vector = 1)
      : space_(space), league_(league), team_(team), vector_(vector) {
    if (team * std::max(1, vector) > trireme::test::twin_team_size)
      trireme::test::twin::end("twin: a team has over 1024 threads\n");
    if (vector > vector_length_max() || (vector > 0 && (vector & (vector - 1)) != 0))
      trireme::test::twin::end("twin: lanes are a power of 2 up to 32\n");
  }
  TeamPolicyInternal(execution_space const& space, int league, AUTO_t const&, int vector = 1)
      : TeamPolicyInternal(space, league, automatic, vector) {}
  TeamPolicyInternal(execution_space const& space, int league, AUTO_t const&, AUTO_t const&)
      : TeamPolicyInternal(space, league, automatic, automatic) {}
  TeamPolicyInternal(execution_space const& space, int league, int team, AUTO_t const&)
      : TeamPolicyInternal(space, league, team, automatic) {}
  template <class Team, class Vector = int>
  TeamPolicyInternal(int league, Team const& team, Vector const& vector = Vector{1})
      : TeamPolicyInternal(execution_space(), league, team, vector) {}
  template <class... Others>
  TeamPolicyInternal(TeamPolicyInternal<execution_space, Others...> const& other)
      : space_(other.space_),
        league_(other.league_),
        team_(other.team_),
        vector_(other.vector_),
        per_team_(other.per_team_),
        per_thread_(other.per_thread_) {}

  execution_space const& space() const { return space_; }
  int league_size() const { return league_; }
  int team_size() const { return team_; }  ///< negative if it is AUTO
  int impl_vector_length() const { return vector_; }
  bool impl_auto_team_size() const { return team_ < 0; }
  bool impl_auto_vector_length() const { return vector_ < 0; }
  void impl_set_team_size(std::size_t size) { team_ = static_cast<int>(size); }
  void impl_set_vector_length(std::size_t size) { vector_ = static_cast<int>(size); }
  int chunk_size() const { return 1; }
  template <class... Arguments>
  int team_size_max(Arguments const&...) const {
    return trireme::test::twin_team_size / lanes();
  }
  template <class... Arguments>
  int team_size_recommended(Arguments const&... arguments) const {
    return std::min(trireme::test::twin_auto_team, team_size_max(arguments...));
  }
  std::size_t scratch_size(int level, int team = -1) const {
    auto const l = static_cast<std::size_t>(level);
    return per_team_[l] + per_thread_[l] * static_cast<std::size_t>(team < 0 ? threads() : team);
  }
  static int scratch_size_max(int level) {
    return static_cast<int>(level == 0 ? trireme::test::twin_scratch : trireme::test::twin_slow_scratch);
  }
  static int vector_length_max() { return 32; }

  TeamPolicyInternal& set_chunk_size(int) { return *this; }
  TeamPolicyInternal& set_scratch_size(int level, PerTeamValue const& team) {
    per_team_[static_cast<std::size_t>(level)] = team.value;
    return *this;
  }
  TeamPolicyInternal& set_scratch_size(int level, PerThreadValue const& thread) {
    per_thread_[static_cast<std::size_t>(level)] = thread.value;
    return *this;
  }
  TeamPolicyInternal& set_scratch_size(int level, PerTeamValue const& team, PerThreadValue const& thread) {
    return set_scratch_size(level, team).set_scratch_size(level, thread);
  }

  int threads() const { return team_ < 0 ? team_size_recommended() : team_; }
  int lanes() const { return vector_ < 0 ? trireme::test::twin_auto_vector : vector_; }

 private:
  static constexpr int automatic = -1;

  execution_space space_;
  int league_, team_, vector_;
  std::array<std::size_t, 2> per_team_{}, per_thread_{};
};

/// Launch parameters of a kernel's teams.
struct TwinLeague {
  using Member = trireme::test::TwinTeam;
  Member::Sizes sizes;
  std::array<std::size_t, 2> scratch;

  template <class F, class Policy>
  TwinLeague(F const& f, Policy const& policy)
      : sizes{policy.league_size(), policy.threads(), policy.lanes()},
        scratch{policy.scratch_size(0) + FunctorTeamShmemSize<F>::value(f, policy.threads()), policy.scratch_size(1)} {
    if (scratch[0] > trireme::test::twin_scratch) trireme::test::twin::end("twin: scratch of a team is over 48 KB\n");
    if (scratch[1] > trireme::test::twin_slow_scratch)
      trireme::test::twin::end("twin: level 1 scratch of a team is over 16 MB\n");
  }

  std::size_t threads() const { return static_cast<std::size_t>(sizes.threads); }

  /// Calls `body(member, fibre)` for each lane of each thread of the team.
  template <class Body>
  void run_team(int rank, Body const& body) const {
    using namespace trireme::test::twin;
    Member::scratch_memory_space const memory(scratch_memory(0).take(scratch[0]), scratch[0],
                                              scratch_memory(1).take(scratch[1]), scratch[1]);
    fibres().run(threads(), static_cast<std::size_t>(sizes.lanes), [&](std::size_t thread, std::size_t lane) {
      body(Member(memory, sizes, rank, thread, lane), thread, lane);
    });
  }
};

template <class F, class... Properties>
class ParallelFor<F, TeamPolicy<Properties...>, trireme::test::TwinDevice> {
  using Policy = TeamPolicyInternal<trireme::test::TwinDevice, Properties...>;
  using Tag = typename Policy::work_tag;

  struct Kernel {
    F f;
    TwinLeague league;
    void run() const {
      trireme::test::twin::in_any_order(0, league.sizes.league, [&](int rank) {
        league.run_team(rank, [&](TwinLeague::Member const& member, std::size_t, std::size_t) {
          if constexpr (std::is_void_v<Tag>)
            f(member);
          else
            f(Tag{}, member);
        });
      });
    }
  };
  Kernel kernel_;
  std::size_t device_;

 public:
  ParallelFor(F const& f, Policy const& policy) : kernel_{f, TwinLeague(f, policy)}, device_(policy.space().device()) {}
  void execute() const { trireme::test::twin::launch(device_, kernel_); }
};

/// Each thread adds to a value of its own; of its lanes the first's counts.
template <class Combined, class... Properties>
class ParallelReduce<Combined, TeamPolicy<Properties...>, trireme::test::TwinDevice> {
  using Policy = TeamPolicyInternal<trireme::test::TwinDevice, Properties...>;
  using Tag = typename Policy::work_tag;
  using Reducer = typename Combined::reducer_type;
  using Pointer = typename Reducer::pointer_type;

  struct Kernel {
    Combined f;
    TwinLeague league;
    TwinResult<Reducer> result;
    void run() {
      Reducer const& reducer = f.get_reducer();
      Pointer const total = result.begin(reducer);
      trireme::test::twin::in_any_order(0, league.sizes.league, [&](int rank) {
        TwinPartialValues<Reducer> values(reducer, league.threads() * static_cast<std::size_t>(league.sizes.lanes));
        league.run_team(rank, [&](TwinLeague::Member const& member, std::size_t thread, std::size_t lane) {
          typename Reducer::reference_type update = values.reference(lane * league.threads() + thread);
          if constexpr (std::is_void_v<Tag>)
            f.get_functor()(member, update);
          else
            f.get_functor()(Tag{}, member, update);
        });
        values.join_into(total, league.threads());
      });
      reducer.final(total);
    }
  };
  Kernel kernel_;
  Pointer host_result_ = nullptr;
  std::size_t device_;

 public:
  template <class Result>
  ParallelReduce(Combined const& f, Policy const& policy, Result const& result)
      : kernel_{f, TwinLeague(f.get_functor(), policy), {}}, device_(policy.space().device()) {
    host_result_ = kernel_.result.set(result);
  }
  void execute() const { twin_reduce(device_, kernel_, host_result_); }
};

}  // namespace Impl
}  // namespace Kokkos
