package people

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"concordat"
	"concordat/store"
)

// Scopes that a token can have.
const (
	ScopeRead      = "read"      // checks, reports, libraries, partners and templates that the account may see
	ScopeCheck     = "check"     // hands in and cancels
	ScopeReview    = "review"    // rules, comments, verdicts, sign-offs
	ScopeDocuments = "documents" // lists and adds documents of libraries
	ScopePeople    = "people"    // accounts
	ScopeTokens    = "tokens"    // own tokens
	ScopeHooks     = "hooks"     // webhooks
	ScopeErase     = "erase"     // deletes for good
	ScopePlatforms = "platforms" // learning platforms
)

// Scopes are all of them, in the order in which they are offered.
var Scopes = []string{ScopeRead, ScopeCheck, ScopeReview, ScopeDocuments, ScopePeople, ScopeTokens, ScopeHooks, ScopeErase, ScopePlatforms}

const (
	// TokenTime is the longest that a token lasts.
	TokenTime = 365 * 24 * time.Hour
	// TokenPrefix makes a leaked token recognisable.
	TokenPrefix = "concordat_"
)

// NewToken is a request for a token.
type NewToken struct {
	Name   string   // what it is for
	Scopes []string // what it may do; one that is named twice counts once
	Lasts  time.Duration
	// Within are the scopes of the token that asks for another; nil: the person asks.
	Within []string
}

// MakeToken makes a token of an account and returns its secret, which is not kept. It lasts TokenTime
// at most. MakeToken fails with a *RuleError, with concordat.ErrRefused beyond Within, and with
// concordat.ErrChanged if the account has store.MaxTokens already.
func (r *Registry) MakeToken(ctx context.Context, account string, n NewToken) (secret string, t store.Token, err error) {
	n.Name = strings.TrimSpace(n.Name)
	if n.Name == "" || utf8.RuneCountInString(n.Name) > MaxTokenName || len(n.Scopes) == 0 {
		return "", t, &RuleError{RuleToken}
	}
	var scopes []string
	for _, s := range n.Scopes {
		switch {
		case !slices.Contains(Scopes, s):
			return "", t, &RuleError{RuleToken}
		case n.Within != nil && !slices.Contains(n.Within, s):
			return "", t, fmt.Errorf("%w: this token does not have the scope %q itself", concordat.ErrRefused, s)
		case !slices.Contains(scopes, s):
			scopes = append(scopes, s)
		}
	}
	now := r.o.Now()
	secret = TokenPrefix + rand.Text() + rand.Text()
	t = store.Token{Purpose: store.PurposeAPI, Account: account, Made: now, Expires: now.Add(min(TokenTime, n.Lasts)), Name: n.Name,
		Scopes: scopes}
	err = r.change(ctx, account, "token_made", map[string]any{"name": t.Name, "scopes": t.Scopes}, func(tx *store.DB) error {
		return tx.People.PutToken(ctx, secret, t)
	})
	return secret, t, err
}

// RevokeToken forgets a token of an account; one that does not exist is no error.
func (r *Registry) RevokeToken(ctx context.Context, account string, id store.TokenID) error {
	return r.change(ctx, account, "token_revoked", map[string]any{"token": id}, func(tx *store.DB) error {
		return tx.People.RevokeToken(ctx, account, id)
	})
}
