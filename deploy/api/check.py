"""Holds a served site to doc/openapi.json, by programs that are kept elsewhere.

openapi-spec-validator reads the document; a client that openapi-python-client makes of it hands in a file, waits and reads the
evidence; Schemathesis calls every operation, in all its phases and with all its checks, at a site with real documents in it.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import httpx

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEMO = ROOT / "demo"
DOCUMENT = ROOT / "doc" / "openapi.json"
SCOPES = ["read", "check", "review", "documents", "people", "tokens", "hooks", "erase", "platforms", "inbox"]


def serve(binary, folder):
    """Serves a new site; returns its process, its address and the key of its first account."""
    process = subprocess.Popen(
        [binary, "--data", folder / "site", "serve", "--listen", "127.0.0.1:0", "--title", "Checked"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | {"CONCORDAT_SERVE_API_CALLS": "1000000"})
    base = key = None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.search(r"(http://[^/\s]+)/first\?key=(\S+)", line):
            base, key = found.groups()
            break
    else:
        sys.exit("serve ended:\n" + "".join(said))

    def rest():
        with open(folder / "log", "w", encoding="utf-8") as log:
            log.writelines(process.stdout)

    threading.Thread(target=rest, daemon=True).start()
    return process, base, key


def token_of_first(base, key):
    """Makes the first administrator on the pages, and a token of all scopes."""
    password = "a passphrase for a site of an hour"
    with httpx.Client(base_url=base, timeout=60) as person:
        person.post("/first", data={"key": key, "name": "ada", "title": "Ada", "password": password, "again": password})
        page = person.post("/account/tokens", data={"name": "checked", "scope": SCOPES, "origins": "https://repository.example.org"})
    found = re.search(r"concordat_[A-Z2-7]+", page.text)
    if not found:
        sys.exit(f"no token: {page.status_code} {page.text[:500]}")
    return found.group()


def fill(api):
    """Puts documents into the site and has things checked; returns the names that schemathesis.toml wants."""
    def call(method, path, **more):
        answer = api.request(method, path, **more)
        answer.raise_for_status()
        return answer.json()

    def files(*names):
        return [("file", (pathlib.Path(n).name, (DEMO / n).read_bytes())) for n in names]

    for library in ("calls", "spare"):
        call("POST", "/admin/libraries", json={"id": library, "title": library})
    texts = ["library/calls/chatbots.txt", "library/calls/data-usage.txt", "library/calls/anvil-labspace.html"]
    call("POST", "/libraries/calls/documents", files=files(*texts))
    check = call("POST", "/checks", files=files("submission/shared-evidence-commons.docx"))["checks"][0]["id"]
    batch = call("POST", "/batches", files=files(*texts))["id"]
    api.get(f"/checks/{check}/events")  # until it has ended
    call("POST", "/people", json={"name": "bo", "role": "officer"})
    call("POST", "/tokens", json={"name": "spare", "scopes": ["read"], "days": 1})
    spare = next(t["id"] for t in call("GET", "/tokens")["tokens"] if t["name"] == "spare")
    hook = call("POST", "/webhooks", json={"url": "https://hooks.example.org/", "events": ["check.done"]})
    call("POST", f"/checks/{check}/verdict", json={"verdict": "discuss", "text": "To be looked at."})
    return {"CHECK": check, "BATCH": batch, "TOKEN": spare, "HOOK": hook["id"]}


def generated(folder):
    """Makes a client of the document and runs client.py with it."""
    (folder / "generate.yaml").write_text("post_hooks: []\n")  # not formatted afterwards
    subprocess.run(["openapi-python-client", "generate", "--path", DOCUMENT, "--meta", "none", "--config", folder / "generate.yaml",
                    "--output-path", folder / "concordat_api", "--fail-on-warning"], check=True, cwd=folder)
    subprocess.run([sys.executable, HERE / "client.py", DEMO / "library" / "calls" / "chatbots.txt"], check=True,
                   env=os.environ | {"PYTHONPATH": str(folder)})


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    subprocess.run(["openapi-spec-validator", DOCUMENT], check=True)
    with tempfile.TemporaryDirectory(prefix="concordat-api-") as name:
        folder = pathlib.Path(name)
        process, base, key = serve(binary, folder)
        try:
            token = token_of_first(base, key)
            os.environ |= {"API_BASE": base, "API_TOKEN": token, "API_HOOKS": str(HERE / "hooks.py")}
            with httpx.Client(base_url=base + "/api/v1", timeout=300, headers={"Authorization": "Bearer " + token}) as api:
                os.environ |= fill(api)
                generated(folder)
                command = ["schemathesis", "--config-file", HERE / "schemathesis.toml", "run", base + "/api/v1/openapi.json",
                           "--url", base, "--max-examples", os.environ.get("EXAMPLES", "25"), "--continue-on-failure"]
                if seed := os.environ.get("SEED"):
                    command += ["--seed", seed]
                ended = subprocess.run(command, cwd=folder)
                if api.get("/me").status_code != 200:
                    sys.exit("the token did not last: what came after it was lost tells nothing")
        finally:
            process.terminate()
            process.wait(60)
        sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
