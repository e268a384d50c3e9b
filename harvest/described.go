package harvest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"concordat"
	"concordat/harvest/fetch"
	"concordat/harvest/landing"
	"concordat/harvest/oai"
	"concordat/harvest/xmltree"
)

// errTooManyMeta is recorded if some metadata is not read.
var errTooManyMeta = fmt.Errorf("not read, because only %d descriptions per work are read", maxSets)

// describedBy reads the metadata to which a page or a list links (describedby), reading each address once. Links to formats other than
// XML are ignored, since repositories offer several formats.
func (g *gathering) describedBy(ctx context.Context, links []landing.Link) error {
	var read []string
	for _, l := range links {
		switch {
		case l.Type != "" && !isXML(l.Type), slices.Contains(read, l.URL):
			continue
		case len(read) >= maxSets:
			g.fault(l.URL, errTooManyMeta)
			continue
		}
		read = append(read, l.URL)
		if err := g.described(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func isXML(media string) bool {
	return (strings.HasSuffix(media, "/xml") || strings.HasSuffix(media, "+xml")) && media != "application/xhtml+xml"
}

// described reads metadata in any OAI-PMH format. It uses only values that the record itself lacks. While metadata may still arrive, the
// text is not accepted, since the metadata may state an embargo.
func (g *gathering) described(ctx context.Context, l landing.Link) error {
	passing, closed, broken := g.passing, g.closed, g.broken
	g.passing = false
	r, err := g.open(ctx, l.URL, "application/xml, text/xml")
	if err != nil {
		return err
	}
	g.held = g.held || g.passing
	g.passing, g.closed, g.broken = g.passing || passing, closed, broken
	if r == nil {
		return nil
	}
	if !isXML(r.Type) {
		if isXML(l.Type) { // for example, a sign-in page came instead of XML
			g.fault(l.URL, fmt.Errorf("metadata: %s is not XML", cmp.Or(r.Type, "the response")))
		}
		return r.Body.Close()
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxMeta+1))
	err = errors.Join(err, r.Body.Close())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch {
	case err != nil && !errors.Is(err, fetch.ErrLarge): // the connection was interrupted
		g.held, g.passing = true, true
	case err == nil && len(b) > maxMeta:
		err = fmt.Errorf("larger than %d bytes", maxMeta)
	}
	var tree *xmltree.Node
	if err == nil {
		tree, err = xmltree.Parse(xmltree.Clean(b, ""))
	}
	if err != nil {
		g.fault(l.URL, fmt.Errorf("metadata: %w", err))
		return nil
	}
	d := oai.Describe(oai.Record{Meta: tree, Raw: b}, r.URL.String(), g.o.Now())
	g.work, g.access = filled(g.work, d.Work), max(g.access, d.Access)
	return nil
}

// cited records the identifiers and the licence to which a page links (Signposting).
func (g *gathering) cited(found landing.Found) {
	var w concordat.Work
	for _, l := range found.Cite {
		if id, ok := concordat.ParseWorkID(l.URL); ok && id.OfWork() {
			w.IDs = append(w.IDs, id)
		}
	}
	if len(found.License) > 0 {
		w.License = found.License[0].URL
	}
	g.work = filled(g.work, w)
}

// filled returns work w with missing values taken from another description of it.
func filled(w, more concordat.Work) concordat.Work {
	w.Title, w.Date, w.License = cmp.Or(w.Title, more.Title), cmp.Or(w.Date, more.Date), cmp.Or(w.License, more.License)
	w.Embargo = cmp.Or(w.Embargo, more.Embargo)
	if len(w.Creators) == 0 {
		w.Creators = more.Creators
	}
	ids := slices.Clone(w.IDs)
	for _, id := range more.IDs {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	w.IDs = ids
	return w
}
