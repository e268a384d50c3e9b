"""What Schemathesis cannot learn from the document."""

import itertools
import os

import schemathesis

MOST = 255  # characters of an Idempotency-Key
numbers = itertools.count()

# TABLE is a table of what is known of files: no schema says which column it needs, and that a file is in one row.
TABLE = "file,title,date\na.txt,A,2024-05\nb.txt,B,\n"


@schemathesis.hook
def before_call(context, case, kwargs):
    """What fields have to do with one another, in requests that are to be accepted, and what is not deleted."""
    # Answers of other calls lead to the webhook that the run asks for: without it a call after "make-webhook", which takes that one
    # too, would be said to miss what was just made.
    if case.operation.label == "DELETE /api/v1/webhooks/{id}" and case.path_parameters.get("id") == os.environ["HOOK"]:
        case.path_parameters["id"] = "none"
    if not case.meta or case.meta.generation.mode != schemathesis.GenerationMode.POSITIVE:
        return
    # A key names one request: the same key with another body is refused by 422, as it has to be.
    key = str((case.headers or {}).get("Idempotency-Key") or "")
    if 0 < len(key) <= MOST:
        end = f"-{next(numbers)}"
        case.headers["Idempotency-Key"] = key[:MOST - len(end)] + end
    if isinstance(case.body, dict) and "manifest" in case.body:
        case.body["manifest"] = TABLE
    # What is replayed ends after it begins.
    if isinstance(case.body, dict) and {"from", "to"} <= case.body.keys():
        case.body |= dict(zip(("from", "to"), sorted((case.body["from"], case.body["to"]))))
