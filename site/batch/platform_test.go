package batch

import (
	"slices"
	"testing"
)

func TestSubmitters(t *testing.T) {
	for _, c := range []struct {
		what        string
		names, want []string
	}{
		{"Moodle, folders", []string{"Jane Doe_1234567_assignsubmission_file_/essay.docx",
			"Jane Doe_1234567_assignsubmission_onlinetext_/onlinetext.html", "Participant 88_77_assignsubmission_file/a/b.pdf"}, []string{"Jane Doe_1234567", "Jane Doe_1234567", "Participant 88_77"}},
		{"Moodle, flat", []string{"张三_12_assignsubmission_file_论文.docx", "O_Neill Kim_13_assignsubmission_file_x.pdf"},
			[]string{"张三_12", "O_Neill Kim_13"}},
		{"Canvas", []string{"doejane_12345_678901_essay.docx", "doejane_LATE_12345_678902_notes-1.docx", "roejohn_99_678_a_1_2.pdf"},
			[]string{"doejane_12345", "doejane_12345", "roejohn_99"}},
		{"Blackboard", []string{"Essay 1_jdoe_attempt_2024-03-01-10-22-33_final.docx", "Essay 1_jdoe_attempt_2024-03-01-10-22-33.txt"},
			[]string{"Essay 1_jdoe", "Essay 1_jdoe"}},
		{"two persons of one name", []string{"Jane Doe_1_assignsubmission_file_a.txt", "Jane Doe_2_assignsubmission_file_a.txt"},
			[]string{"Jane Doe_1", "Jane Doe_2"}},
		{"the submitter's own name of a file comes after", []string{"Jane Doe_1_assignsubmission_file_/John Roe_2_assignsubmission_file_x.txt"},
			[]string{"Jane Doe_1"}},
		{"one file that only looks so", []string{"John Roe_2_assignsubmission_file_x.txt", "mine.txt"}, nil},
		{"no platform", []string{"hw_1_2_final.docx", "hw_1_3_final.docx"}, nil},
		{"nothing", nil, nil},
	} {
		if got := submitters(c.names); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}
