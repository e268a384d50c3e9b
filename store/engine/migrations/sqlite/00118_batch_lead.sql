-- +goose Up

-- What a document of a batch seems to say in other words than other documents of it do.
CREATE TABLE batch_lead (
    batch  TEXT    NOT NULL REFERENCES batch (id) ON DELETE CASCADE,
    member INTEGER NOT NULL,
    found  BLOB    NOT NULL, -- JSON, packed: places in the documents, without their text; by comparing the document
    told   BLOB    NOT NULL, -- likewise: as the document's report has them; empty: it has none yet
    PRIMARY KEY (batch, member)
) STRICT, WITHOUT ROWID;
