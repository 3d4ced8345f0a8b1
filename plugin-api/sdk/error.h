// Failures inside a plugin are exceptions; guard() is where they become codes.
//
// Throw frl::Failure from anywhere below a slot of the table: compile, run, pack. Nothing else of
// the SDK needs to be known about errors.
#pragma once

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "plugin-api/frl_plugin.h"

namespace frl {

// Why a call fails. The text reads "what: want X, got Y".
class Failure : public std::exception {
 public:
  // code     FRL_INVALID, FRL_NOT_CLAIMED, FRL_NO_SHAPE, ... of frl_plugin.h
  // subject  step, node or row at fault; -1 none
  Failure(int32_t code, std::string text, int32_t subject = -1)
      : code_(code), subject_(subject), text_(std::move(text)) {}

  int32_t code() const { return code_; }
  int32_t subject() const { return subject_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  int32_t code_;
  int32_t subject_;
  std::string text_;
};

// The slot of the table in which a failure surfaced: frl_error.site.
enum Site : uint32_t {
  kSiteEntry = 1,
  kSiteDevices,
  kSiteRefuse,
  kSiteEstimate,
  kSiteOpen,
  kSiteCompile,
  kSiteSerialise,
  kSiteMakeBuffer,
  kSiteOpenQueue,
  kSiteRecord,
  kSiteSubmit,
  kSiteWait
};

// Fills `error` (which may be null) and returns `code`. A long text is cut at a character's edge.
inline int32_t fail(frl_error* error, int32_t code, uint32_t site, const char* text,
                    int32_t subject = -1) noexcept {
  if (!error) return code;
  size_t n = std::strlen(text);
  if (n >= sizeof error->text) {
    n = sizeof error->text - 1;
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
  }
  std::memset(error, 0, sizeof *error);
  error->code = code, error->site = site, error->subject = subject;
  error->text_n = static_cast<uint32_t>(n);
  std::memcpy(error->text, text, n);
  return code;
}

// Inside a catch block: the exception in flight as a code in `error`.
//   subject  taken when the exception names none
inline int32_t fail_with_current(frl_error* error, uint32_t site, int32_t subject = -1) noexcept {
  try {
    throw;
  } catch (const Failure& f) {
    return fail(error, f.code(), site, f.what(), f.subject() >= 0 ? f.subject() : subject);
  } catch (const std::bad_alloc&) {
    return fail(error, FRL_NO_MEMORY, site, "memory: the plugin's own ran out", 0);
  } catch (const std::exception& e) {
    return fail(error, FRL_INTERNAL, site, e.what(), subject);
  } catch (...) {
    return fail(error, FRL_INTERNAL, site, "unknown exception", subject);
  }
}

// Runs the body of a slot: FRL_OK, or what the exception says.
template <class Body>
int32_t guard(frl_error* error, uint32_t site, Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return FRL_OK;
  } catch (...) {
    return fail_with_current(error, site);
  }
}

}  // namespace frl
