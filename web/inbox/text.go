package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"concordat"
	"concordat/harvest"
	"concordat/harvest/fetch"
	"concordat/harvest/landing"
	"concordat/harvest/oai"
	"concordat/site"
	"concordat/store"
	"concordat/web/pages"
)

const (
	maxHTML   = 4 << 20 // bytes of a page
	maxSets   = 3       // link sets of a page
	maxTried  = 5       // number of texts tried per page
	acceptAny = "application/pdf, */*;q=0.5"
)

// textsOf returns the possible addresses of the text: the addresses in the request, followed by the work's page.
func textsOf(a activity) (out []thing) {
	for _, t := range append(a.Object.Items, a.Object) {
		if isWeb(t.ID) {
			out = append(out, t)
		}
	}
	return out
}

// refusedError states why the site cannot check a text; retrying cannot help.
type refusedError struct{ words string }

func (e *refusedError) Error() string { return e.words }

func refuse(format string, args ...any) error { return &refusedError{fmt.Sprintf(format, args...)} }

// fetchError states why a text could not be fetched; retrying can help.
type fetchError struct{ cause error }

func (e *fetchError) Error() string { return fmt.Sprintf("%v: %v", concordat.ErrUnavailable, e.cause) }
func (e *fetchError) Unwrap() error { return e.cause }

// text fetches the text of a request and stores it. A *refusedError is final.
func (d *Inbox) text(ctx context.Context, n store.Notification, a activity) (j site.Job, size int64, err error) {
	return d.first(textsOf(a), func(t thing) (site.Job, int64, error) { return d.at(ctx, n, t.ID, t.Media, true) })
}

// first returns the first text that can be checked. If all are refused, the error contains the reason for each.
func (d *Inbox) first(all []thing, at func(thing) (site.Job, int64, error)) (site.Job, int64, error) {
	var reasons []string
	for _, t := range all {
		j, size, err := at(t)
		final := (*refusedError)(nil)
		if !errors.As(err, &final) {
			return j, size, err
		}
		if !slices.Contains(reasons, final.words) {
			reasons = append(reasons, final.words)
		}
	}
	return site.Job{}, 0, refuse("%s", cut(strings.Join(reasons, " ")))
}

// at fetches a text from an address, or from an address given on the page there.
func (d *Inbox) at(ctx context.Context, n store.Notification, address, media string, pages bool) (j site.Job, size int64, err error) {
	r, err := d.open(ctx, n, address, acceptAny)
	if err != nil {
		return j, 0, err
	}
	if !isPage(r.Type) {
		return d.keep(ctx, r, media)
	}
	if !pages {
		_ = r.Body.Close() // its content is not needed
		return j, 0, refuse("%s is a web page, not a text.", address)
	}
	items, err := d.items(ctx, n, r)
	if err != nil {
		return j, 0, err
	}
	if len(items) == 0 {
		return j, 0, refuse("The page %s does not link to a text.", address)
	}
	return d.first(items[:min(len(items), maxTried)], func(t thing) (site.Job, int64, error) { return d.at(ctx, n, t.ID, t.Media, false) })
}

func isPage(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }

// items returns the texts that a page links to (Signposting, link sets, citation_pdf_url), and closes the page.
func (d *Inbox) items(ctx context.Context, n store.Notification, r *fetch.Response) (out []thing, err error) {
	found := landing.Page(r.URL, r.Header.Values("Link"), io.LimitReader(r.Body, maxHTML))
	_ = r.Body.Close() // nothing more is read from it
	for _, set := range found.Sets[:min(len(found.Sets), maxSets)] {
		s, err := d.open(ctx, n, set.URL, "application/linkset+json, application/linkset")
		if final := (*refusedError)(nil); errors.As(err, &final) {
			continue
		}
		if err != nil {
			return nil, err
		}
		more, err := landing.Set(s.URL, s.Type, s.Body, r.URL.String())
		_ = s.Body.Close() // nothing more is read from it
		if err == nil {
			found.Texts = append(found.Texts, more.Texts...)
		}
	}
	for _, l := range harvest.TextLinks(found) {
		out = append(out, thing{ID: l.URL, Media: l.Type})
	}
	return out, nil
}

// open requests an address. robots.txt is ignored for the sender's host, since the sender requested the transfer.
func (d *Inbox) open(ctx context.Context, n store.Notification, address, accept string) (*fetch.Response, error) {
	r, err := d.w.Options().Harvest.Open(ctx, address, fetch.Want{Accept: accept, Most: d.w.Options().MaxUpload,
		Protocol: sameHost(address, n.Origin)})
	status := (*fetch.StatusError)(nil)
	switch {
	case err == nil:
		return r, nil
	case errors.As(err, &status) && status.Code < 500 && status.Code != http.StatusTooManyRequests &&
		status.Code != http.StatusRequestTimeout:
		return nil, refuse("%s cannot be read: %v.", address, status)
	case errors.Is(err, fetch.ErrLarge), errors.Is(err, fetch.ErrPrivate), errors.Is(err, fetch.ErrRobots),
		errors.Is(err, concordat.ErrInvalid):
		return nil, refuse("%s cannot be read: %v.", address, err)
	}
	return nil, &fetchError{fmt.Errorf("%s: %w", address, err)}
}

func sameHost(a, b string) bool {
	x, err1 := url.Parse(a)
	y, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// keep stores the file in a response. The file is accepted as a text if the server, its name or the sender identifies it as one.
func (d *Inbox) keep(ctx context.Context, r *fetch.Response, stated string) (j site.Job, size int64, err error) {
	defer func() { _ = r.Body.Close() }() // read to the end or abandoned
	media := cmp.Or(r.Type, stated)
	if !oai.IsText(media, "") && oai.IsText(stated, "") {
		media = stated
	}
	if !oai.IsText(media, r.Name) && !oai.IsText("", r.Name) {
		return j, 0, refuse("%s cannot be read as text: %s.", r.URL, cmp.Or(media, "its type is unknown"))
	}
	if err := d.w.Intake.CheckDisk(); err != nil {
		return j, 0, err
	}
	hash, size, err := d.w.Options().Files.Put(ctx, r.Body, d.w.Options().MaxUpload)
	switch {
	case errors.Is(err, fetch.ErrLarge), errors.Is(err, concordat.ErrInvalid):
		return j, 0, refuse("%s is larger than the site accepts.", r.URL)
	case errors.Is(err, concordat.ErrDiskFull):
		return j, 0, err
	case err != nil: // the connection was interrupted
		return j, 0, &fetchError{fmt.Errorf("%s: %w", r.URL, err)}
	case size == 0:
		return j, 0, refuse("%s is empty.", r.URL)
	}
	name := pages.CleanName(harvest.WithEnding(path.Base(r.Name), media))
	return site.Job{Name: name, File: hash, NoStore: d.w.Options().Policy.NoStore}, size, nil
}
