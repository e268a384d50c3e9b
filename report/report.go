package report

import (
	"errors"
	"fmt"
	"time"

	"concordat"
)

// Version is the version of the storage format of Findings.
const Version = 1

// Findings are everything one check found, before any rule is applied. They are stored as JSON. Spans are bytes of Submission.Text.
type Findings struct {
	Version    int                `json:"version"` // see Version
	Task       concordat.TaskID   `json:"task"`
	Submission concordat.Document `json:"submission"` // with its text
	Scheme     concordat.Scheme   `json:"scheme"`
	Made       time.Time          `json:"made"`
	// Sections of the submission, in text order without overlaps; nil without a template.
	Sections []concordat.Section `json:"sections,omitempty"`
	Skipped  []concordat.Skipped `json:"skipped"` // parts that were not fingerprinted, and why
	// Checked lists the compared parts. Nil means everything except Skipped.
	Checked []concordat.Span `json:"checked"`
	// Characters is the number of characters in the whole text as counted by the scheme. Scores do not use it, because a report counts
	// letters, marks and digits of the original in both numerator and denominator.
	Characters int `json:"characters"`
	// Passages contains every span that the submission shares with any source, in any order; they may overlap freely.
	Passages []concordat.Passage `json:"passages"`
	// Wording is the shared wording in the submission, in text order without overlaps. It is identified before anything is compared; it
	// is not evidence, and no evidence crosses it.
	Wording []Wording `json:"wording,omitempty"`
	// WordingOf is the number of documents searched for Wording, including the submission. It is 0 if there was no such search, as in
	// findings of earlier versions.
	WordingOf int `json:"wording_of,omitempty"`
	// SharedWorks are cited works that sources also cite, in any order. They are not evidence.
	SharedWorks []SharedWorks `json:"shared_works,omitempty"`
	// Leads are passages that seem to say the same in other words, in any order. They are not evidence. Nil means that leads were not
	// requested.
	Leads []Lead `json:"leads,omitzero"`
	// LeadSearch records how the check looked for leads. It is nil if it did not, or if an earlier version did the search.
	LeadSearch *LeadSearch `json:"lead_search,omitempty"`
	// PartnerLeads are partner documents that, according to the partners, might say the same as the submission; their text is unknown
	// here.
	PartnerLeads []PartnerLead         `json:"partner_leads,omitempty"`
	Consulted    []concordat.Consulted `json:"consulted"`
	Flags        []concordat.Flag      `json:"flags"`
	Forward      string                `json:"forward"`   // which sentences were sent to other sites: unmatched, all or none
	Threshold    float64               `json:"threshold"` // covered share at which a report deserves close reading
	Probe        string                `json:"probe"`     // how far around each band the index searched: exact or one
	// Dated is the submission's date, or empty if unknown; DatedBy is the origin of the date.
	Dated   concordat.Date       `json:"dated,omitempty"`
	DatedBy concordat.DateOrigin `json:"dated_by,omitempty"`
	// Dates holds the known ages of sources.
	Dates []SourceDate `json:"dates,omitempty"`
	// Works describes the known works of the sources.
	Works []SourceWork `json:"works,omitempty"`
	// Authors lists the known authors of the submission.
	Authors []concordat.Creator `json:"authors,omitempty"`
	// Templates holds the wording that the consulted libraries hand out themselves.
	Templates []Template `json:"templates,omitempty"`
	// Counting lists, without text, the wording that would be undecided if its libraries had not decided that it counts.
	Counting []Template `json:"counting,omitempty"`
	// Short holds the findings on pieces too short for fingerprints; nil if they were not requested.
	Short *ShortFindings `json:"short,omitempty"`
	// Signatures holds the signatures of the sites that answered.
	Signatures []Signature `json:"signatures,omitempty"`
	// Partners lists the partner documents that are sources of passages, in order of Ref.
	Partners []PartnerSource `json:"partners,omitempty"`
	// Sites maps partners to the display names in their cards.
	Sites map[concordat.SiteID]string `json:"sites,omitempty"`
	// Disclosures lists the requests to disclose passages of partners, in chronological order.
	Disclosures []Disclosure `json:"disclosures,omitempty"`
	// Statements holds partners' signed answers, exactly as signed.
	Statements []concordat.Statement `json:"statements,omitempty"`
	// Withheld holds the data needed for scores if the submission's text is not stored; it is nil if the text is stored.
	Withheld *Withheld `json:"withheld,omitempty"`
}

// Wording is a stretch of the submission that others can legitimately share.
type Wording struct {
	concordat.Span
	Kind      concordat.Kind `json:"kind"`            // common, form, quotation or undecided
	Documents int            `json:"documents"`       // number of documents that contain it, including the submission
	Of        int            `json:"of"`              // number of documents that could contain it, in the queried libraries or the batch
	Why       string         `json:"why,omitempty"`   // for a form, the part that it resembles; see package wording
	Words     int            `json:"words,omitempty"` // length in consecutive words, including adjacent ones; 0 if not recorded
	// Holders lists the first documents that contain undecided wording, apart from the submission.
	Holders []concordat.Ref `json:"holders,omitempty"`
}

// SharedWording is Wording with its status under the rules.
type SharedWording struct {
	Wording
	Counted bool // matches in it count, because of a rule or a decision
	Left    bool // an officer excluded it
}

// Undecided reports whether an officer must still decide whether the wording counts.
func (w SharedWording) Undecided() bool {
	return w.Kind == concordat.KindUndecided && !w.Counted && !w.Left
}

// Template is wording that a library hands out, or that was supplied with the check: a form, a cover page, a declaration.
type Template struct {
	Site    concordat.SiteID    `json:"site,omitempty"`
	Library concordat.LibraryID `json:"library,omitempty"` // empty if supplied with the check
	Name    string              `json:"name"`
	Text    string              `json:"text"`
}

// Signature is a site's signature of its answer. This package stores it but does not verify it.
type Signature struct {
	Site  concordat.SiteID `json:"site"`
	Over  string           `json:"over"`  // kind of content signed, for example answer
	Key   string           `json:"key"`   // fingerprint of the signing key
	Value []byte           `json:"value"` // encoded in base64 in JSON
}

// Validate returns an error listing everything in f that would make its report wrong: a different version, or spans outside the text.
// Build accepts invalid findings; it omits whatever it cannot place.
func (f *Findings) Validate() error {
	var errs []error
	if f.Version != Version {
		errs = append(errs, fmt.Errorf("findings have version %d, want %d: %w", f.Version, Version, concordat.ErrInvalid))
	}
	for i, p := range f.Passages {
		if clip(f.Submission.Text, p.Span) != p.Span || p.Span.Len() == 0 {
			errs = append(errs, fmt.Errorf("passage %d: span %d to %d lies outside the text of %d bytes: %w", i, p.Span.Start, p.Span.End,
				len(f.Submission.Text), concordat.ErrInvalid))
		}
	}
	return errors.Join(errs...)
}

// Report is a set of findings with rules applied. Slices belong to the report; Parts and texts are shared with the findings and must not
// be modified.
type Report struct {
	Task         concordat.TaskID
	Submission   concordat.Document
	Digest       string // SHA-256 of Submission.Text, in hexadecimal
	Scheme       concordat.Scheme
	Made         time.Time
	Probe        string
	Forward      string
	Threshold    float64
	Rules        Rules
	Language     Language // language of the report's own text; set it before writing
	Scores       Scores
	Evidence     []concordat.Evidence // in text order without overlaps
	Numbers      []string             // numbers by which people cite Evidence, one each; see Number
	LastNumber   int                  // highest number, which is the number of passages without any rules
	Sources      []RankedSource       // largest share first; sources excluded by a rule come last
	Groups       []GroupShare         // groups of passages; none if nothing was compared
	Sections     []SectionScore
	Covered      []Stretch           // text in the covered share, in text order without overlaps
	Checked      []concordat.Span    // compared text, in text order without overlaps
	Skipped      []concordat.Skipped // text not compared, in text order without overlaps
	Account      Account             // account of the letters of the file
	Quotes       []concordat.Span    // quotations, in text order without overlaps
	References   []concordat.Span    // lists of references, in text order without overlaps
	Citations    []concordat.Span    // citation marks, in text order without overlaps
	Wording      []SharedWording     // shared wording, in text order
	SharedWorks  []SharedWorks       // works that sources also cite, most works first; not part of any share
	Leads        []RuledLead         // leads in text order, never evidence; nil if not requested
	LeadSearch   *LeadSearch         // from Findings
	LeadFilter   LeadFilter          // selects the Leads to write; zero selects all. Set it before writing. Scores and counts do not change
	PartnerLeads []PartnerLead       // from Findings, ordered by place
	Counting     []Template          // from Findings
	Templates    []Template          // templates; their wording does not count unless Rules.CountTemplates is set
	Dated        concordat.Date      // date of the submission; empty if unknown
	Authors      []concordat.Creator // known authors of the submission
	Short        *ShortTexts         // short pieces; nil if not requested
	Consulted    []concordat.Consulted
	Flags        []concordat.Flag
	Signatures   []Signature
	Partners     []PartnerSource // from Findings
	Disclosures  []Disclosure
	Statements   []concordat.Statement
	Sites        map[concordat.SiteID]string // from Findings
	Names        Names                       // display names, set by the caller; if zero, identities are displayed
	// Review holds people's decisions about the report, or nil if there are none. It is set by the caller.
	Review *Review
	// Later holds the matching documents added since, if the check keeps watching. The latest comes first, and there are at most
	// MaxLater. It is set by the caller.
	Later []Later
	// Unplaced counts passages in the findings that lie outside the text and were dropped.
	Unplaced int
}

// Stretch is text that counts under the strongest kind of any passage that contains it.
type Stretch struct {
	concordat.Span
	Kind concordat.Kind
}

// Scores are shares of letters, marks and digits, 0 to 1, for one set of evidence. Shares of counting text are relative to the text that
// could count; the others are relative to the compared text: Found = Whole + Common + Excluded and Covered = Verbatim + Changed, up to
// rounding.
type Scores struct {
	Characters int     // letters, marks and digits in the text
	Checked    int     // letters, marks and digits in compared text
	Countable  int     // those outside templates, forms, reference lists and the like, which could count
	Words      int     // words in Countable; two Chinese characters count as one
	Found      float64 // share of Checked in any passage, before rules
	Whole      float64 // share of Checked in counting passages
	Covered    float64 // share of Countable in counting passages
	Template   float64 // part of Excluded in template wording
	Form       float64 // part of Excluded that resembles a form
	Verbatim   float64 // part of Covered with the same words as a source
	Changed    float64 // part of Covered that was edited, reworked or condensed
	Common     float64 // share of Checked only in wording shared by many documents
	Excluded   float64 // share of Checked found but excluded by a rule
	Undecided  float64 // part of Excluded that an officer must decide on
	IfCounted  float64 // value of Covered if all undecided wording counts; 0 if nothing is undecided
	Quoted     float64 // share of Checked found in quotations, whether or not they count
	Quotes     float64 // counting part of Quoted
	Largest    float64 // largest share of Countable from a single source
	Estimate   *Bounds // bounds of Covered if this site lacks the text of a counting source; nil if Covered was measured
	Leads      float64 // share of Countable in leads that an officer counts; not part of Covered
	// Literalness is the mean similarity of the covered text to the closest source, 0 to 1, or 0 if nothing is covered. Excluding a
	// source can increase it, since it is not a share of the text.
	Literalness float64
}

// ByRules returns the share that rules alone exclude: Excluded minus Undecided.
func (s Scores) ByRules() float64 { return max(0, s.Excluded-s.Undecided) }

// Measured reports whether anything was compared; if not, every share is blank rather than zero.
func (s Scores) Measured() bool { return s.Checked > 0 }

// RankedSource is one document and everything it shares with the submission. Documents that are texts of one work form a single source.
type RankedSource struct {
	concordat.Ref
	Title      string
	Work       *concordat.Work // description from a repository; nil if unknown
	Also       []Copy          // other locations of the work
	Own        *OwnWork        // proposal that it is the author's own earlier work, or nil
	Share      float64         // share of the characters that could count, 0 to 1; for an excluded source, the share if it counted
	Estimate   *Bounds         // bounds of Share if this site lacks the text of the source; nil if Share was measured
	Verbatim   float64         // part of Share in the same words
	Alone      float64         // part of Share in no other counting source
	Characters int
	Held       []concordat.Span // places it contains, in text order without overlaps
	Sections   []float64        // share of each of Report.Sections that the source contains, 0 to 1
	Evidence   []int            // indices into Report.Evidence, ascending; none for an excluded source
	Excluded   concordat.Exclusion
	Ordinal    int // from 1, independent of the rules; see Letter
}

// SectionScore is a section with its share.
type SectionScore struct {
	concordat.Section
	Checked  int     // compared letters, marks and digits; 0 means not measured
	Share    float64 // covered share of the part that could count, 0 to 1
	Excluded bool    // excluded by a rule
}
