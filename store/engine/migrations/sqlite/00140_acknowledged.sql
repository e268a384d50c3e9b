-- +goose Up

-- The last acknowledged record of each shard of a cluster, kept where its nodes' folders are not: a folder that went back in time has
-- a shorter log.
CREATE TABLE acknowledged (
    cluster TEXT    NOT NULL,
    shard   TEXT    NOT NULL,
    epoch   INTEGER NOT NULL,
    record  INTEGER NOT NULL,
    PRIMARY KEY (cluster, shard)
) STRICT, WITHOUT ROWID;
