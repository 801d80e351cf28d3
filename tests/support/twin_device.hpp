/// TwinDevice: a Kokkos device in software, for tests of device code on machines without one.
///
/// Kernels and copies are enqueued per instance, and run on another thread at the next fence or blocking copy. So a
/// result that is read without a fence is the old one. Functors are copied byte by byte. Pages of TwinMemory are
/// protected except while kernels of their own device and copies run, as without peer access: memory of an instance is
/// what was allocated on it. The host's pages that a functor points to are protected while its kernel runs, if one
/// thread alone uses the devices. A wrong access ends the process with exit code `twin_exit` and one sentence. Indices
/// and teams run in an order unlike a host's; teams have several threads (twin_fibres.hpp); reductions join partial
/// values. Memory of the host has to stay as it is until the copies from or to it are done.
///
/// A recording keeps the kernels and copies that its instance is given, byte by byte, for `replay`, and runs none.
/// Allocations, waits and copies from or to the host throw meanwhile, and break the recording, as they do where CUDA
/// captures a stream; those of other threads, too, of which CUDA allows allocations and waits for other instances.
///
/// Include it in one source of a program, before headers with kernels: Kokkos' calls are looked up where they stand.
/// It sees heap memory that glibc takes from brk, which it makes the only one.
#pragma once

#ifndef KOKKOS_IMPL_PUBLIC_INCLUDE
#define KOKKOS_IMPL_PUBLIC_INCLUDE
#endif

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>
#include <impl/Kokkos_ExecSpaceManager.hpp>

#include "support/twin_fibres.hpp"
#include "trireme/mpi/fault/watchdog.hpp"

/// The end of the heap, which glibc keeps. `sbrk(0)` is no mere question where UCX has hooked it: it sets the end that
/// it has read, and another thread's malloc may have moved it since.
extern "C" void* __curbrk;

namespace trireme::test {

constexpr int twin_exit = 66;
constexpr std::size_t twin_devices = 8;
constexpr int twin_team_size = 1024, twin_auto_team = 64, twin_auto_vector = 4;
constexpr std::size_t twin_scratch = 48 << 10;  ///< bytes of a team, level 0
constexpr std::size_t twin_slow_scratch = 16 << 20;

namespace twin {

inline constexpr std::size_t device_memory = std::size_t{2} << 30, memory_size = twin_devices * device_memory;

/// A kernel or a copy in the queue. Its bytes follow it in the arena.
struct Job {
  void (*run)(void* bytes);
  void* bytes;
  std::size_t size;
  char label[96];
  std::array<std::uintptr_t, 16> host_pages;  ///< that words of the functor point to
  std::size_t host_page_count;
  std::uintptr_t host;  ///< memory of the host that a copy reads or writes
  std::size_t host_size;
};

/// Memory of launches, apart from the heap, so that protected pages hold none of it.
struct Queue {
  static constexpr std::size_t arena_size = 64 << 20;
  static constexpr std::size_t most_jobs = 8192;
  std::byte* arena;
  std::size_t used;
  Job* jobs;
  std::size_t count;
  std::size_t host_copies;
};

struct Allocation {
  std::size_t size;
  std::string label;
};

/// A kernel or a copy of a recording.
struct RecordedJob {
  void (*run)(void* bytes);
  std::vector<std::byte> bytes;
  std::string label;
  bool is_kernel;
};
struct Recording {
  std::size_t device;
  std::vector<RecordedJob> jobs;
  bool broken = false;  ///< by a call that is not allowed meanwhile
};

/// Calls of the host that give the devices work.
struct HostCalls {
  std::size_t kernels = 0, copies = 0, replays = 0;
};

/// Pages of the host that were ever protected. It takes no page whose place is taken.
class PageSet {
 public:
  bool insert(std::uintptr_t address) {
    auto& entry = entry_of(address);
    if (entry == 0) entry = address / page;
    return entry == address / page;
  }
  bool contains(std::uintptr_t address) { return entry_of(address) == address / page; }

 private:
  std::atomic<std::uintptr_t>& entry_of(std::uintptr_t address) { return pages_[address / page % pages_.size()]; }
  std::array<std::atomic<std::uintptr_t>, 1 << 14> pages_{};
};

struct State {
  std::recursive_mutex mutex;
  std::map<std::uintptr_t, Allocation> allocations;
  std::array<std::multimap<std::size_t, std::uintptr_t>, twin_devices> freed;  ///< by size
  std::byte* memory = nullptr;                                                 ///< of the devices, one after the other
  std::array<std::size_t, twin_devices> used{};
  std::array<Queue, twin_devices> queues{};
  std::size_t device = 0;                    ///< whose queue runs
  std::atomic<std::size_t> host_copies = 0;  ///< that wait
  std::binary_semaphore start{0}, done{0};
  Queue* running = nullptr;
  bool stop = false;
  std::thread thread;
  Job const* volatile current = nullptr;
  std::uintptr_t heap = 0;
  PageSet protected_pages;
  std::atomic<int> threads = 0;          ///< that use the devices, with the one that runs the queues
  bool host_access = false;              ///< true if the host may touch memory of the devices
  std::unique_ptr<Recording> recording;  ///< under way, or null
  HostCalls calls;
};

/// Never destroyed: views may be freed while statics are.
inline State& state() {
  alignas(State) static std::byte memory[sizeof(State)];
  static State* const made = new (memory) State;
  return *made;
}

inline thread_local bool in_kernel = false;
inline thread_local char kernel_label[96];

[[noreturn]] inline void end(char const* sentence) {
  static_cast<void>(!write(STDERR_FILENO, sentence, std::strlen(sentence)));
  _exit(twin_exit);
}

[[noreturn]] inline void end_kernel(char const* sentence) {
  char text[400];
  Job const* const job = state().current;
  std::snprintf(text, sizeof text, "twin: kernel \"%s\" %s\n", job ? job->label : "", sentence);
  end(text);
}

/// Of the device's thread, and not on the heap, whose pages may be protected.
inline Fibres& fibres() {
  static Fibres all(end_kernel);
  return all;
}
inline GuardedMemory& scratch_memory(std::size_t level) {
  static std::array<GuardedMemory, 2> memories{GuardedMemory(twin_scratch), GuardedMemory(twin_slow_scratch)};
  return memories[level];
}

inline std::size_t device_of(std::uintptr_t address) {
  return (address - reinterpret_cast<std::uintptr_t>(state().memory)) / device_memory;
}

inline void on_fault(int signal, siginfo_t* info, void* context) {
  State& s = state();
  auto const address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  char const* verb = "touches";
#ifdef __x86_64__
  verb = (static_cast<ucontext_t const*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? "writes" : "reads";
#else
  static_cast<void>(context);
#endif
  char sentence[400];
  Job const* const job = s.current;
  if (in_kernel && job)
    for (std::size_t i = 0; i < job->host_page_count; ++i)
      if (job->host_pages[i] == address / page * page) {
        std::snprintf(sentence, sizeof sentence, "twin: kernel \"%s\" %s memory of the host at 0x%" PRIxPTR "\n",
                      job->label, verb, address);
        end(sentence);
      }
  if (!in_kernel && s.protected_pages.contains(address)) {  // a thread of the host, on the page that a kernel points to
    mprotect(reinterpret_cast<void*>(address / page * page), page, PROT_READ | PROT_WRITE);
    return;
  }
  auto found = s.allocations.upper_bound(address);
  if (found != s.allocations.begin() && address < (--found)->first + found->second.size) {
    if (in_kernel)
      std::snprintf(sentence, sizeof sentence, "twin: kernel \"%s\" of device %zu %s memory of device %zu: \"%s\"\n",
                    job ? job->label : "", s.device, verb, device_of(address), found->second.label.c_str());
    else
      std::snprintf(sentence, sizeof sentence, "twin: host code %s memory of the device: \"%s\"\n", verb,
                    found->second.label.c_str());
    end(sentence);
  }
  if (in_kernel) {
    if (scratch_memory(0).guards(address) || scratch_memory(1).guards(address))
      end_kernel("goes beyond its scratch memory");
    if (fibres().guards(address)) end_kernel("has more local memory than 60 KB a thread");
    if (address < page) end_kernel("uses a null pointer, which scratch memory is if it is used up");
  }
  auto const memory = reinterpret_cast<std::uintptr_t>(s.memory);
  if (memory <= address && address < memory + memory_size) end("twin: freed memory of the device is used\n");
  ::signal(signal, SIG_DFL);
}

/// A stack of its own for the handler, since the thread's may be protected, and so may the heap.
struct SignalStack {
  static constexpr std::size_t size = 64 << 10;
  std::byte* memory = map_memory(size);
  SignalStack() {
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = size;
    sigaltstack(&stack, nullptr);
    ++state().threads;
  }
  ~SignalStack() {
    --state().threads;
    stack_t stack{};
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
    munmap(memory, size);
  }
};

inline void use_signal_stack() { static thread_local SignalStack const stack; }

inline void set_open(std::size_t device, bool open) {
  State& s = state();
  if (s.used[device] > 0 && (open || !s.host_access))
    mprotect(s.memory + device * device_memory, s.used[device], open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

inline void run_queues() {
  use_signal_stack();
  in_kernel = true;
  Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_disable();  // kernels count no references
  State& s = state();
  for (;;) {
    s.start.acquire();
    if (s.stop) return;
    for (std::size_t j = 0; j < s.running->count; ++j) {
      Job const& job = s.running->jobs[j];
      s.current = &job;
      // Not while several threads use the devices: system calls of the others would fail on such a page.
      std::size_t const pages = s.threads <= 2 ? job.host_page_count : 0;
      for (std::size_t i = 0; i < pages; ++i) mprotect(reinterpret_cast<void*>(job.host_pages[i]), page, PROT_NONE);
      job.run(job.bytes);
      for (std::size_t i = 0; i < pages; ++i)
        mprotect(reinterpret_cast<void*>(job.host_pages[i]), page, PROT_READ | PROT_WRITE);
      s.current = nullptr;
    }
    s.done.release();
  }
}

/// Kernels' names come by way of Kokkos' tools, which forget callbacks that are set before Kokkos runs.
inline void use_labels() {
  static bool done = false;
  if (done || !Kokkos::is_initialized()) return;
  done = true;
  auto const keep = [](char const* name, std::uint32_t, std::uint64_t*) {
    std::snprintf(kernel_label, sizeof kernel_label, "%s", name);
  };
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(keep);
  Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(keep);
}

inline void start() {
  State& s = state();
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  if (std::FILE* const maps = std::fopen("/proc/self/maps", "r")) {
    char line[512];
    while (std::fgets(line, sizeof line, maps))
      if (std::strstr(line, "[heap]")) std::sscanf(line, "%" SCNxPTR, &s.heap);
    std::fclose(maps);
  }
  int const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  s.memory = static_cast<std::byte*>(mmap(nullptr, memory_size, PROT_NONE, flags, -1, 0));
  for (Queue& queue : s.queues) {
    queue.arena = static_cast<std::byte*>(mmap(nullptr, Queue::arena_size, PROT_READ | PROT_WRITE, flags, -1, 0));
    queue.jobs = static_cast<Job*>(mmap(nullptr, Queue::most_jobs * sizeof(Job), PROT_READ | PROT_WRITE, flags, -1, 0));
  }
  s.thread = std::thread(run_queues);
}

/// Throws while a recording is under way, whichever thread calls, and breaks it: what it has is not run.
inline void require_no_recording(char const* what) {
  auto const& recording = state().recording;
  if (!recording) return;
  recording->broken = true;
  throw std::runtime_error(std::string("twin: ") + what + " while a device records");
}
inline void require_whole(Recording const& recording) {
  if (recording.broken) throw std::runtime_error("twin: a call that is not allowed meanwhile has broken the recording");
}

inline void drain(std::size_t device) {
  State& s = state();
  std::scoped_lock const lock(s.mutex);
  require_no_recording("a wait");
  Queue& queue = s.queues[device];
  if (queue.count == 0) return;
  use_signal_stack();
  set_open(device, true);
  s.device = device;
  s.running = &queue;
  s.start.release();
  s.done.acquire();
  set_open(device, false);
  s.host_copies -= queue.host_copies;
  queue.used = queue.count = queue.host_copies = 0;
}

inline void drain_all() {
  for (std::size_t device = 0; device < twin_devices; ++device) drain(device);
}

/// Lets the host touch memory of the devices, as an MPI that is GPU-aware does; or protects it again.
inline void set_host_access(bool access) {
  State& s = state();
  std::scoped_lock const lock(s.mutex);
  drain_all();
  s.host_access = access;
  for (std::size_t device = 0; device < twin_devices; ++device) set_open(device, access);
}

inline void stop() {
  State& s = state();
  drain_all();
  s.stop = true;
  s.start.release();
  s.thread.join();
}

struct Range {
  std::uintptr_t first, last;
};

/// Asked for once a thread: glibc reads a file for it.
inline Range stack_of_thread() {
  static thread_local Range const stack = [] {
    pthread_attr_t attributes;
    void* low = nullptr;
    std::size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    auto const first = reinterpret_cast<std::uintptr_t>(low);
    return Range{first, first + size};
  }();
  return stack;
}

/// True if the heap at `address` holds the record of a view of the device, which copies of the view in kernels do not
/// read.
inline bool is_record(std::uintptr_t address, std::uintptr_t heap_end) {
  std::array<std::uintptr_t, 3> words;
  address = address / alignof(std::uintptr_t) * alignof(std::uintptr_t);
  if (address + sizeof words > heap_end) return false;
  std::memcpy(&words, reinterpret_cast<void const*>(address), sizeof words);
  auto const& allocations = state().allocations;
  return std::any_of(words.begin(), words.end(), [&](std::uintptr_t word) { return allocations.contains(word); });
}

/// True if the library's watchdog, a thread that uses no device, may need the page in a system call.
inline bool is_of_watchdog(std::uintptr_t address) {
  auto const* const registry = trireme::detail::RankRegistry::current();
  if (registry == nullptr) return false;
  auto const first = reinterpret_cast<std::uintptr_t>(registry);
  std::uintptr_t const last = first + sizeof(trireme::detail::RankRegistry) + sizeof(trireme::detail::Watchdog);
  auto const others = reinterpret_cast<std::uintptr_t>(registry->others().data());
  return (first / page <= address / page && address / page <= last / page) || address / page == others / page;
}

/// Pages of the host's heap and of this thread's stack that a functor's words point to.
inline void find_host_pages(Job& job) {
  State& s = state();
  auto const [stack, stack_end] = stack_of_thread();
  auto const heap_end = reinterpret_cast<std::uintptr_t>(__curbrk);
  for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= job.size; at += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<std::byte const*>(job.bytes) + at, sizeof word);
    bool const on_heap = s.heap != 0 && s.heap <= word && word < heap_end;
    if (!on_heap && (word < stack || word >= stack_end)) continue;
    auto const end = job.host_pages.begin() + static_cast<std::ptrdiff_t>(job.host_page_count);
    if (job.host_page_count == job.host_pages.size() || is_of_watchdog(word) ||
        (on_heap && is_record(word, heap_end)) || std::find(job.host_pages.begin(), end, word / page * page) != end ||
        !s.protected_pages.insert(word))
      continue;
    job.host_pages[job.host_page_count++] = word / page * page;
  }
}

/// Copies `size` bytes into the queue, and returns where they lie.
inline std::byte* enqueue(std::size_t device, char const* label, void (*run)(void*), void const* bytes,
                          std::size_t size, bool is_kernel) {
  State& s = state();
  std::scoped_lock const lock(s.mutex);
  if (s.recording) {
    auto const* const first = static_cast<std::byte const*>(bytes);
    if (s.recording->device == device) {
      require_whole(*s.recording);
      s.recording->jobs.push_back({run, {first, first + size}, label, is_kernel});
      return s.recording->jobs.back().bytes.data();
    }
  }
  use_signal_stack();
  Queue& queue = s.queues[device];
  std::size_t const room = (size + 127) / 64 * 64;
  if (queue.count == Queue::most_jobs || queue.used + room > Queue::arena_size) drain(device);
  Job& job = queue.jobs[queue.count];
  job = Job{run, queue.arena + queue.used, size, {}, {}, 0, 0, 0};
  std::snprintf(job.label, sizeof job.label, "%s", label);
  std::memcpy(job.bytes, bytes, size);
  queue.used += room;
  if (is_kernel) find_host_pages(job);
  ++queue.count;
  return static_cast<std::byte*>(job.bytes);
}

/// A kernel without its functor's constructors and destructors, as devices take it.
template <class Kernel>
std::byte* launch(std::size_t device, Kernel const& kernel) {
  static_assert(alignof(Kernel) <= 64);
  ++state().calls.kernels;
  return enqueue(
      device, kernel_label, [](void* bytes) { static_cast<Kernel*>(bytes)->run(); },
      static_cast<void const*>(std::addressof(kernel)), sizeof(Kernel), true);
}

/// Odd indices downwards, then even ones upwards: an index that reads what another one writes reads too early or too
/// late.
template <class Index, class F>
void in_any_order(Index first, Index last, F const& f) {
  if (last <= first) return;
  Index const odd = static_cast<Index>((last - first) / 2);
  for (Index k = odd; k > 0; --k) f(static_cast<Index>(first + 2 * k - 1));
  for (Index i = first; i < last; i = static_cast<Index>(i + 2)) {
    f(i);
    if (last - i <= 1) break;
  }
}

inline bool is_on_device(void const* memory) {
  auto const first = reinterpret_cast<std::uintptr_t>(state().memory);
  auto const address = reinterpret_cast<std::uintptr_t>(memory);
  return first <= address && address < first + memory_size;
}

struct Copy {
  void* to;
  void const* from;
  std::size_t size;
  std::size_t hash;  ///< of what lay on the host when the copy was enqueued, or 0

  static std::size_t hash_of(void const* from, std::size_t size) {
    return std::hash<std::string_view>()({static_cast<char const*>(from), size});
  }
  void run() const {
    if (hash != 0 && hash_of(from, size) != hash)
      end("twin: memory of the host was changed before the copy to the device had read it\n");
    // A copy reaches all devices, peers or not.
    std::size_t const own = state().device;
    auto const open_peers = [&](bool open) {
      for (void const* const memory : {static_cast<void const*>(to), from})
        if (is_on_device(memory))
          if (std::size_t const device = device_of(reinterpret_cast<std::uintptr_t>(memory)); device != own)
            set_open(device, open);
    };
    open_peers(true);
    std::memmove(to, from, size);
    open_peers(false);
  }
};

inline void enqueue_copy(std::size_t device, Copy const& copy) {
  enqueue(device, "copy", [](void* bytes) { static_cast<Copy const*>(bytes)->run(); }, &copy, sizeof copy, false);
}

/// True for the record in front of new memory, which Kokkos copies from its stack and does not wait for: CUDA and HIP
/// have read so little of it when the call returns.
inline bool is_header(void const* to, std::size_t size) {
  return size == sizeof(Kokkos::Impl::SharedAllocationHeader) &&
         state().allocations.contains(reinterpret_cast<std::uintptr_t>(to));
}
inline void copy_header(void* to, void const* from, std::size_t size) {
  std::size_t const device = device_of(reinterpret_cast<std::uintptr_t>(to));
  set_open(device, true);
  std::memcpy(to, from, size);
  set_open(device, false);
}

inline void copy(std::size_t device, void* to, void const* from, std::size_t size) {
  State& s = state();
  std::scoped_lock const lock(s.mutex);
  if (is_header(to, size)) return copy_header(to, from, size);
  ++s.calls.copies;
  bool const reads_host = !is_on_device(from), writes_host = !is_on_device(to);
  if (s.recording && s.recording->device == device && (reads_host || writes_host))
    require_no_recording("a copy from or to the host");
  enqueue_copy(device, {to, from, size, reads_host ? Copy::hash_of(from, size) : 0});
  if (!reads_host && !writes_host) return;
  Job& job = s.queues[device].jobs[s.queues[device].count - 1];
  job.host = reinterpret_cast<std::uintptr_t>(reads_host ? from : to);
  job.host_size = size;
  ++s.queues[device].host_copies;
  ++s.host_copies;
}

/// Memory on the heap is given back.
inline void check_free(void* memory) {
  if (!memory || in_kernel) return;
  State& s = state();
  if (s.host_copies == 0) return;
  std::scoped_lock const lock(s.mutex);
  auto const first = reinterpret_cast<std::uintptr_t>(memory), last = first + malloc_usable_size(memory);
  for (Queue const& queue : s.queues)
    for (std::size_t i = 0; i < queue.count; ++i) {
      Job const& job = queue.jobs[i];
      if (job.host_size > 0 && job.host < last && first < job.host + job.host_size)
        end("twin: memory of the host was freed before the copy from or to it was done\n");
    }
}

inline void copy_now(void* to, void const* from, std::size_t size) {
  std::scoped_lock const lock(state().mutex);
  require_no_recording("a copy that is waited for");
  drain_all();
  enqueue_copy(0, {to, from, size, 0});
  drain(0);
}

/// Keeps what the device is given from now on, instead of running it.
inline void begin_recording(std::size_t device) {
  std::scoped_lock const lock(state().mutex);
  require_no_recording("a recording");
  state().recording = std::make_unique<Recording>(Recording{device, {}, false});
}
inline std::unique_ptr<Recording> end_recording() {
  std::scoped_lock const lock(state().mutex);
  return std::move(state().recording);
}
/// Enqueues what was recorded, with the bytes that it had then.
inline void replay(Recording const& recording) {
  std::scoped_lock const lock(state().mutex);
  ++state().calls.replays;
  for (RecordedJob const& job : recording.jobs)
    enqueue(recording.device, job.label.c_str(), job.run, job.bytes.data(), job.bytes.size(), job.is_kernel);
}

inline bool const heap_is_from_brk = [] {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_ARENA_MAX, 1);
  return true;
}();

}  // namespace twin

}  // namespace trireme::test

// What glibc's C++ library does, and a look at copies that wait.
void operator delete(void* memory) noexcept {
  trireme::test::twin::check_free(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { operator delete(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { operator delete(memory); }

namespace trireme::test {

class TwinDevice;

/// Memory that kernels of TwinDevice alone can touch.
class TwinMemory {
 public:
  using memory_space = TwinMemory;
  using execution_space = TwinDevice;
  using device_type = Kokkos::Device<TwinDevice, TwinMemory>;
  using size_type = std::size_t;

  static constexpr char const* name() { return "TwinMemory"; }

  void* allocate(std::size_t size) const { return allocate("", size); }
  /// Memory of the default instance's device, as for CUDA and HIP.
  void* allocate(char const* label, std::size_t size, std::size_t = 0) const { return allocate_on(0, label, size); }
  void* allocate_on(std::size_t device, char const* label, std::size_t size) const {
    twin::State& s = twin::state();
    std::scoped_lock const lock(s.mutex);
    twin::require_no_recording("an allocation");
    size = std::max<std::size_t>(1, (size + twin::page - 1) / twin::page) * twin::page;
    auto& all_freed = s.freed[device];
    auto const freed = all_freed.lower_bound(size);
    void* memory = nullptr;
    if (freed != all_freed.end() && freed->first <= 2 * size) {
      size = freed->first;
      memory = reinterpret_cast<void*>(freed->second);
      all_freed.erase(freed);
    } else {
      std::size_t& used = s.used[device];
      if (used + size > twin::device_memory) twin::end("twin: no memory is left\n");
      memory = s.memory + device * twin::device_memory + used;
      used += size;
    }
    s.allocations.emplace(reinterpret_cast<std::uintptr_t>(memory), twin::Allocation{size, label});
    // No numbers, instead of the zeros of fresh pages.
    mprotect(memory, size, PROT_READ | PROT_WRITE);
    std::memset(memory, 0xff, size);
    if (!s.host_access) mprotect(memory, size, PROT_NONE);
    return memory;
  }
  template <class Space>
    requires Kokkos::is_execution_space_v<Space>
  void* allocate(Space const& space, std::size_t size) const {
    return allocate(space, "", size);
  }
  template <class Space>
    requires Kokkos::is_execution_space_v<Space>
  void* allocate(Space const& space, char const* label, std::size_t size, std::size_t = 0) const {
    if constexpr (std::is_same_v<Space, TwinDevice>)
      return allocate_on(space.device(), label, size);
    else
      return allocate(label, size);
  }
  void deallocate(void* memory, std::size_t size) const { deallocate("", memory, size); }
  void deallocate(char const*, void* memory, std::size_t, std::size_t = 0) const {
    twin::State& s = twin::state();
    std::scoped_lock const lock(s.mutex);
    twin::drain_all();
    auto const found = s.allocations.find(reinterpret_cast<std::uintptr_t>(memory));
    s.freed[twin::device_of(found->first)].emplace(found->second.size, found->first);
    s.allocations.erase(found);
  }
};

/// An instance is a device, with a queue of its own.
class TwinDevice {
 public:
  using execution_space = TwinDevice;
  using memory_space = TwinMemory;
  using device_type = Kokkos::Device<TwinDevice, TwinMemory>;
  using size_type = std::size_t;
  using array_layout = Kokkos::LayoutRight;
  using scratch_memory_space = Kokkos::ScratchMemorySpace<TwinDevice>;

  TwinDevice() : TwinDevice(0) {}
  explicit TwinDevice(std::size_t device) : device_(device) {
    twin::use_labels();
    if (device >= twin_devices) Kokkos::abort("twin: there are 8 devices");
  }

  static constexpr char const* name() { return "TwinDevice"; }
  std::size_t device() const { return device_; }
  int concurrency() const { return 2048; }
  void fence(std::string const& label = "TwinDevice::fence") const {
    std::uint64_t handle = 0;  // tools count fences
    Kokkos::Tools::beginFence(label, impl_instance_id(), &handle);
    twin::drain(device_);
    Kokkos::Tools::endFence(handle);
  }
  void print_configuration(std::ostream&, bool = false) const {}
  std::uint32_t impl_instance_id() const noexcept { return static_cast<std::uint32_t>(device_) + 1; }
  /// Kokkos fences before the callback that keeps a kernel's name, which a program without tools does not.
  static void impl_static_fence(std::string const& label) {
    if (label.find("Profile Tool Fence") == std::string::npos) twin::drain_all();
  }
  static bool impl_is_initialized() { return Kokkos::is_initialized(); }
  static void impl_initialize(Kokkos::InitializationSettings const&) { twin::start(); }
  static void impl_finalize() { twin::stop(); }
  friend bool operator==(TwinDevice const& a, TwinDevice const& b) { return a.device_ == b.device_; }
  friend bool operator!=(TwinDevice const& a, TwinDevice const& b) { return !(a == b); }

 private:
  std::size_t device_ = 0;
};

}  // namespace trireme::test

namespace Kokkos {

namespace Tools::Experimental {
template <>
struct DeviceTypeTraits<trireme::test::TwinDevice> {
  static constexpr DeviceType id = DeviceType::Unknown;
  static int device_id(trireme::test::TwinDevice const& space) { return static_cast<int>(space.device()); }
};
}  // namespace Tools::Experimental

namespace Impl {

template <>
struct MemorySpaceAccess<HostSpace, trireme::test::TwinMemory> {
  enum : bool { assignable = false, accessible = false, deepcopy = true };
};
template <>
struct MemorySpaceAccess<trireme::test::TwinMemory, HostSpace> {
  enum : bool { assignable = false, accessible = false, deepcopy = true };
};

/// Copies without a space are blocking; copies on a space wait in its queue.
struct TwinCopy {
  TwinCopy(void* to, void const* from, std::size_t size) { trireme::test::twin::copy_now(to, from, size); }
  template <class Space>
  TwinCopy(Space const& space, void* to, void const* from, std::size_t size) {
    if constexpr (std::is_same_v<Space, trireme::test::TwinDevice>) {
      trireme::test::twin::copy(space.device(), to, from, size);
    } else {
      space.fence();
      trireme::test::twin::copy_now(to, from, size);
    }
  }
};
template <class Space>
struct DeepCopy<trireme::test::TwinMemory, HostSpace, Space> : TwinCopy {
  using TwinCopy::TwinCopy;
};
template <class Space>
struct DeepCopy<HostSpace, trireme::test::TwinMemory, Space> : TwinCopy {
  using TwinCopy::TwinCopy;
};
template <class Space>
struct DeepCopy<trireme::test::TwinMemory, trireme::test::TwinMemory, Space> : TwinCopy {
  using TwinCopy::TwinCopy;
};

template <class F, class... Traits>
class ParallelFor<F, RangePolicy<Traits...>, trireme::test::TwinDevice> {
  using Policy = RangePolicy<Traits...>;
  using Tag = typename Policy::work_tag;

  struct Kernel {
    F f;
    typename Policy::index_type first, last;
    void run() const {
      trireme::test::twin::in_any_order(first, last, [&](typename Policy::index_type i) {
        if constexpr (std::is_void_v<Tag>)
          f(i);
        else
          f(Tag{}, i);
      });
    }
  };
  Kernel kernel_;
  std::size_t device_;

 public:
  ParallelFor(F const& f, Policy const& policy)
      : kernel_{f, policy.begin(), policy.end()}, device_(policy.space().device()) {}
  void execute() const { trireme::test::twin::launch(device_, kernel_); }
};

/// Partial values of a reduction, in memory that is taken anew for each: apart from the heap, as queues are.
template <class Reducer>
class TwinPartialValues {
 public:
  using Pointer = typename Reducer::pointer_type;

  TwinPartialValues(Reducer const& reducer, std::size_t count)
      : reducer_(reducer),
        stride_((reducer.value_size() + 15) / 16 * 16),
        size_(count * stride_),
        memory_(trireme::test::twin::map_memory(size_)) {
    for (std::size_t i = 0; i < count; ++i) reducer.init(at(i));
  }
  TwinPartialValues(TwinPartialValues const&) = delete;
  ~TwinPartialValues() { munmap(memory_, size_); }

  typename Reducer::reference_type reference(std::size_t i) const { return Reducer::reference(at(i)); }
  void join_into(Pointer total, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) reducer_.join(total, at(i));
  }

 private:
  Pointer at(std::size_t i) const { return reinterpret_cast<Pointer>(memory_ + i * stride_); }
  Reducer const& reducer_;
  std::size_t stride_, size_;
  std::byte* memory_;
};

/// Memory for the result of a reduction: the device's, or the launch's for the host to read.
template <class Reducer>
struct TwinResult {
  using Pointer = typename Reducer::pointer_type;
  Pointer on_device = nullptr;
  alignas(16) std::byte value[256] = {};

  /// The host's address of the result, or null.
  template <class Result>
  Pointer set(Result const& result) {
    if constexpr (!std::is_same_v<typename Result::memory_space, trireme::test::TwinMemory>) return result.data();
    on_device = result.data();
    return nullptr;
  }
  Pointer begin(Reducer const& reducer) {
    Pointer const total = on_device ? on_device : reinterpret_cast<Pointer>(value);
    reducer.init(total);
    return total;
  }
};

template <class Kernel, class Pointer>
void twin_reduce(std::size_t device, Kernel const& kernel, Pointer host_result) {
  std::size_t const size = kernel.f.get_reducer().value_size();
  if (host_result && size > sizeof kernel.result.value) Kokkos::abort("twin: a result on the host of over 256 bytes");
  std::scoped_lock const lock(trireme::test::twin::state().mutex);
  std::byte* const launched = trireme::test::twin::launch(device, kernel);
  if (!host_result) return;
  trireme::test::twin::drain(device);
  std::memcpy(static_cast<void*>(host_result), reinterpret_cast<Kernel*>(launched)->result.value, size);
}

/// The number of partial values is a matter of the device, not of the result.
template <class Combined, class... Traits>
class ParallelReduce<Combined, RangePolicy<Traits...>, trireme::test::TwinDevice> {
  using Policy = RangePolicy<Traits...>;
  using Index = typename Policy::index_type;
  using Tag = typename Policy::work_tag;
  using Reducer = typename Combined::reducer_type;
  using Pointer = typename Reducer::pointer_type;
  static constexpr std::size_t partial_values = 32;

  struct Kernel {
    Combined f;
    Index first, last;
    TwinResult<Reducer> result;
    void run() {
      Reducer const& reducer = f.get_reducer();
      Pointer const total = result.begin(reducer);
      TwinPartialValues<Reducer> values(reducer, partial_values);
      trireme::test::twin::in_any_order(first, last, [&](Index i) {
        typename Reducer::reference_type update =
            values.reference(static_cast<std::size_t>(i - first) % partial_values);
        if constexpr (std::is_void_v<Tag>)
          f.get_functor()(i, update);
        else
          f.get_functor()(Tag{}, i, update);
      });
      values.join_into(total, partial_values);
      reducer.final(total);
    }
  };
  Kernel kernel_;
  Pointer host_result_ = nullptr;
  std::size_t device_;

 public:
  template <class Result>
  ParallelReduce(Combined const& f, Policy const& policy, Result const& result)
      : kernel_{f, policy.begin(), policy.end(), {}}, device_(policy.space().device()) {
    host_result_ = kernel_.result.set(result);
  }
  void execute() const { twin_reduce(device_, kernel_, host_result_); }
};

// Kernels run as host code here, so that Kokkos' check asks which thread runs.
inline void check_twin(char const* label) {
  if (trireme::test::twin::in_kernel) return;
  char sentence[300];
  std::snprintf(sentence, sizeof sentence, "twin: host code uses a view of the device: \"%s\"\n", label);
  trireme::test::twin::end(sentence);
}
template <>
inline void runtime_check_memory_access_violation<trireme::test::TwinMemory>(SharedAllocationTracker const& tracker) {
  if (!trireme::test::twin::in_kernel)
    check_twin(tracker.has_record() ? tracker.get_label<void>().c_str() : "unmanaged");
}
template <>
inline void runtime_check_memory_access_violation<trireme::test::TwinMemory>(char const* const label) {
  check_twin(label);
}
template <>
inline void runtime_check_memory_access_violation<trireme::test::TwinMemory>() {
  check_twin("");
}
template <>
inline void runtime_check_memory_access_violation<trireme::test::TwinDevice::scratch_memory_space>(
    SharedAllocationTracker const&) {
  if (!trireme::test::twin::in_kernel) check_twin("scratch");
}
template <>
inline void runtime_check_memory_access_violation<trireme::test::TwinDevice::scratch_memory_space>(
    char const* const label) {
  check_twin(label);
}
template <>
inline void runtime_check_memory_access_violation<trireme::test::TwinDevice::scratch_memory_space>() {
  check_twin("scratch");
}

inline int const twin_registered = initialize_space_factory<trireme::test::TwinDevice>("170_Twin");

}  // namespace Impl
}  // namespace Kokkos

KOKKOS_IMPL_HOST_INACCESSIBLE_SHARED_ALLOCATION_SPECIALIZATION(trireme::test::TwinMemory);
#include <impl/Kokkos_SharedAlloc_timpl.hpp>
KOKKOS_IMPL_HOST_INACCESSIBLE_SHARED_ALLOCATION_RECORD_EXPLICIT_INSTANTIATION(trireme::test::TwinMemory);

#include "support/twin_team.hpp"

// StepNumber has a branch for kernels, which read another memory than the host does. Those of the device in software
// are host code, so that the branch is chosen at run time. Formulas, whose branches are the same but for rounding, stay
// the host's.
#include "trireme/core/streams.hpp"
#pragma push_macro("KOKKOS_IF_ON_HOST")
#pragma push_macro("KOKKOS_IF_ON_DEVICE")
#undef KOKKOS_IF_ON_HOST
#undef KOKKOS_IF_ON_DEVICE
#define KOKKOS_IF_ON_HOST(CODE)            \
  if (!::trireme::test::twin::in_kernel) { \
    KOKKOS_IMPL_STRIP_PARENS(CODE)         \
  }
#define KOKKOS_IF_ON_DEVICE(CODE) {KOKKOS_IMPL_STRIP_PARENS(CODE)}
#include "trireme/layers/step_number.hpp"
#pragma pop_macro("KOKKOS_IF_ON_DEVICE")
#pragma pop_macro("KOKKOS_IF_ON_HOST")
