package wording

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// Why is the reason why a sentence resembles a form.
type Why string

// The reasons.
const (
	WhyHeading     Why = "heading"     // a short line on its own
	WhyQuestion    Why = "question"    // a question on its own
	WhyInstruction Why = "instruction" // tells the reader what to write or do
	WhyDeclaration Why = "declaration" // signed by the author, or required by a journal or law
	WhyClause      Why = "clause"      // from a contract, licence or statute
	WhyList        Why = "list"        // list entry: an abbreviation, a table row, a line of contents
	WhyOutline     Why = "outline"     // says what the sections of a paper contain
)

// Form is a sentence or line that resembles a form.
type Form struct {
	concordat.Span
	Why Why
}

// These words open sentences of forms or occur in them. They are usual in English, German and Chinese forms and, to some extent, in
// French and Spanish ones. The rules:
//   - An instruction is an imperative at the start of a sentence, possibly after a number or a heading of at most three words, or one
//     with a polite pronoun or particle ("geben Sie", 请). It can also put an obligation on a class of readers ("applicants must") or on
//     something of theirs ("your ... should"), limit a length, or say what an answer is worth.
//   - A declaration is a first person with a performative verb ("I declare", "wir bestätigen"), or a section that journals and examiners
//     require by name: interests, ethics, funding, contributions, thanks, own work.
//   - A clause uses "shall" to oblige, or names the parts and parties of a contract, a licence or a statute.
//   - An outline says, section by section, what a paper contains.
//
// The words of examinations, obligations and declarations were added after reading the development half of the corpus of innocent
// documents, so measurements of document pairs on that half are not an independent test.
var (
	beginning      = regexp.MustCompile(`(?i)^(?:(?:(?:[0-9]+(?:\.[0-9]+)*|[a-z]|[ivx]+)[.)]\s*|[•\-–*]\s*|\([a-z0-9]+\)\s*)?(?:please|kindly|describe|explain|state|list|give|provide|indicate|attach|summari[sz]e|outline|specify|identify|discuss|justify|name|enter|tick|check|fill|complete|write|answer|include|note|confirm|submit|sign|select|choose|mark|use|do not|read|upload|refer|set out|tell|add|show|compare|define|mention|rate|report|return)\b|(?-i:\p{Lu}[\p{L}-]*(?: [\p{L}-]+){0,2} (?:Please|Describe|Explain|State|List|Give|Provide|Indicate|Attach|Summari[sz]e|Outline|Specify|Identify|Discuss|Justify|Name|Compare|Write|Answer|Analy[sz]e|Assess|Evaluate))\b|(?:bitte|beschreiben|schildern|geben|nennen|erläutern|fügen|füllen|erklären|begründen|kreuzen|legen|stellen|vergleichen)\b|(?:veuillez|décrivez|indiquez|précisez|joignez)\b|(?:describa|indique|explique|adjunte|por favor)\b)`)
	instructing    = regexp.MustCompile(`(?i)\b(?:applicants?|candidates?|authors?|students?|investigators?|respondents?|participants?)\s+(?:must|should|shall|may not|are (?:asked|required|requested|expected|invited)|is (?:asked|required|requested|expected))\b|\b(?:no more than|at most|at least|up to|maximum of|between)\s+[\w,]+(?:\s+and\s+[\w,]+)?\s+(?:words|pages|characters|lines|sentences|figures)\b|\byour \p{L}+ (?:must|should|shall|may not|has to|have to)\b|\bmarks? (?:are|is|will be) (?:given|awarded|deducted|taken)\b|[(\[][0-9]+ (?:marks|points|Punkte)[)\]]|\b(?:geben|nennen|schildern|beschreiben|erläutern|lesen|schreiben) Sie\b|\bSie bitte\b`)
	instructingHan = regexp.MustCompile(`(?:^|[，。；：、（(\s])请|请(?:说明|简述|简要|填|列出|列明|附上|附|提供|描述|阐述|注明|选择|勾选|回答|写明|写出|按|勿|认真|申请人|各)|填写|填报|须知|务必|简述|简要(?:说明|介绍)|说明如下|不予受理|一式[一二三四五六七八九十]+份|装订|报送|不得超过|(?:申请人|申请书|申报|参赛者|考生|作者|学生)[^。；]{0,24}(?:应|须|必须|不得|应当|需)|[（(][0-9０-９]+\s*分[）)]|^[一二三四五六七八九十0-9]+[、.．]\s*(?:试|论述|简答|名词解释|材料分析|结合|举例|概述|比较|分析)`)

	declaring    = regexp.MustCompile(`(?i)\b(?:I|we|the (?:authors?|undersigned|applicants?|investigators?|candidate)) (?:hereby )?(?:declare|confirm|certify|undertake|affirm|understand|agree|acknowledge|consent)s?\b|\bhereby (?:declare|certify|confirm|grant|give)\w*|\bto the best of (?:my|our|their) knowledge\b|\binformed consent\b|\bethics committee\b|\b(?:conflicts?|competing)\b[^.]{0,24}\binterests?\b|\bdata (?:that support|availability)\b|\bsupported by (?:the|a|an|grants?)\b|\bspecific grant from\b|\bauthor contributions?\b|\bread and approved the final\b|\bpermission to (?:copy|reproduce|use)\b|\bsubmitted (?:in whole|previously|for (?:a|any) (?:other )?degree)\b|\bthanks? (?:are due|to my|go to)\b|\bI (?:would like|wish) to (?:thank|express)\b|\bgrateful to\b|\bmy (?:sincere |deepest )?(?:gratitude|thanks)\b|\b(?:I|we) (?:also |especially |finally )?thank\b|\bviews? (?:expressed|of the (?:authors?|funders?|sponsors?))\b|\b(?:my|our) own (?:original )?work\b|\bby signing\b|\b(?:I|we) have read (?:and|the)\b|\breview and editing\b|\bhiermit\b|\ban Eides statt\b|\b(?:versichere|erkläre) ich\b|\bich (?:versichere|erkläre)\b|\bbestätige(?:n)? (?:ich|wir)\b|\b(?:mir|uns) ist bekannt, dass\b|\beinverstanden\b|\bmein(?:er|em)? (?:besonderer |herzlicher )?dank\b|\bje (?:soussigné|déclare|certifie)\b|\b(?:el|la) abajo firmante\b|\bdeclaro\b`)
	declaringHan = regexp.MustCompile(`声明|本人(?:郑重|保证|承诺|完全|已|同意)|我(?:保证|承诺)|特此|承诺书?|授权书?|如(?:获得资助|有不实)|法律(?:后果|责任)由|承担全部责任|基金项目|利益冲突|作者贡献|数据可用性|知情同意|伦理委员会|感谢|致谢`)

	clausing    = regexp.MustCompile(`(?i)\bpermission is hereby\b|\bwithout warranty\b|\bredistributions? (?:of|in)\b|\b(?:this|the) agreement\b|\b(?:the|either|each|both) part(?:y|ies)\b|\bshall (?:be|have|not|remain|come|pay|provide|keep|enter|survive)\b|\bin full force and effect\b|\bgoverned by\b|\bpursuant to\b|\b(?:article|section|clause|paragraph) [0-9]+\b|\bdieser (?:vertrag|vereinbarung)\b|\b(?:tritt|treten) am\b`)
	clausingHan = regexp.MustCompile(`第[一二三四五六七八九十百0-9]+条|本(?:办法|条例|规定|法|细则|合同|协议)|自[^。]{0,16}起(?:施行|实施|生效)|法律、(?:行政)?法规|从其规定|(?:县级以上|各级|本级)(?:地方)?人民政府|(?:国家机关|行政机关)(?:及其)?工作人员|依法(?:追究|处理|承担|给予)|构成犯罪|甲方|乙方|双方(?:应|同意|签|协商)`)

	outlining    = regexp.MustCompile(`(?i)\b(?:section|chapter|sect\.)s? (?:[0-9]+|[ivx]+|two|three|four|five|six|seven|eight)\b.*\b(?:describe|present|discuss|introduce|review|conclude|give|explain|report|show|outline|detail|define|provide|summari[sz]e|propose|evaluat|analy[sz]e|contain|deal|focus|set)|\b(?:describe|present|discuss|introduce|review|conclude|explain|report|outline|define|provide|summari[sz]e)\w*\b.*\bin (?:section|chapter) [0-9ivx]+|\b(?:rest|remainder|structure) of (?:the|this) (?:paper|article|thesis|report|work|chapter)\b|\bthis (?:paper|article|thesis|report) is (?:organi[sz]ed|structured|arranged) as follows\b|\bKapitel [0-9]+\b.*\b(?:beschreib|behandel|stell|erläuter|diskutier|gib)`)
	outliningHan = regexp.MustCompile(`本文(?:的)?(?:结构|组织|安排|其余部分)|第[一二三四五六七八九十0-9]+(?:节|章|部分)[^。]{0,12}(?:介绍|讨论|总结|分析|描述|给出|论述)`)

	listed = regexp.MustCompile(`^\s*(?:[0-9]+(?:\.[0-9]+)+\.?\s+\S[^.。!?？]{0,80}$|\p{Lu}{2,8}\s+\S[^.。!?？]{0,50}$|[\p{Lu}0-9][\p{L}0-9.\-]{0,11}\s*(?:[-–—:=|]|\t)\s*\S|[^|]{1,60}\|[^|]{1,80}|[0-9]+(?:\.[0-9]+)*\s*[.|)]?\s*\|)|^(?:chapter|appendix|table|figure|kapitel|anhang|tabelle|第[一二三四五六七八九十0-9]+[章节])\b`)
)

// sieves rules out most sentences at a tenth of the cost of the expressions, in the order used by whySentence.
var sieves = sync.OnceValue(func() *sieve { return newSieve(instructing, declaring, clausing, outlining) })

func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// formsOfLine returns the forms in one line, or an empty slice if there are none. apart states whether the lines before and after it are
// empty.
func formsOfLine(ctx context.Context, text string, line concordat.Span, apart bool) ([]Form, error) {
	out := []Form{}
	sentences := sentencesOf(text, line)
	for i, s := range sentences {
		if i%ctxEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		in := strings.ReplaceAll(s.In(text), "\n", " ")
		why := whySentence(in)
		if len(sentences) == 1 {
			why = cmp.Or(whyLine(in, apart), why)
		}
		if why != "" {
			out = append(out, Form{s, why})
		}
	}
	return out, nil
}

// maxHeading is the maximum number of characters in a heading.
const maxHeading = 90

// whyLine returns why a one-sentence line resembles a form, or "" if it does not.
func whyLine(s string, apart bool) Why {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, " \t\r\"”’)）"))
	switch {
	case listed.MatchString(s):
		return WhyList
	case apart && (last == '?' || last == '？'):
		return WhyQuestion
	case apart && !strings.ContainsRune(".!。！；;", last) && utf8.RuneCountInString(s) <= maxHeading:
		return WhyHeading
	}
	return ""
}

// whySentence returns why a sentence resembles a form, or "" if it does not.
func whySentence(s string) Why {
	han := strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxLatin1 && unicode.Is(unicode.Han, r) })
	may := sieves().sift(s)
	switch {
	case beginning.MatchString(s), may.has(0) && instructing.MatchString(s), han && instructingHan.MatchString(s):
		return WhyInstruction
	case may.has(1) && declaring.MatchString(s), han && declaringHan.MatchString(s):
		return WhyDeclaration
	case may.has(2) && clausing.MatchString(s), han && clausingHan.MatchString(s):
		return WhyClause
	case may.has(3) && outlining.MatchString(s), han && outliningHan.MatchString(s):
		return WhyOutline
	}
	return ""
}

// sentencesOf splits a line at sentence ends by a simple rule; an extra split does no harm here.
func sentencesOf(text string, line concordat.Span) []concordat.Span {
	var out []concordat.Span
	at := line.Start
	add := func(end int) {
		s := concordat.Span{Start: at, End: end}
		in := s.In(text)
		s.Start += len(in) - len(strings.TrimLeftFunc(in, unicode.IsSpace))
		s.End -= len(in) - len(strings.TrimRightFunc(in, unicode.IsSpace))
		if s.Start < s.End {
			out = append(out, s)
		}
		at = end
	}
	for i, r := range text[line.Start:line.End] {
		next := line.Start + i + utf8.RuneLen(r)
		switch r {
		case '。', '！', '？', '；':
			add(next)
		case '.', '!', '?':
			if next < line.End && (text[next] == ' ' || text[next] == '\n') && i > 3 {
				add(next)
			}
		}
	}
	add(line.End)
	return out
}

const (
	// mostlyForm is the share of a shared stretch that must resemble a form for all of it to be form wording. A copied paragraph together
	// with the instruction above it stays below this share.
	mostlyForm = 0.6
	// maxClauses is the maximum share of shared wording in a text that can consist of standard clauses of contracts or statutes. Two
	// versions of one statute share more.
	maxClauses = 0.2
)

// ClausesAreForms reports whether clauses among the shared stretches can be standard clauses of contracts and statutes, which requires
// that little else of the text is shared.
func ClausesAreForms(w *Words, shared []Stretch) bool {
	n := 0
	for _, s := range shared {
		n += w.Count(s.Span)
	}
	return float64(n) <= maxClauses*float64(w.Len())
}

// Reader decides whether passages of one text resemble a form. It analyses a line on first use. It is safe for concurrent use.
type Reader struct {
	text  string
	lines []concordat.Span // with wrapped lines joined
	mu    sync.Mutex       // protects the following fields
	forms [][]Form         // forms in each line; nil if not analysed yet
	known bool             // whether whole has been determined
	whole bool             // most of the text resembles a form
}

// NewReader returns a reader of a text. If most of a text resembles a form, none of it counts as form wording.
func NewReader(text string) *Reader {
	r := &Reader{text: text}
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		for end < len(text) && goesOn(text[at:end], text[end+1:]) {
			end = lineEnd(text, end+1)
		}
		r.lines = append(r.lines, concordat.Span{Start: at, End: end})
		at = end + 1
	}
	r.forms = make([][]Form, len(r.lines))
	return r
}

// goesOn reports whether the sentence on a line continues on the next one, as in wrapped text, that is, whether the line does not end
// like a sentence and a lower-case letter follows.
func goesOn(line, next string) bool {
	line = strings.TrimRight(line, " \t\r\"”’)）")
	last, _ := utf8.DecodeLastRuneInString(line)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(next, " \t"))
	return line != "" && !strings.ContainsRune(".!?。！？；;:：", last) && unicode.IsLower(first)
}

// formsIn returns the forms in the lines that overlap a span, in order. r.mu must be held.
func (r *Reader) formsIn(ctx context.Context, s concordat.Span) ([]Form, error) {
	var out []Form
	i, _ := slices.BinarySearchFunc(r.lines, s.Start, func(l concordat.Span, at int) int { return cmp.Compare(l.End, at+1) })
	for ; i < len(r.lines) && r.lines[i].Start < s.End; i++ {
		one, err := r.formsOf(ctx, i)
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

// formsOf returns the forms in a line. r.mu must be held.
func (r *Reader) formsOf(ctx context.Context, i int) (out []Form, err error) {
	if r.forms[i] == nil {
		apart := (i == 0 || r.blank(i-1)) && (i+1 == len(r.lines) || r.blank(i+1))
		r.forms[i], err = formsOfLine(ctx, r.text, r.lines[i], apart)
	}
	return r.forms[i], err
}

// isForm reports whether most of the text resembles a form. It analyses lines until the rest cannot change the result. r.mu must be held.
func (r *Reader) isForm(ctx context.Context) (bool, error) {
	if r.known {
		return r.whole, nil
	}
	rest := utf8.RuneCountInString(r.text)
	sum, least := 0, mostlyForm*float64(rest)
	for i, line := range r.lines {
		if float64(sum+rest) < least || sum > 0 && float64(sum) >= least {
			break
		}
		if i%ctxEvery == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		forms, err := r.formsOf(ctx, i)
		if err != nil {
			return false, err
		}
		for _, f := range forms {
			sum += utf8.RuneCountInString(f.In(r.text))
		}
		rest -= utf8.RuneCountInString(line.In(r.text))
	}
	r.known, r.whole = true, sum > 0 && float64(sum) >= least
	return r.whole, nil
}

func (r *Reader) blank(i int) bool { return strings.TrimSpace(r.lines[i].In(r.text)) == "" }

// ReadsLikeForm reports whether most of a span resembles a form, and why. It fails only if ctx ends, with its cause.
func (r *Reader) ReadsLikeForm(ctx context.Context, s concordat.Span) (Why, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	forms, err := r.formsIn(ctx, s)
	if err != nil {
		return "", false, err
	}
	why, ok := readsLike(r.text, forms, s)
	if !ok {
		return why, false, nil
	}
	whole, err := r.isForm(ctx)
	return why, err == nil && !whole, err
}

// ownEdge is the minimum length, in characters, of text that is excluded from the edges of form wording because it does not resemble a
// form.
const ownEdge = 60

// trim removes the edges that do not resemble a form from a span that does. Its lines must have been analysed.
func (r *Reader) trim(s concordat.Span) concordat.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, last := -1, -1
	forms, _ := r.formsIn(context.Background(), s)
	for _, f := range forms {
		if f.End <= s.Start || f.Start >= s.End {
			continue
		}
		if first < 0 {
			first = max(f.Start, s.Start)
		}
		last = min(f.End, s.End)
	}
	if last < 0 {
		return s
	}
	if utf8.RuneCountInString(r.text[s.Start:first]) >= ownEdge {
		s.Start = first
	}
	if utf8.RuneCountInString(r.text[last:s.End]) >= ownEdge {
		s.End = last
	}
	return s
}

// readsLike returns why a stretch resembles a form; of several reasons, it returns the one that covers most letters.
func readsLike(text string, forms []Form, s concordat.Span) (Why, bool) {
	by := map[Why]int{}
	sum, best := 0, Why("")
	from, _ := slices.BinarySearchFunc(forms, s.Start, func(f Form, at int) int { return cmp.Compare(f.End, at+1) })
	for _, f := range forms[from:] {
		if f.Start >= s.End {
			break
		}
		x := concordat.Span{Start: max(f.Start, s.Start), End: min(f.End, s.End)}
		n := utf8.RuneCountInString(x.In(text))
		sum += n
		by[f.Why] += n
		if best == "" || by[f.Why] > by[best] || by[f.Why] == by[best] && f.Why < best {
			best = f.Why
		}
	}
	return best, sum > 0 && float64(sum) >= mostlyForm*float64(utf8.RuneCountInString(s.In(text)))
}
