#include "core/base/status.h"

namespace ferrule {

const char* code_name(Code code) {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::internal:
      return "internal";
    case Code::incompatible:
      return "incompatible";
    case Code::no_memory:
      return "no_memory";
    case Code::device_lost:
      return "device_lost";
    case Code::timed_out:
      return "timed_out";
    case Code::cancelled:
      return "cancelled";
    case Code::not_claimed:
      return "not_claimed";
    case Code::stale:
      return "stale";
    case Code::foreign:
      return "foreign";
    case Code::driver_missing:
      return "driver_missing";
    case Code::driver_old:
      return "driver_old";
    case Code::denied:
      return "denied";
    case Code::busy:
      return "busy";
    case Code::no_type:
      return "no_type";
    case Code::no_shape:
      return "no_shape";
    case Code::no_layout:
      return "no_layout";
    case Code::no_attribute:
      return "no_attribute";
    case Code::no_body:
      return "no_body";
    case Code::no_room:
      return "no_room";
    case Code::no_benefit:
      return "no_benefit";
    case Code::not_found:
      return "not_found";
    case Code::unsupported:
      return "unsupported";
    case Code::no_device:
      return "no_device";
    case Code::out_of_limits:
      return "out_of_limits";
  }
  return "unknown";
}

}  // namespace ferrule
