"""Hands in a document by a client that openapi-python-client made, waits for its check and reads the evidence."""

import sys
import time

from made import AuthenticatedClient
from made.api.default import get_check, list_evidence, submit_checks
from made.models import SubmitChecksBody
from made.types import File

base, token, path = sys.argv[1:]
client = AuthenticatedClient(base_url=base, token=token)
with open(path, "rb") as document:
    body = SubmitChecksBody(file=[File(payload=document, file_name=path.rsplit("/", 1)[-1])])
    handed = submit_checks.sync(client=client, body=body)
check = handed.checks[0]
for _ in range(300):
    check = get_check.sync(check.id, client=client)
    if check.state not in ("queued", "running"):
        break
    time.sleep(0.2)
evidence = list_evidence.sync(check.id, client=client).evidence
print(f"client: {check.state}, {len(evidence)} passages, the first of kind {evidence[0].kind}")
