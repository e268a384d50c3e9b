package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/tables"
	"concordat/lab/eval"
	"concordat/site"
)

func (l *lab) evalFederate() *cobra.Command {
	var documents, submissions []string
	var truth, ignore string
	var every int
	var o eval.FederateOptions
	c := &cobra.Command{Use: "federate --documents PATH... --submissions PATH... --truth PAIRS",
		Short: "Compare checks at a single site, across federated sites, and at one site with all documents",
		Args:  cobra.NoArgs,
		Long: `Federate distributes documents from tables (see concordat add) and folders over sites in this process, by the
hash of their ids. It checks each submission at its site alone, together with the other sites over the real
protocol, and at one site that has all documents. For each of these, it prints how many pairs of a submission and
a document were found, by the share of matched sentences and by evidence. Each line of the truth file has the
form "submission TAB document".`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(documents) == 0 || len(submissions) == 0 || truth == "" || every < 1 {
				return cli.Usagef("--documents, --submissions and --truth are required, and --every must be above 0")
			}
			var err error
			if o.Documents, err = tableDocs(documents, 1); err != nil {
				return err
			}
			if o.Submissions, err = tableDocs(submissions, every); err != nil {
				return err
			}
			if o.Truth, err = pairsFile(truth, o.Submissions); err != nil {
				return err
			}
			if ignore != "" {
				if o.Ignore, err = pairsFile(ignore, o.Submissions); err != nil {
					return err
				}
			}
			if o.Dir, err = os.MkdirTemp("", "concordat-federate-*"); err != nil {
				return err
			}
			defer os.RemoveAll(o.Dir)
			rows, err := eval.Federate(cmd.Context(), o, l.Say)
			if err == nil && l.JSON {
				err = l.Line(rows)
			}
			return err
		}}
	fl := c.Flags()
	fl.StringArrayVar(&documents, "documents", nil, "table or folder of .txt and .md files with the documents of the libraries (repeatable)")
	fl.StringArrayVar(&submissions, "submissions", nil, "table or folder of texts to check (repeatable)")
	fl.StringVar(&truth, "truth", "", "file with the pairs that share text")
	fl.StringVar(&ignore, "ignore", "", "file with pairs to ignore")
	fl.IntVar(&every, "every", 1, "check only one in N submissions")
	fl.IntVar(&o.Sites, "sites", 3, "number of sites")
	fl.Float64Var(&o.Share, "share", 0.3, "minimum share of a submission's sentences that match a document")
	fl.IntVar(&o.Letters, "letters", 100, "minimum number of characters of evidence for a pair")
	fl.StringVar(&o.Outline, "outline", concordat.OutlineWords, "what sites reveal in the second round: words, fingerprints or nothing")
	return c
}

// tableDocs reads every n-th document of tables.
func tableDocs(paths []string, n int) ([]eval.Doc, error) {
	var out []eval.Doc
	i := 0
	for _, path := range paths {
		read := tables.Read
		if tables.Kind(path) == "" {
			read = readFolder
		}
		err := read(path, func(d site.Incoming) error {
			if i%n == 0 {
				out = append(out, eval.Doc{ID: string(d.ID), Text: d.Text})
			}
			i++
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readFolder calls each with the .txt and .md files below a folder, in order; the ID of each is its path starting with the folder's name.
func readFolder(dir string, each func(site.Incoming) error) error {
	above := filepath.Dir(filepath.Clean(dir))
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".txt" && ext != ".md" {
			return err
		}
		id, err := filepath.Rel(above, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return each(site.Incoming{ID: concordat.DocumentID(filepath.ToSlash(id)), Text: strings.ToValidUTF8(string(b), "\uFFFD")})
	})
}

// pairsFile reads the pairs of the given submissions.
func pairsFile(path string, submissions []eval.Doc) (map[[2]string]bool, error) {
	known := map[string]bool{}
	for _, d := range submissions {
		known[d.ID] = true
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[[2]string]bool{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		x, y, ok := strings.Cut(sc.Text(), "\t")
		if !ok {
			return nil, fmt.Errorf("%s: %w: got line %q, want two names separated by a tab", path, concordat.ErrInvalid, sc.Text())
		}
		if y, _, _ = strings.Cut(y, "\t"); known[x] {
			out[[2]string{x, y}] = true
		} else if known[y] {
			out[[2]string{y, x}] = true
		}
	}
	return out, sc.Err()
}
