-- +goose Up

-- 1: the document's short pieces are in the tables below; 0: they are not known.
ALTER TABLE document ADD COLUMN short INTEGER NOT NULL DEFAULT 0;

-- Texts too short for a fingerprint, each kept once however many documents hold it.
CREATE TABLE short_text (
    id      INTEGER NOT NULL PRIMARY KEY,
    letters TEXT    NOT NULL UNIQUE, -- folded, without spaces
    grams   BLOB    NOT NULL         -- four bytes each, little-endian: the rows of short_gram
) STRICT;

-- Where they stand. Spans are bytes, half-open; 0 to 0: the document's title.
CREATE TABLE short_place (
    text       INTEGER NOT NULL REFERENCES short_text (id),
    library    TEXT    NOT NULL,
    document   TEXT    NOT NULL,
    span_start INTEGER NOT NULL,
    span_end   INTEGER NOT NULL,
    wording    TEXT    NOT NULL, -- as the document has it
    PRIMARY KEY (text, library, document, span_start, span_end),
    FOREIGN KEY (library, document) REFERENCES document (library, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX short_place_document ON short_place (library, document);

-- The inverted index: which texts hold a gram, by the number of their grams.
CREATE TABLE short_gram (
    gram INTEGER NOT NULL,
    size INTEGER NOT NULL,
    text INTEGER NOT NULL REFERENCES short_text (id),
    PRIMARY KEY (gram, size, text)
) STRICT, WITHOUT ROWID;
