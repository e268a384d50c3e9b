package accounts

import (
	"net/http"
)

// AccountName returns the account name for a person with the given claim from a provider.
func AccountName(claim string) string { return accountName(claim, &identity{}) }

// Way exports way.
type Way struct{ w *way }

// NewWay returns the way to a provider with the given issuer.
func NewWay(issuer string) *Way { return &Way{newWay(issuer)} }

// Client returns a client whose connections use the way.
func (w *Way) Client() *http.Client { return &http.Client{Transport: w.w.transport()} }

// Proven records that the issuer has answered.
func (w *Way) Proven() { w.w.proven() }
