/// Names of a group's members in texts: processes, whose numbers are ranks, unless the group says otherwise.
#pragma once

namespace trireme::detail {

template <class Group>
inline constexpr char const* member_name = "rank";
template <class Group>
  requires requires { Group::member; }
inline constexpr char const* member_name<Group> = Group::member;

template <class Group>
inline constexpr char const* members_name = "processes";
template <class Group>
  requires requires { Group::members; }
inline constexpr char const* members_name<Group> = Group::members;

}  // namespace trireme::detail
