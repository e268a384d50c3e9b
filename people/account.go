package people

import (
	"context"
	"fmt"
	"slices"

	"concordat"
	"concordat/store"
)

// Roles are the roles that an account can have, in display order.
var Roles = []store.Role{store.RoleOfficer, store.RoleSubmitter, store.RoleAuditor, store.RoleAdministrator}

// Add creates an account without a password, and a link with which the person sets one. It uses the Name, Title and Role of a, and
// returns the stored account. It fails with a *RuleError if a rule is broken, with concordat.ErrInvalid if the role does not exist, and
// with concordat.ErrExists if the name is taken.
func (r *Registry) Add(ctx context.Context, by string, a store.Account) (store.Account, Link, error) {
	a = store.Account{Name: a.Name, Title: a.Title, Role: a.Role, Created: r.o.Now()}
	var err error
	if a.Name, err = name(a.Name); err == nil {
		a.Title, err = Title(a.Title)
	}
	if err != nil {
		return a, Link{}, err
	}
	link := r.link(JoinTime)
	err = r.change(ctx, by, "account_made", map[string]any{"account": a.Name, "role": a.Role}, func(tx *store.DB) error {
		if err := tx.People.CreateAccount(ctx, a); err != nil {
			return err
		}
		return link.put(ctx, tx, store.PurposeJoin, a.Name)
	})
	return a, link, err
}

// Change contains the new values of an account; a nil field leaves its value unchanged.
type Change struct {
	Disabled *bool
	// Role is the new role; a public account that receives a role is no longer public.
	Role *store.Role
}

// Change changes an account and returns it. Changing the role or disabling the account ends its sessions and tokens. An account that
// already has the new values is not changed, but the audit entry is added anyway. Change fails with a *RuleError if by is the account
// itself, with concordat.ErrInvalid if the role does not exist or no change is requested, and with concordat.ErrNotFound if the account
// does not exist.
func (r *Registry) Change(ctx context.Context, by, account string, c Change) (a store.Account, err error) {
	if c.Disabled == nil && c.Role == nil {
		return a, fmt.Errorf("change account %s: %w: specify a new role, whether the account is disabled, or both", account, concordat.ErrInvalid)
	}
	if c.Role != nil && !slices.Contains(Roles, *c.Role) {
		return a, fmt.Errorf("change account %s: %w: unknown role %q", account, concordat.ErrInvalid, *c.Role)
	}
	err = r.o.Store.Atomic(ctx, func(tx *store.DB) error {
		if a, err = tx.People.Account(ctx, account); err != nil {
			return err
		}
		if a.Name == by && (c.Role != nil || *c.Disabled) {
			return &RuleError{RuleOwn}
		}
		var actions []string
		if c.Role != nil {
			a.Role, a.Public = *c.Role, false
			actions = append(actions, "account_role")
		}
		switch {
		case c.Disabled == nil:
		case *c.Disabled:
			actions = append(actions, "account_disable")
		default:
			actions = append(actions, "account_enable")
		}
		if c.Disabled != nil {
			a.Disabled = *c.Disabled
		}
		if err := tx.People.UpdateAccount(ctx, a); err != nil {
			return err
		}
		for _, action := range actions {
			if err := tx.Audit.Note(ctx, by, action, map[string]any{"account": a.Name, "role": a.Role}); err != nil {
				return err
			}
		}
		return nil
	})
	return a, err
}
