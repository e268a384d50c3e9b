package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"concordat"
)

// Sealed is the content of a file read by Open.
type Sealed struct {
	// Signature is the file's last signature, a detached CMS SignedData in DER; nil if it has none.
	Signature []byte
	Content   []byte // signed bytes
	Added     int    // number of bytes appended after the signed part
	// Rewritten means that the space for the signature, the only unsigned part, does not consist of lower-case hexadecimal digits
	// followed by zeros, as Seal writes it.
	Rewritten bool
	Files     []File // attachments added by Seal, in the same order
}

var byteRange = regexp.MustCompile(`/ByteRange \[0 (\d{1,10}) *(\d{1,10}) *(\d{1,10}) *\]`)

const (
	maxFile  = 1 << 30 // maximum size of an unpacked attachment
	maxFiles = 16      // maximum number of attachments
	// maxSignature is the maximum size of a signature, in bytes of the file.
	maxSignature = 1 << 20
)

// Open reads a file written by Seal, even if it was changed afterwards. It is not a general PDF reader. It finds the parts by the form in
// which Seal writes them, and fails with concordat.ErrInvalid if there are none, for example because another program has rewritten the
// file. Open proves nothing, so the caller must check the signature.
func Open(b []byte) (*Sealed, error) {
	s := &Sealed{}
	if !bytes.HasPrefix(b, []byte("%PDF-")) {
		return nil, fmt.Errorf("pdf: %w: not a PDF file", concordat.ErrInvalid)
	}
	if err := s.signature(b); err != nil {
		return nil, fmt.Errorf("pdf: %w: %w", concordat.ErrInvalid, err)
	}
	if err := s.files(b); err != nil {
		return nil, fmt.Errorf("pdf: %w: %w", concordat.ErrInvalid, err)
	}
	return s, nil
}

func (s *Sealed) signature(b []byte) error {
	all := byteRange.FindAllSubmatch(b, -1)
	if all == nil {
		return nil
	}
	m := all[len(all)-1]
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(string(m[i+1])); err != nil {
			return err
		}
	}
	open, after, rest := n[0], n[1], n[2]
	if open < 0 || after < open+2 || after > len(b) || b[open] != '<' || b[after-1] != '>' {
		return fmt.Errorf("the signature is not at the position stated in the file")
	}
	if after-open > maxSignature {
		return fmt.Errorf("the signature is too long (%d bytes)", after-open)
	}
	if rest > len(b)-after {
		return fmt.Errorf("the file is truncated: %d bytes are missing", rest-(len(b)-after))
	}
	s.Added = len(b) - after - rest
	der := make([]byte, hex.DecodedLen(after-open-2))
	if _, err := hex.Decode(der, b[open+1:after-1]); err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	s.Signature = der[:derLength(der)]
	s.Rewritten = bytes.ContainsAny(b[open+1:after-1], "ABCDEF") || len(bytes.Trim(der[len(s.Signature):], "\x00")) > 0
	s.Content = append(bytes.Clone(b[:open]), b[after:after+rest]...)
	return nil
}

// derLength returns the length of the DER value at the start of b, at most len(b); unused space follows it.
func derLength(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	n, head := int(b[1]), 2
	if n >= 0x80 {
		k := n & 0x7f
		if k > 4 || len(b) < 2+k {
			return len(b)
		}
		n, head = 0, 2+k
		for _, c := range b[2 : 2+k] {
			n = n<<8 | int(c)
		}
	}
	return min(head+n, len(b))
}

var (
	embedded = regexp.MustCompile(`(\d{1,10}) 0 obj\n<< /Type /EmbeddedFile /Subtype /([!-~]{1,60}) /Filter /FlateDecode /Length (\d{1,10}) /Params << /Size (\d{1,10}) >> >>\nstream\n`)
	filespec = regexp.MustCompile(`<< /Type /Filespec /F <([0-9a-f]*)> /UF <[0-9a-f]*> /Desc <[0-9a-f]*> /AFRelationship /Data /EF << /F (\d{1,10}) 0 R`)
)

func (s *Sealed) files(b []byte) error {
	names := map[string]string{}
	for _, m := range filespec.FindAllSubmatch(b, -1) {
		raw, err := hex.DecodeString(string(m[1]))
		if err != nil || len(raw) < 2 {
			return fmt.Errorf("the name of an attachment cannot be read")
		}
		var name []rune
		for i := 2; i+1 < len(raw); i += 2 {
			name = append(name, rune(raw[i])<<8|rune(raw[i+1]))
		}
		names[string(m[2])] = string(name)
	}
	for _, m := range embedded.FindAllSubmatchIndex(b, maxFiles+1) {
		if len(s.Files) == maxFiles {
			return fmt.Errorf("the file has more than %d attachments", maxFiles)
		}
		length, err := strconv.Atoi(string(b[m[6]:m[7]]))
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(b[m[8]:m[9]]), 10, 64)
		if err != nil {
			return err
		}
		name := names[string(b[m[2]:m[3]])]
		if length > len(b)-m[1] || size > maxFile {
			return fmt.Errorf("attachment %q is too large or extends past the end of the file", name)
		}
		z, err := zlib.NewReader(bytes.NewReader(b[m[1] : m[1]+length]))
		if err != nil {
			return fmt.Errorf("attachment %q: %w", name, err)
		}
		content, err := io.ReadAll(io.LimitReader(z, size+1))
		if err == nil && int64(len(content)) != size {
			err = fmt.Errorf("the length differs from the length stated in the file")
		}
		if err != nil {
			return fmt.Errorf("attachment %q: %w", name, err)
		}
		s.Files = append(s.Files, File{Name: name, Type: plainName(string(b[m[4]:m[5]])), Content: content})
	}
	return nil
}

// plainName is the inverse of nameOf.
func plainName(s string) string {
	out, err := url.PathUnescape(strings.ReplaceAll(strings.ReplaceAll(s, "%", "%25"), "#", "%"))
	if err != nil {
		return s
	}
	return out
}

// File returns the attachment with the given name; ok is false unless exactly one has it.
func (s *Sealed) File(name string) (content []byte, ok bool) {
	for _, f := range s.Files {
		if f.Name == name {
			if ok {
				return nil, false
			}
			content, ok = f.Content, true
		}
	}
	return content, ok
}
