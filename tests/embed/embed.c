/* A stranger's program in C11, found through pkg-config. */
#include <stdio.h>
#include <string.h>

#include "ferrule/ferrule.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  ferrule_error error;
  ferrule_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options, options.ignore_files = 1;
  ferrule_runtime* runtime = NULL;
  ferrule_session* session = NULL;
  ferrule_result* result = NULL;
  if (ferrule_open(&options, &runtime, &error) || ferrule_load(runtime, argv[1], &session, &error))
    return printf("%s\n", error.text), 1;
  static float image[28 * 28];
  ferrule_tensor input;
  memset(&input, 0, sizeof input);
  input.name = "Input3", input.data = image, input.size_bytes = sizeof image, input.rank = 4,
  input.type = FERRULE_F32;
  input.extents[0] = 1, input.extents[1] = 1, input.extents[2] = 28, input.extents[3] = 28;
  if (ferrule_run(session, &input, 1, &result, &error)) return printf("%s\n", error.text), 1;
  ferrule_tensor output;
  if (ferrule_result_tensor(result, 0, &output) || output.size_bytes != 40) return 1;
  input.size_bytes = 5;
  ferrule_result* none = NULL;
  if (ferrule_run(session, &input, 1, &none, &error) == 0 || none ||
      !strstr(error.text, "want 3136 bytes"))
    return 1;
  ferrule_result_close(result);
  ferrule_session_close(session);
  ferrule_close(runtime);
  printf("embedded from C: %s\n", output.type == FERRULE_F32 ? "fine" : "wrong type");
  return 0;
}
