package review

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/web/message"
	"concordat/web/pages"
)

// undone returns the current rules with one change undone and later changes kept. before and after are the rules before and after that
// change. A rule that was changed again keeps its current value; in lists, only the entries that the change added or removed are
// affected.
func undone(before, after, now report.Rules) (report.Rules, error) {
	var maps [3]map[string]json.RawMessage
	for i, r := range []report.Rules{before, after, now} {
		b, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(b, &maps[i])
		}
		if err != nil {
			return now, fmt.Errorf("undo: %w", err)
		}
	}
	b, a, n := maps[0], maps[1], maps[2]
	keys := map[string]bool{}
	for _, m := range maps {
		for k := range m {
			keys[k] = true
		}
	}
	for k := range keys {
		switch {
		case bytes.Equal(b[k], a[k]):
		case bytes.Equal(a[k], n[k]):
			n[k] = b[k]
		default:
			if got, ok := undoneList(b[k], a[k], n[k]); ok {
				n[k] = got
			}
		}
		if n[k] == nil {
			delete(n, k)
		}
	}
	all, err := json.Marshal(n)
	if err != nil {
		return now, fmt.Errorf("undo: %w", err)
	}
	var out report.Rules
	return out, json.Unmarshal(all, &out)
}

// undoneList is undone for one list. It returns false if the values are not lists.
func undoneList(before, after, now json.RawMessage) (json.RawMessage, bool) {
	var lists [3][]json.RawMessage
	for i, raw := range []json.RawMessage{before, after, now} {
		if raw != nil && json.Unmarshal(raw, &lists[i]) != nil {
			return nil, false
		}
	}
	has := func(list []json.RawMessage, x json.RawMessage) bool {
		return slices.ContainsFunc(list, func(y json.RawMessage) bool { return bytes.Equal(x, y) })
	}
	out := []json.RawMessage{}
	for _, x := range lists[2] {
		if !has(lists[1], x) || has(lists[0], x) { // the change did not add it
			out = append(out, x)
		}
	}
	for _, x := range lists[0] {
		if !has(lists[1], x) && !has(out, x) { // the change removed it
			out = append(out, x)
		}
	}
	raw, err := json.Marshal(out)
	return raw, err == nil
}

// undoOwn returns the rules without one of the visitor's own changes, and that change. If seq is 0, the change is the latest that has not
// been undone. Other people's changes are kept.
func (w *Reviews) undoOwn(ctx context.Context, v *pages.Visitor, id concordat.TaskID, seq int) (report.Rules, string, error) {
	now, err := w.OfTask(ctx, id)
	if err != nil {
		return report.Rules{}, "", err
	}
	for _, c := range slices.Backward(now.Log) {
		if c.By != v.Name || !c.MayUndo() || seq != 0 && c.Seq != seq {
			continue
		}
		rules, err := undone(c.Before, c.After, now.Rules)
		return rules, strings.TrimSpace(fmt.Sprintf("%d %s %s", c.Seq, c.Action, c.Subject)), err
	}
	return now.Rules, "", message.Invalid("wrong.undo")
}

// MayUndo reports whether the author of the change can undo it.
func (c Change) MayUndo() bool { return c.Action != "undo" && !c.Undone }

// Undoes returns the number of the undone change, or 0 if an older version recorded the undo without a number.
func (c Change) Undoes() int {
	if c.Action != "undo" {
		return 0
	}
	first, _, _ := strings.Cut(c.Subject, " ")
	n, _ := strconv.Atoi(first)
	return n
}

// PlaceOf parses the subject of a change to a passage, which is the passage's span followed by the reason, if any.
func PlaceOf(subject string) (at concordat.Span, why string, ok bool) {
	place, why, _ := strings.Cut(subject, ": ")
	from, to, ok := strings.Cut(place, "–")
	start, err := strconv.Atoi(from)
	end, err2 := strconv.Atoi(to)
	return concordat.Span{Start: start, End: end}, why, ok && err == nil && err2 == nil
}

// Place returns where the report shows a change: the start of a passage or, if the change does not concern one, the id of an element.
func (c Change) Place() (start, id string) {
	switch at, _, ok := PlaceOf(c.Subject); {
	case ok:
		return strconv.Itoa(at.Start), ""
	case strings.HasSuffix(c.Action, "source"), strings.HasSuffix(c.Action, "own-work"):
		return "", "sources"
	case strings.HasSuffix(c.Action, "-group"):
		return "", "over"
	case strings.HasSuffix(c.Action, "-lead"):
		return "", "leads"
	}
	return "", "rules"
}
