package extract

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// corpus unpacks a development set into a temporary folder, or skips the test if there is none.
func corpus(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("CONCORDAT_CORPORA")
	if root == "" {
		t.Skip("CONCORDAT_CORPORA is not set: no evaluation data")
	}
	for _, suffix := range []string{".tar.zst", ".tar.gz"} {
		file := filepath.Join(root, name, name+suffix)
		if _, err := os.Stat(file); err != nil {
			continue
		}
		dir := t.TempDir()
		if out, err := exec.Command("tar", "-x", "-a", "-f", file, "-C", dir).CombinedOutput(); err != nil {
			t.Skipf("cannot unpack %s: %v %s", name, err, out)
		}
		return dir
	}
	t.Skipf("no %s among the evaluation data", name)
	return ""
}

// files lists the regular files below dir.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// trueEncodings maps folders of the set to their encodings. The package does not decode Johab and EUC-TW.
var trueEncodings = map[string]encoding.Encoding{
	"big5": traditionalchinese.Big5, "cp932": japanese.ShiftJIS, "shift_jis": japanese.ShiftJIS, "cp949": korean.EUCKR,
	"euc-kr": korean.EUCKR, "euc-jp": japanese.EUCJP, "gb2312": simplifiedchinese.GB18030, "ibm855": charmap.CodePage855,
	"ibm866": charmap.CodePage866, "koi8-r": charmap.KOI8R, "maccyrillic": charmap.MacintoshCyrillic, "macroman": charmap.Macintosh,
	"tis-620": charmap.Windows874, "iso-2022-jp": japanese.ISO2022JP, "iso-8859-1": charmap.ISO8859_1, "iso-8859-2": charmap.ISO8859_2,
	"iso-8859-5": charmap.ISO8859_5, "iso-8859-7": charmap.ISO8859_7, "iso-8859-9": charmap.ISO8859_9, "windows-1250": charmap.Windows1250,
	"windows-1251": charmap.Windows1251, "windows-1252": charmap.Windows1252, "windows-1254": charmap.Windows1254,
	"windows-1255": charmap.Windows1255,
	"ascii":        unicode.UTF8, "utf-8": unicode.UTF8, "utf-8-sig": unicode.UTF8BOM,
	"utf-16":   unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	"utf-16be": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf-32": utf32.UTF32(utf32.BigEndian, utf32.UseBOM),
}

// TestEncodings compares the decoded text with the text in the true encoding.
func TestEncodings(t *testing.T) {
	dir := corpus(t, "encodings")
	right, all := 0, 0
	for _, p := range files(t, dir) {
		folder := strings.ToLower(filepath.Base(filepath.Dir(p)))
		enc := trueEncodings[folder]
		for enc == nil && strings.Contains(folder, "-") {
			folder = folder[:strings.LastIndex(folder, "-")]
			enc = trueEncodings[folder]
		}
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all++
		rel, _ := filepath.Rel(dir, p)
		c, err := detectEncoding(data)
		if err != nil {
			t.Logf("%s: %v", rel, err)
			continue
		}
		got, err := c.decode(data)
		if err != nil {
			t.Logf("%s: %v", rel, err)
			continue
		}
		if enc == nil {
			t.Logf("%s: taken for %s", rel, c.name)
			continue
		}
		want, err := enc.NewDecoder().Bytes(data)
		if err != nil || got != string(want) {
			t.Logf("%s: taken for %s", rel, c.name)
			continue
		}
		right++
	}
	t.Logf("%d of %d decoded right, %.1f %%", right, all, 100*float64(right)/float64(all))
	if right*100 < 98*all {
		t.Errorf("%d of %d decoded right, want 98 %%", right, all)
	}
}
