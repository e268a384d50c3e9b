package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"concordat"
	"concordat/site"
	"concordat/store"
)

// pairNames returns the name of a pair in events, which consists of the names of both documents in order.
func pairNames(a, b *store.BatchMember) string {
	if b.Name < a.Name {
		a, b = b, a
	}
	return a.Name + " – " + b.Name
}

// CommentPair stores a comment on a pair, given by its members' numbers, as an event of the batch that decides nothing.
func CommentPair(ctx context.Context, db *store.DB, id string, e store.BatchEvent, a, b int, notes ...store.AuditNote) error {
	members, err := db.Batches.BatchMembers(ctx, id)
	if err != nil {
		return err
	}
	by := numbered(members)
	if by[a] == nil || by[b] == nil {
		return fmt.Errorf("pair %d and %d of batch %s: %w", a, b, id, concordat.ErrNotFound)
	}
	e.Action, e.Text = "pair_comment", pairNames(by[a], by[b])+": "+e.Text
	return noted(ctx, db, notes, func(db *store.DB) error { return db.Batches.AppendBatchEvent(ctx, id, e) })
}

// OfPair returns the comment in an event, and reports whether the event is about the given pair.
func OfPair(e store.BatchEvent, a, b *store.BatchMember) (text string, ok bool) {
	if !strings.HasPrefix(e.Action, "pair_") {
		return "", false
	}
	rest, ok := strings.CutPrefix(e.Text, pairNames(a, b))
	if !ok { // events of older batches name the documents in batch order
		rest, ok = strings.CutPrefix(e.Text, max(a.Name, b.Name)+" – "+min(a.Name, b.Name))
	}
	if !ok || rest != "" && !strings.HasPrefix(rest, ": ") {
		return "", false
	}
	return strings.TrimPrefix(rest, ": "), true
}

// MemberText returns the text of a member, or "" if it is not stored or not yet read.
func MemberText(ctx context.Context, s *site.Site, m *store.BatchMember) (string, error) {
	if m.Task == "" {
		return "", nil
	}
	f, err := s.Findings(ctx, m.Task)
	if errors.Is(err, concordat.ErrNotFound) || err == nil && f.Withheld != nil {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return f.Submission.Text, nil
}
