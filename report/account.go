package report

import (
	"cmp"
	"slices"
	"strings"

	"concordat"
)

// Account counts what happened to the letters, marks and digits of the submission's file. File is the sum of Read and the
// letters of NotRead, and Read is the sum of Compared and the letters of LeftOut.
type Account struct {
	File     int       `json:"file"`
	Read     int       `json:"read"`
	Compared int       `json:"compared"`
	LeftOut  []LeftOut `json:"left_out"` // by their rules' names
	NotRead  []NotRead `json:"not_read"` // in the order in which the file was read
}

// LeftOut counts the letters that a rule kept out of the comparison. Letters of the text are grouped by [concordat.SkipReason]; all
// others, by the code of their flag.
type LeftOut struct {
	Rule    string `json:"rule"`
	Letters int    `json:"letters"`
	InText  bool   `json:"in_text"` // the letters are part of the text shown in the report
}

// NotRead is content that is visible in the file but missing from the text.
type NotRead struct {
	Reason  string `json:"reason"` // code of its flag
	Detail  string `json:"detail"`
	Count   int    `json:"count,omitempty"`   // pages, pictures or parts
	Letters int    `json:"letters,omitempty"` // 0 if they cannot be counted
	Bytes   int64  `json:"bytes,omitempty"`   // size of the parts whose letters cannot be counted; 0 if unknown
}

// jsonFlag is a flag in the JSON form; the last three fields are taken from [concordat.Flag].
type jsonFlag struct {
	Code    string          `json:"code"`
	Detail  string          `json:"detail,omitempty"`
	Count   int             `json:"count,omitempty"`
	Span    *concordat.Span `json:"span,omitempty"`
	Missing bool            `json:"missing,omitempty"`
	Letters int             `json:"letters,omitempty"`
	Bytes   int64           `json:"bytes,omitempty"`
}

// Whole reports whether everything in the file was compared, so that a share of the letters read is a share of the whole file.
func (a Account) Whole() bool { return a.Compared == a.File && len(a.NotRead) == 0 }

// Counted reports whether all letters of the file could be counted.
func (a Account) Counted() bool {
	return !slices.ContainsFunc(a.NotRead, func(n NotRead) bool { return n.Letters == 0 || n.Bytes > 0 })
}

// account returns the account of the letters of the file, given the stretches of text that were not compared.
func (b *builder) account(skipped []concordat.Skipped) Account {
	a := Account{Compared: b.measured, LeftOut: []LeftOut{}, NotRead: []NotRead{}}
	leave := func(rule string, letters int, inText bool) {
		i := slices.IndexFunc(a.LeftOut, func(x LeftOut) bool { return x.Rule == rule && x.InText == inText })
		if i < 0 {
			i = len(a.LeftOut)
			a.LeftOut = append(a.LeftOut, LeftOut{Rule: rule, InText: inText})
		}
		a.LeftOut[i].Letters += letters
	}
	for _, s := range skipped {
		leave(string(s.Reason), b.count.Characters(s.Span), true)
	}
	for _, f := range b.f.Flags {
		letters := max(f.Letters, 0)
		switch {
		case f.Missing:
			a.NotRead = append(a.NotRead, NotRead{f.Code, f.Detail, max(f.Count, 1), letters, max(f.Bytes, 0)})
			a.File += letters
		case letters > 0:
			leave(f.Code, letters, false)
		}
	}
	slices.SortStableFunc(a.LeftOut, func(x, y LeftOut) int { return cmp.Compare(x.Rule, y.Rule) })
	a.Read = a.Compared
	for _, x := range a.LeftOut {
		a.Read += x.Letters
	}
	a.File += a.Read
	return a
}

// comparedWords returns a sentence that states how much of the file was compared.
func (r *Report) comparedWords() string {
	l, a := r.Language, r.Account
	share := l.Percent(float64(a.Compared) / float64(max(a.File, 1)))
	switch {
	case a.Compared == 0:
		return l.Say("Nothing was compared. Every share in this report is blank, not zero.")
	case !a.Counted() && a.Compared == a.File:
		return l.Say("Compared: all %s letters and digits that were read. The file contains more, which was not read.", Thousands(l, a.Compared))
	case !a.Counted():
		return l.Say("Compared: %s of %s letters and digits that can be counted. The file contains more, which was not read.",
			Thousands(l, a.Compared), Thousands(l, a.File))
	case a.File == r.Scores.Characters:
		return l.Say("Compared: %s of the text, %s of %s letters and digits.", share, Thousands(l, a.Compared), Thousands(l, a.File))
	}
	return l.Say("Compared: %s of the file, %s of %s letters and digits.", share, Thousands(l, a.Compared), Thousands(l, a.File))
}

// leftWords returns sentences about the parts of the file that are missing from the text because a rule left them out or they could not
// be read.
func (r *Report) leftWords() []string {
	l := r.Language
	var out []string
	for _, x := range r.Account.LeftOut {
		if !x.InText {
			out = append(out, l.Say("Left out, %s: %s.", r.reasonWords(x.Rule), l.Plural(x.Letters, "letter", "letters")))
		}
	}
	const most = 20
	for i, x := range r.Account.NotRead {
		if i == most {
			out = append(out, l.Say("Not read: %s more, which the JSON form lists.", Thousands(l, len(r.Account.NotRead)-most)))
			break
		}
		var size []string
		if x.Count > 1 {
			size = append(size, l.Say("%s times", Thousands(l, x.Count)))
		}
		if x.Letters > 0 {
			size = append(size, l.Plural(x.Letters, "letter", "letters"))
		}
		if x.Bytes > 0 {
			size = append(size, l.Plural(int(x.Bytes), "byte", "bytes"))
		}
		if size == nil {
			out = append(out, l.Say("Not read, %s: %s.", r.reasonWords(x.Reason), x.Detail))
			continue
		}
		out = append(out, l.Say("Not read, %s: %s (%s).", r.reasonWords(x.Reason), x.Detail, strings.Join(size, ", ")))
	}
	return out
}

// reasonWords returns the words for the code of a flag.
func (r *Report) reasonWords(code string) string {
	return strings.ReplaceAll(r.Language.FlagName(concordat.Flag{Code: code}), "_", " ")
}
