-- +goose Up

-- People who may sign in.
CREATE TABLE account (
    name     TEXT    NOT NULL PRIMARY KEY,
    title    TEXT    NOT NULL, -- the person's name
    role     TEXT    NOT NULL,
    password TEXT    NOT NULL, -- argon2id in PHC form; empty: cannot sign in by password
    created  INTEGER NOT NULL,
    disabled INTEGER NOT NULL  -- 0: may sign in
) STRICT, WITHOUT ROWID;

-- What proves who somebody is: sessions of browsers, and links that work once.
CREATE TABLE token (
    hash    TEXT    NOT NULL PRIMARY KEY, -- SHA-256 of the token, hexadecimal
    purpose TEXT    NOT NULL,
    account TEXT    NOT NULL, -- empty: of nobody yet
    made    INTEGER NOT NULL,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX token_account ON token (account);

-- Whose task it is, and with which others it was handed in.
ALTER TABLE task ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN batch TEXT NOT NULL DEFAULT '';
CREATE INDEX task_owner ON task (owner, seq);
