package eval

import (
	"strings"
	"testing"

	"concordat/align"
	"concordat/internal/corpora"
)

// TestAnswersAligned: each of Clough and Stevenson's answers against the text its task is about, by
// the alignment alone and with the options people get; copied or not, by covered share.
func TestAnswersAligned(t *testing.T) {
	texts := map[string]string{}
	for _, d := range corpora.Tar(t, "clough-stevenson/clough-stevenson-ace.tar.gz", "") {
		texts[d.Name] = strings.ToValidUTF8(d.Text, "\uFFFD")
	}
	var copied, own []float64
	for _, line := range strings.Split(strings.TrimSpace(texts["file_information.csv"]), "\n")[1:] {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) != 3 || f[2] == "orig" || texts[f[0]] == "" {
			continue
		}
		share := coveredShare(texts[f[0]], texts["orig_task"+f[1]+".txt"])
		if f[2] == "non" {
			own = append(own, share)
		} else {
			copied = append(copied, share)
		}
	}
	above, right := 0.0, 0
	for _, x := range copied {
		for _, y := range own {
			switch {
			case x > y:
				above++
			case x == y:
				above += 0.5
			}
		}
		if x >= 0.1 {
			right++
		}
	}
	for _, y := range own {
		if y < 0.1 {
			right++
		}
	}
	auc := above / float64(len(copied)*len(own))
	accuracy := float64(right) / float64(len(copied)+len(own))
	t.Logf("%d copied, %d not: accuracy %.3f at a covered share of 0.1, AUC %.3f", len(copied), len(own), accuracy, auc)
	if accuracy < 0.94 || auc < 0.96 {
		t.Errorf("want at least 0.94 and 0.96")
	}
}

// coveredShare returns the share of a's bytes that lie in passages also found in b.
func coveredShare(a, b string) float64 {
	n, end := 0, 0
	for _, p := range align.Pair(align.Prepare(a), align.Prepare(b), align.Options{}) {
		from := max(p.A.Start, end)
		n += max(0, p.A.End-from)
		end = max(end, p.A.End)
	}
	return float64(n) / float64(len(a))
}
