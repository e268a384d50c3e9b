// Package scenario reads findings from plain text files, so that a test shows its subject at a glance: a submission, its sources, and the
// passages they share.
package scenario

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"concordat"
	"concordat/report"
)

// Read reads one scenario. A file consists of parts that each start with a line "-- name --":
//
//	-- submission ID | TITLE --     the text
//	-- source SITE/LIBRARY/DOCUMENT | TITLE --   the text, or nothing where it may not be shown
//	-- passages --                  lines: KIND | from … to | SITE/LIBRARY/DOCUMENT | from … to | key=value …
//	-- wording --                  lines: KIND | from … to | documents | of | why
//	-- skipped --                   lines: REASON | from … to
//	-- sections --                  lines: NAME | from … to
//	-- consulted --                 lines: SITE/LIBRARY | asked | answered | error
//	-- flags --                     lines: CODE | detail | count | from … to
//
// "from … to" denotes the text from the first occurrence of one phrase to the end of the next occurrence of the other; a single phrase
// denotes only itself.
func Read(file string) (*report.Findings, error) {
	f := &report.Findings{Version: report.Version, Task: "task-1", Scheme: "natural@7c1d52be90aa41f3",
		Made: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), Forward: "unmatched", Threshold: 0.3, Probe: "one",
		Skipped: []concordat.Skipped{}}
	texts, titles := map[string]string{}, map[string]string{}
	var err error
	for _, p := range strings.Split("\n"+file, "\n-- ")[1:] {
		head, body, ok := strings.Cut(p, " --\n")
		if !ok {
			return nil, fmt.Errorf("part %q has no header", p)
		}
		name, rest, _ := strings.Cut(head, " ")
		id, title, _ := strings.Cut(rest, " | ")
		switch name {
		case "submission":
			f.Submission = concordat.Document{Library: "submissions", ID: concordat.DocumentID(id), Title: title,
				Text: strings.TrimRight(body, "\n") + "\n"}
		case "source":
			texts[id], titles[id] = strings.TrimRight(body, "\n")+"\n", title
		case "passages":
			err = eachLine(body, 4, func(c []string) error { return passage(f, texts, titles, c) })
		case "wording":
			err = eachLine(body, 5, func(c []string) error { return wording(f, c) })
		case "skipped":
			err = eachLine(body, 2, func(c []string) error {
				s, err := find(f.Submission.Text, c[1])
				f.Skipped = append(f.Skipped, concordat.Skipped{Span: s, Reason: concordat.SkipReason(c[0])})
				return err
			})
		case "sections":
			err = eachLine(body, 2, func(c []string) error {
				s, err := find(f.Submission.Text, c[1])
				f.Sections = append(f.Sections, concordat.Section{Name: c[0], Span: s})
				return err
			})
		case "consulted":
			err = eachLine(body, 4, func(c []string) error { return consulted(f, c) })
		case "flags":
			err = eachLine(body, 4, func(c []string) error {
				x := concordat.Flag{Code: c[0], Detail: c[1]}
				x.Count, _ = strconv.Atoi(c[2])
				if c[3] != "" {
					s, err := find(f.Submission.Text, c[3])
					if err != nil {
						return err
					}
					x.Span = &s
				}
				f.Flags = append(f.Flags, x)
				return nil
			})
		default:
			err = fmt.Errorf("unknown part %q", name)
		}
		if err != nil {
			return nil, err
		}
	}
	return f, nil
}

func eachLine(body string, least int, f func(cells []string) error) error {
	for l := range strings.SplitSeq(body, "\n") {
		if strings.TrimSpace(l) == "" {
			continue
		}
		cells := strings.Split(l, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		for len(cells) < least {
			cells = append(cells, "")
		}
		if err := f(cells); err != nil {
			return fmt.Errorf("line %q: %w", l, err)
		}
	}
	return nil
}

func find(text, phrases string) (concordat.Span, error) {
	from, to, ranged := strings.Cut(phrases, " … ")
	start := strings.Index(text, from)
	if start < 0 {
		return concordat.Span{}, fmt.Errorf("no %q", from)
	}
	if !ranged {
		return concordat.Span{Start: start, End: start + len(from)}, nil
	}
	end := strings.Index(text[start:], to)
	if end < 0 {
		return concordat.Span{}, fmt.Errorf("no %q after %q", to, from)
	}
	return concordat.Span{Start: start, End: start + end + len(to)}, nil
}

func ref(s string) concordat.Ref {
	p := strings.SplitN(s, "/", 3)
	for len(p) < 3 {
		p = append(p, "")
	}
	return concordat.Ref{Site: concordat.SiteID(p[0]), Library: concordat.LibraryID(p[1]), Document: concordat.DocumentID(p[2])}
}

func passage(f *report.Findings, texts, titles map[string]string, c []string) error {
	span, err := find(f.Submission.Text, c[1])
	if err != nil {
		return err
	}
	p := concordat.Passage{Span: span, Source: ref(c[2]), Title: titles[c[2]], Kind: concordat.Kind(c[0])}
	text := texts[c[2]]
	if p.SourceSpan, err = find(text, c[3]); err != nil {
		return err
	}
	p.SourcePoints = concordat.Span{Start: utf8.RuneCountInString(text[:p.SourceSpan.Start]),
		End: utf8.RuneCountInString(text[:p.SourceSpan.End])}
	p.Words = align(f.Submission.Text, span, text, p.SourceSpan)
	count := report.NewCounter(f.Submission.Text)
	equal := 0
	for _, w := range p.Words {
		equal += count.Characters(w.Span)
	}
	p.Similarity = float64(equal) / float64(count.Characters(span))
	p.Text = p.SourceSpan.In(text)
	p.Before, p.After = around(text, p.SourceSpan)
	for _, option := range c[4:] {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "documents":
			p.Documents, err = strconv.Atoi(value)
		case "similarity":
			p.Similarity, err = strconv.ParseFloat(value, 64)
		case "wording":
			p.Wording = concordat.Kind(value)
		case "why":
			p.Why = value
		case "hidden":
			p.Text, p.Before, p.After, p.Words, p.SourcePoints = "", "", "", nil, concordat.Span{}
		default:
			err = fmt.Errorf("unknown option %q", option)
		}
		if err != nil {
			return err
		}
	}
	f.Passages = append(f.Passages, p)
	return nil
}

func wording(f *report.Findings, c []string) error {
	w := report.Wording{Kind: concordat.Kind(c[0]), Why: c[4]}
	var err error
	if w.Span, err = find(f.Submission.Text, c[1]); err != nil {
		return err
	}
	if w.Documents, err = strconv.Atoi(c[2]); err != nil {
		return err
	}
	if w.Of, err = strconv.Atoi(c[3]); err != nil {
		return err
	}
	f.Wording = append(f.Wording, w)
	return nil
}

// around returns up to about 80 bytes on either side of s.
func around(text string, s concordat.Span) (before, after string) {
	a, b := max(0, s.Start-80), min(len(text), s.End+80)
	for a < s.Start && !utf8.RuneStart(text[a]) {
		a++
	}
	for b < len(text) && b > s.End && !utf8.RuneStart(text[b]) {
		b--
	}
	return text[a:s.Start], text[s.End:b]
}

func consulted(f *report.Findings, c []string) error {
	r := ref(c[0])
	x := concordat.Consulted{Site: r.Site, Library: r.Library, Missing: []concordat.ShardID{}, Err: c[3]}
	var err error
	if x.Asked, err = strconv.Atoi(c[1]); err != nil {
		return err
	}
	answered, silent, _ := strings.Cut(c[2], " ")
	if x.Answered, err = strconv.Atoi(answered); err != nil {
		return err
	}
	if silent != "" {
		x.Missing = append(x.Missing, concordat.ShardID(silent))
	}
	f.Consulted = append(f.Consulted, x)
	return nil
}

// align pairs the equal words of two spans by their longest common subsequence, and joins consecutive pairs with the same text between
// them.
func align(text string, s concordat.Span, source string, t concordat.Span) []concordat.SpanPair {
	a, b := words(text, s), words(source, t)
	long := make([][]int, len(a)+1)
	for i := range long {
		long[i] = make([]int, len(b)+1)
	}
	same := func(i, j int) bool { return strings.EqualFold(a[i].In(text), b[j].In(source)) }
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if same(i, j) {
				long[i][j] = long[i+1][j+1] + 1
			} else {
				long[i][j] = max(long[i+1][j], long[i][j+1])
			}
		}
	}
	var out []concordat.SpanPair
	lastI, lastJ := -2, -2
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case same(i, j):
			if i == lastI+1 && j == lastJ+1 {
				out[len(out)-1].Span.End, out[len(out)-1].Source.End = a[i].End, b[j].End
			} else {
				out = append(out, concordat.SpanPair{Span: a[i], Source: b[j]})
			}
			lastI, lastJ = i, j
			i, j = i+1, j+1
		case long[i+1][j] >= long[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// words splits a span into runs of letters and digits; each Han character counts as a word.
func words(text string, s concordat.Span) []concordat.Span {
	var out []concordat.Span
	in := false
	for i, r := range s.In(text) {
		i += s.Start
		han := unicode.Is(unicode.Han, r)
		word := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		switch {
		case han:
			out = append(out, concordat.Span{Start: i, End: i + utf8.RuneLen(r)})
		case word && in:
			out[len(out)-1].End = i + utf8.RuneLen(r)
		case word:
			out = append(out, concordat.Span{Start: i, End: i + utf8.RuneLen(r)})
		}
		in = word && !han
	}
	return out
}
