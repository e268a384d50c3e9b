package eval

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"concordat"
	"concordat/align"
	"concordat/site"
	"concordat/site/compare"
)

// panKinds are the kinds of disguise in PAN 2013, the folders of its truth.
var panKinds = []string{"01-no-plagiarism", "02-no-obfuscation", "03-random-obfuscation", "04-translation-obfuscation",
	"05-summary-obfuscation"}

// pan is the PAN 2013 training corpus or a part of it.
type pan struct {
	src, susp map[string]string
	pairs     []DocumentPair // judged by PAN
	truth     *annotations
	ignored   map[DocumentPair]bool // real reuse annotated elsewhere
	unpacked  map[string]string     // everything else in the archive
}

// loadPAN reads the corpus with every nth pair of each kind.
func loadPAN(c corpusDir, nth int) (*pan, error) {
	p := &pan{src: map[string]string{}, susp: map[string]string{}, truth: &annotations{groups: map[DocumentPair]string{}},
		ignored: map[DocumentPair]bool{}, unpacked: map[string]string{}}
	err := c.files("pan13-train/pan13-train.tar.zst", func(name, text string) error {
		dir, file := path.Split(name)
		switch dir {
		case "src/":
			p.src[file] = text
		case "susp/":
			p.susp[file] = text
		default:
			p.unpacked[name] = text
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, kind := range panKinds {
		if err := p.addKind(kind, nth); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
	}
	slices.SortFunc(p.truth.all, compareAnnotations)
	p.truth.all = slices.Compact(p.truth.all)
	err = c.rows("pan13-train/retrieval-ignore-pairs.txt", func(f []string) bool {
		if x := strings.Fields(f[0]); len(x) == 2 {
			p.ignored[DocumentPair{x[0], x[1]}] = true
		}
		return true
	})
	return p, err
}

// addKind takes every nth pair of one kind with its cases.
func (p *pan) addKind(kind string, nth int) error {
	pairs, err := ReadPairs(strings.NewReader(p.unpacked[kind+"/pairs"]))
	if err != nil {
		return err
	}
	for i, x := range pairs {
		if i%nth != 0 {
			continue
		}
		p.pairs = append(p.pairs, x)
		p.truth.groups[x] = kind
		if xml := p.unpacked[kind+"/"+stem(x.Susp)+"-"+stem(x.Source)+".xml"]; xml != "" {
			cases, err := ReadPAN(strings.NewReader(xml), truthFeature)
			if err != nil {
				return err
			}
			p.truth.all = append(p.truth.all, cases...)
		}
	}
	return nil
}

// detected holds the detections from aligning many pairs.
type detected struct {
	mu  sync.Mutex
	all []Annotation
}

func (d *detected) add(as []Annotation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, as...)
}

// align returns the detections that find makes in pairs.
func (p *pan) align(r *run, pairs []DocumentPair,
	find func(p DocumentPair, susp, source *Side) ([]align.Passage, error)) ([]Annotation, error) {
	var out detected
	err := overPairs(r.ctx, pairs, textsOf(p.src), textsOf(p.susp), func(x DocumentPair, susp, source *Side) error {
		passages, err := find(x, susp, source)
		out.add(annotated(x, susp, source, passages))
		return err
	})
	slices.SortFunc(out.all, compareAnnotations)
	return out.all, err
}

// plagdets adds the figures of detections, overall and by kind.
func (r *run) plagdets(of string, got Result) *bounded {
	b := r.figure(of, "plagdet", got.Plagdet)
	r.figure(of, "precision", got.Precision)
	r.figure(of, "recall", got.Recall)
	r.figure(of, "granularity", got.Granularity).most(1.006, 1.03)
	r.figure(of, "detections", float64(got.Detections))
	for _, kind := range panKinds {
		if m, ok := got.Groups[kind]; ok && m.Cases > 0 {
			r.figure(of, "plagdet "+kind, m.Plagdet)
		} else if ok {
			r.figure(of, "detections in clean pairs", float64(m.Detections))
		}
	}
	return b
}

// find returns a figure by its names, for setting its bounds.
func (r *run) find(of, measure string) *bounded {
	i := slices.IndexFunc(r.figures, func(f Figure) bool { return f.Of == of && f.Measure == measure })
	return &bounded{r, i}
}

// panGiven aligns the pairs specified by PAN.
func panGiven(r *run) error {
	p, err := loadPAN(r.corpora, r.pick(1, 30))
	if err != nil {
		return err
	}
	for _, channel := range []Channel{ChannelText, ChannelSketches, ChannelFingerprints} {
		find, err := finder(channel)
		if err != nil {
			return err
		}
		begun := processTime()
		got, err := p.align(r, p.pairs, func(_ DocumentPair, susp, source *Side) ([]align.Passage, error) { return find(susp, source) })
		if err != nil {
			return err
		}
		took := processTime() - begun
		r.plagdets(string(channel), score(p.truth, got))
		r.figure(string(channel), "CPU of a pair, ms, with preparing", took.Seconds()*1e3/float64(len(p.pairs)))
	}
	for measure, least := range map[string]float64{"plagdet": 0.95, "plagdet " + panKinds[1]: 0.995, "plagdet " + panKinds[2]: 0.93,
		"plagdet " + panKinds[3]: 0.93, "plagdet " + panKinds[4]: 0.80} {
		r.find("text", measure).least(least, least-0.09)
	}
	r.find("text", "detections in clean pairs").most(7, 2)
	r.find("sketches", "plagdet").least(0.935, 0.915)
	r.find("fingerprints", "plagdet").least(0.85, 0.80)
	return nil
}

// shelved returns a site with all sources or, in the short form, with every sixth and the sources of the judged pairs.
func (p *pan) shelved(r *run) (*Bench, error) {
	wanted := map[string]bool{}
	for _, x := range p.pairs {
		wanted[x.Source] = true
	}
	var docs []Doc
	for i, name := range sortedKeys(p.src) {
		if !r.short || wanted[name] || i%6 == 0 {
			docs = append(docs, Doc{name, strings.ToValidUTF8(p.src[name], "\ufffd")})
		}
	}
	return r.bench(docs)
}

// asking returns the suspicious documents of the judged pairs, in order.
func (p *pan) asking() []string {
	names := map[string]string{}
	for _, x := range p.pairs {
		names[x.Susp] = ""
	}
	return sortedKeys(names)
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// nominated returns the candidates for each suspicious document.
func (p *pan) nominated(r *run, b *Bench, names []string, channel compare.Channel) (map[string][]site.Candidate, error) {
	out := map[string][]site.Candidate{}
	for _, name := range names {
		text := strings.ToValidUTF8(p.susp[name], "\ufffd")
		cs, err := b.Site.Nominate(r.ctx, site.Submission{ID: concordat.DocumentID(name), Text: text}, site.CheckOptions{Channel: channel})
		if err != nil {
			return nil, err
		}
		out[name] = cs
	}
	return out, nil
}

// channelName names a nomination channel.
func channelName(c compare.Channel) string {
	if c == compare.ChannelBoth {
		return "both"
	}
	return string(c)
}

// panNomination counts the pairs with a case whose source is a candidate.
func panNomination(r *run) error {
	p, err := loadPAN(r.corpora, r.pick(1, 12))
	if err != nil {
		return err
	}
	b, err := p.shelved(r)
	if err != nil {
		return err
	}
	truth := map[DocumentPair]string{}
	total := map[string]int{}
	for _, a := range p.truth.all {
		truth[DocumentPair{a.Susp, a.Source}] = p.truth.groups[DocumentPair{a.Susp, a.Source}]
	}
	for _, kind := range truth {
		total[kind]++
	}
	names := p.asking()
	for _, channel := range []compare.Channel{compare.ChannelFingerprints, compare.ChannelText, compare.ChannelBoth} {
		of := channelName(channel)
		begun := processTime()
		found, err := p.nominated(r, b, names, channel)
		if err != nil {
			return err
		}
		took := processTime() - begun
		n, all := map[string]int{}, 0
		for susp, cs := range found {
			all += len(cs)
			for _, c := range cs {
				if kind := truth[DocumentPair{susp, string(c.Source.Document)}]; kind != "" {
					n[kind]++
					n[""]++
				}
			}
		}
		r.figure(of, "recall of pairs", float64(n[""])/float64(len(truth)))
		for _, kind := range panKinds[1:] {
			r.figure(of, "recall of pairs "+kind, float64(n[kind])/float64(max(total[kind], 1)))
		}
		r.figure(of, "candidates a document", float64(all)/float64(len(names))).most(30, 30)
		r.figure(of, "CPU a document, ms", took.Seconds()*1e3/float64(len(names)))
	}
	r.find("fingerprints", "recall of pairs").least(0.87, 0.84)
	r.find("both", "recall of pairs").least(0.988, 0.98)
	return nil
}

// aroundHit is the number of units around a matched sentence whose sketch an owner discloses.
const aroundHit = 20

// panCorpus finds sources among all documents, as a check does, then aligns.
func panCorpus(r *run) error {
	p, err := loadPAN(r.corpora, r.pick(1, 12))
	if err != nil {
		return err
	}
	b, err := p.shelved(r)
	if err != nil {
		return err
	}
	names := p.asking()
	for _, c := range []struct {
		of      string
		channel compare.Channel
		find    func(spans []concordat.Span, susp, source *Side) ([]align.Passage, error)
	}{
		{"texts of candidates by both channels", compare.ChannelBoth, nil},
		{"sketches near hits of candidates by fingerprints", compare.ChannelFingerprints, sketchesNear},
	} {
		found, err := p.nominated(r, b, names, c.channel)
		if err != nil {
			return err
		}
		var pairs []DocumentPair
		spans := map[DocumentPair][]concordat.Span{}
		for _, susp := range names {
			for _, x := range found[susp] {
				pair := DocumentPair{susp, string(x.Source.Document)}
				pairs = append(pairs, pair)
				spans[pair] = x.Spans
			}
		}
		got, err := p.align(r, pairs, func(x DocumentPair, susp, source *Side) ([]align.Passage, error) {
			if c.find != nil {
				return c.find(spans[x], susp, source)
			}
			return align.Pair(susp.Text, source.Text, AsPAN(align.Options{})), nil
		})
		if err != nil {
			return err
		}
		r.judge(p, c.of, got)
	}
	r.find("texts of candidates by both channels", "plagdet").least(0.94, 0.90)
	r.find("sketches near hits of candidates by fingerprints", "plagdet").least(0.88, 0.84)
	return nil
}

// judge scores detections in the pairs judged by PAN. It counts the others: the ones ignored because another part of the corpus annotates
// them, and the ones about which PAN has no information.
func (r *run) judge(p *pan, of string, got []Annotation) {
	judged := map[DocumentPair]bool{}
	for _, x := range p.pairs {
		judged[x] = true
	}
	var in, rest []Annotation
	ignored := 0
	for _, a := range got {
		switch pair := (DocumentPair{a.Susp, a.Source}); {
		case judged[pair]:
			in = append(in, a)
		case p.ignored[pair]:
			ignored++
		default:
			rest = append(rest, a)
		}
	}
	r.plagdets(of, score(p.truth, in))
	r.figure(of, "detections in ignored pairs", float64(ignored))
	r.figure(of, "detections in pairs nobody judged", float64(len(rest)))
	if !r.short {
		r.figure(of, "plagdet with those as false", Measured(p.truth.all, append(in, rest...)).Plagdet)
	}
}

// sketchesNear aligns like two sites if the owner discloses the sketch around the sentences that were found.
func sketchesNear(spans []concordat.Span, susp, source *Side) ([]align.Passage, error) {
	whole, err := source.Text.Sketch(sketchKey, align.DefaultSketchBits)
	if err != nil {
		return nil, err
	}
	b, err := whole.Near(spans, aroundHit).Text()
	if err != nil {
		return nil, err
	}
	a, err := sketched(susp.Text)
	if err != nil {
		return nil, err
	}
	o := AsPAN(align.Options{})
	return edges(susp.Text, source.Text, align.Literal(a, b, o), o, func() []align.Passage { return align.Pair(a, b, o) })
}
