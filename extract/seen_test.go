package extract_test

import (
	"strings"
	"testing"

	"concordat/extract"
)

// seen is a file that displays text differently from how it is stored, with the text that is read and its flag.
type seen struct {
	name, file string
	data       []byte
	want, flag string // flag is empty for none
}

func checkSeen(t *testing.T, cases []seen) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := extract.Bytes(c.file, c.data, extract.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Text != c.want {
				t.Errorf("got %q, want %q", r.Text, c.want)
			}
			codes := map[string]bool{}
			for _, f := range r.Flags {
				codes[f.Code] = true
			}
			if c.flag == "" && len(codes) > 0 || c.flag != "" && !codes[c.flag] {
				t.Errorf("flags %v, want %q", r.Flags, c.flag)
			}
			checkResult(t, r, extract.Options{})
		})
	}
}

// webPage returns a page with a style sheet.
func webPage(style, body string) []byte {
	return []byte("<html><head><style>" + style + "</style></head><body>" + body + "</body></html>")
}

// TestDirection: text under an override, and isolated stretches within text of the other direction, are read in display order.
func TestDirection(t *testing.T) {
	text := func(name, stored, want, flag string) seen { return seen{name, "a.txt", []byte(stored), want, flag} }
	web := func(name, body, want, flag string) seen {
		return seen{name, "a.html", webPage("i{direction:rtl;unicode-bidi:bidi-override}", body), want, flag}
	}
	run := func(s string) string { return `<w:r><w:t xml:space="preserve">` + s + `</w:t></w:r>` }
	word := func(name, body, want, flag string) seen {
		return seen{name, "a.docx", docx(t, `<w:p>`+body+`</w:p>`), want, flag}
	}
	checkSeen(t, []seen{
		text("override", "The \u202e(neerg) rewot\u202c stood.", "The tower (green) stood.", extract.FlagBidi),
		text("override without end", "The \u202eegdirb dlo", "The old bridge", extract.FlagBidi),
		text("within one another", "\u202ef \u202db a\u202c e\u202c x", "e b a f x", extract.FlagBidi),
		text("isolates change places", "\u2067\u2066bridge\u2069 \u2066old\u2069\u2069.", "old bridge.", extract.FlagBidi),
		text("hebrew from the left", "ספר \u202dםולש\u202c.", "ספר שלום.", extract.FlagBidi),
		text("lines apart", "\u202eeno owt\neerht\u202c", "two one\neerht\u202c", extract.FlagBidi),
		text("isolates as usual", "He said \u2068שלום\u2069 to \u2066them\u2069.", "He said \u2068שלום\u2069 to \u2066them\u2069.", ""),
		web("bdo", `<p>The <bdo dir="rtl">egdirb</bdo> stood.`, "The bridge stood.", extract.FlagBidi),
		web("bdo, marked up", `<p>The <bdo dir=rtl>eg<b>dirb</b> dlo</bdo> stood.`, "The old bridge stood.", extract.FlagBidi),
		web("style sheet", `<p>The <i>egdirb</i> stood.`, "The bridge stood.", extract.FlagBidi),
		web("attribute", `<p style="unicode-bidi:bidi-override;direction:rtl">.egdirb <b>dlo</b> ehT</p><p>x`,
			"The old bridge.\n\nx", extract.FlagBidi),
		web("spans change places", `<p><span dir=rtl><span dir=ltr>bridge</span> <span dir=ltr>old</span></span> x`,
			"old bridge x", extract.FlagBidi),
		web("from the left", `<p>The <bdo dir=ltr>bridge</bdo> <span dir=auto>stood</span>.`, "The bridge stood.", ""),
		web("hebrew page", `<div dir=rtl><p>שלום <span dir=ltr>abc</span> עולם</p></div>`, "שלום abc עולם", ""),
		word("w:bdo", run("The ")+`<w:bdo w:val="rtl">`+run("egd")+run("irb")+`</w:bdo>`+run(" stood."),
			"The bridge stood.", extract.FlagBidi),
		word("w:bdo from the left", `<w:bdo w:val="ltr">`+run("bridge")+`</w:bdo>`, "bridge", ""),
		word("w:dir", `<w:dir w:val="rtl">`+run("שלום")+`</w:dir>`+run(" x"), "שלום x", ""),
	})
}

// TestReadings: readings are separated from their base text and do not break its words; anything longer than a reading is text.
func TestReadings(t *testing.T) {
	ruby := func(base, reading string) string {
		return `<w:ruby><w:rubyPr/><w:rt><w:r><w:t>` + reading +
			`</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>` + base + `</w:t></w:r></w:rubyBase></w:ruby>`
	}
	long := strings.Repeat("a sentence that is no reading of anything ", 3)
	checkSeen(t, []seen{
		{"docx", "a.docx", docx(t, `<w:p><w:r><w:t>这</w:t></w:r><w:r>`+ruby("港", "gǎng")+ruby("务",
			"wù")+`</w:r><w:r><w:t>处</w:t></w:r></w:p>`), "这港务处", extract.FlagReadings},
		{"odt", "a.odt", odt(t, `<text:p>この<text:ruby><text:ruby-base>港</text:ruby-base><text:ruby-text>みなと</text:ruby-text></text:ruby>は</text:p>`), "この港は", extract.FlagReadings},
		{"html", "a.html", webPage("", "<p>この<ruby>港<rp>(</rp><rt>みなと</rt><rp>)</rp></ruby>は"), "この港は", extract.FlagReadings},
		{"html, ends left out", "a.html", webPage("", "<p>こ<ruby><rb>東<rb>京<rt>とう<rt>きょう</ruby>は"), "こ東京は", extract.FlagReadings},
		{"html, two sides", "a.html", webPage("", "<p>こ<ruby>東京<rtc><rt>とう</rt><rt>きょう</rt></rtc><rtc>Tokyo</rtc></ruby>は"),
			"こ東京は", extract.FlagReadings},
		{"no reading", "a.html", webPage("", "<p>x <ruby>a<rt>"+long+"</rt></ruby> y"), "x a y\n\n" + strings.TrimSpace(long), ""},
		{"no reading in docx", "a.docx", docx(t, `<w:p><w:r>`+ruby("a", long)+`</w:r></w:p>`), "a\n\n" + strings.TrimSpace(long), ""},
	})
}

// TestFormulasOnce: a formula that a page contains as MathML, drawn letters, picture and TeX is read exactly once.
func TestFormulasOnce(t *testing.T) {
	math := `<math><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow><annotation encoding="application/x-tex">E = mc^{2}</annotation></semantics></math>`
	drawn := `<span aria-hidden="true"><span>E</span><span>=</span>m<span>c</span><span>2</span></span>`
	web := func(name, body, want, flag string) seen {
		return seen{name, "a.html", webPage(".katex-mathml{position:absolute;clip:rect(1px,1px,1px,1px)}",
			"<p>so "+body+" holds"), want, flag}
	}
	checkSeen(t, []seen{
		web("katex", `<span class="katex"><span class="katex-mathml">`+math+`</span>`+drawn+`</span>`, "so E=mc2 holds", ""),
		web("katex without sheet", `<span class="katex"><span>`+math+`</span>`+drawn+`</span>`, "so E=mc2 holds", ""),
		web("mathjax 2", `<span class="MathJax"><nobr>`+drawn+`</nobr><span class="MJX_Assistive_MathML">`+math+`</span></span>`,
			"so E=mc2 holds", ""),
		web("mathjax 3", `<mjx-container><mjx-math aria-hidden="true"></mjx-math><mjx-assistive-mml>`+math+`</mjx-assistive-mml></mjx-container>`, "so E=mc2 holds", ""),
		web("mediawiki", `<span><span style="display: none;">`+math+`</span><img src=x alt="{\displaystyle E=mc^{2}}"></span>`,
			"so E=mc2 holds", ""),
		web("annotations alone", `<math><mi>x</mi><annotation-xml encoding="MathML-Content"><ci>x</ci></annotation-xml></math>`,
			"so x holds", ""),
		web("two formulas", math+" "+math, "so E=mc2 E=mc2 holds", ""),
		web("another drawing", math+`<span aria-hidden="true">★</span>`, "so E=mc2★ holds", ""),
		web("hidden alone", `<span style="display:none">`+math+`</span>`, "so  holds\n\nE=mc2", extract.FlagHidden),
	})
}

// TestLargeFirstLetter: a large initial in its own block or frame is joined to its word.
func TestLargeFirstLetter(t *testing.T) {
	checkSeen(t, []seen{
		{"html", "a.html", webPage("", "<p><div class=x>T</div>he harbour.</p><p>x"), "The harbour.\n\nx", ""},
		{"html, a label", "a.html", webPage("", "<div>T</div> the harbour.<div>A</div>B<h2>C</h2>d"),
			"T\n\nthe harbour.\n\nA\n\nB\n\nC\n\nd", ""},
		{"docx", "a.docx", docx(t, `<w:p><w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr><w:r><w:t>T</w:t></w:r></w:p><w:p><w:r><w:t>he harbour.</w:t></w:r></w:p>`),
			"The harbour.", ""},
		{"docx, a frame", "a.docx", docx(t, `<w:p><w:pPr><w:framePr w:hSpace="3"/></w:pPr><w:r><w:t>T</w:t></w:r></w:p><w:p><w:r><w:t>he harbour.</w:t></w:r></w:p>`),
			"T\n\nhe harbour.", ""},
	})
}

// TestUndisguised: disguised letters and blanks are read as the characters that they resemble, and every flag is at its word.
func TestUndisguised(t *testing.T) {
	text := func(name, stored, want, flag string) seen { return seen{name, "a.txt", []byte(stored), want, flag} }
	checkSeen(t, []seen{
		text("small capitals", "ᴛʜᴇ ᴏʟᴅ bridge", "the old bridge", extract.FlagLookAlike),
		text("dark boxes", "🅣🅗🅔 🅾🅻🅳 bridge", "THE OLD bridge", extract.FlagLookAlike),
		text("struck through", "t̶h̶e̶ o̶l̶d̶ bridge", "the old bridge", extract.FlagMarks),
		text("stacked", "t̂̃́h̀́̂e bridge", "t̂̃h̀́e bridge", extract.FlagMarks),
		text("on hangul", "항\u0332구\u0332 사\u0301무소는", "항구 사무소는", extract.FlagMarks),
		text("one mark on every letter", strings.Repeat("the quick brown fox jumps over a lazy dog", 2)+" "+
			accented("the quick brown fox jumps over a lazy dog"),
			strings.Repeat("the quick brown fox jumps over a lazy dog", 2)+" the quick brown fox jumps over a lazy dog", extract.FlagMarks),
		text("thin blanks", "The qu\u200aick bro\u2009wn f\u202fox ju\u2800mps o\u200aver it.",
			"The quick brown fox jumps over it.", extract.FlagSpaced),
		text("vietnamese, decomposed", "Tie\u0302\u0301ng Vie\u0323\u0302t", "Tie\u0302\u0301ng Vie\u0323\u0302t", ""),
		text("thin blanks for blanks", strings.Repeat("Der\u2009Turm\u2009stand\u2009lange\u2009dort.", 3),
			strings.Repeat("Der\u2009Turm\u2009stand\u2009lange\u2009dort.", 3), ""),
	})
}

// accented puts an acute accent on every letter.
func accented(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
		if r != ' ' {
			b.WriteRune('\u0301')
		}
	}
	return b.String()
}
