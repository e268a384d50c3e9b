package answer_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/site/answer"
	"concordat/store"
)

// view is the part of an answer that a partner can see, with the test's names for documents.
type view struct {
	Level                concordat.Show
	Exists               bool
	Documents, Sentences int
	Named                map[string]int // matches by title, or by number for unnamed documents
	Hits                 [][3]int       // sentence, ordinal and closeness for named documents
}

// TestPolicyProperty compares what is disclosed under random rules with a naive definition that examines every pair of sentences and
// applies each condition separately.
func TestPolicyProperty(t *testing.T) {
	o := sitetest.NewOwner(t, "big", "small")
	rng := rand.New(rand.NewPCG(11, 12))
	var sentences [][]string // one list per document, of long words found in no other document, so that two matches are evidence
	texts := map[concordat.LibraryID]map[string]string{"big": {}, "small": {}}
	authors := map[string]string{}
	for lib, n := range map[concordat.LibraryID]int{"big": 25, "small": 6} {
		var in []site.Incoming
		for i := range n {
			name := fmt.Sprintf("%s-%d", lib, i)
			own := make([]string, 1+rng.IntN(4))
			for k := range own {
				own[k] = madeUp(rng)
			}
			sentences = append(sentences, own)
			text := strings.Join(own, "")
			texts[lib][name], authors[name] = text, []string{"Jane Doe", "Richard Roe", ""}[rng.IntN(3)]
			in = append(in, site.Incoming{ID: concordat.DocumentID(name), Title: name, Author: authors[name], Text: text})
		}
		o.AddDocuments(t, lib, in...)
	}
	levels := concordat.Levels()
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	compared := 0
	for round := range rounds {
		rule := store.ShareRule{Level: levels[rng.IntN(len(levels))], Matches: 1 + rng.IntN(3), ExcludeAuthors: rng.IntN(2) == 0,
			Closeness: []int{0, 0, 1, 12}[rng.IntN(4)], Limits: store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1}}
		if rng.IntN(3) == 0 {
			rule.Purposes = []string{[]string{"thesis", "grant"}[rng.IntN(2)]}
		}
		lib := []concordat.LibraryID{"big", "small"}[rng.IntN(2)]
		north := concordat.SiteID(fmt.Sprint("north", round)) // a new partner, so that every variant is answered
		o.ShareWith(t, lib, north, rule)
		asked := ""
		for _, k := range rng.Perm(len(sentences))[:4+rng.IntN(8)] {
			for _, x := range sentences[k][:1+rng.IntN(len(sentences[k]))] {
				asked += edited(rng, x)
			}
		}
		a := o.Question(t, asked, levels[1+rng.IntN(len(levels)-1)], lib)
		rng.Shuffle(len(a.Sentences), func(i, j int) { a.Sentences[i], a.Sentences[j] = a.Sentences[j], a.Sentences[i] })
		a.Job[2], a.Job[3] = byte(round), 7
		mine := ""
		if rng.IntN(2) == 0 {
			mine = "Jane Doe"
			a.Authors = answer.AuthorHashes(sitetest.Key("sketch of "+sitetest.TestEpoch.String()), mine)
		}
		tell := o.Told(t, north, a)
		want, sure := naiveAnswer(t, o, rule, a, texts[lib], authors, mine)
		if !sure {
			continue
		}
		compared++
		if d := gocmp.Diff(want, seen(tell, want)); d != "" {
			t.Fatalf("round %d, %s, rule %+v, asked at %s: %s", round, lib, rule, a.Level, d)
		}
	}
	if compared < rounds/2 {
		t.Errorf("%d of %d rounds were compared", compared, rounds)
	}
}

// madeUp returns a sentence of made-up words.
func madeUp(rng *rand.Rand) string {
	words := make([]string, 18)
	for i := range words {
		words[i] = madeUpWord(rng)
	}
	return "The " + strings.Join(words, " ") + ". "
}

func madeUpWord(rng *rand.Rand) (word string) {
	for range 3 {
		word += string("bdfgklmnprstv"[rng.IntN(13)]) + string("aeiou"[rng.IntN(5)])
	}
	return word
}

// edited omits up to three words of a sentence.
func edited(rng *rand.Rand, sentence string) string {
	words := strings.Fields(sentence)
	for range rng.IntN(4) {
		i := rng.IntN(len(words) - 1) // keeps the full stop
		words = slices.Delete(words, i, i+1)
	}
	return strings.Join(words, " ") + " "
}

// eitherStep marks a hit so close to the border between two steps that the owner can report either one, because each question moves the
// border by up to two hashes, to a place known only to the owner.
const eitherStep = -1

// seen reduces the answer of one library to a view. Where either step is allowed, it takes the wanted one.
func seen(t *concordat.SiteAnswer, want view) view {
	l := t.Libraries[0]
	v := view{Level: l.Level, Exists: l.Exists, Documents: l.Documents, Sentences: l.Sentences, Named: map[string]int{}}
	for _, d := range t.Documents {
		if d.Title == "" {
			v.Named[fmt.Sprint("matches ", d.Matches)]++
			continue
		}
		v.Named[d.Title] = d.Matches
	}
	for _, h := range t.Hits {
		hit := [3]int{h.Sentence, h.Ordinal, int(h.Closeness)}
		if either := [3]int{h.Sentence, h.Ordinal, eitherStep}; h.Closeness != concordat.CloseSame && slices.Contains(want.Hits, either) {
			hit = either
		}
		v.Hits = append(v.Hits, hit)
	}
	slices.SortFunc(v.Hits, compareHits)
	return v
}

func compareHits(a, b [3]int) int { return slices.Compare(a[:], b[:]) }

// naiveAnswer defines what is disclosed. It leaves open whether a hit is disclosed if the hit is so close to the outer border that both
// are allowed.
func naiveAnswer(t *testing.T, o *sitetest.Owner, rule store.ShareRule, a *concordat.Ask, texts, authors map[string]string,
	mine string) (v view, sure bool) {
	t.Helper()
	sure = true
	v = view{Level: concordat.ShowNothing, Named: map[string]int{}}
	rank := func(l concordat.Show) int { return slices.Index(concordat.Levels(), l) }
	allowed := rule.Purposes == nil || slices.Contains(rule.Purposes, a.Purpose)
	if rule.Level == concordat.ShowNothing || !allowed || len(texts) < 20 && rank(rule.Level) <= rank(concordat.ShowCounts) {
		return v, true
	}
	v.Level = concordat.Levels()[min(rank(rule.Level), rank(a.Level))]
	closeness := cmp.Or(rule.Closeness, concordat.Bits)
	counted := map[int]bool{}
	for name, text := range texts {
		if rule.ExcludeAuthors && mine != "" && authors[name] == mine {
			continue
		}
		p, err := o.Keyed.ForIndex(concordat.Document{Text: text})
		sitetest.Must(t, err)
		var hits [][3]int
		asked, ordinals := map[int]bool{}, map[int]bool{}
		for i, x := range a.Sentences {
			for ordinal, y := range p.Indexed {
				d, differ := x.Fingerprint.Distance(y.Fingerprint), x.Fingerprint.NibbleDistance(y.Fingerprint)
				if differ <= 14 && d <= closeness && reached(x.Fingerprint, y.Fingerprint) {
					step := int(concordat.CloseNear)
					switch {
					case differ == 0:
						step = int(concordat.CloseSame)
					case differ > 8 && differ <= 12:
						step = eitherStep
					case differ > 12:
						sure = false
					}
					hits = append(hits, [3]int{i, ordinal, step})
					asked[i], ordinals[ordinal] = true, true
				}
			}
		}
		// In these texts no sentence is close to two others, so pairs can simply be counted.
		if min(len(asked), len(ordinals)) < rule.Matches {
			continue
		}
		v.Exists = true
		if rank(v.Level) < rank(concordat.ShowCounts) {
			continue
		}
		v.Documents++
		for i := range asked {
			counted[i] = true
		}
		v.Sentences = len(counted)
		if rank(v.Level) == rank(concordat.ShowCounts) {
			v.Named[fmt.Sprint("matches ", max(2, len(asked)))]++
			continue
		}
		v.Named[name] = len(asked)
		v.Hits = append(v.Hits, hits...)
	}
	if v.Level == concordat.ShowCounts && v.Exists {
		v.Documents, v.Sentences = max(2, v.Documents), max(2, v.Sentences)
	}
	slices.SortFunc(v.Hits, compareHits)
	return v, sure
}

// reached defines ProbeOne.
func reached(f, g concordat.Fingerprint) bool {
	for band := range concordat.Bands {
		differing := 0
		for x := f.Band(band) ^ g.Band(band); x != 0; x >>= 4 {
			if x&15 != 0 {
				differing++
			}
		}
		if differing <= 1 {
			return true
		}
	}
	return false
}
