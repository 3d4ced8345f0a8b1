#include "conformance/raw/library.h"

#include <dlfcn.h>

#include <algorithm>

#include "core/base/text.h"

namespace ferrule::conformance::raw {
namespace {

bool is_utf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    const size_t n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    if (n == 0 || i + n > s.size()) return false;
    for (size_t k = 1; k < n; ++k)
      if ((static_cast<unsigned char>(s[i + k]) & 0xC0) != 0x80) return false;
    i += n;
  }
  return true;
}

}  // namespace

std::string Error::fault(int32_t returned) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
  const bool untouched =
      std::all_of(bytes, bytes + sizeof value, [](unsigned char c) { return c == 0x5A; });
  if (returned == FRL_OK)
    return untouched ? "" : "error: want it left alone by a call that succeeds";
  if (untouched)
    return cat("error: want it filled by a call that returns ", returned, ", it was left alone");
  if (value.code != returned)
    return cat("error.code: want what the call returns, ", returned, ", got ", value.code);
  if (value.text_n == 0) return cat("error.text: want a reason for code ", returned, ", got none");
  if (value.text_n >= sizeof value.text || value.text[value.text_n] != 0)
    return cat("error.text: want at most 491 bytes and a NUL behind, got text_n ", value.text_n);
  const std::string_view text(value.text, value.text_n);
  if (text.find('\0') != text.npos || !is_utf8(text))
    return "error.text: want UTF-8 without a NUL inside";
  if (value.subject < -1) return cat("error.subject: want -1 or a number, got ", value.subject);
  return "";
}

std::string Error::text() const {
  return std::string(value.text, std::min<size_t>(value.text_n, sizeof value.text - 1));
}

Status Error::status(int32_t returned, const std::string& what) const {
  if (const std::string broken = fault(returned); !broken.empty())
    return Status(Code::internal, cat(what, ": ", broken));
  return returned == FRL_OK ? Status() : Status(Code(returned), cat(what, ": ", text()));
}

Result<Library> Library::load(const std::string& path) {
  Library out;
  out.handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!out.handle_) return Status(Code::incompatible, cat("load: ", ::dlerror()));
  out.entry_ = reinterpret_cast<frl_entry_fn>(::dlsym(out.handle_, "frl_plugin_v1"));
  if (!out.entry_)
    return Status(Code::incompatible, "entry: want the exported symbol frl_plugin_v1, got none");
  return out;
}

void Library::close() {
  if (handle_) ::dlclose(handle_);
  handle_ = nullptr, entry_ = nullptr;
}

const frl_plugin* Library::offer(uint32_t min_minor, uint32_t max_minor, Error& error,
                                 uint32_t longer_by, uint64_t features) const {
  Grown<frl_offer> offer({{sizeof(frl_offer), FRL_TAG_OFFER}, min_minor, max_minor, features},
                         longer_by);
  return entry_(offer.get(), &error.value);
}

}  // namespace ferrule::conformance::raw
