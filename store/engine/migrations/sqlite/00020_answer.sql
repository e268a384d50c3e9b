-- What answering partners needs. Sites, jobs, handles and hashes are text; bytes are hexadecimal.

-- +goose Up
ALTER TABLE document ADD COLUMN author TEXT NOT NULL DEFAULT '';

-- Who may ask a library, and under what rule.
CREATE TABLE share (
    library TEXT    NOT NULL REFERENCES library (id) ON DELETE CASCADE,
    partner TEXT    NOT NULL,
    rule    TEXT    NOT NULL, -- JSON
    version INTEGER NOT NULL,
    made    INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    PRIMARY KEY (library, partner)
) STRICT, WITHOUT ROWID;
CREATE INDEX share_partner ON share (partner, library);

CREATE TABLE epoch (
    federation TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    scheme     TEXT    NOT NULL,
    seen       INTEGER NOT NULL,
    replaced   INTEGER NOT NULL, -- when a later epoch of the federation was first seen; 0: not yet
    PRIMARY KEY (federation, number)
) STRICT, WITHOUT ROWID;

-- What the fingerprint set of an epoch holds. A document that is being put or removed has state 0, so
-- that a crash leaves nothing in a set that is not listed here.
CREATE TABLE epoch_document (
    federation TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    library    TEXT    NOT NULL,
    document   TEXT    NOT NULL,
    state      INTEGER NOT NULL, -- 0 changing, 1 held, 2 removed
    hash       TEXT    NOT NULL, -- of the text that is held
    sentences  INTEGER NOT NULL,
    seq        INTEGER NOT NULL, -- of the latest change, ascending within a library
    PRIMARY KEY (federation, number, library, document)
) STRICT, WITHOUT ROWID;
CREATE INDEX epoch_document_seq ON epoch_document (federation, number, library, seq);

CREATE TABLE answer_job (
    partner    TEXT    NOT NULL,
    job        TEXT    NOT NULL,
    federation TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    purpose    TEXT    NOT NULL,
    commitment TEXT    NOT NULL,
    made       INTEGER NOT NULL,
    used       INTEGER NOT NULL,
    asks       INTEGER NOT NULL,
    sentences  INTEGER NOT NULL, -- padded
    PRIMARY KEY (partner, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX answer_job_used ON answer_job (used);

CREATE TABLE answer_document (
    partner  TEXT NOT NULL,
    job      TEXT NOT NULL,
    handle   TEXT NOT NULL,
    library  TEXT NOT NULL,
    document TEXT NOT NULL,
    hash     TEXT NOT NULL, -- of the text that matched
    told     TEXT NOT NULL, -- level
    PRIMARY KEY (partner, job, handle),
    FOREIGN KEY (partner, job) REFERENCES answer_job (partner, job) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE answer_hit (
    partner    TEXT    NOT NULL,
    job        TEXT    NOT NULL,
    handle     TEXT    NOT NULL,
    sentence   TEXT    NOT NULL, -- keyed hash of the sentence that was asked
    ordinal    INTEGER NOT NULL,
    span_start INTEGER NOT NULL,
    span_end   INTEGER NOT NULL,
    distance   INTEGER NOT NULL,
    told       INTEGER NOT NULL,
    PRIMARY KEY (partner, job, handle, sentence, ordinal),
    FOREIGN KEY (partner, job) REFERENCES answer_job (partner, job) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Documents that are in a partner's mirror.
CREATE TABLE shipped (
    partner    TEXT    NOT NULL,
    federation TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    handle     TEXT    NOT NULL,
    library    TEXT    NOT NULL,
    document   TEXT    NOT NULL,
    hash       TEXT    NOT NULL,
    PRIMARY KEY (partner, federation, number, handle)
) STRICT, WITHOUT ROWID;

CREATE TABLE spent (
    partner  TEXT    NOT NULL,
    library  TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    document TEXT    NOT NULL,
    slot     INTEGER NOT NULL, -- beginning
    amount   INTEGER NOT NULL,
    PRIMARY KEY (partner, library, kind, document, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_slot ON spent (slot);

-- What of our texts was shown to partners.
CREATE TABLE showing (
    partner    TEXT    NOT NULL,
    hash       TEXT    NOT NULL, -- SHA-256 of the text
    form       TEXT    NOT NULL,
    library    TEXT    NOT NULL,
    document   TEXT    NOT NULL,
    federation TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    first      INTEGER NOT NULL,
    last       INTEGER NOT NULL,
    times      INTEGER NOT NULL,
    sentences  INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    PRIMARY KEY (partner, hash, form, library, document)
) STRICT, WITHOUT ROWID;
CREATE INDEX showing_document ON showing (partner, library, document);

-- Questions that stay for later documents.
CREATE TABLE standing_ask (
    seq        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    partner    TEXT    NOT NULL,
    job        TEXT    NOT NULL,
    digest     TEXT    NOT NULL, -- of ask
    federation TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    sentences  INTEGER NOT NULL,
    made       INTEGER NOT NULL,
    expires    INTEGER NOT NULL,
    ask        BLOB    NOT NULL, -- JSON
    UNIQUE (partner, digest)
) STRICT;
CREATE INDEX standing_ask_epoch ON standing_ask (federation, number, seq);
CREATE INDEX standing_ask_job ON standing_ask (partner, job);

-- Requests for full passages, asked of us (in) and by us (out).
CREATE TABLE disclosure (
    id        TEXT    NOT NULL PRIMARY KEY,
    direction TEXT    NOT NULL,
    partner   TEXT    NOT NULL,
    job       TEXT    NOT NULL,
    handle    TEXT    NOT NULL,
    library   TEXT    NOT NULL,
    document  TEXT    NOT NULL,
    hash      TEXT    NOT NULL,
    spans     TEXT    NOT NULL, -- JSON
    reason    TEXT    NOT NULL,
    contact   TEXT    NOT NULL,
    state     TEXT    NOT NULL,
    words     TEXT    NOT NULL,
    actor     TEXT    NOT NULL, -- who decided
    asked     INTEGER NOT NULL,
    decided   INTEGER NOT NULL,
    until     INTEGER NOT NULL
) STRICT;
CREATE INDEX disclosure_request ON disclosure (direction, partner, job, handle);

CREATE TABLE outbox (
    seq      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    partner  TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    notice   BLOB    NOT NULL, -- JSON
    made     INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    next     INTEGER NOT NULL,
    cause    TEXT    NOT NULL
) STRICT;
CREATE INDEX outbox_next ON outbox (next);

CREATE TABLE inbox (
    seq     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    partner TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    notice  BLOB    NOT NULL, -- JSON
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX inbox_partner ON inbox (partner, seq);
