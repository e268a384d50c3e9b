-- +goose Up

-- Webhooks: who is told of what, where.
CREATE TABLE hook (
    id           TEXT    NOT NULL PRIMARY KEY,
    account      TEXT    NOT NULL REFERENCES account (name) ON DELETE CASCADE,
    whole        INTEGER NOT NULL, -- 1: events of the whole site, not of the account only
    url          TEXT    NOT NULL,
    title        TEXT    NOT NULL,
    kinds        TEXT    NOT NULL, -- words, each with a space before and behind it
    secret       TEXT    NOT NULL, -- signs; base64
    former       TEXT    NOT NULL, -- signs too until former_until
    former_until INTEGER NOT NULL,
    made         INTEGER NOT NULL,
    state        TEXT    NOT NULL, -- active or paused
    cause        TEXT    NOT NULL  -- of being paused
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_account ON hook (account);

-- What happened, as the bytes that are signed and sent.
CREATE TABLE hook_event (
    id   TEXT    NOT NULL PRIMARY KEY,
    kind TEXT    NOT NULL,
    made INTEGER NOT NULL,
    body TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- One event for one hook.
CREATE TABLE hook_delivery (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    hook     TEXT    NOT NULL REFERENCES hook (id) ON DELETE CASCADE,
    event    TEXT    NOT NULL REFERENCES hook_event (id),
    state    TEXT    NOT NULL, -- pending, delivered or dead
    made     INTEGER NOT NULL,
    attempts INTEGER NOT NULL, -- begun so far; with lease_until it tells one claim from every other
    round    INTEGER NOT NULL, -- attempts since it was made or replayed
    due      INTEGER NOT NULL, -- of the next attempt
    until    INTEGER NOT NULL, -- no attempt from then on
    lease_until INTEGER NOT NULL,
    ended    INTEGER NOT NULL,
    status   INTEGER NOT NULL, -- of the latest answer; 0: none
    cause    TEXT    NOT NULL  -- of the latest failure
) STRICT;
CREATE INDEX hook_delivery_due ON hook_delivery (state, due);
CREATE INDEX hook_delivery_hook ON hook_delivery (hook, seq);
CREATE INDEX hook_delivery_event ON hook_delivery (event);

-- The attempts of a delivery.
CREATE TABLE hook_attempt (
    delivery INTEGER NOT NULL REFERENCES hook_delivery (seq) ON DELETE CASCADE,
    n        INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    took     INTEGER NOT NULL, -- microseconds
    status   INTEGER NOT NULL,
    cause    TEXT    NOT NULL,
    PRIMARY KEY (delivery, n)
) STRICT, WITHOUT ROWID;
