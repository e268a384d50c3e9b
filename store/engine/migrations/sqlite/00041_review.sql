-- +goose Up

-- What people decided about a check, in order; nothing of it is changed or taken out.
CREATE TABLE review (
    task TEXT    NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    seq  INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    by   TEXT    NOT NULL,
    kind TEXT    NOT NULL,
    text TEXT    NOT NULL,
    data TEXT    NOT NULL, -- JSON
    PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;
