// An order in which groups can run, kept while they grow and merge: whoever waits for another one
// stands behind it (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic
// graphs"). A question or a change looks at what stands between two groups, not at all of them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace pijit {

class GroupOrder {
 public:
  // A group that waits for none, behind all others; they are numbered from 0 on.
  int add() {
    const int u = static_cast<int>(place_.size());
    place_.push_back(u);
    of_.push_back(u);
    before_.emplace_back();
    behind_.emplace_back();
    mark_.push_back(0);
    return u;
  }
  // Does `group` wait for `other`, directly or not? Where the answer would take a look at very many
  // groups it is yes, which only keeps these two apart.
  bool waits(int group, int other) {
    group = find(group), other = find(other);
    if (group == other || place_[at(group)] < place_[at(other)]) return false;
    bool met = false;
    const size_t seen = reach(group, before_, [&](int u) {
      met |= u == other;
      return !met && place_[at(u)] > place_[at(other)];
    });
    return met || seen > kFar;
  }
  // From now on `group` waits for `other`, which does not wait for it.
  void wait(int group, int other) {
    group = find(group), other = find(other);
    if (group == other) return;
    before_[at(group)].push_back(other);
    behind_[at(other)].push_back(group);
    const int first = place_[at(group)], last = place_[at(other)];
    if (last < first) return;
    // What waits for `group` goes behind what `other` waits for, in the places that they have.
    reach(
        group, behind_, [&](int u) { return place_[at(u)] <= last; }, SIZE_MAX);
    std::vector<int> later = std::move(found_);
    reach(
        other, before_, [&](int u) { return place_[at(u)] >= first; }, SIZE_MAX);
    std::vector<int> moved = std::move(found_);
    const auto by_place = [&](int a, int b) { return place_[at(a)] < place_[at(b)]; };
    std::sort(moved.begin(), moved.end(), by_place);
    std::sort(later.begin(), later.end(), by_place);
    moved.insert(moved.end(), later.begin(), later.end());
    std::vector<int> places;
    for (int u : moved) places.push_back(place_[at(u)]);
    std::sort(places.begin(), places.end());
    for (size_t k = 0; k < moved.size(); ++k) place_[at(moved[k])] = places[k];
  }
  // `from` becomes a part of `into`; neither waits for the other.
  void merge(int into, int from) {
    into = find(into), from = find(from);
    const std::vector<int> before = before_[at(from)], behind = behind_[at(from)];
    for (int u : before) wait(into, u);
    for (int u : behind) wait(u, into);
    of_[at(from)] = into;
    before_[at(from)].clear();
    behind_[at(from)].clear();
  }
  // Groups that all questions and changes have looked at, together.
  size_t looked_at() const { return looked_at_; }

 private:
  static constexpr size_t kFar = 1024;
  static size_t at(int u) { return static_cast<size_t>(u); }
  int find(int u) {
    while (of_[at(u)] != u) u = of_[at(u)] = of_[at(of_[at(u)])];
    return u;
  }
  // From a group along its edges, through all that `enters` lets in: how many these are, with the
  // first. They are found_.
  template <class F>
  size_t reach(int from, const std::vector<std::vector<int>>& edges, F enters, size_t most = kFar) {
    ++round_;
    found_.assign(1, from);
    mark_[at(from)] = round_;
    for (size_t k = 0; k < found_.size() && found_.size() <= most; ++k)
      for (int to : edges[at(found_[k])]) {
        to = find(to);
        if (mark_[at(to)] == round_ || !enters(to)) continue;
        mark_[at(to)] = round_;
        found_.push_back(to);
      }
    looked_at_ += found_.size();
    return found_.size();
  }

  std::vector<int> place_;                         // by group
  std::vector<int> of_;                            // the group that it is a part of, mostly itself
  std::vector<std::vector<int>> before_, behind_;  // what it waits for, what waits for it
  std::vector<unsigned> mark_;                     // by group: the round in which it was found last
  unsigned round_ = 0;
  std::vector<int> found_;
  size_t looked_at_ = 0;
};

}  // namespace pijit
