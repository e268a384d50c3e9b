-- +goose Up

-- When a document is from: a year, a month or a day, as its file or whoever added it says; empty: unknown.
ALTER TABLE document ADD COLUMN dated TEXT NOT NULL DEFAULT '';
ALTER TABLE document ADD COLUMN dated_by TEXT NOT NULL DEFAULT ''; -- file or given

-- Wording that a library hands out itself: forms, cover pages, declarations.
CREATE TABLE template (
    library TEXT    NOT NULL REFERENCES library (id) ON DELETE CASCADE,
    name    TEXT    NOT NULL,
    text    TEXT    NOT NULL,
    added   INTEGER NOT NULL,
    PRIMARY KEY (library, name)
) STRICT, WITHOUT ROWID;
