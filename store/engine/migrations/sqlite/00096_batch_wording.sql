-- +goose Up

-- What several documents of a batch hold alike.
CREATE TABLE batch_wording (
    batch TEXT NOT NULL PRIMARY KEY REFERENCES batch (id) ON DELETE CASCADE,
    data  BLOB NOT NULL -- JSON, packed: places in the documents, without their text
) STRICT, WITHOUT ROWID;
