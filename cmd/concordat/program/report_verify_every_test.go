package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/internal/suite"
)

// These are passages of the reports that are verified: a text that another document rewords, and a form.
const (
	glassText = "The guild of glass blowers moved its furnaces to the island of Lissa in 1411, since the magistrates feared fire. " +
		"Every apprentice swore before the warden never to carry the recipe of the red glass across the lagoon. Whoever broke the oath " +
		"lost his workshop, and his relatives were kept under arrest until he came home. Despite these measures two masters settled in " +
		"Lorraine and sold ruby goblets to the court within ten years. "
	glassAgain = "In 1411 the magistrates, who were afraid that a fire would break out, made the guild shift all its glass furnaces to an " +
		"island called Lissa. No apprentice might take the red recipe over the lagoon, as each had sworn it before the warden. For a " +
		"breach of that oath a man paid with his workshop, while relatives of his were arrested and held until his return. Lorraine " +
		"nevertheless became home to two masters, from whom the court bought ruby goblets ten years afterwards. "
	formText = "Describe the aims of the project and the state of the art in no more than two pages.\n\n" +
		"Describe the work plan, its milestones and the staff that carries out each of its parts.\n\n"
	quotedText = "As the inspector put it, \u201cno lamp was lit on the quay between the first of October and the day on which the harbour " +
		"master was dismissed from his post\u201d (Harcourt 1808, p. 42). "
	canalText = "The canal froze in the second week of January, and for nineteen days no barge passed the lock below the tannery. " +
		"Salt from the southern pans had to be carried over the ridge by porters, each of whom was paid by weight and by step. "
	chineseText = "本项目拟研究高原湖泊沉积物中火山灰层的年代，并与冰芯记录逐层对比。研究团队将在三个湖泊采集岩芯，以氩同位素测定其中火山灰的年龄。"
)

// configure adds a line to the site's configuration file.
func (p place) configure(line string) {
	p.t.Helper()
	f, err := os.OpenFile(filepath.Join(p.dir, instance.ConfigName), os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// verifying makes reports of two sites with random options and verifies them.
type verifying struct {
	*testing.T
	rnd          *rand.Rand
	north, south *served
	cards        cli.Cards
	files        string // folder with the submissions
	made         int
	leads        int // number of reports with leads from a partner
}

// some returns the arguments in about one of n calls, and otherwise nothing.
func (v *verifying) some(n int, args ...string) []string {
	if v.rnd.IntN(n) > 0 {
		return nil
	}
	return args
}

func (v *verifying) oneOf(words ...string) string { return words[v.rnd.IntN(len(words))] }

// rules returns options for reading a report.
func (v *verifying) rules() []string {
	return slices.Concat(
		v.some(4, "--exclude-quotes"), v.some(4, "--exclude-bibliography"), v.some(4, "--exclude-citations"), v.some(5, "--count-templates"),
		v.some(5, "--count-forms"), v.some(5, "--count-sentences"), v.some(5, "--min-match", "60"), v.some(6, "--min-source", "0.2"),
		v.some(5, "--exclude-source", "own"), v.some(6, "--exclude-source", "own/canal"),
		v.some(6, "--exclude-kind", v.oneOf("verbatim", "near", "paraphrase")), v.some(6, "--exclude-template", v.file("form.txt")),
		v.some(6, "--common-above", v.oneOf("1", "-1")), v.some(5, "--count-quotations"),
		v.some(5, "--exclude-group", v.oneOf("uncited", "quoted_cited")))
}

// options returns options for a check.
func (v *verifying) options() []string {
	return slices.Concat(v.rules(),
		v.some(2, "--partner", v.oneOf("north/theses", "all")), v.some(3, "--forward", v.oneOf("unmatched", "all", "none")),
		v.some(2, "--leads"), v.some(3, "--no-mirrors"), v.some(5, "--standing"), v.some(2, "--template", v.file("form.txt")),
		v.some(4, "--short"), v.some(4, "--exact"), v.some(4, "--level", v.oneOf("exists", "counts", "metadata")),
		v.some(4, "--channel", v.oneOf("fingerprints", "text")), v.some(5, "--exclude", "own/canal"), v.some(5, "--date", "2024-05"))
}

func (v *verifying) file(name string) string { return filepath.Join(v.files, name) }

// essay writes a submission of random parts.
func (v *verifying) essay() string {
	parts := []string{glassAgain, iceText, bellText, formText, quotedText, canalText, chineseText, "\"<&>\" & 'a' \u2028\u00a0\ufeff. "}
	v.rnd.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	path := v.file(fmt.Sprintf("essay %d.txt", v.made))
	if err := os.WriteFile(path, []byte(strings.Join(parts[:1+v.rnd.IntN(len(parts))], "\n\n")), 0o600); err != nil {
		v.Fatal(err)
	}
	return path
}

// verify verifies the report that a command wrote, and requires that every changed byte is reported.
func (v *verifying) verify(path string, args []string, changes int) {
	v.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		v.Fatal(err)
	}
	verify := verifyFile
	switch filepath.Ext(path) {
	case ".pdf":
		verify = verifyPDF
	case ".json":
		verify = verifyReport
		if bytes.Contains(b, []byte(`"kind": "leads"`)) {
			v.leads++
		}
	}
	out, err := verify(b, v.cards)
	if err != nil || !out.OK {
		v.Errorf("%s: %v, %+v", strings.Join(args, " "), err, out)
		return
	}
	for range changes {
		i := v.rnd.IntN(len(b))
		was := b[i]
		b[i] ^= 1 << v.rnd.IntN(8)
		if v.rnd.IntN(2) == 0 {
			b[i] = byte(' ' + v.rnd.IntN(95))
		}
		if b[i] != was {
			if out, err := verify(b, v.cards); err == nil && (out.OK || len(out.Problems) == 0) && !sameJSON(b, i, was) {
				v.Errorf("%s: byte %d changed from %q to %q in %q, and nothing is named", strings.Join(args, " "), i, was, b[i],
					b[max(0, i-40):min(len(b), i+40)])
			}
		}
		b[i] = was
	}
}

// sameJSON reports whether b, JSON with a changed byte at i, still has the same meaning, for example with 0.50 for 0.5 or a tab for a
// space.
func sameJSON(b []byte, i int, was byte) bool {
	before := bytes.Clone(b)
	before[i] = was
	var x, y any
	return json.Unmarshal(b, &x) == nil && json.Unmarshal(before, &y) == nil && reflect.DeepEqual(x, y)
}

// TestGenuineReportsVerify: a report verifies with all options of a check and however the report is read and written, before and after
// partners open passages, and every changed byte is detected.
func TestGenuineReportsVerify(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: runs many checks in a row")
	}
	seed := uint64(time.Now().UnixNano())
	first, second := newPlace(t, "north"), newPlace(t, "south")
	second.configure("  partners: on") // for a meaning key in the last section of a new site's file
	first.command(cli.Done, "library", "create", "theses")
	first.command(cli.Done, "library", "create", "reports")
	north, south := first.serve(time.Hour), second.serve(time.Hour)
	north.add("ice", iceText)
	north.add("glass", glassText)
	north.add("chinese", chineseText)
	bell := filepath.Join(t.TempDir(), "bell.txt") // added before partners have a key, because enrol waits for the whole library
	if err := os.WriteFile(bell, []byte(bellText), 0o600); err != nil {
		t.Fatal(err)
	}
	north.command(cli.Done, "add", "--library", "reports", bell)
	enrol(t, north, south)
	north.command(cli.Done, "library", "share", "theses", "--with", south.id, "--leads", "--sentences", "-1", "--burst", "-1",
		"--disclosures", "-1", "--documents", "-1", "--opened", "-1", "--characters", "-1", "--lead-cells", "-1", "--lead-sentences", "-1",
		"--lead-documents", "-1")
	v := &verifying{T: t, rnd: rand.New(rand.NewPCG(seed, 0)), north: north, south: south, files: t.TempDir(), cards: cli.Cards{}}
	south.command(cli.Done, "library", "create", "own")
	for name, text := range map[string]string{"form.txt": formText, "canal.txt": canalText} {
		if err := os.WriteFile(v.file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	south.command(cli.Done, "add", "--library", "own", v.file("canal.txt"))
	north.command(cli.Done, "library", "share", "reports", "--with", south.id, "--ship")
	north.until("fingerprints of the mirror", func() bool {
		if err := north.o.Answers.Sets.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer // before that, the fingerprints are under another key, which the south refuses
		code := Run(t.Context(), []string{"--data", south.dir, "--quiet", "--json", "mirror", "sync", "north/reports"}, strings.NewReader(""),
			&out, io.Discard)
		return code == cli.Done && strings.Contains(out.String(), `"documents":1`)
	})
	cards := []string{v.file("north.card"), v.file("south.card")}
	north.command(cli.Done, "site", "card", "--out", cards[0])
	south.command(cli.Done, "site", "card", "--out", cards[1])
	if err := v.cards.Read(cards); err != nil {
		t.Fatal(err)
	}
	const most = 24
	rounds := suite.Rounds(6, most)
	for ; (v.made < rounds || v.leads == 0 && v.made < most) && !t.Failed(); v.made++ {
		v.report()
	}
	if v.leads == 0 {
		t.Error("no report had leads of a partner")
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

// report checks an essay and verifies its report in every format.
func (v *verifying) report() {
	path := v.file(fmt.Sprintf("report %d.json", v.made))
	args := append([]string{"check", v.essay(), "--out", path}, v.options()...)
	if v.made == 0 {
		args = []string{"check", v.essay(), "--out", path, "--partner", "all", "--leads"}
	}
	v.south.command(cli.Done, args...)
	v.verify(path, args, 60)
	task := v.south.json("report", "list", "--limit", "1")["id"].(string)
	if v.rnd.IntN(2) == 0 {
		v.open(task)
	}
	form := v.oneOf("pdf", "html", "csv", "txt")
	for _, ending := range []string{"json", form} {
		path := v.file(fmt.Sprintf("export %d.%s", v.made, ending))
		args := slices.Concat([]string{"report", "export", task, "--out", path}, v.rules(), v.some(2, "--language", v.oneOf("de", "zh")))
		v.south.command(cli.Done, args...)
		v.verify(path, args, 20)
	}
}

// open requests everything that the sources of a report can show, and the requests are granted or refused.
func (v *verifying) open(task string) {
	reveal := func(args ...string) {
		Run(v.Context(), slices.Concat([]string{"--data", v.south.dir, "--quiet", "reveal", task}, args), strings.NewReader(""), io.Discard,
			io.Discard)
	}
	why := []string{"--reason", "an examination", "--contact", "dean@south"}
	for _, number := range []string{"1", "2", "P1"} {
		reveal(append(why, number, "--level", v.oneOf("overlap", "passage"))...)
	}
	for line := range strings.Lines(v.north.command(cli.Done, "--json", "disclosure", "list", "--state", "pending")) {
		var asked struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal([]byte(line), &asked); err != nil {
			v.Fatal(err)
		}
		v.north.command(cli.Done, "disclosure", v.oneOf("approve", "approve", "refuse"), asked.ID, "--words", "as agreed")
	}
	reveal("--refresh")
}
