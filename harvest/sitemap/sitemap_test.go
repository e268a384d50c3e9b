package sitemap_test

import (
	"net/url"
	"slices"
	"testing"

	"concordat/harvest/sitemap"
	"concordat/harvest/xmltree"
)

// TestRead parses a change list from the specification's examples (ANSI/NISO Z39.99-2017, section 12).
func TestRead(t *testing.T) {
	base, err := url.Parse("https://example.com/dataset1/changelist.xml")
	if err != nil {
		t.Fatal(err)
	}
	l, err := sitemap.Read(base, xmltree.Clean([]byte(`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:ln rel="up" href="https://example.com/dataset1/capabilitylist.xml"/>
  <rs:md capability="changelist" from="2013-01-03T00:00:00Z"/>
  <url><loc>https://example.com/res1.html</loc><lastmod>2013-01-03T11:00:00Z</lastmod><rs:md change="created" datetime="2013-01-03T11:00:00Z"/></url>
  <url><loc>/res2.pdf</loc><rs:md change="deleted" datetime="2013-01-03T13:00:00Z" hash="md5:1" type="application/pdf"/><rs:ln rel="describes" href="/res2.xml"/><rs:ln rel="describedby" href="/res2.json" type="Application/JSON; charset=utf-8"/><rs:ln rel="describedby" href="mailto:a@example.com"/><rs:ln rel="describedby" href="/res2.mods"/></url>
  <url><loc>mailto:a@example.com</loc></url>
</urlset>`), ""))
	if err != nil {
		t.Fatal(err)
	}
	if l.Capability != "changelist" || l.From != "2013-01-03T00:00:00Z" || l.Index || len(l.Entries) != 2 {
		t.Fatalf("got %+v", l)
	}
	if e := l.Entries[1]; e.URL != "https://example.com/res2.pdf" || e.Change != "deleted" || e.Type != "application/pdf" ||
		e.Hash != "md5:1" ||
		e.Describes != "https://example.com/res2.xml" || !slices.Equal(e.Meta, []sitemap.Link{
		{URL: "https://example.com/res2.json", Type: "application/json"}, {URL: "https://example.com/res2.mods"}}) ||
		e.Modified != "2013-01-03T13:00:00Z" {
		t.Errorf("got %+v", e)
	}
	for at, want := range map[string]bool{"2013-01-03T12:00:00Z": true, "2013-01-03T13:00:00Z": true, "2013-01-03T13:00:01Z": false,
		"2013-01-04": false, "": true} {
		if got := l.Entries[1].After(at); got != want {
			t.Errorf("after %q: %v, want %v", at, got, want)
		}
	}
	if _, err := sitemap.Read(base, []byte(`<html></html>`)); err == nil {
		t.Error("a page is a sitemap")
	}
}

// FuzzRead: no list causes a panic.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`<urlset><md capability="x"/><url><loc>http://a/</loc></url></urlset>`))
	f.Add([]byte(`<sitemapindex><sitemap><loc>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := sitemap.Read(&url.URL{Scheme: "http", Host: "a"}, xmltree.Clean(b, ""))
		if err == nil && len(l.Entries) > 50_000 {
			t.Errorf("%d entries", len(l.Entries))
		}
	})
}
