package eval

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"concordat"
)

// Annotation is a passage of a suspicious document with its source passage, either a case of the truth or a detection. Offsets and
// lengths are in Unicode code points of the UTF-8 files, with line ends unchanged.
type Annotation struct {
	Susp, Source             string // file names
	Offset, Length           int
	SourceOffset, SourceSize int
}

// These limit the files to be read.
const (
	maxXMLBytes    = 8 << 20
	maxFeatures    = 100_000
	maxOffset      = 1 << 40
	maxPairsLine   = 4096
	maxPairs       = 10_000_000
	maxNameBytes   = 512
	truthFeature   = "plagiarism"
	detectionsName = "detected-plagiarism"
)

type panDocument struct {
	XMLName   xml.Name     `xml:"document"`
	Reference string       `xml:"reference,attr"`
	Features  []panFeature `xml:"feature"`
}

type panFeature struct {
	Name         string `xml:"name,attr"`
	Offset       *int64 `xml:"this_offset,attr"`
	Length       *int64 `xml:"this_length,attr"`
	Source       string `xml:"source_reference,attr"`
	SourceOffset *int64 `xml:"source_offset,attr"`
	SourceLength *int64 `xml:"source_length,attr"`
}

// ReadPAN returns the annotations of one PAN file: its features whose name ends in suffix ("plagiarism" selects cases and detections
// alike). It omits features without a source, since they are irrelevant to alignment. It refuses, with ErrInvalid, files above 8 MB, more
// than 100,000 features, and negative or missing offsets.
func ReadPAN(r io.Reader, suffix string) ([]Annotation, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxXMLBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxXMLBytes {
		return nil, fmt.Errorf("file is larger than %d bytes: %w", maxXMLBytes, concordat.ErrInvalid)
	}
	var d panDocument
	if err := xml.NewDecoder(bytes.NewReader(b)).Decode(&d); err != nil {
		return nil, fmt.Errorf("%w: %w", err, concordat.ErrInvalid)
	}
	if len(d.Features) > maxFeatures {
		return nil, fmt.Errorf("file contains more than %d features: %w", maxFeatures, concordat.ErrInvalid)
	}
	var out []Annotation
	for i, f := range d.Features {
		if !strings.HasSuffix(f.Name, suffix) || f.Source == "" {
			continue
		}
		for _, v := range []*int64{f.Offset, f.Length, f.SourceOffset, f.SourceLength} {
			if v == nil || *v < 0 || *v > maxOffset {
				return nil, fmt.Errorf("feature %d: offset or length is missing or out of range: %w", i+1, concordat.ErrInvalid)
			}
		}
		out = append(out, Annotation{
			d.Reference, f.Source, int(*f.Offset), int(*f.Length), int(*f.SourceOffset), int(*f.SourceLength),
		})
	}
	return out, nil
}

// WritePAN writes the detections in one suspicious document in PAN's format. All of them must belong to document susp; it refuses names
// that are not UTF-8.
func WritePAN(w io.Writer, susp string, detections []Annotation) error {
	bw := bufio.NewWriter(w)
	fmt.Fprintf(bw, "<document reference=\"%s\">\n", escaped(susp))
	for _, d := range detections {
		if d.Susp != susp {
			return fmt.Errorf("write %s: got a detection in %s: %w", susp, d.Susp, concordat.ErrInvalid)
		}
		fmt.Fprintf(bw, "<feature name=\"%s\" this_offset=\"%d\" this_length=\"%d\" source_reference=\"%s\" source_offset=\"%d\" source_length=\"%d\" />\n",
			detectionsName, d.Offset, d.Length, escaped(d.Source), d.SourceOffset, d.SourceSize)
	}
	fmt.Fprintf(bw, "</document>\n")
	return bw.Flush()
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder cannot fail
	return b.String()
}

// DocumentPair names a suspicious document and a source to compare it with.
type DocumentPair struct{ Susp, Source string }

// ReadPairs reads lines "susp source" and skips empty ones. It refuses, with ErrInvalid, lines of another form and names that are not
// plain file names.
func ReadPairs(r io.Reader) ([]DocumentPair, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, maxPairsLine), maxPairsLine)
	var out []DocumentPair
	for n := 1; sc.Scan(); n++ {
		f := strings.Fields(sc.Text())
		if len(f) == 0 {
			continue
		}
		if len(f) != 2 || !plainName(f[0]) || !plainName(f[1]) {
			return nil, fmt.Errorf("line %d: want two file names: %w", n, concordat.ErrInvalid)
		}
		if len(out) == maxPairs {
			return nil, fmt.Errorf("file contains more than %d pairs: %w", maxPairs, concordat.ErrInvalid)
		}
		out = append(out, DocumentPair{f[0], f[1]})
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, concordat.ErrInvalid)
	}
	return out, nil
}

func plainName(s string) bool {
	return len(s) <= maxNameBytes && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}

// annotations holds the annotations of a folder of PAN files.
type annotations struct {
	all []Annotation // sorted, without duplicates
	// groups maps each pair with a file to its sub-folder; "" for the folder itself.
	groups map[DocumentPair]string
}

// readFolder reads the XML files of dir and of its immediate sub-folders, like PAN's reference program. Equal annotations count once.
func readFolder(dir, suffix string) (*annotations, error) {
	out := &annotations{groups: map[DocumentPair]string{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !isDir(e, path) {
			if err := out.add(path, "", suffix); err != nil {
				return nil, err
			}
			continue
		}
		below, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, f := range below {
			if err := out.add(filepath.Join(path, f.Name()), e.Name(), suffix); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(out.all, compareAnnotations)
	out.all = slices.Compact(out.all)
	return out, nil
}

func isDir(e fs.DirEntry, path string) bool {
	if e.IsDir() {
		return true
	}
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// add reads one file if it is XML.
func (a *annotations) add(path, group, suffix string) error {
	if !strings.HasSuffix(path, ".xml") {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	found, err := ReadPAN(f, suffix)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	a.all = append(a.all, found...)
	for _, x := range found {
		a.groups[DocumentPair{x.Susp, x.Source}] = group
	}
	if susp, source, ok := pairOfFile(filepath.Base(path)); ok {
		a.groups[DocumentPair{susp, source}] = group
	}
	return nil
}

// pairOfFile returns the documents of a file named <susp stem>-<source stem>.xml, where the source's stem begins with "source", because
// for pairs without a case only the file's name identifies them.
func pairOfFile(name string) (susp, source string, ok bool) {
	stem := strings.TrimSuffix(name, ".xml")
	i := strings.LastIndex(stem, "-source")
	if i < 0 {
		return "", "", false
	}
	return stem[:i] + ".txt", stem[i+1:] + ".txt", true
}

func compareAnnotations(x, y Annotation) int {
	if c := strings.Compare(x.Susp, y.Susp); c != 0 {
		return c
	}
	if c := strings.Compare(x.Source, y.Source); c != 0 {
		return c
	}
	for _, d := range [...]int{x.Offset - y.Offset, x.Length - y.Length, x.SourceOffset - y.SourceOffset, x.SourceSize - y.SourceSize} {
		if d != 0 {
			return d
		}
	}
	return 0
}
