package report_test

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"concordat/report"
)

// hostileCells would become formulas at the beginning of a cell, or after a separator, a line break, white space or a quote.
var hostileCells = []string{
	"=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "  =1+1", "＝1+1", "\r=1+1", "\"=1+1", "'=1+1", "",
	"a;=1+1;b.txt", "estuary;=cmd|' /C calc'!A0;its", "a; =1+1", "a;\u3000＋1", "a|=1+1", "a\t=1+1", "a\n=1+1", "a\r\n=1+1", "a;\"=1+1",
	`a;"";"=1+1"`, "\";=1+1;\"", "\",=1+1,\"", "a;;=1+1", "a;\n;=1+1", "\n\n=1+1", "a;\u0000=1+1", "a;\u0085=1+1", "a\u2028=1+1", "a,=1+1",
	"x;y;z", `he said "no"; then`, "a - b = c",
}

// foreign returns the cells that another program finds when it splits at sep. As in Python's csv and most spreadsheet programs, a quote
// opens a field only at its beginning, and anything after the closing quote is text.
func foreign(text string, sep rune) (cells []string) {
	var b strings.Builder
	quoted, began := false, false
	end := func() { cells = append(cells, b.String()); b.Reset(); began = false }
	rs := []rune(text)
	for i := 0; i < len(rs); i++ {
		switch r := rs[i]; {
		case quoted && r == '"' && i+1 < len(rs) && rs[i+1] == '"':
			b.WriteRune(r)
			i++
		case quoted && r == '"':
			quoted = false
		case quoted:
			b.WriteRune(r)
		case r == '"' && !began:
			quoted, began = true, true
		case r == sep || r == '\n' || r == '\r':
			end()
		default:
			began = true
			b.WriteRune(r)
		}
	}
	end()
	return cells
}

func isFormula(cell string) bool {
	return strings.IndexAny(strings.TrimLeft(cell, " \t\n\u00a0\u3000\ufeff"), "=+-@＝＋－＠") == 0
}

func tableOf(t testing.TB, cells ...string) string {
	t.Helper()
	var b strings.Builder
	c := report.NewCSV(&b, "first", "cell", "last")
	for _, s := range cells {
		c.Row("1", s, "2")
	}
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCellsAreNoFormulas: whatever separator a program uses, no cell of a table begins like a formula. A program that splits at commas
// reads the cells as written, except for added apostrophes.
func TestCellsAreNoFormulas(t *testing.T) {
	text := tableOf(t, hostileCells...)
	for _, sep := range ",;\t| " {
		for _, c := range foreign(text, sep) {
			if sep != ' ' && isFormula(c) {
				t.Errorf("split at %q there is the cell %q", sep, c)
			}
		}
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != len(hostileCells)+1 {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	for i, row := range rows[1:] {
		if len(row) != 3 || row[0] != "1" || row[2] != "2" || row[1] != report.Cell(hostileCells[i]) {
			t.Errorf("cell %q comes back as %q", hostileCells[i], row)
		}
	}
	for _, s := range []string{"x;y;z", `he said "no"; then`, "a - b = c", "a,=1+1"} {
		if got := report.Cell(s); got != s {
			t.Errorf("harmless %q is written as %q", s, got)
		}
	}
	if got, want := report.Cell("a;=1+1;b|-2\n@x"), "a;'=1+1;b|'-2\n'@x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range hostileCells {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		text := tableOf(t, a, b)
		for _, sep := range ",;\t|" {
			for _, c := range foreign(text, sep) {
				if isFormula(c) {
					t.Errorf("%q and %q, split at %q: the cell %q", a, b, sep, c)
				}
			}
		}
	})
}

// TestFullDisk: the file's write error is returned, not lost in the buffer.
func TestFullDisk(t *testing.T) {
	full := errors.New("no space left")
	c := report.NewCSV(failing{full}, "a")
	c.Row(strings.Repeat("x", 1<<16))
	if err := c.End(); !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestSpreadsheet opens a table in LibreOffice with German and French settings, which split at semicolons, and with other separators. A
// table without quotes and apostrophes proves that the test would find formulas.
func TestSpreadsheet(t *testing.T) {
	office := os.Getenv("CONCORDAT_LIBREOFFICE")
	if office == "" {
		t.Skip("set CONCORDAT_LIBREOFFICE to LibreOffice's program (soffice) to run this")
	}
	dir := t.TempDir()
	// These are the parameters of LibreOffice's import filter: separator and quote as code points, UTF-8, from line 1, language.
	formulas := func(name, text, filter string) int {
		t.Helper()
		path := filepath.Join(dir, name+".csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), office, "-env:UserInstallation=file://"+filepath.Join(dir, "profile"), "--headless",
			"--infilter=CSV:"+filter, "--convert-to", "fods", "--outdir", dir, path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		f, err := os.Open(filepath.Join(dir, name+".fods"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return len(regexp.MustCompile(`table:formula=`).FindAll(b, -1))
	}
	const german, french = "59,34,76,1,,1031,false,true", "59,34,76,1,,1036,false,true"
	if n := formulas("control", strings.Join(hostileCells, "\n"), german); n < 5 {
		t.Fatalf("of a table without guards LibreOffice makes %d formulas: the test could not fail", n)
	}
	text := tableOf(t, hostileCells...)
	for name, filter := range map[string]string{"german": german, "french": french, "comma": "44,34,76,1,,1033,false,true",
		"unquoted": "59,,76,1,,1031,false,true"} {
		if n := formulas(name, text, filter); n > 0 {
			t.Errorf("%s: LibreOffice makes %d formulas", name, n)
		}
	}
}
