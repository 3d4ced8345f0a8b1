#include "core/dispatch/executable.h"

#include "core/base/text.h"

namespace ferrule {

Result<std::shared_ptr<const Executable>> Executable::create(Parts parts) {
  std::shared_ptr<Executable> out(new Executable(std::move(parts)));
  const Parts& p = out->parts_;
  out->resident_.resize(p.devices.size());
  // Which devices read which parameter: only those get a copy.
  std::vector<std::vector<bool>> wanted(p.devices.size(),
                                        std::vector<bool>(p.plan.parameters.size()));
  for (const Step& step : p.plan.steps)
    if (const auto* submit = std::get_if<SubmitStep>(&step))
      for (const KernelStep& kernel : submit->kernels)
        for (const Place& place : kernel.args)
          if (place.kind == Place::Kind::parameter) wanted[submit->device][place.number] = true;
  for (size_t d = 0; d < p.devices.size(); ++d) {
    out->resident_[d].resize(p.plan.parameters.size());
    for (size_t i = 0; i < p.plan.parameters.size(); ++i) {
      if (!wanted[d][i]) continue;
      FRL_LET(out->resident_[d][i],
              p.parameters->resident(p.devices[d], *p.graph.known(p.plan.parameters[i])));
    }
  }
  out->packs_.resize(p.plan.packs.size());
  for (size_t d = 0; d < p.devices.size(); ++d) {
    std::vector<PackRequest> requests;
    std::vector<size_t> which;
    for (size_t i = 0; i < p.plan.packs.size(); ++i) {
      const PackPlan& pack = p.plan.packs[i];
      if (pack.device != d) continue;
      const Kernel* kernel = out->kernel(pack.node);
      uint32_t space = 0;
      for (const frl_pack& row : kernel->packs())
        if (row.input == pack.input && row.key == pack.key) space = row.space;
      requests.push_back({kernel, pack.input, space, pack.key, pack.size_bytes,
                          *p.graph.known(p.plan.parameters[pack.parameter])});
      which.push_back(i);
    }
    if (requests.empty()) continue;
    FRL_LET(auto packs, p.parameters->packed(p.devices[d], requests));
    for (size_t k = 0; k < which.size(); ++k) out->packs_[which[k]] = std::move(packs[k]);
  }
  return std::shared_ptr<const Executable>(std::move(out));
}

Result<std::unique_ptr<RunContext>> Executable::make_context() const {
  std::unique_ptr<RunContext> context(new RunContext(shared_from_this()));
  FRL_TRY(context->allocate());
  return context;
}

}  // namespace ferrule
