/* Linked against, then nowhere to be found. */
__attribute__((visibility("default"))) int zoo_absent(void);
int zoo_absent(void) { return 1; }
