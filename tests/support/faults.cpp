#include "support/faults.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

enum class Action { none, kill, fail, part, full };
enum class Need { space, nothing };

/// The C library's function behind ours.
template <class Function>
Function* system_call(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string_view variable(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Fault {
  long at = 0;
  Action action = Action::none;
  int error = 0;

  Fault() = default;
  explicit Fault(std::string_view text) {
    std::string_view const what = text.substr(text.find(':') + 1);
    at = std::strtol(std::string(text).c_str(), nullptr, 10);
    struct Error {
      std::string_view name;
      int number;
    };
    if (what == "kill") action = Action::kill;
    if (what == "part") action = Action::part;
    if (what == "full") action = Action::full;
    for (Error const& known : {Error{"EIO", EIO}, Error{"ENOSPC", ENOSPC}, Error{"EDQUOT", EDQUOT},
                               Error{"EACCES", EACCES}, Error{"EROFS", EROFS}, Error{"ENOMEM", ENOMEM}})
      if (what == known.name) action = Action::fail, error = known.number;
  }
};

struct Plan {
  std::string folder;
  std::array<Fault, 2> faults;

  Plan() : Plan(variable("TRIREME_FAULT_FOLDER"), variable("TRIREME_FAULT")) {}
  Plan(std::string_view below, std::string_view text) : folder(below) {
    std::size_t const comma = std::min(text.find(','), text.size());
    faults = {Fault(text.substr(0, comma)), Fault(text.substr(std::min(comma + 1, text.size())))};
  }
};

Plan& plan() {
  static Plan made;
  return made;
}

std::atomic<long> calls{0};
std::array<std::atomic<bool>, 1024> is_counted{};  ///< by descriptor

bool is_below(char const* path) {
  return path != nullptr && !plan().folder.empty() && std::string_view(path).starts_with(plan().folder);
}

[[maybe_unused]] bool counts(int descriptor) {
  return descriptor >= 0 && static_cast<std::size_t>(descriptor) < is_counted.size() &&
         is_counted[static_cast<std::size_t>(descriptor)];
}

void log(char const* name) {
  std::string const path(variable("TRIREME_FAULT_LOG"));
  if (path.empty()) return;
  int const file = system_call<int(char const*, int, ...)>("open")(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  std::string const line = std::string(name) + '\n';
  [[maybe_unused]] ssize_t const written =
      system_call<ssize_t(int, void const*, std::size_t)>("write")(file, line.data(), line.size());
  system_call<int(int)>("close")(file);
}

bool answers(int error) {
  errno = error;
  return true;
}

/// Counts a call. True if it is to fail, and `errno` then says why.
bool fails(char const* name, Need need) {
  long const call = ++calls;
  log(name);
  for (Fault const& fault : plan().faults) {
    if (call == fault.at && fault.action == Action::kill) ::kill(::getpid(), SIGKILL);
    if (call == fault.at && fault.action == Action::fail) return answers(fault.error);
    bool const is_full =
        (fault.action == Action::full && call >= fault.at) || (fault.action == Action::part && call == fault.at + 1);
    if (is_full && need == Need::space) return answers(ENOSPC);
  }
  return false;
}

[[maybe_unused]] std::size_t allowed(std::size_t bytes) {
  for (Fault const& fault : plan().faults)
    if (fault.action == Action::part && calls == fault.at && bytes > 1) return bytes / 2;
  return bytes;
}

[[maybe_unused]] int open_counted(char const* name, char const* path, int flags, mode_t mode) {
  bool const writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes && is_below(path) && fails(name, (flags & O_CREAT) != 0 ? Need::space : Need::nothing)) return -1;
  int const descriptor = system_call<int(char const*, int, ...)>(name)(path, flags, mode);
  if (descriptor >= 0 && static_cast<std::size_t>(descriptor) < is_counted.size())
    is_counted[static_cast<std::size_t>(descriptor)] = writes && is_below(path);
  return descriptor;
}

template <class Offset>
ssize_t write_at(char const* name, int descriptor, void const* data, std::size_t bytes, Offset offset) {
  if (counts(descriptor)) {
    if (fails(name, Need::space)) return -1;
    bytes = allowed(bytes);
  }
  return system_call<ssize_t(int, void const*, std::size_t, Offset)>(name)(descriptor, data, bytes, offset);
}

template <class... Arguments>
int on_descriptor(char const* name, Need need, int descriptor, Arguments... arguments) {
  if (counts(descriptor) && fails(name, need)) return -1;
  return system_call<int(int, Arguments...)>(name)(descriptor, arguments...);
}

template <class... Arguments>
int on_path(char const* name, Need need, char const* path, Arguments... arguments) {
  if (is_below(path) && fails(name, need)) return -1;
  return system_call<int(char const*, Arguments...)>(name)(path, arguments...);
}

[[maybe_unused]] mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TRIREME_NO_FAULTS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRIREME_NO_FAULTS
#endif
#endif

namespace trireme::test {

#ifdef TRIREME_NO_FAULTS
bool have_faults() { return false; }
#else
bool have_faults() { return true; }
#endif

void set_faults(std::string_view folder, std::string_view faults) {
  plan() = Plan(folder, faults);
  calls = 0;
}

long counted_calls() { return calls; }

}  // namespace trireme::test

#ifndef TRIREME_NO_FAULTS
extern "C" {

#define TRIREME_OPEN(NAME)                         \
  int NAME(char const* path, int flags, ...) {     \
    va_list arguments;                             \
    va_start(arguments, flags);                    \
    mode_t const mode = mode_of(flags, arguments); \
    va_end(arguments);                             \
    return open_counted(#NAME, path, flags, mode); \
  }
TRIREME_OPEN(open)
TRIREME_OPEN(open64)
#undef TRIREME_OPEN

ssize_t write(int descriptor, void const* data, std::size_t bytes) {
  if (counts(descriptor)) {
    if (fails("write", Need::space)) return -1;
    bytes = allowed(bytes);
  }
  return system_call<ssize_t(int, void const*, std::size_t)>("write")(descriptor, data, bytes);
}
ssize_t pwrite(int descriptor, void const* data, std::size_t bytes, off_t offset) {
  return write_at("pwrite", descriptor, data, bytes, offset);
}
ssize_t pwrite64(int descriptor, void const* data, std::size_t bytes, off64_t offset) {
  return write_at("pwrite64", descriptor, data, bytes, offset);
}
int ftruncate(int descriptor, off_t size) noexcept { return on_descriptor("ftruncate", Need::space, descriptor, size); }
int ftruncate64(int descriptor, off64_t size) noexcept {
  return on_descriptor("ftruncate64", Need::space, descriptor, size);
}
int fsync(int descriptor) { return on_descriptor("fsync", Need::space, descriptor); }
int fchmod(int descriptor, mode_t mode) noexcept { return on_descriptor("fchmod", Need::nothing, descriptor, mode); }
/// A descriptor is closed whatever is reported.
int close(int descriptor) {
  bool const fail = counts(descriptor) && fails("close", Need::space);
  int const error = errno;
  if (descriptor >= 0 && static_cast<std::size_t>(descriptor) < is_counted.size())
    is_counted[static_cast<std::size_t>(descriptor)] = false;
  int const status = system_call<int(int)>("close")(descriptor);
  if (!fail) return status;
  errno = error;
  return -1;
}
int rename(char const* from, char const* to) noexcept { return on_path("rename", Need::space, from, to); }
int unlink(char const* path) noexcept { return on_path("unlink", Need::nothing, path); }
int mkdir(char const* path, mode_t mode) noexcept { return on_path("mkdir", Need::space, path, mode); }

}  // extern "C"

#endif
