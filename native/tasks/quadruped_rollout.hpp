// Policies x Laikago episodes -> how each went, without doing anything twice.
//
// Until a leg breaks, all episodes of a policy are one and the same. So a policy starts with one robot, its trunk; at
// each step at which a leg breaks a robot branches off, with the policy's memory, and goes on without the leg. If
// the trunk falls, all episodes that have not branched off yet end like it. (A policy that draws random numbers has
// one trunk for each episode.)
//
// Robots of several policies move side by side, in slots without gaps: when one ends, the last takes its place, and a
// new policy starts as soon as there is room. Where little work comes at a time, robots of one piece of work move on
// beside those of the next (SharedQuadrupedRollout). Nothing of this changes a result: robots do not touch each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "tasks/quadruped.hpp"
#include "tasks/rollout.hpp"

namespace arz {

struct QuadrupedOutcome {
  Outcome outcome;
  double distance;  // forward
};

// The paper's fitness constraint: a policy whose episodes are longer than `length` and return less than `total`, on
// average, is worth nothing. Its episodes may stop as soon as that is certain (a step returns at most 1), and then have
// the length and the return that they had until then, which still break the constraint.
struct Constraint {
  double length = 1e300, total = -1e300;
};

// What is to be done, and where the results go: outcomes[policy][episode].
template <class Policy>
struct QuadrupedWork {
  QuadrupedSettings settings;
  std::vector<std::uint64_t> keys;
  std::size_t policies;
  std::function<void(Policy&, std::size_t)> load;  // load(policy, number) loads one with one lane
  QuadrupedOutcome* outcomes;
  Constraint constraint;
  bool shares_trunk = true;  // else every episode has its own
  int crowd = 32;            // new policies start while there are fewer robots

  std::vector<Break> breaks = breaks_of(settings, keys);
  std::atomic<std::size_t> next = 0;                       // the first policy that nobody has taken yet
  std::atomic<std::size_t> open = policies * keys.size();  // episodes that have not ended

  bool has_more() const { return next < policies; }
};

// What one thread works with; reused, so that little is allocated in between.
template <class Policy, class Robots>
class QuadrupedRollout {
 public:
  explicit QuadrupedRollout(Robots robots) : robots_(std::move(robots)) {}

  using Work = QuadrupedWork<Policy>;

  // Takes policies of the work until none is left.
  void run(Work& work) {
    run(work, [&] { return work.has_more() ? &work : nullptr; });
  }
  // Until this work is done, or others have taken what is left of it. next() gives a work that has policies left, this
  // or another, or null; robots of other works stay, and move on when one of these is run.
  template <class Next>
  void run(const Work& work, Next next) {
    while (work.open > 0) {
      admit(next);
      if (owners_.empty()) return;
      for (auto& runner : runners_)
        if (runner->is_busy()) act(*runner);
      robots_.advance(static_cast<int>(owners_.size()));
      for (auto& runner : runners_)
        if (runner->is_busy()) judge(*runner);
    }
  }

 private:
  struct Lane {
    int slot;
    Quadruped episode;
    std::vector<int> episodes;  // whose robot this is
  };
  // A policy and its robots; lane 0 is the trunk as long as there are episodes to come.
  struct Runner {
    Policy policy;
    Work* work;
    std::size_t number;
    int time;
    std::vector<Lane> lanes;
    std::vector<int> to_come;  // episodes whose leg is whole, the next to break last

    double ended = 0.0, done_total = 0.0, done_length = 0.0;  // episodes that have ended, and their sums

    bool is_busy() const { return !lanes.empty(); }
  };
  struct Owner {
    Runner* runner;
    int lane;
  };

  // ---- starting ----

  template <class Next>
  void admit(Next next) {
    for (;;) {
      Work* work = waiting_.empty() ? next() : waiting_.back().work;
      if (work == nullptr || static_cast<int>(owners_.size()) >= work->crowd) return;
      if (waiting_.empty()) {
        const std::size_t number = work->next.fetch_add(1);
        if (number >= work->policies) continue;  // another thread was faster
        Runner& runner = idle();
        work->load(runner.policy, number);
        std::vector<int> all(work->keys.size());
        std::iota(all.begin(), all.end(), 0);
        if (work->shares_trunk && !runner.policy.draws()) {
          start(runner, *work, number, std::move(all));
          continue;
        }
        for (int episode : all) waiting_.push_back({work, number, episode});
        if (waiting_.empty()) continue;
      }
      const std::size_t number = waiting_.back().number;
      const int episode = waiting_.back().episode;
      waiting_.pop_back();
      Runner& runner = idle();
      work->load(runner.policy, number);
      start(runner, *work, number, {episode});
    }
  }

  Runner& idle() {
    for (auto& runner : runners_)
      if (!runner->is_busy()) return *runner;
    runners_.push_back(std::make_unique<Runner>());
    return *runners_.back();
  }

  void start(Runner& runner, Work& work, std::size_t number, std::vector<int> episodes) {
    if (episodes.empty()) return;
    const std::uint64_t key = policy_key(work.keys[episodes.front()]);
    runner.policy.reset({&key, 1});
    runner.work = &work;
    runner.number = number;
    runner.time = 0;
    runner.ended = runner.done_total = runner.done_length = 0.0;
    std::sort(episodes.begin(), episodes.end(), [&breaks = work.breaks](int a, int b) {
      return std::pair(-breaks[a].step, breaks[a].leg) < std::pair(-breaks[b].step, breaks[b].leg);
    });
    runner.to_come = std::move(episodes);
    runner.lanes.clear();
    robots_.start(add_lane(runner, {}));
  }

  // A new lane and its robot's slot.
  int add_lane(Runner& runner, Quadruped episode) {
    const int slot = static_cast<int>(owners_.size());
    robots_.reserve(slot + 1);
    owners_.push_back({&runner, static_cast<int>(runner.lanes.size())});
    runner.lanes.push_back({slot, episode, {}});
    return slot;
  }

  // ---- running ----

  const Break& next_break(const Runner& runner) const { return runner.work->breaks[runner.to_come.back()]; }

  bool breaks_now(const Runner& runner) const {
    return !runner.to_come.empty() && next_break(runner).step <= runner.time;
  }

  void branch(Runner& runner) {
    const int leg = next_break(runner).leg;
    std::vector<int> same;
    while (breaks_now(runner) && next_break(runner).leg == leg) {
      same.push_back(runner.to_come.back());
      runner.to_come.pop_back();
    }
    int lane = 0;  // the last branch needs no trunk any more
    if (!runner.to_come.empty()) {
      lane = static_cast<int>(runner.lanes.size());
      robots_.copy(runner.lanes[0].slot, add_lane(runner, runner.lanes[0].episode));
      runner.policy.resize(lane + 1);
      runner.policy.copy_lane(0, lane);
    }
    robots_.break_leg(runner.lanes[lane].slot, leg, runner.work->settings.torque_left[leg]);
    runner.lanes[lane].episodes = std::move(same);
  }

  void act(Runner& runner) {
    while (breaks_now(runner)) branch(runner);
    const int count = static_cast<int>(runner.lanes.size());
    for (int e = 0; e < Quadruped::kObservations; ++e) {
      double* to = runner.policy.observation(e);
      if (to == nullptr) break;
      const double error = runner.work->settings.sensor_error(runner.time, e);
      for (int l = 0; l < count; ++l) to[l] = robots_.state(runner.lanes[l].slot, e) + error;
    }
    runner.policy.step();
    const std::ptrdiff_t stride = runner.policy.action(1) - runner.policy.action(0);
    for (int l = 0; l < count; ++l)
      runner.lanes[l].episode.act(robots_, runner.lanes[l].slot, runner.policy.action(0) + l, stride);
  }

  void judge(Runner& runner) {
    ++runner.time;
    const bool is_over = runner.time >= runner.work->settings.steps;
    for (int l = static_cast<int>(runner.lanes.size()) - 1; l >= 0; --l) {
      Lane& lane = runner.lanes[l];
      lane.episode.judge(robots_, lane.slot);
      if (is_over) lane.episode.complete();
      if (lane.episode.status() != Status::running) end(runner, l);
    }
    if (is_worthless(runner))
      for (int l = static_cast<int>(runner.lanes.size()) - 1; l >= 0; --l) end(runner, l);
  }

  // Whether it is certain that the policy breaks the constraint. With one trunk for each episode that is not known.
  bool is_worthless(const Runner& runner) const {
    const Constraint& constraint = runner.work->constraint;
    if (!runner.is_busy() || runner.time <= constraint.length) return false;
    double most = runner.done_total, least_length = runner.done_length;
    double count = 0.0;
    for (std::size_t l = 0; l < runner.lanes.size(); ++l) {
      const double share = static_cast<double>(runner.lanes[l].episodes.size() + (l == 0 ? runner.to_come.size() : 0));
      most += share * (runner.lanes[l].episode.total() + (runner.work->settings.steps - runner.time));
      least_length += share * runner.time;
      count += share;
    }
    const double all = static_cast<double>(runner.work->keys.size());
    return count + runner.ended == all && least_length > constraint.length * all &&
           most < constraint.total * all - 1e-6;
  }

  void end(Runner& runner, int l) {
    Lane& lane = runner.lanes[l];
    if (l == 0 && !runner.to_come.empty()) std::swap(lane.episodes, runner.to_come);
    const Outcome outcome{lane.episode.total(), runner.time, lane.episode.status()};
    const double distance = robots_.state(lane.slot, Quadruped::kPosition);
    const double share = static_cast<double>(lane.episodes.size());
    runner.ended += share;
    runner.done_total += share * outcome.total;
    runner.done_length += share * outcome.length;
    Work& work = *runner.work;
    for (int episode : lane.episodes) work.outcomes[runner.number * work.keys.size() + episode] = {outcome, distance};
    work.open -= lane.episodes.size();
    release(lane.slot);
    const int last = static_cast<int>(runner.lanes.size()) - 1;
    if (l != last) {
      runner.policy.copy_lane(last, l);
      runner.lanes[l] = std::move(runner.lanes[last]);
      owners_[runner.lanes[l].slot].lane = l;
    }
    runner.lanes.pop_back();
    if (last > 0) runner.policy.resize(last);
  }

  // The robot in the last slot moves here.
  void release(int slot) {
    const int last = static_cast<int>(owners_.size()) - 1;
    if (slot != last) {
      robots_.copy(last, slot);
      owners_[slot] = owners_[last];
      owners_[slot].runner->lanes[owners_[slot].lane].slot = slot;
    }
    owners_.pop_back();
  }

  Robots robots_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<Owner> owners_;  // of each slot
  struct Waiting {
    Work* work;
    std::size_t number;
    int episode;
  };
  std::vector<Waiting> waiting_;
};

// For one thread's worth of work that comes in pieces, from several callers. One of them at a time moves the robots of
// all, until its own work is done; then the next goes on with those that are still there. So robots move side by side
// to the end of the last piece, not of each.
template <class Policy, class Robots>
class SharedQuadrupedRollout {
 public:
  using Work = QuadrupedWork<Policy>;

  explicit SharedQuadrupedRollout(Robots robots) : rollout_(std::move(robots)) {}

  // Until the work is done. Should there be no memory left, the process ends: others could not go on with half a step.
  void run(Work& work, std::mutex& turn) noexcept {
    {
      const std::lock_guard lock(list_);
      works_.push_back(&work);
    }
    {
      const std::lock_guard lock(turn);
      rollout_.run(work, [this] { return next(); });
    }
    const std::lock_guard lock(list_);
    std::erase(works_, &work);
  }

 private:
  Work* next() {
    const std::lock_guard lock(list_);
    const auto found = std::find_if(works_.begin(), works_.end(), [](const Work* work) { return work->has_more(); });
    return found == works_.end() ? nullptr : *found;
  }

  QuadrupedRollout<Policy, Robots> rollout_;
  std::mutex list_;
  std::vector<Work*> works_;
};

// One episode step by step, as it is: rows[step] = state, action (clipped), reward, and 1 for each leg that works.
inline constexpr int kQuadrupedTruth = Quadruped::kObservations + Quadruped::kActions + 1 + physics::laikago::kLegs;

template <class Policy, class Robots>
void record(Policy& policy, Robots& robots, const QuadrupedSettings& settings, std::uint64_t key, double* rows) {
  const Break breaks = break_of(settings, key);
  const std::uint64_t own = policy_key(key);
  policy.reset({&own, 1});
  robots.reserve(1);
  robots.start(0);
  Quadruped episode;
  for (int time = 0; time < settings.steps && episode.status() == Status::running; ++time) {
    double* row = rows + static_cast<std::size_t>(time) * kQuadrupedTruth;
    if (breaks.leg >= 0 && time == breaks.step) robots.break_leg(0, breaks.leg, settings.torque_left[breaks.leg]);
    for (int e = 0; e < Quadruped::kObservations; ++e) {
      *row++ = robots.state(0, e);
      if (double* to = policy.observation(e)) *to = robots.state(0, e) + settings.sensor_error(time, e);
    }
    policy.step();
    episode.act(robots, 0, policy.action(0), policy.action(1) - policy.action(0));
    robots.advance(1);
    episode.judge(robots, 0);
    for (int j = 0; j < Quadruped::kActions; ++j) *row++ = episode.action(j);
    *row++ = episode.reward();
    for (int leg = 0; leg < physics::laikago::kLegs; ++leg) *row++ = leg != breaks.leg || time < breaks.step;
  }
}

}  // namespace arz
