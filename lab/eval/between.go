package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"concordat/align"
)

// ownSentences measures whether passages are limited to the reworded text. Each pair of texts consists of four paraphrases by people,
// with each writer's own sentences between the second and the third.
func ownSentences(r *run) error {
	for _, file := range pairFiles {
		if file.name != "msrp" && file.name != "paws-x-zh" {
			continue
		}
		var same [][2]string
		var own []string
		row := 0
		err := r.corpora.rows(file.path, func(f []string) bool {
			row++
			switch {
			case row == 1 && file.headed || len(f) <= max(file.a, file.b, file.label):
			case f[file.label] == file.positive:
				same = append(same, [2]string{f[file.a], f[file.b]})
			default:
				own = append(own, f[file.a])
			}
			return true
		})
		if err != nil {
			return err
		}
		draw := rand.New(rand.NewPCG(3, 3))
		draw.Shuffle(len(same), func(i, j int) { same[i], same[j] = same[j], same[i] })
		draw.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
		if r.short {
			same = same[:min(len(same), 400)]
		}
		r.betweenReworded(file.name, same, own)
	}
	return nil
}

// betweenReworded adds the figures of one corpus, whose texts contain zero, one or two of the writer's own sentences.
func (r *run) betweenReworded(of string, same [][2]string, own []string) {
	const reworded = 4
	for _, many := range []int{0, 1, 2} {
		var here, there sandwich
		var covered, all [2]int // of reworded sentences, and of the writer's own
		next := 0
		for n := 0; n+reworded <= len(same) && next+2*many <= len(own); n += reworded {
			here.reset()
			there.reset()
			for i, s := range same[n : n+reworded] {
				if i == reworded/2 {
					for range many {
						here.add(own[next], true)
						there.add(own[next+1], true)
						next += 2
					}
				}
				here.add(s[0], false)
				there.add(s[1], false)
			}
			held := make([]bool, here.text.Len())
			for _, p := range align.Pair(align.Prepare(here.text.String()), align.Prepare(there.text.String()), align.Options{}) {
				for i := p.A.Start; i < p.A.End; i++ {
					held[i] = true
				}
			}
			for i, mine := range here.own {
				kind := 0
				if mine {
					kind = 1
				}
				all[kind]++
				if held[i] {
					covered[kind]++
				}
			}
		}
		measure := fmt.Sprintf("%d own sentences between: ", many)
		r.figure(of, measure+"reworded text that is covered", float64(covered[0])/float64(max(1, all[0]))).least(leastReworded, leastReworded)
		if many > 0 {
			r.figure(of, measure+"own text that is covered", float64(covered[1])/float64(max(1, all[1]))).most(maxOwnCovered, 2*maxOwnCovered)
		}
	}
}

// Bounds for [ownSentences].
const (
	leastReworded = 0.83
	maxOwnCovered = 0.05
)

// sandwich is a text being assembled; own records, for each byte, whether it is in one of the writer's own sentences.
type sandwich struct {
	text strings.Builder
	own  []bool
}

func (s *sandwich) reset() {
	s.text.Reset()
	s.own = s.own[:0]
}

func (s *sandwich) add(sentence string, own bool) {
	s.text.WriteString(sentence + " ")
	for range len(sentence) + 1 {
		s.own = append(s.own, own)
	}
}
