-- Times are microseconds since 1970 UTC, 0 for none. Text compares byte by byte.

-- +goose Up
-- +only sqlite
PRAGMA application_id = 0x436f6e63; -- "Conc": tells this file from another program's
-- +end only

CREATE TABLE setting (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE library (
    id      TEXT    NOT NULL PRIMARY KEY,
    title   TEXT    NOT NULL,
    policy  TEXT    NOT NULL, -- JSON
    created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the index holds, without the text.
CREATE TABLE document (
    library    TEXT    NOT NULL REFERENCES library (id),
    id         TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    hash       TEXT    NOT NULL, -- SHA-256 of the text, hexadecimal
    source     TEXT    NOT NULL, -- the file it came from
    bytes      INTEGER NOT NULL,
    sentences  INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    added      INTEGER NOT NULL,
    changed    INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    scheme     TEXT    NOT NULL,
    PRIMARY KEY (library, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_hash ON document (library, hash);

-- What ingest made of each file it was given.
CREATE TABLE source (
    library   TEXT    NOT NULL REFERENCES library (id) ON DELETE CASCADE,
    path      TEXT    NOT NULL,
    size      INTEGER NOT NULL,
    modified  INTEGER NOT NULL,
    hash      TEXT    NOT NULL, -- SHA-256 of the file, hexadecimal
    documents INTEGER NOT NULL,
    code      TEXT    NOT NULL, -- empty: handled
    detail    TEXT    NOT NULL,
    handled   INTEGER NOT NULL,
    PRIMARY KEY (library, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE task (
    seq         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id          TEXT    NOT NULL UNIQUE,
    state       TEXT    NOT NULL,
    title       TEXT    NOT NULL,
    cause       TEXT    NOT NULL,
    request     BLOB    NOT NULL,
    made        INTEGER NOT NULL,
    started     INTEGER NOT NULL,
    finished    INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    worker      TEXT    NOT NULL,
    lease_until INTEGER NOT NULL
) STRICT;
CREATE INDEX task_open ON task (state, seq);

CREATE TABLE findings (
    task   TEXT    NOT NULL PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
    format INTEGER NOT NULL, -- 1: one zstd frame with its checksum
    length INTEGER NOT NULL, -- bytes before compression
    data   BLOB    NOT NULL
) STRICT;

-- The to-be-checked results: one row for each passage and source. Spans are bytes, half-open.
CREATE TABLE result (
    task         TEXT    NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    ordinal      INTEGER NOT NULL,
    span_start   INTEGER NOT NULL,
    span_end     INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    similarity   REAL    NOT NULL,
    site         TEXT    NOT NULL,
    library      TEXT    NOT NULL,
    document     TEXT    NOT NULL,
    title        TEXT    NOT NULL,
    source_start INTEGER NOT NULL,
    source_end   INTEGER NOT NULL,
    documents    INTEGER NOT NULL,
    PRIMARY KEY (task, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX result_source ON result (site, library, document);

CREATE TABLE audit (
    seq    INTEGER NOT NULL PRIMARY KEY,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    action TEXT    NOT NULL,
    detail TEXT    NOT NULL, -- JSON
    prev   TEXT    NOT NULL, -- hexadecimal
    hash   TEXT    NOT NULL  -- hexadecimal
) STRICT;

-- +only sqlite
-- +goose StatementBegin
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;
-- +goose StatementEnd
-- +end only

-- +only postgres
COMMENT ON TABLE setting IS 'Concordat'; -- tells this schema from another program's

-- +goose StatementBegin
CREATE FUNCTION audit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit is append-only';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_guard();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_guard();
-- +end only
