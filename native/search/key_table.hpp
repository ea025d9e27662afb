// A hash table from keys to numbers, in one piece of memory.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "machine/canonical.hpp"

namespace arz {

// Keys can come from a file: nobody shall be able to make up some that are all in each other's way. Where a key is
// does not matter for any result.
inline const std::uint64_t salt = (std::uint64_t{std::random_device()()} << 32) + std::random_device()();

class KeyTable {
 public:
  static constexpr std::size_t kNothing = ~std::size_t{0};

  // The number of a key, or kNothing.
  std::size_t find(const Key& key) const { return slots_[slot_of(key)].number; }

  // The key must not be there yet.
  void insert(const Key& key, std::size_t number) {
    if (2 * ++count_ > slots_.size()) grow();
    slots_[slot_of(key)] = {key, number};
  }

  // The key must be there.
  void erase(const Key& key) {
    --count_;
    std::size_t hole = slot_of(key);
    // Whoever would not be found across the hole moves into it.
    for (std::size_t next = after(hole); slots_[next].number != kNothing; next = after(next)) {
      const std::size_t wanted = home(slots_[next].key);
      if (((next - wanted) & mask()) >= ((next - hole) & mask())) {
        slots_[hole] = slots_[next];
        hole = next;
      }
    }
    slots_[hole].number = kNothing;
  }

  void clear() {
    slots_.assign(kAtFirst, Slot{});
    count_ = 0;
  }

 private:
  static constexpr std::size_t kAtFirst = 1024;  // a power of two, as the size always is
  struct Slot {
    Key key{};
    std::size_t number = kNothing;
  };

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t home(const Key& key) const { return mix(mix(key.low ^ salt) + kGolden * key.high) & mask(); }
  std::size_t after(std::size_t slot) const { return (slot + 1) & mask(); }
  // Where the key is, or would be.
  std::size_t slot_of(const Key& key) const {
    std::size_t slot = home(key);
    while (slots_[slot].number != kNothing && !(slots_[slot].key == key)) slot = after(slot);
    return slot;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number != kNothing) slots_[slot_of(slot.key)] = slot;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kAtFirst);
  std::size_t count_ = 0;
};

}  // namespace arz
