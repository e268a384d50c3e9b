package extract_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"concordat/extract"
)

// listed returns the result of Members as lines of the form "path: text" or "path: error code".
func listed(name string, data []byte, o extract.Options) []string {
	var out []string
	for m := range extract.Members(name, data, o) {
		if m.Err != nil {
			out = append(out, m.Path+": error "+m.Err.Code)
			continue
		}
		out = append(out, m.Path+": "+m.Result.Text)
	}
	return out
}

func tarred(t testing.TB, gz bool, heads ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range heads {
		body := h.PAXRecords["test.body"]
		h.PAXRecords = nil
		h.Size = int64(len(body))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !gz {
		return buf.Bytes()
	}
	return gzipped(t, buf.Bytes())
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func plainFile(name, body string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, PAXRecords: map[string]string{"test.body": body}}
}

func TestMembers(t *testing.T) {
	inner := zipped(t, "b.txt", "inner text")
	for _, c := range []struct {
		name, file string
		data       []byte
		want       []string
	}{
		{"no archive", "a.txt", []byte("x"), []string{"a.txt: x"}},
		{"zip", "a.zip", zipped(t, "x/one.txt", "one", "two.html", "<p>two", "empty.txt", ""),
			[]string{"a.zip!/x/one.txt: one", "a.zip!/two.html: two", "a.zip!/empty.txt: error empty"}},
		{"nested", "a.zip", zipped(t, "in.zip", string(inner)), []string{"a.zip!/in.zip!/b.txt: inner text"}},
		{"dots", "a.zip", zipped(t, "../../etc/passwd", "root"), []string{"a.zip!/etc/passwd: root"}},
		{"docx inside", "a.zip", zipped(t, "d.docx", string(docx(t, `<w:p><w:r><w:t>word</w:t></w:r></w:p>`))), []string{"a.zip!/d.docx: word"}},
		{"empty zip", "a.zip", zipped(t), []string{"a.zip: error empty"}},
		{"clutter", "a.zip", zipped(t, "__MACOSX/._a", "x", "a.txt", "a"), []string{"a.zip!/a.txt: a"}},
		{"tar.gz", "a.tar.gz", tarred(t, true, plainFile("d/one.txt", "one"),
			tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, plainFile("two.txt", "two")),
			[]string{"a.tar.gz!/d/one.txt: one", "a.tar.gz!/l: error unsupported", "a.tar.gz!/two.txt: two"}},
		{"tar", "a.tar", tarred(t, false, plainFile("one.txt", "one")), []string{"a.tar!/one.txt: one"}},
		{"gz", "a.txt.gz", gzipped(t, []byte("hello")), []string{"a.txt.gz!/a.txt: hello"}},
		{"latex", "p.zip", zipped(t, "main.tex",
			"\\documentclass{article}\\title{My work}\\newcommand{\\us}[1]{we #1}\\begin{document}Start. \\input{ch/one}\\end{document}",
			"ch/one.tex", "\\us{say} it.", "other.txt", "o"),
			[]string{"p.zip!/main.tex: Start. we say it.", "p.zip!/other.txt: o"}},
		{"mail", "a.eml", []byte("From: a@b\r\nSubject: Hi\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\nbody\r\n--B\r\nContent-Type: text/plain; name=x.txt\r\nContent-Disposition: attachment; filename=x.txt\r\nContent-Transfer-Encoding: base64\r\n\r\nYXR0\r\nYWNoZWQ=\r\n--B--\r\n"),
			[]string{"a.eml: Hi\n\nbody", "a.eml!/x.txt: attached"}},
		{"embedded", "a.docx", docx(t, `<w:p><w:r><w:t>outer</w:t></w:r></w:p>`, "word/embeddings/in.docx",
			string(docx(t, `<w:p><w:r><w:t>inner</w:t></w:r></w:p>`))),
			[]string{"a.docx: outer", "a.docx!/word/embeddings/in.docx: inner"}},
		{"mailbox", "a.mbox", []byte("From x Mon\nFrom: a@b\nSubject: One\n\nfirst\n\nFrom y Tue\nFrom: c@d\nSubject: Two\n\nsecond\n"),
			[]string{"a.mbox: One\n\nfirst", "a.mbox!/message 2: Two\n\nsecond"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := listed(c.file, c.data, extract.Options{})
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestLeftOutAtTheEnd: a system file at the end of an archive is counted with the last document.
func TestLeftOutAtTheEnd(t *testing.T) {
	inner := tarred(t, false, plainFile("b.txt", "b"), plainFile("._b.txt", "x"))
	first, last, lock := plainFile("a.txt", "a"), plainFile("Thumbs.db", "x"), plainFile("~$a.docx", "x")
	for name, data := range map[string][]byte{
		"a.tar":  tarred(t, false, plainFile(".DS_Store", "x"), first, last, lock),
		"a.tgz":  tarred(t, true, first, plainFile("._a.txt", "x"), plainFile("b.txt", "b"), last, lock),
		"in.tar": tarred(t, false, first, plainFile("in.tar", string(inner)), last, lock),
	} {
		n, texts := 0, 0
		for m := range extract.Members(name, data, extract.Options{}) {
			n += m.LeftOut.Count
			if m.Err == nil {
				texts++
			}
		}
		if n != 3 || texts < 1 {
			t.Errorf("%s: %d left out and %d texts, want 3", name, n, texts)
		}
		for range extract.Members(name, data, extract.Options{}) {
			break
		}
	}
}

// TestDeepArchives: archives nested too deeply are reported as one error with their number, and the rest is read.
func TestDeepArchives(t *testing.T) {
	inner := zipped(t, "deep.txt", "deep")
	for range 3 {
		var pairs []string
		for i := range 5 {
			pairs = append(pairs, fmt.Sprint(i, ".zip"), string(inner))
		}
		inner = zipped(t, append(pairs, "near.txt", "near")...)
	}
	var texts, faults int
	for m := range extract.Members("a.zip", inner, extract.Options{}) {
		if m.Err == nil {
			texts++
			continue
		}
		faults++
		if m.Err.Code != extract.Limit || m.Path != "a.zip!/0.zip!/0.zip!/0.zip" ||
			!strings.Contains(m.Err.Detail, "125 archives are nested more than 3 deep") {
			t.Errorf("%s: %v", m.Path, m.Err)
		}
	}
	if faults != 1 || texts != 1+5+25 {
		t.Errorf("%d faults and %d texts, want 1 and 31", faults, texts)
	}
}

func TestMembersShareALimitOnText(t *testing.T) {
	var pairs []string
	for i := range 12 {
		pairs = append(pairs, fmt.Sprintf("%02d.txt", i), strings.Repeat("x", 100))
	}
	got := listed("a.zip", zipped(t, pairs...), extract.Options{MaxText: 100})
	if len(got) != 12 || !strings.HasSuffix(got[7], "xxx") || got[8] != "a.zip!/08.txt: error limit" {
		t.Errorf("got %d members: %q", len(got), got)
	}
}

// TestBombs reads files that expand; each must end soon, with an error that names the limit.
func TestBombs(t *testing.T) {
	zeros := strings.Repeat("\x00", 100<<20)
	deep := zipped(t, "x.txt", "deepest")
	for range 6 {
		deep = zipped(t, "in.zip", string(deep))
	}
	var many []string
	for i := range 10001 {
		many = append(many, fmt.Sprintf("f%d.txt", i), "")
	}
	bombs := gzipped(t, []byte(zeros))
	xml := docx(t, strings.Repeat("<w:p>", 2_000_000))
	lying := lyingZip(t)
	for _, c := range []struct {
		name, file, code, says string
		data                   []byte
	}{
		{"gzip", "a.gz", extract.Limit, "extract.max_ratio", bombs},
		{"zip", "a.zip", extract.Limit, "extract.max_ratio", zipped(t, "z.txt", zeros)},
		{"nesting", "a.zip", extract.Limit, "extract.max_nesting", deep},
		{"entries", "a.zip", extract.Limit, "extract.max_entries", zipped(t, many...)},
		{"tar.gz", "a.tgz", extract.Limit, "extract.max_ratio", tarred(t, true, plainFile("z.txt", zeros))},
		{"xml depth", "a.docx", extract.Limit, "extract.max_", xml},
		{"lying header", "a.docx", extract.Damaged, "", lying},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			var last extract.Member
			for m := range extract.Members(c.file, c.data, extract.Options{}) {
				last = m
			}
			took := time.Since(begin)
			t.Logf("refused after %v", took.Round(time.Millisecond))
			if took > time.Minute { // on any machine, however busy; doc/evaluation/extract.md has actual times
				t.Errorf("took %v", took)
			}
			if last.Err == nil || last.Err.Code != c.code || !strings.Contains(last.Err.Error(), c.says) {
				t.Errorf("got %+v, want %s naming %q", last.Err, c.code, c.says)
			}
		})
	}
}

// lyingZip returns a DOCX whose directory declares four bytes for a part that unpacks to more.
func lyingZip(t *testing.T) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "word/document.xml", Method: zip.Store, UncompressedSize64: 4, CompressedSize64: 40, CRC32: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(strings.Repeat("<a/>", 10))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestLongFormZip reads a zip whose end record refers to the long form for the number of entries, as some programs write it for archives
// of any size.
func TestLongFormZip(t *testing.T) {
	data := zipped(t, "a.txt", "text")
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	size, at := binary.LittleEndian.Uint32(data[end+12:]), binary.LittleEndian.Uint32(data[end+16:])
	long := append([]byte(nil), data[:end]...)
	long = append(long, "PK\x06\x06"...)
	long = binary.LittleEndian.AppendUint64(long, 44)
	long = append(long, 45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	for _, n := range []uint64{1, 1, uint64(size), uint64(at)} {
		long = binary.LittleEndian.AppendUint64(long, n)
	}
	long = append(long, "PK\x06\x07\x00\x00\x00\x00"...)
	long = binary.LittleEndian.AppendUint64(long, uint64(end))
	long = append(long, 1, 0, 0, 0)
	tail := append([]byte(nil), data[end:]...)
	for i := 8; i < 20; i++ {
		tail[i] = 0xff
	}
	n := 0
	for m := range extract.Members("a.zip", append(long, tail...), extract.Options{}) {
		if n++; m.Err != nil || m.Result.Text != "text" {
			t.Errorf("got %+v, %v", m.Result, m.Err)
		}
	}
	if n != 1 {
		t.Errorf("%d members, want 1", n)
	}
}
