// The same graphs through the whole line on the plugins of the build.
#pragma once

#include "core/session/compile.h"
#include "tests/property/check.h"

namespace ferrule::property {

// Devices opened once: cpu alone, and tpu-sim with cpu for what it lacks.
class Bench {
 public:
  Bench();
  const Status& status() const { return status_; }  // that of opening them

  // Fused under the options, unfused, and fused without some of the claims, on each of them:
  // results are the reference's.
  //   seed  of the claims that go: any of tpu-sim, kinds of cpu
  Finding check(const Sample& sample, const FuseOptions& options, uint64_t seed, Tally* tally);

  // Changes results before they are compared.
  std::function<void(std::vector<Tensor>&)> spoil;

 private:
  struct Place {
    std::string name;
    CompileContext context;
    DeviceRow row;  // claims by which results are judged
  };
  Status open(const std::string& order, const std::string& also);
  Finding check(const Place& place, CompileContext context, const Sample& sample,
                Tally* tally) const;

  std::vector<std::shared_ptr<Runtime>> runtimes_;
  std::vector<Place> places_;
  Status status_;
};

}  // namespace ferrule::property
