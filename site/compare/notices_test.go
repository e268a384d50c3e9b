package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
	"concordat/report"
)

// TestNoticesOnBothSides: a publisher's notice, the names of people at one institution, or a signed paragraph is not evidence if both
// documents have it. A page to which one document added links, markup, capitals or a date is evidence, and so is a long page that both
// documents date.
func TestNoticesOnBothSides(t *testing.T) {
	notice := func(n int) string {
		return fmt.Sprintf("Vargas, et al. Mills %d, 295 (1999); the following resources for this article are available online "+
			"(this was read on May %d, 2008):\nUpdated information and services can be found in the online version of this article at: "+
			"http://www.mills.example.org/cgi/content/full/%d This article cites %d articles, some of which can be read for free: "+
			"http://www.mills.example.org/cgi/content/full/%d#cited This article has been cited by %d others. It appears in the "+
			"collection on wheels at http://www.mills.example.org/cgi/collection/wheels and whoever wants to reproduce it in whole or "+
			"in part finds out how at http://www.mills.example.org/about/permissions", 200+n, n+1, 300+n, 40+n, 300+n, 90+n)
	}
	const page = "The fishermen of the eastern shore counted their boats in spring and wrote the number on the wall of the house. " +
		"Whoever bought a boat in summer paid for the paint, and whoever sold one left his line on the wall until the next spring. " +
		"When the wall was full they built another house, and this is why the street has eleven houses in which nobody ever lived. "
	linked := strings.ReplaceAll(page, ". ", " (http://www.shore.example.org/boats). ")
	marked := "© 2021 Ana Costa. " + page
	names := "Department of Boats and Shores, Institute of Rivers, University of the North, Aldea, Chile\nDepartment of Lamps, Shore College, Aldea"
	capitals := []rune(page)
	for i, r := range capitals {
		if i == 0 || capitals[i-1] == ' ' {
			capitals[i] = []rune(strings.ToUpper(string(r)))[0]
		}
	}
	written := strings.ReplaceAll(string(capitals), ". ", ",\n")
	const signed = "Ce mémoire est le fruit de mon seul travail, et chaque phrase empruntée à autrui y porte le nom de celui qui l'a écrite. " +
		"Aucune machine n'en a rédigé une partie, aucun tiers n'a été payé pour le relire, et nul jury ne l'a encore vu sous une autre forme."
	// Text extracted from PDFs has no blank lines around a notice of rights.
	rights := func(n int) string {
		return fmt.Sprintf("The Shore (print ISSN 0317-847%d; online ISSN 1317-847%d) comes out whenever the tide allows it and is sent to "+
			"everybody who has a boat, a house or a lamp in Aldea. © %d The Shore Press; nothing of it may be kept by others.", n, n, 2001+n)
	}
	own := func(n int) string {
		return strings.Repeat(fmt.Sprintf("Somebody in place%d wrote of the lamps that burned all night in house%d. ", n, n), 12)
	}
	for _, c := range []struct {
		name   string
		a      string
		others func(n int) string
		told   report.AttributedAs // empty if nothing is attributed
	}{
		{"notice", notice(0), func(n int) string { return notice(n + 1) }, report.AsNotice},
		{"names", names, func(int) string { return names }, report.AsAuthors},
		{"signed", signed + "\n\nLyon, le 12 mai 2024", func(n int) string { return fmt.Sprintf("%s\n\nNantes, le %d juin 2023", signed, n) },
			report.AsStatement},
		{"a copied page above two dates", page + "\n\nAldea, 12 May 2024",
			func(n int) string { return fmt.Sprintf("%s\n\nBirk, %d June 2023", page, n) }, ""},
		{"rights", rights(0), func(n int) string { return rights(n + 1) }, report.AsNotice},
		{"rights amid a line", inLine(rights(0)), func(n int) string { return inLine(rights(n + 1)) }, report.AsNotice},
		{"signs that one document put into a copied page", strings.ReplaceAll(page, ". ", " (© 2021 Costa, ISBN 978-3-16-148410-0). "),
			func(int) string { return page }, ""},
		{"a date under a copied page", page + "\n\nAldea, 12 May 2024", func(int) string { return page }, ""},
		{"links in a copied page", linked, func(int) string { return page }, ""},
		{"a mark above a copied page", marked, func(int) string { return page }, ""},
		{"capitals in a copied page", written, func(int) string { return page }, ""},
		{"a copied page", page, func(int) string { return page }, ""},
	} {
		for _, of := range []int{2, 5, 12, 40, 400} {
			text := "This copy was made for those who row, and is theirs alone.\n\n" + c.a + "\n\n" + own(0)
			w := Shareable(text, nil, nil)
			held, quoted := wording.CounterOf(w.Words), wording.CounterOf(QuotedWords(text, w.Words))
			for n := 1; n <= min(3, of-1); n++ {
				other := c.others(n) + "\n\n" + own(n)
				words := wording.Split(other)
				held.Add(n, words)
				quoted.Add(n, QuotedWords(other, words))
			}
			if err := w.Decide(t.Context(), &wording.Scope{Held: held.Common(2), Of: of, Quoted: quoted.Common(2)}, 0, refOf); err != nil {
				t.Fatal(err)
			}
			at := strings.Index(text, c.a)
			share := ShareOf(report.NewCounter(w.Text), concordat.Span{Start: at, End: at + len(c.a)}, spansOf(w.Found, c.told))
			if c.told != "" && share < 0.75 || c.told == "" && share > 0.1 {
				t.Errorf("%s among %d: %.2f of it explained: %v", c.name, of, share, w.Found)
			}
		}
	}
}

// inLine returns a notice as it comes out of a page in columns.
func inLine(notice string) string {
	return "The lamps were counted in spring and\n" + notice + "\nwritten on the wall of the house by whoever had paid for the paint."
}

// TestRightsOnACopiedPage: of a copied page that carries a notice of rights, the notice is explained and the page is not, whether the
// notice is above, amid or below it, with or without blank lines, and in however many documents.
func TestRightsOnACopiedPage(t *testing.T) {
	const page = "The fishermen of the eastern shore counted their boats in spring and wrote the number on the wall of the house. " +
		"Whoever bought a boat in summer paid for the paint, and whoever sold one left his line on the wall until the next spring. " +
		"When the wall was full they built another house, and this is why the street has eleven houses in which nobody ever lived. "
	const rights = "The Shore (print ISSN 0317-8471; online ISSN 1317-8471) comes out whenever the tide allows it. " +
		"© 2001 The Shore Press, www.shore.example.org; nothing of it may be kept by others. "
	for _, gap := range []string{"", "\n", "\n\n"} {
		for name, copied := range map[string]string{"above": rights + gap + page, "amid": page + gap + rights + gap + page,
			"below": page + gap + rights} {
			for _, of := range []int{2, 5, 12, 40, 400} {
				text := "This copy was made for those who row.\n\n" + copied + "\n\nNobody else has seen it."
				w := Shareable(text, nil, nil)
				held, quoted := wording.CounterOf(w.Words), wording.CounterOf(QuotedWords(text, w.Words))
				other := "Another hand wrote this above it.\n\n" + copied + "\n\nAnd this below it."
				words := wording.Split(other)
				held.Add(1, words)
				quoted.Add(1, QuotedWords(other, words))
				if err := w.Decide(t.Context(), &wording.Scope{Held: held.Common(2), Of: of, Quoted: quoted.Common(2)}, 0, refOf); err != nil {
					t.Fatal(err)
				}
				count, at := report.NewCounter(text), strings.Index(text, page)
				if share := ShareOf(count, concordat.Span{Start: at, End: at + len(page)}, w.Walls); share > 0.05 {
					t.Errorf("%s, %q, among %d: %.2f of the page is left out", name, gap, of, share)
				}
				at = strings.Index(text, rights)
				if share := ShareOf(count, concordat.Span{Start: at, End: at + len(rights)}, w.Walls); share < 0.75 {
					t.Errorf("%s, %q, among %d: %.2f of the notice is explained", name, gap, of, share)
				}
			}
		}
	}
}

// spansOf returns the places of findings with the given reason or, without a reason, the places of notices, names and statements.
func spansOf(found []report.Wording, why report.AttributedAs) []concordat.Span {
	var out []concordat.Span
	for _, f := range found {
		told := []string{string(report.AsNotice), string(report.AsAuthors), string(report.AsStatement)}
		if why == "" && slices.Contains(told, f.Why) || why != "" && f.Why == string(why) {
			out = append(out, f.Span)
		}
	}
	return out
}
