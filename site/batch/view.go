package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/screen"
	"concordat/site"
	"concordat/store"
)

// View is the current state of a batch's findings, under the lineage rules and decisions in force.
type View struct {
	store.Batch
	Job     Job
	Rules   LineageRules
	Members []store.BatchMember // ordered by name; unreadable members have a Cause
	// Pairs holds the pairs in which a document, or a section of one, reaches the threshold, in descending order of the larger share.
	Pairs []ViewedPair
	// Clusters are the groups connected by counting pairs (see screen.Communities), largest first. Each is a list of indices into
	// Members, ordered by name. Each document of a counting pair is in exactly one.
	Clusters [][]int
	// Wording is wording found in several documents, in descending order of its total words in all documents.
	Wording []ViewedWording
	Shares  map[[2]int]float64 // share of member i found in member j, for members in clusters and in Pairs

	cluster  map[int]int // number of each member's cluster, from 1
	withheld bool        // members' shares are withheld
	// widely holds the sections that more than half of the documents share with another.
	widely map[string]bool
}

// ViewedPair is a pair with the decision about it. A and B are indices into Members; A's name sorts first.
type ViewedPair struct {
	A, B           int
	ShareA, ShareB float64 // share of A found in B, and of B in A
	// SectionsA and SectionsB are the sections of A and B with text found in the other, in text order.
	SectionsA, SectionsB []store.SectionShare
	Lineage              string // why the rules exclude it; empty if it counts
	Verdict              string // a person's decision, which overrides the rules
}

// Share returns the larger of the two shares.
func (p ViewedPair) Share() float64 { return max(p.ShareA, p.ShareB) }

// Counted reports whether the pair counts.
func (p ViewedPair) Counted() bool {
	return p.Verdict == store.VerdictCount || p.Verdict == "" && p.Lineage == ""
}

// Reason returns the reason why the pair does not count, or "" if it does.
func (p ViewedPair) Reason() string {
	switch {
	case p.Counted():
		return ""
	case p.Verdict != "":
		return LineageVerdict
	}
	return p.Lineage
}

// MaxMatrix is the maximum number of documents in a matrix.
const MaxMatrix = 40

// Open returns the current findings of a batch. Its memory grows with the members and the pairs above the threshold.
func Open(ctx context.Context, db *store.DB, id string) (*View, error) {
	b, err := db.Batches.Batch(ctx, id)
	if err != nil {
		return nil, err
	}
	v := &View{Batch: b, Rules: DefaultLineage(), Shares: map[[2]int]float64{}}
	if err := errors.Join(json.Unmarshal(b.Request, &v.Job), json.Unmarshal(b.Lineage, &v.Rules)); err != nil {
		return nil, fmt.Errorf("batch %s: %w: %v", id, concordat.ErrCorrupt, err)
	}
	if v.Members, err = db.Batches.BatchMembers(ctx, id); err != nil {
		return nil, err
	}
	index := map[int]int{}
	for i, m := range v.Members {
		index[m.Number] = i
	}
	err = eachPair(ctx, db.Batches, id, v.Job.PairThreshold(), func(p store.BatchPair) {
		v.Pairs = append(v.Pairs, v.pair(index, p))
	})
	if err != nil {
		return nil, err
	}
	v.setWidely()
	v.Pairs = slices.DeleteFunc(v.Pairs, func(p ViewedPair) bool { return !v.Reaches(p, v.Job.PairThreshold()) })
	for _, p := range v.Pairs {
		v.note(p)
	}
	v.group()
	if v.Wording, err = viewedWording(ctx, db, id, index, v.Members); err != nil {
		return nil, err
	}
	// Pairs below the threshold are needed within a cluster, and in a batch that fits in one matrix.
	err = eachPair(ctx, db.Batches, id, 0, func(p store.BatchPair) {
		one := v.pair(index, p)
		if g := v.cluster[one.A]; len(v.Members) <= MaxMatrix || g > 0 && g == v.cluster[one.B] {
			v.note(one)
		}
	})
	return v, err
}

// WithoutPairs returns a view with only the documents and their shares, for readers who are not allowed to see which documents share
// wording or with which sources. It does not modify v.
func (v *View) WithoutPairs() *View {
	out := *v
	out.Pairs, out.Clusters, out.Shares, out.cluster, out.Wording = nil, nil, nil, nil, nil
	out.Members = slices.Clone(v.Members)
	for i := range out.Members {
		out.Members[i].Fresh = json.RawMessage("[]")
	}
	return &out
}

// WithoutShares returns a view that lists the documents without their shares. It does not modify v.
func (v *View) WithoutShares() *View {
	out := *v
	out.withheld = true
	out.Members = slices.Clone(v.Members)
	for i := range out.Members {
		out.Members[i].Share, out.Members[i].Largest = 0, 0
	}
	return &out
}

func (v *View) note(p ViewedPair) {
	v.Shares[[2]int{p.A, p.B}], v.Shares[[2]int{p.B, p.A}] = p.ShareA, p.ShareB
}

func (v *View) pair(index map[int]int, p store.BatchPair) ViewedPair {
	one := ViewedPair{A: index[p.A], B: index[p.B], ShareA: p.ShareA, ShareB: p.ShareB, SectionsA: p.SectionsA, SectionsB: p.SectionsB,
		Verdict: p.Verdict}
	one.Lineage = v.Rules.Lineage(&v.Members[one.A], &v.Members[one.B])
	return one
}

// pairLister lists the pairs of a batch in pages, like the store.
type pairLister interface {
	BatchPairs(ctx context.Context, id string, least float64, after *store.PairCursor, limit int) ([]store.BatchPair, error)
}

// eachPair calls f with every pair that has at least the given share, page by page.
func eachPair(ctx context.Context, db pairLister, id string, least float64, f func(store.BatchPair)) error {
	var after *store.PairCursor
	for {
		ps, err := db.BatchPairs(ctx, id, least, after, 0)
		if err != nil {
			return err
		}
		for _, p := range ps {
			f(p)
		}
		if len(ps) < store.MaxPage {
			return nil
		}
		last := ps[len(ps)-1]
		after = &store.PairCursor{Share: last.Share(), A: last.A, B: last.B}
	}
}

// EachPair calls f with every pair in which a document, or a section as in Reaches, has at least the given share, even if it is below the
// threshold. Pairs come in descending order of the larger share.
func (v *View) EachPair(ctx context.Context, db *store.DB, least float64, f func(ViewedPair) (more bool)) error {
	index := map[int]int{}
	for i, m := range v.Members {
		index[m.Number] = i
	}
	done := false
	return eachPair(ctx, db.Batches, v.ID, least, func(p store.BatchPair) {
		if one := v.pair(index, p); !done && v.Reaches(one, least) {
			done = !f(one)
		}
	})
}

// Unread returns the members that could not be read.
func (v *View) Unread() []store.BatchMember {
	var out []store.BatchMember
	for _, m := range v.Members {
		if !m.Cause.IsZero() {
			out = append(out, m)
		}
	}
	return out
}

// Matrix returns the documents for a matrix. These are all documents if there are few, and otherwise the first in cluster n, from 1.
func (v *View) Matrix(n int) []int {
	if n == 0 {
		if len(v.Members) > MaxMatrix {
			return nil
		}
		var all []int
		for i, m := range v.Members {
			if m.Cause.IsZero() {
				all = append(all, i)
			}
		}
		return all
	}
	c := v.Clusters[n-1]
	return c[:min(len(c), MaxMatrix)]
}

// Picture returns the contents of a picture of cluster n, from 1, which are its documents and all pairs among them that reach the
// threshold; pairs that do not count are marked.
func (v *View) Picture(n int) (nodes []screen.Node, links []screen.Link) {
	place := map[int]int{}
	for i, d := range v.Clusters[n-1] {
		place[d] = i
		nodes = append(nodes, screen.Node{Label: v.Members[d].Name})
	}
	for _, p := range v.Pairs {
		a, ok := place[p.A]
		b, both := place[p.B]
		if ok && both {
			links = append(links, screen.Link{A: a, B: b, Resemblance: min(1, p.Share()), Aside: !p.Counted()})
		}
	}
	return nodes, links
}

// SetLineage changes the lineage rules of a batch; base holds the rules of unchanged reports in a batch that has none. Decisions are
// recorded and can be reversed by another call. It updates the reports of the affected documents.
func SetLineage(ctx context.Context, s *site.Site, db *store.DB, id, by string, rules LineageRules, base report.Rules,
	notes ...store.AuditNote) error {
	v, err := Open(ctx, db, id)
	if err != nil {
		return err
	}
	var changed []store.BatchPair
	index := map[int]int{}
	for i, m := range v.Members {
		index[m.Number] = i
	}
	err = eachPair(ctx, db.Batches, id, 0, func(p store.BatchPair) {
		a, b := &v.Members[index[p.A]], &v.Members[index[p.B]]
		if counts(v.Rules, p, a, b) != counts(rules, p, a, b) {
			changed = append(changed, p)
		}
	})
	if err != nil {
		return err
	}
	data, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	e := store.BatchEvent{At: s.Options().Now(), By: by, Action: "lineage",
		Text: fmt.Sprintf("author %t, group %t, draft %t, metadata %t", rules.Author, rules.Group, rules.Draft, rules.Metadata)}
	err = noted(ctx, db, notes, func(db *store.DB) error {
		if err := db.Batches.SetBatchLineage(ctx, id, data); err != nil {
			return err
		}
		return db.Batches.AppendBatchEvent(ctx, id, e)
	})
	if err != nil {
		return err
	}
	return recountPairs(ctx, s, db, v, rules, changed, by, base)
}

// SetVerdict decides whether the pair with the given members' numbers counts; an empty verdict leaves it to the rules. See SetLineage.
func SetVerdict(ctx context.Context, s *site.Site, db *store.DB, id, by string, a, b int, verdict, why string,
	base report.Rules, notes ...store.AuditNote) error {
	v, err := Open(ctx, db, id)
	if err != nil {
		return err
	}
	members := numbered(v.Members)
	if members[a] == nil || members[b] == nil {
		return fmt.Errorf("pair %d and %d of batch %s: %w", a, b, id, concordat.ErrNotFound)
	}
	if members[b].Name < members[a].Name {
		a, b = b, a
	}
	e := store.BatchEvent{At: s.Options().Now(), By: by, Action: "pair_" + cmp.Or(verdict, "rules"), Text: pairNames(members[a], members[b])}
	if why != "" {
		e.Text += ": " + why
	}
	var p store.BatchPair
	err = noted(ctx, db, notes, func(db *store.DB) error {
		if err := db.Batches.SetPairVerdict(ctx, id, a, b, verdict); err != nil {
			return err
		}
		if p, err = db.Batches.BatchPair(ctx, id, a, b); err != nil {
			return err
		}
		return db.Batches.AppendBatchEvent(ctx, id, e)
	})
	if err != nil {
		return err
	}
	return recountPairs(ctx, s, db, v, v.Rules, []store.BatchPair{p}, by, base)
}

// recountPairs updates the reports of the members of changed pairs.
func recountPairs(ctx context.Context, s *site.Site, db *store.DB, v *View, rules LineageRules, changed []store.BatchPair, by string,
	base report.Rules) error {
	members := numbered(v.Members)
	of := map[int][]store.BatchPair{}
	for _, p := range changed {
		of[p.A], of[p.B] = append(of[p.A], p), append(of[p.B], p)
	}
	library := concordat.BatchLibrary(v.ID)
	for n, pairs := range of {
		m := members[n]
		if m.Task == "" {
			continue // its check has not run yet and will use the new setting
		}
		now, err := site.RulesInForce(ctx, db, m.Task, base)
		if errors.Is(err, concordat.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return err
		}
		before := len(now.ExcludeSources)
		now.ExcludeSources = slices.Clone(now.ExcludeSources)
		same := true
		for _, p := range pairs {
			other := members[p.A+p.B-n]
			ref := concordat.Ref{Site: s.Options().ID, Library: library, Document: concordat.DocumentID(other.Name)}
			now.ExcludeSources = slices.DeleteFunc(now.ExcludeSources, func(r concordat.Ref) bool { return r == ref })
			same = same && len(now.ExcludeSources) == before
			if !counts(rules, p, m, other) {
				now.ExcludeSources = append(now.ExcludeSources, ref)
				same = false
			}
		}
		if !same {
			if err := putRules(ctx, db, m.Task, now, store.Review{At: s.Options().Now(), By: by}); err != nil &&
				!errors.Is(err, concordat.ErrNotFound) {
				return err
			}
		}
		f, err := s.Findings(ctx, m.Task)
		if errors.Is(err, concordat.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return err
		}
		next := *m
		shares := measure(&next, f, now, library, members)
		if err := db.Batches.PutChecked(ctx, v.ID, next, shares); err != nil {
			return err
		}
	}
	return nil
}
