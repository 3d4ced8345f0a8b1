// Part: a run of nodes of a region's body as a region of its own. What a plugin compiles that runs
// a body node by node.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "plugin-api/sdk/region.h"

namespace frl {

// What a part is cut as.
struct PartRequest {
  uint32_t kind =
      0;  // FRL_OP_pointwise, the op of its one node, or a closed kind that its nodes mean
  uint32_t first_node = 0, n_nodes = 1;   // of the region's nodes
  std::vector<uint32_t> inputs, outputs;  // values; inputs may hold FRL_NO_VALUE
  std::vector<uint32_t> parameters;       // inputs that may be packed
  std::vector<uint32_t> strided;          // inputs that keep the strides of the whole's
  std::vector<frl_attribute> attributes;  // of a closed kind, by slot
};

// The block of a part. Its inputs and outputs are dense, but for the strided ones, and aligned to
// `align_bytes`.
class Part {
 public:
  Part(const Region& whole, const PartRequest& request, uint32_t align_bytes) {
    const frl_region& from = *whole.block();
    words_.assign((whole.bytes().size() + 7) / 8, 0);
    std::memcpy(words_.data(), whole.bytes().data(), whole.bytes().size());
    std::vector<frl_body> bodies = rows<frl_body>(from, from.bodies);
    std::vector<frl_value> values = rows<frl_value>(from, from.values);
    std::vector<frl_dim> dims = rows<frl_dim>(from, from.dims);
    std::vector<uint32_t> lists = rows<uint32_t>(from, from.lists);
    bodies[0] = {request.first_node,
                 request.n_nodes,
                 append(lists, request.inputs),
                 uint32_t(request.inputs.size()),
                 append(lists, request.outputs),
                 uint32_t(request.outputs.size())};
    for (const auto* ids : {&request.inputs, &request.outputs})
      for (uint32_t id : *ids) {
        if (id == FRL_NO_VALUE) continue;
        frl_value& v = values[id];
        v.flags &= FRL_VALUE_LITERAL, v.alias = 0, v.align_bytes = align_bytes;
        const bool keeps = std::ranges::find(request.strided, id) != request.strided.end();
        if (!keeps) make_dense(dims, v);
      }
    for (uint32_t id : request.parameters) values[id].flags |= FRL_VALUE_PARAMETER;
    frl_region head = from;
    head.head.size = sizeof head, head.kind = request.kind;
    std::vector<frl_attribute> attributes = rows<frl_attribute>(from, from.attributes);
    head.first_attribute = uint32_t(attributes.size());
    head.n_attributes = uint32_t(request.attributes.size());
    attributes.insert(attributes.end(), request.attributes.begin(), request.attributes.end());
    head.attributes = put(attributes);
    head.bodies = put(bodies), head.values = put(values), head.dims = put(dims);
    head.lists = put(lists);
    head.bytes = uint32_t(words_.size() * 8);
    std::memcpy(words_.data(), &head, std::min(sizeof head, size_t(from.head.size)));
  }
  const frl_region* region() const { return reinterpret_cast<const frl_region*>(words_.data()); }

 private:
  template <class T>
  static std::vector<T> rows(const frl_region& region, const frl_table& table) {
    std::vector<T> out(table.n);
    for (uint32_t i = 0; i < table.n; ++i)
      frl_row(&out[i], sizeof(T), reinterpret_cast<const char*>(&region) + table.at, table.stride,
              i);
    return out;
  }
  static uint32_t append(std::vector<uint32_t>& lists, const std::vector<uint32_t>& ids) {
    lists.insert(lists.end(), ids.begin(), ids.end());
    return uint32_t(lists.size() - ids.size());
  }
  static void make_dense(std::vector<frl_dim>& dims, const frl_value& v) {
    int64_t stride = 1;
    for (uint32_t d = v.rank; d-- > 0; stride *= dims[v.first_dim + d].extent)
      dims[v.first_dim + d].stride = stride;
  }
  template <class T>
  frl_table put(const std::vector<T>& table) {
    const size_t at = words_.size() * 8;
    words_.resize(words_.size() + (table.size() * sizeof(T) + 7) / 8, 0);
    if (!table.empty())
      std::memcpy(reinterpret_cast<char*>(words_.data()) + at, table.data(),
                  table.size() * sizeof(T));
    return {uint32_t(at), uint32_t(table.size()), uint32_t(sizeof(T))};
  }

  std::vector<uint64_t> words_;
};

}  // namespace frl
