package people

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"concordat"
	"concordat/store"
)

// Options configures a Registry. Store and Now are required.
type Options struct {
	Store  *store.DB
	Now    func() time.Time
	Policy Policy
}

// Policy limits how much can be submitted and how many people can create accounts themselves. The zero value sets no quotas and the
// default limits for public accounts.
type Policy struct {
	Quota       Quota // of every account
	PublicQuota Quota // of each account created by its owner, and of all such accounts from one address together
	// PublicQueue bounds the open checks of all public accounts, PublicAccounts bounds the number of such accounts, and Registrations
	// bounds the accounts created from one address within 24 hours. The defaults are 20, 1000 and 3.
	PublicQueue, PublicAccounts, Registrations int
}

// Registry manages the accounts of a site. It is safe for concurrent use.
type Registry struct {
	o       Options
	handing sync.Mutex // held while checks of an account with a quota enter the queue
}

// New returns a Registry of the accounts in a store.
func New(o Options) *Registry {
	o.Policy.PublicQueue = cmp.Or(o.Policy.PublicQueue, 20)
	o.Policy.PublicAccounts = cmp.Or(o.Policy.PublicAccounts, 1000)
	o.Policy.Registrations = cmp.Or(o.Policy.Registrations, 3)
	return &Registry{o: o}
}

// Bounds on text that people enter.
const (
	MaxName      = 100 // maximum characters of an account name
	MaxTitle     = 500 // bytes of a person's name, or of other text shown to people
	MaxTokenName = 200 // in characters
)

// Rule is a rule of this package that a request can break.
type Rule string

// The rules.
const (
	RuleName  Rule = "name"  // a name has 1 to MaxName characters
	RuleTitle Rule = "title" // a title has at most MaxTitle bytes
	RuleOwn   Rule = "own"   // an account cannot disable itself or change its own role
	RuleToken Rule = "token" // a token has a name of 1 to MaxTokenName characters, and known scopes

	RuleOrigins Rule = "origins" // a token has 1 to MaxOrigins web addresses as origins if it has ScopeInbox, and otherwise none
)

// RuleError is the error for a request that breaks a rule. It wraps concordat.ErrInvalid.
type RuleError struct{ Rule Rule }

func (e *RuleError) Error() string {
	switch e.Rule {
	case RuleName:
		return fmt.Sprintf("A name has 1 to %d characters.", MaxName)
	case RuleTitle:
		return fmt.Sprintf("A name or title can have at most %d bytes.", MaxTitle)
	case RuleOwn:
		return "You cannot disable your own account or change your own role; another administrator can."
	case RuleToken:
		return "A token needs a name and at least one permission."
	case RuleOrigins:
		return "A token that sends notifications needs the addresses that the notifications come from, for example https://repository.example.edu; other tokens cannot have addresses."
	}
	return string(e.Rule)
}

// Unwrap returns concordat.ErrInvalid.
func (e *RuleError) Unwrap() error { return concordat.ErrInvalid }

// Title returns a title without surrounding white space, as it is stored. It fails with a *RuleError for RuleTitle.
func Title(s string) (string, error) {
	if s = strings.TrimSpace(s); len(s) > MaxTitle {
		return "", &RuleError{RuleTitle}
	}
	return s, nil
}

// name returns an account name as it is stored.
func name(s string) (string, error) {
	if s = strings.TrimSpace(s); s == "" || utf8.RuneCountInString(s) > MaxName {
		return "", &RuleError{RuleName}
	}
	return s, nil
}

// change makes a change together with its audit entry, or neither. by is the person making the change.
func (r *Registry) change(ctx context.Context, by, action string, detail map[string]any, f func(tx *store.DB) error) error {
	return r.o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := f(tx); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, by, action, detail)
	})
}
