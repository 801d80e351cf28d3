/// PJRT client: the devices that a plugin gives to this process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/pjrt/runtime/plugin.hpp"

namespace trireme::pjrt {

/// Option of a client, defined by the plugin, such as `cpu_device_count`.
struct ClientOption {
  std::string name;
  std::int64_t value;
};

/// Owner of a PJRT client, shared by the arrays and events of its devices: std::make_shared makes it.
class Client : public std::enable_shared_from_this<Client> {
 public:
  /// Client of a plugin, with the plugin's own options. \throws PluginError with the plugin's message
  Client(std::shared_ptr<Plugin const> plugin, std::vector<ClientOption> const& options) : plugin_(std::move(plugin)) {
    std::vector<PJRT_NamedValue> values;
    for (ClientOption const& option : options) {
      PJRT_NamedValue value = named_value(option.name);
      value.type = PJRT_NamedValue_kInt64;
      value.int64_value = option.value;
      value.value_size = 1;
      values.push_back(value);
    }
    auto create = sized<PJRT_Client_Create_Args, PJRT_Client_Create_Args_STRUCT_SIZE>();
    create.create_options = values.data();
    create.num_options = values.size();
    plugin_->call(&PJRT_Api::PJRT_Client_Create, create, "PJRT_Client_Create");
    client_ = create.client;

    auto devices = sized<PJRT_Client_AddressableDevices_Args, PJRT_Client_AddressableDevices_Args_STRUCT_SIZE>();
    devices.client = client_;
    call(&PJRT_Api::PJRT_Client_AddressableDevices, devices, "PJRT_Client_AddressableDevices");
    devices_.assign(devices.addressable_devices, devices.addressable_devices + devices.num_addressable_devices);

    auto name = sized<PJRT_Client_PlatformName_Args, PJRT_Client_PlatformName_Args_STRUCT_SIZE>();
    name.client = client_;
    call(&PJRT_Api::PJRT_Client_PlatformName, name, "PJRT_Client_PlatformName");
    platform_.assign(name.platform_name, name.platform_name_size);

    auto version = sized<PJRT_Client_PlatformVersion_Args, PJRT_Client_PlatformVersion_Args_STRUCT_SIZE>();
    version.client = client_;
    call(&PJRT_Api::PJRT_Client_PlatformVersion, version, "PJRT_Client_PlatformVersion");
    platform_version_.assign(version.platform_version, version.platform_version_size);
  }

  Client(Client const&) = delete;
  Client& operator=(Client const&) = delete;

  ~Client() {
    auto arguments = sized<PJRT_Client_Destroy_Args, PJRT_Client_Destroy_Args_STRUCT_SIZE>();
    arguments.client = client_;
    try {
      call(&PJRT_Api::PJRT_Client_Destroy, arguments, "PJRT_Client_Destroy");
    } catch (PluginError const&) {  // nothing is left that could be done about it
    }
  }

  /// Plugin that made the client.
  Plugin const& plugin() const { return *plugin_; }
  /// Handle for calls of PJRT.
  PJRT_Client* handle() const { return client_; }
  /// "cpu", "tpu", "cuda", ...
  std::string const& platform() const { return platform_; }
  /// Version of the platform, as the plugin has it.
  std::string const& platform_version() const { return platform_version_; }
  /// Devices that this process can use.
  std::vector<PJRT_Device*> const& devices() const { return devices_; }

  /// Calls a function of PJRT by name. \throws PluginError with the plugin's message
  template <class Function, class Arguments>
  void call(Function* PJRT_Api::* function, Arguments& arguments, char const* name) const {
    plugin_->call(function, arguments, name);
  }

  /// The device's number, as a program's options name it.
  std::int64_t device_id(std::size_t index) const {
    auto description = sized<PJRT_Device_GetDescription_Args, PJRT_Device_GetDescription_Args_STRUCT_SIZE>();
    description.device = devices_[index];
    call(&PJRT_Api::PJRT_Device_GetDescription, description, "PJRT_Device_GetDescription");
    auto id = sized<PJRT_DeviceDescription_Id_Args, PJRT_DeviceDescription_Id_Args_STRUCT_SIZE>();
    id.device_description = description.device_description;
    call(&PJRT_Api::PJRT_DeviceDescription_Id, id, "PJRT_DeviceDescription_Id");
    return id.id;
  }

 private:
  std::shared_ptr<Plugin const> plugin_;
  PJRT_Client* client_ = nullptr;
  std::vector<PJRT_Device*> devices_;
  std::string platform_, platform_version_;
};

/// A client with at least as many devices as replicas, or so many times as many. The plugin for CPUs makes as many
/// devices as its options say; if there are none, this requests those that the replicas need.
/// \throws PluginError where there are fewer
inline std::shared_ptr<Client const> open_client(std::string const& path, std::vector<ClientOption> const& options,
                                                 std::size_t replicas, std::size_t shards = 1) {
  auto const plugin = Plugin::load(path);
  auto client = std::make_shared<Client const>(plugin, options);
  std::size_t const needed = std::max<std::size_t>(1, replicas) * shards;
  bool const is_cpu = client->platform() == "cpu" && options.empty();
  if (is_cpu && client->devices().size() != needed && (replicas > 0 || client->devices().size() < needed)) {
    client.reset();
    client = std::make_shared<Client const>(
        plugin, std::vector<ClientOption>{{"cpu_device_count", static_cast<std::int64_t>(needed)}});
  }
  if (client->devices().empty()) throw PluginError(formatted("{}: the client has no device", path));
  if (client->devices().size() < needed)
    throw PluginError(formatted("{}: {} devices are needed (replicas x shards: {} x {}), and there are {}", path,
                                needed, std::max<std::size_t>(1, replicas), shards, client->devices().size()));
  return client;
}

}  // namespace trireme::pjrt
