// Names of the errands and of the points of a plugin's life at which one may end its process.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace ferrule::conformance::raw {

// In order: an errand that stops at one has gone through all before.
constexpr const char* kLifePoints[] = {
    "loaded",    "entered", "listed",       "opened", "queue_opened", "compiled", "recorded",
    "submitted", "waited",  "queue_closed", "closed", "quiesced",     "unloaded"};
constexpr int kOwnExitCode =
    37;  // with which an errand that ends its process at a life point ends it

// exit_at PATH DEVICE POINT    ends the process by exit(37) right there, nothing closed
// watch_entry PATH             reports the system calls of the entry; rc 0 if none, 2 unsupported
// keep_still PATH DEVICE ASPECT  walks all life points; reports the first at which the aspect
// changed claims_hash PATH DEVICE      reports the hash of the rows save PATH DEVICE FILE writes
// the specimen's serialised kernel restore PATH DEVICE FILE     reports "restored", "anew" or the
// refusal's code, and checks results
constexpr const char* kExitAt = "exit_at";
constexpr const char* kWatchEntry = "watch_entry";
constexpr const char* kKeepStill = "keep_still";
constexpr const char* kClaimsHash = "claims_hash";
constexpr const char* kSave = "save";
constexpr const char* kRestore = "restore";

// Everything that a device row says: all of its rows hashed, in order.
class Session;
uint64_t rows_hash(const Session& session);

}  // namespace ferrule::conformance::raw
