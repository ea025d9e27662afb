// Room for numbers at cache-line boundaries; grows, never shrinks.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace arz {

template <class Value>
class AlignedBuffer {
 public:
  void reserve(std::size_t size) {
    if (size <= size_) return;
    data_.reset(static_cast<Value*>(::operator new[](size * sizeof(Value), std::align_val_t(64))));
    size_ = size;
  }
  Value* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(Value* data) const { ::operator delete[](data, std::align_val_t(64)); }
  };
  std::unique_ptr<Value[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace arz
