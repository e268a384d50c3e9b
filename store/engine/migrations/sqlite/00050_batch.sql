-- Batches: documents that are compared with one another. Times are microseconds since 1970 UTC, 0 for none.

-- +goose Up
CREATE TABLE batch (
    seq      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id       TEXT    NOT NULL UNIQUE,
    title    TEXT    NOT NULL,
    owner    TEXT    NOT NULL,
    runner   TEXT    NOT NULL, -- who works on it: serve, or a command
    work     TEXT    NOT NULL, -- hash of the question, by which a command finds its unfinished batch
    request  TEXT    NOT NULL, -- JSON
    lineage  TEXT    NOT NULL, -- JSON: which pairs do not count
    state    TEXT    NOT NULL,
    cause    TEXT    NOT NULL,
    stage    TEXT    NOT NULL,
    done     INTEGER NOT NULL,
    total    INTEGER NOT NULL,
    round    INTEGER NOT NULL, -- from 1: how often it was compared with the libraries
    made     INTEGER NOT NULL,
    started  INTEGER NOT NULL,
    finished INTEGER NOT NULL
) STRICT;
CREATE INDEX batch_owner ON batch (owner, seq);
CREATE INDEX batch_state ON batch (state, runner, seq);

CREATE TABLE batch_input (
    batch  TEXT    NOT NULL REFERENCES batch (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    name   TEXT    NOT NULL,
    place  TEXT    NOT NULL, -- a path, or the hash of an original
    done   INTEGER NOT NULL, -- 1: its members are known
    PRIMARY KEY (batch, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch_member (
    batch      TEXT    NOT NULL REFERENCES batch (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    name       TEXT    NOT NULL, -- its document id within the batch
    title      TEXT    NOT NULL,
    author     TEXT    NOT NULL,
    author_by  TEXT    NOT NULL, -- who says so: declared or metadata
    grp        TEXT    NOT NULL,
    draft_of   TEXT    NOT NULL,
    dated      TEXT    NOT NULL,
    dated_by   TEXT    NOT NULL,
    flags      TEXT    NOT NULL, -- JSON
    reason     TEXT    NOT NULL, -- why it could not be read; empty: it was
    characters INTEGER NOT NULL,
    compared   INTEGER NOT NULL, -- 1: with the other members
    round      INTEGER NOT NULL, -- the last one in which it was checked
    task       TEXT    NOT NULL, -- that holds its findings; empty: none yet
    incomplete INTEGER NOT NULL, -- 1: something asked did not answer
    share      REAL    NOT NULL, -- covered by what counts
    largest    REAL    NOT NULL, -- by one source
    fresh      TEXT    NOT NULL, -- JSON: sources that the last round was the first to find
    PRIMARY KEY (batch, number),
    UNIQUE (batch, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_member_task ON batch_member (task);

CREATE TABLE batch_pair (
    batch    TEXT    NOT NULL REFERENCES batch (id) ON DELETE CASCADE,
    a        INTEGER NOT NULL, -- the member whose name comes first
    b        INTEGER NOT NULL,
    share    REAL    NOT NULL, -- the larger of the next two
    share_a  REAL    NOT NULL, -- of a that stands in b
    share_b  REAL    NOT NULL,
    passages BLOB    NOT NULL, -- JSON, packed; empty: nothing in common
    verdict  TEXT    NOT NULL, -- count or discount, whatever the rules; empty: by the rules
    PRIMARY KEY (batch, a, b)
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_pair_share ON batch_pair (batch, share);
CREATE INDEX batch_pair_b ON batch_pair (batch, b);

-- What was decided about a batch, in order; nothing of it is changed or taken out.
CREATE TABLE batch_event (
    batch  TEXT    NOT NULL REFERENCES batch (id) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    by     TEXT    NOT NULL,
    action TEXT    NOT NULL,
    text   TEXT    NOT NULL,
    PRIMARY KEY (batch, seq)
) STRICT, WITHOUT ROWID;
