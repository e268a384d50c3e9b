package pdf_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"concordat"
	"concordat/report"
	"concordat/report/internal/scenario"
	"concordat/report/pdf"
)

func findings(t testing.TB, name string) *report.Findings {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Read(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var day = time.Date(2026, 3, 15, 8, 0, 0, 0, time.UTC)

var options = pdf.Options{Site: "Northern University", Program: "1.0", Notes: []pdf.Note{
	{At: day, By: "anna", Kind: pdf.NoteComment, Text: "The method section comes from our own handbook."},
	{At: day, By: "anna", Kind: pdf.NoteVerdict, Verdict: "discuss", Text: "To be asked about page 3."},
	{At: day, By: "bert", Kind: pdf.NoteSignOff}}}

func write(t testing.TB, name string, l report.Language, r report.Rules) []byte {
	t.Helper()
	rep := report.Build(findings(t, name), r)
	rep.Language = l
	b, err := pdf.Write(rep, options)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWrite(t *testing.T) {
	for name, l := range map[string]report.Language{"english": report.English, "chinese": report.Chinese, "arabic": report.English} {
		b := write(t, name, l, report.Rules{ExcludePassages: []report.ExcludedPassage{{Span: concordat.Span{Start: 3, End: 30}, Comment: "例", By: "x", At: day}}})
		if dir := os.Getenv("PDF_OUT"); dir != "" {
			os.WriteFile(filepath.Join(dir, name+".pdf"), b, 0o644)
		}
	}
}
