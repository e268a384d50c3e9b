package extract_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"concordat/extract"
)

// rawZip makes an archive with unencoded names, with or without the UTF-8 bit.
func rawZip(t testing.TB, bit bool, names []string, extra ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i, n := range names {
		h := &zip.FileHeader{Name: n, NonUTF8: !bit}
		if i < len(extra) {
			h.Extra = extra[i]
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(w, "words of a file")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// memberNames returns the names that Members reads from an archive.
func memberNames(data []byte) []string {
	var out []string
	for m := range extract.Members("a.zip", data, extract.Options{}) {
		out = append(out, strings.TrimPrefix(m.Path, "a.zip!/"))
	}
	return out
}

// TestZipNames: names are read in the code page of the machine that made the archive.
func TestZipNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		page  encoding.Encoding // nil for UTF-8
		bit   bool
		names []string
	}{
		{"437", charmap.CodePage437, false, []string{"Hausübung Jäger.txt", "Vorträge.txt"}},
		{"437, two languages", charmap.CodePage437, false, []string{"Élève naïve.txt", "Señor Nuñez.txt"}},
		{"850, Portuguese", charmap.CodePage850, false, []string{"Ação e reação.txt", "Coração português.txt"}},
		{"850, Danish", charmap.CodePage850, false, []string{"Smørrebrød på bordet.txt", "Forår.txt"}},
		{"852, Czech", charmap.CodePage852, false, []string{"Žluťoučký kůň.txt", "Řešení příkladů.txt"}},
		{"852, Polish", charmap.CodePage852, false, []string{"Zażółć gęślą jaźń.txt", "Praca końcowa.txt"}},
		{"852, Hungarian", charmap.CodePage852, false, []string{"Őszi dolgozat.txt", "Végső változat űrlap.txt"}},
		{"866", charmap.CodePage866, false, []string{"Курсовая работа.txt", "Отчёт.txt"}},
		{"932", japanese.ShiftJIS, false, []string{"期末レポート.txt", "田中太郎_課題.txt"}},
		{"932, half width", japanese.ShiftJIS, false, []string{"最終版 佐藤.txt", "ﾚﾎﾟｰﾄ.txt"}},
		{"932, strokes in letters", japanese.ShiftJIS, false, []string{"表紙.txt", "ソース一覧.txt", "卒業論文の要旨.txt"}},
		{"936", simplifiedchinese.GBK, false, []string{"期末论文 李明.txt", "作业 三.txt"}},
		{"936, one", simplifiedchinese.GBK, false, []string{"张伟 毕业设计.txt"}},
		{"949", korean.EUCKR, false, []string{"기말 과제 김철수.txt", "보고서.txt"}},
		{"949, rare syllables", korean.EUCKR, false, []string{"최종 논문.txt", "똠방각하 뷁.txt"}},
		{"950", traditionalchinese.Big5, false, []string{"期末報告 陳大文.txt", "學號與姓名.txt"}},
		{"950, strokes in letters", traditionalchinese.Big5, false, []string{"國文作業.txt", "許功蓋.txt"}},
		{"1250", charmap.Windows1250, false, []string{"Závěrečná práce.txt", "Škoda.txt"}},
		{"1251", charmap.Windows1251, false, []string{"Дипломная работа.txt", "Заключение.txt"}},
		{"1252", charmap.Windows1252, false, []string{"Über die Größe.txt", "Résumé œuvre.txt"}},
		{"1252, Spanish", charmap.Windows1252, false, []string{"Tesis de compañía.txt", "canción.txt"}},
		{"UTF-8 with its bit", nil, true, []string{"Müller.txt", "論文.txt", "Ελλάδα.txt"}},
		{"UTF-8 without it", nil, false, []string{"Müller Prüfung.txt", "논문.txt"}},
	} {
		raw := slices.Clone(c.names)
		for i := range raw {
			if c.page == nil {
				continue
			}
			b, err := c.page.NewEncoder().String(raw[i])
			if err != nil {
				t.Fatalf("%s: %s: %v", c.name, raw[i], err)
			}
			raw[i] = b
		}
		if got := memberNames(rawZip(t, c.bit, raw)); !slices.Equal(got, c.names) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.names)
		}
	}
	field := func(old, name string) []byte { // the Unicode path field
		out := binary.LittleEndian.AppendUint16([]byte{0x75, 0x70}, uint16(5+len(name)))
		return append(binary.LittleEndian.AppendUint32(append(out, 1), crc32.ChecksumIEEE([]byte(old))), name...)
	}
	want := []string{"期末 Müller.txt", "Œuvre Καλά.txt", "?.txt"}
	got := memberNames(rawZip(t, false, []string{"??.txt", "?uvre.txt", "?.txt"}, field("??.txt", want[0]), field("?uvre.txt", want[1]),
		field("another.txt", "stale.txt")))
	if !slices.Equal(got, want) {
		t.Errorf("Unicode path field: got %q, want %q", got, want)
	}
	odd := memberNames(rawZip(t, false, []string{"a.txt", "a.txt", "\x81\xff\xfe.txt", "c\x01d.txt", "e\nf.txt"}))
	if len(odd) != 5 || odd[0] == odd[1] {
		t.Errorf("odd names: got %q", odd)
	}
}

// TestNamesInRawPages: names are read in code pages for which packages have no encoder, and all names of a TAR archive are considered
// together.
func TestNamesInRawPages(t *testing.T) {
	for _, c := range []struct {
		page       string
		raw, names []string
	}{
		{"737", []string{"\x84\xa8\x9a\x98\xa9\xe5\x98 \x8f\x98\xa7\x98\x9b\xe6\xa7\xa6\xac\xa2\xa6\xaa.txt", "\x8f\xab\xac\xae\xa0\x98\xa1\xe3.txt"},
			[]string{"Εργασία Παπαδόπουλος.txt", "Πτυχιακή.txt"}},
		{"857", []string{"\x99\xa7renci \x94devi \x9eahin.txt", "\x80al\x8d\x9fma.txt"},
			[]string{"Öğrenci ödevi Şahin.txt", "Çalışma.txt"}},
		{"874", []string{"\xc3\xd2\xc2\xa7\xd2\xb9 \xca\xc1\xaa\xd2\xc2.txt", "\xc7\xd4\xb7\xc2\xd2\xb9\xd4\xbe\xb9\xb8\xec.txt"},
			[]string{"รายงาน สมชาย.txt", "วิทยานิพนธ์.txt"}},
		{"koi8-r", []string{"\xe9\xd7\xc1\xce\xcf\xd7 \xeb\xd5\xd2\xd3\xcf\xd7\xc1\xd1.txt", "\xef\xd4\xde\xa3\xd4 \xf0\xc5\xd4\xd2\xcf\xd7\xc1.txt"},
			[]string{"Иванов Курсовая.txt", "Отчёт Петрова.txt"}},
		{"gbk", []string{"\xc0\xee\xc0\xd7_\xc6\xda\xc4\xa9\xc2\xdb\xce\xc4.txt", "\xb2\xce\xbf\xbc\xce\xc4\xcf\xd7.txt"},
			[]string{"李雷_期末论文.txt", "参考文献.txt"}},
	} {
		heads := []tar.Header{plainFile(".DS_Store", "x")}
		for _, n := range c.raw {
			heads = append(heads, plainFile(n, "words of a file"))
		}
		archives := map[string][]byte{"zip": rawZip(t, false, c.raw), "tar": rawTar(t, false, heads...), "tgz": rawTar(t, true, heads...)}
		for kind, data := range archives {
			if got := memberNames(data); !slices.Equal(got, c.names) {
				t.Errorf("%s, %s: got %q, want %q", c.page, kind, got, c.names)
			}
		}
	}
}

// rawTar makes a TAR archive with unencoded names.
func rawTar(t testing.TB, packed bool, heads ...tar.Header) []byte {
	t.Helper()
	for i := range heads {
		heads[i].Format = tar.FormatGNU
	}
	return tarred(t, packed, heads...)
}
