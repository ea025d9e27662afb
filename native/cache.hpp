// The scores of the programs seen last, by their keys: least recently used goes first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "canonical.hpp"

namespace arz {

class Cache {
 public:
  Cache(std::size_t capacity, std::size_t columns) : capacity_(capacity), columns_(columns) {
    const std::size_t at_first = std::min<std::size_t>(capacity, 1 << 17);
    entries_.reserve(at_first);
    places_.reserve(at_first);
    values_.reserve(at_first * columns);
  }

  std::size_t size() const { return entries_.size(); }
  std::size_t columns() const { return columns_; }

  // Copies the values of a key and counts it as used; or says that there are none.
  bool find(const Key& key, double* values) {
    const auto found = places_.find(key);
    if (found == places_.end()) return false;
    touch(found->second);
    std::copy_n(values_.data() + found->second * columns_, columns_, values);
    return true;
  }

  void insert(const Key& key, const double* values) {
    const auto found = places_.find(key);
    std::size_t place;
    if (found != places_.end()) {
      place = found->second;
      touch(place);
    } else if (entries_.size() < capacity_) {
      place = entries_.size();
      entries_.push_back({key, kNobody, kNobody});
      values_.resize(values_.size() + columns_);
      places_.emplace(key, place);
      append(place);
    } else {
      place = oldest_;
      places_.erase(entries_[place].key);
      entries_[place].key = key;
      places_.emplace(key, place);
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
  static constexpr std::size_t kNobody = ~std::size_t{0};
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
  std::unordered_map<Key, std::size_t> places_;
  std::size_t oldest_ = kNobody, newest_ = kNobody;
};

}  // namespace arz
