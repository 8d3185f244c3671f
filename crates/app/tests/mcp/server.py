"""A small MCP server: one tool that says how something looks. Usage: server.py LOG [http]"""
import http.server
import json
import sys

LOOK = {
    "name": "look",
    "description": "Tells how something looks.",
    "inputSchema": {
        "type": "object",
        "properties": {"at": {"type": "string", "enum": ["sea"]}},
        "required": ["at"],
        "additionalProperties": False,
    },
}


def answer(message):
    """The reply to a message; None where there is none."""
    if "id" not in message:
        return None
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        info = {"name": "sea", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": [LOOK]}
    elif method == "tools/call":
        with open(sys.argv[1], "a") as log:
            log.write(json.dumps(params) + "\n")
        result = {"content": [{"type": "text", "text": "It is blue-4711."}]}
    elif method == "ping":
        result = {}
    else:
        error = {"code": -32601, "message": "no such method"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        reply = answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        body = b"" if reply is None else json.dumps(reply).encode()
        self.send_response(202 if reply is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def log_message(self, *arguments):
        pass


if sys.argv[2:] == ["http"]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
for line in sys.stdin:
    reply = answer(json.loads(line))
    if reply is not None:
        print(json.dumps(reply), flush=True)
