package report

import "concordat"

// jsonWording is a stretch of legitimately shared wording in the submission.
type jsonWording struct {
	Span      concordat.Span `json:"span"`
	Kind      concordat.Kind `json:"kind"`
	Documents int            `json:"documents"`
	Of        int            `json:"of"`
	Words     int            `json:"words,omitempty"` // length in consecutive words; 0 if not recorded
	Why       string         `json:"why,omitempty"`
	Counted   bool           `json:"counted"`
	Decide    bool           `json:"decide"`            // someone must decide whether it counts
	Sources   []jsonHolder   `json:"sources,omitempty"` // first holders of undecided wording
}

// jsonHolder names a document.
type jsonHolder struct {
	Site     concordat.SiteID     `json:"site"`
	Library  concordat.LibraryID  `json:"library"`
	Document concordat.DocumentID `json:"document"`
}

func jsonWordingOf(w SharedWording, count *Counter) jsonWording {
	x := jsonWording{Span: count.Points(w.Span), Kind: w.Kind, Documents: w.Documents, Of: w.Of, Words: w.Words, Why: w.Why,
		Counted: w.Counted, Decide: w.Undecided()}
	for _, h := range w.Holders {
		x.Sources = append(x.Sources, jsonHolder{h.Site, h.Library, h.Document})
	}
	return x
}
