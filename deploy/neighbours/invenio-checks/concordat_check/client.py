"""Client of one Concordat site. It knows nothing of Invenio. Its token needs the scopes check and read."""

from urllib.parse import quote

import requests

TIME = (10, 60)  # seconds: to connect, and between two bytes
MOST = 4 << 20  # bytes of an answer


class SiteError(Exception):
    """Says why a request came to nothing, and whether it is worth repeating."""

    def __init__(self, words, passing):
        """Keep both."""
        super().__init__(words[:500])
        self.passing = passing


class Client:
    """Submits files and reads what became of them."""

    def __init__(self, url, token, session=None):
        """Keep the address of the site and the token."""
        self.url = url.rstrip("/")
        self.session = session or requests.Session()
        self.session.trust_env = False  # neither proxies nor passwords of the machine
        self.token = token

    def submit(self, name, stream, key, libraries=()):
        """Send a file and return the id of its check. The same key is the same check within a day."""
        answer = self._call(
            "POST",
            "/checks",
            headers={"Idempotency-Key": key},
            files={"file": (name, stream)},
            data=[("library", one) for one in libraries],
        )
        try:
            return str(answer["checks"][0]["id"])
        except (KeyError, IndexError, TypeError):
            raise SiteError("the site answered without a check", False) from None

    def check(self, id_):
        """Return a check: state, coverage (absent: nothing was measured), cause."""
        return self._call("GET", "/checks/" + quote(id_, safe=""))

    def link(self, id_):
        """Return the address of a check for people."""
        return self.url + "/checks/" + quote(id_, safe="")

    def _call(self, method, path, headers=None, **body):
        headers = {"Authorization": "Bearer " + self.token, "Accept": "application/json", **(headers or {})}
        try:
            # The token stays at the site: redirections are not followed.
            with self.session.request(
                method, self.url + "/api/v1" + path, headers=headers, timeout=TIME, allow_redirects=False, stream=True, **body
            ) as r:
                text = r.raw.read(MOST + 1, decode_content=True)
                status = r.status_code
        except (requests.RequestException, OSError) as e:
            raise SiteError(f"no answer: {type(e).__name__}", True) from e
        if len(text) > MOST:
            raise SiteError("the answer is too long", False)
        try:
            answer = requests.compat.json.loads(text)
        except ValueError:
            answer = None
        if not 200 <= status < 300:
            words = answer.get("detail") or answer.get("title") or "" if isinstance(answer, dict) else ""
            raise SiteError(f"the site answered {status} {words}".strip(), status >= 500 or status in (408, 429))
        if not isinstance(answer, dict):
            raise SiteError("the site did not answer in JSON", False)
        return answer
