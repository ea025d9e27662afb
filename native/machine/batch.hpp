// Many packed programs side by side, of one memory shape: what a search holds and hands over.
// A Batch is valid by construction (see check_program); inside the core there is nothing left to check.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "machine/program.hpp"
#include "ops.generated.hpp"

namespace arz {

// One program, opened for change. Reused from program to program without allocating.
struct Genome {
  MemoryShape shape{};
  std::vector<Instruction> functions[kMaxFunctions];
  int cadfs = 0;
  std::vector<double> image;

  void assign(const ProgramView& program) {
    shape = *program.shape;
    cadfs = program.cadfs;
    for (int f = 0; f < kMaxFunctions; ++f)
      functions[f].assign(program.functions[f].begin(), program.functions[f].end());
    image.assign(program.image.begin(), program.image.end());
  }
  ProgramView view() const {
    ProgramView result{&shape, {}, cadfs, image};
    for (int f = 0; f < kMaxFunctions; ++f) result.functions[f] = functions[f];
    return result;
  }
};

// Programs packed one behind the other.
class Store {
 public:
  // Effective programs are those that `EffectiveForm` gave.
  explicit Store(const MemoryShape& shape, bool are_effective = false)
      : image_size_(shape.image_size()), are_effective_(are_effective) {}

  std::size_t size() const { return cadfs_.size(); }

  // Room for this many programs in all, with this many instructions.
  void reserve(std::size_t programs, std::size_t instructions) {
    code_.reserve(instructions);
    ends_.reserve(1 + programs * kMaxFunctions);
    cadfs_.reserve(programs);
    images_.reserve(programs * image_size_);
  }
  std::size_t instructions() const { return code_.size(); }

  ProgramView view(std::size_t p, const MemoryShape& shape) const {
    ProgramView result{&shape, {}, cadfs_[p], {images_.data() + p * image_size_, image_size_}, are_effective_};
    for (int f = 0; f < kMaxFunctions; ++f) {
      const std::size_t first = ends_[p * kMaxFunctions + f], last = ends_[p * kMaxFunctions + f + 1];
      result.functions[f] = {code_.data() + first, last - first};
    }
    return result;
  }

  void append(const ProgramView& program) {
    for (const auto& function : program.functions) {
      code_.insert(code_.end(), function.begin(), function.end());
      ends_.push_back(code_.size());
    }
    cadfs_.push_back(static_cast<std::uint8_t>(program.cadfs));
    images_.insert(images_.end(), program.image.begin(), program.image.end());
  }

 private:
  std::size_t image_size_;
  bool are_effective_;
  std::vector<Instruction> code_;
  std::vector<std::size_t> ends_{0};  // of each function of each program; [0] is the start
  std::vector<std::uint8_t> cadfs_;
  std::vector<double> images_;
};

// Once in a batch, a store is not changed any more: batches share stores, so that taking and joining copies no program.
class Batch {
 public:
  explicit Batch(const MemoryShape& memory) : shape(memory) {}

  std::size_t size() const { return places_.size(); }
  ProgramView view(std::size_t p) const { return places_[p].store->view(places_[p].index, shape); }

  // All programs of a store.
  void append(std::shared_ptr<const Store> store) {
    for (std::size_t p = 0; p < store->size(); ++p) places_.push_back({store.get(), p});
    stores_.push_back(std::move(store));
  }
  void append(const Batch& other) {
    places_.insert(places_.end(), other.places_.begin(), other.places_.end());
    for (const auto& store : other.stores_)
      if (std::find(stores_.begin(), stores_.end(), store) == stores_.end()) stores_.push_back(store);
  }
  Batch selected(const std::vector<std::size_t>& chosen) const;
  // How many programs it keeps in memory: its own, and those that share their stores.
  std::size_t kept() const {
    std::size_t programs = 0;
    for (const auto& store : stores_) programs += store->size();
    return programs;
  }

  MemoryShape shape;

 private:
  struct Place {
    const Store* store;
    std::size_t index;
  };
  std::vector<Place> places_;
  std::vector<std::shared_ptr<const Store>> stores_;  // those that the places are in
};

// A sentence on what is wrong, or nothing.
std::string check_shape(const MemoryShape& shape, int cadfs);
std::string check_program(const ProgramView& program);

}  // namespace arz
