package signing

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"concordat"
	"concordat/report"
)

// Form is a report format with the signature in a separate line at the end.
type Form string

// These are the formats. JSON and PDF have their own kinds of signature, which also reveal what was changed.
const (
	HTML Form = "html"
	CSV  Form = "csv"
	Text Form = "text"
)

// KindFile is the kind of statement that signs a report in HTML, CSV or text.
const KindFile = "report-file"

// fileMark begins the signature in its line. fileLabel begins the signed bytes.
const (
	fileMark  = "concordat-signature 1 "
	fileLabel = "concordat/report-file/1\x00"
	maxMark   = 4096 // maximum size of the last line in bytes
)

// around returns the text before and after the signature in its line. In CSV, the signature is the first cell of an additional last row.
func (f Form) around() (before, behind string) {
	switch f {
	case HTML:
		return "<!-- ", " -->\n"
	case CSV:
		return "", strings.Repeat(",", report.CSVColumns()-1) + "\r\n"
	}
	return "", "\n"
}

// FileSignature is the signature of a report in HTML, CSV or text.
type FileSignature struct {
	Site      concordat.SiteID `json:"site"`
	KeyEpoch  uint32           `json:"key_epoch"`
	At        time.Time        `json:"at"` // in whole milliseconds
	Signature []byte           `json:"signature"`
}

// fileSum returns the digest to sign for content in a form.
func fileSum(f Form, content [32]byte) [32]byte {
	return sha256.Sum256(append([]byte(fileLabel+string(f)+"\x00"), content[:]...))
}

// WriteFile writes the output of write, followed by the site's signature if it has keys. If the keys are unavailable, it writes nothing.
func (s *Source) WriteFile(w io.Writer, f Form, write func(io.Writer) error) error {
	is, err := s.current(time.Now())
	if err != nil || is == nil {
		if err == nil {
			err = write(w)
		}
		return err
	}
	digest, end := sha256.New(), &ending{}
	if err := write(io.MultiWriter(w, digest, end)); err != nil {
		return err
	}
	before, behind := f.around()
	if end.last != '\n' {
		before = "\n" + before
		digest.Write([]byte("\n"))
	}
	sig := FileSignature{Site: siteOf(is.id), At: time.Now().UTC().Truncate(time.Millisecond)}
	sum := fileSum(f, [32]byte(digest.Sum(nil)))
	if sig.KeyEpoch, sig.Signature, err = is.id.SignStatement(KindFile, sig.At, [32]byte{}, sum[:]); err != nil {
		return fmt.Errorf("sign the report: %w", err)
	}
	b, err := json.Marshal(sig)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, before+fileMark+base64.StdEncoding.EncodeToString(b)+behind)
	return err
}

// ending is a writer that remembers the last byte written.
type ending struct{ last byte }

func (e *ending) Write(b []byte) (int, error) {
	if len(b) > 0 {
		e.last = b[len(b)-1]
	}
	return len(b), nil
}

// ReadFile returns the signature at the end of a report in HTML, CSV or text, and the digest that it signs. It fails with
// concordat.ErrNotFound if there is no signature at the end, and with concordat.ErrInvalid if the signature is invalid.
func ReadFile(b []byte) (*FileSignature, [32]byte, error) {
	start := bytes.LastIndexByte(bytes.TrimRight(b, "\r\n"), '\n') + 1
	line := b[start:]
	if len(line) > maxMark {
		return nil, [32]byte{}, fmt.Errorf("file signature: %w", concordat.ErrNotFound)
	}
	for _, f := range []Form{HTML, CSV, Text} {
		before, behind := f.around()
		rest, begins := bytes.CutPrefix(line, []byte(before+fileMark))
		code, ends := bytes.CutSuffix(rest, []byte(behind))
		if !begins || !ends || bytes.ContainsAny(code, ",\r\n") {
			continue
		}
		raw, err := base64.StdEncoding.Strict().DecodeString(string(code))
		var sig FileSignature
		if err == nil {
			err = json.Unmarshal(raw, &sig)
		}
		if again, e := json.Marshal(sig); err == nil && (e != nil || !bytes.Equal(again, raw)) {
			err = errors.New("not in the form of a signature") // only one spelling is accepted; every byte of a report counts
		}
		if err != nil {
			return nil, [32]byte{}, fmt.Errorf("file signature: %w: %v", concordat.ErrInvalid, err)
		}
		return &sig, fileSum(f, sha256.Sum256(b[:start])), nil
	}
	return nil, [32]byte{}, fmt.Errorf("file signature: %w", concordat.ErrNotFound)
}
