/// PJRT plugin: a shared library that compiles and runs programs on some kind of device, behind one table of C
/// functions. It is loaded at run time; nothing is linked.
///
/// Needs the header of that table, xla/pjrt/c/pjrt_c_api.h (CMake: TRIREME_PJRT_INCLUDE_DIR). A plugin of another
/// version works too, since the table and the argument structs only grow at their ends.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <dlfcn.h>

#include <xla/pjrt/c/pjrt_c_api.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// Error of a PJRT plugin.
class PluginError : public Error {
 public:
  using Error::Error;
};

namespace pjrt {

/// An argument struct with its size, and zeros otherwise: `sized<PJRT_X_Args, PJRT_X_Args_STRUCT_SIZE>()`.
template <class Arguments, std::size_t Size>
Arguments sized() {
  Arguments arguments{};
  arguments.struct_size = Size;
  return arguments;
}

/// Option of a call by its name, whose type and value follow. `name` has to outlive the call.
inline PJRT_NamedValue named_value(std::string const& name) {
  auto value = sized<PJRT_NamedValue, PJRT_NamedValue_STRUCT_SIZE>();
  value.name = name.data();
  value.name_size = name.size();
  return value;
}

/// A PJRT plugin, loaded once for each path.
class Plugin {
 public:
  /// The plugin at this path, or of this name on the dynamic linker's path. Loads a plugin once, and never unloads it,
  /// since its threads would not survive that.
  /// \throws PluginError of one sentence
  static std::shared_ptr<Plugin const> load(std::string const& path) {
    static std::mutex mutex;
    static std::map<std::string, std::shared_ptr<Plugin const>> loaded;
    std::lock_guard const lock(mutex);
    auto& plugin = loaded[path];
    if (!plugin) plugin = std::shared_ptr<Plugin const>(new Plugin(path));
    return plugin;
  }

  /// Path of the plugin's file.
  std::string const& path() const { return path_; }
  /// "0.115": the version of the table that the plugin was built with.
  std::string version() const {
    return formatted("{}.{}", api_->pjrt_api_version.major_version, api_->pjrt_api_version.minor_version);
  }

  /// Calls a function of the table. \throws PluginError with the plugin's own message
  template <class Function, class Arguments>
  void call(Function* PJRT_Api::* function, Arguments& arguments, char const* name) const {
    require(function, name);
    check((api_->*function)(&arguments), name);
  }

  /// \throws PluginError if the plugin's table has no such function
  template <class Function>
  void require(Function* PJRT_Api::* function, char const* name) const {
    if (!has(function)) throw PluginError(formatted("{}: this plugin of PJRT {} has no {}", path_, version(), name));
  }

  /// True if the plugin's table has the function; a table older than the header may end before it.
  template <class Function>
  bool has(Function* PJRT_Api::* function) const {
    auto const offset = reinterpret_cast<char const*>(&(api_->*function)) - reinterpret_cast<char const*>(api_);
    return static_cast<std::size_t>(offset) < api_->struct_size && api_->*function != nullptr;
  }

 private:
  explicit Plugin(std::string const& path) : path_(path) {
    // The plugin logs each failed call besides returning it as an error, which is enough.
    ::setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw PluginError(formatted("the PJRT plugin {} cannot be loaded: {}", path, ::dlerror()));
    auto const get = reinterpret_cast<PJRT_Api const* (*)()>(::dlsym(library, "GetPjrtApi"));
    if (!get) throw PluginError(formatted("{} is no PJRT plugin: it has no function GetPjrtApi", path));
    api_ = get();
    if (!api_ || api_->pjrt_api_version.major_version != PJRT_API_MAJOR)
      throw PluginError(
          formatted("the PJRT plugin {} has another major version of the interface than {}", path, PJRT_API_MAJOR));
    auto arguments = sized<PJRT_Plugin_Initialize_Args, PJRT_Plugin_Initialize_Args_STRUCT_SIZE>();
    call(&PJRT_Api::PJRT_Plugin_Initialize, arguments, "PJRT_Plugin_Initialize");
  }

  void check(PJRT_Error* error, char const* name) const {
    if (!error) return;
    auto message = sized<PJRT_Error_Message_Args, PJRT_Error_Message_Args_STRUCT_SIZE>();
    message.error = error;
    api_->PJRT_Error_Message(&message);
    std::string const text = one_line({message.message, message.message_size});
    auto destroy = sized<PJRT_Error_Destroy_Args, PJRT_Error_Destroy_Args_STRUCT_SIZE>();
    destroy.error = error;
    api_->PJRT_Error_Destroy(&destroy);
    throw PluginError(formatted("{}: {}: {}", path_, name, text));
  }

  /// The beginning of a message on one line: compilers write many lines, and the first ones name the error.
  static std::string one_line(std::string_view text) {
    constexpr std::size_t longest = 600;
    std::string const line = trireme::one_line(text.substr(0, longest));
    return text.size() > longest ? line + " ..." : line;
  }

  std::string path_;
  PJRT_Api const* api_ = nullptr;
};

}  // namespace pjrt
}  // namespace trireme
