package sitetest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"concordat"
	"concordat/crypto"
	"concordat/meaning"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
)

// InOtherWords rewords Wordy except for its beginning. Elsewhere has a different meaning.
const (
	Wordy = "Café owners in Zürich rent their chairs by the hour, and hardly any guest knows it. " +
		"Goats were first tamed in the mountains of western Iran. " +
		"A violin is tuned in fifths, a guitar mostly in fourths. " +
		"Most adults in the survey sleep less than seven hours a night. " +
		"Copper wires were replaced by glass fibre in the whole district. " +
		"The novel was translated twice before it found any readers. " +
		"The harbour was closed for three weeks because ice had blocked the channel. " +
		"Fishermen could not leave, and the price of fish doubled in the markets of the town. " +
		"The council asked the capital for an icebreaker, but none was free before spring. " +
		"Families who lived from the sea were given flour and coal by the church. " +
		"The keeper of the lighthouse noted every morning how thick the ice was and sent the figure by telegraph. " +
		"When the thaw came at last, the first steamer was greeted with bells and brass bands."
	InOtherWords = "Since the fairway was frozen over, no ship could enter the port for twenty-one days. " +
		"As boats were unable to put out, people at the market stalls had to pay twice as much for fish. " +
		"The town's councillors requested an icebreaker from the capital, yet not one was available until the spring. " +
		"The church handed out flour and coal to the families that depended on the sea. " +
		"At every dawn the lighthouse keeper measured the thickness of the ice and telegraphed the number. " +
		"As the thaw finally set in, bells and a brass band welcomed the first steamer."
	Elsewhere = "Voters under thirty were less likely to take part in the election than their parents. " +
		"The painter destroyed his early works because he was ashamed of them. " +
		"Clay soils hold water for longer, so that roots rot in wet winters. " +
		"Most of the patients felt better within two days of taking the new drug."
)

// NewLeadsOwner returns a site with an index by meaning.
func NewLeadsOwner(t testing.TB) *Owner {
	t.Helper()
	o := NewOwner(t, "theses")
	p, err := profile.New(profile.Options{Meaning: true})
	Must(t, err)
	f := &Faulty{Index: OpenShard(t, filepath.Join(t.TempDir(), "meaning"), p)}
	o.Parts = &Parts{Open(site.Options{ID: "here", Index: f, Store: o.Store, Profiler: p, Now: o.Clock.Now}), o.Store, f, p}
	o.Use(t, o.NewSet(t, TestEpoch))
	o.AddDocuments(t, "theses", site.Incoming{ID: "ice", Title: "Of ice", Text: Wordy},
		site.Incoming{ID: "other", Title: "Other", Text: Elsewhere},
		site.Incoming{ID: "third", Title: "Third",
			Text: strings.Repeat("Bees cannot find flowers easily when the air is full of exhaust fumes. ", 3)})
	return o
}

// CipherOf returns the cipher for the cells of a job.
func CipherOf(t testing.TB, key []byte, job concordat.JobID) *crypto.CellCipher {
	t.Helper()
	c, err := crypto.NewCellCipher(key, job)
	Must(t, err)
	return c
}

// LeadsRule returns a rule that shares passages and leads.
func LeadsRule() store.ShareRule { return store.ShareRule{Level: concordat.ShowPassage, Leads: true} }

// GlassAgain and GlassThird reword Glass; the other texts share nothing.
const (
	Glass = `The guild of glass blowers moved its furnaces to the island of Lissa in 1411, since the magistrates feared fire. ` +
		`Every apprentice swore before the warden never to carry the recipe of the red glass across the lagoon. ` +
		`Whoever broke the oath lost his workshop, and his relatives were kept under arrest until he came home. ` +
		`Despite these measures two masters settled in Lorraine and sold ruby goblets to the court within ten years.`
	GlassThird = `Out of fear that the city might burn, its magistrates had the blowers take all their furnaces over to Lissa; that was in 1411. ` +
		`How red glass was made must stay on this side of the lagoon: on that recipe a warden had every apprentice take an oath. ` +
		`A broken oath meant the end of a workshop, and until the man was home his whole family of relatives sat under arrest. ` +
		`It helped little, for in Lorraine ten years on there were two who called themselves masters, and ruby goblets went to the court.`
	GlassAgain = `The year was 1411 when furnaces were no longer wanted in town, and so the guild went to an island called Lissa for fear of fire. ` +
		`Each new apprentice promised on oath, with the warden as witness, that no recipe for glass in red would be taken past the lagoon. ` +
		`Those who left all the same had their workshop taken away, and arrest awaited whatever relatives they had at home. ` +
		`Ruby goblets nevertheless reached a court from Lorraine before ten years were over, since two of the masters lived there by then.`
	Railway = `The railway reached the valley late, and for a generation the mill had to send its cloth by mule over two passes. ` +
		`When the line opened, wages in the weaving sheds rose by a third, while the price of bread hardly moved at all. ` +
		`Farmers planted sugar beet beside the track, for which the new factory at the junction paid in cash each autumn. ` +
		`By the turn of the century the valley held three banks, a school for girls and a quarrel about the price of coal.`
	Bees = `A swarm of bees hangs from a branch for a day or two while its scouts inspect hollow trees in every direction. ` +
		`Returning scouts dance on the surface of the cluster, longer and livelier the better the cavity that they have seen. ` +
		`Once enough dancers agree on a single address, the insects warm up their flight muscles and leave together.`
	Tides = `Twice each day the estuary empties so far that carts used to cross it on the sand between two rows of stakes. ` +
		`Pilots kept tables of high water in a chest at the inn, copied by hand and corrected whenever a storm upset them. ` +
		`A lighthouse made the stakes useless, although some families still drive their cattle over at the spring ebb.`
	Violin = `Spruce for the belly of a violin is felled in winter, split along the grain and dried under a roof for ten summers. ` +
		`The carver taps each plate and listens, taking shavings off the inside until the note that he wants rings out. ` +
		`Varnish protects the instrument against sweat, yet musicians argue endlessly about whether it improves the tone.`
	Comets = `Astronomers in Padua noticed that the tail of a comet always points away from the sun, whatever way it travels. ` +
		`Pamphlets sold at fairs nevertheless explained every one as a sign of drought, of plague or of a prince's death. ` +
		`Only the return of a bright one that a calculation had foretold persuaded the almanac makers to change their trade.`
	Declared = "\n\nI declare that I have written this essay on my own and that every source which I used is named in the list at its end."
)

// Fillers returns a text of n unrelated sentences.
func Fillers(t *testing.T, n int) string {
	t.Helper()
	words := strings.Fields("council harbour winter bridge letter market forest river doctor farmer engine copper silver garden window carpet")
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "The %s wrote to the %s about a %s that nobody near the %s had wanted. ", words[i%16], words[i/16%16],
			words[i/256%16], words[(i/4096+7*i)%16])
	}
	if got := len(meaning.Sentences(out.String())); got != n {
		t.Fatalf("%d sentences, want %d", got, n)
	}
	return out.String()
}
