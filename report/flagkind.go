package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
	"concordat/report/language"
)

// disguises are the codes of flags for possible concealment from a check or a reader, in report order. All other flags are notes on what
// was not read and how the file was read.
var disguises = []string{"hidden_text", "white_text", "tiny_text", "off_page_text", "look_alike", "zero_width", "stacked_marks",
	"spaced_out", "bidi_control", "glyph_mapping", "quotation", "much_quoted", "macro"}

// FlagKind groups all flags with the same code. A report lists each kind once, regardless of how often it occurs in a file.
type FlagKind struct {
	Code     string
	Disguise bool // it can conceal something from a check or a reader
	// Count is the number of occurrences in the file. Words is the number of affected words of the text, or 0 if the kind has no place in
	// the text. For text without separators between words, Words counts characters.
	Count, Words int
	Characters   bool             // Words counts characters
	Places       []concordat.Span // places of the first 100 flags, in text order without overlaps
	Flags        []int            // indices into Report.Flags
	details      []concordat.Flag // flags with different details, at most maxDetails
	more         int              // number of flags not in details
}

// maxDetails is the number of different details listed for one kind; the rest are counted.
const maxDetails = 20

// IsDisguise reports whether flags with the given code can conceal something from a check or a reader.
func IsDisguise(code string) bool { return slices.Contains(disguises, code) }

// Disguises returns the number of kinds of flags that can conceal something from a check or a reader.
func Disguises(flags []concordat.Flag) int {
	kinds := map[string]bool{}
	for _, f := range flags {
		if IsDisguise(f.Code) {
			kinds[f.Code] = true
		}
	}
	return len(kinds)
}

// FlagKinds groups the flags of a report by kind: first the kinds that can conceal something, then the notes, each in the order raised.
func FlagKinds(r *Report) []FlagKind {
	var out []FlagKind
	for i, f := range r.Flags {
		k := slices.IndexFunc(out, func(k FlagKind) bool { return k.Code == f.Code })
		if k < 0 {
			k, out = len(out), append(out, FlagKind{Code: f.Code, Disguise: IsDisguise(f.Code)})
		}
		one := &out[k]
		one.Count, one.Flags = one.Count+max(f.Count, 1), append(one.Flags, i)
		switch {
		case slices.ContainsFunc(one.details, func(g concordat.Flag) bool { return g.Detail == f.Detail }):
		case len(one.details) < maxDetails:
			one.details = append(one.details, f)
		default:
			one.more++
		}
		if f.Span == nil {
			continue
		}
		if s := clip(r.Submission.Text, *f.Span); s.Len() > 0 {
			one.Places = append(one.Places, s)
			one.Words += max(f.Count, 1) - 1 // flags beyond the limit on places are counted with the last
		}
	}
	for i := range out {
		out[i].Places = union(out[i].Places)
		out[i].measure(r.Submission.Text)
	}
	order := func(k FlagKind) int {
		if i := slices.Index(disguises, k.Code); i >= 0 {
			return i
		}
		return len(disguises)
	}
	slices.SortStableFunc(out, func(a, b FlagKind) int { return order(a) - order(b) })
	return out
}

// measure counts the words at the flagged places.
func (k *FlagKind) measure(text string) {
	letters, han := 0, 0
	for _, s := range k.Places {
		for _, c := range s.In(text) {
			switch {
			case unspaced(c):
				han++
			case unicode.IsLetter(c):
				letters++
			}
		}
	}
	k.Characters = han > letters
	for _, s := range k.Places {
		n := len(strings.Fields(s.In(text)))
		if k.Characters {
			n = len([]rune(s.In(text)))
		}
		k.Words += max(n, 1)
	}
}

// FlagTitle returns the name of a kind of flag with its size, for example "Replaced letters: 51 words".
func (l Language) FlagTitle(k FlagKind) string {
	if size := l.FlagSize(k); size != "" {
		return l.Say("%s: %s", l.FlagKindName(k), size)
	}
	return l.FlagKindName(k)
}

// FlagKindName returns the name of a kind of flag.
func (l Language) FlagKindName(k FlagKind) string {
	name := strings.ReplaceAll(l.FlagName(concordat.Flag{Code: k.Code}), "_", " ")
	first, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[n:]
}

// FlagSize describes how much of the text a kind of flag affects, or how often it occurs. It returns "" for a flag that occurs once and
// has no place.
func (l Language) FlagSize(k FlagKind) string {
	switch {
	case k.Words > 0 && k.Characters:
		return l.Plural(k.Words, "character", "characters")
	case k.Words > 0:
		return l.Plural(k.Words, "word", "words")
	case k.Count > 1 && k.Code == "leads_end":
		return l.Plural(k.Count, "sentence", "sentences")
	case k.Count > 1 && (k.Code == "long_sources" || k.Code == "not_meant"):
		return l.Plural(k.Count, "document", "documents")
	case k.Count > 1:
		return l.Say("%s times", Thousands(l, k.Count))
	}
	return ""
}

// FlagMeans explains a kind of flag. For a kind without an explanation, it returns the distinct details of its flags, so that two
// unreadable parts are both named.
func (l Language) FlagMeans(k FlagKind) string {
	if t, ok := language.Code(l).Lookup("flag." + k.Code + ".means"); ok {
		return t
	}
	var all []string
	for _, f := range k.details {
		if s := asSentence(l.FlagDetail(f)); !slices.Contains(all, s) { // a language can have one sentence for all of them
			all = append(all, s)
		}
	}
	if k.more > 0 {
		all = append(all, asSentence(l.Say("%d more", k.more)))
	}
	return l.Join(all)
}

// asSentence returns text with an initial capital and a final full stop.
func asSentence(s string) string {
	if s == "" {
		return s
	}
	first, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[n:]
	if last, _ := utf8.DecodeLastRuneInString(s); unicode.IsLetter(last) && !unspaced(last) || unicode.IsDigit(last) || last == ')' {
		s += "."
	}
	return s
}

// FlagAdvice returns what to do about a kind of flag, or "" if no action is needed.
func (l Language) FlagAdvice(k FlagKind) string {
	t, _ := language.Code(l).Lookup("flag." + k.Code + ".do")
	return t
}

// FlagsFound returns a sentence naming the kinds of flags that can conceal something, or "" if there are none.
func (l Language) FlagsFound(kinds []FlagKind) string {
	var names []string
	for _, k := range kinds {
		if k.Disguise {
			names = append(names, l.FlagTitle(k))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return l.Say("Flags: %s", strings.Join(names, l.Say("; ")))
}

// jsonFlagKind is the JSON form of FlagKind.
type jsonFlagKind struct {
	Code       string           `json:"code"`
	Disguise   bool             `json:"disguise"`
	Count      int              `json:"count"`
	Words      int              `json:"words,omitempty"`
	Characters bool             `json:"characters,omitempty"`
	Places     []concordat.Span `json:"places,omitempty"`
	Name       string           `json:"name"`
	Means      string           `json:"means,omitempty"`
	Advice     string           `json:"advice,omitempty"`
}

// flagKindsIn returns the kinds of flags in their JSON form.
func flagKindsIn(r *Report, count *Counter) []jsonFlagKind {
	out := []jsonFlagKind{}
	for _, k := range FlagKinds(r) {
		one := jsonFlagKind{Code: k.Code, Disguise: k.Disguise, Count: k.Count, Words: k.Words, Characters: k.Characters,
			Name: r.Language.FlagKindName(k), Means: r.Language.FlagMeans(k), Advice: r.Language.FlagAdvice(k)}
		for _, s := range k.Places {
			one.Places = append(one.Places, count.Points(s))
		}
		out = append(out, one)
	}
	return out
}
