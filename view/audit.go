package view

import (
	"time"

	"concordat/store"
)

// AuditEntry is an entry of the audit; Detail is any JSON.
type AuditEntry struct {
	Seq    int64     `json:"seq"`
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Action string    `json:"action"`
	Detail any       `json:"detail"`
	Prev   string    `json:"prev" doc:"Hash of the previous entry"`
	Hash   string    `json:"hash"`
}

// OfAuditEntry converts an entry to the form for programs.
func OfAuditEntry(e store.AuditEntry) AuditEntry {
	return AuditEntry{e.Seq, e.At, e.Actor, e.Action, e.Detail, e.Prev, e.Hash}
}
