-- +goose Up

-- Questions of a partner that came near a sentence of ours. They add up over epochs: a new key does not make the sentence unknown.
CREATE TABLE answer_question (
    partner  TEXT    NOT NULL,
    library  TEXT    NOT NULL,
    document TEXT    NOT NULL,
    ordinal  INTEGER NOT NULL, -- of the sentence
    question TEXT    NOT NULL, -- keyed hash of the asked fingerprint
    job      TEXT    NOT NULL, -- in which it was asked first
    place    INTEGER NOT NULL, -- how many questions about the sentence were counted before it
    made     INTEGER NOT NULL,
    PRIMARY KEY (partner, library, document, ordinal, question)
) STRICT, WITHOUT ROWID;

INSERT INTO answer_question (partner, library, document, ordinal, question, job, place, made)
    SELECT partner, library, document, ordinal, question, min(job),
        row_number() OVER (PARTITION BY partner, library, document, ordinal ORDER BY max(made), question) - 1, max(made)
    FROM answer_variant GROUP BY partner, library, document, ordinal, question;

DROP TABLE answer_variant;

CREATE INDEX answer_question_document ON answer_question (library, document);
CREATE INDEX answer_question_made ON answer_question (made);

-- What a match weighs as evidence, in tenths of a natural logarithm. Matches of older versions weigh nothing: their jobs ask again.
ALTER TABLE answer_hit ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;

-- Units of a document of which a partner was shown the outline, beside those that it had.
CREATE TABLE outlined (
    partner  TEXT    NOT NULL,
    library  TEXT    NOT NULL,
    document TEXT    NOT NULL,
    unit     INTEGER NOT NULL,
    made     INTEGER NOT NULL, -- first
    PRIMARY KEY (partner, library, document, unit)
) STRICT, WITHOUT ROWID;
CREATE INDEX outlined_document ON outlined (library, document);
CREATE INDEX outlined_made ON outlined (made);
