package instance

import (
	"context"
	"errors"
	"fmt"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/index"
	"concordat/profile"
	"concordat/store"
)

// CellsMade describes how this process indexes documents by meaning, in the form of coord.Node.
func CellsMade(by *profile.Profiler) string {
	if d := by.CellsDigest(); d != "" {
		return d
	}
	return coord.MeaningOff
}

// meant returns what the index should contain about the meaning of a library's documents.
func meant(by *profile.Profiler, l *store.Library) index.Meant {
	switch {
	case !by.Meaning():
		return index.MeantUnknown
	case l.Policy.Meaning == store.MeaningOff:
		return index.MeantNone
	}
	return index.MeantCells
}

// Unfit returns documents of a library that are not indexed by meaning as the configuration and the library's policy require. It returns
// at most limit documents after the given one, ordered by identity. It fails like cluster.Renewer.
func (o *Instance) Unfit(ctx context.Context, l *store.Library, after concordat.DocumentID, limit int) (*index.Unfit, error) {
	x, ok := o.Index.(cluster.Renewer)
	if !ok {
		return nil, fmt.Errorf("this kind of index cannot recompute documents: %w", concordat.ErrInvalid)
	}
	return x.Unfit(ctx, CellsMade(o.Profiler), index.UnfitQuery{Library: l.ID, Want: meant(o.Profiler, l), After: after, Limit: limit})
}

// AllUnfit counts the documents that Unfit returns, over all libraries.
func (o *Instance) AllUnfit(ctx context.Context) (all index.Unfit, err error) {
	libraries, err := o.Store.Catalogue.Libraries(ctx)
	if err != nil {
		return all, err
	}
	for i := range libraries {
		u, err := o.Unfit(ctx, &libraries[i], "", 0)
		if err != nil {
			return all, err
		}
		all.Join(u, 0)
	}
	return all, nil
}

// bareLooked is the maximum number of documents without cells whose texts are examined.
const bareLooked = 1000

// checkMeaning counts documents that are not indexed by meaning as required. Unless quick is set, it examines the first documents known
// to have no cells. If any contains prose, its library had not been indexed by meaning, and other documents might lack cells too.
func (o *Instance) checkMeaning(ctx context.Context, out *IndexState, quick bool) error {
	u, err := o.AllUnfit(ctx)
	if errors.Is(err, concordat.ErrRefused) {
		out.Disagree = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	out.Lacking, out.Stale, out.Superfluous = u.Lacking, u.Stale, u.Superfluous
	if quick || u.Bare == 0 {
		return nil
	}
	looked, lacking, err := o.lackingBare(ctx)
	if err == nil && lacking > 0 {
		out.Lacking, out.MayLack = out.Lacking+lacking, max(0, u.Bare-looked)
	}
	return err
}

// lackingBare examines at most bareLooked documents known to have no cells, and returns how many should have some.
func (o *Instance) lackingBare(ctx context.Context) (looked, lacking int, err error) {
	libraries, err := o.Store.Catalogue.Libraries(ctx)
	if err != nil {
		return 0, 0, err
	}
	for i := range libraries {
		u, err := o.Unfit(ctx, &libraries[i], "", bareLooked)
		if err != nil {
			return looked, lacking, err
		}
		for _, x := range u.Documents {
			if !x.Bare || looked == bareLooked {
				continue
			}
			d, err := o.Index.Document(ctx, concordat.Ref{Site: o.Config.Site.ID, Library: libraries[i].ID, Document: x.ID})
			if errors.Is(err, concordat.ErrNotFound) {
				continue // deleted in the meantime
			}
			if err != nil {
				return looked, lacking, err
			}
			p, err := o.Profiler.ForIndex(*d)
			if err != nil {
				return looked, lacking, err
			}
			if looked++; len(p.Cells) > 0 {
				lacking++
			}
		}
	}
	return looked, lacking, nil
}
