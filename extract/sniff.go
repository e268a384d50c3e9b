package extract

import (
	"archive/zip"
	"bytes"
	"path"
	"regexp"
	"strings"
)

// Format identifies a file format.
type Format string

// The formats. Formats without a reader are recognised so that the error can name them.
const (
	Text      Format = "text"
	Markdown  Format = "markdown"
	HTML      Format = "html"
	DOCX      Format = "docx"
	DOC       Format = "doc"
	PPTX      Format = "pptx"
	PPT       Format = "ppt"
	XLSX      Format = "xlsx"
	XLS       Format = "xls"
	ODT       Format = "odt"
	ODP       Format = "odp"
	ODS       Format = "ods"
	RTF       Format = "rtf"
	EPUB      Format = "epub"
	FB2       Format = "fb2"
	MHTML     Format = "mhtml"
	EML       Format = "eml"
	MSG       Format = "msg"
	LaTeX     Format = "latex"
	XML       Format = "xml"
	JSON      Format = "json"
	Notebook  Format = "ipynb"
	Subtitles Format = "subtitles"
	PDFFormat Format = "pdf"
	ZIP       Format = "zip"
	TAR       Format = "tar"
	GZIP      Format = "gzip"
	Pages     Format = "pages"
	HWP       Format = "hwp"
	CHM       Format = "chm"
	XPS       Format = "xps"
	OLE       Format = "ole"
	Image     Format = "image"
	Other     Format = "binary"
)

// magics lists the first bytes of formats that always begin with the same ones.
var magics = []struct {
	magic  string
	format Format
}{
	{"{\\rtf", RTF}, {"{\\*\\rtf", RTF}, {"\x1f\x8b", GZIP}, {"ITSF", CHM},
	{"HWP Document File", HWP}, {"\x89PNG", Image}, {"\xff\xd8\xff", Image}, {"GIF8", Image},
	{"II*\x00", Image}, {"MM\x00*", Image}, {"AT&TFORM", Image}, {"\x7fELF", Other}, {"MZ\x90", Other},
	{"Rar!", Other}, {"7z\xbc\xaf", Other}, {"BZh", Other}, {"\xfd7zXZ", Other}, {"(\xb5/\xfd", Other},
	{"OggS", Other}, {"ID3", Other}, {"%!PS", Other},
}

// Sniff returns a file's format, judging by content first. It fails with code Binary or Damaged.
func Sniff(name string, data []byte) (Format, error) {
	head := data[:min(len(data), 1024)]
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.format, nil
		}
	}
	switch {
	case isRTF(head):
		return RTF, nil
	case bytes.Contains(head, []byte("%PDF-")):
		return PDFFormat, nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return sniffZip(name, data)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return sniffOLE(data)
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return TAR, nil
	}
	return sniffText(name, data)
}

// maxSniffed is the number of entries above which a zip is not searched for an office document.
const maxSniffed = 20000

// sniffZip looks for the parts that distinguish office formats.
func sniffZip(name string, data []byte) (Format, error) {
	if declaredEntries(data) > maxSniffed {
		return ZIP, nil // the reader refuses such a file before it builds the directory
	}
	zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		// Naming a damaged office file is more useful than calling it a damaged archive.
		if f, ok := byExtension[ext(name)]; ok {
			return f, nil
		}
		return ZIP, nil
	}
	for _, f := range zr.File {
		switch n := strings.TrimPrefix(strings.ReplaceAll(f.Name, "\\", "/"), "/"); {
		case n == "mimetype":
			if g, ok := mimeFormat(f); ok {
				return g, nil
			}
		case n == "[Content_Types].xml":
			if g, ok := contentFormat(f); ok {
				return g, nil
			}
		case strings.HasPrefix(n, "word/document"):
			return DOCX, nil
		case strings.HasPrefix(n, "ppt/presentation"):
			return PPTX, nil
		case strings.HasPrefix(n, "xl/workbook"):
			return XLSX, nil
		case n == "META-INF/container.xml":
			return EPUB, nil
		case n == "Index/Document.iwa", n == "index.apxl", n == "index.xml" && ext(name) == "pages":
			return Pages, nil
		case strings.HasSuffix(n, ".fdseq"), strings.HasSuffix(n, ".fpage"):
			return XPS, nil
		}
	}
	if e := ext(name); e == "docx" || e == "docm" || e == "dotx" || e == "pptx" || e == "xlsx" || e == "odt" || e == "odp" || e == "epub" {
		return byExtension[e], nil
	}
	return ZIP, nil
}

// mimeFormat reads the mimetype entry of OpenDocument and EPUB.
func mimeFormat(f *zip.File) (Format, bool) {
	r, err := f.Open()
	if err != nil {
		return "", false
	}
	defer r.Close()
	var buf [100]byte
	n, _ := r.Read(buf[:])
	switch m := strings.TrimSpace(string(buf[:n])); {
	case strings.HasPrefix(m, "application/vnd.oasis.opendocument.text"):
		return ODT, true
	case strings.HasPrefix(m, "application/vnd.oasis.opendocument.presentation"), strings.HasPrefix(m,
		"application/vnd.oasis.opendocument.graphics"):
		return ODP, true
	case strings.HasPrefix(m, "application/vnd.oasis.opendocument.spreadsheet"):
		return ODS, true
	case m == "application/epub+zip":
		return EPUB, true
	}
	return "", false
}

// byExtension maps file extensions to formats; they decide only if the content is ambiguous.
var byExtension = map[string]Format{
	"txt": Text, "text": Text, "md": Markdown, "markdown": Markdown, "html": HTML, "htm": HTML, "xhtml": HTML,
	"docx": DOCX, "docm": DOCX, "dotx": DOCX, "doc": DOC, "pptx": PPTX, "odt": ODT, "odp": ODP, "rtf": RTF,
	"epub": EPUB, "fb2": FB2, "mht": MHTML, "mhtml": MHTML, "eml": EML, "msg": MSG, "tex": LaTeX, "ltx": LaTeX,
	"latex": LaTeX, "pdf": PDFFormat, "xml": XML, "nxml": XML, "xlsx": XLSX, "xlsm": XLSX, "ods": ODS, "json": JSON, "jsonl": JSON,
	"ndjson":  JSON,
	"geojson": JSON, "ipynb": Notebook, "srt": Subtitles, "vtt": Subtitles,
}

func ext(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(strings.ReplaceAll(name, "\\", "/")), "."))
}

// sniffText distinguishes text formats from one another, and text from binary data.
func sniffText(name string, data []byte) (Format, error) {
	enc, err := detectEncoding(data)
	if err != nil {
		return "", err
	}
	head := strings.TrimSpace(strings.ToLower(decodeHead(data, enc)))
	if i := strings.Index(head, "<fictionbook"); i >= 0 && strings.HasPrefix(head, "<") {
		return FB2, nil
	}
	f, known := byExtension[ext(name)]
	switch {
	case isMail(head):
		if strings.Contains(head, "multipart/related") && (f == MHTML || strings.Contains(head, "snapshot-content-location")) {
			return MHTML, nil
		}
		return EML, nil
	case strings.HasPrefix(head, "<!doctype html"), strings.HasPrefix(head, "<html"), f != XML && strings.Contains(head, "<html") &&
		strings.HasPrefix(head, "<"):
		return HTML, nil
	case f != HTML && isXML(head):
		return XML, nil
	case f == Notebook, f == JSON:
		return f, nil
	case f == Subtitles, isSubtitles(head):
		return Subtitles, nil
	case (f == "" || f == Text) && isJSON(data):
		if strings.Contains(head, "\"cell_type\"") {
			return Notebook, nil
		}
		return JSON, nil
	case f == RTF && strings.HasPrefix(head, "{\\"):
		return RTF, nil // an RTF fragment without a header
	case known && (f == Text || f == Markdown || f == HTML || f == LaTeX || f == XML || f == MHTML || f == EML || f == FB2):
		return f, nil
	case strings.Contains(head, "\\documentclass"), strings.Contains(head, "\\begin{document}"):
		return LaTeX, nil
	}
	return Text, nil
}

// otherRoot matches the first element of XML without a declaration, which names its namespace.
var otherRoot = regexp.MustCompile(`^<[a-z_][\w.-]*(?::[\w.-]+)?\s[^<>]*xmlns(?::[\w.-]+)?\s*=`)

// isXML reports whether lower-cased non-HTML text begins as XML does: with an XML declaration, a document type, or an element in a
// namespace.
func isXML(head string) bool {
	return strings.HasPrefix(head, "<?xml") || strings.HasPrefix(head, "<!doctype ") || otherRoot.MatchString(head)
}

// isMail reports whether lower-cased text begins with at least two header fields of a message.
func isMail(head string) bool {
	n := 0
	if strings.HasPrefix(head, "from ") { // mbox
		_, head, _ = strings.Cut(head, "\n")
	}
	for _, l := range strings.Split(head, "\n") {
		name, _, ok := strings.Cut(l, ":")
		if !ok || strings.ContainsAny(name, " \t") {
			if l != "" && (l[0] == ' ' || l[0] == '\t') && n > 0 {
				continue
			}
			break
		}
		switch name {
		case "received", "from", "to", "subject", "date", "message-id", "mime-version", "content-type",
			"return-path", "delivered-to", "reply-to", "content-transfer-encoding", "x-mailer", "snapshot-content-location":
			n++
		}
	}
	return n >= 2
}
