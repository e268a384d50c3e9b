-- The asking side of a federation. Times are microseconds since 1970 UTC, 0 for none.

-- +goose Up
-- What was asked of partners, one row for each job.
CREATE TABLE ask (
    job        BLOB    NOT NULL PRIMARY KEY,
    task       TEXT    NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    site       TEXT    NOT NULL,
    federation TEXT    NOT NULL,
    epoch      INTEGER NOT NULL,
    made       INTEGER NOT NULL,
    standing   INTEGER NOT NULL, -- 1: the partner keeps it
    salt       BLOB    NOT NULL, -- of the commitment
    spans      BLOB    NOT NULL  -- of the sentences, in the order asked
) STRICT, WITHOUT ROWID;
CREATE INDEX ask_task ON ask (task);

-- Which sentences a partner was shown, and in which form: never in two. Kept for ever.
CREATE TABLE exposure (
    site   TEXT    NOT NULL,
    digest BLOB    NOT NULL, -- 16 bytes of a hash of the sentence
    form   TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (site, digest)
) STRICT, WITHOUT ROWID;

-- Checks that later documents are compared with.
CREATE TABLE standing (
    task      TEXT    NOT NULL PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
    scheme    TEXT    NOT NULL,
    made      INTEGER NOT NULL,
    sentences BLOB    NOT NULL -- fingerprint, gate and span of each
) STRICT, WITHOUT ROWID;

CREATE TABLE alert (
    seq       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    task      TEXT    NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    at        INTEGER NOT NULL,
    site      TEXT    NOT NULL,
    library   TEXT    NOT NULL,
    document  TEXT    NOT NULL,
    title     TEXT    NOT NULL,
    author    TEXT    NOT NULL,
    contact   TEXT    NOT NULL,
    level     TEXT    NOT NULL,
    sentences INTEGER NOT NULL, -- of the check that match
    words     TEXT    NOT NULL,
    spans     BLOB    NOT NULL, -- of the submission
    UNIQUE (task, site, library, document)
) STRICT;

CREATE TABLE mirror (
    site       TEXT    NOT NULL,
    library    TEXT    NOT NULL,
    federation TEXT    NOT NULL,
    epoch      INTEGER NOT NULL,
    scheme     TEXT    NOT NULL,
    cursor     BLOB    NOT NULL,
    synced     INTEGER NOT NULL, -- when the last shipment came
    complete   INTEGER NOT NULL, -- 1: nothing was left to fetch then
    withdrawn  INTEGER NOT NULL, -- when the owner closed it; its documents are to be deleted
    PRIMARY KEY (site, library, federation, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE mirror_document (
    site       TEXT    NOT NULL,
    library    TEXT    NOT NULL,
    federation TEXT    NOT NULL,
    epoch      INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    author     TEXT    NOT NULL,
    contact    TEXT    NOT NULL,
    date       INTEGER NOT NULL,
    sentences  INTEGER NOT NULL,
    PRIMARY KEY (site, library, federation, epoch, id),
    FOREIGN KEY (site, library, federation, epoch) REFERENCES mirror (site, library, federation, epoch) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
