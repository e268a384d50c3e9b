package compare

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"concordat/meaning"
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

// scripted answers with a vector for each text by a word that it holds, or as fail says.
type scripted struct {
	words []string
	fail  error
	where string
	asked int
}

func (s *scripted) Name() string  { return "scripted" }
func (s *scripted) Where() string { return s.where }

func (s *scripted) Encode(_ context.Context, texts []string) ([][]float32, error) {
	s.asked += len(texts)
	if s.fail != nil {
		return nil, s.fail
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		h := fnv.New64a()
		h.Write([]byte(t))
		rng := rand.New(rand.NewPCG(h.Sum64(), 1))
		v := make([]float32, len(s.words)+64)
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
	return out, nil
}

func compared(t *testing.T) (*meaning.Comparison, [][]meaning.Lead) {
	t.Helper()
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	c := meaning.Compare(meaning.NewEncoder(table).Read(retold), []*meaning.Text{meaning.NewEncoder(table).Read(told)})
	leads := c.Leads()
	if len(leads[0]) != 1 {
		t.Fatalf("%d leads by the table: the texts test nothing", len(leads[0]))
	}
	return c, leads
}

// TestEncoderFails: the table's leads stand, and the report is told why.
func TestEncoderFails(t *testing.T) {
	c, leads := compared(t)
	e := NewEncoder(&scripted{fail: errors.New("the encoder does not answer")})
	got, err := e.verify(context.Background(), c, leads, retold, []string{told})
	if err != nil || len(got.leads[0]) != 1 || got.name != "" || len(got.flags) != 1 || got.flags[0].Code != FlagEncoderFailed ||
		!strings.Contains(got.flags[0].Detail, "does not answer") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestEncoderVerifies: what the encoder holds for alike is a lead, and what it does not is none, whatever the table says; samples are
// asked once; a report of texts that went elsewhere says where.
func TestEncoderVerifies(t *testing.T) {
	c, leads := compared(t)
	for _, x := range []struct {
		words []string
		want  int
	}{{[]string{"Lissa", "lagoon", "oath", "Lorraine"}, 1}, {nil, 0}} {
		s := &scripted{words: x.words, where: "encoder.example.edu"}
		e := NewEncoder(s)
		for range 2 {
			got, err := e.verify(context.Background(), c, leads, retold, []string{told})
			worth := 0
			for _, l := range got.leads[0] {
				if l.WorthReading() {
					worth++
				}
			}
			if err != nil || worth != x.want || got.name != "scripted" {
				t.Errorf("%v: %+v, %v", x.words, got, err)
			}
			if len(got.flags) != 1 || got.flags[0].Code != FlagTextSent || !strings.Contains(got.flags[0].Detail, "encoder.example.edu") {
				t.Errorf("flags %+v", got.flags)
			}
		}
		if want := len(meaning.Samples()) + 2*8; s.asked != want {
			t.Errorf("asked about %d texts, want %d", s.asked, want)
		}
	}
}

// TestEncoderAsksNothing: where the table sees nothing, nothing is asked.
func TestEncoderAsksNothing(t *testing.T) {
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	const other = "The railway reached the valley late, and for a generation the mill had to send its cloth by mule over two passes."
	c := meaning.Compare(meaning.NewEncoder(table).Read(other), []*meaning.Text{meaning.NewEncoder(table).Read(told)})
	s := &scripted{}
	got, err := NewEncoder(s).verify(context.Background(), c, c.Leads(), other, []string{told})
	if err != nil || got.count != 0 || s.asked != 0 {
		t.Errorf("%+v, %v, asked %d", got, err, s.asked)
	}
}
