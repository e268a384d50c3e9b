// Package static serves the files that pages load (styles, scripts and icons) and compresses answers. It does not depend on the pages.
// Start with New.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

//go:embed *.css *.js *.svg
var embedded embed.FS

// icons are Lucide 1.62.0 icons, under the ISC licence in their folder. Each file contains the content of the svg element.
//
//go:embed icons
var icons embed.FS

// Icon returns an icon from the folder icons as a page element, in the colour of the adjacent text. Screen readers skip it because there
// are words next to it. An unknown name yields nothing; a test finds pages with unknown names.
func Icon(name string) template.HTML {
	b, err := icons.ReadFile("icons/" + name + ".svg")
	if err != nil {
		return ""
	}
	return template.HTML(`<svg class="icon" viewBox="0 0 24 24" width="16" height="16" aria-hidden="true" focusable="false">` +
		strings.TrimSpace(string(b)) + `</svg>`)
}

// asset is a file that pages load.
type asset struct {
	content, zipped []byte // zipped is compressed with gzip; it is nil if that is not smaller
	kind            string // media type
	digest          string // first 16 digits of its SHA-256
}

// Files contains the files that pages load, by name. It is safe for concurrent use.
type Files map[string]*asset

// New returns the files of this folder and the further files, by name.
func New(further map[string][]byte) (Files, error) {
	f := Files{}
	for name, b := range further {
		f[name] = newAsset(name, b)
	}
	entries, err := fs.ReadDir(embedded, ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		b, err := embedded.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		f[e.Name()] = newAsset(e.Name(), b)
	}
	// Every page waits for its styles, so the tokens are put at the beginning of style.css to save a round trip.
	f["style.css"] = newAsset("style.css", slices.Concat(f["tokens.css"].content, f["style.css"].content))
	delete(f, "tokens.css")
	return f, nil
}

// What a browser does not need of our scripts and styles. No literal in them extends over lines or contains a comment.
var (
	indentation  = regexp.MustCompile(`(?m)^[ \t]+`)
	lineComment  = regexp.MustCompile(`(?m)^//.*$`)
	styleComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
)

// compact returns a script or style without indentation and without comments that have lines of their own. Line numbers stay those of the
// source. Other people's scripts keep their notices.
func compact(name string, b []byte) []byte {
	switch {
	case name == "d3.js":
	case path.Ext(name) == ".js":
		return lineComment.ReplaceAll(indentation.ReplaceAll(b, nil), nil)
	case path.Ext(name) == ".css":
		return indentation.ReplaceAll(styleComment.ReplaceAllFunc(b, func(c []byte) []byte {
			return bytes.Repeat([]byte("\n"), bytes.Count(c, []byte("\n")))
		}), nil)
	}
	return b
}

func newAsset(name string, b []byte) *asset {
	b = compact(name, b)
	sum := sha256.Sum256(b)
	a := &asset{content: b, kind: mime.TypeByExtension(path.Ext(name)), digest: hex.EncodeToString(sum[:8])}
	if z := zipped(b, newZipper(gzip.BestCompression)); len(z) < len(b) {
		a.zipped = z
	}
	return a
}

func newZipper(level int) *gzip.Writer {
	z, err := gzip.NewWriterLevel(nil, level)
	if err != nil {
		panic(err) // the level is a constant of package gzip
	}
	return z
}

// pageZippers compress pages. Their tables of about 100 KiB are reused because allocating them costs more than compressing most pages.
var pageZippers = sync.Pool{New: func() any { return newZipper(gzip.BestSpeed) }}

// zipped returns b compressed with gzip (RFC 1952).
func zipped(b []byte, by *gzip.Writer) []byte {
	var out bytes.Buffer
	by.Reset(&out)
	_, _ = by.Write(b) // a buffer accepts everything
	_ = by.Close()
	return out.Bytes()
}

// Path returns the address of a file that pages load. It contains the content's digest, so a browser can cache the file permanently and,
// after a program update, never shows a new page with an old style.
func (f Files) Path(name string) string {
	a := f[name]
	if a == nil {
		return "/static/" + name
	}
	ext := path.Ext(name)
	return "/static/" + strings.TrimSuffix(name, ext) + "." + a.digest + ext
}

// ServeHTTP serves the files that pages load. Under a name with its digest, a file is cached permanently; under the bare name, it is
// revalidated each time. For a name with another version's digest, it sends this version's file without caching, since in a cluster a
// page of one version may request a file from a node of the next.
func (f Files) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/static/")
	a, kept := f[name], false
	if a == nil {
		ext := path.Ext(name)
		stem := strings.TrimSuffix(name, ext)
		if i := strings.LastIndexByte(stem, '.'); i >= 0 {
			if a = f[stem[:i]+ext]; a != nil {
				kept = stem[i+1:] == a.digest
			}
		}
	}
	if a == nil {
		http.NotFound(rw, r)
		return
	}
	h := rw.Header()
	h.Set("Cache-Control", "no-cache") // revalidated each time
	if kept {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Content-Type", a.kind)
	h.Set("Vary", "Accept-Encoding")
	body, tag := a.content, a.digest
	if a.zipped != nil && takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body, tag = a.zipped, tag+"-gzip"
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(body))
}

// takesGzip reports whether the browser accepts gzip (RFC 9110, section 12.5.3).
func takesGzip(r *http.Request) bool {
	for _, one := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(one), ";")
		if q = strings.TrimSpace(q); strings.EqualFold(strings.TrimSpace(name), "gzip") && q != "q=0" && !strings.HasPrefix(q, "q=0.0") {
			return true
		}
	}
	return false
}

// leastZipped is the minimum size of a page worth compressing; smaller pages fit into one packet.
const leastZipped = 1400

// Send writes a page or a fragment of one, compressed if the browser accepts that. It does not compress answers to methods other than
// GET, because they may contain secrets that are shown only once, for example a token.
func Send(rw http.ResponseWriter, r *http.Request, code int, body []byte) {
	h := rw.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Encoding")
	if len(body) >= leastZipped && r.Method == http.MethodGet && takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		z := pageZippers.Get().(*gzip.Writer)
		body = zipped(body, z)
		pageZippers.Put(z)
	}
	rw.WriteHeader(code)
	_, _ = rw.Write(body) // an error means that the browser has disconnected
}
