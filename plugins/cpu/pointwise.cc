// The kernel of pointwise regions: a tile program and which outputs may lie on which inputs.
#include "plugins/cpu/pointwise.h"

#include <algorithm>

namespace cpu {
namespace {

class PointwiseKernel final : public frl::Kernel {
 public:
  PointwiseKernel(const Context& context, const frl::Region& region)
      : program_(compile_tiles(context, region)) {
    const frl::Body body = region.body(0);
    for (uint32_t id : body.outputs)  // passed through: read after other outputs are written
      if (std::ranges::find(body.inputs, id) != body.inputs.end()) return;
    for (size_t o = 0; o < region.n_outputs(); ++o) {
      const frl::Value y = region.output(o);
      for (size_t i = 0; i < region.n_inputs(); ++i) {
        const frl::Value x = region.input(i);
        if (x.type == y.type && std::ranges::equal(x.shape(), y.shape()) && x.is_dense())
          aliases.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(o)});
      }
    }
  }
  void run(const frl::Call& call) const override { run_tiles(program_, call); }

 private:
  TileProgram program_;
};

}  // namespace

KernelPtr make_pointwise(const Context& context, const Request& request) {
  return std::make_unique<PointwiseKernel>(context, request.region());
}

}  // namespace cpu
