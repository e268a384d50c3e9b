package extract

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"time"
)

// mailPart is a leaf of a message.
type mailPart struct {
	kind, charset, name, location string
	attached                      bool
	alternative                   bool // another part has the same content and is displayed instead
	data                          []byte
}

// readMail reads the subject, sender and bodies of a message. Attachments are members.
func readMail(b *builder, data []byte) error {
	msg, err := readMessage(data)
	if err != nil {
		return &Error{Code: Damaged, Detail: "message: " + err.Error()}
	}
	b.res.Title, b.res.Author = decodeHeader(msg.Header.Get("Subject")), decodeHeader(msg.Header.Get("From"))
	if at, err := msg.Header.Date(); err == nil {
		b.dated(at.Format(time.RFC3339))
	}
	parts, err := mailParts(textproto.MIMEHeader(msg.Header), msg.Body, b.opt, b.lim, 0)
	if err != nil {
		b.partial(asError(err).Code, asError(err).Detail)
	}
	if b.res.Format == string(EML) && b.res.Title != "" {
		b.text(b.res.Title)
		b.end()
	}
	attached := 0
	for _, p := range b.shownParts(parts) {
		if p.attached {
			attached++
			continue
		}
		if err := b.bodyText(p); err != nil {
			b.partial(asError(err).Code, asError(err).Detail)
		}
	}
	if attached > 0 {
		b.flag(Flag{Code: FlagAttachment, Detail: "attachments are read as members", Count: attached})
	}
	return nil
}

// readMessage parses a message or, for a mailbox, the first one without its "From " line.
func readMessage(data []byte) (*mail.Message, error) {
	if bytes.HasPrefix(data, []byte("From ")) {
		if rest := nextMessage(data); rest != nil {
			data = data[:len(data)-len(rest)]
		}
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			data = data[i+1:]
		}
	}
	data = bytes.TrimLeft(data, "\r\n")
	return mail.ReadMessage(bufio.NewReader(bytes.NewReader(data)))
}

var wordDecoder = mime.WordDecoder{CharsetReader: func(name string, r io.Reader) (io.Reader, error) {
	c, ok := byName(name)
	if !ok || c.enc == nil {
		return r, nil
	}
	return c.enc.NewDecoder().Reader(r), nil
}}

func decodeHeader(s string) string {
	d, err := wordDecoder.DecodeHeader(s)
	if err != nil {
		return s
	}
	return d
}

// mailParts returns the leaves of a message in order.
func mailParts(h textproto.MIMEHeader, body io.Reader, o Options, lim *budget, depth int) ([]mailPart, error) {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		kind, params = "text/plain", map[string]string{}
	}
	if strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" {
		return multiParts(kind, params["boundary"], body, o, lim, depth)
	}
	data, err := readBounded(decodeTransfer(h.Get("Content-Transfer-Encoding"), body), "a part of the message", -1, o, lim)
	p := mailPart{kind: kind, charset: params["charset"], name: params["name"], location: h.Get("Content-Location"), data: data}
	if disposition, dp, derr := mime.ParseMediaType(h.Get("Content-Disposition")); derr == nil {
		p.attached = disposition == "attachment"
		if dp["filename"] != "" {
			p.name = dp["filename"]
		}
	}
	p.name = decodeHeader(p.name)
	if !strings.HasPrefix(kind, "text/") && !strings.HasPrefix(kind, "image/") {
		p.attached = true
	}
	if kind == "text/plain" && p.charset == "" && p.name != "" && h.Get("Content-Disposition") != "" {
		p.attached = true
	}
	return []mailPart{p}, err
}

func multiParts(kind, boundary string, body io.Reader, o Options, lim *budget, depth int) ([]mailPart, error) {
	if depth >= 10 {
		return nil, limitError("message nesting", "MaxNesting", "more than 10 levels")
	}
	var all []mailPart
	mr := multipart.NewReader(body, boundary)
	for {
		p, err := mr.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return all, &Error{Code: Damaged, Detail: "message: " + err.Error()}
		}
		if lim.entries--; lim.entries < 0 {
			return all, limitError("message parts", "MaxEntries", fmt.Sprintf("more than %d", o.MaxEntries))
		}
		sub, err := mailParts(p.Header, p, o, lim, depth+1)
		if kind == "multipart/alternative" && len(sub) > 0 {
			all = preferred(all, sub)
		} else {
			all = append(all, sub...)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// preferred marks which of two alternatives is not displayed. The later of the readable ones is displayed, because it is the richer one
// according to RFC 2046.
func preferred(old, next []mailPart) []mailPart {
	if len(old) == 0 {
		return next
	}
	less := next
	if slices.ContainsFunc(next, func(p mailPart) bool { return p.kind == "text/html" }) {
		less = old
	}
	for i := range less {
		less[i].alternative = true
	}
	return append(old, next...)
}

func decodeTransfer(name string, r io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, &base64Cleaner{r: r})
	case "quoted-printable":
		return quotedprintable.NewReader(r)
	}
	return r
}

// base64Cleaner drops every byte that is not in the alphabet, as RFC 2045 requires.
type base64Cleaner struct{ r io.Reader }

func (c *base64Cleaner) Read(p []byte) (int, error) {
	for {
		n, err := c.r.Read(p)
		k := 0
		for _, b := range p[:n] {
			if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '+' || b == '/' || b == '=' {
				p[k] = b
				k++
			}
		}
		if k > 0 || err != nil {
			return k, err
		}
	}
}

// shownParts drops pictures, text that belongs to a page's layout, and alternatives, and records their content.
func (b *builder) shownParts(parts []mailPart) []mailPart {
	var out []mailPart
	for _, p := range parts {
		switch {
		case strings.HasPrefix(p.kind, "image/"):
			b.pictures(1, int64(len(p.data)))
		case p.kind == "text/css", p.kind == "text/javascript":
		case p.alternative && !p.attached:
			b.alternativePart(p)
		default:
			out = append(out, p)
		}
	}
	return out
}

// alternativePart records the text of a part replaced by another one.
func (b *builder) alternativePart(p mailPart) {
	if !strings.HasPrefix(p.kind, "text/") {
		return
	}
	probe := newBuilder(EML, b.opt, b.lim)
	if err := probe.bodyText(p); err != nil {
		b.missing(Flag{Code: FlagPart, Bytes: int64(len(p.data)), Detail: "an alternative version of the message cannot be read"})
		return
	}
	probe.end()
	b.alternative(probe.out.String())
}

// bodyText writes a text part in the encoding named in its header, if the encoding fits.
func (b *builder) bodyText(p mailPart) error {
	if len(bytes.TrimSpace(p.data)) == 0 {
		return nil
	}
	c, ok := byName(p.charset)
	if p.charset == "" || !ok || !c.fits(p.data) {
		var err error
		if c, err = detectEncoding(p.data); err != nil {
			return err
		}
	}
	c.sure = true
	s, err := b.decodeAs(p.data, c)
	if err != nil {
		return err
	}
	b.end()
	if p.kind == "text/html" {
		title := b.res.Title
		b.htmlText(s)
		if title != "" {
			b.res.Title = title
		}
		return nil
	}
	b.plainParagraphs(s)
	return nil
}

// plainParagraphs writes plain text inside another text; empty lines end paragraphs.
func (b *builder) plainParagraphs(s string) {
	for _, l := range strings.Split(cleanPlain(s), "\n") {
		if strings.TrimSpace(l) == "" {
			b.end()
			continue
		}
		b.line()
		b.text(l)
	}
	b.end()
}

// readMHTML reads the first HTML part of a web page saved as a message.
func readMHTML(b *builder, data []byte) error {
	msg, err := readMessage(data)
	if err != nil {
		return &Error{Code: Damaged, Detail: "message: " + err.Error()}
	}
	parts, err := mailParts(textproto.MIMEHeader(msg.Header), msg.Body, b.opt, b.lim, 0)
	for _, p := range b.shownParts(parts) {
		if p.kind == "text/html" || p.kind == "text/plain" || p.kind == "application/xhtml+xml" {
			if terr := b.bodyText(p); terr != nil && err == nil {
				err = terr
			}
		}
	}
	return err
}
