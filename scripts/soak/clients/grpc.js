// A server of HTTP/2 over TLS that answers as gRPC does, trailers included; and the client for it.
//
//   node grpc.js serve PORT CERTIFICATE KEY      prints "ready"
//   node grpc.js ask URL CA                      prints the message and the trailer
const fs = require('fs'), http2 = require('http2');
const [mode, where, ...files] = process.argv.slice(2);
if (mode === 'serve') {
  const server = http2.createSecureServer({ cert: fs.readFileSync(files[0]), key: fs.readFileSync(files[1]) });
  server.on('stream', (stream, head) => {
    console.log(head[':path'], head.authorization);
    const got = [];
    stream.on('data', (d) => got.push(d));
    stream.on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' }));
      stream.end(Buffer.concat(got));
    });
  });
  server.listen(Number(where), () => console.log('ready'));
} else {
  const url = new URL(where);
  const session = http2.connect(url.origin, { ca: fs.readFileSync(files[0]) });
  const stream = session.request({ ':method': 'POST', ':path': url.pathname, 'content-type': 'application/grpc', te: 'trailers' });
  let body = '', trailers = {};
  stream.on('data', (d) => { body += d; });
  stream.on('trailers', (t) => { trailers = t; });
  stream.on('end', () => { console.log(`${body} ${session.alpnProtocol} ${trailers['grpc-status']}`); session.close(); });
  session.on('error', (e) => { console.error(e.message); process.exit(1); });
  stream.end('message');
}
