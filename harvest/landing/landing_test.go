package landing_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"concordat/harvest/landing"
)

var base = func() *url.URL {
	u, err := url.Parse("https://repo.example.edu/items/7?lang=en")
	if err != nil {
		panic(err)
	}
	return u
}()

// TestPage: links in headers and in the page are found with their types, and made absolute.
func TestPage(t *testing.T) {
	f := landing.Page(base, []string{`<https://doi.org/10.5072/7>; rel="cite-as"`,
		`</files/7.pdf> ; rel="item" ; type="application/pdf; v=1", <set,1>;rel=linkset;type="application/linkset+json", <javascript:x>; rel=item`},
		strings.NewReader(`<html><head><META NAME="citation_pdf_url" CONTENT="../files/7b.pdf"><link rel="stylesheet item" href="c"><link rel="canonical" href="/x">
		<meta name="citation_pdf_url" content="ftp://example.org/a.pdf">`))
	want := []landing.Link{{"https://repo.example.edu/files/7.pdf", "item", "application/pdf", ""},
		{"https://repo.example.edu/files/7b.pdf", "citation", "application/pdf", ""}, {"https://repo.example.edu/items/c", "item", "", ""}}
	if !slices.Equal(f.Texts, want) {
		t.Errorf("texts %v, want %v", f.Texts, want)
	}
	if len(f.Sets) != 1 || f.Sets[0].URL != "https://repo.example.edu/items/set,1" {
		t.Errorf("sets %v", f.Sets)
	}
}

// TestHeader covers the forms of RFC 8288, and headers without links.
func TestHeader(t *testing.T) {
	for h, want := range map[string][]landing.Link{
		`<a>; rel="x y"; rel=z; title="a, b; \"c\" <d>"; flag, <b>;rel=w`: {{"https://repo.example.edu/items/a", "x", "", ""},
			{"https://repo.example.edu/items/a", "y", "", ""}, {"https://repo.example.edu/items/b", "w", "", ""}},
		`<a>; anchor="/other"; rel=item`: {{"https://repo.example.edu/items/a", "item", "", "https://repo.example.edu/other"}},
		`<a`:                             nil, `a; rel=x`: nil, `<a>`: nil, `<a>; rel`: nil,
		`<a>; rel="x`: {{"https://repo.example.edu/items/a", "x", "", ""}}, ``: nil,
	} {
		if got := landing.ParseHeader(base, h); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", h, got, want)
		}
	}
}

// TestSet: only the page's own links are taken from a link set, in both forms of RFC 9264.
func TestSet(t *testing.T) {
	for media, text := range map[string]string{
		"application/linkset": `<https://repo.example.edu/7.pdf>; rel=item; type="application/pdf"; anchor="https://repo.example.edu/items/7?lang=en",
			</8.pdf>; rel=item; anchor="/items/8"`,
		"application/linkset+json": `{"linkset":[{"anchor":"https://repo.example.edu/items/7?lang=en","item":[{"href":"/7.pdf","type":"application/pdf"}],"author":[{"href":"x"}]},
			{"anchor":"/items/8","item":[{"href":"/8.pdf"}]}]}`,
	} {
		f, err := landing.Set(base, media, strings.NewReader(text), base.String())
		if err != nil || len(f.Texts) != 1 || f.Texts[0].URL != "https://repo.example.edu/7.pdf" || f.Texts[0].Type != "application/pdf" {
			t.Errorf("%s: %v, %v", media, f, err)
		}
	}
	if _, err := landing.Set(base, "application/linkset+json", strings.NewReader(`[`), ""); err == nil {
		t.Error("nonsense is a link set")
	}
}

// FuzzPage: no page, header or link set causes a panic or yields more links than allowed.
func FuzzPage(f *testing.F) {
	f.Add(`<a>; rel="x"; type="t"`, `<meta name=citation_pdf_url content=x><link rel=item href=y>`,
		`{"linkset":[{"anchor":"a","item":[{"href":"b"}]}]}`)
	f.Add(`<`, `<meta name="`, `{"linkset":[{"item":1}]}`)
	f.Add(strings.Repeat(`<a>;rel=item,`, 1500), ``, ``)
	f.Fuzz(func(t *testing.T, header, page, set string) {
		found := landing.Page(base, []string{header}, strings.NewReader(page))
		if n := len(found.Texts) + len(found.Sets); n > 1000 {
			t.Errorf("%d links", n)
		}
		for _, media := range []string{"application/linkset", "application/linkset+json"} {
			if found, err := landing.Set(base, media, strings.NewReader(set), base.String()); err == nil &&
				len(found.Texts)+len(found.Sets) > 1000 {
				t.Errorf("%d links", len(found.Texts))
			}
		}
	})
}
