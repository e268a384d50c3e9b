-- +goose Up

-- Vectors of sentences by an encoder, so that none is asked about twice. Each goes with the document or the task that it stands in.
CREATE TABLE sentence_vector (
    seq      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    digest   BLOB    NOT NULL UNIQUE, -- SHA-256 of the encoder and of the sentence
    library  TEXT,
    document TEXT,
    task     TEXT    REFERENCES task (id) ON DELETE CASCADE,
    vector   BLOB    NOT NULL, -- 16 bits a number, little-endian, of 32767
    FOREIGN KEY (library, document) REFERENCES document (library, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX sentence_vector_document ON sentence_vector (library, document);
CREATE INDEX sentence_vector_task ON sentence_vector (task);
