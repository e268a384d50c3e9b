-- +goose Up

-- What the nodes of a site of several machines share beside the catalogue.

-- The site's keystore, encrypted as its file is; one row at most.
CREATE TABLE keystore (
    id      INTEGER NOT NULL PRIMARY KEY, -- 1
    version INTEGER NOT NULL,             -- from 1
    content BLOB    NOT NULL
) STRICT;

-- Work that one node at a time does for the site, and who does it.
CREATE TABLE duty (
    name   TEXT    NOT NULL PRIMARY KEY,
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Requests of partners that a node has taken, so that no other runs them.
CREATE TABLE taken (
    partner TEXT    NOT NULL,
    message TEXT    NOT NULL, -- hexadecimal
    until   INTEGER NOT NULL, -- it is too old to be taken then
    PRIMARY KEY (partner, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX taken_until ON taken (until);

-- How far a running task is, for nodes that do not run it.
CREATE TABLE task_progress (
    task  TEXT NOT NULL PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
    event TEXT NOT NULL -- in the caller's own form
) STRICT, WITHOUT ROWID;
