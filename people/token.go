package people

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"concordat"
	"concordat/store"
)

// Scopes that a token can have.
const (
	ScopeRead      = "read"      // checks, reports, libraries, partners and templates visible to the account
	ScopeCheck     = "check"     // submits and cancels
	ScopeReview    = "review"    // changes rules, comments, verdicts and sign-offs
	ScopeDocuments = "documents" // lists and adds library documents
	ScopePeople    = "people"    // manages accounts
	ScopeTokens    = "tokens"    // manages the account's tokens
	ScopeHooks     = "hooks"     // manages webhooks
	ScopeErase     = "erase"     // deletes permanently
	ScopePlatforms = "platforms" // manages learning platforms
	ScopeInbox     = "inbox"     // sends notifications from its origins, and reads its own
	ScopeSettings  = "settings"  // changes how the site works
)

// Scopes are all scopes in display order.
var Scopes = []string{ScopeRead, ScopeCheck, ScopeReview, ScopeDocuments, ScopePeople, ScopeTokens, ScopeHooks, ScopeErase, ScopePlatforms,
	ScopeInbox, ScopeSettings}

const (
	// TokenTime is the maximum validity of a token.
	TokenTime = 365 * 24 * time.Hour
	// TokenPrefix makes a leaked token recognisable.
	TokenPrefix = "concordat_"
	// MaxOrigins is the maximum number of origins of a token.
	MaxOrigins = 20
	maxOrigin  = 500 // bytes of an origin
)

// NewToken is a request for a token.
type NewToken struct {
	Name   string   // purpose of the token
	Scopes []string // scopes of the token; duplicates count once
	Lasts  time.Duration
	// Origins are the web addresses, at least one and at most MaxOrigins, below which ScopeInbox accepts notifications. Other scopes have
	// no origins.
	Origins []string
	// WithinOrigins are the origins of the token that requests the new one.
	WithinOrigins []string
	// Within are the scopes of the token that requests the new one; nil means that a person requests it.
	Within []string
}

// MakeToken creates a token for an account and returns its secret, which is not stored. It is valid for at most TokenTime. MakeToken
// fails with a *RuleError if a rule is broken, with concordat.ErrRefused for scopes or origins beyond Within and WithinOrigins, and with
// concordat.ErrChanged if the account already has store.MaxTokens tokens.
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
			return "", t, fmt.Errorf("%w: a token without the scope %q cannot grant it", concordat.ErrRefused, s)
		case !slices.Contains(scopes, s):
			scopes = append(scopes, s)
		}
	}
	origins, err := originsOf(n, slices.Contains(scopes, ScopeInbox))
	if err != nil {
		return "", t, err
	}
	now := r.o.Now()
	secret = TokenPrefix + rand.Text() + rand.Text()
	t = store.Token{Purpose: store.PurposeAPI, Account: account, Made: now, Expires: now.Add(min(TokenTime, n.Lasts)), Name: n.Name,
		Scopes: scopes, Origins: origins}
	detail := map[string]any{"name": t.Name, "scopes": t.Scopes}
	if len(t.Origins) > 0 {
		detail["origins"] = t.Origins
	}
	err = r.change(ctx, account, "token_made", detail, func(tx *store.DB) error {
		return tx.People.PutToken(ctx, secret, t)
	})
	return secret, t, err
}

// originsOf returns the origins of a new token in canonical form.
func originsOf(n NewToken, inbox bool) (out []string, err error) {
	for _, address := range n.Origins {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" ||
			u.Fragment != "" || len(address) > maxOrigin || strings.ContainsAny(address, " \t\r\n") {
			return nil, &RuleError{RuleOrigins}
		}
		origin := strings.ToLower(u.Scheme+"://"+u.Host) + strings.TrimSuffix(u.EscapedPath(), "/")
		if n.Within != nil && !slices.Contains(n.WithinOrigins, origin) {
			return nil, fmt.Errorf("%w: a token without the origin %s cannot grant it", concordat.ErrRefused, origin)
		}
		if !slices.Contains(out, origin) {
			out = append(out, origin)
		}
	}
	if inbox != (len(out) > 0) || len(out) > MaxOrigins {
		return nil, &RuleError{RuleOrigins}
	}
	return out, nil
}

// RevokeToken deletes a token of an account, if it exists.
func (r *Registry) RevokeToken(ctx context.Context, account string, id store.TokenID) error {
	return r.change(ctx, account, "token_revoked", map[string]any{"token": id}, func(tx *store.DB) error {
		return tx.People.RevokeToken(ctx, account, id)
	})
}
