package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"

	"concordat"
	"concordat/site"
	"concordat/store"
)

type newCheck struct {
	Libraries []store.Library
	Templates []string
	Partners  []Partner
	Problem   string
	MaxMiB    int64
	MaxFiles  int
	NoStore   bool // by the policy of the site
}

func (w *Web) newPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.showNew(rw, r, v, http.StatusOK, "")
}

func (w *Web) showNew(rw http.ResponseWriter, r *http.Request, v *visitor, code int, problem string) {
	libraries, err := w.o.Store.Libraries(r.Context())
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	partners, err := w.o.Partners(r.Context())
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.show(rw, r, v, code, "new", "title.new", newCheck{Libraries: libraries, Partners: partners, Templates: w.o.Templates(), Problem: problem,
		MaxMiB: w.o.MaxUpload >> 20, MaxFiles: mostFiles, NoStore: w.o.Policy.NoStore})
}

// upload is what a form handed in.
type upload struct {
	jobs   []site.Job // one for each file
	fields map[string][]string
	bytes  int64 // of the files
}

func (u *upload) field(name string) string {
	if f := u.fields[name]; len(f) > 0 {
		return f[0]
	}
	return ""
}

// submit takes files or a text and makes a check of each. The files are on disk before anything is
// answered.
func (w *Web) submit(rw http.ResponseWriter, r *http.Request, v *visitor) {
	err := w.mayUpload(rw, r, v)
	var u *upload
	if err == nil {
		u, err = w.read(rw, r)
	}
	var ids []concordat.TaskID
	if err == nil {
		ids, err = w.hand(r.Context(), v, u)
	}
	switch {
	case errors.Is(err, errNothing):
		w.showNew(rw, r, v, http.StatusBadRequest, "new.nothing")
	case err != nil:
		w.fail(rw, r, v, err)
	case len(ids) == 1:
		http.Redirect(rw, r, "/checks/"+string(ids[0]), http.StatusSeeOther)
	default:
		http.Redirect(rw, r, "/checks", http.StatusSeeOther)
	}
}

var errNothing = fmt.Errorf("%w: no file and no text", concordat.ErrInvalid)

// hand puts a check of each file and text into the queue.
func (w *Web) hand(ctx context.Context, v *visitor, u *upload) ([]concordat.TaskID, error) {
	jobs := u.jobs
	if text := u.field("text"); strings.TrimSpace(text) != "" {
		jobs = append(jobs, site.Job{Name: "text", Title: u.field("title"), Text: strings.ToValidUTF8(text, "\ufffd")})
	}
	if len(jobs) == 0 {
		return nil, errNothing
	}
	template := u.field("template")
	if template != "" && !slices.Contains(w.o.Templates(), template) {
		return nil, fmt.Errorf("template %q: %w", template, concordat.ErrInvalid)
	}
	var libraries []concordat.LibraryID
	for _, name := range u.fields["library"] {
		l, err := w.o.Store.Library(ctx, concordat.LibraryID(name))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", concordat.ErrInvalid, err)
		}
		libraries = append(libraries, l.ID)
	}
	partners, err := w.chosen(ctx, u.fields["partner"])
	if err != nil {
		return nil, err
	}
	if v.Public && len(partners) > 0 {
		return nil, fmt.Errorf("%w: a public account asks no partners", concordat.ErrRefused)
	}
	done, err := w.spend(ctx, v, jobs, u.bytes+int64(len(u.field("text"))))
	if err != nil {
		return nil, err
	}
	defer done()
	batch := ""
	if len(jobs) > 1 {
		batch = strings.ToLower(rand.Text())
	}
	var ids []concordat.TaskID
	for _, j := range jobs {
		j.Template, j.Libraries, j.Partners, j.Purpose = template, libraries, partners, strings.TrimSpace(u.field("purpose"))
		j.NoStore = w.o.Policy.NoStore || u.field("no_store") != ""
		id, err := w.o.Queue.Submit(ctx, v.Name, batch, j)
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
		w.plan(ctx, v, store.RecheckCheck, string(id))
		w.audit(ctx, v.Name, "check_submitted", map[string]any{"task": id, "file": j.File})
	}
	return ids, nil
}

// chosen returns the partners of a form, each of which must be one that can be asked.
func (w *Web) chosen(ctx context.Context, names []string) ([]concordat.SiteID, error) {
	if len(names) == 0 {
		return nil, nil
	}
	all, err := w.o.Partners(ctx)
	if err != nil {
		return nil, err
	}
	var out []concordat.SiteID
	for _, name := range names {
		if !slices.ContainsFunc(all, func(p Partner) bool { return string(p.Site) == name }) {
			return nil, fmt.Errorf("partner %q: %w", name, concordat.ErrInvalid)
		}
		out = append(out, concordat.SiteID(name))
	}
	return out, nil
}

// read reads the form as it comes in: files go to disk, never whole into memory.
func (w *Web) read(rw http.ResponseWriter, r *http.Request) (*upload, error) {
	r.Body = http.MaxBytesReader(rw, r.Body, mostFiles*w.o.MaxUpload)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, fmt.Errorf("form: %w: %w", concordat.ErrInvalid, err)
	}
	u := &upload{fields: map[string][]string{}}
	room := int64(mostForm)
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err != nil {
			return nil, fmt.Errorf("form: %w: %w", concordat.ErrInvalid, err)
		}
		if p.FormName() == "file" {
			err = w.readFile(r, p, u)
		} else {
			var b []byte
			if b, err = io.ReadAll(io.LimitReader(p, room+1)); err == nil {
				if room -= int64(len(b)) + 64; room < 0 {
					return nil, fmt.Errorf("form: %w: more than %d MiB beside the files", concordat.ErrInvalid, mostForm>>20)
				}
				u.fields[p.FormName()] = append(u.fields[p.FormName()], string(b))
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

func (w *Web) readFile(r *http.Request, p *multipart.Part, u *upload) error {
	name := cleanName(p.FileName())
	if name == "" {
		return nil // a browser sends an empty part for a field without files
	}
	if len(u.jobs) == mostFiles {
		return fmt.Errorf("%w: more than %d files at once; pack them into one ZIP file", concordat.ErrInvalid, mostFiles)
	}
	hash, size, err := w.o.Files.Put(r.Context(), p, w.o.MaxUpload)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	u.bytes += size
	u.jobs = append(u.jobs, site.Job{Name: name, File: hash})
	return nil
}

// cleanName returns the last part of a file's name without what could do harm where it is shown.
func cleanName(name string) string {
	name = path.Base("/" + strings.ReplaceAll(strings.ToValidUTF8(name, "\ufffd"), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, name)
	if name == "/" || name == "." || name == ".." {
		return ""
	}
	if runes := []rune(name); len(runes) > 120 {
		name = string(runes[len(runes)-120:])
	}
	return name
}
