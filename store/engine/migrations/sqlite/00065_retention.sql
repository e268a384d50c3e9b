-- How long things are kept, and what was deleted. Times are microseconds since 1970 UTC, 0 for none.

-- +goose Up
-- Documents with terms of their own.
CREATE TABLE term (
    library  TEXT    NOT NULL,
    document TEXT    NOT NULL,
    hidden   INTEGER NOT NULL, -- counts until then, and is not shown
    expires  INTEGER NOT NULL, -- deleted from then on
    PRIMARY KEY (library, document),
    FOREIGN KEY (library, document) REFERENCES document (library, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX term_expires ON term (expires);

-- Which tasks need which file of what was handed in.
CREATE TABLE original (
    hash TEXT NOT NULL, -- SHA-256 of the file, hexadecimal
    task TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    PRIMARY KEY (hash, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX original_task ON original (task);
-- +only sqlite
INSERT INTO original (hash, task)
SELECT json_extract(CAST(request AS TEXT), '$.file'), id FROM task
WHERE json_valid(CAST(request AS TEXT)) AND json_type(CAST(request AS TEXT), '$.file') = 'text';
-- +end only

-- Deletions, from the moment they are asked for.
CREATE TABLE erasure (
    seq     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id      TEXT    NOT NULL UNIQUE,
    made    INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    reason  TEXT    NOT NULL,
    state   TEXT    NOT NULL, -- asked, deleted, done
    target  TEXT    NOT NULL, -- JSON; empty once it is done
    receipt TEXT    NOT NULL, -- JSON; empty until something was deleted
    done    INTEGER NOT NULL
) STRICT;
CREATE INDEX erasure_state ON erasure (state, seq);

