// The minimum cut between two devices. The only file that knows Boost.Graph.
//
// A vertex on the source's side is an item on `a`. A value that several items read has a vertex of
// its own for each direction, so that it is paid once however many of them lie across the cut.
// g++ 12 sees a boost::optional in the library's edge iterators as read before it is set.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

#include "core/place/assign.h"

namespace ferrule {
namespace {

namespace bg = boost;
using Traits = bg::adjacency_list_traits<bg::vecS, bg::vecS, bg::directedS>;
using Vertex = bg::property<
    bg::vertex_index_t, long,
    bg::property<bg::vertex_color_t, bg::default_color_type,
                 bg::property<bg::vertex_distance_t, long,
                              bg::property<bg::vertex_predecessor_t, Traits::edge_descriptor>>>>;
using Edge = bg::property<bg::edge_capacity_t, int64_t,
                          bg::property<bg::edge_residual_capacity_t, int64_t,
                                       bg::property<bg::edge_reverse_t, Traits::edge_descriptor>>>;
using Network = bg::adjacency_list<bg::vecS, bg::vecS, bg::directedS, Vertex, Edge>;

constexpr int64_t kForever = INT64_MAX / 4;
// Where an item is, if it is no vertex of the cut.
constexpr int64_t kOnA = -1, kOnB = -2, kElsewhere = -3;

class Cut {
 public:
  Cut(const Problem& problem, int32_t a, int32_t b, Devices& devices)
      : problem_(problem), sides_{a, b}, devices_(devices), where_(devices.size(), kElsewhere) {}

  bool run() {
    find_vertices();
    if (free_.empty()) return false;
    for (const Traffic& traffic : problem_.traffic) add(traffic);
    return move(far_side());
  }

 private:
  struct Link {
    int64_t from, to, ps;
  };

  void find_vertices() {
    for (uint32_t item = 0; item < devices_.size(); ++item) {
      const int32_t device = devices_[item];
      if (device != sides_[0] && device != sides_[1]) continue;
      where_[item] = device == sides_[0] ? kOnA : kOnB;
      if (!problem_.may_run(item, sides_[0]) || !problem_.may_run(item, sides_[1])) continue;
      where_[item] = vertex();
      free_.push_back(item);
      for (int side : {0, 1}) alone_[side].back() = problem_.price_ps(item, sides_[side]);
    }
  }

  int64_t vertex() {
    alone_[0].push_back(0), alone_[1].push_back(0);
    return int64_t(alone_[0].size()) - 1;
  }

  void add(const Traffic& traffic) {
    bool elsewhere = false, here = false;  // readers on a third device; on these two
    for (uint32_t reader : traffic.readers)
      (where_[reader] == kElsewhere ? elsewhere : here) = true;
    const int64_t maker = traffic.maker == kHost ? kElsewhere : where_[size_t(traffic.maker)];
    if (!here && maker < 0) return;
    for (int side : {0, 1}) {
      const int32_t from = sides_[side], to = sides_[1 - side];
      if (maker == kElsewhere) {
        if (traffic.maker == kHost && problem_.lanes[size_t(to)].host_memory) continue;
        across(side, side == 0 ? kOnA : kOnB, traffic, problem_.enter_ps(traffic, to));
        continue;
      }
      const int64_t leave = problem_.leave_ps(traffic, from);
      const bool leaves_anyway =
          elsewhere || (traffic.host_reads && !problem_.lanes[size_t(from)].host_memory);
      if (leaves_anyway && maker >= 0) alone_[side][size_t(maker)] += leave;
      across(side, maker, traffic, problem_.enter_ps(traffic, to) + (leaves_anyway ? 0 : leave));
    }
  }

  // Costs `ps` if the maker is on `side` and any reader on the other one.
  void across(int side, int64_t maker, const Traffic& traffic, int64_t ps) {
    const int64_t same = side == 0 ? kOnA : kOnB, other = side == 0 ? kOnB : kOnA;
    if (ps == 0 || maker == other) return;
    std::vector<int64_t> readers;
    for (uint32_t reader : traffic.readers) {
      const int64_t at = where_[reader];
      if (at == other) {  // always paid from here
        if (maker >= 0) alone_[side][size_t(maker)] += ps;
        return;
      }
      if (at >= 0 && at != maker) readers.push_back(at);
    }
    if (readers.empty()) return;
    if (readers.size() == 1 && maker == same) {
      alone_[1 - side][size_t(readers[0])] += ps;
      return;
    }
    if (readers.size() == 1) return link(side, maker, readers[0], ps);
    const int64_t any = vertex();  // on the other side if any reader is
    for (int64_t reader : readers) link(side, any, reader, kForever);
    if (maker == same)
      alone_[1 - side][size_t(any)] += ps;
    else
      link(side, maker, any, ps);
  }

  // Costs `ps` if `near` is on `side` and `far` is not.
  void link(int side, int64_t near, int64_t far, int64_t ps) {
    links_.push_back(side == 0 ? Link{near, far, ps} : Link{far, near, ps});
  }

  // By vertex: whether it must be on b.
  std::vector<bool> far_side() const {
    const size_t n = alone_[0].size(), source = n, sink = n + 1;
    Network network(n + 2);
    const auto connect = [&](size_t from, size_t to, int64_t ps) {
      const auto there = bg::add_edge(from, to, network).first;
      const auto back = bg::add_edge(to, from, network).first;
      bg::put(bg::edge_capacity, network, there, ps), bg::put(bg::edge_capacity, network, back, 0);
      bg::put(bg::edge_reverse, network, there, back);
      bg::put(bg::edge_reverse, network, back, there);
    };
    for (size_t v = 0; v < n; ++v) {
      const int64_t on_a = alone_[0][v], on_b = alone_[1][v], both = std::min(on_a, on_b);
      if (on_b > both) connect(source, v, on_b - both);
      if (on_a > both) connect(v, sink, on_a - both);
    }
    for (const Link& l : links_) connect(size_t(l.from), size_t(l.to), l.ps);
    bg::boykov_kolmogorov_max_flow(network, source, sink);
    // Whatever still reaches the sink is on b in every minimum cut; all else may be on a.
    std::vector<bool> far(n + 2);
    std::vector<size_t> stack = {sink};
    far[sink] = true;
    while (!stack.empty()) {
      const size_t to = stack.back();
      stack.pop_back();
      for (auto [edge, end] = bg::out_edges(to, network); edge != end; ++edge) {
        const auto back = bg::get(bg::edge_reverse, network, *edge);
        const size_t from = bg::target(*edge, network);
        if (far[from] || bg::get(bg::edge_residual_capacity, network, back) == 0) continue;
        far[from] = true;
        stack.push_back(from);
      }
    }
    return far;
  }

  bool move(const std::vector<bool>& far) {
    bool moved = false;
    for (uint32_t item : free_) {
      const int32_t device = sides_[far[size_t(where_[item])] ? 1 : 0];
      moved |= devices_[item] != device;
      devices_[item] = device;
    }
    return moved;
  }

  const Problem& problem_;
  const int32_t sides_[2];
  Devices& devices_;
  std::vector<int64_t> where_;     // by item: its vertex, or where it is
  std::vector<uint32_t> free_;     // items that are vertices
  std::vector<int64_t> alone_[2];  // by vertex: what it costs on a, on b
  std::vector<Link> links_;
};

}  // namespace

bool cut_between(const Problem& problem, int32_t a, int32_t b, Devices& devices) {
  return Cut(problem, a, b, devices).run();
}

}  // namespace ferrule
