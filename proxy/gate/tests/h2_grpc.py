"""gRPC at both ends, without generated code: messages are bytes.

usage: h2_grpc.py serve ADDRESS:PORT CERT KEY     serves until its input ends; a line "ready" first
       h2_grpc.py call HOST:PORT CA               calls through https_proxy; exit 0: all was right
"""
import sys
import threading

import grpc

LARGE = 3 << 20
calls, cancelled = [], threading.Event()


def unary(request, context):
    calls.append(dict(context.invocation_metadata()))
    context.set_trailing_metadata((("x-sum", str(len(request))), ("blob-bin", b"\0\xff")))
    if request == b"fail":
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "as asked: \u00fc")
    if request == b"auth":
        return calls[-1].get("authorization", "none").encode()
    if request == b"was cancelled?":
        return b"%d" % cancelled.wait(20)
    return request


def count(request, context):
    for i in range(int(request)):
        yield b"%d" % i


def collect(requests, context):
    return b"%d" % sum(len(r) for r in requests)


def talk(requests, context):
    for r in requests:
        yield r + b"!"


def forever(request, context):
    context.add_callback(cancelled.set)
    yield b"begun"
    cancelled.wait(60)


def serve(address, cert, key):
    def read(path):
        with open(path, "rb") as f:
            return f.read()
    from concurrent import futures
    handlers = {"Unary": grpc.unary_unary_rpc_method_handler(unary),
                "Count": grpc.unary_stream_rpc_method_handler(count),
                "Collect": grpc.stream_unary_rpc_method_handler(collect),
                "Talk": grpc.stream_stream_rpc_method_handler(talk),
                "Forever": grpc.unary_stream_rpc_method_handler(forever)}
    server = grpc.server(futures.ThreadPoolExecutor(16))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t.T", handlers),))
    if not server.add_secure_port(address, grpc.ssl_server_credentials([(read(key), read(cert))])):
        sys.exit("cannot listen")
    server.start()
    print("ready", flush=True)
    sys.stdin.read()
    server.stop(None)


def check(what, got, want):
    if got != want:
        sys.exit("%s: %r instead of %r" % (what, got, want))
    print(what, flush=True)


def call(target, ca):
    with open(ca, "rb") as f:
        channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(f.read()))
    limit = {"timeout": 60}
    ask = channel.unary_unary("/t.T/Unary")
    body, rpc = ask.with_call(b"hello", **limit)
    check("unary", (body, rpc.code(), dict(rpc.trailing_metadata())),
          (b"hello", grpc.StatusCode.OK, {"x-sum": "5", "blob-bin": b"\0\xff"}))
    large = b"q" * LARGE
    check("a large message", ask(large, **limit) == large, True)
    try:
        ask(b"fail", **limit)
        check("a failure", "no error", "an error")
    except grpc.RpcError as e:
        check("a failure", (e.code(), e.details(), dict(e.trailing_metadata())["x-sum"]),
              (grpc.StatusCode.FAILED_PRECONDITION, "as asked: \u00fc", "4"))
    try:
        channel.unary_unary("/t.T/None")(b"", **limit)
    except grpc.RpcError as e:
        check("a method that is none", e.code(), grpc.StatusCode.UNIMPLEMENTED)
    check("the gate's value", ask(b"auth", metadata=(("authorization", "mine"),), **limit)[:7], b"Bearer ")
    check("a stream from the server", sum(int(m) for m in channel.unary_stream("/t.T/Count")(b"5000", **limit)),
          5000 * 4999 // 2)
    check("a stream from the client",
          channel.stream_unary("/t.T/Collect")((b"x" * 1000 for _ in range(3000)), **limit), b"3000000")
    talk_both(channel, limit)
    stream = channel.unary_stream("/t.T/Forever")(b"", **limit)
    check("a stream that is cancelled", next(stream), b"begun")
    stream.cancel()
    check("the server knows", ask(b"was cancelled?", **limit), b"1")
    channel.close()


def talk_both(channel, limit):
    """Each message waits for the answer to the one before: nothing may lie in the gate."""
    answered = threading.Semaphore(1)

    def messages():
        for i in range(200):
            answered.acquire(timeout=60)
            yield b"%d" % i
    got = []
    for m in channel.stream_stream("/t.T/Talk")(messages(), **limit):
        got.append(m)
        answered.release()
    check("a talk", got, [b"%d!" % i for i in range(200)])


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"] and len(sys.argv) == 5:
        serve(*sys.argv[2:])
    elif sys.argv[1:2] == ["call"] and len(sys.argv) == 4:
        call(*sys.argv[2:])
    else:
        sys.exit(__doc__)
