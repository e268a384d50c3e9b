"""Asks a served site for a check with the package coarnotify (PyPI), made by others: its client sends the request, its server
validates each answer. CONCORDAT_URL, CONCORDAT_INBOX (a token with the scope inbox for http://127.0.0.1:PORT) and CONCORDAT_PORT
name the site."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue

import requests
from coarnotify.client import COARNotifyClient
from coarnotify.core.notify import NotifyActor, NotifyObject, NotifyService
from coarnotify.http_lib import HttpLayer, RequestsHttpResponse
from coarnotify.patterns import RequestReview, UndoOffer
from coarnotify.patterns.request_review import RequestReviewItem
from coarnotify.server import COARNotifyReceipt, COARNotifyServer, COARNotifyServiceBinding

SITE, TOKEN, PORT = os.environ["CONCORDAT_URL"], os.environ["CONCORDAT_INBOX"], int(os.environ["CONCORDAT_PORT"])
HERE = f"http://127.0.0.1:{PORT}"
TEXT = b"The harbour pilot keeps a ledger of every tide and lantern that passes.\n\n" * 60
answers = Queue()


class Binding(COARNotifyServiceBinding):
    """Keeps what came, once it is valid."""

    def notification_received(self, notification):
        answers.put(notification)
        return COARNotifyReceipt(COARNotifyReceipt.CREATED, HERE + "/inbox/1")


class Repository(BaseHTTPRequestHandler):
    """Has one work, and an inbox."""

    def log_message(self, *args):
        """Say nothing."""

    def answer(self, status, media="text/plain", body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Type": media, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/paper/1":
            self.answer(200, "text/html", b"<title>A work</title>", Link='</paper/1/text.txt>; rel="item"; type="text/plain"')
        elif self.path == "/paper/1/text.txt":
            self.answer(200, body=TEXT)
        else:
            self.answer(404)

    def do_POST(self):
        raw = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            receipt = COARNotifyServer(Binding()).receive(raw, validate=True)
            self.answer(receipt.status, Location=receipt.location)
        except Exception as e:
            answers.put(e)
            self.answer(400)


class WithToken(HttpLayer):
    """Requests with the token of the repository."""

    def post(self, url, data, headers=None, *args, **kwargs):
        return RequestsHttpResponse(requests.post(url, data=data, headers={**(headers or {}), "Authorization": "Bearer " + TOKEN}, timeout=30))

    def get(self, url, headers=None, *args, **kwargs):
        raise NotImplementedError


def offer(page, item=None):
    n = RequestReview()
    n.actor = NotifyActor()
    n.actor.id, n.actor.name, n.actor.type = HERE + "/", "Repository", "Service"
    n.origin, n.target = NotifyService(), NotifyService()
    n.origin.id, n.origin.inbox = HERE + "/", HERE + "/inbox"
    n.target.id, n.target.inbox = SITE, inbox()
    o = NotifyObject()
    o.id, o.type, o.cite_as = page, ["Page", "sorg:AboutPage"], "https://doi.org/10.5555/12345680"
    if item:
        o.item = RequestReviewItem()
        o.item.id, o.item.type, o.item.media_type = item, ["Article", "sorg:ScholarlyArticle"], "text/plain"
    n.object = o
    return n


def inbox():
    """Find the inbox as Linked Data Notifications say."""
    return requests.head(SITE + "/", allow_redirects=False, timeout=30).links["http://www.w3.org/ns/ldp#inbox"]["url"]


def expect(*names):
    """Wait for answers of these classes, in this order, and return the last."""
    last = None
    for name in names:
        try:
            last = answers.get(timeout=120)
        except Empty:
            sys.exit(f"FAILED: no {name} came")
        print(type(last).__name__, last if isinstance(last, Exception) else last.in_reply_to)
        if type(last).__name__ != name:
            sys.exit(f"FAILED: want {name}")
    return last


def main():
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Repository)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = COARNotifyClient(http_layer=WithToken())
    for n in (offer(HERE + "/paper/1"), offer(HERE + "/paper/1", HERE + "/paper/1/text.txt")):
        response = client.send(n)
        assert response.action == "created" and response.location, response.action
        last = expect("TentativelyAccept", "Accept", "AnnounceReview")
        assert last.in_reply_to == n.id
        assert last.object.id.startswith(SITE + "/checks/"), last.object.id
        kept = requests.get(response.location, headers={"Authorization": "Bearer " + TOKEN}, timeout=30)
        assert kept.json()["id"] == n.id, kept.text
    n = offer(HERE + "/nowhere")
    client.send(n)
    assert "404" in expect("TentativelyAccept", "Reject").summary
    undo = UndoOffer()
    undo.actor, undo.origin, undo.target, undo.object = n.actor, n.origin, n.target, n
    undo.in_reply_to, undo.summary = n.id, "A mistake"
    client.send(undo)
    expect("UnprocessableNotification")  # it has ended
    for path in ("/checks", "/libraries", "/me"):
        got = requests.get(SITE + "/api/v1" + path, headers={"Authorization": "Bearer " + TOKEN}, timeout=30)
        assert got.status_code == 403, (path, got.status_code)
    print("OK")


main()
