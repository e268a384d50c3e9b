package html_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
	"concordat/report/html"
)

var (
	markOf    = regexp.MustCompile(`<mark class="m k-[a-z]+ so so([0-9])" data-e="([0-9]+)">`)
	blocksOf  = regexp.MustCompile(`<a href="#m([0-9]+)" tabindex="-1"><title>[^<]*source ([A-Z]+)</title><rect class="f-so([0-9])"`)
	rankedOf  = regexp.MustCompile(`<li id="s[0-9]+" data-s="[0-9]+"><div class="head"><span class="sq so so([0-9])">([A-Z]+)</span>`)
	patternOf = regexp.MustCompile(`<pattern id="t-(so[0-9])"(.*?)</pattern>`)
)

// TestSourcesLookAlikeEverywhere: the passages of a source have the same colour and pattern in the text, on the map and in the list of
// sources. The first eight sources differ from each other, and all later ones look like the ninth.
func TestSourcesLookAlikeEverywhere(t *testing.T) {
	const sources = 10
	f := &report.Findings{Submission: concordat.Document{Text: strings.Repeat("The granary was counted every year by a clerk. ", sources+1)}}
	length := len(f.Submission.Text) / (sources + 1)
	for i := range sources {
		span := concordat.Span{Start: i * length, End: (i+1)*length - i - 1} // each source is one letter shorter than the previous one
		f.Passages = append(f.Passages, concordat.Passage{Span: span, Kind: concordat.KindVerbatim, Similarity: 1,
			Source: concordat.Ref{Site: "here", Library: "theses", Document: concordat.DocumentID(fmt.Sprint("d", i))}})
	}
	page := write(t, report.Build(f, report.Rules{}))
	colour := map[string]string{} // by number of the passage
	for _, m := range markOf.FindAllStringSubmatch(page, -1) {
		colour[m[2]] = m[1]
	}
	letter := map[string]string{} // by letter of the source
	for _, m := range rankedOf.FindAllStringSubmatch(page, -1) {
		letter[m[2]] = m[1]
	}
	blocks := blocksOf.FindAllStringSubmatch(page, -1)
	if len(colour) != sources || len(letter) != sources || len(blocks) != sources {
		t.Fatalf("%d passages in the text, %d sources in the list, %d blocks on the map, want %d of each", len(colour), len(letter), len(blocks),
			sources)
	}
	seen := map[string]int{}
	for _, m := range blocks {
		if m[3] != colour[m[1]] || m[3] != letter[m[2]] {
			t.Errorf("passage %s of source %s: colour %s on the map, %s in the text, %s in the list", m[1], m[2], m[3], colour[m[1]], letter[m[2]])
		}
		seen[m[3]]++
	}
	for n := 1; n <= 9; n++ {
		want := 1
		if n == 9 {
			want = sources - 8
		}
		if got := seen[fmt.Sprint(n)]; got != want {
			t.Errorf("%d sources have the colour %d, want %d", got, n, want)
		}
	}
	// The first and last colours are plain, and each of the others has its own texture.
	textures := map[string]string{}
	for _, m := range patternOf.FindAllStringSubmatch(page, -1) {
		if other := textures[m[2]]; other != "" {
			t.Errorf("%s and %s have one texture", other, m[1])
		}
		textures[m[2]] = m[1]
		if !strings.Contains(html.Style, ".f-"+m[1]+"{fill:url(#t-"+m[1]+")}") {
			t.Errorf("nothing is filled with the texture of %s", m[1])
		}
	}
	if len(textures) != 7 {
		t.Errorf("%d textures, want 7", len(textures))
	}
	plain := regexp.MustCompile(`--so[0-9]:(#[0-9a-f]{6})`)
	light, _, _ := strings.Cut(html.Style[strings.Index(html.Style, ":root{--so1:"):], "}")
	colours := map[string]bool{}
	for _, m := range plain.FindAllStringSubmatch(light, -1) {
		colours[m[1]] = true
	}
	if len(colours) != 9 {
		t.Errorf("%d colours of sources, want 9", len(colours))
	}
}
