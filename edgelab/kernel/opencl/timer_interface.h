// TVM's timer interface, word for word as in tvm/runtime/timer.h of apache-tvm 0.27 (Apache-2.0): that header includes
// others which the wheel does not have. Virtual functions keep their order, for TVM calls them through the table.
#pragma once
#include <tvm/ffi/object.h>

namespace tvm {
namespace runtime {

class TimerNode : public ffi::Object {
 public:
  virtual void Start() = 0;
  virtual void Stop() = 0;
  virtual int64_t SyncAndGetElapsedNanos() = 0;
  virtual ~TimerNode() {}

  static constexpr const bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("runtime.TimerNode", TimerNode, ffi::Object);
};

class Timer : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Timer, ffi::ObjectRef, TimerNode);
};

}  // namespace runtime
}  // namespace tvm
