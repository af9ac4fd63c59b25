#include <stddef.h>
#include <stdint.h>
struct text { const char *bytes; size_t len; };
struct bar { uint32_t index, is_wide; uint64_t size; };
static const struct bar bars[] = {{BAR, 0, 4096}};
struct setting { uint32_t kind; uint64_t number; struct text text; };
static const struct {
    struct text key, help, source; struct setting value; uint32_t is_limited;
    struct setting least, most;
} parameters[] = {{{"depth", 5}, {"", 0}, {"", 0}, {KIND, 1, {0, 0}}, 0, {0}, {0}}};
static const struct {
    struct text help;
    uint32_t vendor, device, revision, class, vectors, tags, virtual_functions;
    const struct bar *bars; size_t bar_count; const void *parameters; size_t parameter_count;
} description = {{"C", 1}, VENDOR, 1, 0, 0x120000, 0, 1, 0, bars, 1, parameters, 1};
struct request {
    uint32_t kind, function; uint64_t tag, address; const void *bytes; uint64_t len;
    uint32_t detail;
};
struct shell {
    void *context; uint64_t now; uint32_t (*ask)(void *, const struct request *); void *fail;
};
static int device;
static const void *describe(void) { return &description; }
static void *make(const void *values, size_t count, const void *shell) { return &device; }
static void nothing(void) {}
static uint32_t read(void *of, const void *access, uint8_t *into, const struct shell *shell) {
    struct request null = {2, 0, 0, 0, 0, 8, 0}, long_ = {2, 0, 0, 0, &device, 1ull << 62, 0};
    struct request operation = {3, 0, 0, 0, &into, 8, 3}, severity = {5, 0, 0, 0, 0, 0, 3};
    into[0] = shell->ask(shell->context, &null);
    into[1] = shell->ask(shell->context, &long_);
    into[2] = shell->ask(shell->context, &operation) == UINT32_MAX;
    into[3] = shell->ask(shell->context, &severity) == UINT32_MAX;
    return 0;
}
static const struct {
    uint32_t version, size;
    const void *describe, *make, *destroy, *reset, *read, *write, *completed, *sent, *expired;
} table = {2, 80, describe, make, nothing, nothing, read, nothing, nothing, nothing, nothing};
const void *peerlane_device_model(void) { return &table; }
