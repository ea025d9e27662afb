#include "machine/program_codec.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>

#include "machine/liveness.hpp"
#include "threads/cancellation.hpp"

namespace arz {

namespace {

constexpr std::size_t kWordBits = 64;

class Packer {
 public:
  // Room for so many bytes more; there must be some for all that is put.
  void reserve(std::size_t more) {
    if (bytes_.size() - end_ < more) bytes_.resize(2 * bytes_.size() + more);
  }
  template <class Value>
  void put(Value value) {
    put_all(&value, 1);
  }
  template <class Value>
  void put_all(const Value* values, std::size_t count) {
    std::memcpy(bytes_.data() + end_, values, count * sizeof(Value));
    end_ += count * sizeof(Value);
  }
  std::vector<std::uint8_t> done() {
    bytes_.resize(end_);
    return std::move(bytes_);
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t end_ = 0;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  bool is_at_end() const { return left_.empty(); }
  std::size_t left() const { return left_.size(); }

  template <class Value>
  Value take() {
    Value value;
    take_all(&value, 1);
    return value;
  }
  template <class Value>
  void take_all(Value* values, std::size_t count) {
    if (count * sizeof(Value) > left_.size()) throw std::invalid_argument("packed programs end too soon");
    std::memcpy(values, left_.data(), count * sizeof(Value));
    left_ = left_.subspan(count * sizeof(Value));
  }

 private:
  std::span<const std::uint8_t> left_;
};

void write(const ProgramView& program, Packer& to) {
  std::size_t most = 1 + kMaxFunctions * sizeof(std::uint32_t) + program.image.size() * sizeof(double);
  most += (program.image.size() / kWordBits + 1) * sizeof(std::uint64_t);
  for (const auto& function : program.functions) most += function.size() * sizeof(Instruction);
  to.reserve(most);
  to.put(static_cast<std::uint8_t>(program.cadfs));
  for (int f = 0; f <= program.cadfs; ++f) {
    to.put(static_cast<std::uint32_t>(program.functions[f].size()));
    for (const Instruction& line : program.functions[f]) {
      to.put(line.op);
      to.put_all(line.args, kOps[line.op].slot_count);
      to.put_all(line.constants, kOps[line.op].constants);
    }
  }
  const std::span<const double> image = program.image;
  for (std::size_t word = 0; word < image.size(); word += kWordBits) {
    const std::size_t end = std::min(image.size(), word + kWordBits);
    std::uint64_t present = 0;
    double values[kWordBits];
    std::size_t count = 0;
    for (std::size_t i = word; i < end; ++i) {
      const std::uint64_t is_there = std::bit_cast<std::uint64_t>(image[i]) != 0;  // minus zero is
      present |= is_there << (i - word);
      values[count] = image[i];
      count += is_there;
    }
    to.put(present);
    to.put_all(values, count);
  }
}

void read(Unpacker& from, Genome& program) {
  program.cadfs = from.take<std::uint8_t>();
  if (program.cadfs > kMaxCadfs) throw std::invalid_argument("a packed program has too many CADFs");
  for (auto& function : program.functions) function.clear();
  for (int f = 0; f <= program.cadfs; ++f) {
    const auto lines = from.take<std::uint32_t>();
    if (lines > from.left() / sizeof(Instruction::op)) throw std::invalid_argument("packed programs end too soon");
    for (std::uint32_t line = 0; line < lines; ++line) {
      Instruction& x = program.functions[f].emplace_back();
      x.op = from.take<std::uint16_t>();
      if (x.op >= kOpCount) throw std::invalid_argument("a packed program has an op that does not exist");
      from.take_all(x.args, kOps[x.op].slot_count);
      from.take_all(x.constants, kOps[x.op].constants);
    }
  }
  std::vector<double>& image = program.image;
  image.assign(program.shape.image_size(), 0.0);
  for (std::size_t word = 0; word < image.size(); word += kWordBits)
    for (auto present = from.take<std::uint64_t>(); present != 0; present &= present - 1) {
      const std::size_t i = word + std::countr_zero(present);
      const auto value = from.take<double>();
      if (i >= image.size()) throw std::invalid_argument("a packed program has too many start values");
      image[i] = value;
    }
}

}  // namespace

std::vector<std::uint8_t> encoded(const Batch& batch, std::size_t first, std::size_t last) {
  EffectiveForm effective;
  Packer packer;
  for (std::size_t p = first; p < last; ++p) {
    Cancellation::check();
    write(effective.of(batch.view(p)), packer);
  }
  return packer.done();
}

Batch decoded(const MemoryShape& shape, std::span<const std::uint8_t> bytes) {
  auto store = std::make_shared<Store>(shape);
  Genome program;
  program.shape = shape;
  for (Unpacker unpacker(bytes); !unpacker.is_at_end();) {
    Cancellation::check();
    read(unpacker, program);
    if (const std::string what = check_shape(shape, program.cadfs); !what.empty()) throw std::invalid_argument(what);
    if (const std::string what = check_program(program.view()); !what.empty()) throw std::invalid_argument(what);
    store->append(program.view());
  }
  Batch batch(shape);
  batch.append(std::move(store));
  return batch;
}

}  // namespace arz
