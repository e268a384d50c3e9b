package report

import (
	"slices"
	"time"

	"concordat"
)

// Review holds people's decisions about a report.
type Review struct {
	Verdict string // clear, discuss or suspected
	Reason  string // in the words of its author
	By      string
	At      time.Time
	Signed  []SignedOff // sign-offs by other people, oldest first
	// Stale means that the rules have changed since the verdict, which was therefore based on different figures.
	Stale bool
}

// SignedOff records that a person agreed with a verdict.
type SignedOff struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// jsonReview is the JSON form of Review.
type jsonReview struct {
	Verdict string      `json:"verdict"`
	Reason  string      `json:"reason"`
	By      string      `json:"by"`
	At      time.Time   `json:"at"`
	Signed  []SignedOff `json:"signed_off"`
	Stale   bool        `json:"stale"`
}

func (w writing) review() *jsonReview {
	v := w.r.Review
	if v == nil {
		return nil
	}
	return &jsonReview{v.Verdict, v.Reason, v.By, v.At, append([]SignedOff{}, v.Signed...), v.Stale}
}

// Verdict describes a verdict in plain words.
func (l Language) Verdict(code string) string {
	switch code {
	case "clear":
		return l.Say("No concern")
	case "discuss":
		return l.Say("To be discussed with the author")
	case "suspected":
		return l.Say("Misconduct suspected")
	}
	return l.Say("No verdict")
}

// ReviewWords describes people's decisions, one sentence each.
func (r *Report) ReviewWords() []string {
	v, l := r.Review, r.Language
	if v == nil {
		return nil
	}
	day := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
	out := []string{l.Say("Verdict: %s, given by %s on %s.", l.Verdict(v.Verdict), r.Names.Person(v.By), day(v.At))}
	if v.Reason != "" {
		out = append(out, l.Say("Reason: %s", v.Reason))
	}
	for _, s := range v.Signed {
		out = append(out, l.Say("Signed off by %s on %s.", r.Names.Person(s.By), day(s.At)))
	}
	if len(v.Signed) == 0 {
		out = append(out, l.Say("No second person has signed it off yet."))
	}
	if v.Stale {
		out = append(out, l.Say("The rules have changed since this verdict, which was based on different figures."))
	}
	return out
}

// Mirrored reports whether a partner's document is known from this site's copy of the library rather than from the partner.
func (r *Report) Mirrored(ref concordat.Ref) bool {
	p, ok := r.Partner(ref)
	return ok && p.Job == ""
}

// MirrorDate returns the date of the copy of a partner's library, or the zero time if there is none.
func (r *Report) MirrorDate(ref concordat.Ref) time.Time {
	i := slices.IndexFunc(r.Consulted, func(c concordat.Consulted) bool {
		return c.Site == ref.Site && c.Library == ref.Library && !c.Mirror.IsZero()
	})
	if i < 0 {
		return time.Time{}
	}
	return r.Consulted[i].Mirror
}
