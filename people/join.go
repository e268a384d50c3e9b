package people

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"concordat"
	"concordat/store"
)

const (
	// JoinTime is the period of validity of a link for setting a password.
	JoinTime = 72 * time.Hour
	// FirstTime is the period of validity of the link for the first administrator.
	FirstTime = 24 * time.Hour
)

// Link is a link that works once. Its Key is a secret.
type Link struct {
	Key           string
	Made, Expires time.Time
}

func (r *Registry) link(lasts time.Duration) Link {
	now := r.o.Now()
	return Link{rand.Text(), now, now.Add(lasts)}
}

func (l Link) put(ctx context.Context, tx *store.DB, p store.Purpose, account string) error {
	return tx.People.PutToken(ctx, l.Key, store.Token{Purpose: p, Account: account, Made: l.Made, Expires: l.Expires})
}

// NewLink returns an account and a new link for setting its password, or fails with concordat.ErrNotFound.
func (r *Registry) NewLink(ctx context.Context, by, account string) (a store.Account, link Link, err error) {
	link = r.link(JoinTime)
	err = r.change(ctx, by, "account_link", map[string]any{"account": account}, func(tx *store.DB) error {
		if a, err = tx.People.Account(ctx, account); err != nil {
			return err
		}
		return link.put(ctx, tx, store.PurposeJoin, a.Name)
	})
	return a, link, err
}

// FirstLink returns the link for the first administrator; its Key is empty if an account already exists.
func (r *Registry) FirstLink(ctx context.Context) (Link, error) {
	accounts, err := r.o.Store.People.Accounts(ctx)
	if err != nil || len(accounts) > 0 {
		return Link{}, err
	}
	link := r.link(FirstTime)
	return link, link.put(ctx, r.o.Store, store.PurposeFirst, "")
}

// First uses the link for the first administrator, creates the account with the Name, Title and Password of a, and returns it. It fails
// under the same conditions as Add and store.People.FirstAccount.
func (r *Registry) First(ctx context.Context, key string, a store.Account) (store.Account, error) {
	a = store.Account{Name: a.Name, Title: a.Title, Password: a.Password, Role: store.RoleAdministrator, Created: r.o.Now()}
	var err error
	if a.Name, err = name(a.Name); err == nil {
		a.Title, err = Title(a.Title)
	}
	if err != nil {
		return a, err
	}
	return a, r.change(ctx, a.Name, "first_administrator", nil, func(tx *store.DB) error { return tx.People.FirstAccount(ctx, key, a) })
}

// Join uses a link, sets its account's password, given as a hash, and returns the account. It fails with concordat.ErrNotFound if the
// link was used or has expired.
func (r *Registry) Join(ctx context.Context, key, password string) (a store.Account, err error) {
	err = r.o.Store.Atomic(ctx, func(tx *store.DB) error {
		if a, err = tx.People.JoinAccount(ctx, key, password); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, a.Name, "password_chosen", nil)
	})
	return a, err
}

// ErrFull is returned when Policy.PublicAccounts would be exceeded.
var ErrFull = fmt.Errorf("%w: the site has reached its maximum number of public accounts", concordat.ErrUnavailable)

// Register creates a public account for a person at an address, and a link for setting its password. The link is valid for at most the
// given time. It fails with concordat.ErrExists if the name is taken, with ErrFull if there are too many public accounts, and with a
// *store.QuotaUsed if Policy.Registrations is exceeded.
func (r *Registry) Register(ctx context.Context, account, address string, lasts time.Duration) (Link, error) {
	n, err := r.o.Store.People.PublicAccounts(ctx)
	if err == nil && n >= r.o.Policy.PublicAccounts {
		err = ErrFull
	}
	if err == nil { // each attempt is charged, so that names cannot be tried one after another
		err = r.o.Store.People.Charge(ctx, store.Charge{Who: "address/" + address, Kind: KindAccounts, Amount: 1,
			Most: int64(r.o.Policy.Registrations), Within: Window})
	}
	if err != nil {
		return Link{}, err
	}
	link := r.link(min(JoinTime, lasts))
	return link, r.change(ctx, account, "registered", map[string]any{"address": address}, func(tx *store.DB) error {
		if err := tx.People.CreateAccount(ctx, store.Account{Name: account, Role: store.RoleSubmitter, Created: link.Made,
			Public: true}); err != nil {
			return err
		}
		return link.put(ctx, tx, store.PurposeJoin, account)
	})
}

// PublicMark is the prefix of the names of accounts that people create themselves, so that no one can choose a name that looks like a
// staff member's or like one from another sign-in method.
const PublicMark = "~"
