#include "daemon/remote/entry_address.h"

#include "daemon/remote/blob_reference.h"
#include "remote_execution/remote_execution.pb.h"

namespace hearth::daemon {

namespace api = build::bazel::remote::execution::v2;

// Neither message has a map, and protobuf writes fields in the order of their numbers: equal entries give equal bytes.
EntryAddress address_of(const EntryKey& entry) {
  api::Command command;
  for (const std::string& argument :
       {std::string("hearth-entry"), entry.domain, to_hex(entry.key), to_hex(entry.flavour)})
    command.add_arguments(argument);
  command.add_output_paths("hearth.sig");
  command.add_output_paths(entry.kind);
  EntryAddress address;
  address.command = command.SerializeAsString();
  api::Action action;
  BlobReference::of(address.command).write_to(action.mutable_command_digest());
  BlobReference::of("").write_to(action.mutable_input_root_digest());  // an empty folder's message has no bytes
  action.set_salt(entry.salt);
  address.action = action.SerializeAsString();
  return address;
}

}  // namespace hearth::daemon
