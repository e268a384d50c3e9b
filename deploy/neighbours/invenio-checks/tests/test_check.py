"""Tests of the check with the real invenio-checks, against a small site, or against the one that CONCORDAT_URL names."""

import json
import os
import threading
import unittest
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from types import SimpleNamespace

from flask import Flask
from flask_babel import Babel
from invenio_checks.base import ChecksRegistry
from invenio_checks.models import Severity

from concordat_check import check as module
from concordat_check.check import ConcordatCheck, StillChecking
from concordat_check.client import Client, SiteError

TEXT = b"The harbour pilot keeps a ledger of every tide and lantern that passes.\n\n" * 60


class Site(BaseHTTPRequestHandler):
    """A site that does as told."""

    calls, states, status, share = [], ["queued", "done"], 202, 0.256

    def log_message(self, *args):
        """Say nothing."""

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Site.calls.append((self.path, self.headers["Idempotency-Key"], self.headers["Authorization"], body))
        if Site.status != 202:
            return self.answer(Site.status, {"detail": "no"})
        return self.answer(202, {"checks": [{"id": "id1", "state": "queued"}]})

    def do_GET(self):
        Site.calls.append((self.path,))
        state = Site.states.pop(0) if len(Site.states) > 1 else Site.states[0]
        value = {"id": "id1", "state": state}
        if state in ("done", "partial") and Site.share is not None:
            value["coverage"] = Site.share
        if state == "failed":
            value["cause"] = "encrypted"
        return self.answer(200, value)


class File:
    def __init__(self, key, data, checksum="md5:1", size=None):
        self.key, self.data = key, data
        self.file = SimpleNamespace(checksum=checksum, size=len(data) if size is None else size)

    @contextmanager
    def open_stream(self, mode):
        yield BytesIO(self.data)


def record(*files):
    return SimpleNamespace(id="11111111-1111-1111-1111-111111111111", files={f.key: f for f in files})


def config(severity=Severity.FAIL, **params):
    return SimpleNamespace(params=params, severity=severity)


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.server = HTTPServer(("127.0.0.1", 0), Site)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        Site.calls, Site.states, Site.status, Site.share = [], ["queued", "done"], 202, 0.256
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        app = Flask("test")
        Babel(app)
        app.config.update(CONCORDAT_URL=self.url + "/", CONCORDAT_TOKEN="secret")
        self.context = app.app_context()
        self.context.push()
        module.PAUSE = 0.01

    def tearDown(self):
        self.context.pop()
        self.server.shutdown()
        self.server.server_close()

    def run_check(self, rec, conf):
        return ConcordatCheck().run(rec, conf)

    def test_registered(self):
        """The registry of invenio-checks accepts the class, and finds it by the entry point of the package."""
        registry = ChecksRegistry()
        registry.register(ConcordatCheck)
        self.assertIs(registry.get("concordat"), ConcordatCheck)
        if os.environ.get("CONCORDAT_INSTALLED"):
            found = ChecksRegistry()
            found.load_from_entry_points(None, "invenio_checks.check_types")
            self.assertIs(found.get("concordat"), ConcordatCheck)

    def test_share(self):
        result, state = self.run_check(record(File("a.pdf", TEXT), File("data.csv", b"1,2")), config(threshold=0.2))
        self.assertEqual([c[0] for c in Site.calls], ["/api/v1/checks", "/api/v1/checks/id1", "/api/v1/checks/id1"])
        self.assertEqual(Site.calls[0][2], "Bearer secret")
        self.assertIn(b'filename="a.pdf"', Site.calls[0][3])
        error = result.to_dict()["errors"][0]
        self.assertEqual(error["field"], "files.entries.a.pdf")
        self.assertEqual(error["severity"], "error")
        self.assertEqual(error["messages"], [f"a.pdf: 25.6 % of the text matches other documents. {self.url}/checks/id1"])
        self.assertFalse(result.success)
        json.dumps([result.to_dict(), state])  # both are kept as JSON

    def test_below(self):
        result, _ = self.run_check(record(File("a.pdf", TEXT)), config(threshold=0.3))
        self.assertEqual(result.errors, [])
        self.assertTrue(result.success)
        self.assertIn("25.6 %", result.description)
        self.assertIn("/checks/id1", result.description)

    def test_failed_check(self):
        Site.states = ["failed"]
        result, _ = self.run_check(record(File("a.pdf", TEXT)), config())
        self.assertEqual(result.errors[0]["severity"], "info")
        self.assertIn("encrypted", result.errors[0]["messages"][0])
        self.assertTrue(result.success)

    def test_partial(self):
        """What was not compared is said beside the share."""
        Site.states = ["partial"]
        result, state = self.run_check(record(File("a.pdf", TEXT)), config(threshold=1))
        link = f"{self.url}/checks/id1"
        self.assertEqual(
            result.description, f"a.pdf: 25.6 % of the text matches other documents; not everything was compared. {link}"
        )
        self.assertTrue(state["checks"]["a.pdf"]["partial"])

    def test_no_share(self):
        """A site may keep the share from those who submit."""
        Site.share = None
        for given, words in (("done", "no share is shown"), ("partial", "no share is shown; not everything was compared")):
            Site.states = [given]
            result, _ = self.run_check(record(File("a.pdf", TEXT)), config())
            self.assertEqual(result.errors[0]["messages"], [f"a.pdf: {words}. {self.url}/checks/id1"])
            self.assertEqual(result.errors[0]["severity"], "info")

    def test_refused(self):
        """A token that may not submit is no fault of the record."""
        Site.status = 403
        result, _ = self.run_check(record(File("a.pdf", TEXT)), config())
        self.assertIn("403", result.errors[0]["messages"][0])
        self.assertTrue(result.success)

    def test_later(self):
        """What passes is tried again, under the same key."""
        Site.status = 503
        with self.assertRaises(SiteError):
            self.run_check(record(File("a.pdf", TEXT)), config())
        Site.status, Site.states, module.WAIT = 202, ["running"], 0.05
        try:
            with self.assertRaises(StillChecking):
                self.run_check(record(File("a.pdf", TEXT)), config())
        finally:
            module.WAIT = 90
        keys = {c[1] for c in Site.calls if len(c) > 1}
        self.assertEqual(len(keys), 1)

    def test_rerun(self):
        """Only changed texts are sent again."""
        first = record(File("a.pdf", TEXT))
        _, state = self.run_check(first, config())
        run = SimpleNamespace(state=state)
        c = ConcordatCheck()
        self.assertFalse(c.should_rerun(record(File("a.pdf", TEXT), File("data.csv", b"3")), config(threshold=0.5), run))
        self.assertTrue(c.should_rerun(record(File("a.pdf", TEXT, "md5:2")), config(), run))
        self.assertTrue(c.should_rerun(first, config(libraries=["theses"]), run))
        self.assertTrue(c.should_rerun(first, config(), SimpleNamespace(state={"error": "x"})))

    def test_bounds(self):
        files = [File(f"{i:02}.pdf", TEXT) for i in range(12)] + [File("large.pdf", b"", size=1 << 40)]
        texts, left = ConcordatCheck.texts(record(*files), {})
        self.assertEqual((len(texts), left), (10, ["10.pdf", "11.pdf", "large.pdf"]))
        result, _ = self.run_check(record(), config())
        self.assertEqual(result.description, "The record has no text to check.")

    def test_config(self):
        c = ConcordatCheck()
        c.validate_config(config(threshold=0.1, libraries=["a"]))
        for bad in ({"threshold": 2}, {"threshold": "x"}, {"threshold": True}, {"libraries": "a"}, {"extensions": [1]}):
            with self.assertRaises(ValueError):
                c.validate_config(config(**bad))


@unittest.skipUnless(os.environ.get("CONCORDAT_URL"), "no site")
class SiteTest(unittest.TestCase):
    def test_site(self):
        """A real site checks a text; a token does what its scopes say."""
        app = Flask("test")
        Babel(app)
        app.config.update(CONCORDAT_URL=os.environ["CONCORDAT_URL"], CONCORDAT_TOKEN=os.environ["CONCORDAT_TOKEN"])
        with app.app_context():
            result, state = ConcordatCheck().run(record(File("article.txt", TEXT)), config(threshold=1))
            again, same = ConcordatCheck().run(record(File("article.txt", TEXT)), config(threshold=1))
        self.assertIn("% of the text", result.description, result)
        self.assertEqual(state, same)  # one check under one key
        print(result.description)
        for token, status in ((os.environ["CONCORDAT_READER"], "403"), ("wrong", "401")):
            with self.assertRaisesRegex(SiteError, status):
                Client(os.environ["CONCORDAT_URL"], token).submit("a.txt", BytesIO(TEXT), "k")


if __name__ == "__main__":
    unittest.main()
