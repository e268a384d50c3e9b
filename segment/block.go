package segment

// Block is a run of words that gets one fingerprint. It is one or more whole sentences, or part of an overlong one.
type Block struct {
	Span        Span
	First, Last int // indexes: Words[First:Last]
	Chars       int // number of folded characters
}

// Packing is the rule for joining sentences into blocks. The zero value is not valid; use Natural or Packed. Their numbers never change,
// since that would make a new scheme.
type Packing struct {
	// Least is the number of folded characters at which a block is complete.
	Least int
	// Target, if above 0, is the length that a block approaches instead. A block gets another sentence unless that would move its length
	// farther from Target.
	Target int
	// Most is the number of folded characters above which a sentence is divided.
	Most int
	// Short is the number of folded characters below which a paragraph of one sentence is skipped.
	Short int
	// Overlap makes an asked block start at every sentence; otherwise, only the indexed blocks are asked.
	Overlap bool
}

var (
	// Natural adds sentences until a block has 40 folded characters. Indexed blocks are disjoint; asked blocks start at every sentence,
	// so that a copied passage is found wherever the blocks of its source begin.
	Natural = Packing{Least: 40, Most: 220, Short: 20, Overlap: true}
	// Packed makes blocks of about 150 folded characters (Jiang, the SolrCloud paper, granularity procedure).
	Packed = Packing{Target: 150, Most: 220, Short: 20}
)

// Blocks groups the sentences of t into blocks by p. The blocks of indexed are disjoint, and those of asked may overlap; asked is nil if
// the packing does not overlap. skipped holds the paragraphs that are too short to fingerprint. No block extends beyond a paragraph, so an
// edit changes only blocks of its own paragraph.
func (t *Text) Blocks(p Packing) (indexed, asked []Block, skipped []Span) {
	var pieces []Block
	indexed = make([]Block, 0, len(t.Sentences))
	for _, para := range t.Paragraphs {
		sentences := t.Sentences[para.First:para.Last]
		if len(sentences) == 1 && sentences[0].Chars < p.Short {
			skipped = append(skipped, sentences[0].Span)
			continue
		}
		pieces = pieces[:0]
		for i := range sentences {
			pieces = t.divide(pieces, &sentences[i], p.Most)
		}
		for i := 0; i < len(pieces); {
			b, n := p.grow(pieces[i:])
			indexed = append(indexed, b)
			i += n
		}
		if p.Overlap {
			for i := range pieces {
				b, _ := p.grow(pieces[i:])
				if n := len(asked); n > 0 && i > 0 && asked[n-1].Last == b.Last && b.Chars < p.Least {
					break // the end of the previous block, too short by itself
				}
				asked = append(asked, b)
			}
		}
	}
	return indexed, asked, skipped
}

// grow joins pieces, starting with the first, into one block and returns it with the number of pieces used.
func (p Packing) grow(pieces []Block) (Block, int) {
	b, n := pieces[0], 1
	for ; n < len(pieces); n++ {
		next := b.Chars + pieces[n].Chars
		if p.Target > 0 {
			if b.Chars >= p.Target || next-p.Target > p.Target-b.Chars {
				break
			}
		} else if b.Chars >= p.Least {
			break
		}
		b = Block{Span{b.Span.Start, pieces[n].Span.End}, b.First, pieces[n].Last, next}
	}
	return b, n
}

// divide appends sentence s to pieces, split into parts of at most most characters. It splits after the last clause that leaves a part of
// at least a quarter of most, or else between words.
func (t *Text) divide(pieces []Block, s *Sentence, most int) []Block {
	first, rest := s.First, s.Chars
	start := s.Span.Start
	for rest > most {
		chars, cut, cutChars := 0, 0, 0
		for i := first; i < s.Last; i++ {
			w := &t.Words[i]
			if i > first && (w.Flags&AfterClause != 0 && chars >= most/4 && chars <= most) {
				cut, cutChars = i, chars
			}
			if chars += int(w.Chars); chars > most {
				if cut == 0 {
					cut, cutChars = max(i, first+1), chars-int(w.Chars)
					if i == first {
						cutChars = chars
					}
				}
				break
			}
		}
		if cut >= s.Last {
			break
		}
		pieces = append(pieces, Block{Span{start, int(t.Words[cut-1].End)}, first, cut, cutChars})
		first, rest, start = cut, rest-cutChars, int(t.Words[cut].Start)
	}
	return append(pieces, Block{Span{start, s.Span.End}, first, s.Last, rest})
}
