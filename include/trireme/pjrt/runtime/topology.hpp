/// Topology: devices that a plugin compiles for, and that this machine need not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/segments.hpp"
#include "trireme/pjrt/runtime/compile_options.hpp"
#include "trireme/pjrt/runtime/plugin.hpp"

namespace trireme::pjrt {

/// Option of a topology, defined by the plugin, such as `target_config`.
struct TopologyOption {
  std::string name;
  std::string value;
};

/// Memory of a compiled program on each of its devices, in bytes.
struct ProgramMemory {
  std::int64_t arguments;    ///< what it is given
  std::int64_t results;      ///< what it returns
  std::int64_t shared;       ///< results that overwrite arguments: counted in both
  std::int64_t temporaries;  ///< what it computes in between
  std::int64_t code;         ///< the program itself; 0 where the plugin does not say

  /// All of these at once.
  std::int64_t total() const { return arguments + results - shared + temporaries + code; }
};

/// Devices by their description alone. Programs can be compiled for them, not run.
class Topology {
 public:
  /// `name` and `options` are the plugin's own: "v5e:2x2" for four TPUs with libtpu; for CUDA any name, with the
  /// options `target_config` (XLA's GpuTargetConfigProto as text) and `topology` ("1x1x2": partitions, processes of
  /// each, devices of each).
  /// \throws PluginError with the plugin's message
  Topology(std::shared_ptr<Plugin const> plugin, std::string const& name,
           std::vector<TopologyOption> const& options = {})
      : plugin_(std::move(plugin)) {
    std::vector<PJRT_NamedValue> values;
    for (TopologyOption const& option : options) {
      auto value = sized<PJRT_NamedValue, PJRT_NamedValue_STRUCT_SIZE>();
      value.name = option.name.data();
      value.name_size = option.name.size();
      value.type = PJRT_NamedValue_kString;
      value.string_value = option.value.data();
      value.value_size = option.value.size();
      values.push_back(value);
    }
    auto create = sized<PJRT_TopologyDescription_Create_Args, PJRT_TopologyDescription_Create_Args_STRUCT_SIZE>();
    create.topology_name = name.data();
    create.topology_name_size = name.size();
    create.create_options = values.data();
    create.num_options = values.size();
    plugin_->call(&PJRT_Api::PJRT_TopologyDescription_Create, create, "PJRT_TopologyDescription_Create");
    topology_ = create.topology;
  }

  Topology(Topology const&) = delete;
  Topology& operator=(Topology const&) = delete;

  ~Topology() {
    auto arguments = sized<PJRT_TopologyDescription_Destroy_Args, PJRT_TopologyDescription_Destroy_Args_STRUCT_SIZE>();
    arguments.topology = topology_;
    try {
      plugin_->call(&PJRT_Api::PJRT_TopologyDescription_Destroy, arguments, "PJRT_TopologyDescription_Destroy");
    } catch (PluginError const&) {  // a leak, at worst
    }
  }

  /// Number of devices.
  std::size_t devices() const {
    auto arguments = sized<PJRT_TopologyDescription_GetDeviceDescriptions_Args,
                           PJRT_TopologyDescription_GetDeviceDescriptions_Args_STRUCT_SIZE>();
    arguments.topology = topology_;
    plugin_->call(&PJRT_Api::PJRT_TopologyDescription_GetDeviceDescriptions, arguments,
                  "PJRT_TopologyDescription_GetDeviceDescriptions");
    return arguments.num_descriptions;
  }

  /// Compiles a program for the first devices. \throws PluginError with the compiler's message, or if there are fewer
  /// devices
  ProgramMemory compile(lowering::Program const& program, std::size_t replicas) const {
    std::size_t const needed = replicas * program.shards, known = devices();
    if (needed == 0 || needed > known)
      throw PluginError(formatted("{}: {} devices are needed (replicas x shards: {} x {}), and the topology has {}",
                                  plugin_->path(), needed, replicas, program.shards, known));
    std::vector<std::int64_t> numbers(needed);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::string const options = compile_options(numbers, program.shards);
    auto code = sized<PJRT_Program, PJRT_Program_STRUCT_SIZE>();
    code.code = const_cast<char*>(program.text.data());
    code.code_size = program.text.size();
    code.format = "mlir";
    code.format_size = 4;
    auto compile = sized<PJRT_Compile_Args, PJRT_Compile_Args_STRUCT_SIZE>();
    compile.topology = topology_;
    compile.program = &code;
    compile.compile_options = options.data();
    compile.compile_options_size = options.size();
    plugin_->call(&PJRT_Api::PJRT_Compile, compile, "PJRT_Compile");
    Unloaded const executable{*plugin_, compile.executable};
    return executable.memory();
  }

 private:
  /// A compiled program that no device has.
  struct Unloaded {
    Plugin const& plugin;
    PJRT_Executable* handle;

    ~Unloaded() {
      auto arguments = sized<PJRT_Executable_Destroy_Args, PJRT_Executable_Destroy_Args_STRUCT_SIZE>();
      arguments.executable = handle;
      try {
        plugin.call(&PJRT_Api::PJRT_Executable_Destroy, arguments, "PJRT_Executable_Destroy");
      } catch (PluginError const&) {  // a leak, at worst
      }
    }

    ProgramMemory memory() const {
      auto sizes =
          sized<PJRT_Executable_GetCompiledMemoryStats_Args, PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE>();
      sizes.executable = handle;
      plugin.call(&PJRT_Api::PJRT_Executable_GetCompiledMemoryStats, sizes, "PJRT_Executable_GetCompiledMemoryStats");
      return {sizes.argument_size_in_bytes, sizes.output_size_in_bytes, sizes.alias_size_in_bytes,
              sizes.temp_size_in_bytes, sizes.generated_code_size_in_bytes};
    }
  };

  std::shared_ptr<Plugin const> plugin_;
  PJRT_TopologyDescription* topology_ = nullptr;
};

}  // namespace trireme::pjrt
