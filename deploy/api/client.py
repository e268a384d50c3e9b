"""Hands a file in, waits and reads the evidence, by a client that was made of doc/openapi.json.

The file lies in a library of the site, so the report has to name it.
"""

import io
import os
import pathlib
import sys
import time

from concordat_api import AuthenticatedClient
from concordat_api.api.default import get_check, list_evidence, submit_checks
from concordat_api.models import SubmitChecksBody
from concordat_api.types import File


def main():
    path = pathlib.Path(sys.argv[1])
    client = AuthenticatedClient(base_url=os.environ["API_BASE"], token=os.environ["API_TOKEN"], raise_on_unexpected_status=True)
    body = SubmitChecksBody(file=[File(payload=io.BytesIO(path.read_bytes()), file_name="submitted.txt", mime_type="text/plain")])
    check = submit_checks.sync(client=client, body=body).checks[0]
    late = time.monotonic() + 120
    while check.state in ("queued", "running"):
        if time.monotonic() > late:
            sys.exit(f"check {check.id} is {check.state} after two minutes")
        time.sleep(0.5)
        check = get_check.sync(check.id, client=client)
    if check.state != "done":
        sys.exit(f"check {check.id} is {check.state}: {check.cause}")
    page = list_evidence.sync(check.id, client=client)
    found = {source.document for passage in page.evidence for source in passage.sources}
    if page.total == 0 or path.name not in found:
        sys.exit(f"the evidence names {sorted(found)}, want {path.name}")
    print(f"generated client: {check.coverage:.0%} found in {', '.join(sorted(found))}, {page.total} passages")


if __name__ == "__main__":
    main()
