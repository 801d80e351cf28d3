/// Executable: a compiled program and its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/tensor_type.hpp"
#include "trireme/pjrt/runtime/buffer.hpp"
#include "trireme/pjrt/runtime/client.hpp"
#include "trireme/pjrt/runtime/compile_options.hpp"
#include "trireme/pjrt/runtime/program_cache.hpp"

namespace trireme::pjrt {

/// Compiled program on the first devices of the client, with a replica on each, or on as many in a row as the program
/// divides tensors over. To call it, set every argument of every device, run, and take the results.
class Executable {
 public:
  /// Compiles the program, or loads it from the cache. \throws PluginError with the compiler's message
  Executable(std::shared_ptr<Client const> client, lowering::Program const& program, std::size_t replicas,
             ProgramCache const& cache)
      : client_(std::move(client)),
        argument_types_(program.arguments),
        result_types_(program.results),
        shards_(program.shards),
        devices_(replicas * program.shards) {
    std::vector<std::int64_t> numbers;
    for (std::size_t device = 0; device < devices_; ++device) numbers.push_back(client_->device_id(device));
    std::string const options = compile_options(numbers, program.shards);
    load(program.text, options, cache);
    lay_out();
  }

  Executable(Executable const&) = delete;
  Executable& operator=(Executable const&) = delete;

  ~Executable() {
    auto arguments = sized<PJRT_LoadedExecutable_Destroy_Args, PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE>();
    arguments.executable = executable_;
    try {
      client_->call(&PJRT_Api::PJRT_LoadedExecutable_Destroy, arguments, "PJRT_LoadedExecutable_Destroy");
    } catch (PluginError const&) {
    }
  }

  /// Devices of all replicas.
  std::size_t devices() const { return devices_; }
  /// Devices of a replica.
  std::size_t shards() const { return shards_; }
  /// True if it was found in the cache.
  bool from_cache() const { return from_cache_; }
  /// Types of the arguments, in order.
  std::vector<TensorType> const& argument_types() const { return argument_types_; }
  /// Types of the results, in order.
  std::vector<TensorType> const& result_types() const { return result_types_; }

  /// Sets an argument. \throws ShapeError if its type is not the program's, since PJRT compares numbers of bytes only
  void set(std::size_t device, std::size_t index, Buffer const& buffer) {
    if (buffer.type() != argument_types_[index])
      throw ShapeError(formatted("argument {} of a program is {}, and was given {}", index,
                                 argument_types_[index].text(), buffer.type().text()));
    arguments_[device * argument_types_.size() + index] = buffer.handle();
  }

  /// Starts all devices; may return before they are done. Donated arguments are gone then.
  void run() {
    auto options = sized<PJRT_ExecuteOptions, PJRT_ExecuteOptions_STRUCT_SIZE>();
    auto execute = sized<PJRT_LoadedExecutable_Execute_Args, PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE>();
    execute.executable = executable_;
    execute.options = &options;
    execute.argument_lists = argument_lists_.data();
    execute.num_devices = devices_;
    execute.num_args = argument_types_.size();
    execute.output_lists = result_lists_.data();
    execute.device_complete_events = events_.data();
    client_->call(&PJRT_Api::PJRT_LoadedExecutable_Execute, execute, "PJRT_LoadedExecutable_Execute");
  }

  /// A result of the last run, once.
  Buffer take(std::size_t device, std::size_t index) {
    return {*client_, std::exchange(results_[device * result_types_.size() + index], nullptr), result_types_[index]};
  }
  /// The event of the device's last run, once.
  Event take_event(std::size_t device) { return {*client_, std::exchange(events_[device], nullptr)}; }

 private:
  void load(std::string const& text, std::string const& options, ProgramCache const& cache) {
    std::string const name = cache.enabled() ? ProgramCache::fingerprint(*client_, text, options) : "";
    if (auto const found = cache.find(name); found && deserialize(*found)) {
      from_cache_ = true;
      return;
    }
    compile(text, options);
    if (cache.enabled())
      if (auto const bytes = serialized()) cache.store(name, *bytes);
  }

  void compile(std::string const& text, std::string const& options) {
    auto program = sized<PJRT_Program, PJRT_Program_STRUCT_SIZE>();
    program.code = const_cast<char*>(text.data());
    program.code_size = text.size();
    program.format = "mlir";
    program.format_size = 4;
    auto arguments = sized<PJRT_Client_Compile_Args, PJRT_Client_Compile_Args_STRUCT_SIZE>();
    arguments.client = client_->handle();
    arguments.program = &program;
    arguments.compile_options = options.data();
    arguments.compile_options_size = options.size();
    client_->call(&PJRT_Api::PJRT_Client_Compile, arguments, "PJRT_Client_Compile");
    executable_ = arguments.executable;
  }

  bool deserialize(std::string const& bytes) {
    auto arguments =
        sized<PJRT_Executable_DeserializeAndLoad_Args, PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE>();
    arguments.client = client_->handle();
    arguments.serialized_executable = bytes.data();
    arguments.serialized_executable_size = bytes.size();
    try {
      client_->call(&PJRT_Api::PJRT_Executable_DeserializeAndLoad, arguments, "PJRT_Executable_DeserializeAndLoad");
    } catch (PluginError const&) {
      return false;
    }
    executable_ = arguments.loaded_executable;
    return true;
  }

  /// The program as bytes; nothing where the plugin cannot serialize it.
  std::optional<std::string> serialized() const {
    try {
      auto get =
          sized<PJRT_LoadedExecutable_GetExecutable_Args, PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE>();
      get.loaded_executable = executable_;
      client_->call(&PJRT_Api::PJRT_LoadedExecutable_GetExecutable, get, "PJRT_LoadedExecutable_GetExecutable");
      auto bytes = sized<PJRT_Executable_Serialize_Args, PJRT_Executable_Serialize_Args_STRUCT_SIZE>();
      bytes.executable = get.executable;
      std::optional<std::string> result;
      try {
        client_->call(&PJRT_Api::PJRT_Executable_Serialize, bytes, "PJRT_Executable_Serialize");
        result.emplace(bytes.serialized_bytes, bytes.serialized_bytes_size);
        bytes.serialized_executable_deleter(bytes.serialized_executable);
      } catch (PluginError const&) {
      }
      auto destroy = sized<PJRT_Executable_Destroy_Args, PJRT_Executable_Destroy_Args_STRUCT_SIZE>();
      destroy.executable = get.executable;
      client_->call(&PJRT_Api::PJRT_Executable_Destroy, destroy, "PJRT_Executable_Destroy");
      return result;
    } catch (PluginError const&) {
      return {};
    }
  }

  /// Lists of handles, allocated once.
  void lay_out() {
    arguments_.resize(devices_ * argument_types_.size());
    results_.resize(devices_ * result_types_.size());
    events_.resize(devices_);
    for (std::size_t device = 0; device < devices_; ++device) {
      argument_lists_.push_back(arguments_.data() + device * argument_types_.size());
      result_lists_.push_back(results_.data() + device * result_types_.size());
    }
  }

  std::shared_ptr<Client const> client_;
  std::vector<TensorType> argument_types_, result_types_;
  std::size_t shards_, devices_;
  PJRT_LoadedExecutable* executable_ = nullptr;
  bool from_cache_ = false;
  std::vector<PJRT_Buffer*> arguments_, results_;
  std::vector<PJRT_Buffer* const*> argument_lists_;
  std::vector<PJRT_Buffer**> result_lists_;
  std::vector<PJRT_Event*> events_;
};

}  // namespace trireme::pjrt
