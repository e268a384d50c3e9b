-- +goose Up

-- Cases that this site shares with a partner: one for each document that one of the two told the other of in an alert.
CREATE TABLE shared_case (
    seq       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id        TEXT    NOT NULL UNIQUE, -- the same at both sites
    side      TEXT    NOT NULL, -- as of standing_alert: found, told
    partner   TEXT    NOT NULL,
    job       TEXT    NOT NULL,
    handle    TEXT    NOT NULL, -- pseudonym of the document; zeros: none was told
    task      TEXT    NOT NULL, -- of found; empty: deleted
    site      TEXT    NOT NULL, -- where the document is
    library   TEXT    NOT NULL,
    document  TEXT    NOT NULL, -- empty: not told, or deleted
    title     TEXT    NOT NULL,
    level     TEXT    NOT NULL,
    sentences INTEGER NOT NULL,
    opened    INTEGER NOT NULL,
    state     TEXT    NOT NULL, -- that both sides agree on; else open
    own       TEXT    NOT NULL, -- JSON: where this site stands
    theirs    TEXT    NOT NULL, -- JSON: where the partner stands
    questions INTEGER NOT NULL, -- sentences of the partner that went with its decision
    erasure   TEXT    NOT NULL, -- latest deletion of this site; empty: none
    work      TEXT    NOT NULL  -- what is to be done: erase, receipt; empty: nothing
) STRICT;
CREATE INDEX shared_case_work ON shared_case (work);
CREATE INDEX shared_case_question ON shared_case (partner, job);
CREATE INDEX shared_case_document ON shared_case (site, library, document);
CREATE INDEX shared_case_task ON shared_case (task);
