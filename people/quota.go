package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"concordat"
	"concordat/store"
)

// Quota limits the documents and bytes submitted within Window; Open limits the checks that are waiting or running at a time. 0 means no
// limit.
type Quota struct {
	Documents, Characters, Open int
	Bytes                       int64
}

// Window is the period covered by quotas.
const Window = 24 * time.Hour

// The kinds of quotas.
const (
	KindDocuments  = "documents"
	KindBytes      = "bytes"
	KindCharacters = "characters"
	KindAccounts   = "accounts"
)

// Quota returns the limits of an account.
func (r *Registry) Quota(a store.Account) Quota {
	if a.Public {
		return r.o.Policy.PublicQuota
	}
	return r.o.Policy.Quota
}

// charges returns the charges of a submission to an account, and to an address if the account is public.
func (r *Registry) charges(a store.Account, address string, documents, bytes int64) (out []store.Charge) {
	q := r.Quota(a)
	add := func(who, kind string, n int64, most int64) {
		if most > 0 {
			out = append(out, store.Charge{Who: who, Kind: kind, Amount: n, Most: most, Within: Window})
		}
	}
	whose := []string{"account/" + a.Name}
	if a.Public && address != "" {
		whose = append(whose, "address/"+address)
	}
	for _, who := range whose {
		add(who, KindDocuments, documents, int64(q.Documents))
		add(who, KindBytes, bytes, q.Bytes)
	}
	if q.Characters > 0 {
		add(whose[0], KindCharacters, 0, int64(q.Characters)) // the text is still unread, so only check that the quota is not exhausted
	}
	return out
}

// MayUpload rejects an account with an exhausted quota. It is called before anything is read. The error is a *store.QuotaUsed or a
// *TooManyOpen.
func (r *Registry) MayUpload(ctx context.Context, a store.Account, address string) error {
	if err := r.o.Store.People.Charge(ctx, r.charges(a, address, 0, 0)...); err != nil {
		return err
	}
	return r.room(ctx, a, 1)
}

// Lose charges an account for bytes that were read but not used, since they occupy the disk until they are removed.
func (r *Registry) Lose(ctx context.Context, a store.Account, address string, bytes int64) error {
	var out []store.Charge
	for _, c := range r.charges(a, address, 0, bytes) {
		if c.Kind == KindBytes {
			c.Most = -1
			out = append(out, c)
		}
	}
	return r.o.Store.People.Charge(ctx, out...)
}

// TooManyOpen is the error for checks that exceed the number of open checks allowed. It wraps concordat.ErrRefused.
type TooManyOpen struct {
	Public bool          // all public accounts together have too many open checks; otherwise this account does
	Retry  time.Duration // how long to wait until an open check may have ended
}

func (e *TooManyOpen) Error() string {
	if e.Public {
		return fmt.Sprintf("the public accounts have reached their limit of open checks; try again in %s", e.Retry)
	}
	return fmt.Sprintf("the account has reached its limit of open checks; try again in %s", e.Retry)
}

// Unwrap returns concordat.ErrRefused.
func (e *TooManyOpen) Unwrap() error { return concordat.ErrRefused }

// room returns an error if n more open checks are too many for an account.
func (r *Registry) room(ctx context.Context, a store.Account, n int) error {
	q := r.Quota(a)
	if q.Open <= 0 && !a.Public {
		return nil
	}
	own, public, err := r.o.Store.People.OpenTasks(ctx, a.Name)
	switch {
	case err != nil:
		return err
	case q.Open > 0 && own+n > q.Open:
		return &TooManyOpen{Public: false, Retry: time.Minute}
	case a.Public && public+n > r.o.Policy.PublicQueue:
		return &TooManyOpen{Public: true, Retry: time.Minute}
	}
	return nil
}

// Spend charges an account for documents that it is submitting, and ensures that the queue has room for them. The caller must call done
// when they are queued. It fails under the same conditions as MayUpload.
func (r *Registry) Spend(ctx context.Context, a store.Account, address string, documents int, bytes int64) (done func(), err error) {
	done = func() {}
	if r.Quota(a).Open > 0 || a.Public {
		r.handing.Lock() // so that two requests of one account cannot both take the last free place
		done = r.handing.Unlock
		if err := r.room(ctx, a, documents); err != nil {
			done()
			return nil, err
		}
	}
	if err := r.o.Store.People.Charge(ctx, r.charges(a, address, int64(documents), bytes)...); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// Admit charges the owner of a task for the content that was read: the characters of a text, and the documents of an archive other than
// the one charged on submission. A task whose owner has no account comes from the command line, which has no quota. It fails with
// concordat.ErrRefused, as a *store.QuotaUsed if a quota is exceeded.
func (r *Registry) Admit(ctx context.Context, owner string, documents int, characters int64) error {
	a, err := r.o.Store.People.Account(ctx, owner)
	if errors.Is(err, concordat.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	q := r.Quota(a)
	switch {
	case documents > 1 && q.Open > 0 && documents > q.Open:
		return fmt.Errorf("the archive contains %d documents: %w: at most %d checks are allowed at once", documents, concordat.ErrRefused, q.Open)
	case documents > 1:
		return r.o.Store.People.Charge(ctx, r.charges(a, "", int64(documents-1), 0)...)
	case q.Characters > 0:
		return r.o.Store.People.Charge(ctx, store.Charge{Who: "account/" + a.Name, Kind: KindCharacters, Amount: characters,
			Most: int64(q.Characters), Within: Window})
	}
	return nil
}
