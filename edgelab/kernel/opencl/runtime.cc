// Registers the OpenCL runtime with TVM, which looks all of this up by name (wheel of apache-tvm 0.27).
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>

#include "module.h"

TVM_FFI_STATIC_INIT_BLOCK() {
  using namespace edgelab;
  tvm::ffi::reflection::GlobalDef()
      .def("device_api.opencl",
           []() -> void* { return static_cast<tvm::runtime::DeviceAPI*>(ClDeviceApi::Get()); })
      .def("runtime.timer.opencl",
           [](Device device) { return tvm::runtime::Timer(ffi::make_object<ClTimer>(device)); })
      .def("ffi.Module.load_from_bytes.opencl",
           [](ffi::Bytes bytes) { return ffi::Module(ffi::make_object<ClModule>(bytes)); })
      .def("edgelab.opencl.problem", []() { return ffi::String(ClDevices::Get().problem); })
      .def("edgelab.opencl.devices", []() {
        ffi::Array<ffi::String> names;
        for (ClDevice* device : ClDevices::Get().all) names.push_back(device->name);
        return names;
      });
}
