-- +goose Up

-- Files that were handed in, where the database keeps them instead of a folder.
CREATE TABLE file (
    hash   TEXT    NOT NULL PRIMARY KEY, -- SHA-256 of the content, hexadecimal
    size   INTEGER NOT NULL,
    stored INTEGER NOT NULL -- when it was put last
) STRICT, WITHOUT ROWID;
CREATE INDEX file_stored ON file (stored);

-- Their content. Parts without a file are on their way, or left over.
CREATE TABLE file_part (
    hash   TEXT    NOT NULL,
    n      INTEGER NOT NULL, -- from 0
    stored INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (hash, n)
) STRICT;
