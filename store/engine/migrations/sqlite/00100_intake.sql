-- +goose Up

-- Documents on their way into the index and then into the catalogue. A row goes in the transaction that notes its
-- documents; one that stays tells what to bring to agreement after a crash.
CREATE TABLE intake (
    id        TEXT    NOT NULL PRIMARY KEY,
    worker    TEXT    NOT NULL, -- who is at it
    made      INTEGER NOT NULL,
    documents TEXT    NOT NULL  -- JSON
) STRICT;

-- What was deleted, by the name that receipts give it, a hash.
CREATE TABLE gone_document (
    name TEXT NOT NULL PRIMARY KEY
) STRICT;

-- +only sqlite
INSERT OR IGNORE INTO gone_document (name)
SELECT json_extract(d.value, '$.name') FROM erasure e,
    json_each(CASE WHEN json_valid(e.receipt) THEN e.receipt ELSE '{}' END, '$.documents') d
WHERE json_extract(d.value, '$.name') IS NOT NULL;
-- +end only
-- +only postgres
INSERT INTO gone_document (name)
SELECT DISTINCT d ->> 'name' FROM erasure e, json_array_elements(CASE WHEN e.receipt = '' THEN '[]'::json
    WHEN json_typeof(e.receipt::json -> 'documents') = 'array' THEN e.receipt::json -> 'documents' ELSE '[]'::json END) d
WHERE d ->> 'name' IS NOT NULL;
-- +end only
