// A device of PyTorch's whose memory is the host's: tensors on it are dispatched as a GPU's are, and are none of the CPU's.
// Operators for which it has no kernel are the CPU's on copies, so that "PyTorch's own operator on the device" is what it is
// on the CPU.

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstdlib>

namespace {

constexpr auto kKind = c10::DeviceType::PrivateUse1;
const c10::Device kDevice(kKind, 0);

struct Allocator final : c10::Allocator {
  static void release(void *p) { std::free(p); }
  c10::DataPtr allocate(size_t size) override {
    void *p = size ? std::aligned_alloc(256, (size + 255) / 256 * 256) : nullptr; // as CUDA's
    return {p, p, &release, kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void *to, const void *from, size_t size) const override { default_copy_data(to, from, size); }
};
Allocator allocator;
REGISTER_ALLOCATOR(kKind, &allocator)

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kKind; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const noexcept override { return c10::Stream(c10::Stream::DEFAULT, kDevice); }
  c10::Stream getDefaultStream(c10::Device) const override { return c10::Stream(c10::Stream::DEFAULT, kDevice); }
  c10::Stream exchangeStream(c10::Stream s) const noexcept override { return s; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void **, const c10::Stream &, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void *, const c10::Stream &) const override {}
  bool queryEvent(void *) const override { return true; }
  void destroyEvent(void *, const c10::DeviceIndex) const noexcept override {}
  bool queryStream(const c10::Stream &) const override { return true; }
  void synchronizeStream(const c10::Stream &) const override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  at::Device getDeviceFromPtr(void *) const override { return kDevice; }
  c10::Allocator *getPinnedMemoryAllocator() const override { return c10::GetAllocator(c10::DeviceType::CPU); }
  bool isPinnedPtr(const void *) const override { return false; }
};

at::Tensor in_main_memory(const at::Tensor &t) {
  if (t.is_cpu()) { return t; }
  return at::from_blob(t.data_ptr(), t.sizes(), t.strides(), t.options().device(c10::kCPU));
}

c10::ScalarType type_of(std::optional<c10::ScalarType> given) { return c10::dtype_or_default(given); }

at::Tensor empty(c10::SymIntArrayRef size, std::optional<c10::ScalarType> type, std::optional<c10::Layout>,
                 std::optional<c10::Device>, std::optional<bool>, std::optional<c10::MemoryFormat> order) {
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &allocator,
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type_of(type), order);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<c10::ScalarType> type,
                         std::optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &allocator,
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type_of(type));
}

at::Tensor as_strided(const at::Tensor &t, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
  std::optional<int64_t> start;
  if (offset) { start = offset->expect_int(); }
  return at::native::as_strided_tensorimpl(t, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), start);
}

at::Tensor view(const at::Tensor &t, c10::SymIntArrayRef size) { return at::native::view(t, C10_AS_INTARRAYREF_SLOW(size)); }

at::Tensor reshape_alias(const at::Tensor &t, c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
  return at::native::_reshape_alias(t, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

const at::Tensor &resize_(const at::Tensor &t, c10::SymIntArrayRef size, std::optional<c10::MemoryFormat> order) {
  return at::native::resize_(t, C10_AS_INTARRAYREF_SLOW(size), order);
}

at::Tensor &set_storage(at::Tensor &t, at::Storage source, c10::SymInt offset, c10::SymIntArrayRef size,
                        c10::SymIntArrayRef stride) {
  return at::native::set_storage_cpu_(t, std::move(source), offset.expect_int(), C10_AS_INTARRAYREF_SLOW(size),
                                      C10_AS_INTARRAYREF_SLOW(stride));
}

at::Tensor &set_whole_storage(at::Tensor &t, at::Storage source) { return at::native::set_(t, std::move(source)); }

int64_t reads = 0; // copies to the host, for which it would wait; not those of operators that are the CPU's
thread_local bool of_operators = false;

at::Tensor copy_from(const at::Tensor &from, const at::Tensor &to, bool) {
  reads += !from.is_cpu() && to.is_cpu() && !of_operators;
  at::Tensor target = in_main_memory(to);
  target.copy_(in_main_memory(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor &from, const at::Tensor &to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}

at::Scalar number(const at::Tensor &t) {
  reads += !of_operators;
  return in_main_memory(t).item();
}

void on_copies(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const bool before = of_operators;
  of_operators = true;
  at::native::cpu_fallback(op, stack);
  of_operators = before;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("as_strided", as_strided);
  m.impl("view", view);
  m.impl("unfold", at::native::unfold);
  m.impl("_reshape_alias", reshape_alias);
  m.impl("resize_", resize_);
  m.impl("set_.source_Storage", set_whole_storage);
  m.impl("set_.source_Storage_storage_offset", set_storage);
  m.impl("set_.source_Tensor", at::native::set_tensor_);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", number);
}

// PyTorch composes them where a device has no kernel; the CPU and GPUs have.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const char *name : {"silu_backward", "mish_backward"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&on_copies>());
  }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_copies>()); }

const bool registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

} // namespace

extern "C" int64_t stand_in_reads() { return reads; }
