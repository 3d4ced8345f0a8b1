/* Golden layout of frl_plugin.h on 64-bit targets: every struct, every field. Append only.
 *
 * check.sh compiles it under each compiler and target that matters; there is nothing to run.
 */
#include "plugin-api/frl_plugin.h"

#ifdef __cplusplus
#define CHECK(condition, text) static_assert(condition, text)
#else
#define CHECK(condition, text) _Static_assert(condition, text)
#endif
#define SIZE(type, bytes) CHECK(sizeof(type) == bytes, #type);
#define AT(type, field, bytes) CHECK(offsetof(type, field) == bytes, #type "." #field);

/* Ops: ids run 1, 2, 3 ... without gaps. */
enum { kBeforeFirst = 0,
#define FRL_OP(id, name, form, min_in, max_in, results, bodies, expression) kPlace_##name,
#define FRL_ATTR(op, slot, name, type, fallback)
#include "plugin-api/frl_ops.def"
#undef FRL_OP
#undef FRL_ATTR
       kAfterLast };
#define FRL_OP(id, name, form, min_in, max_in, results, bodies, expression) \
  CHECK(id == (int)kPlace_##name, "id of " #name);
#define FRL_ATTR(op, slot, name, type, fallback)
#include "plugin-api/frl_ops.def"
#undef FRL_OP
#undef FRL_ATTR

/* The last of each list: a constant that moves breaks every plugin. */
CHECK(FRL_MAJOR == 1 && FRL_MINOR == 0, "version");
CHECK(FRL_MAX_RANK == 16, "FRL_MAX_RANK");
CHECK(FRL_TAG_TELEMETRY == 11, "FRL_TAG_TELEMETRY");
CHECK(FRL_TAG_RECORDING == 68, "FRL_TAG_RECORDING");
CHECK(FRL_BUSY == 14, "FRL_BUSY");
CHECK(FRL_NO_BENEFIT == 70, "FRL_NO_BENEFIT");
CHECK(FRL_F8E5M2 == 17, "FRL_F8E5M2");
CHECK(FRL_SPACE_ADDRESS == 8, "FRL_SPACE_ADDRESS");
CHECK(FRL_BASIS_MEASURED == 3, "FRL_BASIS_MEASURED");
CHECK(FRL_COMPUTE_REDUCED == 8, "FRL_COMPUTE_REDUCED");
CHECK(FRL_LAYOUT_UNALIGNED == 16, "FRL_LAYOUT_UNALIGNED");
CHECK(FRL_BROADCAST_ANY == 8, "FRL_BROADCAST_ANY");
CHECK(FRL_OPERAND_PARAMETER == 8, "FRL_OPERAND_PARAMETER");
CHECK(FRL_SHAPES_DYNAMIC == 4, "FRL_SHAPES_DYNAMIC");
CHECK(FRL_FP_WIDE_INSIDE == 64, "FRL_FP_WIDE_INSIDE");
CHECK(FRL_SAME_BITS_ANY_THREADS == 2, "FRL_SAME_BITS_ANY_THREADS");
CHECK(FRL_ERROR_CONDITION == 2, "FRL_ERROR_CONDITION");
CHECK(FRL_VALUE_LITERAL == 4, "FRL_VALUE_LITERAL");
CHECK(FRL_RULE_TAKE_SCALAR == 7, "FRL_RULE_TAKE_SCALAR");
CHECK(FRL_DEVICE_PROFILE == 2, "FRL_DEVICE_PROFILE");
CHECK(FRL_DEVICE_OWN_THREADS == 2, "FRL_DEVICE_OWN_THREADS");
CHECK(FRL_PLUGIN_CAN_UNLOAD == 1, "FRL_PLUGIN_CAN_UNLOAD");
CHECK(FRL_OP_subgraph == 121, "FRL_OP_subgraph");
CHECK(FRL_OP_END == 141, "FRL_OP_END");
CHECK(FRL_AT_conv_bias_act_high == 6, "FRL_AT_conv_bias_act_high");

/* Exercises the macros as a plugin does. */
FRL_IDENTITY("com.example.layout", "1.0", "any");
FRL_ENTRY(const frl_offer* offer, frl_error* error);

/* clang-format off */
SIZE(frl_head, 8)
  AT(frl_head, size, 0) AT(frl_head, tag, 4)
SIZE(frl_str, 16)
  AT(frl_str, p, 0) AT(frl_str, n, 8)
SIZE(frl_rows, 16)
  AT(frl_rows, p, 0) AT(frl_rows, n, 8) AT(frl_rows, stride, 12)
SIZE(frl_error, 512)
  AT(frl_error, code, 0) AT(frl_error, site, 4) AT(frl_error, vendor, 8)
  AT(frl_error, subject, 12) AT(frl_error, text_n, 16) AT(frl_error, text, 20)
SIZE(frl_worker, 32)
  AT(frl_worker, head, 0) AT(frl_worker, id, 8) AT(frl_worker, n, 12) AT(frl_worker, scratch, 16)
  AT(frl_worker, scratch_bytes, 24)
SIZE(frl_setting, 32)
  AT(frl_setting, key, 0) AT(frl_setting, value, 16)
SIZE(frl_host, 88)
  AT(frl_host, head, 0) AT(frl_host, features, 8) AT(frl_host, self, 16)
  AT(frl_host, settings, 24) AT(frl_host, max_workers, 40) AT(frl_host, pad, 44)
  AT(frl_host, alloc, 48) AT(frl_host, release, 56) AT(frl_host, log, 64) AT(frl_host, team, 72)
  AT(frl_host, barrier, 80)
SIZE(frl_space, 32)
  AT(frl_space, flags, 0) AT(frl_space, align_bytes, 4) AT(frl_space, total_bytes, 8)
  AT(frl_space, max_alloc_bytes, 16) AT(frl_space, max_binding_bytes, 24)
SIZE(frl_rate, 16)
  AT(frl_rate, type, 0) AT(frl_rate, compute, 4) AT(frl_rate, ps_per_mflop, 8)
SIZE(frl_cost, 96)
  AT(frl_cost, head, 0) AT(frl_cost, dispatch_ps, 8) AT(frl_cost, round_trip_ps, 16)
  AT(frl_cost, memory_ps_per_kib, 24) AT(frl_cost, to_device_ps_per_kib, 32)
  AT(frl_cost, from_device_ps_per_kib, 40) AT(frl_cost, readback_ps_per_kib, 48)
  AT(frl_cost, host_thunk_ps, 56) AT(frl_cost, minimum_gain_ps, 64) AT(frl_cost, arithmetic, 72)
  AT(frl_cost, basis, 88) AT(frl_cost, pad, 92)
SIZE(frl_operand, 32)
  AT(frl_operand, types, 0) AT(frl_operand, order, 8) AT(frl_operand, layouts, 16)
  AT(frl_operand, broadcasts, 20) AT(frl_operand, group, 24) AT(frl_operand, min_rank, 25)
  AT(frl_operand, max_rank, 26) AT(frl_operand, flags, 27) AT(frl_operand, pad, 28)
SIZE(frl_choice, 16)
  AT(frl_choice, slot, 0) AT(frl_choice, n, 4) AT(frl_choice, allowed, 8)
SIZE(frl_claim, 160)
  AT(frl_claim, op, 0) AT(frl_claim, shapes, 4) AT(frl_claim, compute, 8)
  AT(frl_claim, accumulate, 12) AT(frl_claim, operands, 16) AT(frl_claim, choices, 32)
  AT(frl_claim, max_elements, 48) AT(frl_claim, max_dim, 56) AT(frl_claim, max_nodes, 64)
  AT(frl_claim, max_inputs, 68) AT(frl_claim, max_outputs, 72) AT(frl_claim, max_slices, 76)
  AT(frl_claim, max_prologue, 80) AT(frl_claim, max_epilogue, 84) AT(frl_claim, scratch_bytes, 88)
  AT(frl_claim, members, 96) AT(frl_claim, prologue, 112) AT(frl_claim, epilogue, 128)
  AT(frl_claim, fp, 144) AT(frl_claim, determinism, 148) AT(frl_claim, error, 152)
  AT(frl_claim, error_milli, 156)
SIZE(frl_table, 12)
  AT(frl_table, at, 0) AT(frl_table, n, 4) AT(frl_table, stride, 8)
SIZE(frl_region, 136)
  AT(frl_region, head, 0) AT(frl_region, bytes, 8) AT(frl_region, kind, 12)
  AT(frl_region, first_attribute, 16) AT(frl_region, n_attributes, 20) AT(frl_region, bodies, 24)
  AT(frl_region, nodes, 36) AT(frl_region, values, 48) AT(frl_region, dims, 60)
  AT(frl_region, symbols, 72) AT(frl_region, attributes, 84) AT(frl_region, lists, 96)
  AT(frl_region, ints, 108) AT(frl_region, text, 120) AT(frl_region, compute, 132)
SIZE(frl_body, 24)
  AT(frl_body, first_node, 0) AT(frl_body, n_nodes, 4) AT(frl_body, first_input, 8)
  AT(frl_body, n_inputs, 12) AT(frl_body, first_output, 16) AT(frl_body, n_outputs, 20)
SIZE(frl_node, 36)
  AT(frl_node, op, 0) AT(frl_node, first_operand, 4) AT(frl_node, n_operands, 8)
  AT(frl_node, first_result, 12) AT(frl_node, n_results, 16) AT(frl_node, first_attribute, 20)
  AT(frl_node, n_attributes, 24) AT(frl_node, first_body, 28) AT(frl_node, n_bodies, 32)
SIZE(frl_value, 24)
  AT(frl_value, type, 0) AT(frl_value, rank, 1) AT(frl_value, flags, 2)
  AT(frl_value, first_dim, 4) AT(frl_value, align_bytes, 8) AT(frl_value, alias, 12)
  AT(frl_value, literal_at, 16) AT(frl_value, literal_n, 20)
SIZE(frl_dim, 24)
  AT(frl_dim, extent, 0) AT(frl_dim, stride, 8) AT(frl_dim, symbol, 16) AT(frl_dim, pad, 20)
SIZE(frl_symbol, 32)
  AT(frl_symbol, min, 0) AT(frl_symbol, max, 8) AT(frl_symbol, multiple, 16)
  AT(frl_symbol, written, 24) AT(frl_symbol, pad, 28)
SIZE(frl_attribute, 24)
  AT(frl_attribute, i, 0) AT(frl_attribute, f, 8) AT(frl_attribute, at, 16)
  AT(frl_attribute, n, 20)
SIZE(frl_constraint, 32)
  AT(frl_constraint, rule, 0) AT(frl_constraint, subject, 4) AT(frl_constraint, slot, 8)
  AT(frl_constraint, other, 12) AT(frl_constraint, lo, 16) AT(frl_constraint, hi, 24)
SIZE(frl_kind, 48)
  AT(frl_kind, name, 0) AT(frl_kind, pattern, 16) AT(frl_kind, constraints, 24)
  AT(frl_kind, n_attributes, 40) AT(frl_kind, pad, 44)
SIZE(frl_device_row, 168)
  AT(frl_device_row, name, 0) AT(frl_device_row, architecture, 16) AT(frl_device_row, driver, 32)
  AT(frl_device_row, pci, 48) AT(frl_device_row, uuid, 64) AT(frl_device_row, state, 80)
  AT(frl_device_row, reason, 84) AT(frl_device_row, reason_text, 88)
  AT(frl_device_row, flags, 104) AT(frl_device_row, max_queues, 108)
  AT(frl_device_row, dlpack_type, 112) AT(frl_device_row, dlpack_id, 116)
  AT(frl_device_row, fingerprint, 120) AT(frl_device_row, claims, 128)
  AT(frl_device_row, spaces, 144) AT(frl_device_row, cost, 160)
SIZE(frl_device, 16)
  AT(frl_device, head, 0) AT(frl_device, row, 8)
SIZE(frl_pack, 24)
  AT(frl_pack, input, 0) AT(frl_pack, space, 4) AT(frl_pack, key, 8) AT(frl_pack, bytes, 16)
SIZE(frl_alias, 8)
  AT(frl_alias, input, 0) AT(frl_alias, output, 4)
SIZE(frl_kernel, 56)
  AT(frl_kernel, head, 0) AT(frl_kernel, scratch_bytes, 8) AT(frl_kernel, packs, 16)
  AT(frl_kernel, aliases, 32) AT(frl_kernel, restored, 48) AT(frl_kernel, pad, 52)
SIZE(frl_buffer, 32)
  AT(frl_buffer, head, 0) AT(frl_buffer, host, 8) AT(frl_buffer, address, 16)
  AT(frl_buffer, bytes, 24)
SIZE(frl_queue, 8)
  AT(frl_queue, head, 0)
SIZE(frl_recording, 8)
  AT(frl_recording, head, 0)
SIZE(frl_compile, 40)
  AT(frl_compile, head, 0) AT(frl_compile, cached, 8) AT(frl_compile, cached_n, 16)
  AT(frl_compile, cancel, 24) AT(frl_compile, restore_only, 32) AT(frl_compile, pad, 36)
SIZE(frl_space_request, 32)
  AT(frl_space_request, head, 0) AT(frl_space_request, bytes, 8)
  AT(frl_space_request, import_address, 16) AT(frl_space_request, space, 24)
  AT(frl_space_request, read_only, 28)
SIZE(frl_binding, 16)
  AT(frl_binding, buffer, 0) AT(frl_binding, offset, 8)
SIZE(frl_arg, 16)
  AT(frl_arg, binding, 0) AT(frl_arg, pad, 4) AT(frl_arg, offset, 8)
SIZE(frl_step, 32)
  AT(frl_step, kernel, 0) AT(frl_step, first_arg, 8) AT(frl_step, n_args, 12)
  AT(frl_step, first_extent, 16) AT(frl_step, n_extents, 20) AT(frl_step, pack, 24)
  AT(frl_step, pad, 28)
SIZE(frl_segment, 80)
  AT(frl_segment, head, 0) AT(frl_segment, steps, 8) AT(frl_segment, args, 24)
  AT(frl_segment, extents, 40) AT(frl_segment, fixed, 56) AT(frl_segment, n_late, 72)
  AT(frl_segment, n_submit_extents, 76)
SIZE(frl_copy, 64)
  AT(frl_copy, target, 0) AT(frl_copy, source, 16) AT(frl_copy, row_bytes, 32)
  AT(frl_copy, rows, 40) AT(frl_copy, target_pitch_bytes, 48) AT(frl_copy, source_pitch_bytes, 56)
SIZE(frl_point, 16)
  AT(frl_point, queue, 0) AT(frl_point, value, 8)
SIZE(frl_submit, 96)
  AT(frl_submit, head, 0) AT(frl_submit, recording, 8) AT(frl_submit, late, 16)
  AT(frl_submit, extents, 32) AT(frl_submit, copies, 40) AT(frl_submit, waits, 56)
  AT(frl_submit, signal, 72) AT(frl_submit, cancel, 80) AT(frl_submit, step_ns, 88)
SIZE(frl_telemetry, 80)
  AT(frl_telemetry, head, 0) AT(frl_telemetry, submits, 8) AT(frl_telemetry, steps, 16)
  AT(frl_telemetry, to_device_bytes, 24) AT(frl_telemetry, from_device_bytes, 32)
  AT(frl_telemetry, busy_ns, 40) AT(frl_telemetry, live_bytes, 48)
  AT(frl_telemetry, peak_bytes, 56) AT(frl_telemetry, compiled, 64)
  AT(frl_telemetry, restored, 72)
SIZE(frl_option, 48)
  AT(frl_option, key, 0) AT(frl_option, fallback, 16) AT(frl_option, doc, 32)
SIZE(frl_plugin, 232)
  AT(frl_plugin, head, 0) AT(frl_plugin, minor, 8) AT(frl_plugin, flags, 12)
  AT(frl_plugin, features, 16) AT(frl_plugin, id, 24) AT(frl_plugin, version, 40)
  AT(frl_plugin, options, 56) AT(frl_plugin, kinds, 72) AT(frl_plugin, devices, 88)
  AT(frl_plugin, refuse, 96) AT(frl_plugin, estimate, 104) AT(frl_plugin, open, 112)
  AT(frl_plugin, close, 120) AT(frl_plugin, compile, 128) AT(frl_plugin, drop_kernel, 136)
  AT(frl_plugin, serialise, 144) AT(frl_plugin, make_buffer, 152) AT(frl_plugin, drop_buffer, 160)
  AT(frl_plugin, open_queue, 168) AT(frl_plugin, close_queue, 176) AT(frl_plugin, record, 184)
  AT(frl_plugin, drop_recording, 192) AT(frl_plugin, submit, 200) AT(frl_plugin, wait, 208)
  AT(frl_plugin, telemetry, 216) AT(frl_plugin, quiesce, 224)
SIZE(frl_offer, 24)
  AT(frl_offer, head, 0) AT(frl_offer, min_minor, 8) AT(frl_offer, max_minor, 12)
  AT(frl_offer, features, 16)
SIZE(frl_identity, 192)
  AT(frl_identity, major, 0) AT(frl_identity, min_minor, 4) AT(frl_identity, max_minor, 8)
  AT(frl_identity, sanitizer, 12) AT(frl_identity, id, 16) AT(frl_identity, version, 80)
  AT(frl_identity, isa, 112) AT(frl_identity, build, 144)
SIZE(frl_note, 212)
  AT(frl_note, owner_n, 0) AT(frl_note, payload_n, 4) AT(frl_note, type, 8)
  AT(frl_note, owner, 12) AT(frl_note, identity, 20)
