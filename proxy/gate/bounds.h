/**
 * @file
 * Every bound of the gate, with its unit and its reason. Policy may narrow the two caps of
 * gate.json ("limits") but never raise them.
 */
#ifndef SBX_GATE_BOUNDS_H
#define SBX_GATE_BOUNDS_H

/* heads, bytes: large cookies and signed URLs fit; memory a connection stays small */
#define SBX_GATE_HEAD_MAX 32768
#define SBX_GATE_CONNECT_HEAD_MAX 8192 /* a CONNECT head carries a name and a few fields */
#define SBX_GATE_TARGET_MAX 8192       /* longest URL that common servers accept */
#define SBX_GATE_METHOD_MAX 32         /* longest registered method has 17 */
#define SBX_GATE_FIELDS_MAX 128        /* fields; browsers send about 30 */
#define SBX_GATE_REPLY_HEAD_MAX 65536  /* replies carry long Set-Cookie and CSP fields */
#define SBX_GATE_CONNECTION_TOKENS_MAX 32 /* names in Connection; bounds the work of striking them */
#define SBX_GATE_HELLO_MAX 65536       /* a ClientHello; with post-quantum keys they have 2 KiB */
#define SBX_GATE_CHUNK_LINE_MAX 256    /* size and extensions of one chunk */
#define SBX_GATE_TRAILERS_MAX 8192     /* bytes behind the last chunk */
#define SBX_GATE_UPSTREAM_HEAD_MAX 16384 /* CONNECT to a proxy of this machine, and its reply's head */
#define SBX_GATE_UPSTREAM_AUTH_MAX 8192 /* value of Proxy-Authorization; tokens have 2 KiB */
#define SBX_GATE_INTERIM_MAX 16        /* 1xx replies before the real one */

/* times, milliseconds */
#define SBX_GATE_HEAD_MS 10000      /* first byte of a connection to the end of its head */
#define SBX_GATE_KEEP_MS 60000      /* between two requests of a kept connection */
#define SBX_GATE_RESOLVE_MS 3000    /* a name; a slower resolver looks dead to any client */
#define SBX_GATE_DIAL_MS 10000      /* all addresses of a name together */
#define SBX_GATE_ATTEMPT_MS 3000    /* one address while others wait for its place */
#define SBX_GATE_STAGGER_MS 250     /* before the next address is tried beside it: RFC 8305, 5 */
#define SBX_GATE_HELLO_MS 5000      /* first byte of a ClientHello to its end */
#define SBX_GATE_UNSAID_MS 1000     /* a connection on which nobody speaks is logged after it */
#define SBX_GATE_CACHE_MS 10000     /* addresses of a name are used again: its true TTL is unknown */
#define SBX_GATE_LINGER_MS 2000     /* reading on behind an error answer so that it is not lost */
#define SBX_GATE_IDLE_MS 7200000    /* a tunnel without a byte; long-polling agents need hours */
#define SBX_GATE_HALF_MS 900000     /* the same once one side has ended */
#define SBX_GATE_DRAIN_MS 5000      /* for what came before a reset: else a server that does not read holds it */
#define SBX_GATE_UDP_MS 180000      /* a peer of a UDP port is silent: what NATs of the kernel give a stream */
#define SBX_GATE_UDP_UNANSWERED_MS 30000 /* the same where nobody inside has answered */
#define SBX_GATE_PROBE_S 20         /* seconds: a silent client is asked whether it is there; its kernel is this one */
#define SBX_GATE_POLL_MS 500        /* looking for a new gate.json where inotify does not work */

#define SBX_GATE_REST_MS 5000       /* an intercepted connection of a crowd without a request keeps its server */
#define SBX_GATE_SHAKE_MS 5000      /* TLS of one side of an intercepted connection: two round trips */

/* counts */
#define SBX_GATE_TUNNELS 4096           /* connections of one sandbox */
#define SBX_GATE_TUNNELS_PER_HOST 512   /* of those, to one host and port */
#define SBX_GATE_ADDRESSES 16           /* of one name */
#define SBX_GATE_ATTEMPTS 3             /* of those, tried at the same time */
#define SBX_GATE_CACHE 256              /* names whose addresses are kept; about 140 KiB */
#define SBX_GATE_NAMES 65535            /* with a synthetic address: 198.19.0.1 and up */
#define SBX_GATE_NAMES_PER_SECOND 100   /* new ones; a full install asks for about 20 in all */
#define SBX_GATE_RESOLVER_THREADS 8     /* lookups at once; each may wait for seconds */
#define SBX_GATE_LOOKUPS 4096           /* names asked for at once: one a connection */
#define SBX_GATE_LINGER_BYTES 262144    /* read and dropped behind an error answer */
#define SBX_GATE_DNS_QUERIES 64         /* of one DNS connection over TCP */
#define SBX_GATE_CONTROL_CLIENTS 16     /* the engine's commands at once */
#define SBX_GATE_CONTROL_LINE_MAX 4096  /* bytes; requests are one small object */
#define SBX_GATE_PORTS 256              /* published inward; each is a listener */
#define SBX_GATE_STEP_MAX 200           /* bytes of a step's id: phase, kit, number */
#define SBX_GATE_UDP_PEERS 256          /* addresses that send to one UDP port; each has a socket */
#define SBX_GATE_UDP_PEERS_ALL 1024     /* of all ports of a sandbox */
#define SBX_GATE_UDP_HELD 4194304       /* bytes of datagrams that wait for a socket inside */
#define SBX_GATE_UDP_ASKS 64            /* questions to the helper: its answers must fit its socket's buffer */
#define SBX_GATE_UDP_ROUNDS 64          /* datagrams of one socket before others get their turn */
#define SBX_GATE_ARRIVALS 256           /* connections from outside that wait for the inside */
#define SBX_GATE_PORT_ID_MAX 63         /* bytes: "[address]:port" */
#define SBX_GATE_PASSED 2               /* descriptors of one control request */
#define SBX_GATE_NO_PROXY 1024          /* entries of NO_PROXY; looked at for each request */
#define SBX_GATE_BLOCKED 256            /* latest denied targets kept for `blocked` */
#define SBX_GATE_LEAVES 256             /* certificates kept; about 2 KiB each */
#define SBX_GATE_INJECTS 256            /* rules of injection */
#define SBX_GATE_INJECTS_PER_HOST 8     /* of those, to one host and port */
#define SBX_GATE_SECRETS 64             /* different values */

/* secrets, bytes */
#define SBX_GATE_SECRET_MAX 8192        /* a value; signed tokens have up to 4 KiB */
#define SBX_GATE_SECRET_NAME_MAX 64
#define SBX_GATE_INJECT_HEADER_MAX 64   /* the name of a field */
#define SBX_GATE_LOCKED 262144          /* locked memory: the CA's key, a message and 24 of the largest values */
#define SBX_GATE_UPSTREAM_CA_MAX 1048576 /* PEM of extra roots; all of the web's have 220 KiB */

/* WebSocket; past one: close 1009 */
#define SBX_GATE_FRAME_MAX 16777216     /* bytes of a frame with its head: 16 MiB, what common libraries take */
#define SBX_GATE_FRAGMENTS 4096         /* frames of one message: each costs a receiver work, empty ones too */

/* HTTP/2, each connection; a client that passes one gets GOAWAY(ENHANCE_YOUR_CALM) but where said */
#define SBX_GATE_H2_STREAMS 100         /* at once; RFC 9113, 6.5.2 wants no less. More: REFUSED_STREAM */
#define SBX_GATE_H2_STREAM_WINDOW 65535 /* bytes of a body that wait for the other side: the default */
#define SBX_GATE_H2_WINDOW 262140       /* the same of all streams, so that one that stalls stops no other:
                                         * begins with the least there is, grows with what is held */
#define SBX_GATE_H2_STREAM_WINDOW_MAX 2097152 /* of a server's stream that is taken at once: 40 MB/s at 50 ms */
#define SBX_GATE_H2_SPARE 67108864      /* bytes that all windows may grow by: 341 connections with H2_WINDOW,
                                         * or 16 with the largest; as much as LARGE_BUFFERS are */
#define SBX_GATE_H2_LIST_MAX 262144     /* a header list; past HEAD_MAX it is 431, past this an attack */
#define SBX_GATE_H2_CONTINUATIONS 8     /* frames: a list of REPLY_HEAD_MAX needs 4 of the usual size */
#define SBX_GATE_H2_SETTINGS 32         /* entries of one frame; 7 are known */
#define SBX_GATE_H2_ADDED 16            /* fields that the gate adds to a request: one a credential */
#define SBX_GATE_H2_QUEUE 256           /* frames without data that wait for a side; then both wait */
#define SBX_GATE_H2_RESETS 200          /* streams cut by one side at once: twice all that are open */
#define SBX_GATE_H2_RESETS_PER_SECOND 20 /* of those, again; each stream that ends well gives one more */
#define SBX_GATE_H2_CONTROL 1000        /* PING, SETTINGS, empty DATA and the like without any use */
#define SBX_GATE_H2_CONTROL_PER_SECOND 100 /* of those, again */
#define SBX_GATE_H2_CONTROL_EARNED 4    /* of those for a frame of use: two windows, a ping and its like */
#define SBX_GATE_H2_STALL_MS 900000     /* a stream whose bytes nobody takes: HALF_MS. RST_STREAM(CANCEL) */
#define SBX_GATE_H2_IDLE_MS 300000      /* without a stream; a new one costs two handshakes. NO_ERROR */
#define SBX_GATE_H2_CROWD_IDLE_MS 30000 /* the same in a crowd: what it holds is 60 KiB and more */
#define SBX_GATE_H2_TABLE 1024          /* of HPACK for replies: the way to the client costs nothing, while an
                                         * entry has three times the memory that counts. Not for requests: a
                                         * client must know of it, and poor ones do not */
#define SBX_GATE_H2_TICK_MS 30000       /* how often streams are looked at */

/* relay memory, bytes */
#define SBX_GATE_BUFFER 262144          /* one read of a tunnel: copy was fastest with it */
#define SBX_GATE_SMALL_BUFFER 16384     /* one read when the large ones are all in use */
#define SBX_GATE_LARGE_BUFFERS 256      /* 64 MiB held for slow readers; behind it small ones */
#define SBX_GATE_CROWD_BUFFER 65536     /* one read in a crowd: 30 us, and nobody waits longer for a turn */
#define SBX_GATE_ROUNDS 1               /* reads of one side before others get their turn */
#define SBX_GATE_BULKY 16384            /* moved in a turn: the connection waits for those that move little */

#define SBX_GATE_UNSENT 262144          /* given to a socket and not sent yet: one large buffer */
#define SBX_GATE_WINDOW 131072          /* of a socket's receive buffer (the kernel doubles it) in a crowd */
#define SBX_GATE_CROWD 64               /* connections that may have as large a window as the kernel gives */
#define SBX_GATE_YOUNG 8                /* turns in which a connection is new; setting one up takes five */
#define SBX_GATE_DEST_FEW 16            /* connections lately that make a destination no busier than others */
#define SBX_GATE_DESTS_IDLE 256         /* destinations remembered without a connection; about 80 KiB */
#define SBX_GATE_TRIM 256               /* connections whose memory is worth giving back */

/* files, bytes */
#define SBX_GATE_CONFIG_MAX 8388608     /* 20,000 rules of about 300 bytes, with room */
#define SBX_GATE_UPSTREAM_MAX 524288    /* 1,024 entries of NO_PROXY and two passwords */
#define SBX_GATE_MAP_MAX 18874368       /* 65,535 names of 253 bytes, each connected */
#define SBX_GATE_LOG_MAX 67108864       /* hard cap of log.jsonl, where it cannot be rotated */
#define SBX_GATE_LOG_PART 33554432      /* it is rotated at half of it: both parts keep to the cap */
#define SBX_GATE_LOG_RESERVE 262144     /* of the log on disk before it is needed: 800 records */
#define SBX_GATE_RECORD_MAX 8192        /* one record: a target of 253 bytes fits escaped */
#define SBX_GATE_DENIALS 20             /* equal denials a minute that get a record each */
#define SBX_GATE_DENIAL_KEYS 512        /* different denials a minute that are told apart */

#endif
