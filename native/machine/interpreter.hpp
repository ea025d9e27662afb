// Executes one program over lanes: every instruction in all episodes at once.
//
//   interpreter.load(program, lanes);     resolve registers to places, once per program
//   interpreter.reset(keys);              start the episodes
//   interpreter.observation(e)[lane] = …  then step(), then read action(e)[lane]
//
// Only registers that the program names get room, so small programs stay in the fastest cache whatever
// the size of the memory they could use. An interpreter can be loaded again and again; it allocates
// only when it needs more room than ever before.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "machine/aligned_buffer.hpp"
#include "machine/memory.hpp"
#include "machine/plan.hpp"
#include "machine/program.hpp"
#include "machine/run.hpp"
#include "machine/shared_matrix.hpp"
#include "machine/trace.hpp"
#include "ops.generated.hpp"

namespace arz {

static_assert(std::string_view(kOps[static_cast<int>(Op::call)].slots) == "svifssssvvii",
              "kResultKinds and kArgumentKinds (program.hpp) restate the signature of the call");

// A matrix that no line writes is the same in all lanes and steps; from this size on it is kept apart
// (shared_matrix.hpp).
inline constexpr int kSharedMatrixDim = 12;
// What stands for a product with such a matrix in resolved code: at[1] is its number among them.
inline constexpr std::uint16_t kSharedMatrixDot = 0xFFFF;

// The register of each kind that a CADF returns: the one written last, which in a straight line of code
// is known beforehand; register 0 where none is written. (Kinds: s, v, i.)
inline std::array<int, kCallResults> last_written(std::span<const Instruction> body) {
  std::array<int, kCallResults> result{0, 0, 0};
  for (const Instruction& x : body) {
    const OpInfo& op = kOps[x.op];
    for (int r = 0; r < kCallResults && op.outputs == 1; ++r)
      if (op.slots[0] == kResultKinds[r]) result[r] = x.args[0];
  }
  return result;
}

class Interpreter {
  using Number = Lanes;

 public:
  static constexpr int kChunk = LaneTraits<Number>::lanes;

  // The view must outlive the use of what was loaded. With a trace, everything that is written is recorded there.
  void load(const ProgramView& program, int lanes, Trace* trace = nullptr) {
    program_ = program;
    trace_ = trace;
    shape_ = *program.shape;
    lanes_ = lanes;
    chunks_ = (lanes + kChunk - 1) / kChunk;
    width_ = chunks_ * kChunk;
    plan_.make(program, trace != nullptr);
    find_shared_matrices();
    allocate_registers();
    resolve_code();
  }

  int lanes() const { return lanes_; }

  // One key per lane names the random numbers of its episode.
  void reset(std::span<const std::uint64_t> keys) {
    std::copy(keys.begin(), keys.end(), keys_.begin());
    std::fill(ticks_.begin(), ticks_.end(), 0);
    step_ = 0;
    activate_all();
    initialise_memory();
  }

  // Starts an episode anew in one lane; the others go on.
  void reset(int lane, std::uint64_t key) {
    keys_[lane] = key;
    for (std::size_t at = lane; at < ticks_.size(); at += width_) ticks_[at] = 0;
    for (std::size_t at = lane; at < number_count_; at += width_) numbers_.data()[at] = 0.0;
    for (std::size_t at = lane; at < index_count_; at += width_) indices_.data()[at] = 0;
    for (const Start& start : starts_) {
      const double* from = program_.image.data() + shape_.image_offset(start.kind, start.number);
      double* to = numbers_.data() + place_[0][start.kind][start.number] + lane;
      for (int e = 0; e < shape_.size(start.kind); ++e) to[e * width_] = from[e];
    }
  }

  // Ends the episode of a lane: what is computed there from now on is never read, and elementary functions are skipped.
  void retire(int lane) { set_lane(all_.data()[lane / kChunk], lane % kChunk, false); }

  // Goes on with these lanes only, in this (ascending) order.
  void keep(std::span<const int> kept) {
    const int old_width = width_;
    lanes_ = static_cast<int>(kept.size());
    chunks_ = (lanes_ + kChunk - 1) / kChunk;
    width_ = chunks_ * kChunk;
    number_count_ = keep_lanes(numbers_.data(), number_count_, kept, old_width);
    index_count_ = keep_lanes(indices_.data(), index_count_, kept, old_width);
    keys_.resize(keep_lanes(keys_.data(), keys_.size(), kept, old_width));
    ticks_.resize(keep_lanes(ticks_.data(), ticks_.size(), kept, old_width));
    widen_places(old_width);
    activate_all();
    resolve_code();
  }

  // Makes room for more lanes, or leaves out the last ones; new ones hold nothing until `copy_lane` fills them.
  void resize(int lanes) {
    const int old_width = width_;
    lanes_ = lanes;
    chunks_ = (lanes + kChunk - 1) / kChunk;
    width_ = chunks_ * kChunk;
    if (width_ != old_width) {
      number_count_ = move_rows(numbers_, number_count_, old_width);
      index_count_ = move_rows(indices_, index_count_, old_width);
      keys_ = moved(keys_, old_width);
      ticks_ = moved(ticks_, old_width);
      all_.reserve(chunks_);
      masks_.reserve(chunks_);
      check_places();
      widen_places(old_width);
      resolve_code();
    }
    activate_all();
  }

  // Lane `to` goes on as lane `from` does.
  void copy_lane(int from, int to) {
    const auto copy = [&](auto* rows, std::size_t count) {
      for (std::size_t at = 0; at < count; at += width_) rows[at + to] = rows[at + from];
    };
    copy(numbers_.data(), number_count_);
    copy(indices_.data(), index_count_);
    copy(keys_.data(), keys_.size());
    copy(ticks_.data(), ticks_.size());
  }

  // Whether the program draws random numbers.
  bool draws() const {
    return std::any_of(draws_.begin(), draws_.begin() + program_.function_count(), std::identity{});
  }

  // Where to put entry e of the observations, one number per lane; null where the program never looks.
  double* observation(int entry) {
    return observation_ < 0 ? nullptr : numbers_.data() + observation_ + entry * width_;
  }
  const double* action(int entry) const { return numbers_.data() + action_ + entry * width_; }

  void step() {
    if (!shape_.stateful && step_ > 0) forget();
    if (observation_ >= 0)
      for (int e = shape_.observations; e < shape_.dim(); ++e) std::fill_n(observation(e), width_, 0.0);
    if (trace_ != nullptr) [[unlikely]]
      record(0, -1, -1, 1, kObservationVector, static_cast<std::uint32_t>(observation_), all_.data());
    run<false>(code_, 0, -1, all_.data());
    if (draws_[0])
      for (int l = 0; l < lanes_; ++l) ++ticks_[l];
    ++step_;
  }

  // Observations and actions as rows of one episode each.
  void act(const double* observations, double* actions) {
    const int entries = shape_.observations;
    if (observation_ >= 0) transpose(observations, entries, lanes_, entries, observation(0), width_);
    step();
    transpose(action(0), width_, shape_.actions, lanes_, actions, shape_.actions);
  }

 private:
  // ---- loading ----

  // Which matrices of the program itself are only read.
  void find_shared_matrices() {
    shared_count_ = 0;
    shared_of_.fill(-1);
    if (shape_.dim() < kSharedMatrixDim) return;
    std::array<bool, kMaxRegisters> is_written{};
    for (const Instruction& x : program_.functions[0]) {
      const OpInfo& op = kOps[x.op];
      if (op.outputs == 1 && op.slots[0] == 'm') is_written[x.args[0]] = true;
    }
    for (const Instruction& x : program_.functions[0]) {
      if (x.op != static_cast<std::uint16_t>(Op::matrix_vector_dot)) continue;
      const int number = x.args[1];
      if (is_written[number] || shared_of_[number] >= 0) continue;
      shared_of_[number] = shared_count_++;
      if (static_cast<int>(shared_.size()) < shared_count_) shared_.emplace_back();
      shared_[shared_of_[number]].set(program_.image.data() + shape_.image_offset(2, number), shape_.dim(),
                                      shape_.dim());
    }
  }
  bool is_shared(int f, const Instruction& x) const {
    return f == 0 && x.op == static_cast<std::uint16_t>(Op::matrix_vector_dot) && shared_of_[x.args[1]] >= 0;
  }

  void allocate_registers() {
    const int functions = program_.function_count();
    for (int f = 0; f < functions; ++f)
      for (auto& kind : place_[f]) kind.fill(-1);
    number_count_ = index_count_ = 0;
    starts_.clear();
    for (int f = 0; f < functions; ++f) {
      draws_[f] = false;
      results_[f] = last_written(program_.functions[f]);
      for (const PlannedLine& planned : plan_.lines(f)) {
        draws_[f] = draws_[f] || kOps[planned.line->op].draws;
        each_operand(planned, [&](int n, char kind, int number) {
          if (n != 1 || !is_shared(f, *planned.line)) claim(f, kind, number);
        });
      }
    }
    for (const Instruction& x : program_.functions[0])
      if (kOps[x.op].is_call)
        for (int r = 0; r < kCallResults; ++r)
          if (x.args[r] != kNone) {
            const int f = 1 + x.args[kCallCallee];
            claim(f, kResultKinds[r], results_[f][r]);
          }
    claim(0, "sv"[shape_.action_kind()], shape_.action_register());
    if (trace_ != nullptr) claim_arrivals();
    check_places();

    numbers_.reserve(number_count_);
    indices_.reserve(index_count_);
    if (shape_.counts[2] > 0) scratch_.reserve(static_cast<std::size_t>(shape_.size(2)) * kChunk);
    keys_.assign(width_, 0);
    ticks_.assign(static_cast<std::size_t>(functions) * width_, 0);
    all_.reserve(chunks_);
    masks_.reserve(chunks_);
    activate_all();
  }

  void activate_all() {
    for (int c = 0; c < chunks_; ++c) all_.data()[c] = Mask<Number>(true);
    for (int l = lanes_; l < width_; ++l) retire(l);
  }

  // Rows of `old_width` lanes become rows of `width_`, in place: a number never moves to a later place. Returns the
  // new count of numbers.
  template <class Value>
  std::size_t keep_lanes(Value* rows, std::size_t count, std::span<const int> kept, int old_width) const {
    const std::size_t row_count = count / old_width;
    for (std::size_t row = 0; row < row_count; ++row)
      for (std::size_t l = 0; l < kept.size(); ++l) rows[row * width_ + l] = rows[row * old_width + kept[l]];
    return row_count * width_;
  }

  // The same rows with another width; what does not fit is left out.
  template <class Value>
  std::vector<Value> moved(const std::vector<Value>& rows, int old_width) const {
    std::vector<Value> result(rows.size() / old_width * width_);
    for (std::size_t row = 0; row < rows.size() / old_width; ++row)
      std::copy_n(rows.begin() + row * old_width, std::min(width_, old_width), result.begin() + row * width_);
    return result;
  }
  template <class Value>
  std::size_t move_rows(AlignedBuffer<Value>& rows, std::size_t count, int old_width) const {
    const std::vector<Value> to = moved(std::vector<Value>(rows.data(), rows.data() + count), old_width);
    rows.reserve(to.size());
    std::copy(to.begin(), to.end(), rows.data());
    return to.size();
  }
  void widen_places(int old_width) {
    for (int f = 0; f < program_.function_count(); ++f)
      for (auto& kind : place_[f])
        for (std::int32_t& place : kind)
          if (place >= 0) place = place / old_width * width_;
  }

  // Places are 32-bit numbers.
  void check_places() const {
    if (std::max(number_count_, index_count_) >= (std::size_t{1} << 31))
      throw std::invalid_argument("a program has too much memory for " + std::to_string(lanes_) +
                                  " episodes side by side: use fewer");
  }

  // Observations and arguments that no line reads need room only to be recorded.
  void claim_arrivals() {
    claim(0, 'v', kObservationVector);
    for (const Instruction& x : program_.functions[0])
      if (kOps[x.op].is_call)
        for (int a = 0; a < kCallArgumentCount; ++a)
          if (x.args[kCallArguments + a] != kNone)
            claim(1 + x.args[kCallCallee], kArgumentKinds[a], kArgumentRegisters[a]);
  }

  // The operands of a planned line, in the order of its op: visit(position, kind, number). Of two lines as one: what
  // the second writes and reads beside the vector that the first makes, then what the first reads.
  template <class Visit>
  static void each_operand(const PlannedLine& planned, Visit visit) {
    int n = 0;
    const auto visit_slots = [&](const Instruction& x, int first, int left_out) {
      for (int slot = first; slot < kOps[x.op].slot_count; ++slot)
        if (slot != left_out) visit(n++, kOps[x.op].slots[slot], x.args[slot]);
    };
    const bool is_pair = planned.first != nullptr;
    visit_slots(*planned.line, 0, is_pair ? kFusions[planned.op - kOpCount].slot : -1);
    if (is_pair) visit_slots(*planned.first, kOps[planned.first->op].outputs, -1);
  }

  void claim(int f, char kind_letter, int number) {
    const int kind = kind_number(kind_letter);
    if (kind < 0 || number == kNone || place_[f][kind][number] >= 0 || is_by_reference(f, kind_letter, number)) return;
    auto& used = kind == 3 ? index_count_ : number_count_;
    place_[f][kind][number] = static_cast<std::int32_t>(used);
    if (f == 0 && kind < 3) starts_.push_back({kind, number});
    used += static_cast<std::size_t>(shape_.size(kind)) * width_;
  }

  void resolve_code() {
    action_ = place_[0][shape_.action_kind()][shape_.action_register()];
    observation_ = place_[0][1][kObservationVector];
    resolve(0, code_);
    // A body for each CADF, or, where it refers to vectors of the caller, for each call.
    const std::size_t functions = program_.function_count();
    std::size_t used = functions;
    if (bodies_.size() < used) bodies_.resize(used);
    for (int f = 1; f < static_cast<int>(functions); ++f)
      if (!plan_.has_references(f)) resolve(f, bodies_[f]);
    for (Resolved& x : code_) {
      if (x.op != static_cast<std::uint16_t>(Op::call)) continue;
      const int f = 1 + static_cast<int>(x.at[kCallCallee]);
      x.body = static_cast<std::uint32_t>(f);
      if (!plan_.has_references(f)) continue;
      x.body = static_cast<std::uint32_t>(used++);
      if (bodies_.size() < used) bodies_.emplace_back();
      refer(x, f);
      resolve(f, bodies_[x.body]);
    }
  }

  // The lines of a function, with the places of its registers.
  void resolve(int f, std::vector<Resolved>& code) const {
    code.clear();
    for (const PlannedLine& planned : plan_.lines(f)) {
      Resolved& to = code.emplace_back();
      to.op = planned.op;
      std::copy(std::begin(planned.line->constants), std::end(planned.line->constants), to.constants);
      each_operand(planned, [&](int n, char letter, int number) {
        const int kind = kind_number(letter);
        to.at[n] = kind < 0 || number == kNone ? number : place_[f][kind][number];
      });
      if (is_shared(f, *planned.line)) {
        to.op = kSharedMatrixDot;
        to.at[1] = static_cast<std::uint32_t>(shared_of_[planned.line->args[1]]);
      }
    }
  }

  // Arguments by reference have the places of what this call passes.
  void refer(const Resolved& call, int f) {
    for (int a = 0; a < kCallArgumentCount; ++a)
      if (plan_.is_by_reference(f, a))
        place_[f][kind_number(kArgumentKinds[a])][kArgumentRegisters[a]] =
            static_cast<std::int32_t>(call.at[kCallArguments + a]);
  }
  bool is_by_reference(int f, char kind, int number) const {
    for (int a = 0; a < kCallArgumentCount && f > 0; ++a)
      if (kArgumentKinds[a] == kind && kArgumentRegisters[a] == number) return plan_.is_by_reference(f, a);
    return false;
  }

  // ---- running ----

  void initialise_memory() {
    std::fill_n(numbers_.data(), number_count_, 0.0);
    std::fill_n(indices_.data(), index_count_, 0);
    for (const Start& start : starts_) {
      const int size = shape_.size(start.kind);
      const double* from = program_.image.data() + shape_.image_offset(start.kind, start.number);
      double* to = numbers_.data() + place_[0][start.kind][start.number];
      for (int e = 0; e < size; ++e)
        if (std::bit_cast<std::uint64_t>(from[e]) != 0) std::fill_n(to + e * width_, width_, from[e]);
    }
  }

  // Stateless programs start every step anew; only the observation, just written, stays.
  void forget() {
    kept_.clear();
    const std::size_t size = static_cast<std::size_t>(shape_.observations) * width_;
    if (observation_ >= 0) kept_.assign(observation(0), observation(0) + size);
    initialise_memory();
    if (observation_ >= 0) std::copy(kept_.begin(), kept_.end(), observation(0));
  }

  Frame<Number> frame(int f, const Mask<Number>* active) {
    return {numbers_.data(), indices_.data(), scratch_.data(),
            active,          keys_.data(),    ticks_.data() + static_cast<std::size_t>(f) * width_,
            shape_.dim(),    width_,          chunks_};
  }

  template <bool Masked>
  void run(const std::vector<Resolved>& lines, int f, int site, const Mask<Number>* active) {
    const Frame<Number> here = frame(f, active);
    const Resolved* const code = lines.data();
    const int count = static_cast<int>(lines.size());
    const Run* const execute = runs(Masked, shape_.dim(), chunks_);
    const bool traced = trace_ != nullptr;
    for (int line = 0; line < count; ++line) {
      const Resolved& x = code[line];
      if (x.op == static_cast<std::uint16_t>(Op::call)) [[unlikely]] {
        call(x, line);
        continue;
      }
      if (x.op == kSharedMatrixDot) [[unlikely]]
        shared_[x.at[1]].multiply(numbers_.data() + x.at[2], numbers_.data() + x.at[0], width_, lanes_);
      else
        execute[x.op](x, here);
      if (traced) [[unlikely]]
        record_output(x, f, site, line, 0, active);
    }
  }

  void call(const Resolved& x, int line) {
    const Frame<Number> here = frame(0, all_.data());
    bool some = false, every = true;
    for (int c = 0; c < chunks_; ++c) {
      const Mask<Number> here_all = all_.data()[c];
      const Mask<Number> mask =
          here_all & (here.scalar(x.at[kCallArguments], c) < here.scalar(x.at[kCallArguments + 1], c));
      masks_.data()[c] = mask;
      some = some || any(mask);
      every = every && equal(mask, here_all);
    }
    if (!some) return;
    if (every)
      invoke<false>(x, line);
    else
      invoke<true>(x, line);
  }

  template <bool Masked>
  void invoke(const Resolved& x, int line) {
    const int f = 1 + static_cast<int>(x.at[kCallCallee]);
    const Frame<Number> here = frame(0, masks_.data());
    refer(x, f);
    if (trace_ != nullptr) [[unlikely]]
      record_call(line, f - 1);
    for (int a = 0; a < kCallArgumentCount; ++a) {
      const std::uint32_t from = x.at[kCallArguments + a];
      const int kind = kind_number(kArgumentKinds[a]);
      const std::int32_t to = place_[f][kind][kArgumentRegisters[a]];
      if (from == kNone || to < 0 || plan_.is_by_reference(f, a)) continue;
      copy<Masked>(here, kind, from, to);
      if (trace_ != nullptr) [[unlikely]]
        record(f, line, -1, kind, kArgumentRegisters[a], to, masks_.data());
    }
    run<Masked>(bodies_[x.body], f, line, masks_.data());
    for (int r = 0; r < kCallResults; ++r) {
      if (x.at[r] == kNone) continue;
      const int kind = kind_number(kResultKinds[r]);
      copy<Masked>(here, kind, place_[f][kind][results_[f][r]], x.at[r]);
      if (trace_ != nullptr) [[unlikely]]
        record_output(x, 0, -1, line, r, masks_.data());
    }
    if (draws_[f]) {
      std::uint64_t* ticks = ticks_.data() + static_cast<std::size_t>(f) * width_;
      for (int l = 0; l < lanes_; ++l) ticks[l] += lane(masks_.data()[l / kChunk], l % kChunk);
    }
  }

  template <bool Masked>
  void copy(const Frame<Number>& here, int kind, std::uint32_t from, std::uint32_t to) {
    for (int chunk = 0; chunk < here.chunks; ++chunk) {
      const Mask<Number> active = here.active[chunk];
      if (Masked && !any(active)) continue;
      if (kind == 3) {
        here.set_index<Masked>(to, chunk, active, here.index(from, chunk));
      } else {
        const auto in = here.vector(from, chunk);
        const auto out = here.writer<Masked>(to, chunk, active);
        const int size = shape_.size(kind);
        for (int e = 0; e < size; ++e) out.set(e, in(e));
      }
    }
  }

  // ---- tracing ----

  void record_output(const Resolved& resolved, int f, int site, int line, int output, const Mask<Number>* active) {
    const Instruction& x = program_.functions[f][line];
    const OpInfo& op = kOps[x.op];
    if (op.outputs > 0)
      record(f, site, line, kind_number(op.slots[output]), x.args[output], resolved.at[output], active);
  }

  void record(int f, int site, int line, int kind, int number, std::uint32_t at, const Mask<Number>* active) {
    for (int l = 0; l < lanes_; ++l) {
      if (!lane(active[l / kChunk], l % kChunk)) continue;
      trace_->events.push_back({step_, l, site, line, f, kind, number, trace_->size()});
      for (int e = 0; e < shape_.size(kind); ++e)
        trace_->values.push_back(kind == 3 ? static_cast<double>(indices_.data()[at + l])
                                           : numbers_.data()[at + e * width_ + l]);
    }
  }

  void record_call(int line, int callee) {
    for (int l = 0; l < lanes_; ++l)
      if (lane(masks_.data()[l / kChunk], l % kChunk))
        trace_->events.push_back({step_, l, -1, line, 0, kCallEvent, callee, trace_->size()});
  }

  struct Start {
    int kind, number;
  };

  ProgramView program_{};
  MemoryShape shape_{};
  int lanes_ = 0, chunks_ = 0, width_ = 0;
  std::int64_t step_ = 0;
  std::array<std::array<std::array<std::int32_t, kMaxRegisters>, kKinds>, kMaxFunctions> place_;
  std::array<std::array<int, kCallResults>, kMaxFunctions> results_{};
  std::array<bool, kMaxFunctions> draws_{};
  Plan plan_;
  std::vector<Resolved> code_;                 // of GetAction
  std::vector<std::vector<Resolved>> bodies_;  // what calls run
  std::vector<Start> starts_;
  std::vector<SharedMatrix> shared_;
  std::array<int, kMaxRegisters> shared_of_{};  // by register; -1 where there is none
  int shared_count_ = 0;
  std::size_t number_count_ = 0, index_count_ = 0;
  std::int64_t action_ = 0, observation_ = -1;
  AlignedBuffer<double> numbers_, scratch_;
  AlignedBuffer<std::int64_t> indices_;
  std::vector<std::uint64_t> keys_, ticks_;
  AlignedBuffer<Mask<Number>> all_, masks_;  // the lanes there are; those where a call's condition holds
  std::vector<double> kept_;
  Trace* trace_ = nullptr;
};

}  // namespace arz
