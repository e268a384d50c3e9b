package view

import (
	"encoding/json"
	"time"

	"concordat/store"
)

// Deletion is a deletion for good, with its receipt once something is deleted.
type Deletion struct {
	ID      string             `json:"id"`
	Made    time.Time          `json:"made"`
	State   store.ErasureState `json:"state"`
	Actor   string             `json:"actor"`
	Reason  string             `json:"reason,omitempty"`
	Receipt json.RawMessage    `json:"receipt,omitempty"`
}

// OfDeletion returns a deletion in the form that programs get.
func OfDeletion(e store.Erasure) Deletion {
	return Deletion{e.ID, e.Made, e.State, e.Actor, e.Reason, e.Receipt}
}
