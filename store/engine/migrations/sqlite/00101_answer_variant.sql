-- +goose Up

-- Questions of a partner that came near a sentence of ours. Many near ones would find out its fingerprint.
CREATE TABLE answer_variant (
    partner    TEXT    NOT NULL,
    federation TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    library    TEXT    NOT NULL,
    document   TEXT    NOT NULL,
    ordinal    INTEGER NOT NULL, -- of the sentence
    question   TEXT    NOT NULL, -- keyed hash of the asked fingerprint
    job        TEXT    NOT NULL, -- in which it was asked first
    made       INTEGER NOT NULL,
    PRIMARY KEY (partner, federation, number, library, document, ordinal, question)
) STRICT, WITHOUT ROWID;
CREATE INDEX answer_variant_document ON answer_variant (library, document);
CREATE INDEX answer_variant_made ON answer_variant (made);
