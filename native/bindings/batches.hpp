// Batches of programs that calls take and make.
#pragma once

#include <memory>
#include <vector>

#include "bindings/arrays.hpp"
#include "machine/batch.hpp"
#include "threads/cancellation.hpp"
#include "threads/per_thread.hpp"
#include "threads/pool.hpp"

namespace arz {

// Positions in a batch, checked and copied: the caller's array may change once the GIL is released.
inline std::vector<std::size_t> positions(const Batch& batch, const Input<std::int64_t, 1>& indices) {
  std::vector<std::size_t> result(indices.shape(0));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = checked(batch, indices.data()[i]);
  return result;
}

// A batch of new programs: make(i, genome) for each, in parts, one for each thread.
template <class Make>
Batch make_programs(const MemoryShape& shape, std::size_t count, int threads, Make make, bool are_effective = false) {
  constexpr std::size_t kSample = 8;  // so many show how long the others will be
  std::vector<std::shared_ptr<Store>> stores(Pool::part_count(count, threads));
  Pool::shared().run_parts(count, threads, [&](std::size_t first, std::size_t last, std::size_t part) {
    auto store = std::make_shared<Store>(shape, are_effective);
    Genome& genome = per_thread<Genome>();
    for (std::size_t i = first; i < last; ++i) {
      Cancellation::check();
      make(i, genome);
      store->append(genome.view());
      if (store->size() == kSample)
        store->reserve(last - first, store->instructions() * (last - first) / (kSample - 1));  // and some room
    }
    stores[part] = std::move(store);
  });
  Batch batch(shape);
  for (auto& store : stores) batch.append(std::move(store));
  return batch;
}

}  // namespace arz
