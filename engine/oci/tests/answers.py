"""How the registries of these tests answer. For badregistry.py and faults.py."""
import json
from http.server import BaseHTTPRequestHandler


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", length=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code, message, **headers):
        """As registries say it."""
        text = json.dumps({"errors": [{"code": code, "message": message}]}).encode()
        self.answer(status, text, Content_Type="application/json", **headers)
