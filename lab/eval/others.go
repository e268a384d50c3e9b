package eval

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/align"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
)

// arabic is the corpus of Arabic documents with copied passages.
func arabic(c corpusDir) (src, susp map[string]string, truth []Annotation, err error) {
	src, susp = map[string]string{}, map[string]string{}
	err = c.files("kau-arabic/kau-arabic.tar.gz", func(name, text string) error {
		dir, file := path.Split(name)
		switch {
		case dir == "src/":
			src[file] = text
		case dir == "susp/":
			susp[file] = text
		case strings.HasSuffix(file, ".xml"):
			cases, err := ReadPAN(strings.NewReader(text), truthFeature)
			truth = append(truth, cases...)
			return err
		}
		return nil
	})
	slices.SortFunc(truth, compareAnnotations)
	return src, susp, slices.Compact(truth), err
}

// kauArabic checks Arabic documents against all sources. The annotated spans are about ten characters off, so
// the measure over characters is less meaningful than elsewhere.
func kauArabic(r *run) error {
	src, susp, truth, err := arabic(r.corpora)
	if err != nil {
		return err
	}
	var docs []Doc
	for _, name := range sortedKeys(src) {
		docs = append(docs, Doc{name, strings.ToValidUTF8(src[name], "\ufffd")})
	}
	b, err := r.bench(docs)
	if err != nil {
		return err
	}
	want := pairSet{}
	for _, a := range truth {
		want[DocumentPair{a.Susp, a.Source}] = true
	}
	for _, channel := range []compare.Channel{compare.ChannelFingerprints, compare.ChannelBoth} {
		found, n := pairSet{}, 0
		for _, name := range sortedKeys(susp) {
			cs, err := b.Site.Nominate(r.ctx, site.Submission{ID: concordat.DocumentID(name), Text: strings.ToValidUTF8(susp[name], "\ufffd")},
				site.CheckOptions{Channel: channel})
			if err != nil {
				return err
			}
			n += len(cs)
			for _, c := range cs {
				found[DocumentPair{name, string(c.Source.Document)}] = true
			}
		}
		r.count("candidates by "+channelName(channel), "pairs", found.held(want), len(want))
		r.figure("candidates by "+channelName(channel), "candidates a document", float64(n)/float64(len(susp)))
	}
	found := pairSet{}
	for _, name := range sortedKeys(susp) {
		rep, err := b.Report(r.ctx, Doc{name, strings.ToValidUTF8(susp[name], "\ufffd")})
		if err != nil {
			return err
		}
		for _, s := range rep.Sources {
			if s.Characters >= leastEvidence {
				found[DocumentPair{name, string(s.Document)}] = true
			}
		}
	}
	r.count("evidence of 60 characters in the report", "pairs", found.held(want), len(want)).least(124, 124)
	pairs := make([]DocumentPair, 0, len(want))
	for p := range want {
		pairs = append(pairs, p)
	}
	for _, channel := range []Channel{ChannelText, ChannelSketches, ChannelFingerprints} {
		find, err := finder(channel)
		if err != nil {
			return err
		}
		var got detected
		err = overPairs(r.ctx, pairs, textsOf(src), textsOf(susp), func(p DocumentPair, a, b *Side) error {
			passages, err := find(a, b)
			got.add(annotated(p, a, b, passages))
			return err
		})
		if err != nil {
			return err
		}
		m := Measured(truth, got.all)
		r.figure("given pairs, "+string(channel), "recall of characters", m.Recall)
		r.figure("given pairs, "+string(channel), "precision of characters", m.Precision)
		r.figure("given pairs, "+string(channel), "plagdet, spans off by ten characters", m.Plagdet)
	}
	return nil
}

// grants checks calls and awards against each other; the truth is the exact Jaccard resemblance of their word 5-grams, listed from 0.05
// upwards.
func grants(r *run) error {
	for _, kind := range []string{"nih-calls", "nih-awards"} {
		if err := grantsOf(r, kind); err != nil {
			return err
		}
	}
	return nil
}

func grantsOf(r *run, kind string) error {
	var docs []Doc
	err := r.corpora.rows("grants/"+kind+".tsv.gz", func(f []string) bool {
		if len(f) >= 3 {
			docs = append(docs, Doc{f[0], strings.Join(f[1:], "\n\n")})
		}
		return true
	})
	if err != nil {
		return err
	}
	listed := map[DocumentPair]float64{}
	err = r.corpora.rows("grants/"+kind+".word5gram-jaccard.tsv.gz", func(f []string) bool {
		if len(f) == 3 {
			if j, err := strconv.ParseFloat(f[2], 64); err == nil {
				listed[unordered(f[0], f[1])] = j
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	b, err := r.bench(docs)
	if err != nil {
		return err
	}
	share := map[DocumentPair]float64{} // larger of the two directions
	both := map[DocumentPair]float64{}  // smaller of the two directions
	asked := map[string]bool{}
	for i, d := range docs {
		if r.short && i%8 != 0 {
			continue
		}
		asked[d.ID] = true
		f, err := b.Check(r.ctx, d)
		if err != nil {
			return err
		}
		for _, s := range report.Build(f, report.Rules{CommonAbove: -1}).Sources {
			held := []concordat.DocumentID{s.Document} // the source and the other texts of its work
			for _, c := range s.Also {
				held = append(held, c.Document)
			}
			for _, id := range held {
				p := unordered(d.ID, string(id))
				if v, ok := share[p]; ok && !r.short {
					both[p] = min(v, s.Share)
				}
				share[p] = max(share[p], s.Share)
			}
		}
	}
	strong, found := 0, 0
	for p, j := range listed {
		if j < 0.2 || !asked[p.Susp] && !asked[p.Source] {
			continue
		}
		strong++
		if share[p] >= 0.1 {
			found++
		}
	}
	r.count(kind, "pairs of Jaccard 0.2 or more with a share of 0.1 in the report", found, strong).least(float64(strong), float64(strong))
	for _, by := range []struct {
		of     string
		shares map[DocumentPair]float64
	}{{"one of the two", share}, {"each of the two", both}} {
		for _, least := range []float64{0.1, 0.3} {
			of := kind + ", pairs with a share of " + strconv.FormatFloat(least, 'f', -1, 64) + " of " + by.of
			n, low := 0, 0
			for p, v := range by.shares {
				if v >= least {
					n++
					if listed[p] < 0.05 {
						low++
					}
				}
			}
			r.figure(of, "pairs", float64(n))
			r.figure(of, "of Jaccard below 0.05", float64(low))
		}
	}
	return nil
}

func unordered(a, b string) DocumentPair {
	if a > b {
		a, b = b, a
	}
	return DocumentPair{a, b}
}

// unrelated counts the covered letters of documents checked against unrelated ones.
func unrelated(r *run) error {
	reviews, err := r.corpora.reviews(r.pick(1<<30, 2000))
	if err != nil {
		return err
	}
	papers, err := r.corpora.docs("academic/academic.tar.zst", func(name string) bool {
		return strings.HasPrefix(name, "theses100/") || strings.HasPrefix(name, "Nguyen2007/") || strings.HasPrefix(name, "SemEval2010/")
	})
	if err != nil {
		return err
	}
	modern, err := r.corpora.modern(r.pick(1<<30, 400))
	if err != nil {
		return err
	}
	laws, err := r.corpora.docs("zh-laws/zh-laws.tar.zst", func(name string) bool { return strings.HasSuffix(name, ".md") })
	if err != nil {
		return err
	}
	for _, c := range []struct {
		of            string
		library, asks []Doc
	}{
		{"English papers and theses among film reviews", reviews, every(papers, r.pick(1, 12))},
		{"Chinese laws among translated histories", modern, every(laws, r.pick(5, 120))},
	} {
		b, err := r.bench(c.library)
		if err != nil {
			return err
		}
		sum, most, any, passages := 0.0, 0.0, 0, 0
		for _, d := range c.asks {
			f, err := b.Check(r.ctx, d)
			if err != nil {
				return err
			}
			v := report.Build(f, report.Rules{}).Scores.Covered
			sum, most = sum+v, max(most, v)
			passages += len(f.Passages)
			if v > 0 {
				any++
			}
		}
		n := len(c.asks)
		r.figure(c.of, "documents in the library", float64(len(c.library)))
		r.figure(c.of, "mean covered share", sum/float64(max(n, 1))).most(0.002, 0.002)
		r.figure(c.of, "largest covered share", most)
		r.count(c.of, "documents with any evidence", any, n)
		r.figure(c.of, "passages", float64(passages))
	}
	return nil
}

func every(docs []Doc, n int) []Doc {
	var out []Doc
	for i := 0; i < len(docs); i += n {
		out = append(out, docs[i])
	}
	return out
}

// sealed compares, on pairs with real reuse, the alignment without texts with the alignment with texts, because these corpora have no
// truth by characters.
func sealed(r *run) error {
	library, later, listed, err := historyTexts(r.corpora)
	if err != nil {
		return err
	}
	src, susp := map[string]string{}, map[string]string{}
	for _, d := range library {
		src[d.ID] = d.Text
	}
	for _, d := range later {
		susp[d.ID] = d.Text
	}
	var pairs, apart []DocumentPair
	for _, a := range sortedKeys(susp) {
		for i, b := range sortedKeys(src) {
			p := DocumentPair{a, b}
			if _, ok := listed[p]; ok {
				pairs = append(pairs, p)
			} else if i%r.pick(8, 40) == 0 {
				apart = append(apart, p)
			}
		}
	}
	if err := agreement(r, "zh-histories, listed pairs", src, susp, pairs); err != nil {
		return err
	}
	if err := agreement(r, "zh-histories, pairs not listed", src, susp, apart); err != nil {
		return err
	}
	src, susp, truth, err := arabic(r.corpora)
	if err != nil {
		return err
	}
	pairs = nil
	for _, a := range truth {
		pairs = append(pairs, DocumentPair{a.Susp, a.Source})
	}
	slices.SortFunc(pairs, func(a, b DocumentPair) int { return strings.Compare(a.Susp+a.Source, b.Susp+b.Source) })
	return agreement(r, "kau-arabic", src, susp, slices.Compact(pairs))
}

// agreement compares the passages found over the channels in pairs of documents, by characters of the suspicious side.
func agreement(r *run, of string, src, susp map[string]string, pairs []DocumentPair) error {
	marked := map[Channel]map[DocumentPair][]byte{}
	for _, channel := range []Channel{ChannelText, ChannelSketches, ChannelFingerprints} {
		find, err := finderWith(channel, align.Options{})
		if err != nil {
			return err
		}
		marked[channel] = map[DocumentPair][]byte{}
		var all detected
		with := 0
		err = overPairs(r.ctx, pairs, textsOf(src), textsOf(susp), func(p DocumentPair, a, b *Side) error {
			passages, err := find(a, b)
			marks := make([]byte, len(a.Source))
			for _, x := range passages {
				for i := x.A.Start; i < x.A.End; i++ {
					marks[i] = 1
				}
			}
			all.mu.Lock()
			defer all.mu.Unlock()
			marked[channel][p] = marks
			if len(passages) > 0 {
				with++
			}
			return err
		})
		if err != nil {
			return err
		}
		name := of + ", " + string(channel)
		r.count(name, "pairs with a passage", with, len(pairs))
		if channel == ChannelText {
			continue
		}
		both, text, other := 0, 0, 0
		for p, marks := range marked[channel] {
			for i, m := range marks {
				t := marked[ChannelText][p][i]
				both += int(m & t)
				text += int(t)
				other += int(m)
			}
		}
		r.figure(name, "recall of what texts find, bytes", float64(both)/float64(max(text, 1)))
		r.figure(name, "precision by what texts find, bytes", float64(both)/float64(max(other, 1)))
	}
	return nil
}
