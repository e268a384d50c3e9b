package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"

	"concordat/extract"
)

// pageRequest requests the letters of all pages of a PDF, one page, or several pages without their images.
type pageRequest struct {
	Number int `json:"number"` // 0 for the letters of all pages
	Width  int `json:"width"`  // width of the image in pixels
	Count  int `json:"count"`  // number of pages starting with Number, without images; 0 for one page with its image
}

// pages reports whether a answers a pageRequest.
func (a answer) pages() bool {
	return a.Letters != nil || a.Page != nil || a.Pages != nil || a.Err != nil
}

// answerPages answers a request, in the child process.
func answerPages(rq *pageRequest, data []byte, o extract.Options) answer {
	fail := func(err error) answer {
		var e *extract.Error
		if !errors.As(err, &e) {
			e = &extract.Error{Code: extract.Damaged, Detail: err.Error()}
		}
		return answer{Err: e}
	}
	if o.PDF == nil {
		return fail(errors.New("the extraction child has no PDFium"))
	}
	if rq.Number == 0 {
		letters, err := o.PDF.Letters(data, o)
		if err != nil {
			return fail(err)
		}
		if letters == nil {
			letters = []string{}
		}
		return answer{Letters: append(letters, "")} // so that an answer without pages differs from no answer
	}
	if rq.Count > 0 {
		pages, err := o.PDF.Pages(data, rq.Number, rq.Count)
		if err != nil {
			return fail(err)
		}
		return answer{Pages: pages}
	}
	page, err := o.PDF.Page(data, rq.Number, rq.Width)
	if err != nil {
		return fail(err)
	}
	return answer{Page: page}
}

// Letters returns the folded letters of each page of the PDF at path; see extract.PDF.Letters. If the file is
// at fault, the error is an *extract.Error; any other error is due to the machine or to ctx.
func (r *Runner) Letters(ctx context.Context, path string) ([]string, error) {
	a, err := r.ask(ctx, path, pageRequest{})
	if err != nil {
		return nil, err
	}
	if len(a.Letters) == 0 {
		return nil, fmt.Errorf("pages of %s: received the answer to a different request", path)
	}
	return a.Letters[:len(a.Letters)-1], nil
}

// Page returns page number n, from 1, of the PDF at path, rendered width pixels wide. It returns the same errors as Letters.
func (r *Runner) Page(ctx context.Context, path string, n, width int) (*extract.Page, error) {
	if n < 1 {
		return nil, &extract.Error{Code: extract.Unreadable, Detail: "pages are numbered from 1"}
	}
	a, err := r.ask(ctx, path, pageRequest{Number: n, Width: width})
	if err == nil && a.Page == nil {
		err = fmt.Errorf("page %d of %s: received the answer to a different request", n, path)
	}
	return a.Page, err
}

// Pages returns up to n pages, starting with number from, without their images; see extract.PDF.Pages. It returns the same errors as
// Letters.
func (r *Runner) Pages(ctx context.Context, path string, from, n int) ([]*extract.Page, error) {
	if from < 1 || n < 1 {
		return nil, &extract.Error{Code: extract.Unreadable, Detail: "pages are numbered from 1"}
	}
	a, err := r.ask(ctx, path, pageRequest{Number: from, Count: n})
	if err == nil && len(a.Pages) == 0 {
		err = fmt.Errorf("pages of %[2]s, from page %[1]d on: received the answer to a different request", from, path)
	}
	return a.Pages, err
}

// ask sends a file to a child with PDFium and returns its only answer.
func (r *Runner) ask(ctx context.Context, path string, rq pageRequest) (answer, error) {
	f, err := os.Open(path)
	if err != nil {
		return answer{}, &extract.Error{Code: extract.Unreadable, Detail: plainCause(err)}
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return answer{}, err
	}
	if info.Size() > r.opt.Extract.MaxInput {
		return answer{}, extract.LimitError("input size", "MaxInput", fmt.Sprintf("%d bytes, limit %d", info.Size(), r.opt.Extract.MaxInput))
	}
	c, err := r.take(withPDF, false)
	if err != nil {
		return answer{}, err
	}
	timed, cancel := context.WithTimeout(ctx, r.opt.Wall)
	defer cancel()
	stop := context.AfterFunc(timed, c.kill)
	defer stop()
	var a answer
	var srcErr error
	if _, err = c.ready(); err == nil {
		srcErr = c.send(request{Name: path, Size: info.Size(), Pages: &rq}, f)
		a, err = c.answer(r.opt.Extract)
	}
	c.kill()
	end := c.wait()
	switch {
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case srcErr != nil:
		return answer{}, &extract.Error{Code: extract.Unreadable, Detail: plainCause(srcErr)}
	case err != nil:
		return answer{}, end.cause(timed.Err() != nil, r.opt, err).WithAdvice()
	case a.Err != nil:
		return answer{}, a.Err.WithAdvice()
	}
	return a, nil
}
