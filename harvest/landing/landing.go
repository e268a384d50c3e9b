package landing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"concordat"
)

// Link is a typed link (RFC 8288).
type Link struct {
	URL    string // absolute
	Rel    string // one relation
	Type   string // media type; empty if unknown
	Anchor string // the subject of the link, absolute; empty for the page
}

// maxLinks is the maximum number of links in a page or a link set.
const maxLinks = 1000

// Found contains the links on a page that lead to the text of its work.
type Found struct {
	Texts   []Link // items and citation_pdf_url, best first
	Sets    []Link // link sets that may contain more links
	Meta    []Link // metadata of the work (describedby)
	Cite    []Link // persistent identifiers of the work (cite-as)
	License []Link
}

// Page reads a page and its Link headers. base is the page's address.
func Page(base *url.URL, headers []string, body io.Reader) Found {
	var f Found
	for _, h := range headers {
		for _, l := range ParseHeader(base, h) {
			f.add(l)
		}
	}
	z := html.NewTokenizer(body)
	z.SetMaxBuf(1 << 20)
	for n := 0; n < 200_000; n++ {
		switch z.Next() {
		case html.ErrorToken:
			return f
		case html.StartTagToken, html.SelfClosingTagToken:
			name, has := z.TagName()
			tag := string(name)
			if tag == "base" || !has || tag != "meta" && tag != "link" {
				continue
			}
			attr := map[string]string{}
			for has {
				var k, v []byte
				k, v, has = z.TagAttr()
				attr[string(k)] = string(v)
			}
			if tag == "meta" && strings.EqualFold(attr["name"], "citation_pdf_url") {
				f.add(Link{absolute(base, attr["content"]), "citation", "application/pdf", ""})
			}
			for _, rel := range strings.Fields(attr["rel"]) {
				f.add(Link{absolute(base, attr["href"]), strings.ToLower(rel), mediaOf(attr["type"]), ""})
			}
		}
	}
	return f
}

func (f *Found) add(l Link) {
	switch {
	case l.URL == "" || len(f.Texts)+len(f.Sets)+len(f.Meta)+len(f.Cite)+len(f.License) >= maxLinks:
	case l.Rel == "item" || l.Rel == "citation":
		f.Texts = append(f.Texts, l)
	case l.Rel == "linkset":
		f.Sets = append(f.Sets, l)
	case l.Rel == "describedby":
		f.Meta = append(f.Meta, l)
	case l.Rel == "cite-as":
		f.Cite = append(f.Cite, l)
	case l.Rel == "license":
		f.License = append(f.License, l)
	}
}

func mediaOf(t string) string {
	t, _, _ = strings.Cut(t, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

func absolute(base *url.URL, ref string) string {
	u, err := base.Parse(strings.TrimSpace(ref))
	if err != nil || ref == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.String()
}

// ParseHeader parses a Link header (RFC 8288, section 3), or a link set in the same form. It skips parts that it cannot parse.
func ParseHeader(base *url.URL, h string) (out []Link) {
	for len(out) < maxLinks {
		start := strings.IndexByte(h, '<')
		if start < 0 {
			return out
		}
		h = h[start+1:]
		end := strings.IndexByte(h, '>')
		if end < 0 {
			return out
		}
		target := h[:end]
		var params map[string]string
		params, h = parameters(h[end+1:])
		l := Link{URL: absolute(base, target), Type: mediaOf(params["type"])}
		if a, ok := params["anchor"]; ok {
			l.Anchor = absolute(base, a)
		}
		for _, rel := range strings.Fields(params["rel"]) {
			l.Rel = strings.ToLower(rel)
			if l.URL != "" {
				out = append(out, l)
			}
		}
	}
	return out
}

// parameters parses the text after a link's address, up to the comma before the next link, and returns the rest. If two parameters have
// the same name, the first is used.
func parameters(h string) (map[string]string, string) {
	out := map[string]string{}
	for {
		h = strings.TrimLeft(h, " \t\r\n")
		if h == "" || h[0] != ';' {
			return out, h
		}
		h = strings.TrimLeft(h[1:], " \t\r\n")
		n := strings.IndexAny(h, "=;,")
		if n < 0 {
			return out, ""
		}
		name := strings.ToLower(strings.TrimSpace(h[:n]))
		if h[n] != '=' {
			h = h[n:]
			continue
		}
		h = strings.TrimLeft(h[n+1:], " \t")
		var value string
		value, h = parameterValue(h)
		if _, ok := out[name]; !ok {
			out[name] = value
		}
	}
}

func parameterValue(h string) (value, rest string) {
	if !strings.HasPrefix(h, `"`) {
		n := strings.IndexAny(h, ";,")
		if n < 0 {
			n = len(h)
		}
		return strings.TrimSpace(h[:n]), h[n:]
	}
	var b strings.Builder
	for i := 1; i < len(h); i++ {
		switch {
		case h[i] == '\\' && i+1 < len(h):
			i++
			b.WriteByte(h[i])
		case h[i] == '"':
			return b.String(), h[i+1:]
		default:
			b.WriteByte(h[i])
		}
	}
	return b.String(), ""
}

// maxSet is the maximum length of a link set in bytes.
const maxSet = 4 << 20

// Set parses a link set (RFC 9264), in JSON or in header form. base is the address of the set. It returns only the links of page, since a
// set can also contain links of other pages.
func Set(base *url.URL, media string, body io.Reader, page string) (Found, error) {
	b, err := io.ReadAll(io.LimitReader(body, maxSet))
	if err != nil {
		return Found{}, err
	}
	var links []Link
	if media == "application/linkset" {
		links = ParseHeader(base, string(b))
	} else if links, err = parseJSON(base, b); err != nil {
		return Found{}, err
	}
	var f Found
	for _, l := range links {
		if l.Anchor == "" || sameAddress(l.Anchor, page) {
			f.add(l)
		}
	}
	return f, nil
}

func sameAddress(a, b string) bool {
	return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// parseJSON parses the JSON form (RFC 9264, section 4.2).
func parseJSON(base *url.URL, b []byte) (out []Link, err error) {
	var set struct {
		Linkset []map[string]json.RawMessage `json:"linkset"`
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&set); err != nil {
		return nil, fmt.Errorf("decode the link set: %w: %v", concordat.ErrInvalid, err)
	}
	for _, context := range set.Linkset {
		var anchor string
		if raw, ok := context["anchor"]; ok && json.Unmarshal(raw, &anchor) == nil {
			anchor = absolute(base, anchor)
		}
		for _, rel := range []string{"item", "linkset", "describedby", "cite-as", "license"} { // in this order instead of the map's
			var targets []struct {
				Href string `json:"href"`
				Type string `json:"type"`
			}
			if raw, ok := context[rel]; !ok || json.Unmarshal(raw, &targets) != nil {
				continue
			}
			for _, t := range targets {
				if u := absolute(base, t.Href); u != "" && len(out) < maxLinks {
					out = append(out, Link{u, rel, mediaOf(t.Type), anchor})
				}
			}
		}
	}
	return out, nil
}
