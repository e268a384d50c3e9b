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
	"concordat/harvest/landing"
	"concordat/harvest/oai"
	"concordat/harvest/xmltree"
)

// described reads metadata of the work from an address that a page or a list names for it (describedby), in any of the formats of
// OAI-PMH. Formats that are not XML are left out: repositories offer several. Only what the record does not say itself is taken.
func (g *gathering) described(ctx context.Context, at string) error {
	faults, passing, closed, broken := len(g.faults), g.passing, g.closed, g.broken
	r, err := g.open(ctx, at, "application/xml, text/xml")
	if err != nil {
		return err
	}
	if r == nil { // the text may come all the same
		g.passing, g.closed, g.broken = passing, closed, broken
		return nil
	}
	if !strings.HasSuffix(r.Type, "/xml") && !strings.HasSuffix(r.Type, "+xml") || isPage(r) {
		g.faults = g.faults[:faults]
		return r.Body.Close()
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxMeta+1))
	err = errors.Join(err, r.Body.Close())
	if err == nil && len(b) > maxMeta {
		err = fmt.Errorf("more than %d bytes", maxMeta)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var tree *xmltree.Node
	if err == nil {
		tree, err = xmltree.Parse(xmltree.Clean(b, ""))
	}
	if err != nil {
		g.fault(at, fmt.Errorf("metadata: %w", err))
		return nil
	}
	d := oai.Describe(oai.Record{Meta: tree, Raw: b}, r.URL.String(), g.o.Now())
	g.work, g.access = filled(g.work, d.Work), max(g.access, d.Access)
	return nil
}

// cited takes the identifiers and the licence that a page states by links (Signposting).
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

// filled returns a work with what another description of it adds.
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
