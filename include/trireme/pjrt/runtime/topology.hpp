/// Topology: devices that a plugin compiles for, and that this machine need not have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
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
  std::int64_t arguments;    ///< arrays that the caller gives
  std::int64_t results;      ///< arrays that the program returns
  std::int64_t aliased;      ///< results that overwrite arguments, counted in both
  std::int64_t temporaries;  ///< buffers in between
  std::int64_t code;         ///< the program itself; 0 where the plugin does not say

  /// Sum of these, with arrays that overwrite others counted once.
  std::int64_t total() const { return arguments + results - aliased + temporaries + code; }
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
      PJRT_NamedValue value = named_value(option.name);
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
  std::size_t devices() const { return descriptions().num_descriptions; }

  /// Compiles a program for the first devices, as many as `replicas` (at least one) times its shards.
  /// \throws PluginError with the compiler's message, or if there are fewer devices
  ProgramMemory compile(lowering::Program const& program, std::size_t replicas) const {
    plugin_->require(&PJRT_Api::PJRT_Executable_GetCompiledMemoryStats, "PJRT_Executable_GetCompiledMemoryStats");
    std::string const options =
        compile_options(first_devices(std::max<std::size_t>(1, replicas), program.shards), program.shards);
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
  PJRT_TopologyDescription_GetDeviceDescriptions_Args descriptions() const {
    auto arguments = sized<PJRT_TopologyDescription_GetDeviceDescriptions_Args,
                           PJRT_TopologyDescription_GetDeviceDescriptions_Args_STRUCT_SIZE>();
    arguments.topology = topology_;
    plugin_->call(&PJRT_Api::PJRT_TopologyDescription_GetDeviceDescriptions, arguments,
                  "PJRT_TopologyDescription_GetDeviceDescriptions");
    return arguments;
  }

  /// Numbers of the devices that run the replicas.
  std::vector<std::int64_t> first_devices(std::size_t replicas, std::size_t shards) const {
    auto const known = descriptions();
    if (replicas * shards > known.num_descriptions)
      throw PluginError(formatted("{}: {} devices are needed (replicas x shards: {} x {}), and the topology has {}",
                                  plugin_->path(), replicas * shards, replicas, shards, known.num_descriptions));
    std::vector<std::int64_t> numbers;
    for (std::size_t device = 0; device < replicas * shards; ++device) {
      auto id = sized<PJRT_DeviceDescription_Id_Args, PJRT_DeviceDescription_Id_Args_STRUCT_SIZE>();
      id.device_description = known.descriptions[device];
      plugin_->call(&PJRT_Api::PJRT_DeviceDescription_Id, id, "PJRT_DeviceDescription_Id");
      numbers.push_back(id.id);
    }
    return numbers;
  }

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
