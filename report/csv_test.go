package report_test

import (
	"encoding/csv"
	"io"
	"testing"
)

func readCSV(t *testing.T, r io.Reader) [][]string {
	t.Helper()
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
