#include "hijack.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "stream.h"

static enum sbx_code connect_wire(struct docker *d, struct docker_wire *w, struct sbx_err *err)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    long number = 0;
    CURLcode code;

    w->curl = d->curl;
    w->fd = -1;
    w->at = w->len = 0;
    w->patience = sbx_patience_begin(&d->rt, SBX_DOCKER_CHANGE_MS);
    w->h = d->curl->easy_init();
    if (!w->h)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    d->curl->easy_setopt(w->h, CURLOPT_NOSIGNAL, 1L);
    d->curl->easy_setopt(w->h, CURLOPT_PROXY, "");
    d->curl->easy_setopt(w->h, CURLOPT_UNIX_SOCKET_PATH, d->socket);
    d->curl->easy_setopt(w->h, CURLOPT_URL, "http://localhost/");
    d->curl->easy_setopt(w->h, CURLOPT_CONNECT_ONLY, 1L);
    code = d->curl->easy_perform(w->h);
    d->curl->easy_getinfo(w->h, CURLINFO_OS_ERRNO, &number);
    if (code == CURLE_OK)
        code = d->curl->easy_getinfo(w->h, CURLINFO_ACTIVESOCKET, &fd);
    if (code != CURLE_OK || fd == CURL_SOCKET_BAD)
        return docker_unreachable(d, code ? code : CURLE_COULDNT_CONNECT, (int)number, err);
    w->fd = fd;
    return SBX_OK;
}

static enum sbx_code wait_for(struct docker_wire *w, short events, struct sbx_err *err)
{
    for (;;) {
        struct pollfd p = { w->fd, events, 0 };
        int n = poll(&p, 1, SBX_PATIENCE_TICK_MS);
        enum sbx_code rc;

        if (n > 0)
            return SBX_OK;
        if (n < 0 && errno != EINTR)
            return sbx_err_errno(err, "wait for the Engine");
        rc = sbx_patience_look(&w->patience);
        if (rc)
            return sbx_patience_error(err, rc, "the Engine's answer");
    }
}

static enum sbx_code send_all(struct docker_wire *w, const char *data, size_t len,
                              struct sbx_err *err)
{
    while (len) {
        ssize_t n = send(w->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN) {
            enum sbx_code rc = wait_for(w, POLLOUT, err);

            if (rc)
                return rc;
        } else if (n < 0 && errno != EINTR) {
            return sbx_err_errno(err, "send to the Engine");
        } else if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return SBX_OK;
}

/* Read some bytes into rx; len 0 is the end. */
static enum sbx_code receive(struct docker_wire *w, struct sbx_err *err)
{
    ssize_t n;

    w->at = w->len = 0;
    while ((n = recv(w->fd, w->rx, sizeof(w->rx), MSG_DONTWAIT)) < 0) {
        enum sbx_code rc = SBX_OK;

        if (errno == EAGAIN)
            rc = wait_for(w, POLLIN, err);
        else if (errno != EINTR)
            rc = sbx_err_errno(err, "read from the Engine");
        if (rc)
            return rc;
    }
    w->len = (size_t)n;
    return SBX_OK;
}

static enum sbx_code read_head(struct docker_wire *w, struct docker_head *head, struct sbx_err *err)
{
    while (!head->done) {
        size_t taken;
        enum sbx_code rc = receive(w, err);

        if (rc)
            return rc;
        if (!w->len)
            return sbx_err_set(err, SBX_UNAVAILABLE, "the Engine closed the connection");
        rc = docker_head_feed(head, w->rx, w->len, &taken);
        if (rc)
            return sbx_err_set(err, rc, "the Engine's answer is not HTTP");
        w->at = taken;
    }
    return SBX_OK;
}

static enum sbx_code read_error(struct docker_wire *w, const struct docker_head *head,
                                struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    SBX_AUTO(docker_body) body = { 0 };
    enum sbx_code rc = SBX_OK;

    docker_body_start(&body, head);
    while (!rc && !body.done && w->len) {
        rc = docker_body_feed(&body, w->rx + w->at, w->len - w->at);
        if (!rc && !body.done)
            rc = receive(w, err);
    }
    c.status = head->status;
    if (body.text.len) {
        c.json = json_loadb(body.text.ptr, body.text.len, 0, NULL);
        if (sbx_buf_add(&c.body, body.text.ptr, body.text.len))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    return docker_failed(&c, err);
}

enum sbx_code docker_hijack(struct docker *d, const char *path, const json_t *json,
                            struct docker_wire *w, struct sbx_err *err)
{
    SBX_AUTO(docker_head) head = DOCKER_HEAD_INIT;
    SBX_AUTO(sbx_buf) request = SBX_BUF_INIT(1 << 20);
    SBX_AUTO_FREE char *text = json_dumps(json, JSON_COMPACT);
    enum sbx_code rc = connect_wire(d, w, err);

    if (rc)
        return rc;
    if (!text || sbx_buf_addf(&request,
                              "POST %s%s HTTP/1.1\r\nHost: localhost\r\n"
                              "Content-Type: application/json\r\nContent-Length: %zu\r\n"
                              "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n%s",
                              d->api, path, strlen(text), text))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = send_all(w, request.ptr, request.len, err);
    if (!rc)
        rc = read_head(w, &head, err);
    if (rc)
        return rc;
    if (head.status == 101 || head.status == 200) /* older ones upgrade without saying so */
        return SBX_OK;
    return read_error(w, &head, err);
}

void docker_wire_release(struct docker_wire *w)
{
    if (w->h)
        w->curl->easy_cleanup(w->h);
    w->h = NULL;
    w->fd = -1;
}

void docker_wire_free(struct docker_wire *w)
{
    if (w)
        docker_wire_release(w);
    free(w);
}
