// Cataclysmic Cartpole over lanes: a cart with a pole on a track that tilts, with a motor that weakens and joints that
// wear out while the episode runs (paper, "Cataclysmic Cartpole Environment" and its supplement).
//
//   [[M, m l cos th], [m l cos th, I + m l^2]] [x'', th''] =
//       [F - D x' + m l sin(th) th'^2 - M g sin(phi),  -D th' + m g l sin(th - phi)],    M = cart + pole
//
// th is the angle to the normal of the track, th - phi the angle to the vertical. When the track turns, th turns with
// it: the pole keeps its direction in the world, and only what is observed jumps. Semi-implicit Euler.
//
// Time: in step t (0, 1, ...) the policy sees the state, with the parameters of step t; the motor works, the state
// moves on, and the reward is that of the new state.
#pragma once

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "machine/aligned_buffer.hpp"
#include "machine/lanes.hpp"
#include "machine/random.hpp"
#include "tasks/status.hpp"

namespace arz {

// What changes in an episode. Each starts at its nominal value and goes to one drawn from its range.
struct ChangeRange {
  const char* name;
  double nominal, low, high;
};
inline constexpr double kDegree = 0.017453292519943295;
inline constexpr int kCartpoleParameters = 3;
inline constexpr int kNoiseSchedule = 3;  // the mean of the actuator noise follows a schedule of its own
inline constexpr ChangeRange kCartpoleChanges[] = {{"force", 1.0, 0.5, 2.0},
                                                   {"damping", 0.0, 0.0, 0.15},
                                                   {"track_angle", 0.0, -15.0 * kDegree, 15.0 * kDegree},
                                                   {"noise", 0.0, -2.0, 2.0}};
inline constexpr int kFirstChange = 200, kLastChange = 800;

// How parameters change: at once, over a window, or one of both, by the last bit of the episode's key.
enum class Change : std::uint8_t { sudden, continuous, both };
inline constexpr const char* kChangeNames[] = {"sudden", "continuous", "both"};
static_assert(std::size(kChangeNames) == static_cast<std::size_t>(Change::both) + 1);

struct CartpoleSettings {
  Change change = Change::sudden;
  bool changes[kCartpoleParameters] = {0, 0, 0};  // which parameters
  bool hides_positions = false;                   // the policy sees zeros for x and theta
  bool has_noise = false;                         // N(mean, sigma) is added to the action
  double noise_sigma = 0.0;
  double x_limit = 0.4;
  int steps = 1000;
};

// The physics works on one vector register of lanes at a time, so that its numbers stay in registers.
ARZ_INLINE Part magnitude(const Part& x) { return (Part)((IntegerPart)x & INT64_MAX); }
ARZ_INLINE Part larger(const Part& a, const Part& b) { return a > b ? a : b; }
ARZ_INLINE Part smaller(const Part& a, const Part& b) { return a < b ? a : b; }
ARZ_INLINE Part all(double value) { return value - Part{}; }

// sin and cos where |x| < 0.5, by Taylor's polynomial: the same bits on every machine, and vectorised.
ARZ_INLINE Part small_sin(const Part& x) {
  const Part y = x * x;
  Part sum = 1.0 / 39916800.0 - y * (1.0 / 6227020800.0);
  sum = 1.0 / 362880.0 - y * sum;
  sum = 1.0 / 5040.0 - y * sum;
  sum = 1.0 / 120.0 - y * sum;
  sum = 1.0 / 6.0 - y * sum;
  return x - x * (y * sum);
}
ARZ_INLINE Part small_cos(const Part& x) {
  const Part y = x * x;
  Part sum = 1.0 / 479001600.0 - y * (1.0 / 87178291200.0);
  sum = 1.0 / 3628800.0 - y * sum;
  sum = 1.0 / 40320.0 - y * sum;
  sum = 1.0 / 720.0 - y * sum;
  sum = 1.0 / 24.0 - y * sum;
  sum = 0.5 - y * sum;
  return 1.0 - y * sum;
}

class Cartpole {
 public:
  using Settings = CartpoleSettings;
  static constexpr int kObservations = 4, kActions = 1;
  static constexpr double kStep = 1.0 / 60.0, kAngleLimit = 12.0 * kDegree;  // s, rad
  // What can be told about a lane. The first are rows, in their order; those from kOfLastStep on tell of a step taken.
  static constexpr const char* kTruthNames[] = {"x",      "theta",   "x_dot",       "theta_dot",
                                                "force",  "damping", "track_angle", "noise",
                                                "action", "applied", "reward",      "theta_vertical"};
  static constexpr int kTruth = 12, kOfLastStep = 8;

  // Starts an episode in each lane; its key names everything random about it.
  void reset(const CartpoleSettings& settings, std::span<const std::uint64_t> keys) {
    settings_ = settings;
    lanes_ = static_cast<int>(keys.size());
    width_ = (lanes_ + kLanes - 1) / kLanes * kLanes;
    rows_.reserve(static_cast<std::size_t>(kRows) * width_);
    std::fill_n(rows_.data(), static_cast<std::size_t>(kRows) * width_, 0.0);
    keys_.assign(keys.begin(), keys.end());
    status_.assign(width_, Status::completed);
    time_ = 0;
    for (int l = 0; l < lanes_; ++l) start(l);
    set_parameters();
  }

  int lanes() const { return lanes_; }
  int time() const { return time_; }

  // Hands the observation to a policy.
  template <class Policy>
  void observe(Policy& policy) const {
    for (int e = 0; e < kObservations; ++e)
      if (double* to = policy.observation(e)) observe(e, to);
  }
  void observe(int entry, double* to) const {
    const bool hidden = settings_.hides_positions && entry < 2;
    const double* from = row(kX + entry);
    for (int first = 0; first < width_; first += kPart)  // a loop, not a call: there are few
      *reinterpret_cast<Part*>(to + first) = hidden ? Part{} : *reinterpret_cast<const Part*>(from + first);
  }

  // One step in all lanes; returns whether an episode ended. Of each action there is an array at a cache-line boundary,
  // one number per lane and padded to a whole chunk. A lane that has ended goes on, but nothing of it counts.
  bool advance(const double* const* given) {
    const double* actions = given[0];
    IntegerPart over{};
    const Rows rows{rows_.data(), width_};
    for (int first = 0; first < width_; first += kPart) over |= advance(rows, first, actions);
    std::int64_t ended = 0;
    for (int l = 0; l < kPart; ++l) ended |= over[l];
    if (ended != 0) end_episodes();
    ++time_;
    if (time_ >= settings_.steps) {
      for (int l = 0; l < lanes_; ++l)
        if (status_[l] == Status::running) status_[l] = Status::completed;
      return true;
    }
    if (time_ >= kFirstChange && time_ <= kLastChange) set_parameters();
    return ended != 0;
  }

  Status status(int lane) const { return status_[lane]; }
  double reward(int lane) const { return row(kReward)[lane]; }  // of the last step
  double total(int lane) const { return row(kTotal)[lane]; }    // of all steps

  // The state and the parameters of the step to come; and, of the step before, action, what the motor got, and reward.
  void truth(int lane, double* to) const {
    for (int i = 0; i < kTruth - 1; ++i) to[i] = row(i)[lane];
    to[kTruth - 1] = row(kTheta)[lane] - row(kTrackAngle)[lane];
  }
  void last_step(int lane, double* to) const {
    for (int i = kOfLastStep; i < kTruth - 1; ++i) to[i] = row(i)[lane];
  }

  // Goes on with these lanes only, in this (ascending) order.
  void keep(std::span<const int> kept) {
    const int old_width = width_;
    lanes_ = static_cast<int>(kept.size());
    width_ = (lanes_ + kLanes - 1) / kLanes * kLanes;
    for (int r = 0; r < kRows; ++r)
      for (int l = 0; l < lanes_; ++l) rows_.data()[r * width_ + l] = rows_.data()[r * old_width + kept[l]];
    for (int l = 0; l < lanes_; ++l) {
      status_[l] = status_[kept[l]];
      keys_[l] = keys_[kept[l]];
    }
    std::fill(status_.begin() + lanes_, status_.end(), Status::completed);
  }

 private:
  // One number per lane each. A schedule is (target - nominal, first step, last step, 1 / their distance).
  enum Row {
    kX,
    kTheta,
    kXDot,
    kThetaDot,
    kForce,
    kDamping,
    kTrackAngle,
    kNoise,
    kAction,
    kApplied,
    kReward,
    kTotal,
    kSinTrack,
    kRunning,
    kSchedules,
    kRows = kSchedules + 4 * 4
  };

  static constexpr double kCart = 1.0, kPole = 0.1, kLength = 0.5, kInertia = 0.00835, kGravity = 9.8, kMotor = 10.0,
                          kStart = 0.05;

  double* row(int r) { return rows_.data() + r * width_; }
  const double* row(int r) const { return rows_.data() + r * width_; }
  // A local view of the rows: a store into them could change a member, as far as the compiler can tell.
  struct Rows {
    double* const data;
    const int width;

    // The lanes from `first` on, as many as a vector register holds.
    ARZ_INLINE Part& at(int r, int first) const { return *reinterpret_cast<Part*>(data + r * width + first); }
  };

  // All numbers are drawn whatever the variant, so that variants share their starts and schedules.
  void start(int lane) {
    Stream stream(keys_[lane]);
    const bool is_odd = keys_[lane] & 1;
    const bool ramps = settings_.change == Change::continuous || (settings_.change == Change::both && is_odd);
    status_[lane] = Status::running;
    row(kRunning)[lane] = 1.0;
    for (int r = kX; r <= kThetaDot; ++r) row(r)[lane] = stream.uniform(-kStart, kStart);
    for (int p = 0; p < 4; ++p) {
      const ChangeRange& range = kCartpoleChanges[p];
      const double target = stream.uniform(range.low, range.high);
      const int one = kFirstChange + stream.below(kLastChange - kFirstChange + 1);
      const int other = kFirstChange + stream.below(kLastChange - kFirstChange + 1);
      const bool ramp = ramps || p == kNoiseSchedule;
      const int first = ramp ? std::min(one, other) : one, last = ramp ? std::max(one, other) : one;
      row(kForce + p)[lane] = range.nominal;
      double* schedule = row(kSchedules + 4 * p) + lane;
      schedule[0] = is_changing(p) ? target - range.nominal : 0.0;
      schedule[1 * width_] = first;
      schedule[2 * width_] = last;
      schedule[3 * width_] = last > first ? 1.0 / (last - first) : 0.0;
    }
  }

  bool is_changing(int p) const { return p == kNoiseSchedule ? settings_.has_noise : settings_.changes[p]; }

  // nominal + (target - nominal) * (0 up to the first step, then in a straight line up to 1 at the last).
  ARZ_INLINE Part scheduled(const Rows& rows, int p, int first) const {
    const int schedule = kSchedules + 4 * p;
    const Part now = all(time_);
    const Part passed = larger(all(0.0), (now - rows.at(schedule + 1, first)) * rows.at(schedule + 3, first));
    const Part fraction = now < rows.at(schedule + 2, first) ? passed : all(1.0);
    return kCartpoleChanges[p].nominal + rows.at(schedule, first) * fraction;
  }

  void set_parameters() {
    const Rows rows{rows_.data(), width_};
    for (int p : {0, 1, kNoiseSchedule})
      if (is_changing(p))
        for (int first = 0; first < width_; first += kPart) rows.at(kForce + p, first) = scheduled(rows, p, first);
    if (!is_changing(2)) return;
    for (int first = 0; first < width_; first += kPart) {
      const Part before = rows.at(kTrackAngle, first), after = scheduled(rows, 2, first);
      rows.at(kTheta, first) += after - before;
      rows.at(kTrackAngle, first) = after;
      rows.at(kSinTrack, first) = small_sin(after);
    }
  }

  Part noise(int first) const {
    elementary::Vector one = {}, other = {};
    for (int l = 0; l < kPart && first + l < lanes_; ++l) {
      Stream stream(mix(keys_[first + l] + kGolden * (time_ + 1)) ^ 0x6E6F697365ull);
      one[l] = stream.uniform();
      other[l] = stream.uniform();
    }
    const Part mean = *reinterpret_cast<const Part*>(row(kNoise) + first);
    return mean + settings_.noise_sigma * normal_of(one, other);
  }

  // One step in some lanes; returns which episodes ended in it.
  ARZ_INLINE IntegerPart advance(const Rows& rows, int first, const double* actions) {
    const Part action = *reinterpret_cast<const Part*>(actions + first);
    const IntegerPart works = magnitude(action) < std::numeric_limits<double>::infinity();
    const Part wanted = settings_.has_noise ? action + noise(first) : action;
    const Part applied = smaller(larger(wanted, all(-1.0)), all(1.0));
    const Part damping = rows.at(kDamping, first), track = rows.at(kTrackAngle, first);
    Part x = rows.at(kX, first), theta = rows.at(kTheta, first), x_dot = rows.at(kXDot, first),
         theta_dot = rows.at(kThetaDot, first);

    constexpr double mass = kCart + kPole, moment = kPole * kLength, inertia = kInertia + kPole * kLength * kLength;
    const Part coupling = moment * small_cos(theta);
    const Part push = kMotor * rows.at(kForce, first) * applied - damping * x_dot +
                      moment * small_sin(theta) * theta_dot * theta_dot - mass * kGravity * rows.at(kSinTrack, first);
    const Part turn = moment * kGravity * small_sin(theta - track) - damping * theta_dot;
    const Part scale = kStep / (mass * inertia - coupling * coupling);
    x_dot += (inertia * push - coupling * turn) * scale;
    theta_dot += (mass * turn - coupling * push) * scale;
    x += kStep * x_dot;
    theta += kStep * theta_dot;

    const Part tilt = magnitude(theta - track);
    const Part upright = larger(all(0.0), 1.0 - tilt * (1.0 / kAngleLimit));
    const Part reward = works ? upright * upright : all(0.0);
    rows.at(kX, first) = x;
    rows.at(kTheta, first) = theta;
    rows.at(kXDot, first) = x_dot;
    rows.at(kThetaDot, first) = theta_dot;
    rows.at(kAction, first) = action;
    rows.at(kApplied, first) = applied;
    rows.at(kReward, first) = reward;
    rows.at(kTotal, first) += reward;

    const IntegerPart over = ~works | (tilt > kAngleLimit) | (magnitude(x) > settings_.x_limit);
    return over & (rows.at(kRunning, first) > 0.0);
  }

  // Why the episodes ended that the last step ended.
  void end_episodes() {
    for (int l = 0; l < lanes_; ++l) {
      if (status_[l] != Status::running) continue;
      if (!std::isfinite(row(kAction)[l]))
        status_[l] = Status::action_not_finite;
      else if (std::fabs(row(kTheta)[l] - row(kTrackAngle)[l]) > kAngleLimit)
        status_[l] = Status::fell;
      else if (std::fabs(row(kX)[l]) > settings_.x_limit)
        status_[l] = Status::left_track;
      row(kRunning)[l] = status_[l] == Status::running;
    }
  }

  CartpoleSettings settings_;
  int lanes_ = 0, width_ = 0, time_ = 0;
  AlignedBuffer<double> rows_;
  std::vector<std::uint64_t> keys_;
  std::vector<Status> status_;
};

}  // namespace arz
