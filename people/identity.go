package people

import (
	"context"
	"fmt"
	"slices"

	"concordat"
	"concordat/store"
)

// Person is a person identified by a provider.
type Person struct {
	Provider        string // configured name of the provider
	Issuer, Subject string // together they always identify this person (OpenID Connect Core 1.0, section 5.7)
	Title           string // the person's name
	Role            store.Role
}

func (p Person) detail(account string) map[string]any {
	return map[string]any{"account": account, "provider": p.Provider, "subject": p.Subject}
}

// Recognize returns the account to which a person is linked, and records the sign-in. If update is set, it first gives the account the
// person's role. It fails with concordat.ErrRefused if the account is disabled, or if update is set and the person has no role.
func (r *Registry) Recognize(ctx context.Context, p Person, account string, update bool) (a store.Account, err error) {
	err = r.o.Store.Atomic(ctx, func(tx *store.DB) error {
		if a, err = tx.People.Account(ctx, account); err != nil {
			return err
		}
		switch {
		case a.Disabled:
			return fmt.Errorf("%w: account %s is disabled", concordat.ErrRefused, a.Name)
		case update && p.Role == "":
			return fmt.Errorf("%w: the provider did not return a role for account %s", concordat.ErrRefused, a.Name)
		case update && p.Role != a.Role:
			a.Role = p.Role
			if err := tx.People.UpdateAccount(ctx, a); err != nil {
				return err
			}
			detail := map[string]any{"account": a.Name, "role": a.Role, "provider": p.Provider}
			if err := tx.Audit.Note(ctx, a.Name, "account_role", detail); err != nil {
				return err
			}
		}
		return tx.People.UseIdentity(ctx, p.Issuer, p.Subject)
	})
	return a, err
}

// Connect links a person to the account that has a name vouched for by the provider, or fails with concordat.ErrNotFound. It fails with
// concordat.ErrRefused for administrators, who can be linked only by hand, and for an account that is linked to another subject of the
// issuer, so that no one can take it over.
func (r *Registry) Connect(ctx context.Context, p Person, account string) (a store.Account, err error) {
	err = r.change(ctx, account, "account_linked", p.detail(account), func(tx *store.DB) error {
		if a, err = tx.People.Account(ctx, account); err != nil {
			return err
		}
		others, err := tx.People.Identities(ctx, a.Name)
		if err != nil {
			return err
		}
		if a.Disabled || a.Role == store.RoleAdministrator || slices.ContainsFunc(others,
			func(o store.Identity) bool { return o.Issuer == p.Issuer }) {
			return fmt.Errorf("%w: account %s cannot be linked automatically", concordat.ErrRefused, a.Name)
		}
		now := r.o.Now()
		return tx.People.LinkIdentity(ctx, store.Identity{Issuer: p.Issuer, Subject: p.Subject, Account: a.Name, Made: now, Used: now})
	})
	return a, err
}

// AddPerson creates an account for a person. It fails with concordat.ErrExists if the name is taken or the person already has an account.
func (r *Registry) AddPerson(ctx context.Context, p Person, account string) (store.Account, error) {
	now := r.o.Now()
	a := store.Account{Name: account, Title: p.Title, Role: p.Role, Created: now}
	detail := p.detail(account)
	detail["role"] = a.Role
	return a, r.change(ctx, account, "account_made", detail, func(tx *store.DB) error {
		return tx.People.CreateLinked(ctx, a, store.Identity{Issuer: p.Issuer, Subject: p.Subject, Made: now, Used: now})
	})
}
