package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"concordat/extract"
)

// OCR reads pages without a text layer with Tesseract, a separate program that must be installed. It sees only images rendered by the
// child. A zero field selects its default.
type OCR struct {
	// Command is the program; default "tesseract", looked up in PATH.
	Command string
	// Languages as Tesseract names them, for example "eng+chi_sim"; default "eng".
	Languages string
	// MaxPages is the maximum number of pages of one file; default 50.
	MaxPages int
	// PageTime is the time limit for one page; default 1 minute.
	PageTime time.Duration
}

func (o OCR) withDefaults() OCR {
	if o.Command == "" {
		o.Command = "tesseract"
	}
	if o.Languages == "" {
		o.Languages = "eng"
	}
	if o.MaxPages == 0 {
		o.MaxPages = 50
	}
	if o.PageTime == 0 {
		o.PageTime = time.Minute
	}
	return o
}

// check fails if the program is missing, or if its languages, which become an argument, are not plain names.
func (o OCR) check() error {
	if _, err := exec.LookPath(o.Command); err != nil {
		return fmt.Errorf("character recognition: %w", err)
	}
	if strings.Trim(o.Languages, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_+0123456789") != "" {
		return fmt.Errorf("character recognition: languages %q: want names joined by +", o.Languages)
	}
	return nil
}

// maxPageText is the maximum amount of text taken from one page.
const maxPageText = 1 << 20

// page returns the text in one image, split into paragraphs.
func (o OCR) page(ctx context.Context, png []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, o.PageTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.Command, "stdin", "stdout", "-l", o.Languages)
	cmd.Env = []string{"OMP_THREAD_LIMIT=1", "PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(png)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	text, readErr := io.ReadAll(io.LimitReader(out, maxPageText))
	_, _ = io.Copy(io.Discard, out) // drain the output so that the program can end
	if err := errors.Join(cmd.Wait(), readErr); err != nil {
		return "", err
	}
	return paragraphs(string(text)), nil
}

// paragraphs joins the printed lines of each paragraph, and words divided at line ends.
func paragraphs(s string) string {
	var out []string
	for _, p := range strings.Split(strings.ToValidUTF8(strings.ReplaceAll(s, "\f", "\n\n"), "\uFFFD"), "\n\n") {
		joined := ""
		for _, l := range strings.Split(p, "\n") {
			l = strings.Join(strings.Fields(strings.ReplaceAll(l, "\x00", "")), " ")
			switch {
			case joined == "" || l == "":
				joined += l
			case strings.HasSuffix(joined, "-") && unicode.IsLower([]rune(l)[0]):
				joined = strings.TrimSuffix(joined, "-") + l
			default:
				joined += " " + l
			}
		}
		if joined != "" {
			out = append(out, joined)
		}
	}
	return strings.Join(out, "\n\n")
}

// recognise adds the text of each scanned page to its item, in the page's place and with a flag. Pages that cannot be recognised remain
// missing, as their flag or error states.
func (o OCR) recognise(ctx context.Context, it Item) Item {
	scans := it.Scans
	it.Scans = nil
	sort.Slice(scans, func(i, j int) bool { return scans[i].Page < scans[j].Page })
	r := it.Result
	if r == nil {
		r = &extract.Result{Format: "pdf", Partial: true}
		if it.Err != nil {
			r.Flags = append(r.Flags, extract.Flag{Code: it.Err.Code, Detail: it.Err.Detail, Count: 1, Missing: true})
		}
	}
	found := false
	for i, s := range scans {
		if i >= o.MaxPages {
			r.Flags = append(r.Flags, extract.Flag{Code: extract.FlagPageLimit, Count: len(scans) - i, Missing: true,
				Detail: fmt.Sprintf("character recognition ended after %d pages", i)})
			break
		}
		text, err := o.page(ctx, s.PNG)
		if err != nil {
			r.Flags = append(r.Flags, extract.Flag{Code: extract.FlagPart, Count: 1, Missing: true,
				Detail: fmt.Sprintf("page %d: character recognition ended with an error", s.Page)})
			continue
		}
		if text != "" {
			found = true
			insert(r, s.Page, text)
		}
	}
	if found {
		it.Result, it.Err = r, nil
	}
	return it
}

// insert inserts the text of a page before the next page's text, and moves later places and flags.
func insert(r *extract.Result, page int, text string) {
	at, k := len(r.Text), len(r.Places)
	for i, p := range r.Places {
		if n, err := strconv.Atoi(strings.TrimPrefix(p.Label, "page ")); err == nil && n > page {
			at, k = p.Offset, i
			break
		}
	}
	before, after := strings.TrimRight(r.Text[:at], "\n"), r.Text[at:]
	begin := 0
	if before != "" {
		before += "\n\n"
		begin = len(before)
	}
	joint := ""
	if after != "" {
		joint = "\n\n"
	}
	r.Text = before + text + joint + after
	shift := len(r.Text) - len(after) - at
	for i := k; i < len(r.Places); i++ {
		r.Places[i].Offset += shift
	}
	for i := range r.Flags {
		if f := &r.Flags[i]; f.End > 0 && f.Start >= at {
			f.Start, f.End = f.Start+shift, f.End+shift
		}
	}
	r.Places = append(r.Places[:k:k], append([]extract.Place{{Offset: begin, Label: fmt.Sprintf("page %d", page)}}, r.Places[k:]...)...)
	r.Flags = append(r.Flags, extract.Flag{Code: extract.FlagOCR, Count: 1, Start: begin, End: begin + len(text),
		Detail: fmt.Sprintf("page %d was read by character recognition, which can make mistakes", page)})
}
