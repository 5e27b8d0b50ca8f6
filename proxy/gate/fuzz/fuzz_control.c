/* Lines of the control socket, as the engine's user could send them: each has an answer that is an object with "ok". */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "inbound.h"

static const char config[] = "{\"version\":1,\"sandbox\":\"demo\",\"generation\":7,\"rules\":[{\"id\":\"a\","
                             "\"decision\":\"allow\",\"pattern\":\"x.de:443\",\"source\":\"user\","
                             "\"origin\":\"user\",\"consented\":true}],\"upstream\":null}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sbx_gate *gate(void)
{
    static struct sbx_gate g;
    struct sbx_err err = SBX_ERR_INIT;

    if (g.config)
        return &g;
    g.watch.dirfd = -1;
    g.ended_fd = -1;
    sbx_list_init(&g.pending);
    sbx_list_init(&g.active);
    sbx_list_init(&g.dead);
    if (sbx_loop_init(&g.loop, &err) || sbx_pool_init(&g.pool, &err) ||
        sbx_log_init(&g.log, memfd_create("log", 0), -1, &g.loop, &err) ||
        sbx_names_open(memfd_create("map", 0), true, &g.names, &err) ||
        !(g.secrets = sbx_secrets_new(&g.loop, -1)) ||
        sbx_config_parse(config, sizeof(config) - 1, &g.config, &err))
        abort();
    g.log.sandbox = g.config->sandbox;
    sbx_log(&g.log, &(struct sbx_record){ .door = "proxy", .proxy = "forward", .protocol = "http",
                                          .host = "x.de", .decision = "deny", .reason = "default-deny" });
    return &g;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line = (const char *)data, *end = line + size;

    while (line < end) {
        const char *nl = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((nl ? nl : end) - line);
        struct sbx_passed passed = { .n = 0 };
        json_t *answer = sbx_control_answer(gate(), &passed, line, len);

        if (!json_is_boolean(json_object_get(answer, "ok")))
            abort();
        json_decref(answer);
        line += len + 1;
    }
    return 0;
}
