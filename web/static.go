package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed static
var static embed.FS

// staticFiles serves the files that pages load, by name. A browser keeps them and asks whether they are
// still the same: after an update of the program it never shows a new page in an old style.
func staticFiles() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	names, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err) // likewise
	}
	tags := map[string]string{}
	for _, e := range names {
		b, err := fs.ReadFile(files, e.Name())
		if err != nil {
			panic(err) // likewise
		}
		sum := sha256.Sum256(b)
		tags[e.Name()] = `"` + hex.EncodeToString(sum[:8]) + `"`
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/static/")
		if tags[name] == "" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Cache-Control", "no-cache") // asks each time
		rw.Header().Set("ETag", tags[name])
		http.ServeFileFS(rw, r, files, name)
	})
}
