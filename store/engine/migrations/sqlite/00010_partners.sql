-- Who this site is to others, and who others are to it. Sites are in their text form, keys and
-- secrets are not here but in the keystore. Times are microseconds since 1970 UTC, 0 for none.

-- +goose Up
-- Cards as they were signed: this site's own, and all that partners have shown, which old statements
-- are checked with.
CREATE TABLE card (
    site     TEXT    NOT NULL,
    serial   INTEGER NOT NULL,
    card     BLOB    NOT NULL,
    accepted INTEGER NOT NULL,
    PRIMARY KEY (site, serial)
) STRICT, WITHOUT ROWID;

CREATE TABLE partner (
    site      TEXT    NOT NULL PRIMARY KEY,
    state     TEXT    NOT NULL, -- pending, active, revoked
    name      TEXT    NOT NULL, -- given here, to be used in commands
    invited   INTEGER NOT NULL, -- 1: by this site
    words     TEXT    NOT NULL, -- that both administrators compare, while pending
    grants    TEXT    NOT NULL, -- JSON, of the invitation
    policy    TEXT    NOT NULL, -- JSON, pinned: what it may use
    made      INTEGER NOT NULL,
    confirmed INTEGER NOT NULL,
    revoked   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX partner_name ON partner (name) WHERE name <> '';

CREATE TABLE invitation (
    hash    TEXT    NOT NULL PRIMARY KEY, -- of the token, hexadecimal
    digest  TEXT    NOT NULL, -- of the invitation
    note    TEXT    NOT NULL,
    grants  TEXT    NOT NULL, -- JSON
    made    INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    used    INTEGER NOT NULL,
    site    TEXT    NOT NULL, -- that used it
    request TEXT    NOT NULL  -- digest of its enrolment
) STRICT, WITHOUT ROWID;

CREATE TABLE federation (
    name   TEXT    NOT NULL PRIMARY KEY,
    leader TEXT    NOT NULL, -- site that hands out the secrets
    joined INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE federation_member (
    federation TEXT    NOT NULL REFERENCES federation (name) ON DELETE CASCADE,
    site       TEXT    NOT NULL,
    since      INTEGER NOT NULL,
    removed    INTEGER NOT NULL,
    PRIMARY KEY (federation, site)
) STRICT, WITHOUT ROWID;

-- Signed ends of partners' audits, as they told them.
CREATE TABLE witness (
    site   TEXT    NOT NULL,
    seq    INTEGER NOT NULL,
    hash   TEXT    NOT NULL,
    at     INTEGER NOT NULL, -- as the partner says
    heard  INTEGER NOT NULL,
    head   BLOB    NOT NULL, -- as signed
    fork   INTEGER NOT NULL, -- 1: contradicts another one of the site
    PRIMARY KEY (site, seq, hash)
) STRICT, WITHOUT ROWID;
