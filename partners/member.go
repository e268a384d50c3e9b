package partners

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/store"
)

// CreateFederation creates a federation led by this site, and returns the identity with its first secret.
func CreateFederation(ctx context.Context, o *instance.Instance, k *instance.Keystore, f concordat.FederationID,
	by string) (*crypto.Identity, error) {
	ms, err := o.Store.Partners.Memberships(ctx)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(ms, func(m store.Membership) bool { return m.Federation == f }) {
		return nil, refusedf(RefusedExists, "federation %s already exists", f)
	}
	id, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
		return id.NewEpoch(string(f), time.Now(), 0, rand.Reader)
	})
	if errors.Is(err, crypto.ErrFormat) {
		return nil, &RefusedError{RefusedName, instance.Usage(err)}
	}
	if err != nil {
		return nil, err
	}
	self := instance.PartnerName(id.Site())
	return id, o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Partners.Join(ctx, f, self, self); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, by, "federation created", map[string]any{"federation": f})
	})
}

// Led returns a federation that this site leads.
func Led(ctx context.Context, o *instance.Instance, id *crypto.Identity, f concordat.FederationID) (store.Membership, error) {
	m, err := instance.Membership(ctx, o.Store, string(f))
	if err == nil && m.Leader != instance.PartnerName(id.Site()) {
		err = refusedf(RefusedLed, "federation %s is led by %s; ask that site's administrator", f, m.Leader)
	}
	return m, err
}

// BeginEpoch begins the next epoch of a federation led by this site, either now or a day after the last one began, whichever is later.
// The previous epoch continues to be served during the overlap. Unless early confirms that the administrator means it, BeginEpoch fails
// while the last epoch is younger than crypto.EpochAge, because members accept the next one so early only with the consent of one of
// their administrators. If the federation's secrets are lost, numbering continues after the last epoch that this site served.
func BeginEpoch(ctx context.Context, o *instance.Instance, k *instance.Keystore, f concordat.FederationID, overlap time.Duration,
	early bool) (*crypto.Identity, error) {
	served, err := o.Store.Answers.Epochs(ctx)
	if err != nil {
		return nil, err
	}
	var number uint32
	for _, e := range served {
		if e.Epoch.Federation == f {
			number = max(number, e.Epoch.Number)
		}
	}
	id, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
		from := time.Now()
		held, err := id.Federation(string(f))
		if errors.Is(err, crypto.ErrNoKey) {
			return id.EpochAfter(number, string(f), from, overlap, rand.Reader)
		}
		if err != nil {
			return nil, err
		}
		last := held.Epochs[len(held.Epochs)-1].From
		if age := from.Sub(last); age < crypto.EpochAge && !early {
			return nil, instance.Usagef("the last epoch of federation %s began on %s, less than %d days ago; members accept a new one "+
				"only after their administrator agrees; to begin an epoch anyway, use --early", f, last.Local().Format(time.DateOnly),
				crypto.EpochAge/(24*time.Hour))
		}
		if earliest := last.Add(crypto.EpochSpacing); from.Before(earliest) {
			from = earliest
		}
		return id.NewEpoch(string(f), from, overlap, rand.Reader)
	})
	if errors.Is(err, crypto.ErrFormat) || errors.Is(err, crypto.ErrEpoch) {
		return nil, instance.Usage(err)
	}
	return id, err
}

// AddMembers adds active partners to a federation led by this site, so that they may fetch its secret.
func AddMembers(ctx context.Context, o *instance.Instance, id *crypto.Identity, f concordat.FederationID, all []store.Partner,
	by string) error {
	m, err := Led(ctx, o, id, f)
	if err != nil {
		return err
	}
	sites := instance.Members(m)
	var added []concordat.SiteID
	for _, p := range all {
		if p.State != store.PartnerActive {
			return refusedf(RefusedState, "partner %s is %s; only active partners can be members", cmp.Or(p.Name, string(p.Site)), p.State)
		}
		if !slices.Contains(sites, p.Site) {
			sites, added = append(sites, p.Site), append(added, p.Site)
		}
	}
	if len(sites) > crypto.MaxMembers {
		return refusedf(RefusedFull, "a federation has at most %d members", crypto.MaxMembers)
	}
	return o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Partners.Join(ctx, m.Federation, m.Leader, sites...); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, by, "federation members added", map[string]any{"federation": f, "sites": added})
	})
}

// JoinFederation fetches the secret of a federation from its leader, and returns the identity with it.
func JoinFederation(ctx context.Context, o *instance.Instance, k *instance.Keystore, c *federation.Client, f concordat.FederationID,
	by string) (*crypto.Identity, error) {
	ms, err := o.Store.Partners.Memberships(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(ms, func(m store.Membership) bool { return m.Federation == f }); i >= 0 && ms[i].Leader != c.Site() {
		return nil, refusedf(RefusedLed, "federation %s is led by %s", f, ms[i].Leader)
	}
	g, err := c.Grant(ctx, f)
	var refusal *concordat.Refusal
	if errors.As(err, &refusal) && refusal.Reason == concordat.ReasonUnknown {
		return nil, &RefusedError{RefusedMember, err}
	}
	if err != nil {
		return nil, err
	}
	id, _, err := Take(ctx, o.Store, k, f, c.Site(), g, true,
		store.AuditNote{Actor: by, Action: "federation joined", Detail: map[string]any{"federation": f, "leader": c.Site()}})
	if errors.Is(err, crypto.ErrEpoch) {
		return nil, &RefusedError{RefusedEpoch, err}
	}
	return id, err
}
