package extract

import (
	"strings"
	"unicode/utf8"
)

// rtfAsides lists destinations whose text is counted, and kept if it is long.
var rtfAsides = map[string]string{"annotation": FlagComments, "header": FlagHeaders, "headerl": FlagHeaders, "headerr": FlagHeaders,
	"headerf": FlagHeaders, "footer": FlagHeaders, "footerl": FlagHeaders, "footerr": FlagHeaders, "footerf": FlagHeaders}

// pageHeaders leaves out short page headers and footers. It keeps long ones, and keeps all of them if the document has no other text.
func (r *rtfReader) pageHeaders() {
	for _, s := range r.headers {
		if utf8.RuneCountInString(s) <= shortHeader && r.b.any() {
			r.b.leave(FlagHeaders, s)
			continue
		}
		r.b.place("page header or footer")
		r.b.unlessThere(s)
		r.b.label = ""
	}
}

// aside records text that is left out.
func (r *rtfReader) aside(s string) {
	if r.st.aside != FlagHeaders {
		r.b.leave(r.st.aside, s)
	} else if int64(r.header.Len()) < r.b.opt.MaxText {
		r.header.WriteString(s)
	}
}

// leaveAside finishes a header; its end restores the previous state.
func (r *rtfReader) leaveAside(before string) {
	if r.st.aside == FlagHeaders && before != FlagHeaders {
		if s := strings.TrimSpace(r.header.String()); characters(s) > 0 {
			r.b.flag(Flag{Code: FlagHeaders, Detail: "page headers and footers left out"})
			r.headers = append(r.headers, s)
		}
		r.header.Reset()
	}
}
