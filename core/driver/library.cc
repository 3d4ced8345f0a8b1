// The only file that knows Boost.DLL.
#include "core/driver/library.h"

#include <dlfcn.h>

#include <cfenv>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/library_info.hpp>
#include <boost/dll/shared_library.hpp>

#include "core/base/text.h"

namespace ferrule {
namespace {

namespace dll = boost::dll;

// Libraries linked with fast-math switch denormals off for the thread that loads them.
class FloatControl {
 public:
  FloatControl() { std::fegetenv(&saved_); }
  ~FloatControl() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_{};
};

}  // namespace

Result<Library> Library::load(const std::string& path, const Inspection& inspection) {
  const FloatControl control;
  std::error_code code;
  auto library = std::make_shared<dll::shared_library>();
  library->load(path, code, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  if (!library->is_loaded()) {
    const char* text = ::dlerror();
    return Status(Code::incompatible,
                  cat(text ? text : code.message().c_str(),
                      inspection.needed.empty() ? "" : "; it needs ", join(inspection.needed)));
  }
  Library out;
  out.handle_ = std::move(library);
  return out;
}

void* Library::find(const char* symbol) const {
  return ::dlsym(std::static_pointer_cast<dll::shared_library>(handle_)->native(), symbol);
}

void Library::keep() {
  // One more reference of the system's own, never given back.
  const auto library = std::static_pointer_cast<dll::shared_library>(handle_);
  ::dlopen(library->location().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

Result<std::vector<std::string>> exported_symbols(const std::string& path) {
  try {
    dll::library_info info(path);
    return info.symbols();
  } catch (const std::exception& e) {
    return Status(Code::incompatible, cat("file: ", e.what()));
  }
}

}  // namespace ferrule
