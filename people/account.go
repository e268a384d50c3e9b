package people

import (
	"context"
	"fmt"
	"slices"

	"concordat"
	"concordat/store"
)

// Roles are the roles that an account may have, in the order in which they are offered.
var Roles = []store.Role{store.RoleOfficer, store.RoleSubmitter, store.RoleAuditor, store.RoleAdministrator}

// Add creates an account without a password, and a link with which the person chooses one. It uses the Name, Title and Role of a, and
// returns the account as stored. It fails with a *RuleError, with concordat.ErrInvalid for a role that does not exist, and with
// concordat.ErrExists if the name is taken.
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

// Change holds the new values of an account; a nil field stays unchanged.
type Change struct {
	Disabled *bool
	// Role is the new role; a public account that receives one is no longer public.
	Role *store.Role
}

// Change changes an account and returns it. A new role, or disabling the account, ends its sessions and tokens. An account that already has
// the new values stays unchanged, but an entry is added to the audit even then. Change fails with a *RuleError if by changes their own
// account, with concordat.ErrInvalid if the role does not exist or nothing is to be changed, and with concordat.ErrNotFound if there is no
// such account.
func (r *Registry) Change(ctx context.Context, by, account string, c Change) (a store.Account, err error) {
	if c.Disabled == nil && c.Role == nil {
		return a, fmt.Errorf("change account %s: %w: neither a role nor whether it is disabled", account, concordat.ErrInvalid)
	}
	if c.Role != nil && !slices.Contains(Roles, *c.Role) {
		return a, fmt.Errorf("change account %s: %w: role %q", account, concordat.ErrInvalid, *c.Role)
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
