"""The check for invenio-checks."""

import hashlib
import time
from pathlib import Path

from flask import current_app
from invenio_checks.base import Check, CheckResult
from invenio_i18n import lazy_gettext as _

from .client import Client, SiteError

EXTENSIONS = ["pdf", "docx", "odt", "rtf", "tex", "txt", "md", "html", "epub", "xml"]
MOST_FILES = 10
MOST_BYTES = 100 << 20
# The worker that runs a check is stopped after 120 s, and then tries three times more; the key finds the same checks again.
WAIT = 90
PAUSE = 2


class StillChecking(Exception):
    """Some check has not ended; whoever runs this tries again later."""


class ConcordatCheck(Check):
    """Sends the texts of a record to a Concordat site, waits, and reports each share with a link."""

    id = "concordat"
    title = _("Text similarity")
    description = _("Compares the texts of the record with the libraries of a Concordat site.")
    sort_order = 30
    sync = False
    target_type = "record"

    def validate_config(self, config):
        """Refuse parameters that are not those of the check."""
        params = config.params
        threshold = params.get("threshold", 0.2)
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
            raise ValueError("threshold: want a share from 0 to 1")
        for name in ("extensions", "libraries"):
            value = params.get(name, [])
            if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
                raise ValueError(f"{name}: want a list of words")

    def client(self):
        """Return the client of the site that the configuration of the application names."""
        return Client(current_app.config["CONCORDAT_URL"], current_app.config["CONCORDAT_TOKEN"])

    @staticmethod
    def texts(record, params):
        """Return the files that are texts, by name, and the names of those that are left out."""
        wanted = {x.lower().lstrip(".") for x in params.get("extensions", EXTENSIONS)}
        texts, left = [], []
        for file in sorted(record.files.values(), key=lambda f: f.key):
            name = file.key
            if Path(name).suffix[1:].lower() not in wanted or file.file is None:
                continue
            if len(texts) >= MOST_FILES or file.file.size > MOST_BYTES:
                left.append(name)
            else:
                texts.append(file)
        return texts, left

    def should_rerun(self, record, config, previous_run, **kwargs):
        """Run again if a file, or what is asked for, has changed, or the last run failed."""
        return (previous_run.state or {}).get("of") != self._digest(record, config.params)

    def _digest(self, record, params):
        texts, _left = self.texts(record, params)
        parts = [f"{f.key}\0{f.file.checksum}" for f in texts] + sorted(params.get("libraries", []))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def run(self, record, config, **kwargs):
        """Check the texts of the record."""
        params, client = config.params, self.client()
        result = CheckResult(id=self.id, title=str(self.title), description="")
        severity = config.severity.error_value
        texts, left = self.texts(record, params)
        threshold = params.get("threshold", 0.2)
        lines, checks = [], {}
        end = time.monotonic() + WAIT
        for file in texts:
            checks[file.key] = self._submit(client, record, file, params)
        for key, check in checks.items():
            if check["id"]:
                self._await(client, check, end)
            words = self._words(key, check)
            lines.append(words)
            if check["error"] or check["share"] is None or check["share"] >= threshold and check["share"] > 0:
                result.errors.append(
                    {
                        "field": f"files.entries.{key}",
                        "messages": [words],
                        "description": words,
                        # What could not be checked is said, and is no fault of the text.
                        "severity": "info" if check["error"] or check["share"] is None else severity,
                    }
                )
        lines += [f"{name}: not checked; at most {MOST_FILES} texts of {MOST_BYTES >> 20} MiB each are." for name in left]
        result.description = " ".join(lines) or "The record has no text to check."
        result.success = not any(e["severity"] == "error" for e in result.errors)
        return result, {"of": self._digest(record, params), "checks": checks}

    @staticmethod
    def _submit(client, record, file, params):
        key = hashlib.sha256(
            "\0".join([str(record.id), file.key, str(file.file.checksum), *sorted(params.get("libraries", []))]).encode()
        ).hexdigest()
        check = {"id": "", "share": None, "partial": False, "link": "", "error": ""}
        try:
            with file.open_stream("rb") as stream:
                check["id"] = client.submit(Path(file.key).name, stream, key, params.get("libraries", []))
        except SiteError as e:
            if e.passing:
                raise
            check["error"] = str(e)
            return check
        check["link"] = client.link(check["id"])
        return check

    @staticmethod
    def _await(client, check, end):
        while True:
            now = client.check(check["id"])
            state = now.get("state")
            if state in ("done", "partial"):
                share = now.get("coverage")
                check["share"] = share if isinstance(share, (int, float)) else None
                check["partial"] = state == "partial"
                return
            if state == "failed":
                check["error"] = str(now.get("cause") or "the check failed")
                return
            if time.monotonic() > end:
                raise StillChecking(f"check {check['id']} is {state}")
            time.sleep(PAUSE)

    @staticmethod
    def _words(name, check):
        if check["error"]:
            return f"{name}: not checked ({check['error']}). {check['link']}".strip()
        # Without a share, either nothing was measured or the site does not show shares to those who submit.
        share = "no share is shown" if check["share"] is None else f"{100 * check['share']:.1f} % of the text matches other documents"
        left = "; not everything was compared" if check["partial"] else ""
        return f"{name}: {share}{left}. {check['link']}"
