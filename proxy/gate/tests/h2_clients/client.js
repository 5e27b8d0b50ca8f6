// A client of node's own HTTP/2 for h2_clients.py: node client.js PROXYHOST PROXYPORT CA ORIGIN; exit 0: all was right.
'use strict';
const fs = require('fs'), http = require('http'), http2 = require('http2'), tls = require('tls');
const [proxyHost, proxyPort, ca, origin] = process.argv.slice(2);
const host = new URL(origin).hostname;

function check(what, got, want) {
    if (got !== want) {
        console.log(`${what}: ${got} instead of ${want}`);
        process.exit(1);
    }
    console.log(what);
}

function connect() {
    return new Promise((resolve, reject) => {
        http.request({ host: proxyHost, port: proxyPort, method: 'CONNECT', path: `${host}:443` })
            .on('connect', (reply, socket) => {
                const secure = tls.connect({ socket, servername: host, ca: fs.readFileSync(ca), ALPNProtocols: ['h2'] },
                    () => resolve(http2.connect(origin, { createConnection: () => secure })));
                secure.on('error', reject);
            }).on('error', reject).end();
    });
}

function ask(session, headers, body) {
    return new Promise((resolve, reject) => {
        const stream = session.request(headers, { endStream: body === undefined });
        const out = { text: '', trailers: {} }, parts = [];
        stream.on('response', (h) => { out.status = h[':status']; });
        stream.on('trailers', (h) => { out.trailers = h; });
        stream.on('data', (d) => parts.push(d));
        stream.on('end', () => { out.text = Buffer.concat(parts).toString('latin1'); resolve(out); });
        stream.on('error', reject);
        if (body !== undefined)
            stream.end(body);
    });
}

async function main() {
    const session = await connect();
    let r = await ask(session, { ':path': '/', authorization: 'mine' });
    check('a request', r.text.startsWith(`HTTP/2.0 ${host} Bearer `), true);
    const body = 'y'.repeat(3 << 20);
    r = await ask(session, { ':path': '/echo', ':method': 'POST' }, body);
    check('an echo', r.text === body, true);
    check('its trailers', r.trailers['x-sum'], String(body.length));
    r = await ask(session, { ':path': '/', ':authority': 'other.example.com' });
    check('another authority', r.status, 421);
    const all = await Promise.all([...Array(80).keys()].map((i) => ask(session, { ':path': '/echo', ':method': 'POST' },
        'z'.repeat(i * 1000))));
    check('80 at once', all.every((x, i) => x.text.length === i * 1000), true);
    check('extended CONNECT is not offered', session.remoteSettings.enableConnectProtocol, false);
    await new Promise((resolve, reject) => session.ping((e) => (e ? reject(e) : resolve())));
    session.close();
}

main().catch((e) => { console.log(e); process.exit(1); });
