// The scores of the programs seen last, by their keys: least recently used goes first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "search/key_table.hpp"

namespace arz {

class Cache {
 public:
  Cache(std::size_t capacity, std::size_t columns) : capacity_(capacity), columns_(columns) {}

  std::size_t size() const { return entries_.size(); }
  std::size_t columns() const { return columns_; }

  // The values of a key, which counts as used; null if there are none.
  const double* find(const Key& key) {
    const std::size_t place = places_.find(key);
    if (place == kNobody) return nullptr;
    touch(place);
    return values_.data() + place * columns_;
  }

  void insert(const Key& key, const double* values) {
    std::size_t place = places_.find(key);
    if (place != kNobody) {
      touch(place);
    } else if (entries_.size() < capacity_) {
      place = entries_.size();
      entries_.push_back({key, kNobody, kNobody});
      values_.resize(values_.size() + columns_);
      places_.insert(key, place);
      append(place);
    } else {
      place = oldest_;
      places_.erase(entries_[place].key);
      entries_[place].key = key;
      places_.insert(key, place);
      touch(place);
    }
    std::copy_n(values, columns_, values_.data() + place * columns_);
  }

  void clear() {
    entries_.clear();
    places_.clear();
    values_.clear();
    oldest_ = newest_ = kNobody;
  }

  // Calls visit(key, values) from the one used least recently to the newest: inserted in this order, they make an
  // equal cache.
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t place = oldest_; place != kNobody; place = entries_[place].newer)
      visit(entries_[place].key, values_.data() + place * columns_);
  }

 private:
  static constexpr std::size_t kNobody = KeyTable::kNothing;
  struct Entry {
    Key key;
    std::size_t older, newer;
  };

  void touch(std::size_t place) {
    if (place == newest_) return;
    Entry& entry = entries_[place];
    (entry.older == kNobody ? oldest_ : entries_[entry.older].newer) = entry.newer;
    entries_[entry.newer].older = entry.older;
    append(place);
  }
  void append(std::size_t place) {
    entries_[place].older = newest_;
    entries_[place].newer = kNobody;
    (newest_ == kNobody ? oldest_ : entries_[newest_].newer) = place;
    newest_ = place;
  }

  std::size_t capacity_, columns_;
  std::vector<Entry> entries_;
  std::vector<double> values_;
  KeyTable places_;
  std::size_t oldest_ = kNobody, newest_ = kNobody;
};

}  // namespace arz
