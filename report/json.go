package report

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"io"
	"math"
	"strings"
	"time"

	"concordat"
)

// Schema is the JSON Schema (draft 2020-12) of the output of WriteJSON.
//
//go:embed schema.json
var Schema []byte

// FormatVersion is the version of the JSON form of a report (doc/format-report.md, Report).
const FormatVersion = 1

// The types of the JSON form. Spans are Unicode code points in the submission or the source.
type (
	jsonReport struct {
		Version      int               `json:"version"`
		Task         concordat.TaskID  `json:"task"`
		Submission   jsonSubmission    `json:"submission"`
		Scheme       concordat.Scheme  `json:"scheme"`
		Made         time.Time         `json:"made"`
		Coverage     *float64          `json:"coverage"`
		Threshold    float64           `json:"threshold"`
		Reached      bool              `json:"reached"`
		Scores       jsonScores        `json:"scores"`
		Compared     Account           `json:"compared"`
		Language     string            `json:"language"`
		Headline     string            `json:"headline"`
		Conclusion   string            `json:"conclusion"`
		Statement    []string          `json:"statement"`
		Forward      string            `json:"forward"`
		Probe        string            `json:"probe"`
		Groups       []jsonGroup       `json:"groups"`
		Evidence     []jsonEvidence    `json:"evidence"`
		Sources      []jsonRanked      `json:"sources"`
		Sections     []jsonSection     `json:"sections"`
		Skipped      []jsonSkipped     `json:"skipped"`
		Flags        []jsonFlag        `json:"flags"`
		FlagKinds    []jsonFlagKind    `json:"flag_kinds"`
		Consulted    []jsonConsulted   `json:"consulted"`
		Short        *jsonShort        `json:"short"`
		Templates    []jsonTemplate    `json:"templates"`
		Wording      []jsonWording     `json:"wording"`
		Works        []jsonWorks       `json:"shared_works"`
		Leads        []jsonLead        `json:"leads"`
		LeadFilter   *jsonLeadFilter   `json:"lead_filter,omitempty"`
		LeadSearch   *LeadSearch       `json:"lead_search,omitempty"`
		PartnerLeads []jsonPartnerLead `json:"partner_leads,omitempty"`
		Legend       jsonLegend        `json:"legend"`
		Rules        Rules             `json:"rules"`
		Unplaced     int               `json:"unplaced"`
		Signatures   []Signature       `json:"signatures"`

		Review      *jsonReview                 `json:"review,omitempty"`
		Later       []jsonLater                 `json:"later,omitempty"`
		Partners    []PartnerSource             `json:"partners,omitempty"`
		Disclosures []jsonDisclosure            `json:"disclosures,omitempty"`
		Statements  []concordat.Statement       `json:"statements,omitempty"`
		Sites       map[concordat.SiteID]string `json:"sites,omitempty"`
		People      map[string]string           `json:"people,omitempty"`
		Libraries   []jsonLibraryName           `json:"libraries,omitempty"`
	}
	jsonSubmission struct {
		Library    concordat.LibraryID  `json:"library"`
		Document   concordat.DocumentID `json:"document"`
		Title      string               `json:"title"`
		CodePoints int                  `json:"code_points"`
		Characters int                  `json:"characters"`
		Digest     string               `json:"sha256"`
		Date       concordat.Date       `json:"date,omitempty"`
		Authors    []jsonCreator        `json:"authors,omitempty"`
	}
	jsonLegend struct {
		Kinds []KindMeaning `json:"kinds"`
		Steps []KindMeaning `json:"closeness"`
		Share []string      `json:"share"`
		Rates []jsonRate    `json:"rates"`
	}
	// jsonRate is a row of Calibration.
	jsonRate struct {
		Batch     bool       `json:"batch,omitempty"`
		Language  string     `json:"language"`
		Class     string     `json:"class"`
		Documents int        `json:"documents"`
		Tenth     int        `json:"at_0_1"`
		TenthIn   [2]float64 `json:"interval_0_1"`
		Third     int        `json:"at_0_3"`
		ThirdIn   [2]float64 `json:"interval_0_3"`
	}
	jsonTemplate struct {
		Site    concordat.SiteID    `json:"site,omitempty"`
		Library concordat.LibraryID `json:"library,omitempty"`
		Name    string              `json:"name"`
		Counts  bool                `json:"counts,omitempty"` // the library decided that its wording counts
	}
	// jsonWorks lists the works that a source also cites.
	jsonWorks struct {
		Site     concordat.SiteID     `json:"site"`
		Library  concordat.LibraryID  `json:"library"`
		Document concordat.DocumentID `json:"document"`
		Title    string               `json:"title"`
		Works    int                  `json:"works"`
		Of       int                  `json:"of"`
		Entries  []concordat.Span     `json:"entries"`
	}
	// jsonAge is the age of a source.
	jsonAge struct {
		Date   concordat.Date       `json:"date,omitempty"`
		By     concordat.DateOrigin `json:"date_by,omitempty"`
		Added  *time.Time           `json:"added,omitempty"`
		Oldest bool                 `json:"oldest,omitempty"`
		Later  bool                 `json:"later_than_submission,omitempty"`
	}
	jsonShort struct {
		Threshold float64          `json:"threshold"`
		Asked     int              `json:"asked"`
		Found     int              `json:"found"`
		Share     *float64         `json:"share"`
		Common    int              `json:"common"`
		Excluded  int              `json:"excluded"`
		Unindexed int              `json:"unindexed"`
		Capped    int              `json:"capped"`
		Pieces    []jsonShortPiece `json:"pieces"`
	}
	jsonShortPiece struct {
		Span     *concordat.Span     `json:"span"` // null for the title
		Text     string              `json:"text"`
		Excluded concordat.Exclusion `json:"excluded,omitempty"`
		Sources  []jsonShortSource   `json:"sources"`
	}
	jsonShortSource struct {
		Site       concordat.SiteID     `json:"site"`
		Library    concordat.LibraryID  `json:"library"`
		Document   concordat.DocumentID `json:"document"`
		Title      string               `json:"title"`
		Bytes      concordat.Span       `json:"span_bytes"`
		Text       string               `json:"text"`
		Similarity float64              `json:"similarity"`
		Closeness  string               `json:"closeness"`
		Documents  int                  `json:"documents"`
		Excluded   concordat.Exclusion  `json:"excluded,omitempty"`
		jsonAge
	}
	jsonScores struct {
		Characters  int      `json:"characters"`
		Checked     int      `json:"checked"`
		Countable   int      `json:"countable"`
		Words       int      `json:"words"`
		TooShort    bool     `json:"too_short"`
		Found       *float64 `json:"found"`
		Whole       *float64 `json:"whole"`
		Covered     *float64 `json:"covered"`
		Verbatim    *float64 `json:"verbatim"`
		Changed     *float64 `json:"changed"`
		Common      *float64 `json:"common"`
		Template    *float64 `json:"template"`
		Form        *float64 `json:"form"`
		Excluded    *float64 `json:"excluded"`
		Undecided   *float64 `json:"undecided"`
		IfCounted   *float64 `json:"if_counted"`
		Quoted      *float64 `json:"quoted"`
		Largest     *float64 `json:"largest_source"`
		Estimate    *Bounds  `json:"estimate,omitempty"`
		Leads       *float64 `json:"counted_leads"`
		Literalness *float64 `json:"literalness"`
	}
	jsonGroup struct {
		Group    concordat.Group `json:"group"`
		Name     string          `json:"name"`
		Passages int             `json:"passages"`
		Share    float64         `json:"share"`
		Counts   bool            `json:"counts"`
	}
	jsonEvidence struct {
		Number     string                `json:"number"`
		Span       concordat.Span        `json:"span"`
		Text       string                `json:"text"`
		Kind       concordat.Kind        `json:"kind"`
		Kinds      []concordat.KindCount `json:"kinds,omitempty"`
		Section    string                `json:"section,omitempty"`
		Characters int                   `json:"characters"`
		Cited      bool                  `json:"cited,omitempty"`
		Group      concordat.Group       `json:"group"`
		Excluded   concordat.Exclusion   `json:"excluded,omitempty"`
		Why        string                `json:"why,omitempty"`
		Sources    []jsonSource          `json:"sources"`
	}
	jsonSource struct {
		Site       concordat.SiteID      `json:"site"`
		Library    concordat.LibraryID   `json:"library"`
		Document   concordat.DocumentID  `json:"document"`
		Title      string                `json:"title"`
		Here       concordat.Span        `json:"here"`
		Span       *concordat.Span       `json:"span"`
		Bytes      concordat.Span        `json:"span_bytes"`
		Kind       concordat.Kind        `json:"kind"`
		Kinds      []concordat.KindCount `json:"kinds,omitempty"`
		Similarity float64               `json:"similarity"`
		Closeness  string                `json:"closeness"`
		jsonAge
		Documents int                 `json:"documents,omitempty"`
		Excluded  concordat.Exclusion `json:"excluded,omitempty"`
		Text      string              `json:"text,omitempty"`
		Shared    string              `json:"shared,omitempty"`
		Parts     []jsonPart          `json:"parts,omitempty"`
	}
	jsonPart struct {
		Here   concordat.Span  `json:"here"`
		Span   *concordat.Span `json:"span"`
		Bytes  concordat.Span  `json:"span_bytes"`
		Kind   concordat.Kind  `json:"kind"`
		Text   string          `json:"text,omitempty"`
		Shared string          `json:"shared,omitempty"` // see SharedWords
	}
	jsonRanked struct {
		Letter     string               `json:"letter"`
		Site       concordat.SiteID     `json:"site"`
		Library    concordat.LibraryID  `json:"library"`
		Document   concordat.DocumentID `json:"document"`
		Title      string               `json:"title"`
		Share      float64              `json:"share"`
		Estimate   *Bounds              `json:"estimate,omitempty"`
		Verbatim   float64              `json:"verbatim"`
		Alone      float64              `json:"alone"`
		Characters int                  `json:"characters"`
		Held       []concordat.Span     `json:"held"`
		Evidence   []int                `json:"evidence"`
		Excluded   concordat.Exclusion  `json:"excluded,omitempty"`
		Work       *jsonWork            `json:"work,omitempty"`
		Also       []jsonCopy           `json:"also,omitempty"`
		Own        *jsonOwnWork         `json:"own_work,omitempty"`
	}
	jsonSection struct {
		Name     string         `json:"name"`
		Span     concordat.Span `json:"span"`
		Checked  int            `json:"checked"`
		Share    *float64       `json:"share"`
		Excluded bool           `json:"excluded,omitempty"`
	}
	jsonSkipped struct {
		Span   concordat.Span       `json:"span"`
		Reason concordat.SkipReason `json:"reason"`
	}
	jsonConsulted struct {
		Site     concordat.SiteID    `json:"site"`
		Library  concordat.LibraryID `json:"library"`
		Asked    int                 `json:"asked"`
		Answered int                 `json:"answered"`
		Empty    bool                `json:"empty,omitempty"`
		Missing  []concordat.ShardID `json:"missing"`
		Capped   int                 `json:"capped,omitempty"`
		Error    string              `json:"error,omitempty"`
		jsonPartnerLine
	}
)

// WriteJSON writes r as one indented JSON object in the form described in doc/format-report.md, followed by a line break. Spans are
// Unicode code points. Shares have four decimals, and are null if nothing was compared.
func WriteJSON(w io.Writer, r *Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(asJSON(r))
}

// MarshalJSON returns the output of WriteJSON on one line.
func (r Report) MarshalJSON() ([]byte, error) { return json.Marshal(asJSON(&r)) }

// writing is a report that is written for programs, as JSON or as a table. Positions in it are code points.
type writing struct {
	r     *Report
	count *Counter
}

func newWriting(r *Report) writing { return writing{r, NewCounter(r.Submission.Text)} }

func asJSON(r *Report) *jsonReport {
	in := newWriting(r)
	count := in.count
	j := &jsonReport{
		Version: FormatVersion, Task: r.Task, Scheme: r.Scheme, Made: r.Made, Threshold: r.Threshold,
		Reached: r.Reached(), Scores: in.scores(), Language: r.Language.Tag(), Headline: r.Headline(), Statement: r.Statement(),
		Forward: r.Forward, Probe: r.Probe, Unplaced: r.Unplaced, Rules: in.rules(),
		Groups: []jsonGroup{}, Evidence: []jsonEvidence{}, Sources: []jsonRanked{}, Sections: []jsonSection{}, Skipped: []jsonSkipped{},
		Flags: []jsonFlag{}, Consulted: []jsonConsulted{}, Signatures: append([]Signature{}, r.Signatures...),
		Submission: jsonSubmission{Library: r.Submission.Library, Document: r.Submission.ID, Title: r.Submission.Title,
			CodePoints: count.Points(concordat.Span{End: len(r.Submission.Text)}).End,
			Characters: r.Scores.Characters, Digest: r.Digest, Date: r.Dated, Authors: jsonCreators(r.Authors)},
		Short: in.short(), Templates: []jsonTemplate{}, Wording: []jsonWording{}, Works: []jsonWorks{},
		Leads: in.leads(r.LeadFilter), LeadFilter: in.leadFilter(), LeadSearch: r.LeadSearch,
		PartnerLeads: in.partnerLeads(),
		Legend:       in.legend(),
		Conclusion:   r.Conclusion(),
	}
	j.Coverage, j.Compared, j.Review, j.Later = j.Scores.Covered, r.Account, in.review(), in.later()
	for _, g := range r.Groups {
		j.Groups = append(j.Groups, jsonGroup{g.Group, GroupTitle(r.Language, g.Group), g.Passages, round(g.Share), g.Counts})
	}
	for i := range r.Evidence {
		j.Evidence = append(j.Evidence, in.evidence(i))
	}
	for _, s := range r.Sources {
		held := make([]concordat.Span, len(s.Held))
		for i, h := range s.Held {
			held[i] = count.Points(h)
		}
		x := jsonRanked{Letter: s.Letter(), Site: s.Site, Library: s.Library, Document: s.Document, Title: s.Title, Share: round(s.Share),
			Estimate: s.Estimate.rounded(), Verbatim: round(s.Verbatim), Alone: round(s.Alone), Characters: s.Characters, Held: held,
			Evidence: append([]int{}, s.Evidence...), Excluded: s.Excluded}
		x.addWork(s)
		j.Sources = append(j.Sources, x)
	}
	for _, t := range r.Templates {
		j.Templates = append(j.Templates, jsonTemplate{t.Site, t.Library, t.Name, false})
	}
	for _, t := range r.Counting {
		j.Templates = append(j.Templates, jsonTemplate{t.Site, t.Library, t.Name, true})
	}
	for _, w := range r.Wording {
		j.Wording = append(j.Wording, jsonWordingOf(w, count))
	}
	for _, w := range r.SharedWorks {
		x := jsonWorks{w.Source.Site, w.Source.Library, w.Source.Document, w.Title, w.Works, w.Of, make([]concordat.Span, len(w.Entries))}
		for i, s := range w.Entries {
			x.Entries[i] = count.Points(s)
		}
		j.Works = append(j.Works, x)
	}
	for _, s := range r.Sections {
		x := jsonSection{Name: s.Name, Span: count.Points(s.Span), Checked: s.Checked, Excluded: s.Excluded}
		if s.Checked > 0 {
			x.Share = rounded(s.Share)
		}
		j.Sections = append(j.Sections, x)
	}
	for _, s := range r.Skipped {
		j.Skipped = append(j.Skipped, jsonSkipped{count.Points(s.Span), s.Reason})
	}
	for _, f := range r.Flags {
		x := jsonFlag{Code: f.Code, Detail: f.Detail, Count: f.Count, Missing: f.Missing, Letters: f.Letters, Bytes: f.Bytes}
		if f.Span != nil {
			s := count.Points(clip(r.Submission.Text, *f.Span))
			x.Span = &s
		}
		j.Flags = append(j.Flags, x)
	}
	j.FlagKinds = flagKindsIn(r, count)
	for _, c := range r.Consulted {
		j.Consulted = append(j.Consulted, jsonConsulted{c.Site, c.Library, c.Asked, c.Answered, c.Empty,
			append([]concordat.ShardID{}, c.Missing...), c.Capped, c.Err, partnerLine(c)})
	}
	in.addPartners(j)
	return j
}

func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }

func rounded(x float64) *float64 {
	x = round(x)
	return &x
}

func (w writing) scores() jsonScores {
	s := w.r.Scores
	j := jsonScores{Characters: s.Characters, Checked: s.Checked, Countable: s.Countable, Words: s.Words, TooShort: s.TooShort()}
	if !s.Measured() {
		return j
	}
	j.Found, j.Covered, j.Verbatim, j.Changed = rounded(s.Found), rounded(s.Covered), rounded(s.Verbatim), rounded(s.Changed)
	j.Common, j.Template, j.Form, j.Excluded, j.Quoted, j.Largest = rounded(s.Common), rounded(s.Template), rounded(s.Form),
		rounded(s.Excluded), rounded(s.Quoted), rounded(s.Largest)
	j.Leads, j.Whole, j.Undecided = rounded(s.Leads), rounded(s.Whole), rounded(s.Undecided)
	j.Estimate = s.Estimate.rounded()
	if s.Undecided > 0 {
		j.IfCounted = rounded(s.IfCounted)
	}
	if s.Covered > 0 {
		j.Literalness = rounded(s.Literalness)
	}
	return j
}

func (w writing) evidence(i int) jsonEvidence {
	e := w.r.Evidence[i]
	j := jsonEvidence{Number: w.r.Number(i), Span: w.count.Points(e.Span), Text: e.Span.In(w.r.Submission.Text), Kind: e.Kind,
		Kinds:      several(e.Kinds),
		Characters: e.Characters, Cited: e.Cited, Group: e.Group, Excluded: e.Excluded, Why: e.Why}
	if e.Section >= 0 && e.Section < len(w.r.Sections) {
		j.Section = w.r.Sections[e.Section].Name
	}
	for _, s := range e.Sources {
		x := jsonSource{Site: s.Site, Library: s.Library, Document: s.Document, Title: s.Title, Here: w.count.Points(s.Here),
			Span: points(s.Points), Bytes: s.Span, Kind: s.Kind, Kinds: several(s.Kinds), Similarity: round(s.Similarity),
			Closeness: w.r.Language.ClosenessOf(s.Kind, s.Similarity), jsonAge: ageJSON(s.Age), Excluded: s.Excluded}
		x.Documents = s.Documents()
		var texts []string
		for _, p := range s.Parts {
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
			if len(s.Parts) > 1 {
				x.Parts = append(x.Parts, jsonPart{w.count.Points(p.Span), points(p.SourcePoints), p.SourceSpan, p.Kind, p.Text,
					SharedWords(w.r.Submission.Text, p)})
			}
		}
		x.Text = strings.Join(texts, "\n[…]\n")
		x.Shared = w.sharedOf(s.Parts)
		j.Sources = append(j.Sources, x)
	}
	return j
}

// several returns kinds if there are at least two.
func several(kinds []concordat.KindCount) []concordat.KindCount {
	if len(kinds) < 2 {
		return nil
	}
	return kinds
}

// points returns the span of a source in code points, or nil if only its bytes are known.
func points(known concordat.Span) *concordat.Span {
	if known.Len() <= 0 {
		return nil
	}
	return &known
}

// rules returns the rules in a report's JSON form, with the threshold for common wording made explicit.
func (w writing) rules() Rules {
	out := w.r.Rules.place(func(s concordat.Span) concordat.Span { return w.count.Points(clip(w.r.Submission.Text, s)) })
	out.CommonAbove = cmp.Or(out.CommonAbove, DefaultCommonAbove)
	return out
}

func ageJSON(a concordat.Age) jsonAge {
	j := jsonAge{Date: a.Date, By: a.By, Oldest: a.Oldest, Later: a.Later}
	if !a.Added.IsZero() {
		j.Added = &a.Added
	}
	return j
}

func (w writing) short() *jsonShort {
	s := w.r.Short
	if s == nil {
		return nil
	}
	j := &jsonShort{Threshold: s.Threshold, Asked: s.Asked, Found: s.Found, Common: s.Common, Excluded: s.Excluded,
		Unindexed: s.Unindexed, Capped: s.Capped, Pieces: []jsonShortPiece{}}
	if s.Asked > 0 {
		j.Share = rounded(s.Share())
	}
	for _, p := range s.Pieces {
		x := jsonShortPiece{Text: p.Text, Excluded: p.Excluded}
		if p.Span.Len() > 0 {
			at := w.count.Points(clip(w.r.Submission.Text, p.Span))
			x.Span = &at
		}
		for _, m := range p.Sources {
			x.Sources = append(x.Sources, jsonShortSource{m.Source.Site, m.Source.Library, m.Source.Document, m.Title, m.SourceSpan, m.Text,
				round(m.Similarity), w.r.Language.ShortCloseness(m.Similarity), m.Documents, m.Excluded, ageJSON(m.Age)})
		}
		j.Pieces = append(j.Pieces, x)
	}
	return j
}

func (w writing) legend() jsonLegend {
	j := jsonLegend{Kinds: w.r.Language.Kinds(), Steps: w.r.Language.Steps(), Share: ShareMeaning(w.r)}
	for _, c := range Calibration() {
		x := jsonRate{Batch: c.Batch, Language: c.Language, Class: c.Class, Documents: c.Documents, Tenth: c.Tenth, Third: c.Third}
		a, b := Wilson(c.Tenth, c.Documents)
		x.TenthIn = [2]float64{round(a), round(b)}
		a, b = Wilson(c.Third, c.Documents)
		x.ThirdIn = [2]float64{round(a), round(b)}
		j.Rates = append(j.Rates, x)
	}
	return j
}

// EvidenceJSON returns passages [from, to) in the form that WriteJSON uses for evidence. It panics if the indices are outside r.Evidence.
func (r *Report) EvidenceJSON(from, to int) ([]json.RawMessage, error) {
	in := newWriting(r)
	var out []json.RawMessage
	for i := range r.Evidence[from:to] {
		b, err := json.Marshal(in.evidence(from + i))
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}
