package compare

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/meaning"
	"concordat/report"
)

const (
	told = `The guild of glass blowers moved its furnaces to the island of Lissa in 1411, since the magistrates feared fire. ` +
		`Every apprentice swore before the warden never to carry the recipe of the red glass across the lagoon. ` +
		`Whoever broke the oath lost his workshop, and his relatives were kept under arrest until he came home. ` +
		`Despite these measures two masters settled in Lorraine and sold ruby goblets to the court within ten years.`
	retold = `Because the magistrates were afraid of fire, glass furnaces had to be moved to the island of Lissa by the guild of blowers in 1411. ` +
		`An oath, sworn by each apprentice to the warden, forbade taking the recipe for red glass over the lagoon. ` +
		`If a master broke that oath, the workshop was forfeit and relatives stayed under arrest until he was home again. ` +
		`Even so, ten years later two masters from there were selling ruby goblets to the court, having settled in Lorraine.`
)

// scripted returns for each text a vector chosen by a word in it, or fails as its field fail says.
type scripted struct {
	words []string
	fail  error
	where string
	model string // empty means scripted
	gone  bool   // cannot be reached
	more  int    // extra numbers in a vector
	asked int
}

func (s *scripted) Name() string  { return cmp.Or(s.model, "scripted") }
func (s *scripted) Where() string { return s.where }

func (s *scripted) Recipe() string { return "scripted" }

func (s *scripted) Encode(_ context.Context, texts []string) ([][]float32, int, error) {
	if s.gone {
		return nil, 0, s.fail
	}
	s.asked += len(texts)
	if s.fail != nil {
		return nil, len(texts), s.fail
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		h := fnv.New64a()
		h.Write([]byte(t))
		rng := rand.New(rand.NewPCG(h.Sum64(), 1))
		v := make([]float32, len(s.words)+64+s.more)
		for k, w := range s.words {
			if strings.Contains(t, w) {
				v[k] = 8
			}
		}
		sum := float64(0)
		for k := range v {
			v[k] += float32(rng.NormFloat64()) / 2
			sum += float64(v[k] * v[k])
		}
		for k := range v {
			v[k] /= float32(math.Sqrt(sum))
		}
		out[i] = v
	}
	return out, len(texts), nil
}

func compared(t *testing.T) (*meaning.Comparison, [][]meaning.Lead) {
	t.Helper()
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	c := meaning.Compare(meaning.NewEncoder(table).Read(retold, "en"), []*meaning.Text{meaning.NewEncoder(table).Read(told, "en")})
	leads := c.Leads()
	if len(leads[0]) != 1 {
		t.Fatalf("%d leads by the table: the texts test nothing", len(leads[0]))
	}
	return c, leads
}

// memory stores vectors.
type memory struct {
	vectors map[[32]byte][]float32
	put     []concordat.SentenceVector
}

func (m *memory) SentenceVectors(_ context.Context, digests [][32]byte) (map[[32]byte][]float32, error) {
	out := map[[32]byte][]float32{}
	for _, d := range digests {
		if v := m.vectors[d]; v != nil {
			out[d] = v
		}
	}
	return out, nil
}

func (m *memory) PutSentenceVectors(_ context.Context, vectors []concordat.SentenceVector, _ int) error {
	if m.vectors == nil {
		m.vectors = map[[32]byte][]float32{}
	}
	for _, v := range vectors {
		m.vectors[v.Digest] = v.Vector
	}
	m.put = append(m.put, vectors...)
	return nil
}

// library is the reference to the source in compared.
var library = concordat.Ref{Site: "here", Library: "books", Document: "glass"}

// asking returns a task's question about compared.
func asking(c *meaning.Comparison, leads [][]meaning.Lead) question {
	return question{compared: c, leads: leads, here: retold, task: "task", there: []string{told}, refs: []concordat.Ref{library}}
}

// TestEncoderFails: if the encoder fails, the table's leads remain and the report says why; it says that text was sent only if it was.
func TestEncoderFails(t *testing.T) {
	c, leads := compared(t)
	e := NewEncoder(&scripted{fail: errors.New("the encoder does not answer")}, nil, 0)
	got, err := e.verify(context.Background(), asking(c, leads))
	if err != nil || len(got.leads[0]) != 1 || got.name != "" || len(got.flags) != 1 || got.flags[0].Code != FlagEncoderFailed ||
		!strings.Contains(got.flags[0].Detail, "does not answer") {
		t.Errorf("%+v, %v", got, err)
	}
	for _, gone := range []bool{true, false} {
		s := &scripted{fail: errors.New("nonsense"), where: "encoder.example.edu", gone: gone}
		keep := &memory{vectors: map[[32]byte][]float32{}}
		e := NewEncoder(s, keep, 1000)
		for _, x := range meaning.Samples() { // found in none of the texts
			keep.vectors[e.digest(x.Text)] = []float32{1}
		}
		got, err := e.verify(context.Background(), asking(c, leads))
		told := slices.ContainsFunc(got.flags, func(f concordat.Flag) bool { return f.Code == FlagTextSent })
		if err != nil || told == gone {
			t.Errorf("unreachable %v: flags %+v, %v", gone, got.flags, err)
		}
	}
}

// unsteady answers each request with vectors of a different length.
type unsteady struct{ scripted }

func (s *unsteady) Encode(ctx context.Context, texts []string) ([][]float32, int, error) {
	s.more++
	return s.scripted.Encode(ctx, texts)
}

// TestUnsteadyEncoder: vectors of several lengths verify nothing. They are requested once more, and if that fails too, the table's leads
// remain.
func TestUnsteadyEncoder(t *testing.T) {
	c, leads := compared(t)
	server := &unsteady{}
	v, err := NewEncoder(server, nil, 0).verify(t.Context(), asking(c, leads))
	if err != nil || v.name != "" || len(v.flags) != 1 || v.flags[0].Code != FlagEncoderFailed || server.more != 4 {
		t.Errorf("%+v, %v after %d requests", v, err, server.more)
	}
}

// TestVectorsAreKept: each vector is stored with the document or check that contains its sentence, and no vector is stored for a
// submission that is not stored itself. Vectors of another model with the same name are requested again.
func TestVectorsAreKept(t *testing.T) {
	c, leads := compared(t)
	s, keep := &scripted{}, &memory{}
	q := asking(c, leads)
	q.task = ""
	if _, err := NewEncoder(s, keep, 1000).verify(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	count := func() (task, of, nobody int) {
		for _, v := range keep.put {
			switch {
			case v.Task == "task" && v.Of == (concordat.Ref{}):
				task++
			case v.Task == "" && v.Of == library:
				of++
			case v.Task == "" && v.Of == (concordat.Ref{}):
				nobody++
			default:
				t.Errorf("a vector of %+v, task %q", v.Of, v.Task)
			}
		}
		return task, of, nobody
	}
	samples := len(meaning.Samples())
	if task, of, nobody := count(); task != 0 || of != 4 || nobody != samples {
		t.Errorf("without its text: %d of the submission, %d of the source, %d samples of %d", task, of, nobody, samples)
	}
	keep.put = nil
	e := NewEncoder(s, keep, 1000)
	if _, err := e.verify(context.Background(), asking(c, leads)); err != nil {
		t.Fatal(err)
	}
	if task, of, nobody := count(); task != 4 || of != 0 || nobody != 0 || e.Kept() != 4 {
		t.Errorf("then %d of the submission, %d of the source, %d samples are put, %d were kept", task, of, nobody, e.Kept())
	}
	s.more, s.asked = 8, 0
	for d := range keep.vectors { // the request for one vector returns a different length
		delete(keep.vectors, d)
		break
	}
	got, err := e.verify(context.Background(), asking(c, leads))
	if err != nil || got.name != "scripted" || s.asked < samples+2*4 {
		t.Errorf("another model: %+v, %v, asked about %d", got.flags, err, s.asked)
	}
	if off := NewEncoder(s, keep, 0); off.keep != nil {
		t.Error("vectors are kept though none may be")
	}
}

// TestEncoderVerifies: the encoder's verdict, not the table's, determines the leads; samples are sent once; a report on texts that were
// sent elsewhere says where.
func TestEncoderVerifies(t *testing.T) {
	c, leads := compared(t)
	for _, x := range []struct {
		words []string
		want  int
	}{{[]string{"Lissa", "lagoon", "oath", "Lorraine"}, 1}, {nil, 0}} {
		s := &scripted{words: x.words, where: "encoder.example.edu"}
		keep := &memory{}
		for run := range 2 {
			before := s.asked
			got, err := NewEncoder(s, keep, 1000).verify(context.Background(), asking(c, leads))
			worth := 0
			for _, l := range got.leads[0] {
				if l.WorthReading() {
					worth++
				}
			}
			if err != nil || worth != x.want || got.name != "scripted" {
				t.Errorf("%v: %+v, %v", x.words, got, err)
			}
			if sent := s.asked - before; run > 0 {
				if sent != 0 || len(got.flags) != 0 {
					t.Errorf("the second check sends %d texts, flags %+v", sent, got.flags)
				}
				continue
			}
			if len(got.flags) != 1 || got.flags[0].Count != 2*4 || got.flags[0].Code != FlagTextSent ||
				!strings.Contains(got.flags[0].Detail, "encoder.example.edu") {
				t.Errorf("flags %+v", got.flags)
			}
		}
		if want := len(meaning.Samples()) + 8; s.asked != want {
			t.Errorf("asked about %d texts, want %d", s.asked, want)
		}
	}
}

// TestEncoderLikelihood: leads verified by the measured model have a likelihood; leads verified by other models have none.
func TestEncoderLikelihood(t *testing.T) {
	c, leads := compared(t)
	for _, model := range []string{"e5-query", "scripted"} {
		s := &scripted{words: []string{"Lissa", "lagoon", "oath", "Lorraine"}, model: model}
		got, err := NewEncoder(s, nil, 0).verify(context.Background(), asking(c, leads))
		if err != nil || got.name != model || len(got.leads[0]) != 1 {
			t.Fatalf("%s: %+v, %v", model, got, err)
		}
		l := got.leads[0][0]
		if x := l.Likelihood(); !l.WorthReading() || (x > 1) != (model == "e5-query") || (x == 0) != (model == "scripted") {
			t.Errorf("%s: likelihood %v, worth reading %v", model, l.Likelihood(), l.WorthReading())
		}
	}
}

// TestEncoderAsksNothing: if the table finds nothing, the encoder is not asked.
func TestEncoderAsksNothing(t *testing.T) {
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	const other = "The railway reached the valley late, and for a generation the mill had to send its cloth by mule over two passes."
	c := meaning.Compare(meaning.NewEncoder(table).Read(other, "en"), []*meaning.Text{meaning.NewEncoder(table).Read(told, "en")})
	s := &scripted{}
	got, err := NewEncoder(s, nil, 0).verify(context.Background(), question{compared: c, leads: c.Leads(), here: other, there: []string{told},
		refs: make([]concordat.Ref, 1)})
	if err != nil || got.count != 0 || s.asked != 0 {
		t.Errorf("%+v, %v, asked %d", got, err, s.asked)
	}
}

// TestMostLikely: a report never states a likelihood above the highest measured one.
func TestMostLikely(t *testing.T) {
	if most := meaning.Calibrated().Most; most != report.MostLikely {
		t.Errorf("measured up to %v, a report says %d at most", most, report.MostLikely)
	}
}
