package screening

import (
	"errors"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/minhash"
	"concordat/screen"
	"concordat/segment"
)

func (a *commands) screenThreeCommand() *cobra.Command {
	var library string
	var width, hashes, b int
	c := &cobra.Command{
		Use: "three --library L TEXT SOURCE SOURCE", Short: "Estimate how much three documents have in common, in pairs and all together",
		Args: cobra.ExactArgs(3),
		Long: `Three estimates from b-bit sketches how much three documents of a library resemble one another, two at a time and
all three. This shows whether a text shares the same parts with both sources.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := minhash.NewDocument(b, hashes, nil)
			if err != nil || width < 1 || b < 2 {
				return cli.Usagef("--bits %d, --hashes %d, --width %d: want 2, 4 or 8 bits, 1 to 65536 hashes, and a width of at least 1", b, hashes, width)
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				var sketches [3][]uint64
				for i, id := range args {
					doc, err := o.Index.Document(cmd.Context(), concordat.Ref{Site: o.Config.Site.ID, Library: concordat.LibraryID(library),
						Document: concordat.DocumentID(id)})
					if errors.Is(err, concordat.ErrNotFound) {
						return cli.Usagef("no document %q in library %q", id, library)
					} else if err != nil {
						return err
					}
					t, err := segment.Split(doc.Text)
					if err != nil {
						return err
					}
					if sketches[i] = d.Sketch(screen.Shingling{Width: width}.Append(t, nil)); sketches[i] == nil {
						return cli.Usagef("document %q has no words", id)
					}
				}
				t, err := d.ThreeWay(sketches[0], sketches[1], sketches[2])
				if err != nil {
					return err
				}
				return a.Report(map[string]any{"type": "three", "bytes": d.Bytes(), "text_first": t.AB, "text_second": t.AC, "first_second": t.BC,
					"all": t.All, "all_deviation": t.Deviation},
					"text and first source  %.3f\ntext and second source %.3f\nboth sources           %.3f\nall three              %.3f, standard error %.3f", t.AB, t.AC, t.BC, t.All, t.Deviation)
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&library, "library", "", "library of the documents")
	fl.IntVar(&width, "width", 3, "number of words in a shingle")
	fl.IntVar(&hashes, "hashes", 1600, "number of hashes in a sketch")
	fl.IntVar(&b, "bits", 4, "number of bits to keep of each hash")
	return c
}
