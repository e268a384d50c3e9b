package view

import (
	"encoding/json"
	"time"

	"concordat/store"
)

// Deletion is a permanent deletion, with its receipt once something has been deleted.
type Deletion struct {
	ID      string             `json:"id"`
	Made    time.Time          `json:"made"`
	State   store.ErasureState `json:"state"`
	Actor   string             `json:"actor"`
	Reason  string             `json:"reason,omitempty"`
	Receipt json.RawMessage    `json:"receipt,omitempty"`
}

// OfDeletion converts a deletion to the form for programs.
func OfDeletion(e store.Erasure) Deletion {
	return Deletion{e.ID, e.Made, e.State, e.Actor, e.Reason, e.Receipt}
}
