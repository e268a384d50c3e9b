-- +goose Up

-- Places that documents are taken from regularly.
CREATE TABLE harvest_source (
    id        TEXT    NOT NULL PRIMARY KEY,
    kind      TEXT    NOT NULL, -- oai, resourcesync, folder
    url       TEXT    NOT NULL,
    library   TEXT    NOT NULL REFERENCES library (id) ON DELETE CASCADE,
    subset    TEXT    NOT NULL, -- of the repository; empty: all
    format    TEXT    NOT NULL, -- of metadata; empty: the best there is
    every     INTEGER NOT NULL, -- microseconds; 0: when asked for
    withdrawn TEXT    NOT NULL, -- what becomes of withdrawn records: delete, keep
    next      INTEGER NOT NULL, -- 0: not planned
    state     TEXT    NOT NULL, -- JSON: how far a run is
    worker    TEXT    NOT NULL, -- who runs it
    lease     INTEGER NOT NULL, -- until when
    made      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX harvest_source_next ON harvest_source (next);

-- What a source has told of, one row for each record.
CREATE TABLE harvest_record (
    source    TEXT    NOT NULL REFERENCES harvest_source (id) ON DELETE CASCADE,
    id        TEXT    NOT NULL, -- as the source names it
    stamp     TEXT    NOT NULL, -- as the source dates its last change
    digest    TEXT    NOT NULL, -- of what the source told
    state     TEXT    NOT NULL,
    documents TEXT    NOT NULL, -- JSON list: in the library, or about to be
    files     TEXT    NOT NULL, -- JSON list: where its texts are
    work      TEXT    NOT NULL, -- JSON
    detail    TEXT    NOT NULL, -- why it is as it is
    tries     INTEGER NOT NULL, -- in vain
    due       INTEGER NOT NULL, -- not before
    run       INTEGER NOT NULL, -- that saw it last
    changed   INTEGER NOT NULL,
    PRIMARY KEY (source, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX harvest_record_state ON harvest_record (source, state, due);

-- The publication that a document is the text of.
CREATE TABLE document_work (
    library  TEXT NOT NULL,
    document TEXT NOT NULL,
    work     TEXT NOT NULL, -- JSON
    PRIMARY KEY (library, document),
    FOREIGN KEY (library, document) REFERENCES document (library, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
