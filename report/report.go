package report

import (
	"errors"
	"fmt"
	"time"

	"concordat"
)

// Version is the version of the stored form of Findings.
const Version = 1

// Findings are everything one check found, before any rule. They are stored as JSON. Spans are bytes of Submission.Text.
type Findings struct {
	Version    int                `json:"version"` // see Version
	Task       concordat.TaskID   `json:"task"`
	Submission concordat.Document `json:"submission"` // with its text
	Scheme     concordat.Scheme   `json:"scheme"`
	Made       time.Time          `json:"made"`
	// Sections of the submission, in text order, disjoint; nil without a template.
	Sections []concordat.Section `json:"sections,omitempty"`
	Skipped  []concordat.Skipped `json:"skipped"` // the parts not fingerprinted, and why
	// Checked are the compared parts. Nil means everything that was not skipped.
	Checked []concordat.Span `json:"checked"`
	// Characters is the number of characters of the whole text as the scheme counts them. Scores
	// do not use it: a report counts letters, marks and digits of the original on both sides.
	Characters int `json:"characters"`
	// Passages hold every shared span of the submission with each source that holds it, in any order; they may overlap freely.
	Passages []concordat.Passage `json:"passages"`
	// Wording is the wording of the submission that others may share, in text order and disjoint. It is found before
	// anything is compared, it is not evidence, and no passage of evidence crosses it.
	Wording []Wording `json:"wording,omitempty"`
	// WordingOf is the number of documents among which Wording was sought, including the submission. It is 0 if Wording was not sought,
	// as in findings of earlier versions.
	WordingOf int `json:"wording_of,omitempty"`
	// SharedWorks are the works that sources also cite, in any order. They are not evidence.
	SharedWorks []SharedWorks `json:"shared_works,omitempty"`
	// Leads are passages that seem to say the same in other words, in any order. They are not evidence. Nil means that
	// they were not requested.
	Leads []Lead `json:"leads,omitzero"`
	// LeadSearch records how leads were looked for. It is nil if they were not, or if an earlier version looked for them.
	LeadSearch *LeadSearch `json:"lead_search,omitempty"`
	// PartnerLeads are documents of partners that may say the same as the submission, according to the partners; their text is not known
	// here.
	PartnerLeads []PartnerLead         `json:"partner_leads,omitempty"`
	Consulted    []concordat.Consulted `json:"consulted"`
	Flags        []concordat.Flag      `json:"flags"`
	Forward      string                `json:"forward"`   // what other sites were asked about: unmatched, all or none
	Threshold    float64               `json:"threshold"` // covered share from which a report deserves a close read
	Probe        string                `json:"probe"`     // how far around each band the index looked: exact or one
	// Dated is the date of the submission, or empty if unknown, and DatedBy is its origin.
	Dated   concordat.Date       `json:"dated,omitempty"`
	DatedBy concordat.DateOrigin `json:"dated_by,omitempty"`
	// Dates are the ages of sources, as far as they are known.
	Dates []SourceDate `json:"dates,omitempty"`
	// Works describes the works of the sources, if they are known.
	Works []SourceWork `json:"works,omitempty"`
	// Authors are the known authors of the submission.
	Authors []concordat.Creator `json:"authors,omitempty"`
	// Templates are the wordings that the consulted libraries themselves hand out.
	Templates []Template `json:"templates,omitempty"`
	// Counting are the wordings, without text, that would be undecided if their libraries had not decided that they count.
	Counting []Template `json:"counting,omitempty"`
	// Short holds the findings about pieces too short for fingerprints; it is nil if they were not requested.
	Short *ShortFindings `json:"short,omitempty"`
	// Signatures are those of the sites that answered.
	Signatures []Signature `json:"signatures,omitempty"`
	// Partners are the documents of partners that are sources of passages, in order of Ref.
	Partners []PartnerSource `json:"partners,omitempty"`
	// Sites are the names that partners give themselves in their cards, for people.
	Sites map[concordat.SiteID]string `json:"sites,omitempty"`
	// Disclosures are the requests to disclose passages of partners, in the order in which they were made.
	Disclosures []Disclosure `json:"disclosures,omitempty"`
	// Statements are partners' signed answers, in the bytes they signed.
	Statements []concordat.Statement `json:"statements,omitempty"`
	// Withheld holds the data that the scores need if the submission's text is not stored; it is nil if the text is stored.
	Withheld *Withheld `json:"withheld,omitempty"`
}

// Wording is a stretch of the submission that others may legitimately share.
type Wording struct {
	concordat.Span
	Kind      concordat.Kind `json:"kind"`            // common, form, quotation or undecided
	Documents int            `json:"documents"`       // that hold it, including the submission
	Of        int            `json:"of"`              // documents that could hold it: of the libraries asked, or of the batch
	Why       string         `json:"why,omitempty"`   // for a form, the part that it reads like, see package wording
	Words     int            `json:"words,omitempty"` // consecutive words, including those around it; 0: not recorded
	// Holders are the first documents that hold undecided wording, except the submission.
	Holders []concordat.Ref `json:"holders,omitempty"`
}

// SharedWording is Wording seen through rules.
type SharedWording struct {
	Wording
	Counted bool // matches in it count, by a rule or a decision
	Left    bool // an officer excluded it
}

// Undecided reports whether an officer must still decide whether the wording counts.
func (w SharedWording) Undecided() bool {
	return w.Kind == concordat.KindUndecided && !w.Counted && !w.Left
}

// Template is wording that a library hands out itself, or that was given with the check: a form, a
// cover page, a declaration.
type Template struct {
	Site    concordat.SiteID    `json:"site,omitempty"`
	Library concordat.LibraryID `json:"library,omitempty"` // empty if given with the check
	Name    string              `json:"name"`
	Text    string              `json:"text"`
}

// Signature is one site's signature of its answer. The package stores it but does not check it.
type Signature struct {
	Site  concordat.SiteID `json:"site"`
	Over  string           `json:"over"`  // kind of signed content, for example answer
	Key   string           `json:"key"`   // fingerprint of the signing key
	Value []byte           `json:"value"` // base64 in JSON
}

// Validate returns an error that lists everything in f that would make its report wrong: another version, or spans outside the text.
// Build does not need valid findings; it leaves out anything that it cannot place.
func (f *Findings) Validate() error {
	var errs []error
	if f.Version != Version {
		errs = append(errs, fmt.Errorf("findings of version %d, known is %d: %w", f.Version, Version, concordat.ErrInvalid))
	}
	for i, p := range f.Passages {
		if clip(f.Submission.Text, p.Span) != p.Span || p.Span.Len() == 0 {
			errs = append(errs, fmt.Errorf("passage %d: span %d to %d of %d bytes: %w", i, p.Span.Start, p.Span.End,
				len(f.Submission.Text), concordat.ErrInvalid))
		}
	}
	return errors.Join(errs...)
}

// Report is findings seen through rules. Slices belong to the report; Parts and texts are shared
// with the findings and must not be changed.
type Report struct {
	Task         concordat.TaskID
	Submission   concordat.Document
	Digest       string // SHA-256 of Submission.Text, hexadecimal
	Scheme       concordat.Scheme
	Made         time.Time
	Probe        string
	Forward      string
	Threshold    float64
	Rules        Rules
	Language     Language // of the report's own words; set it before writing
	Scores       Scores
	Evidence     []concordat.Evidence // in text order, disjoint
	Numbers      []string             // the numbers with which people cite Evidence, one for each; see Number
	LastNumber   int                  // the number of passages without rules, the highest of Numbers
	Sources      []RankedSource       // largest share first, those excluded by a rule last
	Groups       []GroupShare         // of passages; none if nothing was compared
	Sections     []SectionScore
	Covered      []Stretch           // text that makes up the covered share, in text order, disjoint
	Checked      []concordat.Span    // the compared text, in text order, disjoint
	Skipped      []concordat.Skipped // the text not compared, in text order, disjoint
	Account      Account             // of the letters of the file
	Quotes       []concordat.Span    // quotations, in text order, disjoint
	References   []concordat.Span    // lists of references, in text order, disjoint
	Citations    []concordat.Span    // marks of citations, in text order, disjoint
	Wording      []SharedWording     // wording that others may share, in text order
	SharedWorks  []SharedWorks       // works that sources also cite, most first; not part of any share
	Leads        []RuledLead         // leads in text order, never evidence; nil if not requested
	LeadSearch   *LeadSearch         // of Findings
	LeadFilter   LeadFilter          // chooses the Leads to write, zero means all; set it before writing. Scores and counts do not change
	PartnerLeads []PartnerLead       // of Findings, by place
	Counting     []Template          // as in Findings
	Templates    []Template          // whose wording does not count unless Rules.CountTemplates
	Dated        concordat.Date      // date of the submission; empty if unknown
	Authors      []concordat.Creator // known authors of the submission
	Short        *ShortTexts         // the short pieces; nil if not requested
	Consulted    []concordat.Consulted
	Flags        []concordat.Flag
	Signatures   []Signature
	Partners     []PartnerSource // of Findings
	Disclosures  []Disclosure
	Statements   []concordat.Statement
	Sites        map[concordat.SiteID]string // of Findings
	Names        Names                       // names for people; if zero, identities are shown. The caller sets it
	// Review holds people's decisions about the report, or is nil if there are none. The caller sets it.
	Review *Review
	// Later holds the matching documents added since, if the check keeps watching. The latest is first, and there are
	// at most MaxLater. The caller sets it.
	Later []Later
	// Unplaced counts the passages of the findings that lie outside the text and were left out.
	Unplaced int
}

// Stretch is text that counts with the strongest kind of any passage that holds it.
type Stretch struct {
	concordat.Span
	Kind concordat.Kind
}

// Scores are shares of letters, marks and digits, 0 to 1, all for one set of evidence. Shares of counting text are relative to the text
// that could count, and the others to the text that was compared: Found = Whole + Common + Excluded and Covered = Verbatim + Changed,
// up to rounding.
type Scores struct {
	Characters int     // letters, marks and digits of the text
	Checked    int     // the compared part
	Countable  int     // the part that could count: no template, form, list of references or the like
	Words      int     // words of Countable; a pair of Chinese characters counts as one
	Found      float64 // of Checked: within any passage, before rules
	Whole      float64 // of Checked: within a passage that counts
	Covered    float64 // of Countable: within a passage that counts
	Template   float64 // of Excluded: wording of a template
	Form       float64 // of Excluded: reads like wording of a form
	Verbatim   float64 // of Covered: in the same words as a source
	Changed    float64 // of Covered: edited, reworked or condensed
	Common     float64 // of Checked: only in wording that many documents share
	Excluded   float64 // of Checked: found, and excluded by a rule
	Undecided  float64 // of Excluded: an officer must decide whether it counts
	IfCounted  float64 // of Countable: covered if all undecided wording counts; 0 if nothing is undecided
	Quoted     float64 // of Checked: found in a quotation, whether or not quotations count
	Quotes     float64 // of Quoted: the part that counts
	Largest    float64 // of Countable: the largest share of a single source
	Estimate   *Bounds // bounds of Covered, if this site lacks the text of a source that counts; nil if Covered was measured
	Leads      float64 // of Countable: leads that an officer counts; not part of Covered
	// Literalness is the mean similarity of Covered to the closest source, 0 to 1; 0 if nothing is covered. It may rise when a source is
	// excluded, since it is not a share of the text.
	Literalness float64
}

// ByRules returns the share that rules alone exclude: Excluded without Undecided.
func (s Scores) ByRules() float64 { return max(0, s.Excluded-s.Undecided) }

// Measured reports whether anything was compared; otherwise every share is a blank, not a zero.
func (s Scores) Measured() bool { return s.Checked > 0 }

// RankedSource is one document with everything it shares with the submission. Several documents that are texts of one work are one source.
type RankedSource struct {
	concordat.Ref
	Title      string
	Work       *concordat.Work // as a repository describes it; nil if unknown
	Also       []Copy          // further places of the work
	Own        *OwnWork        // proposal that it is the author's own earlier work; nil if there is none
	Share      float64         // share of the characters that could count, 0 to 1; for an excluded source, the share that it would hold
	Estimate   *Bounds         // bounds of Share, if this site does not have the text of the source; nil if Share was measured
	Verbatim   float64         // of Share: in the same words
	Alone      float64         // of Share: in no other source that counts
	Characters int
	Held       []concordat.Span // the places that it holds, in text order, disjoint
	Sections   []float64        // share of each of Report.Sections that it holds, 0 to 1
	Evidence   []int            // indices into Report.Evidence, ascending; none for an excluded source
	Excluded   concordat.Exclusion
	Ordinal    int // from 1, the same under all rules; see Letter
}

// SectionScore is one section with its share.
type SectionScore struct {
	concordat.Section
	Checked  int     // letters, marks and digits compared; if 0, not measured
	Share    float64 // covered share of the part that could count, 0 to 1
	Excluded bool    // by rule
}
