-- +goose Up

-- A token that a program has, and answers that are given again.
ALTER TABLE token ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN scopes TEXT NOT NULL DEFAULT ''; -- words, parted by spaces
ALTER TABLE token ADD COLUMN used INTEGER NOT NULL DEFAULT 0; -- to the hour; 0: never

CREATE TABLE repeatable (
    account TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    request TEXT    NOT NULL, -- SHA-256 of what was asked, hexadecimal
    answer  TEXT    NOT NULL, -- JSON; empty: it is being worked on
    expires INTEGER NOT NULL,
    PRIMARY KEY (account, key)
) STRICT, WITHOUT ROWID;
