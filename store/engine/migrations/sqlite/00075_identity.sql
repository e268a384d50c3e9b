-- +goose Up

-- Who somebody is at a provider to whom people sign in.
CREATE TABLE identity (
    issuer  TEXT    NOT NULL,
    subject TEXT    NOT NULL, -- of the person at the issuer; never used again for another
    account TEXT    NOT NULL,
    made    INTEGER NOT NULL,
    used    INTEGER NOT NULL, -- when last
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identity_account ON identity (account);

-- What was begun and waits for an answer that may come once: the state of a browser that is on its
-- way through a provider or a learning platform, and what has been seen and must not come again.
CREATE TABLE flow (
    hash    TEXT    NOT NULL, -- SHA-256 of the secret, hexadecimal
    kind    TEXT    NOT NULL,
    data    TEXT    NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (kind, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX flow_expires ON flow (expires);
