package eval

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"concordat"
	"concordat/crypto"
	"concordat/meaning"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// leadSites is the number of sites among which the sources are divided.
const leadSites = 3

// leadsBetweenSites measures what meaning cells disclose to sites. A site without documents asks three sites with a third of the sources
// each, and a member with a dictionary of sentences from other texts looks for nearby passages.
func (r *run) leadsBetweenSites() error {
	texts, cases, _, err := r.corpora.markedPassages()
	if err != nil {
		return err
	}
	library, asking := reworded(texts)
	asking = asking[:r.pick(len(asking), min(6, len(asking)))]
	f, err := newFedSites(r.ctx, filepath.Join(r.dir, "leads"), leadSites+1, profile.Options{Key: innocentKey(0), Meaning: true})
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	sentences := 0
	for i := range leadSites {
		err := f.Sites[i+1].Add(r.ctx, func(yield func(Doc) bool) {
			for k, d := range library {
				if k%leadSites == i && !yield(d) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
	}
	rule := store.ShareRule{Level: concordat.ShowPassage, Outline: concordat.OutlineWords, Leads: true, Limits: store.Limits{Sentences: -1,
		Burst: -1, Disclosures: -1, Documents: -1, Characters: -1, Opened: -1, LeadCells: -1, LeadSentences: -1, LeadDocuments: -1}}
	if err := f.Share(r.ctx, rule); err != nil {
		return err
	}
	partners := f.Partners(0)
	found, named, other := map[*marked][2]bool{}, 0, 0
	for _, d := range asking {
		findings, err := f.Sites[0].Check(r.ctx, site.Submission{ID: concordat.DocumentID(d.ID), Text: d.Text},
			site.CheckOptions{Leads: true, PartnerLeads: true, Partners: partners})
		if err != nil {
			return err
		}
		for i := range findings.Passages { // a partner's title serves as the name here
			findings.Passages[i].Source.Document = concordat.DocumentID(findings.Passages[i].Title)
		}
		rep := report.Build(findings, report.Rules{})
		named, other = named+len(rep.PartnerLeads), other+len(rep.PartnerLeads)
		for _, l := range rep.PartnerLeads {
			if slices.ContainsFunc(cases, func(c marked) bool { return c.susp == d.ID && c.possible(l) }) {
				other--
			}
		}
		for i := range cases {
			if c := &cases[i]; c.susp == d.ID {
				evidence, _ := c.found(rep)
				found[c] = [2]bool{evidence, evidence || slices.ContainsFunc(rep.PartnerLeads, c.possible)}
			}
		}
	}
	const of = "passages in other words, the sources at three partners"
	for _, g := range rewordedGroups {
		n, evidence, either := countKinds(found, g.kinds)
		r.count(of, g.name+", half or more in evidence", evidence, n)
		r.count(of, g.name+", evidence, or named as possible", either, n)
	}
	r.count(of, "possible documents that no marked passage comes from", other, named)
	table, err := meaning.Default()
	if err != nil {
		return err
	}
	for _, d := range library {
		sentences += len(table.Read(d.Text, profile.LanguageOf(d.Text)).Spans)
	}
	return r.leadDictionary(partners, table, sentences)
}

// possible reports whether a partner's lead names a passage's source document and place.
func (c *marked) possible(l report.PartnerLead) bool {
	return l.Title == c.source && slices.ContainsFunc(l.Spans, c.span.Overlaps) && slices.ContainsFunc(l.Places, c.sourceSpan.Overlaps)
}

// leadDictionary asks about 20,000 sentences from papers, like a member that tries to find out what the libraries contain.
func (r *run) leadDictionary(partners []site.PartnerLibraries, table *meaning.Table, sentences int) error {
	cells, err := meaning.DefaultCells()
	if err != nil {
		return err
	}
	papers, err := r.corpora.docs("academic/academic.tar.zst", func(name string) bool { return strings.HasSuffix(name, ".txt") })
	if err != nil {
		return err
	}
	want := r.pick(20_000, 500)
	asked, told, documents := 0, map[string]bool{}, map[string]bool{}
	ask := &concordat.LeadAsk{}
	send := func() error {
		for n := concordat.Padded(len(ask.Cells)); len(ask.Cells) < n; {
			ask.Cells = append(ask.Cells, concordat.AskedCells{Stretch: ask.Cells[len(ask.Cells)-1].Stretch})
		}
		for k := range partners {
			p := &partners[k]
			sent := *ask
			sent.Epoch, sent.Table, sent.Libraries = p.Epoch, concordat.KeyedTable(cells.Digest()), p.Libraries
			rand.Read(sent.Job[:])
			keyed, err := crypto.NewCellCipher(p.CellKey, sent.Job)
			if err != nil {
				return err
			}
			sent.Cells = slices.Clone(ask.Cells)
			for i := range sent.Cells {
				for band, cell := range sent.Cells[i].Cells {
					sent.Cells[i].Cells[band] = keyed.Seal(i, band, cell)
				}
			}
			t, err := p.Partner.Leads(r.ctx, &sent)
			if err != nil {
				return err
			}
			for _, h := range t.Hits {
				d := t.Documents[h.Document]
				documents[fmt.Sprint(k, d.Title)] = true
				told[fmt.Sprint(k, d.Title, d.Places[h.Place], h.Cells)] = true
			}
		}
		ask = &concordat.LeadAsk{}
		return nil
	}
	for _, d := range papers {
		stretch := 0
		if n := len(ask.Cells); n > 0 {
			stretch = ask.Cells[n-1].Stretch + 1
		}
		for i, s := range table.Read(d.Text, profile.LanguageOf(d.Text)).Asked(cells) {
			for _, x := range s {
				ask.Cells = append(ask.Cells, concordat.AskedCells{Stretch: stretch + i, Chinese: x.Chinese, Cells: x.Cells})
				asked += one(x.End == x.First+1)
			}
			if len(ask.Cells) > concordat.MaxLeadCells-64 || asked >= want {
				break
			}
		}
		if len(ask.Cells) > concordat.MaxLeadCells/2 || asked >= want {
			ask.Cells = ask.Cells[:min(len(ask.Cells), concordat.MaxLeadCells)]
			if err := send(); err != nil {
				return err
			}
		}
		if asked >= want {
			break
		}
	}
	const of = "a member that asks for sentences of other texts, without budgets"
	r.figure(of, "sentences asked", float64(asked))
	r.count(of, "sentences of the libraries told as ones that may say the same", len(told), sentences)
	r.figure(of, "documents named", float64(len(documents)))
	return nil
}
