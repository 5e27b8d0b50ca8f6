#include "blobs.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "out.h"
#include "session.h"

#define TOLD_MIN 1000000 /* bytes; smaller blobs are over before a line is read */
#define REDRAW_MS 100    /* between two states of the bars */
#define EVENT_MS 1000    /* between two events of a blob */
#define RATE_MS 200      /* before this a rate says nothing */
#define BAR 20           /* columns of a bar */
#define COLUMNS 80       /* where the terminal's width is unknown */
#define WIDTH_MIN 70     /* columns of the terminal; narrower ones get no bar */

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct sbx_blob_bar *find(struct sbx_blobs *b, const char *digest)
{
    for (size_t i = 0; i < b->n; i++)
        if (!strcmp(b->v[i].digest, digest))
            return &b->v[i];
    return NULL;
}

static struct sbx_blob_bar *begin(struct sbx_blobs *b, const char *digest, int64_t done,
                                  int64_t total, long now)
{
    struct sbx_blob_bar *bar;

    if (b->n == SBX_BLOBS_SHOWN)
        return NULL;
    bar = &b->v[b->n++];
    *bar = (struct sbx_blob_bar){ .before = done, .total = total, .began_ms = now };
    snprintf(bar->digest, sizeof(bar->digest), "%s", digest);
    return bar;
}

/* "  5.1MB/s  4 s left" */
static const char *pace(struct sbx_arena *arena, const struct sbx_blob_bar *bar, long now)
{
    double seconds = (double)(now - bar->began_ms) / 1000;
    double rate = now - bar->began_ms > RATE_MS ? (double)(bar->done - bar->before) / seconds : 0;
    const char *text = "";

    if (rate > 0 && bar->done < bar->total)
        text = sbx_arena_printf(arena, "  %s/s  %.0f s left", sbx_out_size(arena, (long long)rate),
                                (double)(bar->total - bar->done) / rate);
    else if (rate > 0)
        text = sbx_arena_printf(arena, "  %s/s", sbx_out_size(arena, (long long)rate));
    return text ? text : "";
}

/* One line; on a terminal it must not wrap, or the cursor would lose its place. */
static void line(FILE *out, struct sbx_arena *arena, const struct sbx_blob_bar *bar, int columns,
                 long now)
{
    static const char full[] = "====================", none[] = "                    ";
    int part = bar->total ? (int)(bar->done * BAR / bar->total) : BAR;
    const char *graph = "", *of = "", *text;

    if (bar->done < bar->total) {
        if (columns >= WIDTH_MIN)
            graph = sbx_arena_printf(arena, "[%.*s>%.*s]  ", part, full, BAR - part, none);
        of = sbx_arena_printf(arena, "%s of ", sbx_out_size(arena, bar->done));
    }
    text = graph && of ? sbx_arena_printf(arena, "%.19s  %s%s%s%s", bar->digest, graph, of,
                                          sbx_out_size(arena, bar->total), pace(arena, bar, now))
                       : NULL;
    if (text)
        fprintf(out, "%.*s\n", columns ? columns - 1 : (int)strlen(text), text);
}

/* What is over goes up and stays; the others are drawn below it. */
static void draw(struct sbx_blobs *b, long now)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    FILE *out = b->cli->err;
    int columns = sbx_tty_size(NULL).cols;
    size_t left = 0;

    if (!arena)
        return;
    if (!columns) /* a terminal that does not know */
        columns = COLUMNS;
    b->drawn_ms = now;
    if (b->lines)
        fprintf(out, "\033[%zuA\033[J", b->lines);
    for (size_t i = 0; i < b->n; i++)
        if (b->v[i].done >= b->v[i].total)
            line(out, arena, &b->v[i], columns, now);
    for (size_t i = 0; i < b->n; i++)
        if (b->v[i].done < b->v[i].total) {
            line(out, arena, &b->v[i], columns, now);
            b->v[left++] = b->v[i];
        }
    b->n = b->lines = left;
    fflush(out);
}

static void event(struct sbx_blobs *b, struct sbx_blob_bar *bar, long now)
{
    bar->told_ms = now;
    sbx_out_event(b->cli,
                  json_pack("{s:s,s:s,s:I,s:I}", "event", "blob", "digest", bar->digest, "done",
                            (json_int_t)bar->done, "total", (json_int_t)bar->total));
}

static void forget(struct sbx_blobs *b, struct sbx_blob_bar *bar) { *bar = b->v[--b->n]; }

static void tell(struct sbx_blobs *b, struct sbx_blob_bar *bar, long now)
{
    SBX_AUTO_PTR(sbx_arena) arena = NULL;
    bool over = bar->done >= bar->total;

    if (b->cli->format == SBX_FORMAT_JSON) {
        if (over || now - bar->told_ms >= EVENT_MS)
            event(b, bar, now);
    } else if (b->terminal) {
        if (over || now - b->drawn_ms >= REDRAW_MS)
            draw(b, now);
        return; /* which forgets what is over */
    } else if (over && (arena = sbx_arena_new())) {
        line(b->cli->err, arena, bar, 0, now);
    }
    if (over)
        forget(b, bar);
}

static void on_bytes(void *ctx, const char *digest, int64_t done, int64_t total)
{
    struct sbx_blobs *b = ctx;
    struct sbx_blob_bar *bar;
    long now = now_ms();

    if (total < TOLD_MIN || b->cli->quiet)
        return;
    pthread_mutex_lock(&b->lock);
    bar = find(b, digest);
    if (!bar)
        bar = begin(b, digest, done, total, now);
    if (bar) {
        if (done < bar->done) /* it began anew */
            bar->before = done;
        bar->done = done;
        tell(b, bar, now);
    }
    pthread_mutex_unlock(&b->lock);
}

/* Also of what is too much: nobody else fills the user's screen. */
static bool was_told(struct sbx_blobs *b, const char *text)
{
    for (size_t i = 0; i < b->n_told; i++)
        if (!strncmp(b->told[i], text, sizeof(b->told[i]) - 1))
            return true;
    if (b->n_told == SBX_BLOBS_TOLD)
        return true;
    snprintf(b->told[b->n_told++], sizeof(b->told[0]), "%s", text);
    return false;
}

static void on_line(void *ctx, const char *text)
{
    struct sbx_blobs *b = ctx;

    pthread_mutex_lock(&b->lock);
    if (!was_told(b, text)) {
        sbx_cli_note(b->cli, "note: %s", text);
        b->lines = 0; /* the bars that are there stay where they are */
    }
    pthread_mutex_unlock(&b->lock);
}

static void release(void *p)
{
    struct sbx_blobs *b = p;

    pthread_mutex_destroy(&b->lock);
}

struct sbx_blobs *sbx_blobs_of(struct sbx_cli *cli)
{
    struct sbx_blobs *b = cli->blobs ? cli->blobs : sbx_arena_alloc(cli->arena, sizeof(*b));

    if (!b || cli->blobs)
        return b;
    cli->blobs = b;
    b->cli = cli;
    pthread_mutex_init(&b->lock, NULL);
    b->terminal = sbx_tty_draws() && cli->format == SBX_FORMAT_TABLE;
    b->progress = (struct sbx_oci_progress){ .bytes = on_bytes, .line = on_line, .ctx = b };
    /* where that fails the mutex goes with the program */
    (void)!sbx_arena_defer(cli->arena, release, b);
    return b;
}

void sbx_blobs_leave(struct sbx_blobs *b)
{
    pthread_mutex_lock(&b->lock);
    b->lines = 0;
    pthread_mutex_unlock(&b->lock);
}
